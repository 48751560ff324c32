//! Every value of an export, changed one by one, with a digest that is right again: the file or the store tells.

use parity_dashboards::view;
use parity_schemas::decisions::{CheckState, Verification};
use parity_sink::{Reader, StoreUrl};
use serde_json::{Value, json};

use super::{counted, decide, export, forged};

const PROGRAM: &str = concat!("parity ", env!("CARGO_PKG_VERSION"));

/// Places of which the file alone proves nothing; `verify` says so. With a store, only the last two are left.
const ONLY_THE_STORE: [&str; 6] = [
    "decision.decision_id",
    "decision.time",
    "decision.waited_ms",
    "decision.thresholds.",
    "decision.evidence.",
    "decision.clients.",
];
const NEVER: [&str; 2] = ["exported", "program"];

/// Every value that is no list and no object, as a JSON pointer, and another one for it; and each list without its first.
fn leaves(place: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    let other = match value {
        Value::Object(members) => {
            for (name, value) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(&format!("{place}/{name}"), value, found);
            }
            return;
        }
        Value::Array(elements) => {
            for (number, value) in elements.iter().enumerate() {
                leaves(&format!("{place}/{number}"), value, found);
            }
            json!(elements.iter().skip(1).collect::<Vec<_>>())
        }
        Value::Null => return,
        Value::Bool(value) => json!(!value),
        Value::Number(number) => match number.as_u64() {
            Some(number) => json!(number + 1),
            None => json!(number.as_f64().expect("a number") * 0.9 + 1e-6),
        },
        // Times and ids stay times and ids.
        Value::String(text) => match text.rfind(|digit: char| digit.is_ascii_digit()) {
            Some(at) => {
                let (begin, rest) = text.split_at(at);
                let (digit, end) = rest.split_at(1);
                let other = if digit == "7" { "8" } else { "7" };
                json!(format!("{begin}{other}{end}"))
            }
            None if text == "pass" => json!("fail"),
            None => json!(format!("{text}!")),
        },
    };
    if other != *value {
        found.push((place.to_owned(), other));
    }
}

/// What differs from the verification of the file as it was.
fn is_told(checked: &Verification, before: &Verification) -> bool {
    checked.checks != before.checks || checked.decision_id != before.decision_id
}

