//! Records of two answers, under rules and what becomes of each difference.

use std::borrow::Cow;

use parity_schemas::exchange::{Body, ByteHold, Exchange, Origin, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::recheck::{ClassCounts, EvidenceCounts};
use parity_schemas::record::Sample;
use parity_schemas::route::Route;
use parity_schemas::tally::Group;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Side;
use uuid::Uuid;

use super::*;
use crate::redact::RecordContext;
use crate::rules::config::parse;

mod hidden;

fn rules(text: &str) -> Arc<Rules> {
    let rules = parse(text).expect("TOML");
    Arc::new(Rules::compile(&rules, Timestamp::default()).expect("rules"))
}

fn message(body: &str) -> RecordedMessage {
    RecordedMessage {
        headers: vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("content-encoding".to_owned(), "gzip".to_owned()),
            ("content-length".to_owned(), "7".to_owned()),
        ],
        body: body.to_owned(),
        body_bytes: body.len() as u64,
        body_cut: false,
    }
}

/// The record of two answers; each finding is a group of its own, named by its path.
fn recorded(legacy: &str, candidate: &str) -> Mismatch {
    let mut mismatch = Mismatch {
        route: "GET /a".to_owned(),
        method: "GET".to_owned(),
        legacy_status: 200,
        candidate_status: 200,
        sample: Some(Sample {
            request: message(""),
            legacy: message(legacy),
            candidate: message(candidate),
        }),
        ..Mismatch::default()
    };
    let none = rules("");
    let mut retrial = Retrial::new(Arc::clone(&none), none);
    let sample = mismatch.sample.clone().expect("a sample");
    let [found, _] = retrial.compared(&mismatch, &sample).expect("answers");
    let shown = |side: &Side| side.shown().map(Cow::into_owned);
    mismatch.findings = found
        .findings
        .iter()
        .map(|finding| RecordedFinding {
            fingerprint: finding.path.clone(),
            part: finding.part,
            path: finding.path.clone(),
            candidate_path: None,
            pattern: finding.pattern.clone(),
            kind: finding.kind,
            legacy: shown(&finding.legacy),
            candidate: shown(&finding.candidate),
            explanation: finding.explanation,
            text_diff: None,
        })
        .collect();
    mismatch
}

