//! How attributes are read, and which of them are shown.

use std::sync::Arc;

use super::*;
use crate::redact::RedactConfig;
use crate::rules::Rules;

fn redactor() -> Redactor {
    let key = b"0123456789abcdef0123456789abcdef";
    Redactor::new(&RedactConfig::default(), key, Arc::new(Rules::default())).expect("a redactor")
}

/// A value of a place, of which the ninth is a listed header.
fn shown(place: usize, value: &str) -> &str {
    let config = AttributeConfig {
        headers: vec![HeaderName::from_static("x-tenant")],
        candidate_instance: Some(HeaderName::from_static("x-pod")),
    };
    config.shown(&redactor(), place, value)
}

fn headers(fields: &[(&'static str, &str)]) -> FieldLines {
    let mut lines = FieldLines::default();
    for (name, value) in fields {
        lines.push(HeaderName::from_static(name), value.as_bytes());
    }
    lines
}

#[test]
fn a_client_is_known_by_its_family() {
    for (agent, family) in [
        ("curl/8.5.0", "curl"),
        ("okhttp/4.12.0", "okhttp"),
        ("Go-http-client/1.1", "Go-http-client"),
        ("python-requests/2.31", "python-requests"),
        ("checkout-service", "checkout-service"),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:1.0) Gecko/20100101 Firefox/120.0",
            "Firefox",
        ),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36",
            "Chrome",
        ),
        (
            "Mozilla/5.0 AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0",
            "Edge",
        ),
        (
            "Mozilla/5.0 (Macintosh) Version/17.1 Safari/605.1.15",
            "Safari",
        ),
        ("Mozilla/5.0 (compatible; Googlebot/2.1)", "bot"),
        ("Mozilla/4.0", "other browser"),
        ("", "none"),
        ("Amazon CloudFront", "Amazon"),
        ("my-app 1.2.3 (Linux)", "my-app"),
        ("Dart (dart:io)", "Dart"),
        ("token:SEKAb7", HIDDEN),
        ("alice:SEKApw", HIDDEN),
        ("the password is SEKApw", HIDDEN),
        ("493817 is your code", HIDDEN),
        ("AKIAIOSFODNN7EXAMPLE/1", HIDDEN),
        ("xK9dQ2mZ7pL4vB8nR3tY/1", HIDDEN),
        ("<script>alert(1)</script>", HIDDEN),
    ] {
        let sent = headers(&[("user-agent", agent)]);
        assert_eq!(shown(CLIENT_PLACE, client(&sent)), family, "{agent}");
    }
    assert_eq!(client(&headers(&[])), "none");
}

#[test]
fn names_of_parameters_are_read_and_nothing_that_could_be_a_value() {
    for (query, expected) in [
        ("", &[][..]),
        ("page=2&sort=name", &["page", "sort"]),
        ("a[0]=1;b=2", &["a[0]", "b"]),
        // Values without a name.
        ("sesame", &[]),
        ("&=x&&", &[]),
        ("4111111111111111=1", &[HIDDEN]),
        ("ada@example.org=1", &[HIDDEN]),
        ("xK9dQ2mZ7pL4vB8nR3tY=1", &[HIDDEN]),
        ("%1b[31m=1", &[HIDDEN]),
        ("4111-1111-1111-1111=1", &[HIDDEN]),
        ("AKIAIOSFODNN7EXAMPLE=1", &[HIDDEN]),
        ("DE89370400440532013000=1", &[HIDDEN]),
        ("alice:SEKApw=1", &[HIDDEN]),
        ("Bearer+SEKAhunter2a=1", &[HIDDEN]),
        (
            "$filter=1&user.name=2&token=3&is_new-user=4",
            &["$filter", "user.name", "token", "is_new-user"],
        ),
    ] {
        let mut found = Vec::new();
        each_parameter(query, |name| {
            found.push(shown(QUERY_PLACE, name).to_owned());
        });
        assert_eq!(found, expected, "{query}");
    }
    let mut found = 0;
    each_parameter(&"a=1&".repeat(1_000), |_| found += 1);
    assert_eq!(found, MAX_PARAMETERS);
}

