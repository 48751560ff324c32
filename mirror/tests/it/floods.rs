//! Candidates that make a small answer expensive: they do not slow the worker down, and honest candidates are not
//! treated as floods.

mod frames;
mod honest;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parity_mirror::Limits;
use parity_schemas::verdict::Reason;

use crate::support::authority::Authority;
use crate::support::h2::{Act, H2Service};
use crate::support::service::Conn;
use crate::support::{Next, Rig, Running, Service, ok};
use frames::Frames;

/// The largest body that is kept.
const BODY: usize = 1024 * 1024;
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

fn legacy() -> Service {
    Service::saying(ok("the legacy's"))
}

/// One request; what the worker took for it until both sides had ended.
fn cost(mirror: &Running, count: usize) -> (Vec<Reason>, Duration) {
    let before = mirror.cpu();
    let reply = mirror.client().get("/");
    assert_eq!((reply.status(), reply.text()), (200, "the legacy's"));
    let reasons = mirror.ledger.reasons(count);
    mirror.wait("idle", |mirror| mirror.control.in_flight() == 0);
    (reasons, mirror.cpu().saturating_sub(before))
}

/// The largest body, in large pieces.
fn largest() -> String {
    ok(&"x".repeat(BODY))
}

/// How often a flood and what it is compared with are looked at. Both in turn, and the cheapest look of each counts:
/// whatever else the machine does only adds to it, and does so to both.
const LOOKS: usize = 5;

/// How much more than the largest honest body a flood may cost until it is given up. What bounds it is that it is given
/// up, after pieces and bytes that are counted (`account`, `metered`); this only notices work that nobody counts. It
/// is mostly below 10 times without optimization, and was never seen above 20; a flood that is not given up goes on until the
/// deadline, which is thousands of times.
const TIMES: u32 = 30;

/// The candidate is given up, time and again, and costs little.
fn check(name: &str, rig: Rig, honest: Rig) {
    let [flooded, honest] = [rig, honest].map(|rig| {
        let patience = |limits: &mut Limits| limits.candidate_deadline = crate::support::PATIENCE;
        rig.limits(patience).start()
    });
    let mut least = [Duration::MAX; 2];
    for count in 1..=LOOKS {
        let (reasons, flood) = cost(&flooded, count);
        assert_eq!(reasons, vec![Reason::CandidateFlood; count], "{name}");
        let (reasons, at_once) = cost(&honest, count);
        assert_eq!(reasons, []);
        drop(honest.ledger.exchange());
        least = [least[0].min(flood), least[1].min(at_once)];
    }
    // The system tells the time of a thread late; it is never as short as this.
    let allowed = least[1].max(Duration::from_millis(1)) * TIMES;
    assert!(
        least[0] < allowed,
        "{name}: {:?}, allowed {allowed:?}",
        least[0]
    );
    flooded.wait_free();
}

fn check_http1(name: &str, flood: impl Fn(&mut Conn) + Send + Sync + 'static) {
    let candidate = Service::new(move |_, conn| {
        flood(conn);
        Next::Close
    });
    let honest = Service::saying(largest());
    check(
        name,
        Rig::new(&legacy(), &candidate),
        Rig::new(&legacy(), &honest),
    );
}

#[test]
fn a_chunk_for_each_byte() {
    for size in [100_000, BODY] {
        check_http1("a chunk for each byte", move |conn| {
            conn.say(CHUNKED);
            conn.say(format!("{}0\r\n\r\n", "1\r\nx\r\n".repeat(size)));
        });
    }
}

#[test]
fn interim_answers_for_ever() {
    check_http1("103 for ever", |conn| {
        let some = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000);
        while conn.say(&some) {}
    });
}

#[test]
fn sizes_of_chunks_with_leading_zeros() {
    check_http1("leading zeros", |conn| {
        conn.say(CHUNKED);
        let zeros = "0".repeat(10_000);
        while conn.say(&zeros) {}
    });
}

#[test]
fn a_record_of_tls_for_each_byte() {
    let authority = Authority::new();
    let candidate = Service::tls_with(authority.server(&[]), |_, conn| {
        conn.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {BODY}\r\n\r\n"));
        for _ in 0..BODY {
            if !conn.say("x") {
                break;
            }
        }
        Next::Close
    });
    let honest = Service::tls(authority.server(&[]), &largest());
    let [rig, honest] = [&candidate, &honest]
        .map(|candidate| Rig::new(&legacy(), candidate).ca_file(authority.file.clone()));
    check("a record for each byte", rig, honest);
}

/// Where a read finds more than one byte, it is the more of an answer; how many it must find is shown where reads are
/// counted (`metered`).
#[test]
fn bytes_that_are_read_one_by_one_are_given_up_soon() {
    /// A read and a chunk for each, and what is allowed of them.
    const MOST: usize = 1024;
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let candidate = Service::new(move |_, conn| {
        conn.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {BODY}\r\n\r\n"));
        while conn.say("x") {
            counted.fetch_add(1, Ordering::SeqCst);
            conn.wait_until_read();
        }
        Next::Close
    });
    let mirror = Rig::new(&legacy(), &candidate)
        .limits(|limits| limits.candidate_deadline = crate::support::PATIENCE)
        .start();
    assert_eq!(mirror.client().get("/").text(), "the legacy's");
    assert_eq!(mirror.ledger.reason(), Reason::CandidateFlood);
    candidate.wait_open(0);
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent <= MOST, "{sent}");
    mirror.wait_free();
}

#[test]
fn frames_of_http2_that_carry_nothing() {
    static LARGEST: [u8; BODY] = [b'x'; BODY];
    let honest = H2Service::new(|_| Act::Answer(http::Response::default(), vec![&LARGEST], None));
    for (name, flood) in frames::floods() {
        let flooding = Frames::flooding(flood);
        let [rig, honest] = [flooding.url(), honest.url().parse().expect("own URL")]
            .map(|candidate| frames::rig(&legacy(), candidate));
        check(name, rig, honest);
    }
}
