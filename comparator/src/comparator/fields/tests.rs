//! What counts as a field, and what rules leave of an answer.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method};
use parity_schemas::exchange::{ByteHold, Omitted, Origin, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;

use super::*;
use crate::RuleConfig;

fn lines(fields: &[(&str, &str)]) -> FieldLines {
    let fields = fields.iter();
    fields
        .map(|(name, value)| (name.parse::<HeaderName>().expect("a name"), value))
        .collect()
}

fn answer(fields: &[(&str, &str)], body: impl Into<Body>) -> Capture {
    Capture {
        status: 200,
        headers: lines(fields),
        body: body.into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

fn rule(part: &str, path: &str, action: &str) -> RuleConfig {
    RuleConfig {
        part: Some(part.to_owned()),
        ..RuleConfig::new(&format!("{part} {path} {action}"), path, action)
    }
}

/// The counts, of which `all` and so on are the names of the words.
fn counted(
    rules: &[RuleConfig],
    method: Method,
    legacy: Capture,
) -> impl Fn(FieldCount) -> u64 + Copy + use<> {
    let rules = Rules::compile(rules, Timestamp::from_micros(0)).expect("the rules are right");
    let exchange = Exchange {
        time: Timestamp::from_micros(1),
        route: Arc::new(Route::new("GET /a")),
        request: Request {
            method,
            target: "/a".into(),
            headers: FieldLines::default(),
            body: Body::default(),
            origin: Origin::default(),
        },
        candidate: answer(&[], Vec::new()),
        legacy,
        hold: ByteHold::default(),
    };
    let numbers = Comparator::new(Arc::new(rules), Limits::default()).fields(&exchange);
    move |count| numbers[count as usize]
}

/// Fields of a body, those that are left, and those of them that are compared roughly.
fn of_body(rules: &[RuleConfig], kind: &str, body: &[u8]) -> [u64; 3] {
    let kind = [("content-type", kind)];
    let of = counted(rules, Method::GET, answer(&kind, body.to_vec()));
    // Status and content type are left in each case.
    assert_eq!(of(FieldCount::All), of(FieldCount::Body) + 2);
    assert_eq!(of(FieldCount::Left), of(FieldCount::BodyLeft) + 2);
    assert_eq!(of(FieldCount::Sampled), 1);
    [FieldCount::Body, FieldCount::BodyLeft, FieldCount::Roughly].map(of)
}

#[test]
fn each_value_and_each_empty_container_of_a_body_is_a_field() {
    for (kind, body, fields) in [
        (
            "application/json",
            "{\"a\":1,\"b\":[true,null,\"x\",[],{}]}",
            6,
        ),
        ("application/json", "7", 1),
        ("application/json", "{}", 1),
        ("application/json", "\u{feff}[1,2]", 2),
        ("application/json", "no JSON", 1),
        ("application/json", "", 0),
        ("", "[1,2]", 2),
        ("application/x-ndjson", "{\"a\":1}\n{\"a\":2,\"b\":3}\n", 3),
        ("application/yaml", "a: 1\nb: [x, y]\n", 3),
        ("application/yaml", "a: 1\n---\nb: 2\n", 2),
        ("application/xml", "<a b='1'><c>x</c><d/></a>", 3),
        ("text/csv", "id,name\n1,x\n2,y\n", 4),
        ("application/x-www-form-urlencoded", "a=1&b=2", 2),
        ("text/plain", "a\nb\nc", 1),
        ("image/png", "\u{0}", 1),
    ] {
        let kinds: &[(&str, &str)] = &[("content-type", kind)];
        let kinds = if kind.is_empty() { &[] } else { kinds };
        let of = counted(&[], Method::GET, answer(kinds, body.as_bytes().to_vec()));
        let found = [FieldCount::Body, FieldCount::BodyLeft].map(of);
        assert_eq!(found, [fields; 2], "{kind}: {body}");
    }
}

#[test]
fn rules_leave_what_they_do_not_ignore_and_what_is_compared_roughly_is_left() {
    const BODY: &str =
        "{\"id\":1,\"at\":\"x\",\"items\":[{\"p\":1.5,\"q\":2},{\"p\":1.5,\"q\":2}]}";
    let within = RuleConfig {
        absolute: Some("0.1".to_owned()),
        ..RuleConfig::new("near", "/items/*/p", "tolerance")
    };
    let accept = |word: &str| RuleConfig {
        explanations: vec![word.to_owned()],
        ..RuleConfig::new(word, "/**", "accept")
    };
    let uuid = RuleConfig {
        r#type: Some("uuid".to_owned()),
        ..RuleConfig::new("uuid", "/id", "as")
    };
    let other_route = RuleConfig {
        route: Some("GET /b".to_owned()),
        ..rule("body", "/**", "ignore")
    };
    let ignore = |path| rule("body", path, "ignore");
    for (rules, expected) in [
        (vec![], [6, 6, 0]),
        (vec![ignore("/**")], [6, 0, 0]),
        (vec![ignore("")], [6, 0, 0]),
        (vec![ignore("/*")], [6, 0, 0]),
        (vec![ignore("/*/*")], [6, 2, 0]),
        (vec![ignore("/items")], [6, 2, 0]),
        (vec![ignore("/items/1")], [6, 4, 0]),
        (vec![ignore("/**/p")], [6, 4, 0]),
        (vec![ignore("/absent")], [6, 6, 0]),
        (vec![ignore("/items/0/p"), ignore("/**/p")], [6, 4, 0]),
        // Where order does not count, no rule for a position applies.
        (
            vec![rule("body", "/items", "unordered"), ignore("/items/1")],
            [6, 6, 0],
        ),
        (vec![within.clone()], [6, 6, 2]),
        (vec![within, ignore("/items/0")], [6, 4, 1]),
        // Written in another way is no other value.
        (vec![accept("same_instant"), uuid], [6, 6, 0]),
        (vec![accept("rounded")], [6, 6, 6]),
        (vec![rule("body", "/**", "mask")], [6, 6, 0]),
        (vec![other_route], [6, 6, 0]),
    ] {
        let words: Vec<_> = rules.iter().map(|rule| rule.id.clone()).collect();
        let found = of_body(&rules, "application/json", BODY.as_bytes());
        assert_eq!(found, expected, "{words:?}");
    }
    // A rule for parts of which nothing is left.
    let parts = |path: &str, pattern: &str| RuleConfig {
        pattern: Some(pattern.to_owned()),
        ..rule("body", path, "parts")
    };
    let json = BODY.as_bytes();
    for (pattern, left) in [("^(.*)$", 5), ("x(.*)", 6)] {
        let found = of_body(&[parts("/**", pattern)], "application/json", json);
        assert_eq!(found[..2], [6, left], "{pattern}");
    }
    let line = |line: Option<&str>, characters: Option<&str>| RuleConfig {
        line: line.map(str::to_owned),
        characters: characters.map(str::to_owned),
        ..rule("body", "", "ignore")
    };
    let near = RuleConfig {
        action: "tolerance".to_owned(),
        absolute: Some("1".to_owned()),
        ..line(Some("."), None)
    };
    for (rule, expected) in [
        (parts("", "(?s)(.*)"), [1, 0, 0]),
        (parts("", r"balance (\d+)"), [1, 1, 1]),
        (line(None, Some("1-99999")), [1, 0, 0]),
        (line(Some("."), None), [1, 0, 0]),
        (line(Some("^balance"), None), [1, 1, 1]),
        (line(None, Some("1-3")), [1, 1, 1]),
        (near, [1, 1, 1]),
    ] {
        let found = of_body(
            std::slice::from_ref(&rule),
            "text/plain",
            b"balance 5\nok\n",
        );
        assert_eq!(found, expected, "{rule:?}");
    }
    // What has no structure is a single field.
    for (kind, body) in [
        ("text/plain", "a\nb"),
        ("image/png", "x"),
        ("application/json", "{"),
    ] {
        let found = of_body(&[ignore("/**")], kind, body.as_bytes());
        assert_eq!(found, [1, 0, 0], "{kind}");
        let found = of_body(&[ignore("/a")], kind, body.as_bytes());
        assert_eq!(found, [1, 1, 0], "{kind}");
    }
}

#[test]
fn fields_of_the_header_count_by_name_and_cookies_by_theirs() {
    let fields = [
        ("content-type", "application/json"),
        ("x-a", "1"),
        ("x-a", "2"),
        ("set-cookie", "sid=1; Path=/"),
        ("set-cookie", "theme=dark"),
        // Not compared by default.
        ("server", "x"),
        ("date", "Sun, 01 Feb 2026 12:00:00 GMT"),
        ("content-length", "2"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
    ];
    let header = |path| rule("header", path, "ignore");
    for (rules, left) in [
        (vec![], 5),
        (vec![header("x-a")], 4),
        (vec![header("set-cookie")], 3),
        (vec![header("set-cookie/sid")], 4),
        (vec![header("*")], 1),
        (vec![header("server")], 5),
        (vec![rule("status", "", "ignore")], 4),
        (vec![rule("trailer", "*", "ignore")], 5),
        (vec![rule("header", "x-a", "mask")], 5),
    ] {
        let words: Vec<_> = rules.iter().map(|rule| rule.id.clone()).collect();
        let of = counted(&rules, Method::GET, answer(&fields, Vec::new()));
        let found = [FieldCount::All, FieldCount::Left, FieldCount::Body].map(of);
        assert_eq!(found, [5, left, 0], "{words:?}");
    }
    let mut answer = answer(&[], Vec::new());
    answer.trailers = Some(lines(&[("x-sum", "1")]));
    let of = counted(&[rule("trailer", "*", "ignore")], Method::GET, answer);
    assert_eq!([FieldCount::All, FieldCount::Left].map(of), [2, 1]);
}

#[test]
fn a_body_that_was_not_kept_is_one_field_and_one_that_is_not_sent_is_none() {
    let ignored = [rule("body", "/**", "ignore")];
    let stream = || answer(&[], Body::omitted(Omitted::Stream));
    let of = counted(&[], Method::GET, stream());
    assert_eq!([FieldCount::Body, FieldCount::BodyLeft].map(of), [1, 1]);
    let of = counted(&ignored, Method::GET, stream());
    assert_eq!([FieldCount::Body, FieldCount::BodyLeft].map(of), [1, 0]);
    let of = counted(&[], Method::HEAD, answer(&[], b"[1,2]".to_vec()));
    assert_eq!([FieldCount::Body, FieldCount::All].map(of), [0, 1]);
    let compressed = answer(&[("content-encoding", "gzip")], b"no gzip".to_vec());
    let of = counted(&ignored, Method::GET, compressed);
    assert_eq!([FieldCount::Body, FieldCount::BodyLeft].map(of), [1, 0]);
}

#[test]
fn what_a_recording_hides_is_not_left_to_compare() {
    let hash = "hmac:0123456789abcdef0123456789abcdef";
    let of = |hidden: &[&str]| {
        let kind = ("content-type", "application/json");
        let body = br#"{"name":"Ann","token":"hmac:0","items":[1,2]}"#;
        let mut legacy = answer(&[kind, ("x-trace", hash)], body.to_vec());
        legacy.hidden = Some(hidden.iter().map(|name| (*name).to_owned()).collect());
        let of = counted(&[], Method::GET, legacy);
        let counts = [FieldCount::All, FieldCount::Left, FieldCount::Body];
        (counts.map(of), of(FieldCount::BodyLeft))
    };
    assert_eq!(of(&[]), ([7, 7, 4], 4));
    assert_eq!(of(&["body/token"]), ([7, 6, 4], 3));
    assert_eq!(of(&["body/token", "header/x-trace"]), ([7, 5, 4], 3));
    // As a body that a rule ignores.
    assert_eq!(of(&["body"]), ([7, 3, 4], 0));
}

#[test]
fn hostile_bodies_are_counted_without_a_panic() {
    let deep = "[".repeat(100_000);
    let closed = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let rules = [
        rule("body", "/**/a/**/b", "ignore"),
        rule("body", "/**/x", "ignore"),
    ];
    for body in [
        deep.as_str(),
        closed.as_str(),
        "{\"a\":",
        "\u{0}",
        "{\"a\":{\"a\":{\"b\":1}}}",
    ] {
        for kind in [
            "application/json",
            "application/xml",
            "application/yaml",
            "text/event-stream",
        ] {
            let [all, left, roughly] = of_body(&rules, kind, body.as_bytes());
            assert!(all >= left && left >= roughly && all > 0, "{kind}");
        }
    }
}
