//! `parity report` and the page that shows the same: what a person reads first.

use crate::support::process::Place;
use crate::support::service::{Answer, Service};

#[test]
fn an_empty_store_reports_that_nothing_was_recorded() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("1"));
    place.mirror(&legacy.url(), &candidate.url(), &[]).stop();
    let ended = place.run(&["report"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stdout.starts_with("NOTHING RECORDED"),
        "{}",
        ended.stdout
    );
    let document = place.run(&["report", "--output", "json"]).json();
    assert_eq!(
        (&document["received"], &document["window"]),
        (&0.into(), &serde_json::Value::Null)
    );
}

#[test]
fn hostile_answers_are_spelt_out_in_the_report() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":\"x\"}");
    let candidate =
        Service::start(|_| Answer::json("{\"a\":\"\u{9b}31m\u{202e}<script>alert(1)</script>\"}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/x%1b%5b31m");
    mirror.settled(1);
    let page = mirror.ask("/").text();
    assert!(
        !page.contains("<script") && page.contains("&#60;script&#62;")
            || page.contains("&lt;script&gt;"),
        "{page}"
    );
    mirror.stop();
    let text = place.run(&["report"]).stdout;
    assert!(text.contains("\\u{202e}"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("1"));
    place.mirror(&legacy.url(), &candidate.url(), &[]).stop();
    let status = std::process::Command::new("bash")
        .args([
            "-c",
            "set -o pipefail; \"$0\" config schema | head -c 1 >/dev/null; \"$0\" report | true; \"$0\" gate | true; test ${PIPESTATUS[0]} = 3",
        ])
        .arg(env!("CARGO_BIN_EXE_parity"))
        .current_dir(place.path())
        .status();
    assert!(status.expect("bash runs").success());
}
