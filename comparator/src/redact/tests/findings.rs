//! Findings as they are recorded.

use super::*;

#[test]
fn findings_below_a_secret_key_and_under_mask_rules_are_hashed() {
    let json = [("content-type", "application/json"), ("etag", "W/\"x\"")];
    let body = |value: &str| {
        format!(
            r#"{{"credentials":{{"user":"{value}"}},"people":[{{"iban":"{value}","age":{}}}],"secret":{{"a":1}}}}"#,
            value.len()
        )
    };
    let mut candidate = answer(&json, body("HUNTER22").as_bytes());
    set(&mut candidate, HeaderName::from_static("etag"), "\"y\"");
    let exchange = exchange(
        "/users/1",
        &[],
        b"",
        answer(&json, body("HUNTER2").as_bytes()),
        candidate,
    );
    let rules = [
        mask(Part::Body, "/people/*/iban"),
        mask(Part::Header, "etag"),
    ];
    let record = record(&redactor(&RedactConfig::default(), &rules), &exchange);
    let text = serde_json::to_string(&record).expect("a record");
    assert!(!text.contains("HUNTER2"), "{text}");
    let hashed: Vec<(&str, bool)> = record
        .findings
        .iter()
        .map(|finding| {
            (
                finding.path.as_str(),
                finding
                    .legacy
                    .as_ref()
                    .is_some_and(|value| value.contains("hmac:")),
            )
        })
        .collect();
    let below = hashed[1].0;
    assert!(below.starts_with("/credentials/hmac:"), "{below}");
    assert_eq!(record.findings[1].pattern, "/credentials/*");
    assert_eq!(
        hashed,
        [
            ("etag", true),
            (below, true),
            ("/people/0/iban", true),
            ("/people/0/age", false)
        ]
    );
    let own = RedactConfig {
        mask_keys: vec!["age".to_owned()],
        ..RedactConfig::default()
    };
    let record = super::tests::record(&redactor(&own, &rules), &exchange);
    assert!(
        record.findings[3]
            .legacy
            .as_ref()
            .is_some_and(|value| value.starts_with("\"hmac:"))
    );
}

#[test]
fn broken_and_binary_bodies_show_nothing_that_lost_its_key() {
    let json = [("content-type", "application/json")];
    let exchange_of = |candidate: Capture| {
        exchange(
            "/users/1",
            &[],
            b"",
            answer(&json, br#"{"password":"x"}"#),
            candidate,
        )
    };
    let broken = record(
        &plain(),
        &exchange_of(answer(&json, br#"{"password":HUNTER2}"#)),
    );
    let text = serde_json::to_string(&broken).expect("a record");
    assert!(!text.contains("HUNTER2"), "{text}");
    assert!(
        text.contains("invalid JSON at byte 12: expected a value, at `hmac:"),
        "{text}"
    );
    let png = [("content-type", "image/png")];
    let binary = exchange(
        "/users/1",
        &[],
        b"",
        answer(&png, b"\x89PNG\x00HUNTER2"),
        answer(&png, b"\x89PNG\x00HUNTER3"),
    );
    let binary = record(&plain(), &binary);
    let sample = binary.sample.expect("it was asked for");
    assert!(sample.legacy.body.starts_with("hmac:") && sample.legacy.body_bytes == 12);
    let value = binary.findings[0].legacy.as_deref().expect("a value");
    assert!(
        value.starts_with("hmac:") && value.ends_with(" (12 bytes)"),
        "{value}"
    );
}

#[test]
fn a_recorded_text_shows_what_no_rule_excuses_and_a_new_name_is_looked_up_in_its_own_body() {
    let page = [("content-type", "text/plain")];
    let sides = ["up 10 s\nnodes 3\n", "up 999 s\nnodes 4\n"];
    let [one, two] = sides.map(|body| answer(&page, body.as_bytes()));
    let uptime = RuleConfig {
        line: Some("^up ".to_owned()),
        column: Some("2".to_owned()),
        ..RuleConfig::new("uptime", "", "ignore")
    };
    let redactor_of = |rule: RuleConfig| redactor(&RedactConfig::default(), &[rule]);
    let record = super::record(
        &redactor_of(uptime),
        &exchange("/users/1", &[], b"", one, two),
    );
    let finding = &record.findings[0];
    let shown = (finding.legacy.as_deref(), finding.candidate.as_deref());
    assert_eq!(shown, (Some("nodes 3"), Some("nodes 4")));
    let diff = finding.text_diff.as_deref().unwrap_or_default();
    assert!(
        diff.contains("\n up 10 s\n") && !diff.contains("999"),
        "{diff}"
    );

    let json = [("content-type", "application/json")];
    let sides = [
        r#"{"x":1,"userName":"ada"}"#,
        r#"{"user_name":"bob","x":1}"#,
    ];
    let [one, two] = sides.map(|body| answer(&json, body.as_bytes()));
    let rename = RuleConfig {
        to: Some("user_name".to_owned()),
        ..RuleConfig::new("name", "/userName", "rename")
    };
    let record = super::record(
        &redactor_of(rename),
        &exchange("/users/1", &[], b"", one, two),
    );
    let finding = &record.findings[0];
    let paths = (&*finding.path, finding.candidate_path.as_deref());
    assert_eq!(paths, ("/userName", Some("/user_name")));
    let shown = (finding.legacy.as_deref(), finding.candidate.as_deref());
    assert_eq!(shown, (Some("\"ada\""), Some("\"bob\"")));
}
