//! Report and decision as Markdown, read by a real parser of it.

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// What becomes markup, a link, a mention or a command of a CI job if it is not stopped.
const HOSTILE: [&str; 9] = [
    "</details><script>alert(1)</script>",
    "``` `` ` | a | b |",
    "[click](http://evil.example) ![x](http://evil.example/x.png)",
    "http://evil.example www.evil.example root@evil.example",
    "@everyone #1 GH-1",
    "\n::error file=x::y\n# Title\n\n| a |\n|---|",
    "\u{1b}[31m\u{202e}\u{0}",
    "$x$ <!-- ~~gone~~ **bold** __bold__ \\",
    "` x `",
];

/// The texts outside of code, after a check that nothing else is there than what the program writes itself.
fn read(markdown: &str) -> String {
    assert!(
        !markdown.contains(['\u{1b}', '\u{202e}', '\u{0}']),
        "{markdown}"
    );
    for line in markdown.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line:?}");
    }
    let mut text = String::new();
    let mut cells = Vec::new();
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let rest = [
                    "<details>",
                    "</details>",
                    "<summary>",
                    "</summary>",
                    "<sub>",
                    "</sub>",
                ]
                .iter()
                .fold(html.to_string(), |html, own| html.replace(own, ""));
                assert!(!rest.contains('<'), "{html:?} in {markdown}");
            }
            Event::Start(tag @ (Tag::Link { .. } | Tag::Image { .. } | Tag::Strikethrough)) => {
                panic!("{tag:?} in {markdown}")
            }
            Event::InlineMath(math) | Event::DisplayMath(math) => panic!("{math}"),
            Event::Start(Tag::TableHead | Tag::TableRow) => cells.push(0),
            Event::Start(Tag::TableCell) => *cells.last_mut().expect("in a row") += 1,
            Event::Text(told) => text.push_str(&told),
            _ => {}
        }
    }
    assert!(
        !cells.is_empty() && cells.iter().all(|count| *count >= 6),
        "{cells:?}"
    );
    text
}

#[test]
fn report_and_decision_are_markdown_in_which_captured_text_means_nothing() {
    let place = Place::new();
    let answer = |of: &str, target: &str| {
        let at: usize = target
            .rsplit('=')
            .next()
            .and_then(|at| at.parse().ok())
            .unwrap_or(0);
        let text = serde_json::to_string(&format!("{of} {}", HOSTILE[at % HOSTILE.len()]));
        let text = text.expect("it is a text");
        Answer::json(format!("{{{text}: 1, \"v\": {text}}}"))
    };
    let legacy = Service::start(move |request| answer("a", &request.target));
    let candidate = Service::start(move |request| answer("b", &request.target));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let paths = [
        "/x|y",
        "/`z`",
        "/@everyone",
        "/www.evil.example",
        "/%3Cb%3E",
        "/*a*_b_",
        "/::error::",
        "/[a](b)",
    ];
    let mut sent = 0;
    for path in paths {
        for at in 0..HOSTILE.len() {
            mirror.get(&format!("{path}?at={at}"));
            sent += 1;
        }
    }
    mirror.settled(sent);
    mirror.stop();
    let report = place.run(&["report", "--output", "markdown"]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    let text = read(&report.stdout);
    assert!(
        report
            .stdout
            .starts_with("## ❌ FAIL: 72 of 72 compared requests differ"),
        "{text}"
    );
    assert!(text.contains("worst first"), "{}", report.stdout);
    for gate in [
        place.run(&["gate", "--output", "markdown"]),
        place.run(&["decisions", "show", "--output", "markdown"]),
    ] {
        assert!(gate.stdout.starts_with("## ❌ FAIL: "), "{}", gate.stdout);
        let text = read(&gate.stdout);
        assert!(
            text.contains("decision ") && !text.contains("@everyone"),
            "{text}"
        );
    }
}

#[test]
fn a_long_report_says_what_is_left_out_and_a_pass_is_seen_at_once() {
    let place = Place::new();
    let legacy = Service::start(|request| Answer::json(format!("\"{}\"", request.target)));
    let candidate = Service::start(|request| match request.target.strip_prefix("/bad") {
        Some(at) => Answer::json(format!("{{\"{at}\":1}}")),
        None => Answer::json(format!("\"{}\"", request.target)),
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for at in 0..40_u8 {
        let letter = |at: u8| char::from(b'a' + at);
        mirror.get(&format!("/bad{}{}", letter(at / 10), letter(at % 10)));
    }
    mirror.settled(40);
    mirror.stop();
    let report = place.run(&["report", "--output", "markdown"]).stdout;
    assert!(
        report.contains("- … and 20 more routes; `--output json` has all"),
        "{report}"
    );
    assert_eq!(
        report.matches("<details>").count(),
        report.matches("</details>").count()
    );
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &legacy.url(), &[]);
    for at in 0..20 {
        mirror.get(&format!("/{at}"));
    }
    mirror.settled(20);
    mirror.stop();
    let gate = place.run(&["gate", "--output", "markdown", "--max-mismatch-rate", "0.5"]);
    assert_eq!(gate.code, 0, "{}", gate.stdout);
    assert!(gate.stdout.starts_with("## ✅ PASS"), "{}", gate.stdout);
}
