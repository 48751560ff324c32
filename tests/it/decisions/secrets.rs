//! A secret that a person wrote into a reason is in no document, and what is left is verified as it is.

use super::{GATE, export, verify};
use crate::support::process::Place;
use crate::support::service::Service;

const RULES: &str = r#"
[[rule]]
id = "stamp"
path = "/**/stamp"
action = "ignore"
reason = "the password is Hunter2x"
owner = "token=abc123def"
"#;

#[test]
fn a_secret_in_a_reason_is_in_no_document_page_or_store_and_the_decision_holds() {
    let place = Place::new();
    place.write("parity.toml", RULES);
    let service = Service::json("{\"a\":1}");
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    for number in 0..400 {
        mirror.get(&format!("/items/{number}"));
    }
    assert_eq!(mirror.stop().0, 0);
    let span = "2020-01-01T00:00:00Z..2020-01-01T00:05:00Z=restart, password: Hunter2x";
    let ended = place.run(&[&GATE[..], &["--leave-out", span]].concat());
    let decision = ended.json();
    assert_eq!(
        decision["evidence"]["left_out"][0]["reason"],
        "restart, password: (hidden)"
    );
    let id = decision["decision_id"].as_str().expect("an id").to_owned();
    let file = export(&place, &id);
    assert!(file.contains("the password is (hidden)"), "{file}");
    let ui = place.ui();
    let shown = [
        ended.stdout.clone(),
        file.clone(),
        place.run(&["decisions", "show", &id]).stdout,
        place
            .run(&["report", "--leave-out", span, "--output", "json"])
            .stdout,
        place.run(&["report", "--leave-out", span]).stdout,
        ui.ask(&format!("/decisions/{id}")).text(),
        ui.ask(&format!("/api/v1/decisions/{id}")).text(),
    ];
    for text in &shown {
        assert!(
            !text.contains("Hunter2x") && !text.contains("abc123def"),
            "{text}"
        );
    }
    let stored = std::fs::read(place.path().join("parity.db")).expect("the store");
    for secret in ["Hunter2x", "abc123def"] {
        let found = stored
            .windows(secret.len())
            .any(|bytes| bytes == secret.as_bytes());
        assert!(!found, "{secret} is in the store");
    }
    let (code, checked) = verify(&place, &file, &["--store", "sqlite:parity.db"]);
    assert_eq!(code, 0, "{checked}");
}
