//! What the services are told of the client, and of us.
//!
//! By default the little that a service cannot do without: the client's address at the end of `X-Forwarded-For`,
//! because the socket's address is now ours and limits by address would see one client only. `Via`, `Forwarded`,
//! `X-Forwarded-Proto` and `-Host` are sent when they are asked for: servers switch compression off when they see a
//! `Via` (nginx does by default), the scheme is mostly the same, and `Host` is kept.
//!
//! What clients say of themselves in such fields is passed on, as they would reach the service without us, until a
//! list of trusted proxies is given; from then on only those are believed, and what others say is removed. Nothing
//! here is decided by what such a field says.

use std::net::IpAddr;

use http::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue, VIA};
use http::{Version, header};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
/// Fields by which a proxy says who its client was.
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

/// Which fields are sent, and whose are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// Adds the client to `X-Forwarded-For`.
    pub x_forwarded_for: bool,
    /// Sends `X-Forwarded-Proto` and `X-Forwarded-Host`, where no proxy that is believed has.
    pub x_forwarded_origin: bool,
    /// Adds an element to `Forwarded` (RFC 7239).
    pub forwarded: bool,
    /// Adds us to `Via` by this name, on requests and answers.
    pub via: Option<Box<str>>,
    /// Proxies in front of us; with a list, what anybody else says of clients is removed.
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
    /// The address as it stands in `X-Forwarded-For`.
    text: HeaderValue,
    /// Whether by TLS.
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
    pub(crate) fn request(&self, headers: &mut HeaderMap, peer: &Peer, version: Version) {
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
        self.via(headers, version);
    }

    /// Adds us to `Via` (RFC 9110 §7.6.3), with the version in which the message came to us.
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
    // A host is quoted, for its port has a colon; what cannot stand in quotes is left out.
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .filter(|host| !host.is_empty() && !host.contains(['"', '\\']))
        .map(|host| format!(";host=\"{host}\""))
        .unwrap_or_default();
    let text = format!("for={}{host};proto={}", peer.node(), peer.scheme());
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("for=unknown"))
}

/// Adds an element to a list field, all lines of which become one: some services read the first line only.
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
        forwarding.request(&mut headers, &peer, Version::HTTP_11);
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
