//! Which host a request names: exactly one, or two programs could read different ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::header::{self, HeaderValue};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};

/// The host that a request names, with its port if it has one; empty if it names none. `None` if it names several, or
/// something that is not text.
pub(super) fn place<'a>(target: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
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

/// The whole text must match: after a bracket or a colon only a port may follow, not the rest of another name.
pub(super) fn is_loopback_name(host: &str) -> bool {
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
