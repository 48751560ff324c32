//! The headers that tell the services about the client and about this proxy.
//!
//! By default only the client's address is added, at the end of `X-Forwarded-For`: the socket's address is now the
//! mirror's, and rate limits by address would see only one client. `Via`, `Forwarded`, `X-Forwarded-Proto` and `-Host`
//! are opt-in: some servers switch compression off when they see a `Via` (nginx does by default), the scheme is mostly
//! the same, and `Host` is kept.
//!
//! Such headers from clients are passed on, as they would reach the service without the mirror, unless a list of
//! trusted proxies is configured. Then they are passed on only from those proxies and removed from all other clients.
//! The mirror itself decides nothing from their values.

use std::net::IpAddr;

use http::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue, VIA};
use http::{Version, header};
use ipnet::IpNet;
use parity_schemas::exchange::Client;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
/// Headers in which a proxy describes its client.
static CLAIMS: [HeaderName; 8] = [
    FORWARDED_FOR,
    FORWARDED_PROTO,
    FORWARDED_HOST,
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-prefix"),
    HeaderName::from_static("x-forwarded-server"),
    REAL_IP,
    FORWARDED,
];

/// Which headers are added, and from whom they are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// Adds the client to `X-Forwarded-For`.
    pub x_forwarded_for: bool,
    /// Sends `X-Forwarded-Proto` and `X-Forwarded-Host`, unless a trusted proxy already has.
    pub x_forwarded_origin: bool,
    /// Adds an element to `Forwarded` (RFC 7239).
    pub forwarded: bool,
    /// Adds this name to `Via`, on requests and answers.
    pub via: Option<Box<str>>,
    /// Proxies in front of the mirror; if set, such headers from anybody else are removed.
    pub trusted: Option<Box<[IpNet]>>,
}

impl Default for Forwarding {
    fn default() -> Self {
        Self {
            x_forwarded_for: true,
            x_forwarded_origin: false,
            forwarded: false,
            via: None,
            trusted: None,
        }
    }
}

/// Who is connected.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    address: IpAddr,
    /// The address as written in `X-Forwarded-For`.
    text: HeaderValue,
    /// Whether the connection uses TLS.
    secure: bool,
}

impl Peer {
    pub(crate) fn new(address: IpAddr, secure: bool) -> Self {
        let address = address.to_canonical();
        Self {
            address,
            text: HeaderValue::from_str(&address.to_string())
                .expect("an IP address is visible ASCII"),
            secure,
        }
    }

    /// As it is kept with an exchange.
    pub(crate) fn client(&self) -> Client {
        Client {
            address: self.address,
            secure: self.secure,
        }
    }

    fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// As a node of RFC 7239 §6: IPv6 in brackets and quotes.
    fn node(&self) -> String {
        match self.address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("\"[{address}]\""),
        }
    }
}

impl Forwarding {
    /// Sets the fields of a request; `headers` are the client's, with `Host`.
    pub(crate) fn request(&self, headers: &mut HeaderMap, peer: Option<&Peer>, version: Version) {
        // Of a request that no client sent, nothing is told.
        if let Some(peer) = peer {
            self.tell_of(peer, headers);
        }
        self.via(headers, version);
    }

    fn tell_of(&self, peer: &Peer, headers: &mut HeaderMap) {
        let believed = self.trusted.as_ref().is_none_or(|trusted| {
            trusted
                .iter()
                .any(|network| network.contains(&peer.address))
        });
        if !believed {
            for name in &CLAIMS {
                headers.remove(name);
            }
        }
        if self.x_forwarded_for {
            append(headers, &FORWARDED_FOR, &peer.text);
        }
        if self.x_forwarded_origin {
            headers
                .entry(FORWARDED_PROTO)
                .or_insert(HeaderValue::from_static(peer.scheme()));
            if let Some(host) = headers.get(header::HOST).cloned() {
                headers.entry(FORWARDED_HOST).or_insert(host);
            }
        }
        if self.forwarded {
            append(headers, &FORWARDED, &element(headers, peer));
        }
    }

