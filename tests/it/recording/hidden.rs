//! Recorded answers whose whole body is hidden: nobody knows whether the candidate's is the same.

use std::fmt::Write as _;

use serde_json::json;

use crate::support::process::Place;
use crate::support::service::Service;

#[test]
fn an_answer_that_is_hidden_is_no_proof_unless_somebody_accepts_that() {
    let place = Place::new();
    let candidate = Service::json("{}");
    let mut recording = String::new();
    for number in 0..40 {
        let (body, hidden) = match number {
            0 => (
                "hmac:0123456789abcdef0123456789abcdef (9 bytes)",
                &["body"][..],
            ),
            _ => ("{}", &[][..]),
        };
        let headers = json!([["content-type", "application/json"]]);
        let line = json!({
            "schema": "parity.exchange/v1", "time": "2026-11-24T03:00:00.000000Z",
            "method": "GET", "url": format!("/users/{number}"),
            "response": {"status": 200, "headers": headers, "body": body, "hidden": hidden},
        });
        writeln!(recording, "{line}").expect("memory");
    }
    place.write("r.ndjson", recording);
    let url = candidate.url();
    let run = |migration: &str, more: &[&str]| {
        let mut arguments = vec!["replay", "r.ndjson", "--recorded-answers"];
        arguments.extend(["--candidate", &url, "--migration", migration]);
        arguments.extend(["--output", "json"]);
        place.run(&[&arguments[..], more].concat())
    };
    let told = run("report", &[]);
    let report = told.json();
    assert_eq!(
        [&report["received"], &report["match"]],
        [40, 39],
        "{report}"
    );
    assert_eq!(report["not_compared"], json!({"legacy_hidden": 1}));
    // It has no field that was compared, and none that was not.
    let fields = &report["fields"];
    assert_eq!(fields["body"], fields["body_left"], "{fields}");
    let pass = ["--gate", "--max-mismatch-rate", "0.5"];
    let accepted = ["--accept-hidden"];
    let strict = ["--max-uncomparable", "0"];
    for (name, more, code) in [
        ("gate", &[][..], 3),
        ("accepted", &accepted[..], 0),
        // One of the two is what was accepted.
        ("strict", &[&accepted[..], &strict[..]].concat(), 3),
    ] {
        let ended = run(name, &[&pass[..], more].concat());
        assert_eq!(
            ended.code, code,
            "{name}: {} {}",
            ended.stdout, ended.stderr
        );
        let outcome = if name == "strict" {
            "undecided"
        } else {
            "pass"
        };
        assert_eq!(ended.json()["outcome"], outcome, "{name}");
        let says = ended
            .stderr
            .contains("of 1 of 40 requests the recording lacks what the legacy answered");
        assert_eq!(says, name == "gate", "{name}: {}", ended.stderr);
    }
}
