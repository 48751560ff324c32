//! slowhttptest: clients that hold connections by being slow with a head, with a body, or with taking an answer.
//!
//! Such attacks exhaust a pool of connections. So the tests check that another client is still served, that a connection which
//! breaks a limit is cut in time, and that memory stays at what a few hundred connections cost.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::origin::{Next, Origin};
use super::tool;
use crate::support::process::{Mirror, Place};
use crate::support::service::nobody;
use crate::support::{PATIENCE, length, wait_for};

/// Connections beside the attack: slowhttptest's own probe, and ours.
const OTHERS: u64 = 2;
/// What one connection may cost: hyper's buffers of both sides at their largest.
const BYTES_PER_CONNECTION: u64 = 256 * 1024;
/// What the process may grow by besides: caches of the allocator, tables.
const BYTES_TO_SPARE: u64 = 16 * 1024 * 1024;
/// More than what sockets hold, so that a slow reader is waited for.
const LARGE: usize = 4 * 1024 * 1024;
/// How long another client may wait meanwhile, on a machine that the attack also keeps busy.
const OTHERS_WAIT: Duration = Duration::from_secs(2);
/// `limits.header_read` and `limits.client_stall`.
const HEAD: Duration = Duration::from_secs(10);
const STALL: Duration = Duration::from_mins(1);
/// A limit is looked at once a second, and the attack begins within two.
const LATE: Duration = Duration::from_secs(5);

/// An attack, and what must come of it.
struct Attack {
    arguments: &'static [&'static str],
    /// Connections at a time.
    connections: u64,
    /// How long it goes on.
    seconds: u64,
    /// The limit that ends its connections; without one they break none, and end with it.
    limit: Option<Duration>,
}

/// Its end, however the test ends.
struct Attacker(Child);

impl Attacker {
    fn start(attack: &Attack, mirror: &Mirror<'_>) -> Self {
        let connections = attack.connections.to_string();
        let child = Command::new(tool("slowhttptest"))
            .args(attack.arguments)
            .args(["-c", &connections, "-r", &connections, "-v", "0"])
            .args(["-l", &attack.seconds.to_string()])
            .args(["-u", &format!("http://{}/large", mirror.address)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("slowhttptest can be run"))
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("the child can be asked").is_some()
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Client connections as the mirror itself counts them.
fn open_connections(mirror: &Mirror<'_>) -> u64 {
    let metrics = mirror.ask("/metrics").text();
    let gauge = |line: &str| {
        line.strip_prefix("parity_client_connections ")?
            .parse()
            .ok()
    };
    metrics.lines().find_map(gauge).expect("a gauge")
}

/// The most memory that the process has had so far.
fn peak_bytes(mirror: &Mirror<'_>) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", mirror.pid()));
    let status = status.expect("the mirror runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.expect("a peak") * 1024
}

/// A legacy with a large page and a small one.
fn legacy() -> Origin {
    let large = vec![b'x'; LARGE];
    Origin::start(move |heard, stream| {
        let body = match heard.target.as_str() {
            "/large" => &large[..],
            _ => b"here",
        };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let written = stream.write_all(head.as_bytes());
        match written.and_then(|()| stream.write_all(body)) {
            Ok(()) => Next::Keep,
            Err(_) => Next::Close,
        }
    })
}

fn withstand(attack: &Attack) {
    let (legacy, place) = (legacy(), Place::new());
    let mirror = place.mirror(&legacy.url(), &nobody(), &["--shadow", "off"]);
    mirror.get("/probe");
    let before = peak_bytes(&mirror);
    let mut attacker = Attacker::start(attack, &mirror);
    let begin = Instant::now();
    let (mut most, mut slowest, mut cut) = (0, Duration::ZERO, None);
    while cut.is_none() && !attacker.has_ended() {
        let asked = Instant::now();
        assert_eq!(
            mirror.get("/probe").text(),
            "here",
            "{:?}",
            attack.arguments
        );
        slowest = slowest.max(asked.elapsed());
        let open = open_connections(&mirror);
        most = most.max(open);
        if most >= attack.connections && open <= OTHERS {
            cut = Some(begin.elapsed());
        }
        let patience = Duration::from_secs(attack.seconds) + PATIENCE;
        assert!(begin.elapsed() < patience, "slowhttptest does not end");
        thread::park_timeout(Duration::from_millis(20));
    }
    // The tool also ends early when it has no connection left; at its end it closes them itself.
    let cut = cut.unwrap_or_else(|| begin.elapsed());
    let cut = (cut < Duration::from_secs(attack.seconds)).then_some(cut);
    drop(attacker);
    let grown = peak_bytes(&mirror).saturating_sub(before);
    let seen = format!(
        "{:?}: {most} connections at most, cut after {cut:?}, others waited {slowest:?}, {} KiB more memory",
        attack.arguments,
        grown / 1024
    );
    assert!(most >= attack.connections, "no attack: {seen}");
    assert!(slowest < OTHERS_WAIT, "{seen}");
    let allowed = attack.connections * BYTES_PER_CONNECTION + BYTES_TO_SPARE;
    assert!(grown <= allowed, "{seen}");
    match (attack.limit, cut) {
        (Some(limit), Some(cut)) => assert!(limit <= cut && cut <= limit + LATE, "{seen}"),
        (Some(_), None) => panic!("never cut: {seen}"),
        // Slow, but never as slow as a limit says: it is served on.
        (None, _) => assert!(cut.is_none(), "{seen}"),
    }
    wait_for("the end of its connections", || {
        (open_connections(&mirror) == 0).then_some(())
    });
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
}

#[test]
#[ignore = "needs other proxies and tools: run tests/run"]
fn slow_heads_are_cut_when_their_time_is_over() {
    withstand(&Attack {
        arguments: &["-H", "-i", "2", "-x", "24"],
        connections: 300,
        seconds: 20,
        limit: Some(HEAD),
    });
}

#[test]
#[ignore = "needs other proxies and tools: run tests/run"]
fn slow_bodies_hold_nobody_up() {
    withstand(&Attack {
        arguments: &["-B", "-i", "1", "-s", "100000", "-x", "10"],
        connections: 300,
        seconds: 5,
        limit: None,
    });
    if length(0, 1) == 1 {
        withstand(&Attack {
            arguments: &["-B", "-i", "100", "-s", "100000", "-x", "10"],
            connections: 300,
            seconds: 90,
            limit: Some(STALL),
        });
    }
}

#[test]
#[ignore = "needs other proxies and tools: run tests/run"]
fn slow_readers_hold_nobody_up() {
    withstand(&Attack {
        arguments: &["-X", "-n", "1", "-w", "512", "-y", "1024", "-z", "32"],
        // The kernel keeps some megabytes for each.
        connections: 100,
        seconds: 5,
        limit: None,
    });
    if length(0, 1) == 1 {
        withstand(&Attack {
            arguments: &["-X", "-n", "100", "-w", "512", "-y", "1024", "-z", "32"],
            connections: 100,
            seconds: 90,
            limit: Some(STALL),
        });
    }
}
