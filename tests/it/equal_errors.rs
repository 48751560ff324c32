//! A legacy that fails, and a candidate that fails alike: which answers count in the gate's `--max-errors`.

use crate::support::client::Connection;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};

/// To prove 0.1 % at 95 % without a difference takes 3,787.
const ENOUGH: u32 = 3_800;

/// Answers 503 while it is down, which the query tells it.
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

/// Switches shadowing.
fn shadowing(mirror: &Mirror<'_>, to: &str) {
    let path = format!("/api/v1/shadowing/{to}");
    let answer = crate::support::client::send(mirror.admin, "POST", &path, &[], b"");
    assert!(answer.status < 300, "{}", answer.status);
}

#[test]
fn errors_are_a_share_of_what_was_compared_whatever_was_not() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let gate = |code, told: Option<&str>| {
        let ended = place.run(&["gate"]);
        assert_eq!(ended.code, code, "{}", ended.stdout);
        assert_eq!(
            ended.stdout.contains("server errors"),
            told.is_some(),
            "{}",
            ended.stdout
        );
        assert!(
            told.is_none_or(|told| ended.stdout.contains(told)),
            "{}",
            ended.stdout
        );
    };
    send(&mirror, "/items/1", ENOUGH, 200);
    // An outage while nothing was compared.
    shadowing(&mirror, "off");
    send(&mirror, "/items/1?down", 2 * ENOUGH, 503);
    gate(0, None);
    // An outage while requests were compared.
    shadowing(&mirror, "on");
    send(&mirror, "/items/1?down", ENOUGH / 2, 503);
    gate(
        0,
        Some("33.33 % of the legacy's answers to what was compared were server errors (5xx)"),
    );
    send(&mirror, "/items/1?down", ENOUGH, 503);
    // Good answers that are not compared do not lower the share.
    shadowing(&mirror, "off");
    send(&mirror, "/items/1", 3 * ENOUGH, 200);
    gate(
        3,
        Some(
            "UNDECIDED  all requests: 60.00 % of the legacy's answers to what was compared were server errors (5xx), \
             50.00 % allowed",
        ),
    );
    let allowed = place.run(&["gate", "--max-errors", "0.7"]);
    assert_eq!(allowed.code, 0, "{}", allowed.stdout);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn errors_of_both_services_behind_a_tap_are_no_proof_either() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--mode", "tap"]);
    // Its clients are other proxies, which are told nothing.
    send(&mirror, "/items/1?down", ENOUGH, 204);
    let ended = place.run(&["gate"]);
    assert_eq!(ended.code, 3, "{}", ended.stdout);
    let told = "100.00 % of the legacy's answers to what was compared were server errors (5xx)";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
    assert_eq!(legacy.seen(), ENOUGH as usize);
    assert_eq!(mirror.stop().0, 0);
}
