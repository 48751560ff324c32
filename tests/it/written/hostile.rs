//! Traffic of somebody who wants to be more than text in a report.

use std::process::Stdio;

use super::readers::{html, junit};
use super::{file, written};
use crate::support::process::Place;
use crate::support::service::{Answer, Request, Service};

/// What becomes markup, an order to a job, or a broken document, if it is not stopped.
const HOSTILE: [&str; 12] = [
    "]]></failure><testcase classname=\"x\" name=\"y\"/>",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\"' onmouseover=alert(1) x='",
    "&#60;b&#62; &amp;lt; &#x0; <!-- <![CDATA[ <?php",
    "\n::error file=x::y\n  ::stop-commands::z\r::warning::w",
    "##[error]x ##vso[task.complete result=Failed] ##teamcity[testFailed name='x']",
    "\u{0}\u{1}\u{8}\u{b}\u{c}\u{1b}[31m\u{7f}\u{85}\u{9b}31m",
    "\u{202e}txt.exe\u{202c}\u{200b}\u{feff}\u{fffe}\u{ffff}\u{10ffff}",
    "` | a | ``` b @everyone [x](http://e)",
    "</style><style>*{display:none}</style></title>",
    "{{7*7}} ${7*7} %0A%0D::error::x",
    "= 1+1 \u{2028} \u{2029}",
];

/// How many paths have a route of their name.
const ROUTES: usize = 3;
/// Paths that are names in reports, those with a route first.
const PATHS: [&str; 6] = [
    "/x|y",
    "/`z`",
    "/::error::",
    "/##[error]x",
    "/%3Cscript%3E",
    "/a&b<c>\"d'",
];

/// What a service says: the texts as names and values, as text, and a value of a megabyte.
fn answer(of: &'static str) -> impl Fn(&Request) -> Answer + Send + Sync + 'static {
    move |request: &Request| {
        let at: usize = request
            .target
            .rsplit('=')
            .next()
            .and_then(|at| at.parse().ok())
            .unwrap_or(0);
        if request.target.starts_with("/long") {
            // A megabyte in one value.
            return Answer::json(format!("{{\"v\":\"{}\"}}", of.repeat(1_000_000)));
        }
        if at >= HOSTILE.len() {
            let text = HOSTILE[at % HOSTILE.len()];
            return Answer::new(200, format!("{of}\n{text}\n{text}"))
                .header("content-type", "text/plain; charset=utf-8");
        }
        let text = serde_json::to_string(&format!("{of} {}", HOSTILE[at])).expect("a text");
        let name = serde_json::to_string(HOSTILE[at]).expect("a text");
        Answer::json(format!("{{{name}: {text}, {text}: 1, \"v\": {text}}}"))
    }
}

#[test]
fn hostile_traffic_is_text_in_each_file_and_in_what_is_printed() {
    let place = Place::new();
    let (legacy, candidate) = (Service::start(answer("a")), Service::start(answer("b")));
    let config = HOSTILE
        .iter()
        .filter(|text| !text.contains(['\u{0}', '"', '\\']) && !text.chars().any(char::is_control))
        .enumerate()
        .map(|(at, text)| {
            format!(
                "[[rule]]\nid = \"{at} {text}\"\npath = \"/nothing{at}\"\naction = \"ignore\"\n"
            )
        });
    let routes = PATHS.iter().take(ROUTES);
    let routes = routes.map(|path| format!("[[route]]\nmatch = \"GET {path}\"\n"));
    place.write("parity.toml", routes.chain(config).collect::<String>());
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--config", "parity.toml", "--migration", "<b>&\"'|`::"],
    );
    let mut sent = 0;
    for path in PATHS {
        for at in 0..HOSTILE.len() * 2 {
            mirror.get(&format!("{path}?at={at}"));
            sent += 1;
        }
    }
    mirror.get("/long");
    sent += 1;
    let of_migration = ["--migration", "<b>&\"'|`::"];
    crate::support::wait_for("all to be recorded", || {
        let ended = place.run(&["report", "--output", "json", "--migration", of_migration[1]]);
        (ended.code == 0 && ended.json()["mismatch"] == sent).then_some(())
    });
    mirror.stop();
    for command in [
        vec!["gate", "--annotations", "github"],
        vec!["report", "--annotations", "github", "--color", "never"],
    ] {
        let mut command = command;
        command.extend(of_migration);
        let ended = written(&place, &command);
        let read = junit(&file(&place, "junit.xml"));
        assert!(
            read.cases
                .iter()
                .all(|case| case.class == "parity.<b>&\"'|`::")
        );
        for name in ["decision", "GET /x|y", "GET /::error::", "GET /{id}"] {
            assert_eq!(read.of(name).state, "failure", "{name}");
        }
        let told = html(&file(&place, "report.html"));
        assert!(told.contains("</script><img src=x onerror=alert(1)>"));
        assert!(told.contains("]]></failure>"), "{told}");
        for name in [
            "junit.xml",
            "report.html",
            "report.md",
            "report.json",
            "report.txt",
        ] {
            let text = file(&place, name);
            let unseen = |sign: char| sign != '\n' && parity_hidden(sign);
            // Markdown breaks mentions by a space without a width.
            let unseen = text
                .chars()
                .find(|sign| unseen(*sign) && *sign != '\u{200b}');
            assert_eq!(unseen, None, "{name}");
        }
        for (line, of) in ended.stdout.lines().map(|line| (line, "stdout")).chain(
            ended
                .stderr
                .lines()
                .filter(|line| !line.starts_with("::error") && !line.starts_with("::warning"))
                .map(|line| (line, "stderr")),
        ) {
            assert!(!line.trim_start().starts_with("::"), "{of}: {line}");
            for order in ["##[", "##vso[", "##teamcity["] {
                assert!(!line.contains(order), "{of}: {line}");
            }
        }
        let commands = ended.stderr.lines().filter(|line| line.starts_with("::"));
        assert!(commands.count() <= 10, "{}", ended.stderr);
    }
}

/// What no file may have in it.
fn parity_hidden(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[test]
fn what_two_files_have_is_no_order_to_a_job() {
    let place = Place::new();
    let (mut legacy, mut candidate) = (String::new(), String::new());
    for text in HOSTILE {
        for (file, end) in [(&mut legacy, ""), (&mut candidate, " other")] {
            file.extend([text, end, "\nsame\n::error::same\n"]);
        }
    }
    place.write("old.txt", &legacy);
    place.write("new.txt", &candidate);
    for more in [
        &["--side-by-side"][..],
        &[],
        &["--output", "json"],
        &["--stat"],
    ] {
        let mut arguments = vec!["diff", "old.txt", "new.txt"];
        arguments.extend(more);
        let output = place
            .command(&arguments)
            .stdout(Stdio::piped())
            .output()
            .expect("it ends");
        let told = String::from_utf8(output.stdout).expect("UTF-8");
        for line in told.split(['\n', '\r']) {
            assert!(!line.trim_start().starts_with("::"), "{more:?}: {line}");
            assert!(!line.contains("##["), "{more:?}: {line}");
        }
    }
}
