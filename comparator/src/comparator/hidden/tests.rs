//! What is left of a comparison without what is hidden.

use std::time::Duration;

use http::{HeaderName, Method};
use parity_schemas::exchange::{Body, ByteHold, Capture, Origin, Request};
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;

use super::*;
use crate::Comparator;
use crate::limits::Limits;
use crate::rules::Rules;

fn answer(token: &str, encoding: &str, body: &[u8]) -> Capture {
    let fields = [("x-token", token), ("content-encoding", encoding)];
    let fields = fields.iter();
    Capture {
        status: 200,
        headers: fields
            .map(|(name, value)| (name.parse::<HeaderName>().expect("a name"), value))
            .collect(),
        body: body.to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

fn verdict(mut legacy: Capture, candidate: Capture, hidden: &str) -> Verdict {
    legacy.hidden = Some(vec![hidden.to_owned()].into());
    let rules = Rules::compile(&[], Timestamp::from_micros(0)).expect("no rules");
    let exchange = Exchange {
        time: Timestamp::from_micros(1),
        route: Arc::new(Route::new("GET /a")),
        request: Request {
            method: Method::GET,
            target: "/a".into(),
            headers: FieldLines::default(),
            body: Body::default(),
            origin: Origin::default(),
        },
        candidate,
        legacy,
        hold: ByteHold::default(),
    };
    let mut comparator = Comparator::new(Arc::new(rules), Limits::default());
    comparator.compare(&exchange).verdict
}

#[test]
fn a_body_that_was_given_up_is_not_compared_when_nothing_else_is_left() {
    let given_up = |hidden| {
        let legacy = answer("hmac:0", "gzip", b"no gzip");
        verdict(legacy, answer("fresh", "gzip", b"nor this"), hidden)
    };
    let found = given_up("header/x-token");
    assert!(matches!(found, Verdict::NotCompared(_)), "{found:?}");
    assert_eq!(given_up("header/x-other"), Verdict::Mismatch);
    // With a body that can be read, only the hidden field differs.
    let plain = |token| answer(token, "identity", b"{}");
    let found = verdict(plain("hmac:0"), plain("fresh"), "header/x-token");
    assert_eq!(found, Verdict::Match);
}

#[test]
fn a_body_that_is_hidden_whole_is_no_match() {
    let body = |text: &str, token| answer(token, "identity", text.as_bytes());
    let hash = "hmac:0123456789abcdef0123456789abcdef (7 bytes)";
    for (legacy, candidate, hidden, expected) in [
        // Whatever it is.
        (
            body(hash, "a"),
            body("{\"a\":1}", "a"),
            "body",
            Verdict::NotCompared(Reason::LegacyHidden),
        ),
        (
            body("password: hmac:0", "a"),
            body("password: x", "a"),
            "body",
            Verdict::NotCompared(Reason::LegacyHidden),
        ),
        // What can be seen decides first.
        (body(hash, "a"), body("", "a"), "body", Verdict::Mismatch),
        (body(hash, "a"), body("x", "b"), "body", Verdict::Mismatch),
        // A part of it is a part.
        (
            body("{\"a\":\"hmac:0\",\"b\":1}", "a"),
            body("{\"a\":\"x\",\"b\":1}", "a"),
            "body/a",
            Verdict::Match,
        ),
        (body("", "a"), body("", "a"), "body", Verdict::Match),
    ] {
        assert_eq!(verdict(legacy, candidate, hidden), expected, "{hidden}");
    }
}

#[test]
fn trailers_that_nobody_knows_are_not_compared_unless_the_head_has_the_status() {
    let ending = |head: Option<&str>, status: Option<&str>| {
        let mut ended = answer("", "identity", b"");
        let named = |name, value: &str| (HeaderName::from_static(name), value.to_owned());
        let status_in_head = head.map(|status| named("grpc-status", status));
        let fields = [
            Some(named("content-type", "application/grpc")),
            status_in_head,
        ];
        ended.headers = fields.into_iter().flatten().collect();
        ended.trailers = status.map(|status| {
            let name = HeaderName::from_static("grpc-status");
            [(name, status)].into_iter().collect()
        });
        ended
    };
    for (legacy, hidden, candidate, expected) in [
        (
            ending(None, Some("0")),
            "",
            ending(None, Some("0")),
            Verdict::Match,
        ),
        (
            ending(None, Some("0")),
            "",
            ending(None, Some("13")),
            Verdict::Mismatch,
        ),
        (
            ending(None, None),
            "",
            ending(None, Some("13")),
            Verdict::Mismatch,
        ),
        (
            ending(None, None),
            "trailer",
            ending(None, Some("13")),
            Verdict::NotCompared(Reason::LegacyHidden),
        ),
        (
            ending(None, None),
            "trailer",
            ending(Some("13"), None),
            Verdict::NotCompared(Reason::LegacyHidden),
        ),
        (
            ending(Some("0"), None),
            "trailer",
            ending(Some("0"), None),
            Verdict::Match,
        ),
        (
            ending(Some("0"), None),
            "trailer",
            ending(Some("13"), None),
            Verdict::Mismatch,
        ),
        (
            ending(Some("0"), None),
            "trailer",
            ending(None, Some("13")),
            Verdict::Mismatch,
        ),
        // A value that is hidden, and one that is missing.
        (
            ending(None, Some("hmac:0")),
            "trailer/grpc-status",
            ending(None, Some("13")),
            Verdict::Match,
        ),
        (
            ending(None, Some("hmac:0")),
            "trailer/grpc-status",
            ending(None, None),
            Verdict::Mismatch,
        ),
        (
            ending(None, Some("hmac:0")),
            "header/grpc-status",
            ending(None, Some("13")),
            Verdict::Mismatch,
        ),
    ] {
        let status =
            |ended: &Capture| format!("{:?} {:?}", ended.headers.len(), ended.trailers.is_some());
        let case = format!("{} {hidden} {}", status(&legacy), status(&candidate));
        assert_eq!(verdict(legacy, candidate, hidden), expected, "{case}");
    }
}