#[test]
fn examples_are_told_by_their_values_and_not_at_all_where_these_are_missing() {
    let near = "[[rule]]\nid=\"n\"\npath=\"/x\"\naction=\"tolerance\"\nabsolute=\"0.01\"\n";
    let any_order = "[[rule]]\nid=\"o\"\npath=\"/x\"\naction=\"unordered\"\n";
    let parts = "[[rule]]\nid=\"p\"\npath=\"/x\"\naction=\"parts\"\npattern='in (.*) ms'\n";
    for (rule, legacy, candidate, path, expected) in [
        (near, r#"{"x":10.1}"#, r#"{"x":10.105}"#, "/x", Told::Equal),
        (near, r#"{"x":10.1}"#, r#"{"x":10.2}"#, "/x", Told::Differs),
        (
            near,
            r#"{"x":1.1,"y":1}"#,
            r#"{"x":1.105,"y":2}"#,
            "/x",
            Told::Equal,
        ),
        (
            near,
            r#"{"x":1.1,"y":1}"#,
            r#"{"x":1.105,"y":2}"#,
            "/y",
            Told::Differs,
        ),
        (
            any_order,
            r#"{"x":[1,2,3]}"#,
            r#"{"x":[3,2,1]}"#,
            "/x",
            Told::Equal,
        ),
        // What was an element at its place is a lost one elsewhere.
        (
            any_order,
            r#"{"x":[1,2,3]}"#,
            r#"{"x":[1,2,4]}"#,
            "/x/2",
            Told::Differs,
        ),
        // Two hashes are no text.
        (
            parts,
            r#"{"x":"in hmac:aa ms"}"#,
            r#"{"x":"in hmac:bb ms"}"#,
            "/x",
            Told::CannotTell(Untold::Hashed),
        ),
        (
            near,
            r#"{"x":1}"#,
            r#"{"x":2}"#,
            "/no-such",
            Told::CannotTell(Untold::Cut),
        ),
    ] {
        let mismatch = recorded(legacy, candidate);
        let told =
            |mismatch: &Mismatch| Retrial::new(rules(""), rules(rule)).example(mismatch, path);
        assert_eq!(
            told(&mismatch),
            expected,
            "{rule} {legacy} {candidate} {path}"
        );
        let mut cut = mismatch.clone();
        cut.sample.as_mut().expect("a sample").candidate.body_cut = true;
        let without = Mismatch {
            sample: None,
            ..mismatch.clone()
        };
        let more = Mismatch {
            findings_cut: true,
            ..mismatch.clone()
        };
        let mut other = mismatch.clone();
        // The stored bodies do not show what was found: they were redacted, or recorded in another format.
        other.sample.as_mut().expect("a sample").candidate = message(legacy);
        let mut split = mismatch;
        let sample = split.sample.as_mut().expect("a sample");
        sample
            .legacy
            .headers
            .push(("x-a".to_owned(), "1\r\n\r\n{}".to_owned()));
        for (unknown, why) in [
            (cut, Untold::Cut),
            (without, Untold::NotStored),
            (more, Untold::Cut),
            (other, Untold::NotFoundAgain),
            (split, Untold::NotCompared),
        ] {
            let told = told(&unknown);
            if expected == Told::CannotTell(Untold::Hashed)
                || expected == Told::CannotTell(Untold::Cut)
            {
                assert!(matches!(told, Told::CannotTell(_)), "{rule} {path}");
            } else {
                assert_eq!(told, Told::CannotTell(why), "{rule} {path}");
            }
        }
    }
}

const KEY: &[u8] = b"the key of the operator, not ours";

/// What a mirror records of two answers.
fn redacted(media_type: &str, legacy: &str, candidate: &str) -> Mismatch {
    let none = rules("");
    let redactor = Redactor::new(&RedactConfig::default(), KEY, Arc::clone(&none));
    let redactor = redactor.expect("a redactor");
    let answer = |body: &str| {
        let message = RecordedMessage {
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            body: body.to_owned(),
            body_bytes: 0,
            body_cut: false,
        };
        super::answer(200, &message).expect("an answer")
    };
    let exchange = Exchange {
        time: Timestamp::default(),
        route: Arc::new(Route::new("GET /a")),
        request: Request {
            method: Method::GET,
            target: "/a".into(),
            headers: FieldLines::default(),
            body: Body::default(),
            origin: Origin::default(),
        },
        legacy: answer(legacy),
        candidate: answer(candidate),
        hold: ByteHold::default(),
    };
    let compared = Comparator::new(none, Limits::default()).compare(&exchange);
    let context = RecordContext {
        id: Uuid::nil(),
        identity: &Identity::default(),
        instance: "",
    };
    redactor
        .mismatch(&exchange, &compared, &context, |_| true)
        .1
}

/// What is told of the first difference by one rule with these keys.
fn told_of(keys: &str, mismatch: &Mismatch) -> Told {
    let rule = format!("[[rule]]\nid=\"r\"\n{keys}\n");
    let fingerprint = mismatch.fingerprints.first().expect("a difference");
    Retrial::new(rules(""), rules(&rule)).example(mismatch, fingerprint)
}

#[test]
fn what_rules_that_hold_on_left_different_is_beyond_new_ones_elsewhere() {
    let near = "[[rule]]\nid=\"n\"\npath=\"/x\"\naction=\"tolerance\"\nabsolute=\"1\"\n";
    let wide = near.replace("\"1\"", "\"5\"").replace("\"n\"", "\"w\"");
    let elsewhere = "[[rule]]\nid=\"e\"\npath=\"/y\"\naction=\"ignore\"\n";
    let any_order = "[[rule]]\nid=\"o\"\npath=\"/y\"\naction=\"unordered\"\n";
    let mismatch = redacted("application/json", r#"{"x":1}"#, r#"{"x":9}"#);
    let finding = &mismatch.findings[0];
    let group = GroupEvidence {
        route: "GET /a".to_owned(),
        group: parity_schemas::tally::Group {
            fingerprint: finding.fingerprint.clone(),
            part: finding.part,
            pattern: finding.pattern.clone(),
            kind: finding.kind,
            ..parity_schemas::tally::Group::default()
        },
        count: 1,
        classes: std::collections::BTreeMap::new(),
        evidence: std::collections::BTreeMap::new(),
        last_seen: Timestamp::default(),
    };
    let join = |texts: &[&str]| texts.concat();
    for (before, after, expected) in [
        (join(&[near]), join(&[near, elsewhere]), Some(Told::Differs)),
        (join(&[near]), join(&[elsewhere, near]), Some(Told::Differs)),
        (join(&[near]), join(&[near]), Some(Told::Differs)),
        (join(&[near]), wide.clone(), None),
        (join(&[near]), join(&[near, &wide]), None),
        // Where rules were removed, or some pair values, all of them are looked at.
        (join(&[near, elsewhere]), join(&[near]), None),
        (join(&[near]), join(&[near, any_order]), None),
        (String::new(), join(&[near]), None),
    ] {
        let retrial = Retrial::new(rules(&before), rules(&after));
        assert_eq!(retrial.group(&group), expected, "{before} to {after}");
    }
}

/// A rule for the field of a form is one for the name in its disposition, too.
#[test]
fn a_name_in_a_form_may_be_renamed_by_the_rule_for_its_field() {
    let rule = "[[rule]]\nid=\"f\"\npath=\"/*/text/a\"\naction=\"rename\"\nto=\"b\"\n";
    let retrial = Retrial::new(rules(""), rules(rule));
    for (pattern, expected) in [
        ("/*/part-headers/content-disposition", None),
        ("/*/text/b", None),
        ("/*/part-headers/content-type", Some(Told::Differs)),
        ("/*/text/c", Some(Told::Differs)),
    ] {
        let group = GroupEvidence {
            route: "GET /a".to_owned(),
            group: Group {
                pattern: pattern.to_owned(),
                ..Group::default()
            },
            count: 1,
            classes: ClassCounts::default(),
            evidence: EvidenceCounts::default(),
            last_seen: Timestamp::default(),
        };
        assert_eq!(retrial.group(&group), expected, "{pattern}");
    }
}

/// 0002: a rule that moves a difference to another place was taken for one that excuses it.
#[test]
fn what_a_rule_moves_elsewhere_still_differs() {
    let pairs = [
        (
            "application/json",
            r#"{"s":[{"k":{"id":1,"a":5}},{"k":{"id":2,"a":6}}]}"#,
            r#"{"s":[{"k":{"id":2,"a":5}},{"k":{"id":1,"a":6}}]}"#,
            "path=\"/s\"\naction=\"unordered\"",
        ),
        (
            "text/csv",
            "cust,total\na,1\nb,2",
            "total,customer\n1,a\n2,b",
            "path=\"/*/cust\"\naction=\"rename\"\nto=\"customer\"",
        ),
    ];
    for (media_type, legacy, candidate, keys) in pairs {
        let mismatch = redacted(media_type, legacy, candidate);
        let rule = format!("[[rule]]\nid=\"r\"\n{keys}\n");
        let mut retrial = Retrial::new(rules(""), rules(&rule));
        for fingerprint in &mismatch.fingerprints {
            let told = retrial.example(&mismatch, fingerprint);
            assert_ne!(told, Told::Equal, "{media_type} {fingerprint}");
        }
    }
}
