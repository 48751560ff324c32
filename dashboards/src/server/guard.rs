//! Who may use the admin port.
//!
//! Four checks. A request must name exactly one host: with two `Host` fields, or a target that contradicts the `Host`, two
//! programs could read different hosts. Without a token the port is bound to loopback, and the host must be a loopback
//! name; this refuses a page that rebinds its DNS name to 127.0.0.1. A request that changes something must not come from a
//! page of another origin. With a token, every request must carry it: `Authorization: Bearer TOKEN`, or Basic with the
//! token as the password, which a browser can ask its user for. A webhook that cannot send headers has it in its body, which
//! its handler reads ([`admit_hook`], [`is_known`]).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;

use super::site::Site;

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; \
     img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types parity";

/// Lets a request pass or answers it here.
pub(super) async fn admit(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    if let Some(refused) = refused(&site, &request, true) {
        return refused;
    }
    next.run(request).await
}

/// The same for a webhook, whose handler looks for the token itself.
pub(super) async fn admit_hook(
    State(site): State<Arc<Site>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(refused) = refused(&site, &request, false) {
        return refused;
    }
    next.run(request).await
}

/// Whether a webhook carries the token that this port demands, if it demands one: in its body or in a header.
pub(super) fn is_known(site: &Site, headers: &HeaderMap, given: Option<&str>) -> bool {
    match (&site.token, given) {
        (None, _) => true,
        (Some(token), Some(given)) => equal(given.as_bytes(), token.as_bytes()),
        (Some(token), None) => presents(headers, token),
    }
}

/// The answer to a request that may not pass.
fn refused(site: &Site, request: &Request, token_is_in_headers: bool) -> Option<Response> {
    let headers = request.headers();
    let Some(host) = place(request.uri(), headers) else {
        let text =
            "say once which host is asked: one Host field, and no target that names another one\n";
        return Some((StatusCode::BAD_REQUEST, text).into_response());
    };
    match &site.token {
        Some(token) if token_is_in_headers && !presents(headers, token) => {
            let text = "this port needs a token: Authorization: Bearer TOKEN, or any user with the token as password\n";
            return Some(unknown(text));
        }
        None if !is_loopback_name(host) => {
            let text =
                "the Host is not a loopback name; reach this port as 127.0.0.1 or localhost\n";
            return Some((StatusCode::MISDIRECTED_REQUEST, text).into_response());
        }
        _ => {}
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && !same_origin(headers) {
        let text = "a page of another origin may not change anything here\n";
        return Some((StatusCode::FORBIDDEN, text).into_response());
    }
    None
}

/// The answer to who does not have the token.
pub(super) fn unknown(text: &'static str) -> Response {
    let challenge = (
        header::WWW_AUTHENTICATE,
        "Basic realm=\"parity\", charset=\"UTF-8\"",
    );
    // Nobody keeps a connection that has no token.
    let last = (header::CONNECTION, "close");
    (StatusCode::UNAUTHORIZED, [challenge, last], text).into_response()
}

/// Headers on every answer.
pub(super) async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        // With `no-referrer`, a browser would say `Origin: null` of our own forms.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn presents(headers: &HeaderMap, token: &str) -> bool {
    let Some(value) = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let Some((scheme, credentials)) = value.split_once(' ') else {
        return false;
    };
    if scheme.eq_ignore_ascii_case("bearer") {
        return equal(credentials.trim().as_bytes(), token.as_bytes());
    }
    scheme.eq_ignore_ascii_case("basic")
        && base64::engine::general_purpose::STANDARD
            .decode(credentials.trim())
            .is_ok_and(|decoded| {
                let password = decoded
                    .iter()
                    .position(|byte| *byte == b':')
                    .and_then(|colon| decoded.get(colon + 1..));
                password.is_some_and(|password| equal(password, token.as_bytes()))
            })
}

/// Compares in constant time, so that its duration does not reveal a prefix of the token.
fn equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

/// The host that a request names, with its port if it has one; empty if it names none. `None` if it names several, or
/// something that is not text.
fn place<'a>(target: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().map_or(Ok(""), HeaderValue::to_str).ok()?;
    if hosts.next().is_some() {
        return None;
    }
    match target.authority().map(Authority::as_str) {
        Some(named) => named.eq_ignore_ascii_case(host).then_some(named),
        None => Some(host),
    }
}

