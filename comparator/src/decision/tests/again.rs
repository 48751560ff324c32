//! A decision that is made again from its document says the same, and a changed document does not.

use parity_schemas::evidence::{GroupEvidence, SetEvidence};
use parity_schemas::noise::NoiseState;
use parity_schemas::recheck::RecheckEvidence;
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::Group;

use parity_schemas::histogram::{Histogram, bucket};
use serde_json::{Value, json};

use super::super::again::{again, differences, noise_faults, other_method, taken};
use super::*;

mod places;

/// With a route that fails, one that was required and never came, an operation that covers two routes, a path that is not
/// served, our own drops, and noise.
fn all() -> Vec<Decision> {
    let mut noisy = counts(4_600, 400, &[(Reason::CandidateTimeout, 3)]);
    noisy.classes = [
        (MismatchClass::Noise, 300),
        (MismatchClass::Transient, 40),
        (MismatchClass::Unconfirmed, 60),
    ]
    .into();
    let mut evidence = evidence(vec![
        ("GET /a", noisy),
        ("GET /b", counts(990, 8, &[(Reason::QueueFull, 70)])),
        ("GET /items/{id}", counts(700, 0, &[])),
        ("GET /items/new", counts(300, 1, &[])),
        ("GET /wp-login.php", counts(1, 0, &[])),
    ]);
    evidence.groups = vec![GroupEvidence {
        last_seen: parity_schemas::time::Timestamp::default(),
        route: "GET /a".to_owned(),
        group: Group {
            fingerprint: "f".to_owned(),
            pattern: "/id".to_owned(),
            shape: "uuid→uuid".to_owned(),
            legacy_status: 200,
            candidate_status: 200,
            ..Group::default()
        },
        count: 360,
        classes: [
            (MismatchClass::Noise, 300),
            (MismatchClass::Unconfirmed, 60),
        ]
        .into(),
        evidence: [(RecheckEvidence::Targets, 50)].into(),
    }];
    evidence.groups.push(GroupEvidence {
        last_seen: parity_schemas::time::Timestamp::from_micros(90_000_000),
        route: "GET /b".to_owned(),
        group: Group {
            fingerprint: "e".to_owned(),
            part: parity_schemas::verdict::Part::Status,
            legacy_status: 500,
            candidate_status: 200,
            ..Group::default()
        },
        count: 8,
        classes: [(MismatchClass::Confirmed, 8)].into(),
        evidence: [].into(),
    });
    evidence.sets = vec![SetEvidence {
        route: "GET /a".to_owned(),
        fingerprints: vec!["f".to_owned()],
        classes: [(MismatchClass::Noise, 360)].into(),
        never_asked: 0,
    }];
    for route in &mut evidence.routes {
        let mut times = Histogram::default();
        times.add(bucket(1_000), route.counts.received);
        route.legacy_head_latency = times.clone();
        route.candidate_head_latency = times;
    }
    let demands = |change: fn(&mut Thresholds)| {
        let mut thresholds = Thresholds::default();
        change(&mut thresholds);
        thresholds
    };
    let thresholds = [
        Thresholds::default(),
        demands(|thresholds| thresholds.max_mismatch_rate = 0.2),
        demands(|thresholds| thresholds.require_all_routes = true),
        demands(|thresholds| thresholds.required_routes = vec!["GET /never".to_owned()]),
        demands(|thresholds| {
            thresholds.operations = vec!["GET /items/{id}".to_owned(), "GET /none".to_owned()];
        }),
        demands(|thresholds| thresholds.min_requests = 1_000_000),
        demands(|thresholds| {
            thresholds.max_mismatch_rate = 0.2;
            thresholds.max_candidate_errors = Some(0.5);
            thresholds.max_latency = vec!["p50=1.5x".parse().expect("a limit")];
            thresholds.min_distinct = 3;
        }),
    ];
    let decide = |thresholds: &Thresholds, evidence| {
        let (id, time) = (Uuid::nil(), Timestamp::from_micros(1));
        super::decide(
            "default",
            evidence,
            &Standing::default(),
            thresholds,
            id,
            time,
        )
    };
    let mut decisions: Vec<Decision> = thresholds
        .iter()
        .map(|thresholds| decide(thresholds, Some(&evidence)))
        .collect();
    decisions.push(decide(&thresholds[0], None));
    decisions
}

/// What is wrong with a decision by its own document.
pub(super) fn faults(decision: &Decision) -> Vec<String> {
    let made = again(decision).expect("it holds its counts");
    let mut told = differences(decision, &made);
    told.extend(noise_faults(decision));
    told.extend(other_method(decision));
    told
}

fn read(document: Value) -> Decision {
    serde_json::from_value(document).expect("it is read")
}

#[test]
fn a_document_is_enough_to_decide_again_word_for_word() {
    let decisions = all();
    let is = |wanted: fn(&Decision) -> bool| decisions.iter().any(wanted);
    assert!(is(|decision| decision.total.excused.transient > 0));
    assert!(is(|decision| !decision.latency.is_empty()));
    assert!(is(|decision| !decision.candidate_errors.is_empty()));
    assert!(is(|decision| {
        let mut routes = decision.routes.iter();
        routes.any(|route| route.legacy_errors.is_some())
    }));
    for decision in &decisions {
        let document = serde_json::to_value(decision).expect("JSON");
        assert_eq!(faults(&read(document)), [""; 0]);
    }
}

