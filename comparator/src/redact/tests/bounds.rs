//! What redaction costs: time that grows as the text does, whatever the text is, and a stack that no text exhausts.

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

/// Texts that are made to cost more than their length.
const PIECES: [&str; 31] = [
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
];

#[test]
fn the_work_grows_as_the_text_does() {
    const SHORT: usize = 8 * 1024;
    const TIMES: usize = 8;
    let redactor = plain();
    for media in [
        "text/plain",
        "text/html",
        "application/graphql",
        "application/json",
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
            // Twice as much as in proportion, and what no clock measures.
            let allowed = short * 2.0 * TIMES as f64 + 60.0;
            assert!(
                long < allowed,
                "{media} {piece:?}: {short:.1} ms, then {long:.1} ms"
            );
        }
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
