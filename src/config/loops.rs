//! Upstreams that are the mirror itself, or each other. A mirror whose legacy or candidate is its own port asks itself for
//! ever; one whose candidate is the legacy finds everything equal.
//!
//! Both are decided by address. The address of a name is only looked up if its port is one of ours: a resolver that hangs
//! must not keep a proxy from starting.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use parity_mirror::{HostPort, Target, UpstreamUrl};

use super::Layers;
use super::problem::Problem;
use super::settings::{Setting, mirror};

/// How long a resolver may take to say whether a name is ours.
const RESOLVED_WITHIN: Duration = Duration::from_secs(2);

/// What a mirror listens on.
pub(super) struct Ports<'a> {
    pub(super) proxy: Option<SocketAddr>,
    pub(super) admin: Option<SocketAddr>,
    pub(super) handover: Option<&'a Path>,
}

impl Layers {
    /// Reports each upstream that is one of our own ports.
    pub(super) fn refuse_loops(
        &mut self,
        upstreams: [(&'static Setting, &UpstreamUrl); 2],
        ports: &Ports<'_>,
    ) {
        for (setting, url) in upstreams {
            let ours = match url {
                UpstreamUrl::Unix(path) => {
                    let same = ports.handover.is_some_and(|own| same_file(own, path));
                    same.then(|| format!("the socket of {}", mirror::HANDOVER.key))
                }
                UpstreamUrl::Http(place) | UpstreamUrl::Https(place) => {
                    let named = [
                        (mirror::LISTEN.key, ports.proxy),
                        (mirror::ADMIN.key, ports.admin),
                    ];
                    let found = named
                        .into_iter()
                        .find(|(_, own)| own.is_some_and(|own| leads_to(place, own)));
                    found.map(|(name, _)| name.to_owned())
                }
            };
            if let Some(ours) = ours {
                let message = format!(
                    "{}: {url} is {ours} itself, so every request would come back",
                    setting.key
                );
                let hint = "name the address of the service; the mirror listens on another one";
                let problem = Problem::new(self.origin(setting), message).hint(hint);
                self.problems.push(problem);
            }
        }
    }
}

impl Layers {
    /// Reports a candidate that is the legacy: what differs is noise. Where that is allowed, it is a warning. A candidate
    /// that is asked in another way, by another path, host or header, may be another service behind the same address.
    pub(super) fn look_at_self_comparison(
        &mut self,
        legacy: &Target,
        candidate: &Target,
        allowed: bool,
    ) {
        let asked_alike = legacy.host == candidate.host
            && legacy.rewrite == candidate.rewrite
            && legacy.set == candidate.set
            && legacy.remove == candidate.remove;
        if !asked_alike || !same_place(&legacy.url, &candidate.url) {
            return;
        }
        if allowed {
            tracing::warn!(
                candidate = %candidate.url,
                "the candidate is the legacy itself ({}): what differs is noise, and a pass says nothing",
                mirror::SELF_COMPARISON.key
            );
        } else {
            let message = format!(
                "{}: {} is the legacy itself, so its answers would be compared with themselves, which says nothing of a candidate",
                mirror::CANDIDATE.key,
                candidate.url
            );
            let hint = format!(
                "name the service that is to take its place; to measure what differs by itself, set {} = true",
                mirror::SELF_COMPARISON.key
            );
            let problem = Problem::new(self.origin(&mirror::CANDIDATE), message).hint(hint);
            self.problems.push(problem);
        }
    }
}

/// Whether two URLs are one place, as far as that is known without a resolver: by numeric addresses, and by `localhost`.
fn same_place(one: &UpstreamUrl, other: &UpstreamUrl) -> bool {
    let same = |one: &HostPort, other: &HostPort| {
        one.port == other.port
            && match (known_address(&one.host), known_address(&other.host)) {
                (Some(one), Some(other)) => one == other || (is_here(one) && is_here(other)),
                (None, None) => one.host.eq_ignore_ascii_case(&other.host),
                _ => false,
            }
    };
    match (one, other) {
        (UpstreamUrl::Unix(one), UpstreamUrl::Unix(other)) => same_file(one, other),
        (UpstreamUrl::Http(one), UpstreamUrl::Http(other))
        | (UpstreamUrl::Https(one), UpstreamUrl::Https(other)) => same(one, other),
        _ => false,
    }
}

/// The address that a host stands for, where that is known without a resolver.
pub(super) fn known_address(host: &str) -> Option<IpAddr> {
    if undotted(host).eq_ignore_ascii_case("localhost") {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    numeric(host)
}

/// An address in numbers, however it is spelled.
fn numeric(host: &str) -> Option<IpAddr> {
    let host = undotted(host);
    let address = host.parse().ok();
    let address = address.or_else(|| inet_aton(host).map(IpAddr::V4))?;
    Some(address.to_canonical())
}

/// A name may end in the dot of the root.
pub(super) fn undotted(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// What resolvers take for an address of IPv4, too: one to four numbers, the last of which fills what is left, each
/// decimal, octal or hexadecimal.
fn inet_aton(host: &str) -> Option<Ipv4Addr> {
    let numbers: Option<Vec<u32>> = host.split('.').map(number).collect();
    let numbers = numbers?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 {
        return None;
    }
    let mut address = 0_u64;
    for number in first {
        address = (address << 8) | u64::from(u8::try_from(*number).ok()?);
    }
    let bits = 32 - 8 * first.len();
    let last = u64::from(*last);
    let fits = last >> bits == 0;
    let whole = u32::try_from((address << bits) | last).ok()?;
    fits.then(|| Ipv4Addr::from(whole))
}

fn number(text: &str) -> Option<u32> {
    // `from_str_radix` would take a sign.
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = match (hexadecimal, text.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (text, 10),
    };
    u32::from_str_radix(digits, radix).ok()
}

/// Whether it is what `localhost` stands for, or no address in particular, which leads there, too. Other loopback addresses
/// (127.0.0.2) tell services of one machine apart.
pub(super) fn is_here(address: IpAddr) -> bool {
    address.is_unspecified() || address == Ipv4Addr::LOCALHOST || address == Ipv6Addr::LOCALHOST
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    one == other || matches!((real(one), real(other)), (Ok(one), Ok(other)) if one == other)
}

/// Whether a connection to `place` reaches `own`.
fn leads_to(place: &HostPort, own: SocketAddr) -> bool {
    // Port 0 becomes a free one, which nobody can have named.
    place.port == own.port()
        && own.port() != 0
        && addresses(place)
            .into_iter()
            .any(|address| reaches(address.to_canonical(), own.ip().to_canonical()))
}

fn reaches(address: IpAddr, own: IpAddr) -> bool {
    // To connect to no address in particular is to connect to this machine.
    let address = match address {
        IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        address => address,
    };
    if own.is_unspecified() {
        // The one of IPv6 takes connections by IPv4, too, on most systems.
        let fits = own.is_ipv6() || address.is_ipv4();
        return fits && is_local(address);
    }
    address == own
}

/// Whether an address is one of this machine: then it is also where we would speak to it from. Nothing is sent.
fn is_local(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    address.is_loopback() || from().is_ok_and(|from| from.ip() == address)
}

pub(super) fn addresses(place: &HostPort) -> Vec<IpAddr> {
    if let Some(address) = numeric(&place.host) {
        return vec![address];
    }
    let (sender, receiver) = mpsc::channel();
    let (host, port) = (place.host.clone(), place.port);
    // Left behind when the resolver hangs; it ends with it.
    let asked = std::thread::Builder::new()
        .name("resolve".to_owned())
        .spawn(move || {
            let found = (&*host, port).to_socket_addrs().map(Vec::from_iter);
            sender.send(found.unwrap_or_default())
        });
    let found = asked
        .ok()
        .and_then(|_| receiver.recv_timeout(RESOLVED_WITHIN).ok());
    let found = found.unwrap_or_default().into_iter();
    found.map(|address| address.ip()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_loop(url: &str, own: &str) -> bool {
        let url: UpstreamUrl = url.parse().expect("a URL");
        let (UpstreamUrl::Http(place) | UpstreamUrl::Https(place)) = url else {
            panic!("an address");
        };
        leads_to(&place, own.parse().expect("an address"))
    }

    #[test]
    fn what_leads_back_to_our_port_is_found() {
        for (url, own) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://localhost:8080", "127.0.0.1:8080"),
            ("https://LOCALHOST:8080", "127.0.0.1:8080"),
            ("http://127.0.0.1:8080", "0.0.0.0:8080"),
            ("http://127.9.9.9:8080", "0.0.0.0:8080"),
            ("http://0.0.0.0:8080", "127.0.0.1:8080"),
            ("http://0.0.0.0:8080", "0.0.0.0:8080"),
            ("http://127.0.0.1:8080", "[::]:8080"),
            ("http://[::1]:8080", "[::]:8080"),
            ("http://[::]:8080", "[::1]:8080"),
            ("http://[::ffff:127.0.0.1]:8080", "127.0.0.1:8080"),
            ("http://127.0.0.1", "127.0.0.1:80"),
        ] {
            assert!(is_loop(url, own), "{url} is {own}");
        }
    }

    #[test]
    fn one_place_is_known_under_its_names() {
        let same = |one: &str, other: &str| {
            same_place(&one.parse().expect("a URL"), &other.parse().expect("a URL"))
        };
        for (one, other) in [
            ("http://a.example:80", "http://A.example"),
            ("http://localhost:7001", "http://127.0.0.1:7001"),
            ("http://[::1]:7001", "http://localhost:7001"),
            ("http://127.0.0.1:7001", "http://127.1:7001"),
            ("http://127.0.0.1:7001", "http://127.0.1:7001"),
            ("http://127.0.0.1:7001", "http://2130706433:7001"),
            ("http://127.0.0.1:7001", "http://0x7F000001:7001"),
            ("http://127.0.0.1:7001", "http://0177.0.0.1:7001"),
            ("http://127.0.0.1:7001", "http://0:7001"),
            ("http://127.0.0.1:7001", "http://0.0.0.0:7001"),
            ("http://127.0.0.1:7001", "http://127.0.0.1.:7001"),
            ("http://127.0.0.1:7001", "http://[::1]:7001"),
            ("http://127.0.0.1:7001", "http://[::]:7001"),
            ("http://127.0.0.1:7001", "http://[::ffff:127.0.0.1]:7001"),
            (
                "http://127.0.0.1:7001",
                "http://[0:0:0:0:0:FFFF:7F00:1]:7001",
            ),
            ("http://127.0.0.1:7001", "http://LOCALHOST.:7001"),
            ("http://LOCALHOST.:7001", "http://localhost:7001"),
            ("http://10.0.0.1:7001", "http://10.1:7001"),
            ("http://10.0.0.1:7001", "http://[::ffff:10.0.0.1]:7001"),
            ("http://[2001:DB8::1]:7001", "http://[2001:db8:0::1]:7001"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
        ] {
            assert!(same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("http://127.0.0.1:7001", "http://127.0.0.1:7002"),
            ("http://127.1:7001", "http://0:7002"),
            ("http://127.0.0.1:7001", "http://127.0.0.2:7001"),
            ("http://127.0.0.1:7001", "http://128.0.0.1:7001"),
            ("http://127.0.0.1:7001", "http://10.0.0.1:7001"),
            // Names that no one-number, no list of four, no base allows.
            ("http://127.0.0.1:7001", "http://127.0.0.0.1:7001"),
            ("http://127.0.0.1:7001", "http://127.0.0.0x:7001"),
            ("http://127.0.0.1:7001", "http://0189.1:7001"),
            ("http://127.0.0.1:7001", "http://6425673729:7001"),
            ("http://127.0.0.1:7001", "http://localhost.example:7001"),
            ("http://localhost:7001", "http://a.example:7001"),
            ("http://a.example", "https://a.example"),
            ("http://a.example", "http://b.example"),
            ("unix:/run/a.sock", "unix:/run/b.sock"),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn other_addresses_are_services() {
        for (url, own) in [
            ("http://127.0.0.1:8081", "127.0.0.1:8080"),
            ("http://127.0.0.2:8080", "127.0.0.1:8080"),
            // For documentation (RFC 5737): nobody's, so not ours.
            ("http://192.0.2.1:8080", "0.0.0.0:8080"),
            ("http://[::1]:8080", "0.0.0.0:8080"),
            ("http://no.such.name.invalid:8080", "0.0.0.0:8080"),
            ("http://127.0.0.1:8080", "127.0.0.1:0"),
        ] {
            assert!(!is_loop(url, own), "{url} is not {own}");
        }
    }
}
