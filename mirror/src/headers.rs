//! Header fields on their way through: what a proxy must take away, and the little that it adds.
//!
//! Taken away in both directions: the hop-by-hop fields, every field that any `Connection` line nominates, and
//! `Expect` (hyper answers it). `Alt-Svc` is taken from answers, for it would lead clients around the mirror.
//! Added for the services: the client's address at the end of `X-Forwarded-For`, because the socket's address is now
//! ours and rate limits by address would see one client only. Not added: `Via`, because servers switch compression
//! off when they see it (nginx does by default), and `X-Forwarded-Proto` and `-Host`, because the scheme is the same
//! and `Host` is kept. So the legacy answers as it would without us.
//!
//! Names go out in lower case, fields of one name in their order: what HTTP calls equal, we do not preserve further.

use http::header::{
    ALT_SVC, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName,
    HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{PathAndQuery, Uri};
use smallvec::SmallVec;

/// Marks what the candidate gets, so that it can leave out side effects of its own.
pub(crate) const SHADOW: HeaderName = HeaderName::from_static("x-parity-shadow");
const SHADOW_VALUE: HeaderValue = HeaderValue::from_static("1");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Fields that belong to one connection (RFC 9110 §7.6.1 and what Caddy, Go and Envoy add to it).
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    PROXY_CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Removes what ends at this hop.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let nominated: SmallVec<[HeaderName; 4]> = connection_tokens(headers)
            .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
            // Framing and routing are not the client's to take away: Apache and others had holes by this.
            .filter(|name| *name != HOST && *name != CONTENT_LENGTH)
            .collect();
        for name in nominated {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Removes what ends at this hop from an answer.
pub(crate) fn strip_answer(headers: &mut HeaderMap) {
    strip_hop_by_hop(headers);
    headers.remove(ALT_SVC);
}

/// The fields that a service gets for what the client sent. `client` is its address, `host` what stands in for a
/// `Host` that a client of HTTP/1.0 need not send.
pub(crate) fn for_upstream(
    received: &HeaderMap,
    uri: &Uri,
    client: &HeaderValue,
    host: Option<&HeaderValue>,
) -> HeaderMap {
    let mut headers = received.clone();
    let trailers = wants_trailers(received);
    strip_hop_by_hop(&mut headers);
    headers.remove(EXPECT);
    if trailers {
        // RFC 9110 §10.1.4: TE is for the next hop, so it is said anew and nominated.
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    if let Some(authority) = uri.authority() {
        // RFC 9112 §3.2.2: the target's authority counts, whatever `Host` says.
        if let Ok(value) = HeaderValue::from_str(authority.as_str()) {
            headers.insert(HOST, value);
        }
    } else if let Some(host) = host
        && !headers.contains_key(HOST)
    {
        headers.insert(HOST, host.clone());
    }
    append_client(&mut headers, client);
    headers
}

/// Adds the mark of a shadow.
pub(crate) fn mark_shadow(headers: &mut HeaderMap) {
    headers.insert(SHADOW, SHADOW_VALUE);
}

fn append_client(headers: &mut HeaderMap, client: &HeaderValue) {
    let mut before = headers.get_all(FORWARDED_FOR).iter();
    let Some(first) = before.next() else {
        headers.insert(FORWARDED_FOR, client.clone());
        return;
    };
    let mut joined = first.as_bytes().to_vec();
    for value in before.chain([client]) {
        joined.extend_from_slice(b", ");
        joined.extend_from_slice(value.as_bytes());
    }
    if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(FORWARDED_FOR, value);
    }
}

/// The target in origin form: what a service gets, whatever form the client used.
pub(crate) fn origin_form(uri: &Uri) -> Uri {
    if uri.scheme().is_none() && uri.authority().is_none() {
        return uri.clone();
    }
    uri.path_and_query()
        .cloned()
        .unwrap_or_else(|| PathAndQuery::from_static("/"))
        .into()
}

/// Whether the client asks for another protocol on this connection. `h2c` is not one: a tunnel by it would carry
/// requests past everything that looks at requests, and a server may ignore it (RFC 9110 §7.8).
pub(crate) fn wants_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE)
        && connection_tokens(headers).any(|token| token.eq_ignore_ascii_case("upgrade"))
        && !headers
            .get_all(UPGRADE)
            .iter()
            .any(|value| tokens(value).any(|token| token.eq_ignore_ascii_case("h2c")))
}

/// Whether an answer has no end by intent.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    const EVENT_STREAM: &[u8] = b"text/event-stream";
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        let value = value.as_bytes();
        value
            .get(..EVENT_STREAM.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(EVENT_STREAM))
            && matches!(
                value.get(EVENT_STREAM.len()),
                None | Some(b';' | b' ' | b'\t')
            )
    })
}

fn wants_trailers(headers: &HeaderMap) -> bool {
    headers.contains_key(TE)
        && headers
            .get_all(TE)
            .iter()
            .any(|value| tokens(value).any(|token| token.eq_ignore_ascii_case("trailers")))
}

fn connection_tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(CONNECTION).iter().flat_map(tokens)
}

fn tokens(value: &HeaderValue) -> impl Iterator<Item = &str> {
    value
        .to_str()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn the_client_is_appended_to_all_lines_before_it() {
        let received = appended(&[
            ("host", "h"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-for", "192.0.2.2, 192.0.2.3"),
        ]);
        let client = HeaderValue::from_static("127.0.0.1");
        let sent = for_upstream(&received, &Uri::from_static("/x"), &client, None);
        let lines: Vec<_> = sent.get_all("x-forwarded-for").iter().collect();
        assert_eq!(lines, ["192.0.2.1, 192.0.2.2, 192.0.2.3, 127.0.0.1"]);
    }

    #[test]
    fn a_nominated_forwarded_for_begins_anew() {
        let received = map(&[
            ("connection", "x-forwarded-for"),
            ("x-forwarded-for", "192.0.2.1"),
        ]);
        let client = HeaderValue::from_static("127.0.0.1");
        let sent = for_upstream(&received, &Uri::from_static("/"), &client, None);
        assert_eq!(sent, map(&[("x-forwarded-for", "127.0.0.1")]));
    }

    #[test]
    fn the_targets_authority_wins_over_host_and_never_leaves_in_the_target() {
        let uri = Uri::from_static("http://asked.example:81/a?b=c");
        let client = HeaderValue::from_static("127.0.0.1");
        let sent = for_upstream(&map(&[("host", "other")]), &uri, &client, None);
        assert_eq!(sent["host"], "asked.example:81");
        assert_eq!(origin_form(&uri), Uri::from_static("/a?b=c"));
        assert_eq!(origin_form(&Uri::from_static("*")), Uri::from_static("*"));
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
            assert_eq!(
                is_stream(&map(&[("content-type", value)])),
                expected,
                "{value}"
            );
        }
    }

    #[test]
    fn trailers_are_asked_for_again() {
        let client = HeaderValue::from_static("127.0.0.1");
        let received = map(&[("te", "trailers, deflate"), ("connection", "te")]);
        let sent = for_upstream(&received, &Uri::from_static("/"), &client, None);
        assert_eq!(
            (&sent["te"], &sent["connection"]),
            (
                &HeaderValue::from_static("trailers"),
                &HeaderValue::from_static("te"),
            )
        );
    }
}
