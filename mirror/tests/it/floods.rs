//! Candidates that make a small answer expensive: the client's worker does not pay for them, and candidates that mean
//! well are not taken for one.

mod frames;
mod honest;

use std::time::Duration;

use parity_schemas::verdict::Reason;

use crate::support::authority::Authority;
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

/// Looks at what a worker does are repeated, and the cheapest counts: whatever else the machine does only adds to it.
const LOOKS: usize = 3;

/// What the worker takes for the largest body, when it comes in large pieces.
fn in_large_pieces(rig: Rig) -> Duration {
    let mirror = rig.start();
    let costs = (1..=LOOKS).map(|count| {
        let (reasons, cpu) = cost(&mirror, count);
        assert_eq!(reasons, []);
        drop(mirror.ledger.exchange());
        cpu
    });
    // The system tells the time of a thread late; it is never as short as this.
    costs
        .min()
        .expect("some looks")
        .max(Duration::from_millis(1))
}

/// How much more than the largest honest body a flood may cost until it is given up. What bounds it is that it is given
/// up, after pieces and bytes that are counted (`account`, `metered`); this only notices work that nobody counts. It is
/// 1 to 10 times without optimization, up to 30 on a machine that does much else; a flood that is not given up goes on
/// until the deadline, which is thousands of times.
const TIMES: u32 = 100;

/// The candidate is given up, time and again, and costs little.
fn check(name: &str, rig: Rig, honest: Rig) {
    let mirror = rig
        .limits(|limits| limits.candidate_deadline = crate::support::PATIENCE)
        .start();
    let costs = (1..=LOOKS).map(|count| {
        let (reasons, cpu) = cost(&mirror, count);
        assert_eq!(reasons, vec![Reason::CandidateFlood; count], "{name}");
        cpu
    });
    let cpu = costs.min().expect("some looks");
    let allowed = in_large_pieces(honest) * TIMES;
    assert!(cpu < allowed, "{name}: {cpu:?}, allowed {allowed:?}");
    mirror.wait_free();
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

/// How many of them a read finds is the system's to say. That one which finds a single byte each time is given up is
/// shown where reads are counted (`metered`).
#[test]
fn bytes_that_come_one_by_one_are_an_answer_or_are_given_up() {
    let candidate = Service::new(|_, conn| {
        conn.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {BODY}\r\n\r\n"));
        while conn.say("x") {}
        Next::Close
    });
    let mirror = Rig::new(&legacy(), &candidate).start();
    let (reasons, _) = cost(&mirror, 1);
    assert!(
        matches!(
            reasons[..],
            [] | [Reason::CandidateFlood | Reason::CandidateTimeout]
        ),
        "{reasons:?}"
    );
}

#[test]
fn frames_of_http2_that_carry_nothing() {
    for (name, flood) in frames::floods() {
        let honest = Rig::new(&legacy(), &Service::saying(largest()));
        check(
            name,
            frames::rig(&legacy(), &Frames::flooding(flood)),
            honest,
        );
    }
}
