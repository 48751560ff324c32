//! The client never pays: every fault of a candidate, under load, with what it costs.
//!
//! 2,000 requests per fault, 100,000 in tests/long (`PARITY_TEST_LENGTH=long`). About time it only asserts that no client
//! waits for a candidate; benches/mirror measures the rest. The table is printed
//! (`cargo test … -- --nocapture`).

mod faults;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::support::client::{self, Connection};
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::{length, wait_for};

const BODY: &str = "{\"balance\":\"12.50\",\"items\":[1,2,3]}";
const CLIENTS: u64 = 8;
/// The candidate's deadline: what a client that waited for it would have to wait.
const DEADLINE: Duration = Duration::from_secs(1);
/// The byte budget.
const BUDGET: u64 = 32 << 20;
/// What may be resident beside what was before: the budget, and room for what the allocator keeps.
const MEMORY: u64 = BUDGET + (16 << 20);

/// What a run through the mirror was like for its clients.
struct Run {
    p50: Duration,
    p99: Duration,
    worst: Duration,
}

/// Sends `requests` on [`CLIENTS`] connections; every answer must be the legacy's.
fn run(address: SocketAddr, requests: u64) -> Run {
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn(move || {
                    let mut connection = Connection::open(address);
                    let share = requests / CLIENTS + u64::from(client < requests % CLIENTS);
                    (0..share)
                        .map(|number| {
                            let begun = Instant::now();
                            connection.send("GET", &format!("/items/{number}"), &[], b"");
                            let answer = connection.answer("GET").expect("a whole answer");
                            assert_eq!((answer.status, &*answer.body), (200, BODY.as_bytes()));
                            assert_eq!(answer.header("content-type"), Some("application/json"));
                            begun.elapsed()
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        clients
            .into_iter()
            .flat_map(|client| client.join().expect("no client sees a fault"))
            .collect()
    });
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Run {
        p50: at(0.5),
        p99: at(0.99),
        worst: at(1.0),
    }
}

fn descriptors(mirror: &Mirror<'_>) -> usize {
    let folder = std::fs::read_dir(format!("/proc/{}/fd", mirror.pid()));
    folder.expect("it runs").count()
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the table is what a person runs this for"
)]
fn no_fault_of_a_candidate_reaches_a_client() {
    let requests = length(2_000, 100_000);
    println!(
        "{:<26} {:>7} {:>9} {:>9} {:>9} {:>8}  outcomes",
        "fault", "errors", "p50", "p99", "worst", "RSS"
    );
    for fault in faults::all() {
        let legacy = Service::json(BODY);
        let place = Place::new();
        let deadline = DEADLINE.as_millis();
        place.write(
            "parity.toml",
            format!("[limits]\ncandidate_deadline = \"{deadline}ms\"\n"),
        );
        let mirror = place.mirror(&legacy.url(), &fault.url, &["--shadow", "off"]);
        run(mirror.address, 200);
        let baseline = (mirror.memory().0, descriptors(&mirror));
        let switched = client::send(mirror.admin, "POST", "/api/v1/shadowing/on", &[], b"");
        assert!(switched.status < 300, "{}", switched.status);
        let seen = run(mirror.address, requests);
        let (_, highest) = mirror.memory();
        let status = mirror.ask("/api/v1/status").json();
        assert!(
            status["shadow_bytes"]
                .as_u64()
                .is_some_and(|held| held <= BUDGET),
            "{}: {status}",
            fault.name
        );
        assert_eq!(status["legacy_reachable"], true, "{}", fault.name);
        if fault.name == "refused" {
            assert_eq!(status["candidate_reachable"], false);
        }
        let report = mirror.settled(200 + requests);
        let mut outcomes: BTreeMap<_, _> = report.not_compared();
        outcomes.remove("shadowing_off");
        outcomes.insert("match".to_owned(), report.count("match"));
        outcomes.retain(|_, count| *count > 0);
        println!(
            "{:<26} {:>7} {:>9.2?} {:>9.2?} {:>9.2?} {:>5}MiB  {outcomes:?}",
            fault.name,
            0,
            seen.p50,
            seen.p99,
            seen.worst,
            highest >> 20
        );
        // On a busy machine anything may take as long as the deadline.
        let allowed = |name: &str| {
            let late = ["candidate_timeout", "breaker_open", "in_flight_cap"];
            late.contains(&name) || fault.outcomes.contains(&name)
        };
        assert!(
            outcomes.keys().all(|name| allowed(name)),
            "{}: {outcomes:?}",
            fault.name
        );
        assert!(
            fault
                .outcomes
                .iter()
                .any(|name| outcomes.contains_key(*name)),
            "{}: {outcomes:?}",
            fault.name
        );
        assert_eq!(outcomes.values().sum::<u64>(), requests, "{}", fault.name);
        // A client that waited for the candidate would wait for its whole deadline. A machine that is busy with other tests
        // may be slow now and then, but not at every second request.
        assert!(
            seen.p50 < DEADLINE / 4 && seen.p99 < DEADLINE,
            "{}: p50 {:?}, p99 {:?}",
            fault.name,
            seen.p50,
            seen.p99
        );
        assert!(
            highest <= baseline.0 + MEMORY,
            "{}: {highest} bytes, {} before",
            fault.name,
            baseline.0
        );
        // Idle connections to the legacy stay for a while; nothing else does.
        wait_for("the shadows to go", || {
            let left = mirror.ask("/api/v1/status").json()["shadows_in_flight"].clone();
            (left == 0 && descriptors(&mirror) <= baseline.1 + 2 * CLIENTS as usize).then_some(())
        });
        assert_eq!(mirror.stop().0, 0);
    }
}

#[test]
fn a_fault_of_the_legacy_is_the_clients_as_it_would_be_without_us_and_nothing_stays() {
    // More than idle connections are kept to the candidate on a busy machine, where many of its answers are awaited at once.
    let times = length(40, 1_000);
    for fault in faults::all() {
        if matches!(
            fault.name,
            // Nobody cuts these short: a legacy has no deadline of ours.
            "black-holed"
                | "never answers"
                | "10 s slow"
                | "head at 1 KB/s"
                | "body at 1 KB/s"
                | "1xx for ever"
                | "103 as fast as it goes"
        ) {
            continue;
        }
        let candidate = Service::json(BODY);
        let place = Place::new();
        let mirror = place.mirror(&fault.url, &candidate.url(), &[]);
        let before = descriptors(&mirror);
        for _ in 0..times {
            let mut connection = Connection::open(mirror.address);
            connection.send("GET", "/items/1", &[], b"");
            if fault.name == "endless" {
                // The answer has no end, so the client closes.
                continue;
            }
            match connection.answer("GET") {
                Some(answer) if answer.status == 200 => {
                    assert_eq!(fault.name, "an answer too many");
                    assert_eq!(answer.body, BODY.as_bytes());
                }
                Some(answer) => {
                    assert_eq!(answer.status, 502, "{}", fault.name);
                    assert!(answer.text().starts_with("parity: "), "{}", fault.name);
                }
                // Cut in the middle, as the legacy cut it.
                None => assert!(
                    fault.name.contains("body")
                        || fault.name.contains("byte")
                        || fault.name.contains("truncated")
                        || fault.name.contains("chunk"),
                    "{}",
                    fault.name
                ),
            }
        }
        wait_for(
            &format!("every connection to go after `{}`", fault.name),
            || {
                // Workers and store may have opened theirs only now; a leak would be one for each time.
                (descriptors(&mirror) < before + times as usize - 5).then_some(())
            },
        );
        let report = wait_for("the record to settle", || {
            let report = place.report();
            (report.count("received") == report.settled()).then_some(report)
        });
        assert_eq!(report.count("mismatch"), 0, "{}", fault.name);
        assert_eq!(mirror.stop().0, 0, "{}", fault.name);
    }
}