    /// Adds the mirror to `Via` (RFC 9110 §7.6.3), with the HTTP version of the message that it received.
    pub(crate) fn via(&self, headers: &mut HeaderMap, version: Version) {
        let Some(name) = &self.via else {
            return;
        };
        let version = match version {
            Version::HTTP_10 => "1.0",
            Version::HTTP_2 => "2",
            _ => "1.1",
        };
        if let Ok(value) = HeaderValue::from_str(&format!("{version} {name}")) {
            append(headers, &VIA, &value);
        }
    }
}

fn element(headers: &HeaderMap, peer: &Peer) -> HeaderValue {
    // A host is quoted because of the colon before its port. One that cannot be quoted is left out.
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .filter(|host| !host.is_empty() && !host.contains(['"', '\\']))
        .map(|host| format!(";host=\"{host}\""))
        .unwrap_or_default();
    let text = format!("for={}{host};proto={}", peer.node(), peer.scheme());
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("for=unknown"))
}

/// Adds an element to a list header and joins all its lines into one: some services read only the first line.
fn append(headers: &mut HeaderMap, name: &HeaderName, last: &HeaderValue) {
    let mut before = headers.get_all(name).iter();
    let Some(first) = before.next() else {
        headers.insert(name.clone(), last.clone());
        return;
    };
    let mut joined = first.as_bytes().to_vec();
    for value in before.chain([last]) {
        joined.extend_from_slice(b", ");
        joined.extend_from_slice(value.as_bytes());
    }
    if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(name.clone(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(
        forwarding: &Forwarding,
        from: &str,
        fields: &[(&'static str, &'static str)],
    ) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let peer = Peer::new(from.parse().expect("an address"), true);
        forwarding.request(&mut headers, Some(&peer), Version::HTTP_11);
        let mut lines: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn the_client_is_appended_to_all_lines_before_it() {
        let fields = [
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-for", "192.0.2.2, 192.0.2.3"),
        ];
        assert_eq!(
            told(&Forwarding::default(), "::ffff:127.0.0.1", &fields),
            ["x-forwarded-for: 192.0.2.1, 192.0.2.2, 192.0.2.3, 127.0.0.1"]
        );
    }

    #[test]
    fn all_fields_are_told_when_they_are_asked_for() {
        let forwarding = Forwarding {
            x_forwarded_for: false,
            x_forwarded_origin: true,
            forwarded: true,
            via: Some("parity".into()),
            trusted: None,
        };
        assert_eq!(
            told(
                &forwarding,
                "2001:db8::1",
                &[("host", "a.example:81"), ("via", "1.0 lb")]
            ),
            [
                "forwarded: for=\"[2001:db8::1]\";host=\"a.example:81\";proto=https",
                "host: a.example:81",
                "via: 1.0 lb, 1.1 parity",
                "x-forwarded-host: a.example:81",
                "x-forwarded-proto: https",
            ]
        );
    }

    #[test]
    fn with_a_list_only_those_on_it_are_believed() {
        let forwarding = Forwarding {
            x_forwarded_origin: true,
            trusted: Some(["10.0.0.0/8".parse().expect("a network")].into()),
            ..Forwarding::default()
        };
        let fields = [
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-proto", "http"),
            ("x-real-ip", "192.0.2.1"),
            ("forwarded", "for=192.0.2.1"),
        ];
        assert_eq!(
            told(&forwarding, "11.0.0.1", &fields),
            ["x-forwarded-for: 11.0.0.1", "x-forwarded-proto: https"]
        );
        assert_eq!(
            told(&forwarding, "10.9.9.9", &fields),
            [
                "forwarded: for=192.0.2.1",
                "x-forwarded-for: 192.0.2.1, 10.9.9.9",
                "x-forwarded-proto: http",
                "x-real-ip: 192.0.2.1",
            ]
        );
    }
}
