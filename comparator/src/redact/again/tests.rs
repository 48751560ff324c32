//! What of a recorded request can be sent again, for bodies of every form.

use std::sync::Arc;

use http::Method;
use parity_schemas::exchange::{Capture, Exchange, Origin, Request};
use parity_schemas::route::Route;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::*;
use crate::redact::{RecordContext, RedactConfig, Redactor};
use crate::{Comparator, Limits, Rules};

/// The record of a request with different answers.
fn recorded(target: &str, headers: &[(&str, &str)], body: &[u8]) -> Mismatch {
    let rules = Arc::new(Rules::default());
    let mut fields = FieldLines::default();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        fields.push(name, value.as_bytes());
    }
    let answer = |body: &'static [u8]| Capture {
        status: 200,
        headers: FieldLines::default(),
        body: body.to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: std::time::Duration::ZERO,
        elapsed: std::time::Duration::ZERO,
    };
    let exchange = Exchange {
        time: Timestamp::from_micros(1),
        route: Arc::new(Route::new("POST /x".to_owned())),
        request: Request {
            method: Method::POST,
            target: target.into(),
            headers: fields,
            body: body.to_vec().into(),
            origin: Origin::default(),
        },
        legacy: answer(b"{\"a\":1}"),
        candidate: answer(b"{\"a\":2}"),
        hold: parity_schemas::exchange::ByteHold::default(),
    };
    let comparison = Comparator::new(Arc::clone(&rules), Limits::default()).compare(&exchange);
    let redactor = Redactor::new(&RedactConfig::default(), &[7; 32], rules).expect("settings");
    let context = RecordContext {
        id: Uuid::nil(),
        identity: &Identity::default(),
        instance: "",
    };
    redactor
        .mismatch(&exchange, &comparison, &context, |_| true)
        .1
}

/// The body that is sent, and what is missing.
fn kept(target: &str, headers: &[(&str, &str)], body: &[u8]) -> (Option<String>, Vec<String>) {
    let kept = kept_request(&recorded(target, headers, body)).expect("it was kept");
    let name = |(part, why): &(String, HiddenWhy)| format!("{part} {why}");
    let missing = kept.missing.iter().map(name).collect();
    let text = kept.line.map(|line| line.body.text.unwrap_or_default());
    (text, missing)
}

#[test]
fn bodies_are_sent_as_they_came_or_not_at_all() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(70_000));
    for (media, body, expected, missing) in [
        (
            "application/json",
            "{\"a\": 1.50}",
            Some("{\"a\": 1.50}"),
            "",
        ),
        ("text/plain", "a=1&b=two", Some(""), "body other_form"),
        ("", "{\"a\":1}", Some("{\"a\":1}"), ""),
        (
            "application/xml",
            "<a><b>1</b></a>",
            Some("<a><b>1</b></a>"),
            "",
        ),
        ("text/csv", "a,b\n1,2\n", Some("a,b\n1,2\n"), ""),
        (
            "application/yaml",
            "a: 1\nb: [x]\n",
            Some("{\"a\":1,\"b\":[\"x\"]}"),
            "",
        ),
        (
            "application/yaml",
            "---\na: 1\n---\nb: 2\n",
            Some(""),
            "body other_form",
        ),
        (
            "application/x-www-form-urlencoded",
            "b=1&a=x+y%26&b=2",
            Some("b=1&b=2&a=x%20y%26"),
            "",
        ),
        (
            "application/x-www-form-urlencoded",
            "{\"a\":{\"b\":1}}",
            Some("{\"a\":{\"b\":1}}"),
            "",
        ),
        (
            "application/json; charset=utf-16le",
            "{\0\"\0a\0\"\0:\x001\0}\0",
            Some(""),
            "body other_form",
        ),
        (
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--\r\n",
            Some(""),
            "body other_form",
        ),
        ("application/octet-stream", "abc", Some(""), "body redacted"),
        ("application/json", "{\"a\":", Some(""), "body redacted"),
        ("application/json", &long, Some(""), "body cut"),
    ] {
        let headers = [("content-type", media)];
        let headers = if media.is_empty() { &[] } else { &headers[..] };
        let (text, told) = kept("/x", headers, body.as_bytes());
        assert_eq!(told.join(", "), missing, "{media}: {body:.60}");
        let expected = expected.filter(|_| missing.is_empty());
        assert_eq!(text.as_deref(), expected, "{media}: {body:.60}");
    }
}

#[test]
fn each_hidden_part_is_named() {
    let json = [
        ("content-type", "application/json"),
        ("Authorization", "Bearer abc"),
        ("cookie", "a=b"),
        ("accept", "*/*"),
    ];
    let body =
        br#"{"user":{"password":"x"},"cards":[1,"4111 1111 1111 1111"],"a~/b":{"token":"t"}}"#;
    let (text, missing) = kept("/otp/123456/x?page=2&id=7;flag", &json, body);
    let redacted = [
        "path",
        "query/id",
        "query/",
        "header/authorization",
        "header/cookie",
        "body/a~0~1b/token",
        "body/cards/1",
        "body/user/password",
    ];
    assert_eq!(missing, redacted.map(|part| format!("{part} redacted")));
    let text = text.expect("it can be sent");
    assert!(text.contains("hmac:") && !text.contains("\"x\""), "{text}");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let (text, missing) = kept("/x", &form, b"user=u&password=hunter2");
    assert_eq!(missing, ["body/password redacted"]);
    let text = text.expect("it can be sent");
    assert!(text.starts_with("user=u&password=hmac%3A"), "{text}");
}

#[test]
fn a_text_that_only_looks_like_a_hash_counts_as_hidden() {
    let json = [("content-type", "application/json")];
    let (text, missing) = kept("/x", &json, b"{\"note\":\"hmac:0011\"}");
    assert_eq!(missing, ["body/note redacted"]);
    assert_eq!(text.as_deref(), Some("{\"note\":\"hmac:0011\"}"));
}

#[test]
fn what_was_not_kept_or_is_of_an_unknown_method_is_no_line() {
    let whole = recorded("/x", &[], b"");
    let without = Mismatch {
        sample: None,
        ..whole.clone()
    };
    assert_eq!(kept_request(&without), None);
    let other = Mismatch {
        method: "OTHER".to_owned(),
        ..whole
    };
    let kept = kept_request(&other).expect("it was kept");
    assert_eq!(kept.line, None);
    assert_eq!(kept.missing, [("method".to_owned(), HiddenWhy::Redacted)]);
}
