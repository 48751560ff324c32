//! A call that a service makes, whole, as it is paired and compared.
//!
//! Two calls can be partners if method, path and query are the same, and the host, if the target names one, as calls through a proxy do
//! (RFC 9112 §3.2): the same path of another host is another call. The order of the parameters does not count, nor how their bytes are
//! escaped. A correlation header says which request a call belongs to. A call is compared like an answer: its header fields and body
//! stand for those of one. Fields that say who calls, on whose behalf and over which connection are left out, because they are not what
//! is asked; so are those that `Connection` names, which are for the next hop alone. Trailers are compared as those of an answer.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderName};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, Uri};
use parity_schemas::exchange::{Body, ByteHold, Capture, Origin, Request};
use parity_schemas::fields::FieldLines;

/// Fields that tell the caller, its trace or its connection.
const NOT_ASKED: [&str; 22] = [
    "accept-encoding",
    "b3",
    "baggage",
    "expect",
    "forwarded",
    "host",
    "te",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-b3-flags",
    "x-b3-parentspanid",
    "x-b3-sampled",
    "x-b3-spanid",
    "x-b3-traceid",
    "x-correlation-id",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-parity-shadow",
    "x-real-ip",
    "x-request-id",
];

/// The part of a `traceparent` that both sides of one request share.
const TRACE_ID: usize = 1;

/// Which of the two services calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Legacy,
    Candidate,
}

impl Side {
    /// The other one.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Legacy => Self::Candidate,
            Self::Candidate => Self::Legacy,
        }
    }
}

/// A call. Neither `Debug` nor `Serialize`: its values are as they came.
pub(crate) struct Call {
    pub(crate) key: Box<str>,
    /// The value of the correlation header, if there is one.
    pub(crate) correlation: Option<Box<str>>,
    pub(crate) request: Request,
    /// What of it is compared, in the form of an answer.
    pub(crate) content: Capture,
    /// Its bytes, which are given back when it is dropped.
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    pub(crate) hold: ByteHold,
}

impl Call {
    /// `hold` has the bytes of the body; those of the head are taken here, whether or not the budget has them: a head is bounded.
    pub(crate) fn new(
        head: &Parts,
        (body, trailers): (Bytes, Option<HeaderMap>),
        correlate_by: &[HeaderName],
        hold: ByteHold,
    ) -> Self {
        let target = target(&head.uri);
        let headers = FieldLines::from(&head.headers);
        let mut asked = FieldLines::default();
        for (name, value) in headers.iter() {
            let is_any = *name == header::ACCEPT && value == "*/*";
            let is_of_hop = is_named(&headers, name);
            if !is_any
                && !is_of_hop
                && !NOT_ASKED.contains(&name.as_str())
                && !correlate_by.contains(name)
            {
                asked.push(name.clone(), value.as_bytes());
            }
        }
        let body = Body::from(body);
        Self {
            key: key(head.method.as_str(), &target),
            correlation: correlate_by
                .iter()
                .find_map(|name| correlation(&headers, name)),
            request: Request {
                method: head.method.clone(),
                target: target.into(),
                headers,
                body: body.clone(),
                origin: Origin::default(),
            },
            content: Capture {
                status: 200,
                headers: asked,
                body,
                trailers: trailers.as_ref().map(FieldLines::from),
                hidden: None,
                head_elapsed: Duration::ZERO,
                elapsed: Duration::ZERO,
            },
            hold,
        }
    }
}

/// Whether a line of `Connection` names this field.
fn is_named(headers: &FieldLines, name: &HeaderName) -> bool {
    let lines = headers
        .iter()
        .filter(|(line, _)| **line == header::CONNECTION);
    lines.filter_map(|(_, value)| value.as_str()).any(|value| {
        let mut options = value.split(',').map(str::trim);
        options.any(|option| option.eq_ignore_ascii_case(name.as_str()))
    })
}

/// The id that a field has.
pub(super) fn correlation(headers: &FieldLines, name: &HeaderName) -> Option<Box<str>> {
    let value = headers.get(name)?.as_str()?;
    let id = match name.as_str() {
        "traceparent" => value.split('-').nth(TRACE_ID)?,
        _ => value,
    };
    (!id.is_empty()).then(|| id.into())
}

/// What a call asks for, with the host if its target names one. Of hosts the case does not count, nor does the usual port of a scheme;
/// who calls is left out.
fn target(uri: &Uri) -> String {
    let asked = uri.path_and_query().map(PathAndQuery::as_str);
    let Some(authority) = uri.authority() else {
        return asked.unwrap_or("/").to_owned();
    };
    let host = authority.host().to_ascii_lowercase();
    let port = authority.port().map(|port| port.as_str().to_owned());
    let Some(scheme) = uri.scheme_str() else {
        // That of CONNECT always has a port.
        return format!("{host}:{}", port.unwrap_or_default());
    };
    let usual = match scheme {
        "http" => "80",
        "https" => "443",
        _ => "",
    };
    let port = port.filter(|port| port != usual && !port.is_empty());
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    format!("{scheme}://{host}{port}{}", asked.unwrap_or("/"))
}

/// The path of a target, by which its route is told.
pub(crate) fn path_of(request: &Request) -> &str {
    let path = request.path();
    match path.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("/", |at| rest.split_at(at).1)
        }
        _ => path,
    }
}

/// What partners have in common.
fn key(method: &str, target: &str) -> Box<str> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut parameters: Vec<String> = query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| unescaped(&parameter.replace('+', "%20")))
        .collect();
    // Those of one name keep their order: it can be meant.
    parameters.sort_by(|one, other| name_of(one).cmp(name_of(other)));
    format!("{method} {}?{}", unescaped(path), parameters.join("&")).into()
}

