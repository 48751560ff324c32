//! `parity decisions`: the record that parity held, listed, printed, exported, and checked by somebody who doubts it.

mod forged;
mod golden;
mod listed;
mod secrets;
mod shown;
mod stored;
mod verified;

use parity_comparator::seal::sha256;
use parity_schemas::json_text::{compact, pretty};
use serde_json::Value;

use crate::support::process::{Ended, Place};
use crate::support::service::Service;

const RULES: &str = r#"
[[rule]]
id = "stamp"
path = "/**/stamp"
action = "ignore"
reason = "set on read"
"#;

/// A place with a store of 400 equal answers under a rule.
pub(super) fn counted() -> Place {
    let place = Place::new();
    place.write("parity.toml", RULES);
    more(&place, 400);
    place
}

pub(super) fn more(place: &Place, requests: u32) {
    let service = Service::json("{\"a\":1}");
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    for number in 0..requests {
        mirror.get(&format!("/items/{number}"));
    }
    assert_eq!(mirror.stop().0, 0);
}

pub(super) const GATE: [&str; 5] = ["gate", "--max-mismatch-rate", "0.01", "--output", "json"];

pub(super) fn decide(place: &Place) -> (Ended, String) {
    let ended = place.run(&GATE);
    let id = ended.json()["decision_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    (ended, id)
}

pub(super) fn export(place: &Place, id: &str) -> String {
    let ended = place.run(&["decisions", "export", id]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.stdout
}

/// Verifies `file`, and gives the states of its checks by name.
pub(super) fn verify(place: &Place, file: &str, more: &[&str]) -> (i32, Value) {
    place.write("file.json", file);
    let mut arguments = vec!["decisions", "verify", "file.json", "--output", "json"];
    arguments.extend(more);
    let ended = place.run(&arguments);
    let document = ended.json();
    assert_eq!(document["schema"], "parity.verification/v1");
    assert_eq!(document["holds"] == true, ended.code == 0);
    (ended.code, document)
}

pub(super) fn state(document: &Value, name: &str) -> String {
    let checks = document["checks"].as_array().expect("checks");
    let check = checks.iter().find(|check| check["name"] == name);
    check.map_or_else(String::new, |check| {
        let told = check["told"].to_string();
        format!("{} {told}", check["state"].as_str().expect("a state"))
    })
}

/// The file with other content and a digest that is right again, as somebody would forge it.
pub(super) fn forged(file: &str, change: impl FnOnce(&str) -> String) -> String {
    let export: Value = serde_json::from_str(file).expect("JSON");
    let begin = file.find("\"content\":").expect("content") + "\"content\":".len();
    let end = file.rfind('}').expect("an end");
    let content = compact(&change(&compact(
        file.get(begin..end).expect("its content"),
    )));
    assert_ne!(
        sha256(content.as_bytes()),
        export["sha256"],
        "it changes something"
    );
    pretty(&format!(
        "{{\"schema\":\"parity.decision_export/v1\",\"sha256\":\"{}\",\"content\":{content}}}",
        sha256(content.as_bytes())
    ))
}
