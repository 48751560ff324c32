//! A legacy that fails: how its errors count in the gate's `--max-errors` where nothing was compared, or nobody saw them.

use crate::support::client::Connection;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};

/// To prove 0.1 % at 95 % without a difference takes 2,995.
const ENOUGH: u32 = 3_000;

/// Answers 503 while it is down, which is said in the query.
fn service() -> Service {
    Service::start(|request| {
        if request.target.ends_with("?down") {
            Answer::new(503, "down")
        } else {
            Answer::json("{\"a\":1}")
        }
    })
}

/// Sends requests that are answered by this status.
fn send(mirror: &Mirror<'_>, target: &str, count: u32, status: u16) {
    let mut connection = Connection::open(mirror.address);
    for _ in 0..count {
        connection.send("GET", target, &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, status);
    }
}

#[test]
fn errors_that_were_not_compared_because_shadowing_was_off_count_at_their_worst() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items/1", ENOUGH, 200);
    let off = crate::support::client::send(mirror.admin, "POST", "/api/v1/shadowing/off", &[], b"");
    assert!(off.status < 300, "{}", off.status);
    for (sent, code, told) in [
        // 1,000 of 3,000, then 2,000.
        (
            1_000,
            0,
            "up to 33.33 % of the legacy's answers to what was compared were server errors (5xx)",
        ),
        (
            1_000,
            3,
            "UNDECIDED  all requests: up to 66.67 % of the legacy's answers to what was compared were server errors (5xx), \
             50.00 % allowed",
        ),
    ] {
        send(&mirror, "/items/1?down", sent, 503);
        let ended = place.run(&["gate"]);
        assert_eq!(ended.code, code, "{}", ended.stdout);
        assert!(ended.stdout.contains(told), "{}", ended.stdout);
    }
    let allowed = place.run(&["gate", "--max-errors", "0.7"]);
    assert_eq!(allowed.code, 0, "{}", allowed.stdout);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn errors_of_both_services_behind_a_tap_are_not_seen_and_a_pass_says_so() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--mode", "tap"]);
    // Its clients are other proxies, which are told nothing.
    send(&mirror, "/items/1?down", ENOUGH, 204);
    let ended = place.run(&["gate"]);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    let told = "3,000 of the compared are copies from a tap: whether those answers were errors is not counted";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
    assert_eq!(legacy.seen(), ENOUGH as usize);
    assert_eq!(mirror.stop().0, 0);
}
