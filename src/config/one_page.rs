//! Whether the pages of metrics of two services are one: the same page by two addresses, set beside itself, passes whatever the candidate
//! does. What tells later, by what two pages count, is not sure of it (a start time in whole seconds proves nothing).
//!
//! A name is only looked up if the rest of both URLs is the same.

use std::net::IpAddr;

use http::Uri;
use parity_mirror::HostPort;

use super::loops::{addresses, is_here, known_address, undotted};

/// Whether two URLs are one page: the same path at the same port of an address that both lead to. Two names at one address may be two
/// services, which are told apart by their names; an address in numbers and `localhost` are names of nothing else.
pub(super) fn same_page(one: &Uri, other: &Uri) -> bool {
    if one == other {
        return true;
    }
    let [Some(place), Some(beside)] = [one, other].map(place) else {
        return false;
    };
    if one.scheme() != other.scheme()
        || one.path_and_query() != other.path_and_query()
        || place.port != beside.port
    {
        return false;
    }
    if undotted(&place.host).eq_ignore_ascii_case(undotted(&beside.host)) {
        return true;
    }
    if [&place, &beside]
        .iter()
        .all(|place| known_address(&place.host).is_none())
    {
        return false;
    }
    let [ours, theirs] = [place, beside].map(|place| {
        let found = addresses(&place).into_iter();
        let known = found.chain(known_address(&place.host));
        known
            .map(|address| address.to_canonical())
            .collect::<Vec<_>>()
    });
    let is_one = |address: &IpAddr| {
        let mut others = theirs.iter();
        others.any(|other| address == other || is_here(*address) && is_here(*other))
    };
    ours.iter().any(is_one)
}

fn place(url: &Uri) -> Option<HostPort> {
    let host = url.host()?;
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let default = if url.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    Some(HostPort {
        host: inner.unwrap_or(host).into(),
        port: url.port_u16().unwrap_or(default),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_page_is_known_by_all_addresses_that_lead_to_it() {
        let same = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|url| url.parse().expect("a URL"));
            same_page(&one, &other) && same_page(&other, &one)
        };
        let page = "http://127.0.0.1:7001/metrics";
        for other in [
            page,
            "http://localhost:7001/metrics",
            "http://LOCALHOST.:7001/metrics",
            "http://127.1:7001/metrics",
            "http://0.0.0.0:7001/metrics",
            "http://[::1]:7001/metrics",
            "http://[::ffff:127.0.0.1]:7001/metrics",
        ] {
            assert!(same(page, other), "{other}");
        }
        assert!(same("http://a.invalid/m", "http://A.invalid:80/m"));
        assert!(same("https://a.invalid/m", "https://a.invalid.:443/m"));
        for other in [
            "http://localhost:7002/metrics",
            "http://localhost:7001/other",
            "http://localhost:7001/metrics?of=b",
            "https://localhost:7001/metrics",
            "http://127.0.0.2:7001/metrics",
            "http://no.such.name.invalid:7001/metrics",
        ] {
            assert!(!same(page, other), "{other}");
        }
        // Two names may be two services of one address.
        assert!(!same("http://a.invalid/m", "http://b.invalid/m"));
    }
}
