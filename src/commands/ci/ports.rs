//! Free ports for services.
//!
//! They are below those that the system gives to outgoing connections: else any connection of another process could take the port
//! before the service has it, and our own looks whether it is ready could be connected to themselves.
//!
//! A service opens its port itself, so nothing can hold the port for it in the meantime. Two jobs on one machine could then choose
//! the same one, and one of them would compare with the other's service. So each job also holds a name that says that the port is
//! its own: an abstract socket, which is where the port is (in the same network namespace) and ends with the process, however that
//! ends. The system has such names on Linux only.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::unix::net::UnixDatagram;

use anyhow::{Result, bail};

/// Most services that are installed on a machine have lower ones.
const LOWEST: u16 = 15_000;
/// Where those of outgoing connections begin, unless the system says otherwise.
const OUTGOING: u16 = 32_768;
/// Fewer to choose from would soon be used up.
const FEWEST: u16 = 1_000;
/// Ports that are tried before it is told that none is free: other jobs hold very few of the thousands that there are.
const TRIES: usize = 100;

/// A port that nobody listens on, and no other job will choose until this is dropped.
pub(super) struct Port {
    pub(super) number: u16,
    _claim: Claim,
}

impl Port {
    pub(super) fn free() -> Result<Self> {
        let range = range();
        let length = u64::from(range.end - range.start);
        let chance = RandomState::new();
        for step in 0..TRIES {
            let number = range.start + (chance.hash_one(step) % length) as u16;
            // Who listens on any address has it here, too.
            if TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_err() {
                continue;
            }
            if let Some(claim) = claim(number) {
                return Ok(Self {
                    number,
                    _claim: claim,
                });
            }
        }
        bail!(
            "of {TRIES} ports between {} and {}, none is free for a service",
            range.start,
            range.end
        );
    }

    /// Replaces `{port}` in a text.
    pub(super) fn put_into(&self, text: &str) -> String {
        text.replace(PLACE, &self.number.to_string())
    }
}

/// The ports to choose from.
fn range() -> Range<u16> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let outgoing = range
        .ok()
        .and_then(|range| range.split_ascii_whitespace().next()?.parse().ok());
    let outgoing: u16 = outgoing.unwrap_or(OUTGOING);
    if outgoing < LOWEST + FEWEST {
        // They begin so low that there is no room below them.
        return LOWEST..OUTGOING;
    }
    LOWEST..outgoing
}

/// Where a text has the port.
pub(super) const PLACE: &str = "{port}";

/// Held for as long as the port is ours.
type Claim = Option<UnixDatagram>;

/// `None` if somebody else has it.
#[cfg(target_os = "linux")]
fn claim(port: u16) -> Option<Claim> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::SocketAddr;
    let name = SocketAddr::from_abstract_name(format!("parity-ci-port-{port}")).ok()?;
    UnixDatagram::bind_addr(&name).ok().map(Some)
}

#[cfg(not(target_os = "linux"))]
fn claim(_port: u16) -> Option<Claim> {
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_free_and_claimed_once() {
        let first = Port::free().expect("there are free ports");
        TcpListener::bind((Ipv4Addr::LOCALHOST, first.number)).expect("nobody listens there");
        if cfg!(target_os = "linux") {
            assert!(claim(first.number).is_none());
        }
        let number = first.number;
        drop(first);
        assert!(claim(number).is_some());
    }

    #[test]
    fn the_place_of_the_port_is_replaced_wherever_it_is() {
        let port = Port::free().expect("there are free ports");
        let number = port.number;
        assert_eq!(
            port.put_into("serve --on 127.0.0.1:{port} --and {port} {ports} $PORT"),
            format!("serve --on 127.0.0.1:{number} --and {number} {{ports}} $PORT")
        );
    }
}
