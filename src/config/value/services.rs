//! Reading what is said about services and the way to them: protocols, hosts, headers, networks.

use std::net::IpAddr;

use http::header::{HeaderName, HeaderValue};
use parity_mirror::{Mode, PathRewrite, Protocol, RolloutBy, SampleBy};
use parity_schemas::secret::{Words, is_secret_name};

/// Headers that carry what proves who somebody is, besides those whose name says so.
const CREDENTIALS: [&str; 4] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
];
/// Words in names of headers by which somebody is known or let in, though the same words are harmless in other names.
const OF_CREDENTIALS: [&[u8]; 12] = [
    b"assertion",
    b"cert",
    b"dpop",
    b"hmac",
    b"key",
    b"oidc",
    b"principal",
    b"saml",
    b"session",
    b"sig",
    b"ticket",
    b"wsse",
];
/// Fields that say where a message ends or whose connection it is: a wrong one would be a hole.
const NOT_TO_BE_CHANGED: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// How requests come: `proxy` or `tap`.
pub(crate) fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "proxy" => Ok(Mode::Proxy),
        "tap" => Ok(Mode::Tap),
        _ => Err(format!("`{text}` is no mode; write proxy or tap")),
    }
}

/// What a service speaks.
pub(crate) fn protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "auto" => Ok(Protocol::Auto),
        "http1" => Ok(Protocol::Http1),
        "http2" => Ok(Protocol::Http2),
        _ => Err(format!(
            "`{text}` is no protocol; write auto, http1 or http2"
        )),
    }
}

/// `request`, `header:NAME` or `cookie:NAME`.
pub(crate) fn sample_by(text: &str) -> Result<SampleBy, String> {
    let wrong = || {
        format!(
            "`{text}` is nothing to sample by; write request, header:x-user-id or cookie:session"
        )
    };
    match carrier(text) {
        None if text == "request" => Ok(SampleBy::Request),
        Some(Carrier::Header(name)) => Ok(SampleBy::Header(name)),
        Some(Carrier::Cookie(name)) => Ok(SampleBy::Cookie(name)),
        None => Err(wrong()),
    }
}

/// `address`, `header:NAME` or `cookie:NAME`.
pub(crate) fn rollout_by(text: &str) -> Result<RolloutBy, String> {
    match carrier(text) {
        None if text == "address" => Ok(RolloutBy::Address),
        Some(Carrier::Header(name)) => Ok(RolloutBy::Header(name)),
        Some(Carrier::Cookie(name)) => Ok(RolloutBy::Cookie(name)),
        None => Err(format!(
            "`{text}` is nothing that a client is known by; write address, header:x-user-id or cookie:session"
        )),
    }
}

/// Where a request says whose it is.
enum Carrier {
    Header(HeaderName),
    Cookie(Box<str>),
}

fn carrier(text: &str) -> Option<Carrier> {
    let (kind, name) = text.split_once(':')?;
    let name = name.trim();
    match kind {
        "header" => header_name(name).ok().map(Carrier::Header),
        // RFC 6265 §4.1.1: a token.
        "cookie" => HeaderName::from_bytes(name.as_bytes())
            .is_ok()
            .then(|| Carrier::Cookie(name.into())),
        _ => None,
    }
}

/// The value of a Host field.
pub(crate) fn host(text: &str) -> Result<HeaderValue, String> {
    let valid = text
        .parse::<http::uri::Authority>()
        .is_ok_and(|authority| !authority.as_str().contains('@'));
    HeaderValue::from_str(text)
        .ok()
        .filter(|_| valid)
        .ok_or_else(|| format!("`{text}` is no host; write for example payments.example:8443"))
}

/// `/api -> /v2`.
pub(crate) fn rewrite(text: &str) -> Result<PathRewrite, String> {
    let (from, to) = text
        .split_once("->")
        .ok_or_else(|| format!("`{text}` is no rewrite; write for example /api -> /v2"))?;
    PathRewrite::new(from.trim(), to.trim()).map_err(|error| error.to_string())
}

/// `name: value`.
pub(crate) fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    // The value is not repeated: it may be a credential.
    let (name, value) = text
        .split_once(':')
        .ok_or("an element is no header; write for example \"x-env: canary\"")?;
    let name = changeable(header_name(name.trim())?)?;
    let value = HeaderValue::from_str(value.trim())
        .map_err(|_| format!("the value of `{name}` has characters that no header may have"))?;
    Ok((name, value))
}

/// The name of a header that may be set or removed.
pub(crate) fn header_name(text: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(text.as_bytes())
        .map_err(|_| format!("`{text}` is no name of a header"))
        .and_then(changeable)
}

/// The name of a header whose values may be counted, and so recorded.
pub(crate) fn counted_header(text: &str) -> Result<HeaderName, String> {
    let name = HeaderName::from_bytes(text.as_bytes())
        .map_err(|_| format!("`{text}` is no name of a header"))?;
    let words = Words::of(name.as_str());
    let lets_in = words.iter().any(|word| OF_CREDENTIALS.contains(&word));
    if lets_in || CREDENTIALS.contains(&name.as_str()) || is_secret_name(name.as_str()) {
        return Err(format!(
            "`{name}` may carry a secret, so its values are not counted; name a header that says what kind of request it is"
        ));
    }
    Ok(name)
}

fn changeable(name: HeaderName) -> Result<HeaderName, String> {
    if NOT_TO_BE_CHANGED.contains(&name.as_str()) {
        let instead = match name.as_str() {
            "host" => "use `host` of the same section",
            _ => "it says where a message ends or whom it is for",
        };
        return Err(format!("`{name}` cannot be changed: {instead}"));
    }
    Ok(name)
}

/// One word for Via.
pub(crate) fn pseudonym(text: &str) -> Result<Box<str>, String> {
    HeaderName::from_bytes(text.as_bytes())
        .map(|_| text.into())
        .map_err(|_| format!("`{text}` is no name for Via; write one word, such as parity"))
}

/// `10.0.0.0/8` or one address.
pub(crate) fn network(text: &str) -> Result<ipnet::IpNet, String> {
    text.parse()
        .or_else(|_| text.parse::<IpAddr>().map(ipnet::IpNet::from))
        .map_err(|_| {
            format!("`{text}` is no address or network; write for example 10.0.0.0/8 or 192.0.2.1")
        })
}
