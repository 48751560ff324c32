//! More to compare than there is time for: no route suffers from another one, and the process ends in time.

use std::io::Write as _;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::client::Connection;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};
use crate::support::{wait_for, wait_or_tell};

/// Bytes that an answer of the expensive route unpacks to; gzip makes some hundred of them. Comparing two takes a part of
/// the time that may wait, on slow machines, too.
const UNPACKED: usize = 100_000;
/// Several times what may wait for comparison.
const BOMBS: usize = 1_000;
/// Sent just before the end, so that some still wait then, however long the healthy route took.
const LAST_BOMBS: usize = 300;
/// Less than that, so that the route has room even while a single comparison goes on.
const HEALTHY: usize = 200;
const DRAIN: Duration = Duration::from_secs(1);
/// What the end may take beside the drain: docs/production.md says it.
const BESIDE: Duration = Duration::from_secs(9);

/// Answers that are small on the wire, large in memory, and differ everywhere.
fn bomb(odd: u8) -> Vec<u8> {
    let items: Vec<String> = (0..UNPACKED / 40)
        .map(|at| {
            format!(
                "{{\"i\":{},\"n\":\"aaaaaaaaaaaaaaaaaaaa\"}}",
                if at % 3 == 0 { odd } else { 1 }
            )
        })
        .collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(format!("[{}]", items.join(",")).as_bytes());
    written.expect("memory");
    encoder.finish().expect("memory")
}

fn service(odd: u8) -> Service {
    let bomb = bomb(odd);
    assert!(bomb.len() < 4_000, "{}", bomb.len());
    Service::start(move |request| {
        if request.target.starts_with("/bombs") {
            Answer::json(bomb.clone()).header("content-encoding", "gzip")
        } else {
            Answer::json("{\"healthy\":true}")
        }
    })
}

fn ask(address: SocketAddr, path: &'static str, times: usize) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut connection = Connection::open(address);
        for _ in 0..times {
            connection.send("GET", path, &[], b"");
            let answer = connection.answer("GET").expect("an answer");
            assert_eq!(answer.status, 200);
        }
    })
}

#[test]
fn an_expensive_route_costs_no_other_one_its_comparisons_and_the_drain_ends() {
    let (legacy, candidate) = (service(1), service(2));
    let place = Place::new();
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
        command
            .env("PARITY_LIMITS_QUEUE", "256")
            .env("PARITY_LIMITS_DRAIN", "1s")
    });
    let bombs = |count: usize| (0..4).map(move |_| ask(mirror.address, "/bombs", count / 4));
    let shadows_are_through = || {
        wait_for("the last shadow", || {
            let status = mirror.ask("/api/v1/status").json();
            (status["shadows_in_flight"] == 0).then_some(())
        });
    };
    let answered = |asking: JoinHandle<()>| asking.join().expect("every client is answered");
    let asking: Vec<_> = bombs(BOMBS).collect();
    answered(ask(mirror.address, "/healthy", HEALTHY));
    asking.into_iter().for_each(answered);
    shadows_are_through();
    // These are compared before most of the other route's, however long each of those takes.
    let all_are_compared = || {
        let report = place.report();
        (report.count("match") == HEALTHY as u64).then_some(())
    };
    wait_or_tell(all_are_compared, || {
        format!("the healthy route: {:#}", place.report().0["routes"])
    });
    let asking: Vec<_> = bombs(LAST_BOMBS).collect();
    asking.into_iter().for_each(answered);
    shadows_are_through();

    let asked = Instant::now();
    let (code, log) = mirror.stop();
    let took = asked.elapsed();
    assert_eq!(code, 0, "{log}");
    assert!(took < DRAIN + BESIDE, "the end took {took:?}");

    let report = place.report();
    let all = (BOMBS + LAST_BOMBS + HEALTHY) as u64;
    assert_eq!((report.count("received"), report.settled()), (all, all));
    let routes = report.0["routes"].as_array().expect("routes");
    let route = |label: &str| {
        let route = routes.iter().find(|route| route["route"] == label);
        route.expect("it was asked")
    };
    assert_eq!(route("GET /healthy")["match"], HEALTHY, "{:?}", report.0);
    let left = &route("GET /bombs")["not_compared"];
    assert!(left["queue_full"].as_u64() > Some(0), "{left}");
    assert!(left["shutdown"].as_u64() > Some(0), "{left}");
    assert!(log.contains("counted as shutdown"), "{log}");
}