#[test]
fn values_are_plain_and_short() {
    let long = "x ".repeat(MAX_VALUE_BYTES);
    for (text, expected) in [
        ("gold", "gold"),
        ("checkout-7d9f8c6b5-x2x9z", "checkout-7d9f8c6b5-x2x9z"),
        ("application/json", "application/json"),
        ("", NONE),
        ("a=b", HIDDEN),
        ("a\u{1b}[31m", HIDDEN),
        ("é", HIDDEN),
        ("123456789012", HIDDEN),
        ("4111 1111 1111 1111", HIDDEN),
        ("DE89 3704 0044 0532 0130 00", HIDDEN),
        ("GB29 NWBK 6016 1331 9268 19", HIDDEN),
        ("NL91ABNA0417164300", HIDDEN),
        // Its check digits are wrong.
        ("NL92ABNA0417164300", "NL92ABNA0417164300"),
        ("password: hunter2", HIDDEN),
        ("Bearer SEKAhunter2a", HIDDEN),
        ("Your code: 493817", HIDDEN),
        ("mysql -pSEKApw", HIDDEN),
        ("/reset/password/SEKApw", HIDDEN),
        ("gold, password: hunter2", HIDDEN),
        ("tier-ghp_SEKAhunterSEKAhunter", HIDDEN),
        ("10.1.2.30:8080", "10.1.2.30:8080"),
        ("gold, silver (new)", "gold, silver (new)"),
        ("9f86d081884c7d659a2feaa0", HIDDEN),
        (
            "550e8400-e29b-41d4-a716-44665544abcd",
            "550e8400-e29b-41d4-a716-44665544abcd",
        ),
        (long.trim(), HIDDEN),
    ] {
        for place in [INSTANCE_PLACE, READ.len()] {
            assert_eq!(shown(place, text), expected, "{text}");
        }
    }
    assert_eq!(Digits::of(404).as_str(), "404");
    let typed = headers(&[("content-type", "application/json; charset=utf-8")]);
    assert_eq!(content_type(&typed), "application/json");
}

/// What this program itself says is what it says of all, so nothing of it may be taken for a secret.
#[test]
fn our_own_words_are_shown() {
    let sizes = SIZES.iter().map(|(_, name)| *name);
    let families = BROWSERS.iter().map(|(_, name)| *name);
    let others = [
        LARGEST,
        OTHER_BROWSER,
        NONE,
        HIDDEN,
        "1.0",
        "1.1",
        "2",
        "3",
        "GET",
        "OTHER",
        "404",
    ];
    for word in sizes.chain(families).chain(others) {
        for place in 0..=READ.len() {
            if place != QUERY_PLACE
                && (place != CLIENT_PLACE || !word.contains(" Ki") && !word.contains(" Mi"))
            {
                assert_eq!(shown(place, word), word, "{place}");
            }
        }
    }
}

#[test]
fn a_header_that_is_masked_or_named_secret_is_not_counted() {
    let config = AttributeConfig {
        headers: vec![
            HeaderName::from_static("x-tenant"),
            HeaderName::from_static("x-plan"),
        ],
        candidate_instance: Some(HeaderName::from_static("x-pod")),
    };
    let mask = |path: &str, route: Option<&str>| crate::RuleConfig {
        part: Some("header".to_owned()),
        route: route.map(str::to_owned),
        ..crate::RuleConfig::new(path, path, "mask")
    };
    let rules = [mask("x-pod", None), mask("x-plan", Some("GET /a"))];
    let rules = Rules::compile(&rules, parity_schemas::time::Timestamp::from_micros(0));
    let own = RedactConfig {
        mask_keys: vec!["tenant".to_owned()],
        ..RedactConfig::default()
    };
    let key = b"0123456789abcdef0123456789abcdef";
    let redactor = Redactor::new(&own, key, Arc::new(rules.expect("rules"))).expect("a redactor");
    for place in [INSTANCE_PLACE, READ.len(), READ.len() + 1] {
        assert_eq!(config.shown(&redactor, place, "acme"), HIDDEN);
        assert_eq!(config.shown(&redactor, place, NONE), NONE);
    }
    assert_eq!(config.shown(&redactor, 3, "acme"), "acme");
}
