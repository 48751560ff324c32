//! What is recorded, and what is not.

use std::time::Duration;

use http::{HeaderName, Method};
use parity_schemas::exchange::{Body, ByteHold, Capture, Origin, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::recording::RecordedExchange;
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;

use super::json::Document;
use super::place::Content;
use super::*;
use crate::notation::index::Layout;
use crate::rules::Scope;
use crate::{Comparator, Limits, RuleConfig};
use parity_schemas::verdict::Part;

mod attributes;
mod bounds;
mod findings;
mod found;
mod leaks;
mod planted;
mod recording;
mod sound;

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

fn redactor(config: &RedactConfig, rules: &[RuleConfig]) -> Redactor {
    let rules = Rules::compile(rules, Timestamp::from_micros(0)).expect("the rules are right");
    Redactor::new(config, KEY, Arc::new(rules)).expect("the configuration is right")
}

fn plain() -> Redactor {
    redactor(&RedactConfig::default(), &[])
}

fn mask(part: Part, path: &str) -> RuleConfig {
    RuleConfig {
        part: Some(part.to_string()),
        ..RuleConfig::new(&format!("mask {path}"), path, "mask")
    }
}

fn headers(fields: &[(&str, &str)]) -> FieldLines {
    fields
        .iter()
        .map(|(name, value)| (name.parse().expect("a name"), value))
        .collect()
}

/// Gives a field this one value.
fn set(answer: &mut Capture, name: HeaderName, value: &str) {
    let (_, mut others) = answer.headers.partition(|other| *other == name);
    others.push(name, value.as_bytes());
    answer.headers = others;
}

fn answer(fields: &[(&str, &str)], body: &[u8]) -> Capture {
    Capture {
        status: 200,
        headers: headers(fields),
        body: body.to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::from_micros(1_500),
        elapsed: Duration::from_micros(1_500),
    }
}

fn exchange(
    target: &str,
    request: &[(&str, &str)],
    body: &[u8],
    legacy: Capture,
    candidate: Capture,
) -> Exchange {
    Exchange {
        time: Timestamp::from_micros(1),
        route: Arc::new(Route::new("GET /users/{id}")),
        request: Request {
            method: Method::GET,
            target: target.into(),
            headers: headers(request),
            body: Body::from(body.to_vec()),
            origin: Origin::default(),
        },
        legacy,
        candidate,
        hold: ByteHold::default(),
    }
}

fn record(redactor: &Redactor, exchange: &Exchange) -> Mismatch {
    recorded_groups(redactor, exchange).1
}

fn recorded_groups(redactor: &Redactor, exchange: &Exchange) -> (Vec<Group>, Mismatch) {
    let comparison =
        Comparator::new(Arc::clone(&redactor.rules), Limits::default()).compare(exchange);
    let context = RecordContext {
        id: Uuid::nil(),
        identity: &Identity::default(),
        instance: "one",
    };
    redactor.mismatch(exchange, &comparison, &context, |_| true)
}

/// The request and one of the answers as a recording has them.
fn line(redactor: &Redactor, exchange: &Exchange, answer: &Capture) -> RecordedExchange {
    redactor.recorded(&Recording {
        time: exchange.time,
        route: exchange.route.label(),
        request: &exchange.request,
        left_out: None,
        answer: Some(answer),
    })
}

/// A JSON body at the root, without mask rules.
fn json_body(text: &str) -> String {
    let scope = Scope::default();
    let text = text.as_bytes().to_vec();
    let read = Document::read(
        &plain(),
        text,
        Layout::Document,
        Content::Values,
        false,
        &scope,
    );
    read.map_or_else(
        |_| "no JSON".to_owned(),
        |document| document.text().to_owned(),
    )
}

#[test]
fn no_planted_secret_leaves_and_what_is_harmless_stays() {
    let secret = "HUNTER2";
    let card = "4111111111111111";
    let json = [
        ("content-type", "application/json"),
        ("set-cookie", "sid=HUNTER2"),
        ("x-internal", "HUNTER2"),
    ];
    let body = |balance: &str| {
        format!(
            r#"{{"name":"Ada","balance":{balance},"password":"HUNTER2","nested":{{"api_key":{{"a":["HUNTER2",7]}}}},
                "cards":["{card}",{card},"4111 1111 1111 1111"],"{card}":1,"note":"pay {card} now","Refresh-Token":"HUNTER2"}}"#
        )
    };
    let mut candidate = answer(&json, body("12.51").as_bytes());
    set(
        &mut candidate,
        HeaderName::from_static("x-internal"),
        "HUNTER2-other",
    );
    set(
        &mut candidate,
        HeaderName::from_static("set-cookie"),
        "sid=HUNTER2-other",
    );
    let exchange = exchange(
        "/users/4111111111111111/token/HUNTER2?page=2&access_token=HUNTER2&q=HUNTER2&HUNTER2",
        &[
            ("authorization", "Bearer HUNTER2"),
            ("accept", "application/json"),
            ("content-type", "application/x-www-form-urlencoded"),
        ],
        b"user%5Bpassword%5D=HUNTER2&name=Ada&card=4111+1111+1111+1111",
        answer(&json, body("12.50").as_bytes()),
        candidate,
    );
    let record = record(&plain(), &exchange);
    let text = serde_json::to_string(&record).expect("a record");
    assert!(!text.contains(secret), "{text}");
    assert!(
        !text.contains(card) && !text.contains("4111 1111") && !text.contains("4111+1111"),
        "{text}"
    );
    assert!(
        record.query.starts_with("page=2&access_token=hmac:"),
        "{}",
        record.query
    );
    let findings: Vec<_> = record
        .findings
        .iter()
        .map(|finding| {
            (
                finding.path.as_str(),
                finding.legacy.as_deref().unwrap_or(""),
            )
        })
        .collect();
    assert!(findings.contains(&("/balance", "12.50")), "{findings:?}");
    let cookie = findings
        .iter()
        .find(|(path, _)| *path == "set-cookie/sid")
        .expect("a finding");
    assert!(cookie.1.starts_with("hmac:"));
    let sample = record.sample.expect("it was asked for");
    assert!(
        sample
            .legacy
            .body
            .contains(r#""name":"Ada","balance":12.50,"password":"hmac:"#),
        "{}",
        sample.legacy.body
    );
    assert!(
        sample.request.body.contains(r#""name":"Ada""#),
        "{}",
        sample.request.body
    );
    assert!(
        sample
            .request
            .headers
            .contains(&("accept".to_owned(), "application/json".to_owned()))
    );
    assert_eq!((record.legacy_us, record.fingerprints.len()), (1_500, 3));
}

#[test]
fn equal_values_keep_equal_hashes_and_another_key_gives_others() {
    let one = json_body(r#"{"a":{"token":"x"},"b":{"token":"\u0078"},"c":{"token":"y"}}"#);
    let hashes: Vec<&str> = one
        .split('"')
        .filter(|part| part.starts_with("hmac:"))
        .collect();
    assert_eq!(hashes.len(), 3);
    assert!(hashes[0] == hashes[1] && hashes[0] != hashes[2]);
    assert_eq!(hashes[0].len(), "hmac:".len() + 32);
    let other = Redactor::new(
        &RedactConfig::default(),
        b"another key of 16 bytes or more",
        Arc::default(),
    )
    .expect("right");
    assert_ne!(other.hash(b"x"), hashes[0]);
}

#[test]
fn json_keeps_its_text_except_secrets() {
    for text in [
        r#"{"a" : 1.50, "b":[1e+06,null , true],"c":"\u003c\ud800"}"#,
        "9007199254740993",
        r#""text""#,
        r#"{"token":null,"keys":["a"],"key":"b","max_tokens":7}"#,
    ] {
        assert_eq!(json_body(text), text);
    }
    assert_eq!(json_body(r#"{"password":"abc…"#), "no JSON");
    let below = json_body(r#"{"a":1,"tokens":{"abc": {"b" :[1]}}}"#);
    let hidden = below.strip_prefix(r#"{"a":1,"tokens":"hmac:"#);
    assert!(
        hidden.is_some_and(|hidden| hidden.ends_with(r#" (17 bytes)"}"#)),
        "{below}"
    );
}

#[test]
fn text_hides_what_follows_a_secret_name() {
    let redactor = plain();
    for (text, kept) in [
        (
            "user=ada password=HUNTER2 x=1",
            "user=ada password=hmac:… x=1",
        ),
        (
            "Authorization: Bearer HUNTER2\nok",
            "Authorization: hmac:…\nok",
        ),
        (
            "[INFO] {\"secret\": \"HUN\\\"TER2\", \"a\": 1}",
            "[INFO] {\"secret\": hmac:…, \"a\": 1}",
        ),
        (
            "<password>HUNTER2</password>",
            "<password>hmac:…</password>",
        ),
        (
            "{bad json, credentials: {user: HUNTER2}, a: 1}",
            "{bad json, credentials: hmac:…, a: 1}",
        ),
        ("no secret here", "no secret here"),
        ("the password is not here", "the password is not here"),
        ("pay 4111 1111 1111 1111", "pay hmac:…"),
    ] {
        let clean = redactor.string(text).into_owned();
        assert!(!clean.contains("HUNTER2"), "{clean}");
        let mut shown = String::new();
        let mut rest = clean.as_str();
        while let Some((before, after)) = rest.split_once("hmac:") {
            shown.push_str(before);
            shown.push_str("hmac:…");
            rest = after.get(32..).expect("a hash");
        }
        shown.push_str(rest);
        assert_eq!(shown, kept);
    }
}

#[test]
fn samples_are_decoded_and_bounded() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, br#"{"token":"HUNTER2","a":1}"#).expect("memory");
    let gzip = encoder.finish().expect("memory");
    let long = format!(r#"{{"text":"{}"}}"#, "é".repeat(40_000));
    let exchange = exchange(
        "/users/1",
        &[],
        b"",
        answer(
            &[
                ("content-type", "application/json"),
                ("content-encoding", "gzip"),
            ],
            &gzip,
        ),
        answer(&[("content-type", "application/json")], long.as_bytes()),
    );
    let sample = record(&plain(), &exchange)
        .sample
        .expect("it was asked for");
    assert!(
        sample.legacy.body.starts_with(r#"{"token":"hmac:"#)
            && sample.legacy.body.ends_with(r#","a":1}"#)
    );
    assert_eq!(sample.legacy.body_bytes, gzip.len() as u64);
    assert!(sample.candidate.body_cut && sample.candidate.body.len() <= 64 * 1024);
}

#[test]
fn what_must_never_be_configured_is_refused() {
    let keep = |name: &str| RedactConfig {
        keep_headers: vec![name.to_owned()],
        ..RedactConfig::default()
    };
    let error =
        |config: &RedactConfig, key: &[u8]| Redactor::new(config, key, Arc::default()).err();
    assert_eq!(
        error(&keep("Authorization"), KEY),
        Some(RedactError::CredentialHeader("Authorization".to_owned()))
    );
    assert_eq!(
        error(&keep("a b"), KEY),
        Some(RedactError::HeaderName("a b".to_owned()))
    );
    assert_eq!(
        error(&RedactConfig::default(), b"short"),
        Some(RedactError::ShortKey { length: 5 })
    );
    let empty = RedactConfig {
        mask_keys: vec!["_".to_owned()],
        ..RedactConfig::default()
    };
    assert_eq!(
        error(&empty, KEY),
        Some(RedactError::MaskKey("_".to_owned()))
    );
}