fn host(headers: &HeaderMap) -> &str {
    headers
        .get(header::HOST)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// The whole text must match: after a bracket or a colon only a port may follow, not the rest of another name.
fn is_loopback_name(host: &str) -> bool {
    let (address, port) = if let Some(rest) = host.strip_prefix('[') {
        let Some((inner, behind)) = rest.split_once(']') else {
            return false;
        };
        let address = inner.parse::<Ipv6Addr>().map(IpAddr::V6);
        let port = match behind.strip_prefix(':') {
            None if behind.is_empty() => None,
            None => return false,
            port => port,
        };
        (address.ok(), port)
    } else {
        let (name, port) = match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        };
        let address = if name.eq_ignore_ascii_case("localhost") {
            Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
        } else {
            name.parse::<Ipv4Addr>().map(IpAddr::V4).ok()
        };
        (address, port)
    };
    let port_is_one = port.is_none_or(|port| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
    });
    port_is_one && address.is_some_and(|address| address.is_loopback())
}

/// Programs send no Origin; browsers send theirs with every request that can change something.
fn same_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return headers
            .get("sec-fetch-site")
            .is_none_or(|site| site == "same-origin" || site == "none");
    };
    let origin = origin.to_str().unwrap_or_default();
    origin
        .split_once("://")
        .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host(headers)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
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

    #[test]
    fn only_loopback_names_are_taken_for_loopback() {
        for name in [
            "localhost",
            "localhost:9900",
            "127.0.0.1:9900",
            "127.1.2.3",
            "[::1]:9900",
            "[::1]",
            "LOCALHOST",
        ] {
            assert!(is_loopback_name(name), "{name}");
        }
        for name in [
            "",
            "evil.example",
            "localhost.evil.example:9900",
            "10.0.0.1",
            "[::2]",
            "127.0.0.1.evil.example",
            "[::1].evil.example",
            "[::1].evil.example:9900",
            "[::1]evil",
            "[::1]:9900.evil.example",
            "[127.0.0.1]:9900",
            "[localhost]",
            "[::1",
            "::1",
            "localhost:evil.example",
            "localhost:",
            "localhost:99999",
            "127.0.0.1:80:80",
            "user@localhost",
            "localhost, evil.example",
        ] {
            assert!(!is_loopback_name(name), "{name}");
        }
    }

    #[test]
    fn a_request_says_once_where_it_is_for() {
        for (target, hosts, expected) in [
            ("/", &["localhost:9900"][..], Some("localhost:9900")),
            ("/", &[], Some("")),
            ("http://localhost/", &["localhost"], Some("localhost")),
            ("/", &["localhost", "evil.example"], None),
            ("/", &["localhost", "localhost"], None),
            ("http://evil.example/", &["localhost"], None),
            ("http://evil.example/", &[], None),
            ("http://localhost@evil.example/", &["localhost"], None),
        ] {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, HeaderValue::from_static(host));
            }
            let target = Uri::from_static(target);
            assert_eq!(place(&target, &headers), expected, "{target} {hosts:?}");
        }
        let mut headers = HeaderMap::new();
        let odd = HeaderValue::from_bytes(b"localhost\xff").expect("a value");
        headers.append(header::HOST, odd);
        assert_eq!(place(&Uri::from_static("/"), &headers), None);
    }

    #[test]
    fn a_foreign_page_is_told_from_a_program() {
        assert!(same_origin(&headers(&[("host", "localhost:9900")])));
        assert!(same_origin(&headers(&[
            ("host", "localhost:9900"),
            ("origin", "http://localhost:9900")
        ])));
        for origin in ["http://evil.example", "null", "http://localhost:9901"] {
            assert!(
                !same_origin(&headers(&[("host", "localhost:9900"), ("origin", origin)])),
                "{origin}"
            );
        }
        assert!(!same_origin(&headers(&[
            ("host", "localhost"),
            ("sec-fetch-site", "cross-site")
        ])));
    }

    #[test]
    fn the_token_counts_as_bearer_and_as_password() {
        let token = "0123456789abcdef";
        assert!(presents(
            &headers(&[("authorization", "Bearer 0123456789abcdef")]),
            token
        ));
        assert!(presents(
            &headers(&[("authorization", "Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVm")]),
            token
        ));
        for wrong in [
            "Bearer 0123456789abcdeX",
            "Bearer ",
            "Basic !!",
            "0123456789abcdef",
            "Digest 0123456789abcdef",
        ] {
            assert!(
                !presents(&headers(&[("authorization", wrong)]), token),
                "{wrong}"
            );
        }
        assert!(!presents(&HeaderMap::new(), token));
    }
}
