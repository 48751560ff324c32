//! The limit on connections to the candidate.

use std::time::{Duration, Instant};

use parity_mirror::ConnectionLimits;
use parity_schemas::verdict::Reason;

use crate::support::{Next, Rig, Service, ok};

#[test]
fn shadows_that_find_no_connection_to_spare_are_our_own_drop() {
    let (legacy, hung) = (Service::saying(ok("a")), Service::new(|_, _| Next::Hang));
    let others = ConnectionLimits {
        candidate: 2,
        ..ConnectionLimits::default()
    };
    let mirror = Rig::new(&legacy, &hung)
        .others(others)
        .limits(|limits| limits.breaker_failures = 1)
        .start();
    for _ in 0..10 {
        assert_eq!(mirror.client().get("/").status(), 200);
    }
    let dropped = mirror.ledger.reasons_so_far(8);
    assert_eq!(dropped, vec![Reason::InFlightCap; 8]);
    assert_eq!(hung.connections(), 2);
    // What was not asked says nothing about the candidate.
    assert!(mirror.control.candidate_reachable());
}

#[test]
fn idle_connections_to_the_candidate_give_way_to_those_in_use() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let others = ConnectionLimits {
        candidate: 1,
        ..ConnectionLimits::default()
    };
    // Each worker keeps its own, and only one is allowed.
    let mirror = Rig::new(&legacy, &candidate)
        .workers(2)
        .others(others)
        .limits(|limits| limits.upstream_idle = Duration::from_hours(1))
        .start();
    let (mut asked, begun) = (0, Instant::now());
    // Until the connection has changed hands: it was closed by the worker that had it, for the other one.
    while candidate.connections() < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it never gave way"
        );
        assert_eq!(mirror.client().get("/").status(), 200);
        asked += 1;
        mirror.wait("settled", |mirror| {
            mirror.ledger.balance() == (asked, asked)
        });
    }
}