fn name_of(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or_default()
}

/// Percent-escapes of what need not be escaped are undone, all others are written in capitals (RFC 3986 §6.2.2).
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let digits = after
            .get(..2)
            // `from_str_radix` would take a sign.
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match digits {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(char::from(byte));
            }
            Some(byte) => {
                let _infallible = write!(out, "%{byte:02X}");
            }
            None => {
                out.push('%');
                rest = after;
                continue;
            }
        }
        rest = after.get(2..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_target_are_one_key() {
        let one = key("GET", "/a%7Eb/c%2fd?b=2&a=1&a=0&c=x+y");
        assert_eq!(&*one, "GET /a~b/c%2Fd?a=1&a=0&b=2&c=x%20y");
        for other in [
            "/a~b/c%2Fd?a=1&a=0&b=2&c=x%20y",
            "/a%7eb/c%2Fd?&c=x%20y&b=%32&a=1&a=0",
        ] {
            assert_eq!(key("GET", other), one, "{other}");
        }
    }

    #[test]
    fn what_is_asked_for_is_told_apart() {
        let one = key("GET", "/a/b?a=1&a=0");
        for other in [
            "/a%2Fb?a=1&a=0",
            "/a/b?a=0&a=1",
            "/a/b?a=1",
            "/a/b",
            "/a/b?a=1&a=0&a=0",
            "/a/b?a=1&a=%00",
        ] {
            assert_ne!(key("GET", other), one, "{other}");
        }
        assert_ne!(key("POST", "/a/b?a=1&a=0"), one);
        assert_eq!(&*key("GET", "/a%zz%"), "GET /a%zz%?");
        assert_eq!(&*key("GET", "/%+5"), "GET /%+5?");
        assert_ne!(key("GET", "/%+5"), key("GET", "/%05"));
    }

    #[test]
    fn a_target_that_names_a_host_is_told_apart_by_it() {
        let call = |method: &str, target: &str| {
            let request = http::Request::builder().method(method).uri(target);
            let request = request.header("host", "stub:7101");
            let (head, ()) = request.body(()).expect("a request").into_parts();
            Call::new(&head, (Bytes::new(), None), &[], ByteHold::default())
        };
        for (method, one, other, is_same) in [
            ("CONNECT", "db:5432", "db:5433", false),
            ("CONNECT", "db:5432", "other:5432", false),
            ("CONNECT", "db:5432", "DB:5432", true),
            ("GET", "http://a/x", "http://b/x", false),
            ("GET", "http://a/x", "https://a/x", false),
            ("GET", "http://a/x", "http://a:8080/x", false),
            ("GET", "http://a/x", "/x", false),
            ("GET", "http://a/x", "http://a:80/x", true),
            ("GET", "https://a/x?b=1&c", "https://A:443/%78?c&b=1", true),
            ("GET", "http://u:pw@a/x", "http://a/x", true),
            ("GET", "http://a", "http://a/", true),
            ("GET", "http://[::1]:80/x", "http://[::1]/x", true),
        ] {
            let [one_call, other_call] = [one, other].map(|target| call(method, target));
            assert_eq!(one_call.key == other_call.key, is_same, "{one} {other}");
        }
        for (method, target, shown, path) in [
            ("CONNECT", "db:5432", "db:5432", "db:5432"),
            (
                "GET",
                "http://u:pw@A:80/x/y?z=1",
                "http://a/x/y?z=1",
                "/x/y",
            ),
            ("GET", "http://a", "http://a/", "/"),
            ("GET", "/x?u=http://b/y", "/x?u=http://b/y", "/x"),
            ("GET", "/x/http://b/y", "/x/http://b/y", "/x/http://b/y"),
            ("OPTIONS", "*", "*", "*"),
        ] {
            let request = call(method, target).request;
            assert_eq!(
                (&*request.target, path_of(&request)),
                (shown, path),
                "{target}"
            );
        }
    }

    #[test]
    fn what_is_for_the_next_hop_is_not_asked_and_trailers_are() {
        let call = |connection: &str| {
            let mut request = http::Request::get("/a");
            for (name, value) in [
                ("connection", connection),
                ("connection", "x-other"),
                ("x-hop", "1"),
                ("x-other", "2"),
                ("x-kept", "3"),
            ] {
                request = request.header(name, value);
            }
            let (head, ()) = request.body(()).expect("a request").into_parts();
            let mut trailers = HeaderMap::new();
            trailers.insert("x-sum", header::HeaderValue::from_static("4"));
            let body = (Bytes::new(), Some(trailers));
            Call::new(&head, body, &[], ByteHold::default())
        };
        let named = call("close, X-Hop").content;
        let has = |content: &Capture, name: &'static str| {
            content
                .headers
                .get(&HeaderName::from_static(name))
                .is_some()
        };
        assert!(!has(&named, "x-hop") && !has(&named, "x-other") && has(&named, "x-kept"));
        assert!(has(&call("close").content, "x-hop"));
        let trailers = named.trailers.expect("they are kept");
        assert!(trailers.get(&HeaderName::from_static("x-sum")).is_some());
    }

    #[test]
    fn the_trace_is_one_of_both_sides() {
        let mut headers = FieldLines::default();
        let name = HeaderName::from_static("traceparent");
        headers.push(
            name.clone(),
            b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        );
        assert_eq!(
            correlation(&headers, &name).as_deref(),
            Some("0af7651916cd43dd8448eb211c80319c")
        );
        let mut headers = FieldLines::default();
        headers.push(name.clone(), b"nonsense");
        assert_eq!(correlation(&headers, &name), None);
    }
}
