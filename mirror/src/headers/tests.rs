//! What is removed, sent on, and told by headers.

use http_body::SizeHint;

use super::*;

fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
    fields
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .collect()
}

fn appended(fields: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(*name, HeaderValue::from_static(value));
    }
    headers
}

#[test]
fn every_connection_line_nominates() {
    let mut headers = appended(&[
        ("connection", "close, X-One"),
        ("connection", "x-two,host"),
        ("x-one", "1"),
        ("x-two", "2"),
        ("x-three", "3"),
        ("host", "h"),
        ("keep-alive", "timeout=5"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
    ]);
    strip_hop_by_hop(&mut headers);
    assert_eq!(headers, map(&[("x-three", "3"), ("host", "h")]));
}

const HOST_OF_SERVICE: HeaderValue = HeaderValue::from_static("service");

#[test]
fn the_targets_authority_is_the_host() {
    let uri = Uri::from_static("http://asked.example:81/a?b=c");
    let sent = for_upstream(
        &map(&[("host", "asked.example:81")]),
        &uri,
        &HOST_OF_SERVICE,
    );
    assert_eq!(sent["host"], "asked.example:81");
    let sent = for_upstream(&map(&[]), &Uri::from_static("/"), &HOST_OF_SERVICE);
    assert_eq!(sent["host"], "service");
}

#[test]
fn each_version_has_its_form() {
    let received = appended(&[
        ("host", "h:81"),
        ("cookie", "a=1"),
        ("cookie", "b=2"),
        ("te", "trailers"),
    ]);
    let mut headers = received.clone();
    let uri = fit(
        Wire::Http1,
        Uri::from_static("/x?y"),
        &mut headers,
        &Scheme::HTTP,
    );
    assert_eq!(uri, "/x?y");
    assert_eq!(
        headers,
        map(&[
            ("host", "h:81"),
            ("cookie", "a=1; b=2"),
            ("te", "trailers"),
            ("connection", "te")
        ])
    );
    let mut headers = received;
    let uri = fit(
        Wire::Http2,
        Uri::from_static("/x?y"),
        &mut headers,
        &Scheme::HTTPS,
    );
    assert_eq!(uri, "https://h:81/x?y");
    assert!(!headers.contains_key("host") && !headers.contains_key("connection"));
}

#[test]
fn upgrades_need_both_fields_and_h2c_is_none() {
    for (fields, expected) in [
        (
            &[("connection", "Upgrade"), ("upgrade", "websocket")][..],
            true,
        ),
        (
            &[("connection", "keep-alive, upgrade"), ("upgrade", "x")][..],
            true,
        ),
        (&[("upgrade", "websocket")][..], false),
        (&[("connection", "upgrade")][..], false),
        (
            &[
                ("connection", "upgrade, http2-settings"),
                ("upgrade", "h2c"),
            ][..],
            false,
        ),
    ] {
        assert_eq!(wants_upgrade(&map(fields)), expected, "{fields:?}");
    }
}

#[test]
fn event_streams_are_told_by_their_media_type() {
    for (value, expected) in [
        ("text/event-stream", true),
        ("Text/Event-Stream;charset=utf-8", true),
        ("text/event-streams", false),
        ("text/plain", false),
    ] {
        let headers = map(&[("content-type", value)]);
        assert_eq!(
            is_stream(&headers, &SizeHint::default()),
            expected,
            "{value}"
        );
        assert!(!is_stream(&headers, &SizeHint::with_exact(9)), "{value}");
    }
}

#[test]
fn grpc_is_told_by_its_media_type() {
    for (value, expected) in [
        ("application/grpc", true),
        ("application/grpc+proto", true),
        ("application/grpc-web", false),
    ] {
        assert_eq!(
            is_grpc(&map(&[("content-type", value)])),
            expected,
            "{value}"
        );
    }
}

#[test]
fn trailers_are_asked_for_again() {
    let received = map(&[("te", "trailers, deflate"), ("connection", "te")]);
    let sent = for_upstream(&received, &Uri::from_static("/"), &HOST_OF_SERVICE);
    assert_eq!(sent["te"], "trailers");
}