/// Every value of a document that is no list and no object, by its place, and another one for it.
fn leaves(place: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    let of = |name: &str| match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    };
    let other = match value {
        Value::Object(members) => {
            for (name, value) in members {
                leaves(&of(name), value, found);
            }
            return;
        }
        Value::Array(elements) => {
            for (number, value) in elements.iter().enumerate() {
                leaves(&format!("{place}[{number}]"), value, found);
            }
            if elements.is_empty() {
                return;
            }
            Value::Array(elements.iter().skip(1).cloned().collect())
        }
        Value::Null => return,
        Value::Bool(value) => json!(!value),
        Value::Number(number) => match number.as_u64() {
            Some(number) => json!(number + 1),
            None => json!(number.as_f64().expect("a number") * 0.999 + 1e-6),
        },
        Value::String(text) => match text.as_str() {
            "pass" => json!("fail"),
            "fail" | "undecided" => json!("pass"),
            text => json!(format!("{text}!")),
        },
    };
    found.push((place.to_owned(), other));
}

/// The place in a document.
fn at<'a>(document: &'a mut Value, place: &str) -> &'a mut Value {
    let mut here = document;
    for name in place.split(['.', '[']) {
        here = match name.strip_suffix(']') {
            Some(number) => &mut here[number.parse::<usize>().expect("a number")],
            None => &mut here[name],
        };
    }
    here
}

fn fits(place: &str, pattern: &str) -> bool {
    let place = place.replace(|sign: char| sign.is_ascii_digit(), "");
    let pattern = pattern.replace('*', "");
    match pattern.strip_suffix('.') {
        // The names of reasons and classes have no digits, and what is below is as it is.
        Some(above) => {
            let rest = place.strip_prefix(above);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        }
        None => place == pattern,
    }
}

#[test]
fn every_changed_value_is_told_unless_it_is_said_to_be_taken_as_it_is() {
    let mut silent = Vec::new();
    let mut told = 0;
    for decision in all() {
        let document = serde_json::to_value(&decision).expect("JSON");
        let mut found = Vec::new();
        leaves("", &document, &mut found);
        for (place, other) in found {
            let mut changed = document.clone();
            *at(&mut changed, &place) = other;
            // What is no decision any more is told by whoever reads it.
            let Ok(read) = serde_json::from_value::<Decision>(changed) else {
                continue;
            };
            let is_told = again(&read).is_none() || !faults(&read).is_empty();
            told += usize::from(is_told);
            if !is_told && !taken(&decision).any(|(taken, _)| fits(&place, taken)) {
                silent.push(format!("{:?}: {place}", decision.outcome));
            }
        }
    }
    assert_eq!(silent, [""; 0]);
    assert!(told > 500, "{told}");
}

#[test]
fn what_follows_is_not_among_what_is_taken() {
    let decision = &all()[0];
    for place in [
        "schema",
        "method",
        "outcome",
        "headline",
        "reasons[0]",
        "scope.proven",
        "total.upper",
        "total.outcome",
        "routes[0].lower",
        "routes[0].outcome",
        "stored",
        "not_stored",
    ] {
        assert!(
            !taken(decision).any(|(taken, _)| fits(place, taken)),
            "{place}"
        );
    }
    assert!(fits(
        "routes[12].counts.classes.noise",
        "routes[*].counts.**"
    ));
}

#[test]
fn forged_words_are_told_with_those_that_follow() {
    let mut decision = all().remove(0);
    decision.headline = "PASS for all routes".to_owned();
    let told = faults(&decision);
    assert!(
        told[0].starts_with("headline is \"PASS for all routes\" in the decision, and \"UNDECIDED"),
        "{told:?}"
    );
    let mut decision = all().remove(0);
    decision.reasons.truncate(1);
    assert!(faults(&decision)[0].starts_with("reasons[1] is absent"));
}

#[test]
fn more_that_cannot_be_is_told() {
    let changes: [fn(&mut Decision); 9] = [
        |decision| decision.total.alpha = Some(0.05),
        |decision| decision.routes[0].alpha = None,
        |decision| drop(decision.routes.remove(0)),
        |decision| own(decision).excused.noise += 10_000,
        |decision| own(decision).excused.hidden += 0.5,
        |decision| drop(decision.noise.remove(0)),
        |decision| decision.noise[0].count += 1,
        |decision| decision.method = 7,
        |decision| decision.stored = Some(false),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut changed = all().remove(0);
        change(&mut changed);
        assert!(!faults(&changed).is_empty(), "change {number}");
    }
}

#[test]
fn what_a_limit_of_a_latency_says_follows_from_the_times_that_are_shown() {
    let decision = all().remove(6);
    assert_eq!(decision.latency[0].outcome, Outcome::Pass);
    let changes: [fn(&mut Decision); 4] = [
        |decision| decision.latency[0].outcome = Outcome::Fail,
        |decision| decision.latency[0].candidate.at_most_us = Some(1_000_000),
        |decision| decision.latency[0].limit.factor = 9.0,
        |decision| decision.latency.clear(),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut changed = decision.clone();
        change(&mut changed);
        assert!(!faults(&changed).is_empty(), "change {number}");
    }
}

fn own(decision: &mut Decision) -> &mut parity_schemas::evidence::OwnCounts {
    let mut routes = decision.routes.iter_mut();
    let noisy = routes
        .find(|route| route.route == "GET /a")
        .expect("a route");
    noisy.counts.as_mut().expect("it was received")
}

#[test]
fn a_document_of_an_older_program_is_not_decided_again() {
    let mut decision = all().remove(0);
    for route in &mut decision.routes {
        route.counts = None;
    }
    assert_eq!(again(&decision), None);
}
