//! The cost of redaction: time in proportion to the text, whatever the text is, and a stack that no text exhausts.

use rustix::time::{ClockId, clock_gettime};

use super::*;

/// CPU time of this thread in milliseconds.
fn spent(work: impl FnOnce()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
    };
    let begin = now();
    work();
    now() - begin
}

/// Ratio of the lengths of the two bodies.
const TIMES: usize = 8;

/// Texts that are made to cost more than in proportion to their length.
const PIECES: [&str; 68] = [
    "a=[",
    "password=[",
    "password = a ",
    "password:\n",
    "token: ",
    "a: ",
    "<a>",
    "<a ",
    "<!--",
    "</a>",
    "<?",
    "&",
    "&#",
    "%25",
    "%",
    "4 ",
    "4111 ",
    "1e1",
    "eyJ",
    "-----BEGIN A-----\n",
    "-----BEGIN A-----END ",
    "://",
    "://a@",
    "{\"a\":",
    "[",
    "\\",
    "\\\"",
    "\"",
    "query {a(password: [",
    "Bearer ",
    "<script></",
    "<a b=\"",
    "<a b='' ",
    "x<!-- > -->",
    "$a:!]=[",
    "=?;",
    "<li>a",
    "<table><tr><td>pin",
    "<td>pin: ",
    "<p id=pin>",
    "</br><br>",
    "password=x'",
    "&password=(a)",
    "//a:b'@",
    "a:b,@",
    "[[pin ",
    "<label for=a>pin</label>",
    "<label>pin</label><input id=a>",
    "<p id=a>pin<b aria-labelledby=a>",
    "<table><tfoot><td>pin",
    "<c n='pin'/>",
    "pin for ",
    "password is ",
    "password of a a a a a ",
    "/token/../",
    "/token//./",
    "jdbc:oracle:a/",
    "smbclient -U 'a ",
    "kubectl secret --from-literal=\"a ",
    "htpasswd -b \\ ",
    "curl -u \n",
    "sshpass \"-p\",",
    "hooks.slack.com/services/",
    "x://a:b/",
    "{SHA}",
    "password=a('",
    "chpasswd|",
    "a:|chpasswd\n",
];

#[test]
fn the_work_grows_as_the_text_does() {
    const SHORT: usize = 8 * 1024;
    let redactor = plain();
    for media in [
        "text/plain",
        "text/html",
        "application/xml",
        "application/x-www-form-urlencoded",
        "application/graphql",
        "application/json",
        "text/csv",
        "text/event-stream",
        "",
    ] {
        let fields: &[(&str, &str)] = if media.is_empty() {
            &[]
        } else {
            &[("content-type", media)]
        };
        for piece in PIECES {
            let cost = |bytes: usize| {
                let text = piece.repeat(bytes / piece.len());
                let exchange = exchange(
                    "/x",
                    &[],
                    b"",
                    answer(fields, text.as_bytes()),
                    answer(fields, b"x"),
                );
                spent(|| drop(record(&redactor, &exchange)))
            };
            let (short, long) = (cost(SHORT), cost(SHORT * TIMES));
            // Twice the proportional time, and a constant below the precision of the clock.
            let allowed = short * 2.0 * TIMES as f64 + 60.0;
            assert!(
                long < allowed,
                "{media} {piece:?}: {short:.1} ms, then {long:.1} ms"
            );
        }
    }
}

/// A body with a given number of parts.
type Parts = fn(usize) -> String;

#[test]
fn names_that_stand_beside_their_values_cost_in_proportion() {
    let cases: [(&str, Parts); 8] = [
        ("variables", |count| {
            let used: Vec<_> = (0..count).map(|at| format!("$v{at}")).collect();
            let used = used.join(" ");
            let set: Vec<_> = (0..count).map(|at| format!("\"v{at}\":1")).collect();
            let set = set.join(",");
            format!("{{\"query\":\"query {{a(password:[{used}])}}\",\"variables\":{{{set}}}}}")
        }),
        ("lists of names", |count| {
            let lists: Vec<_> = (0..count)
                .map(|at| format!("\"a{at}\":[\"pin\"]"))
                .collect();
            format!("{{{}}}", lists.join(","))
        }),
        ("tables in rows", |count| {
            let tables: Vec<_> = (0..60)
                .map(|at| format!("\"a{at}\":[{}]", vec!["\"pin\""; at + 3].join(",")))
                .collect();
            let rows = vec!["{\"b\":[\"pin\"],\"c\":[1]}"; count].join(",");
            format!("{{{},\"rows\":[[1,2,3],{rows}]}}", tables.join(","))
        }),
        ("columns that are called otherwise", |count| {
            let columns: Vec<_> = (0..count)
                .map(|at| format!("{{\"id\":\"c{at}\",\"name\":\"pin\"}}"))
                .collect();
            let columns = columns.join(",");
            format!("{{\"columns\":[{columns}],\"rows\":[{{\"c1\":1}}]}}")
        }),
        ("columns in objects", |count| {
            let row =
                "{\"columns\":[{\"id\":\"c\",\"name\":\"pin\"}],\"a\":{\"b\":{\"c\":{\"d\":[1]}}}}";
            format!(
                "{{\"columns\":[\"a\",\"pin\"],\"rows\":[{}]}}",
                vec![row; count].join(",")
            )
        }),
        ("marks", |count| {
            let mark = "{\"values\":{\"a\":1},\"sensitive_values\":{\"a\":{\"b\":[false]}}}";
            format!("[{}]", vec![mark; count].join(","))
        }),
        ("objects in lists as rows", |count| {
            let row = "{\"Data\":[{\"V\":\"pin\"},{\"V\":\"a\"}]}";
            format!("[{}]", vec![row; count].join(","))
        }),
        ("a document", |count| {
            let fields: Vec<_> = (0..count)
                .map(|at| format!("a{at}(token:$v{at})"))
                .collect();
            let fields = fields.join(" ");
            format!("{{\"query\":\"query {{{fields}}}\"}}")
        }),
    ];
    let redactor = plain();
    let json = &[("content-type", "application/json")][..];
    for (name, parts) in cases {
        let cost = |count: usize| {
            let body = parts(count);
            let (legacy, candidate) = (answer(json, body.as_bytes()), answer(json, b"1"));
            let exchange = exchange("/x", &[], b"", legacy, candidate);
            spent(|| drop(record(&redactor, &exchange)))
        };
        let (short, long) = (cost(1_000), cost(1_000 * TIMES));
        let allowed = short * 2.0 * TIMES as f64 + 60.0;
        assert!(long < allowed, "{name}: {short:.1} ms, then {long:.1} ms");
    }
}

#[test]
fn nothing_that_is_nested_exhausts_the_stack() {
    let redactor = plain();
    for (open, close) in [
        ("[", "]"),
        ("{\"a\":", "}"),
        ("<a>", "</a>"),
        ("{a(b:[", "])}"),
    ] {
        for depth in [60, 250, 5_000] {
            let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let mut quoted = text.clone();
            for _ in 0..4 {
                quoted = serde_json::json!({ "x": quoted }).to_string();
                let fields = [("content-type", "application/json")];
                let one = exchange(
                    "/x",
                    &[],
                    b"",
                    answer(&fields, quoted.as_bytes()),
                    answer(&fields, b"1"),
                );
                record(&redactor, &one);
                if quoted.len() > 1_000_000 {
                    break;
                }
            }
        }
    }
}
