//! Records of two answers, under rules and what becomes of each difference.

use std::borrow::Cow;

use parity_schemas::exchange::{Body, ByteHold, Exchange, Origin, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::route::Route;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Side;
use uuid::Uuid;

use super::*;
use crate::redact::RecordContext;
use crate::rules::config::parse;

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

const UNKNOWN: Told = Told::CannotTell(Untold::Hashed);

#[test]
fn hidden_parts_of_a_text_are_told_of_if_a_rule_leaves_them_out_whatever_they_are() {
    let one = "settled in 95 ms, token=Kd83hfk29Fh2\nthanks\n";
    let token = "settled in 95 ms, token=Zu49Fjw8Dk1c\nthanks\n";
    let both = "settled in 7 ms, token=Zu49Fjw8Dk1c\nthanks\n";
    for (keys, candidate, expected) in [
        (
            r#"path=""\naction="parts"\npattern='token=(\S+)'"#,
            token,
            Told::Equal,
        ),
        (
            r#"path=""\naction="parts"\npattern='token=(.*)'"#,
            token,
            Told::Equal,
        ),
        (
            r#"path=""\naction="parts"\npattern='token=(\S+)'"#,
            both,
            Told::Differs,
        ),
        // Both clear pieces and hidden ones.
        (
            r#"path=""\naction="parts"\npattern='in (\d+) ms, token=(\S+)'"#,
            both,
            Told::Equal,
        ),
        // It is found in some values only, or in the hash alone.
        (
            r#"path=""\naction="parts"\npattern='token=(\d+)'"#,
            token,
            UNKNOWN,
        ),
        (
            r#"path=""\naction="parts"\npattern='token=(\w+)'"#,
            token,
            UNKNOWN,
        ),
        (
            r#"path=""\naction="parts"\npattern='token=([0-9a-zA-Z]{12})$'"#,
            token,
            UNKNOWN,
        ),
        (
            r#"path=""\naction="parts"\npattern='token=(hmac:[0-9a-f]+)'"#,
            token,
            UNKNOWN,
        ),
        (
            r#"path=""\naction="parts"\npattern='hmac:([0-9a-f]+)'"#,
            token,
            UNKNOWN,
        ),
        // A clear piece is left out only if the hidden one is of some form.
        (
            r#"path=""\naction="parts"\npattern='in (\d+) ms, token=0x[0-9a-f]+|token=(\S+)'"#,
            both,
            UNKNOWN,
        ),
        (
            r#"path=""\naction="parts"\npattern='in (\d+) ms, token=\w+'"#,
            both,
            UNKNOWN,
        ),
        // Lines, columns and characters.
        (r#"line="1"\naction="ignore""#, both, Told::Equal),
        (r#"line='^settled'\naction="ignore""#, both, Told::Equal),
        (r#"line='token=\d'\naction="ignore""#, both, UNKNOWN),
        (r#"line="2"\naction="ignore""#, both, UNKNOWN),
        (
            r#"line="1"\ncolumn="5"\naction="ignore""#,
            token,
            Told::Equal,
        ),
        (
            r#"line="1"\ncolumn="5"\naction="ignore""#,
            both,
            Told::Differs,
        ),
        (
            r#"line="1"\ncharacters="19-36"\naction="ignore""#,
            token,
            UNKNOWN,
        ),
        (
            r#"line="1"\ncolumn="5"\naction="tolerance"\nabsolute="5""#,
            token,
            UNKNOWN,
        ),
        (
            r#"line="1"\ncolumn="5"\naction="as"\ntype="uuid""#,
            token,
            UNKNOWN,
        ),
    ] {
        let keys = keys.replace("\\n", "\n");
        let mismatch = redacted("text/plain", one, candidate);
        let sample = mismatch.sample.as_ref().expect("a sample");
        assert!(
            sample.legacy.body.contains("token=hmac:"),
            "{}",
            sample.legacy.body
        );
        assert!(!sample.legacy.body.contains("Kd83"));
        assert_eq!(told_of(&keys, &mismatch), expected, "{keys} {candidate}");
        // Where nothing but what is clear differs, equal hashes are equal values.
        let clear = redacted("text/plain", one, &one.replace("95", "7"));
        let told = told_of(&keys, &clear);
        if keys.contains("token=(\\S+)'") && !keys.contains("(\\d+)") {
            assert_eq!(told, Told::Differs, "{keys}");
        }
    }
}

#[test]
fn equal_hashes_hide_equal_values_and_others_are_never_taken_for_equal() {
    let timing = r#"path=""
action="parts"
pattern='in (\d+) ms'"#;
    let text = |ms: &str, token: &str| format!("settled in {ms} ms, token={token}\n");
    let same = redacted(
        "text/plain",
        &text("95", "Kd83hfk29Fh2"),
        &text("7", "Kd83hfk29Fh2"),
    );
    assert_eq!(told_of(timing, &same), Told::Equal);
    let other = redacted(
        "text/plain",
        &text("95", "Kd83hfk29Fh2"),
        &text("7", "Zu49Fjw8Dk1c"),
    );
    assert_eq!(told_of(timing, &other), UNKNOWN);
}

#[test]
fn strings_of_json_and_attributes_of_pages_are_told_of_like_texts() {
    let note = |ms: &str, token: &str| {
        format!(r#"{{"password":"{token}","note":"settled in {ms} ms, token={token}"}}"#)
    };
    let parts = "path=\"/note\"\naction=\"parts\"\npattern='token=(\\S+)$'";
    let json = |one: &str, two: &str| {
        let mut mismatch = redacted("application/json", one, two);
        mismatch.findings.retain(|finding| finding.path == "/note");
        mismatch.fingerprints = vec![mismatch.findings[0].fingerprint.clone()];
        mismatch
    };
    let token = json(&note("95", "Kd83hfk29Fh2"), &note("95", "Zu49Fjw8Dk1c"));
    assert_eq!(told_of(parts, &token), Told::Equal);
    let both = json(&note("95", "Kd83hfk29Fh2"), &note("7", "Zu49Fjw8Dk1c"));
    assert_eq!(told_of(parts, &both), Told::Differs);
    let digits = parts.replace("\\S", "\\d");
    assert_eq!(told_of(&digits, &token), UNKNOWN);
    // What is a hash as a whole may be of any type.
    let whole = redacted(
        "application/json",
        r#"{"password":"Kd83hfk29Fh2"}"#,
        r#"{"password":"Zu49Fjw8Dk1c"}"#,
    );
    for keys in [
        "action=\"as\"\ntype=\"number\"",
        "action=\"parts\"\npattern='(.*)'",
    ] {
        let keys = format!("path=\"/password\"\n{keys}");
        assert!(
            matches!(told_of(&keys, &whole), Told::CannotTell(_)),
            "{keys}"
        );
    }
    let page = |token: &str, word: &str| {
        format!(
            "<html><body><form><input type=\"hidden\" name=\"csrf_token\" value=\"{token}\"><p>{word}</p></form></body></html>"
        )
    };
    let csrf = "element='input[name=csrf_token]'\nattribute=\"value\"\naction=\"ignore\"";
    let token = redacted(
        "text/html",
        &page("Kd83hfk29Fh2", "a"),
        &page("Zu49Fjw8Dk1c", "a"),
    );
    assert_eq!(told_of(csrf, &token), Told::Equal);
    let both = redacted(
        "text/html",
        &page("Kd83hfk29Fh2", "a"),
        &page("Zu49Fjw8Dk1c", "b"),
    );
    assert_eq!(told_of(csrf, &both), Told::Differs);
    let lang = csrf.replace("csrf_token", "lang");
    assert_eq!(told_of(&lang, &both), UNKNOWN);
}

#[test]
fn what_is_hidden_for_its_own_form_may_be_a_card_or_a_key_of_several_words() {
    let text = |secret: &str| format!("settled with {secret} in 95 ms\n");
    let one = text("sk_live_4eC39HqLyjWDarjtT1zdp7dc");
    let two = text("sk_live_9fD40IrMzkXEbskuU2aeq8ed");
    let mismatch = redacted("text/plain", &one, &two);
    let word = "path=\"\"\naction=\"parts\"\npattern='with (\\S+) in'";
    assert_eq!(told_of(word, &mismatch), UNKNOWN);
    let any = "path=\"\"\naction=\"parts\"\npattern='(?s)with (.*) in 95'";
    assert_eq!(told_of(any, &mismatch), Told::Equal);
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
