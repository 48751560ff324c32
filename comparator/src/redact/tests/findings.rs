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
