//! Asks the comparator: a suggestion makes what it covers equal, and leaves a wrong value at the same place a difference.

mod renames;

use std::borrow::Cow;
use std::sync::Arc;

use http::Method;
use parity_schemas::attributes::AttributeCounts;
use parity_schemas::known::KnownState;
use parity_schemas::recheck::{ClassCounts, EvidenceCounts};
use parity_schemas::record::{Mismatch, RecordedFinding};
use parity_schemas::suggested::Effect;
use parity_schemas::verdict::{Finding, Side, Verdict};
use uuid::Uuid;

use super::nature::Nature;
use super::*;
use crate::message::read_answer;
use crate::{AnswerPair, Comparator, Comparison, Limits};

fn compare(rules: &[RuleConfig], route: &str, legacy: &str, candidate: &str) -> Comparison {
    let rules = Rules::compile(rules, Timestamp::default()).expect("suggestions compile");
    let [legacy, candidate] = [legacy, candidate].map(|text| {
        let (head, body) = text.split_once("\n\n").unwrap_or(("", text));
        let code = if head.is_empty() {
            "200"
        } else {
            head.split('\n').next().unwrap_or("")
        };
        let fields: Vec<&str> = head.lines().skip(1).collect();
        let fields =
            [fields.join("\r\n").as_str(), ""].join(if fields.is_empty() { "" } else { "\r\n" });
        let kind = if fields.contains("content-type:") {
            ""
        } else {
            "content-type: application/json\r\n"
        };
        let answer = format!(
            "HTTP/1.1 {code} X\r\n{kind}{fields}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        read_answer(answer.as_bytes()).expect("an answer")
    });
    Comparator::new(Arc::new(rules), Limits::default()).explain_answers(AnswerPair {
        route,
        method: &Method::GET,
        request: None,
        time: Timestamp::default(),
        legacy: &legacy,
        candidate: &candidate,
        asked_together: false,
    })
}

fn seen(route: &str, codes: (u16, u16), finding: &Finding) -> Seen {
    let name = format!(
        "{route} {} {} {:?}",
        finding.pattern, finding.kind, finding.explanation
    );
    Seen {
        fingerprints: vec![name.clone()],
        at_most: 3,
        name: Naming::default(),
        group: GroupReport {
            fingerprint: name,
            state: KnownState::New,
            route: route.to_owned(),
            part: finding.part,
            pattern: finding.pattern.clone(),
            kind: finding.kind,
            severity: parity_schemas::severity::Severity::of(
                finding.part,
                &finding.pattern,
                finding.kind,
                finding.explanation,
                codes,
            ),
            explanation: finding.explanation,
            shape: String::new(),
            against: 0,
            legacy_status: codes.0,
            candidate_status: codes.1,
            count: 3,
            classes: ClassCounts::new(),
            evidence: EvidenceCounts::new(),
            attributes: AttributeCounts::new(),
            special: Vec::new(),
            first_seen: Timestamp::default(),
            last_seen: Timestamp::default(),
            example_id: Uuid::nil(),
            example: None,
            also: Vec::new(),
        },
    }
}

/// The groups of what differs on each of these routes.
fn seen_on(routes: &[&str], legacy: &str, candidate: &str) -> Vec<Seen> {
    let code = |text: &str| {
        text.get(..3)
            .and_then(|code| code.parse().ok())
            .unwrap_or(200)
    };
    let mut all: Vec<Seen> = Vec::new();
    for route in routes {
        let codes = (code(legacy), code(candidate));
        let found = compare(&[], route, legacy, candidate).findings;
        let stored = [stored(route, codes, &found)];
        for finding in found {
            let mut seen = seen(route, codes, &finding);
            if all
                .iter()
                .all(|other| other.fingerprints != seen.fingerprints)
            {
                seen.name = Naming::read(&stored, &seen.fingerprints);
                all.push(seen);
            }
        }
    }
    all
}

/// What is stored of some findings.
fn stored(route: &str, codes: (u16, u16), findings: &[Finding]) -> Mismatch {
    let shown = |side: &Side| side.shown().map(Cow::into_owned);
    let recorded = findings.iter().map(|finding| RecordedFinding {
        fingerprint: seen(route, codes, finding).fingerprints.concat(),
        part: finding.part,
        path: finding.path.clone(),
        candidate_path: finding.candidate_path.clone(),
        pattern: finding.pattern.clone(),
        kind: finding.kind,
        legacy: shown(&finding.legacy),
        candidate: shown(&finding.candidate),
        explanation: finding.explanation,
        text_diff: None,
    });
    Mismatch {
        findings: recorded.collect(),
        ..Mismatch::default()
    }
}

fn suggested(seen: &[Seen]) -> Suggested {
    suggest(seen, &Exchanges::of(&[], []))
}

/// The rules as a file has them, read again.
fn configs(suggested: &Suggested) -> Vec<RuleConfig> {
    let rules = suggested.rules.iter();
    let texts: Vec<String> = rules
        .map(|one| format!("[[rule]]\n{}", RuleConfig::from(&one.rule).to_toml()))
        .collect();
    crate::rules::config::parse(&texts.join("\n")).expect("it is read")
}

/// What differs, and the same with a wrong value planted into it.
const PLANTED: &[(&str, &str, &str)] = &[
    (
        r#"{"x":"2020-01-02T03:04:05.12Z"}"#,
        r#"{"x":"2020-01-02T03:04:05.120Z"}"#,
        r#"{"x":"2020-01-02T03:04:06.120Z"}"#,
    ),
    (
        r#"{"x":"2020-01-02T03:04:05.123456Z"}"#,
        r#"{"x":"2020-01-02T03:04:05.123Z"}"#,
        r#"{"x":"2020-01-02T03:04:05.124Z"}"#,
    ),
    (
        r#"{"x":"2020-01-02T03:04:05+01:00"}"#,
        r#"{"x":"2020-01-02T03:04:05Z"}"#,
        r#"{"x":"2020-01-02T04:04:06Z"}"#,
    ),
    (
        r#"{"x":"PT36H"}"#,
        r#"{"x":"P1DT12H"}"#,
        r#"{"x":"P1DT11H"}"#,
    ),
    (r#"{"x":"1.10"}"#, r#"{"x":"1.1"}"#, r#"{"x":"1.2"}"#),
    // A fault that is as true of its values as the noise: another unit, factor, direction, offset or number of digits.
    (
        r#"{"x":"2026-03-01T09:30:12Z"}"#,
        r#"{"x":1772357412}"#,
        r#"{"x":1772357412000}"#,
    ),
    (
        r#"{"x":"2026-03-01T09:30:12.5Z"}"#,
        r#"{"x":1772357412}"#,
        r#"{"x":1772357412500}"#,
    ),
    (
        r#"{"x":"2026-03-01T09:30:12.567890Z"}"#,
        r#"{"x":1772357412}"#,
        r#"{"x":1772357412567}"#,
    ),
    (
        r#"{"x":"2026-03-01T09:30:12Z"}"#,
        r#"{"x":1772357412000}"#,
        r#"{"x":1772357412}"#,
    ),
    (
        r#"{"x":"2026-03-01T09:30:12"}"#,
        r#"{"x":1772357412}"#,
        r#"{"x":1772357412000}"#,
    ),
    (r#"{"x":"PT2M"}"#, r#"{"x":120}"#, r#"{"x":120000}"#),
    (r#"{"x":"PT2M"}"#, r#"{"x":120000}"#, r#"{"x":120}"#),
    (r#"{"x":12.5}"#, r#"{"x":1250}"#, r#"{"x":0.125}"#),
    (r#"{"x":1250}"#, r#"{"x":12.5}"#, r#"{"x":125000}"#),
    (r#"{"x":12.5}"#, r#"{"x":12500}"#, r#"{"x":12500000}"#),
    (r#"{"x":12.5}"#, r#"{"x":750}"#, r#"{"x":45000}"#),
    (r#"{"x":12.5}"#, r#"{"x":12800}"#, r#"{"x":13107200}"#),
    (
        r#"{"x":"2020-01-02T03:04:05"}"#,
        r#"{"x":"2020-01-02T03:04:05Z"}"#,
        r#"{"x":"2020-01-02T03:04:05+05:00"}"#,
    ),
    (r#"{"x":10.4567}"#, r#"{"x":10.46}"#, r#"{"x":10}"#),
    (r#"{"x":10.4567}"#, r#"{"x":10.46}"#, r#"{"x":10.5}"#),
    (r#"{"x":10.4587}"#, r#"{"x":10.45}"#, r#"{"x":10}"#),
    (r#"{"x":null}"#, r#"{"x":[]}"#, r#"{"x":{}}"#),
    (r#"{"x":null}"#, r#"{"x":{}}"#, r#"{"x":[]}"#),
    (
        r#"{"x":"12 3007 "}"#,
        r#"{"x":"12 3007"}"#,
        r#"{"x":"1 23007"}"#,
    ),
    (r#"{"x":"/a b"}"#, r#"{"x":"/a%20b"}"#, r#"{"x":"/a+b"}"#),
    (r#"{"x":true}"#, r#"{"x":"true"}"#, r#"{"x":1}"#),
    (
        r#"{"x":0.1}"#,
        r#"{"x":0.1000000000000000055511151231257827}"#,
        r#"{"x":0.2}"#,
    ),
    (
        r#"{"x":0.3}"#,
        r#"{"x":0.30000000000000004}"#,
        r#"{"x":0.31}"#,
    ),
    (r#"{"x":null}"#, "{}", r#"{"x":0}"#),
    ("{}", r#"{"x":null}"#, r#"{"x":1}"#),
    (r#"{"x":null}"#, r#"{"x":[]}"#, r#"{"x":[1]}"#),
    (r#"{"x":null}"#, r#"{"x":""}"#, r#"{"x":"a"}"#),
    (r#"{"x":0}"#, "{}", r#"{"x":5}"#),
    ("{}", r#"{"x":[]}"#, r#"{"x":[0]}"#),
    (r#"{"x":1}"#, r#"{"x":"1"}"#, r#"{"x":"2"}"#),
    (
        r#"{"x":"123e4567-e89b-12d3-a456-426614174000"}"#,
        r#"{"x":"123E4567-E89B-12D3-A456-426614174000"}"#,
        r#"{"x":"123E4567-E89B-12D3-A456-426614174001"}"#,
    ),
    (r#"{"x":"Paris"}"#, r#"{"x":"PARIS"}"#, r#"{"x":"PARIX"}"#),
    (r#"{"x":"a b"}"#, r#"{"x":"a  b"}"#, r#"{"x":"a  c"}"#),
    (
        r#"{"x":"caf\u00e9"}"#,
        r#"{"x":"cafe\u0301"}"#,
        r#"{"x":"cafe"}"#,
    ),
    (
        r#"{"x":"caf\u00e9"}"#,
        r#"{"x":"caf\u00c3\u00a9"}"#,
        r#"{"x":"caff"}"#,
    ),
    (
        r#"{"x":"a b/c d"}"#,
        r#"{"x":"a%20b/c%20d"}"#,
        r#"{"x":"a%20b/c%20e"}"#,
    ),
    (
        r#"{"x":"a & b"}"#,
        r#"{"x":"a &amp; b"}"#,
        r#"{"x":"a &amp; c"}"#,
    ),
    (
        r#"{"x":1577934245}"#,
        r#"{"x":1577934245000}"#,
        r#"{"x":1577934246000}"#,
    ),
    (r#"{"x":12.5}"#, r#"{"x":1250}"#, r#"{"x":1251}"#),
    (r#"{"x":12.5}"#, r#"{"x":125}"#, r#"{"x":126}"#),
    (r#"{"x":2940.2767}"#, r#"{"x":2940.28}"#, r#"{"x":2940.27}"#),
    (
        r#"{"x":"a long text that goes on and on"}"#,
        r#"{"x":"a long text that goes"}"#,
        r#"{"x":"a long texts that goes"}"#,
    ),
    (
        r#"{"x":"value"}"#,
        r#"{"x":["value"]}"#,
        r#"{"x":["other"]}"#,
    ),
    (
        r#"{"x":{"a":1}}"#,
        r#"{"x":"{\"a\":1}"}"#,
        r#"{"x":"{\"a\":2}"}"#,
    ),
    (
        r#"{"x":"1.234,56"}"#,
        r#"{"x":"1,234.56"}"#,
        r#"{"x":"1,234.57"}"#,
    ),
    (
        r#"{"x":[1,2,3,4]}"#,
        r#"{"x":[4,3,2,1]}"#,
        r#"{"x":[4,3,2,9]}"#,
    ),
    (
        r#"{"items":[{"x":null},{"x":null}]}"#,
        r#"{"items":[{"x":[]},{"x":[]}]}"#,
        r#"{"items":[{"x":[]},{"x":[7]}]}"#,
    ),
    (
        "200\nx-flag: TRUE\n\n1",
        "200\nx-flag: true\n\n1",
        "200\nx-flag: false\n\n1",
    ),
];

#[test]
fn each_suggestion_excuses_what_it_covers_and_nothing_that_is_planted_there() {
    let many = ["GET /a", "GET /b", "GET /c", "GET /d", "GET /e", "GET /f"];
    for (legacy, candidate, planted) in PLANTED {
        // On one route alone, on few, and on many.
        for routes in [&many[..1], &many[..4], &many] {
            let seen = seen_on(routes, legacy, candidate);
            assert!(!seen.is_empty(), "{legacy} {candidate}");
            let suggested = suggested(&seen);
            assert!(
                suggested.unruled.is_empty(),
                "{legacy} {candidate}: {suggested:?}"
            );
            let found = &seen[0].group;
            let is_safe = Nature::of(found.kind, found.explanation).may_be_anywhere;
            let by_route = !is_safe;
            let expected = if by_route { routes.len() } else { 1 };
            assert_eq!(
                suggested.rules.len(),
                expected,
                "{legacy} {candidate}: {suggested:?}"
            );
            let rules = configs(&suggested);
            assert!(rules.iter().all(|rule| rule.action != "ignore"));
            if by_route {
                // A route that nobody saw is not covered.
                let new = compare(&rules, "GET /other", legacy, candidate);
                assert!(
                    new.verdict == Verdict::Mismatch,
                    "{legacy} {candidate} {rules:?}"
                );
            }
            for route in routes {
                let covered = compare(&rules, route, legacy, candidate);
                assert!(
                    covered.verdict == Verdict::Match,
                    "{legacy} {candidate} {rules:?}"
                );
                let wrong = compare(&rules, route, legacy, planted);
                assert!(
                    wrong.verdict == Verdict::Mismatch,
                    "{legacy} {planted} {rules:?}"
                );
            }
            let elsewhere = compare(&rules, "GET /other", legacy, planted);
            assert!(
                elsewhere.verdict == Verdict::Mismatch,
                "{legacy} {planted} {rules:?}"
            );
        }
    }
}

/// What differs by a factor, the rule that says so, the same in numbers too short to be told, and what is wrong at the same place.
type Scaled = (
    (&'static str, &'static str),
    &'static str,
    (&'static str, &'static str),
    &'static [(&'static str, &'static str)],
);

const SCALED: [Scaled; 4] = [
    (
        ("19.99", "1999"),
        "100",
        ("5", "500"),
        &[
            ("19.99", "1998"),
            ("19.99", "-1999"),
            ("19.99", "199.9"),
            ("19.99", "19990"),
            ("19.99", "0.1999"),
            ("5", "50"),
            ("5", "501"),
            ("0", "500"),
            ("19.99", "null"),
            ("19.99", "\"1999 EUR\""),
        ],
    ),
    (
        ("1999", "19.99"),
        "0.01",
        ("500", "5"),
        &[("1999", "19.98"), ("1999", "199900"), ("500", "50")],
    ),
    (
        ("12.5", "12500"),
        "1000",
        ("5", "5000"),
        &[("12.5", "12501"), ("12.5", "12500000"), ("12.5", "0.0125")],
    ),
    (
        ("12288", "12"),
        "0.0009765625",
        ("1024", "1"),
        &[("12288", "12.288"), ("12288", "13"), ("1024", "1024000")],
    ),
];

fn of_x(value: &str) -> String {
    format!("{{\"x\":{value}}}")
}

#[test]
fn a_constant_factor_becomes_a_scale_rule_by_which_every_other_number_is_still_found() {
    for ((legacy, candidate), factor, (short, scaled), wrong) in SCALED {
        let suggested = suggested(&seen_on(&["GET /a"], &of_x(legacy), &of_x(candidate)));
        let [rule] = &suggested.rules[..] else {
            panic!("{legacy} {candidate}: {suggested:?}");
        };
        let said = (rule.rule.action.as_str(), rule.rule.factor.as_deref());
        assert_eq!(said, ("scale", Some(factor)), "{suggested:?}");
        assert_eq!(
            (rule.effect, rule.rule.explanations.len()),
            (Effect::Lossy, 0)
        );
        assert!(
            rule.reach.contains("any other stays a difference"),
            "{rule:?}"
        );
        let rules = configs(&suggested);
        let verdict = |route: &str, one: &str, other: &str| {
            compare(&rules, route, &of_x(one), &of_x(other)).verdict
        };
        for (one, other) in [(legacy, candidate), (short, scaled)] {
            assert!(
                verdict("GET /a", one, other) == Verdict::Match,
                "{one} {other}"
            );
            assert!(
                verdict("GET /b", one, other) == Verdict::Mismatch,
                "{one} {other}"
            );
        }
        for (one, other) in wrong {
            assert!(
                verdict("GET /a", one, other) == Verdict::Mismatch,
                "{one} {other}"
            );
        }
    }
}

#[test]
fn a_factor_that_some_numbers_are_too_short_to_prove_is_still_suggested() {
    let with = |against: u64| {
        let mut seen = seen_on(&["GET /a"], &of_x("19.99"), &of_x("1999"));
        seen[0].group.count = 30;
        seen[0].group.against = against;
        // Too short to prove a factor, and a wrong one.
        for (one, other) in [("5", "500"), ("7.25", "726")] {
            seen.extend(seen_on(&["GET /a"], &of_x(one), &of_x(other)));
        }
        suggested(&seen)
    };
    let few = with(3);
    let [rule] = &few.rules[..] else {
        panic!("{few:?}");
    };
    assert_eq!(
        (rule.rule.action.as_str(), rule.rule.factor.as_deref()),
        ("scale", Some("100")),
        "{rule:?}"
    );
    assert!(!few.unruled.is_empty(), "{few:?}");
    assert!(
        few.unruled.iter().all(|one| one.why == LOOK_AGAIN_SCALED),
        "{few:?}"
    );
    let rules = configs(&few);
    for (one, other, expected) in [
        ("5", "500", Verdict::Match),
        ("7.25", "726", Verdict::Mismatch),
        ("5", "50", Verdict::Mismatch),
    ] {
        let verdict = compare(&rules, "GET /a", &of_x(one), &of_x(other)).verdict;
        assert!(verdict == expected, "{one} {other}");
    }
    // As many are no factor as are one.
    let many = with(30);
    assert!(many.rules.is_empty(), "{many:?}");
    let why = many.unruled.iter().map(|one| one.why.as_str());
    assert!(
        why.clone().any(|why| why == nature::CONTRADICTED),
        "{many:?}"
    );
}

#[test]
fn a_factor_stays_an_accept_where_scale_cannot_say_it_or_would_say_more() {
    let of = |pairs: &[(&str, &str)]| {
        let seen = pairs.iter();
        let seen = seen.flat_map(|(one, two)| seen_on(&["GET /a"], &of_x(one), &of_x(two)));
        let suggested = suggested(&seen.collect::<Vec<_>>());
        let rules = suggested.rules.iter();
        let mut said: Vec<String> = rules
            .map(|one| {
                let rule = &one.rule;
                format!(
                    "{} {}",
                    rule.action,
                    rule.kind.as_deref().unwrap_or_default()
                )
            })
            .collect();
        said.sort();
        (said, configs(&suggested))
    };
    // A sixtieth has no end as a decimal.
    let (said, rules) = of(&[("750", "12.5")]);
    assert_eq!(said, ["accept value"]);
    let wrong = compare(&rules, "GET /a", &of_x("750"), &of_x("12.6"));
    assert!(wrong.verdict == Verdict::Mismatch);
    // That some answers have a text is a difference of its own.
    let (said, rules) = of(&[("19.99", "1999"), ("19.98", "\"1998\"")]);
    assert_eq!(said, ["accept type", "accept value"]);
    let text = compare(&rules[1..], "GET /a", &of_x("19.98"), &of_x("\"1998\""));
    let number = compare(&rules[1..], "GET /a", &of_x("19.98"), &of_x("1998"));
    assert!((text.verdict == Verdict::Mismatch) != (number.verdict == Verdict::Mismatch));
}

#[test]
fn routes_on_which_nothing_else_differs_are_told() {
    let both = r#"{"x":12.5,"y":1}"#;
    let mut seen = seen_on(&["GET /prices"], r#"{"x":12.46}"#, r#"{"x":12.5}"#);
    seen.extend(seen_on(&["GET /orders"], r#"{"x":12.46,"y":7}"#, both));
    let suggested = suggested(&seen);
    let alone: Vec<(Option<&str>, &[String])> = suggested
        .rules
        .iter()
        .map(|one| (one.rule.route.as_deref(), &one.alone_on[..]))
        .collect();
    assert!(
        alone.contains(&(Some("GET /prices"), &["GET /prices".to_owned()])),
        "{alone:?}"
    );
    assert!(alone.contains(&(Some("GET /orders"), &[])), "{alone:?}");
}

#[test]
fn what_nothing_explains_is_listed_and_never_suggested() {
    for (legacy, candidate) in [
        (r#"{"x":1}"#, r#"{"x":3}"#),
        (r#"{"x":"a"}"#, r#"{"x":"b"}"#),
        (r#"{"x":1}"#, "{}"),
        ("{}", r#"{"x":1}"#),
        (r#"{"x":1}"#, r#"{"x":[5]}"#),
        (r#"{"x":1}"#, r#"{"x":true}"#),
        (r#"{"x":"12 3"}"#, r#"{"x":"1 23"}"#),
        (r#"{"password":"AbC"}"#, r#"{"password":"abc"}"#),
        (r#"{"apiToken":"a b"}"#, r#"{"apiToken":"a  b"}"#),
        (
            r#"{"x":{"client_secret":"a%20b"}}"#,
            r#"{"x":{"client_secret":"a b"}}"#,
        ),
        (
            r#"{"id":"2f1c0a9b-7f3e-4d7c-9a55-0d5c0e7b1a11"}"#,
            r#"{"id":"8a6e0803-ad2c-4c7e-b1a0-5a6b0cde22ff"}"#,
        ),
        (
            r#"{"old":"a value of its own"}"#,
            r#"{"other":"a value of its own"}"#,
        ),
        ("200\nx-a: 1\n\n1", "200\nx-a: 2\n\n1"),
        ("200\nx-a: 1\n\n1", "200\n\n1"),
        ("200\nset-cookie: a=1\n\n1", "200\nset-cookie: a=2\n\n1"),
        // What follows from another status is no matter of its own.
        ("200\n\n{\"x\":null}", "404\n\n{\"x\":[]}"),
    ] {
        let seen = seen_on(&["GET /a", "GET /b", "GET /c"], legacy, candidate);
        assert!(!seen.is_empty(), "{legacy} {candidate}");
        let suggested = suggested(&seen);
        assert!(
            suggested.rules.is_empty(),
            "{legacy} {candidate}: {suggested:?}"
        );
        assert_eq!(suggested.unruled.len(), seen.len());
        assert!(suggested.unruled.is_sorted_by_key(|one| one.severity));
    }
}

#[test]
fn only_what_a_typed_client_reads_alike_is_harmless() {
    use Effect::{Harmless, Lossy};
    for (legacy, candidate, effect, is_anywhere) in [
        ("9007199254740993", "9007199254740992", Lossy, false),
        ("0.1", "0.1000000000000000055511151231257827", Lossy, false),
        ("\"aGVsbG8=\"", "\"68656c6c6f\"", Lossy, true),
        ("\"PT1H\"", "\"3600s\"", Lossy, true),
        // An amount or a version: a text does not say.
        ("\"1.50\"", "\"1.5\"", Lossy, false),
        ("\"1.50\"", "1.5", Lossy, false),
        ("\"2026-01-01T08:00:00Z\"", "1767254400", Lossy, true),
        ("\"PT1H\"", "3600", Lossy, true),
        (
            "\"0123456789ABCDEF0123456789ABCDEF\"",
            "\"0123456789abcdef0123456789abcdef\"",
            Lossy,
            false,
        ),
        (
            "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"",
            "\"A0EEBC999C0B4EF8BB6D6BB9BD380A11\"",
            Harmless,
            true,
        ),
        (
            "\"2026-01-01T10:00:00+02:00\"",
            "\"2026-01-01T08:00:00Z\"",
            Harmless,
            true,
        ),
        ("12.49", "12.5", Lossy, false),
        ("\"Active\"", "\"active\"", Lossy, false),
        ("[3,1,2]", "[1,2,3]", Lossy, false),
        // Absent.
        ("0", "", Lossy, false),
        ("null", "", Lossy, true),
    ] {
        let [one, other] = [legacy, candidate].map(|value| match value {
            "" => "{}".to_owned(),
            value => format!("{{\"x\":{value}}}"),
        });
        let suggested = suggested(&seen_on(&["GET /a", "GET /b"], &one, &other));
        let effects: Vec<Effect> = suggested.rules.iter().map(|rule| rule.effect).collect();
        let expected = vec![effect; if is_anywhere { 1 } else { 2 }];
        assert_eq!(effects, expected, "{legacy} {candidate}: {suggested:?}");
    }
}

#[test]
fn a_fault_on_one_route_leaves_the_others_their_rules() {
    let names: Vec<String> = (0..8).map(|number| format!("GET /r{number}")).collect();
    let routes: Vec<&str> = names.iter().map(String::as_str).collect();
    let (legacy, candidate) = (r#"{"x":null}"#, r#"{"x":[]}"#);
    let mut seen = seen_on(&routes, legacy, candidate);
    seen[0].group.against = 2;
    let suggested = suggested(&seen);
    assert_eq!(suggested.rules.len(), 7, "{suggested:?}");
    assert_eq!(suggested.unruled.len(), 1, "{suggested:?}");
    assert!(suggested.unruled[0].why.contains("contradict"));
    let rules = configs(&suggested);
    for (at, route) in routes.iter().enumerate() {
        let is_wrong = compare(&rules, route, legacy, candidate).verdict == Verdict::Mismatch;
        assert_eq!(is_wrong, at == 0, "{route}");
    }
    // More rules than anybody reads.
    let names: Vec<String> = (0..30).map(|number| format!("GET /r{number}")).collect();
    let routes: Vec<&str> = names.iter().map(String::as_str).collect();
    let suggested = super::tests::suggested(&seen_on(&routes, r#"{"x":"A"}"#, r#"{"x":"a"}"#));
    assert!(suggested.rules.is_empty(), "{suggested:?}");
    assert_eq!(suggested.unruled.len(), 30);
    assert!(suggested.unruled.iter().all(|one| one.why == TOO_MANY));
}

#[test]
fn many_places_become_one_rule_but_not_where_a_wrong_value_could_pass_for_the_explanation() {
    let many = |from: &str, to: &str| {
        let [legacy, candidate] = [from, to].map(|value| {
            let fields: Vec<String> = (0..5).map(|at| format!("\"f{at}\":{value}")).collect();
            format!("{{{}}}", fields.join(","))
        });
        suggested(&seen_on(&["GET /a"], &legacy, &candidate))
    };
    let anywhere = many("null", "[]");
    assert_eq!(anywhere.rules.len(), 1, "{anywhere:?}");
    assert_eq!(anywhere.rules[0].rule.path, "/**");
    assert_eq!(anywhere.rules[0].rule.route.as_deref(), Some("GET /a"));
    assert_eq!(anywhere.rules[0].fingerprints.len(), 5);
    let single = many("12.5", "1250");
    assert_eq!(single.rules.len(), 5, "{single:?}");
    assert!(
        single
            .rules
            .iter()
            .all(|one| one.rule.path != "/**" && one.effect == Effect::Lossy)
    );
    let times = many("\"2020-01-02T03:04:05.1Z\"", "\"2020-01-02T03:04:05.10Z\"");
    assert_eq!(times.rules[0].effect, Effect::Harmless);
}

#[test]
fn a_rule_does_not_reach_where_the_same_explanation_is_contradicted() {
    let mut seen = seen_on(
        &["GET /a"],
        r#"{"a":null,"b":null,"c":null,"d":null}"#,
        r#"{"a":[],"b":[],"c":[],"d":[]}"#,
    );
    seen[3].group.against = 2;
    let suggested = suggested(&seen);
    assert_eq!(suggested.unruled.len(), 1, "{suggested:?}");
    let rules = configs(&suggested);
    assert_eq!(rules.len(), 3, "{rules:?}");
    let one = |field: &str| {
        let [legacy, candidate] = ["null", "[]"].map(|value| format!("{{\"{field}\":{value}}}"));
        compare(&rules, "GET /a", &legacy, &candidate).verdict
    };
    assert!(one("a") == Verdict::Match && one("d") == Verdict::Mismatch);
}

#[test]
fn what_differs_there_in_another_way_is_counted_as_an_exception_and_stays() {
    let mut seen = seen_on(&["GET /a", "GET /b"], r#"{"at":null}"#, r#"{"at":[]}"#);
    seen.extend(seen_on(&["GET /a"], r#"{"at":[1]}"#, r#"{"at":{"z":5}}"#));
    let suggested = suggested(&seen);
    assert_eq!(
        (suggested.rules.len(), suggested.unruled.len()),
        (1, 1),
        "{suggested:?}"
    );
    assert_eq!(suggested.rules[0].exceptions, 1);
    assert!(
        suggested.rules[0].reach.contains("on any route"),
        "{suggested:?}"
    );
}

#[test]
fn hostile_names_make_no_rule() {
    let hostile = r#"{"a\u202e\n[[rule]]":null}"#;
    let suggested = suggested(&seen_on(
        &["GET /a"],
        hostile,
        r#"{"a\u202e\n[[rule]]":[]}"#,
    ));
    assert!(suggested.rules.is_empty(), "{suggested:?}");
    assert_eq!(suggested.unruled.len(), 1);
}