#[test]
fn every_changed_value_of_an_export_is_told_by_the_file_or_by_the_store() {
    let place = counted();
    let (_, id) = decide(&place);
    // With its members sorted, as this test writes the changed ones.
    let sorted: Value = place
        .run(&["decisions", "show", &id, "--output", "json"])
        .json();
    let connection = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let set = connection.execute("UPDATE decisions SET document = ?1", [sorted.to_string()]);
    assert_eq!(set.expect("it is set"), 1);
    let file = export(&place, &id);
    let url = StoreUrl::Sqlite(place.path().join("parity.db"));
    let reader = Reader::open(&url.into()).expect("it opens");
    let check = |file: &str, reader: Option<&Reader>| {
        view::verified(file.as_bytes(), reader, PROGRAM).expect("the store answers")
    };
    let (alone, beside) = (check(&file, None), check(&file, Some(&reader)));
    assert!(alone.holds && beside.holds);
    let all_hold = |check: &parity_schemas::decisions::Check| check.state == CheckState::Holds;
    assert!(beside.checks.iter().all(all_hold), "{beside:?}");
    let content: Value = serde_json::from_str::<Value>(&file).expect("JSON")["content"].take();
    let mut found = Vec::new();
    leaves("", &content, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    let (mut silent, mut silent_beside) = (Vec::new(), Vec::new());
    for (pointer, other) in found {
        let changed = forged(&file, |content| {
            let mut content: Value = serde_json::from_str(content).expect("JSON");
            *content.pointer_mut(&pointer).expect("the place") = other.clone();
            content.to_string()
        });
        let name = pointer.trim_start_matches('/').replace('/', ".");
        if !is_told(&check(&changed, None), &alone) {
            silent.push(name.clone());
        }
        if check(&changed, Some(&reader)).holds {
            silent_beside.push(name);
        }
    }
    let beyond = |name: &&String| {
        let counts = name.starts_with("decision.routes.") && {
            let rest = name.splitn(4, '.').nth(3).unwrap_or_default();
            rest.starts_with("counts.")
                || rest == "distinct_targets"
                || rest == "most_frequent_share"
                || rest == "route"
        };
        let of_targets =
            name.starts_with("decision.targets.") || *name == "decision.total.most_frequent_share";
        !NEVER.contains(&name.as_str())
            && !ONLY_THE_STORE.iter().any(|place| name.starts_with(place))
            && !counts
            && !of_targets
    };
    let more: Vec<&String> = silent.iter().filter(beyond).collect();
    assert_eq!(more, Vec::<&String>::new(), "not told without a store");
    assert_eq!(silent_beside, NEVER, "not told beside the store");
}

/// Numbers that no program writes there, and what is no number.
fn odd() -> [Value; 9] {
    [
        json!(0),
        json!(-1),
        json!(1.5),
        json!((1_u64 << 53) + 1),
        json!(u64::MAX / 2 + 1),
        json!(u64::MAX),
        json!(1e300),
        Value::Null,
        json!("7"),
    ]
}

/// What a decision about rechecks has besides: classes and noise that the one here has not.
fn with_noise(decision: &mut Value) {
    for route in decision["routes"].as_array_mut().expect("a list") {
        route["counts"]["classes"] =
            json!({"confirmed": 3, "noise": 4, "transient": 2, "unconfirmed": 5});
        route["counts"]["rechecks"] = json!({"asked": 9, "between": 1, "refused_paused": 3});
        route["counts"]["not_compared"] = json!({"candidate_timeout": 2, "client_aborted": 1});
        route["counts"]["excused"] =
            json!({"transient": 2, "noise": 4, "open": 1, "hidden": 0.001, "never_asked": 0});
    }
    let route = decision["routes"][0]["route"].clone();
    decision["noise"] = json!([{
        "route": route, "fingerprint": "00000000000000aa", "part": "body", "pattern": "/a", "kind": "value",
        "shape": "uuid→uuid", "explanation": null, "legacy_status": 200, "candidate_status": 200, "state": "proven",
        "compared": 400, "rechecks": 4, "against": [], "hidden": 0.001, "family": null, "mirror": null,
        "example_id": "01a207b5-9466-7755-a5d3-0fc0cbbb0577", "count": 11, "classes": {"noise": 4, "unconfirmed": 7},
        "evidence": {"above": 2, "below": 2, "own": 1, "other": 1, "targets": 9, "unsampled": 1, "even": 3,
            "never_asked": 1, "unheard": 1, "silent": 1, "lately": 5, "lately_asked": 2, "lately_above": 1, "lately_below": 1}
    }]);
    decision["evidence"]["left_out"] = json!([{
        "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z", "reason": "restart",
        "received": 5, "compared": 4, "differing": 1
    }]);
}

#[test]
fn no_number_makes_verify_panic_and_none_that_cannot_be_counted_holds() {
    let place = counted();
    let (_, id) = decide(&place);
    let file = export(&place, &id);
    let url = StoreUrl::Sqlite(place.path().join("parity.db"));
    let reader = Reader::open(&url.into()).expect("it opens");
    let check = |content: &Value, reader: Option<&Reader>| {
        let changed = forged(&file, |_| content.to_string());
        view::verified(changed.as_bytes(), reader, PROGRAM).expect("the store answers")
    };
    let mut plain: Value = serde_json::from_str::<Value>(&file).expect("JSON")["content"].take();
    let honest = plain.clone();
    with_noise(&mut plain["decision"]);
    let mut of_counts = 0;
    for (content, is_honest) in [(honest, true), (plain, false)] {
        let mut found = Vec::new();
        leaves("", &content, &mut found);
        found.retain(|(pointer, _)| content.pointer(pointer).is_some_and(Value::is_number));
        assert!(found.len() > 40, "{}", found.len());
        if !is_honest {
            // Read, and told: it is not what follows from it.
            let told = check(&content, None);
            let digest = &told.checks[0];
            assert_eq!(digest.state, CheckState::Holds, "{:?}", digest.told);
            assert!(!told.holds);
        }
        let is_count = |pointer: &str| {
            !pointer.contains("/thresholds/") && content.pointer(pointer).is_some_and(Value::is_u64)
        };
        for odd in odd() {
            let mut all = content.clone();
            for (pointer, _) in &found {
                let mut one = content.clone();
                *one.pointer_mut(pointer).expect("the place") = odd.clone();
                if one == content {
                    continue;
                }
                let too_many = odd.as_u64().is_some_and(|number| number > 1 << 53);
                let told = check(&one, None);
                if too_many && is_count(pointer) {
                    assert!(!told.holds, "{pointer} {odd}");
                    of_counts += 1;
                }
                *all.pointer_mut(pointer).expect("the place") = odd.clone();
            }
            assert!(!check(&all, Some(&reader)).holds, "{odd} everywhere");
        }
    }
    assert!(of_counts > 100, "{of_counts}");
}
