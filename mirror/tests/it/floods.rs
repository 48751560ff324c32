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
    mirror.wait_free();
    (reasons, mirror.cpu().saturating_sub(before))
}

/// What the worker takes for the largest body, when it comes in large pieces.
fn in_large_pieces() -> Duration {
    let body = "x".repeat(BODY);
    let mirror = Rig::new(&legacy(), &Service::saying(ok(&body))).start();
    let (reasons, cpu) = cost(&mirror, 1);
    assert_eq!(reasons, []);
    cpu
}

/// How much more than the largest honest body a flood may cost, on a busy machine. Without limits it was hundreds of times.
const TIMES: u32 = 30;

/// The candidate is given up, time and again, and costs little.
fn check(name: &str, rig: Rig) {
    let mirror = rig
        .limits(|limits| limits.candidate_deadline = crate::support::PATIENCE)
        .start();
    let allowed = in_large_pieces().max(Duration::from_millis(1)) * TIMES;
    for count in 1..=3 {
        let (reasons, cpu) = cost(&mirror, count);
        assert_eq!(reasons, vec![Reason::CandidateFlood; count], "{name}");
        assert!(cpu < allowed, "{name}: {cpu:?}, allowed {allowed:?}");
    }
}

fn check_http1(name: &str, flood: impl Fn(&mut Conn) + Send + Sync + 'static) {
    let candidate = Service::new(move |_, conn| {
        flood(conn);
        Next::Close
    });
    check(name, Rig::new(&legacy(), &candidate));
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
    let rig = Rig::new(&legacy(), &candidate).ca_file(authority.file.clone());
    check("a record for each byte", rig);
}

#[test]
fn bytes_that_come_one_by_one_cost_little_or_are_given_up() {
    // How many of them a read finds is the system's to say.
    let candidate = Service::new(|_, conn| {
        conn.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {BODY}\r\n\r\n"));
        while conn.say("x") {}
        Next::Close
    });
    let mirror = Rig::new(&legacy(), &candidate).start();
    let (reasons, cpu) = cost(&mirror, 1);
    assert!(
        matches!(
            reasons[..],
            [] | [Reason::CandidateFlood | Reason::CandidateTimeout]
        ),
        "{reasons:?}"
    );
    // On a busy machine each read finds little; a read for each byte would still be ten times as much.
    let allowed = in_large_pieces().max(Duration::from_millis(1)) * TIMES * 4;
    assert!(cpu < allowed, "{cpu:?}, allowed {allowed:?}");
}

#[test]
fn frames_of_http2_that_carry_nothing() {
    for (name, flood) in frames::floods() {
        check(name, frames::rig(&legacy(), &Frames::flooding(flood)));
    }
}
