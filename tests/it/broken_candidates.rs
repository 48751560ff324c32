//! A candidate that fails on half of its requests never passes the gate, in whatever way it fails.

use std::io::Write;
use std::net::TcpStream;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::client::Connection;
use crate::support::process::{Ended, Place};
use crate::support::report::Report;
use crate::support::service::{Answer, Service};

const BODY: &str = "{\"balance\":\"12.50\"}";
const REQUESTS: u64 = 100;
/// The candidate's own outcome on half of them.
const HALF: u64 = REQUESTS / 2;
/// Small, so that what is over it is sent quickly.
const LIMITS: &str = "[limits]\nbody = \"64KiB\"\n";

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn is_odd(target: &str) -> bool {
    target.ends_with(['1', '3', '5', '7', '9'])
}

/// What the mirror recorded, and what the gate says.
fn through(legacy: &Service, candidate: &Service, gate: &[&str]) -> (Report, Ended) {
    let place = Place::new();
    place.write("parity.toml", LIMITS);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut connection = Connection::open(mirror.address);
    for number in 0..REQUESTS {
        connection.send("GET", &format!("/items/{number}"), &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, 200);
    }
    let report = mirror.settled(REQUESTS);
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    (report, place.run(&[&["gate"], gate].concat()))
}

/// Half of the candidate's answers end as `outcome`, and the gate fails.
fn check(name: &str, outcome: &str, candidate: &Service) {
    let legacy = Service::json(BODY);
    let (report, gate) = through(&legacy, candidate, &[]);
    assert_eq!(report.count("match"), HALF, "{name}");
    let counts = report.not_compared();
    let counted = match outcome {
        "mismatch" => report.count("mismatch"),
        reason => counts.get(reason).copied().unwrap_or(0),
    };
    assert_eq!(counted, HALF, "{name}: {counts:?}");
    assert_eq!(gate.code, 1, "{name}: {}", gate.stdout);
}

#[test]
fn an_answer_with_another_status_is_a_mismatch_whatever_its_body_is() {
    let large = format!("[{}]", " ".repeat(100_000));
    let bodies: [(&str, Answer); 6] = [
        ("a stream", Answer::events(500, "data: 1\n\n")),
        (
            "too large",
            Answer::new(500, large).header("content-type", "application/json"),
        ),
        (
            "no gzip",
            Answer::new(500, BODY)
                .header("content-type", "application/json")
                .header("content-encoding", "gzip"),
        ),
        (
            "an unknown coding",
            Answer::new(500, BODY)
                .header("content-type", "application/json")
                .header("content-encoding", "compress"),
        ),
        (
            "a bomb",
            Answer::new(500, gzip(&vec![b' '; 1_000_000]))
                .header("content-type", "application/json")
                .header("content-encoding", "gzip"),
        ),
        (
            "too deep",
            Answer::new(500, "[".repeat(1_000)).header("content-type", "application/json"),
        ),
    ];
    for (name, answer) in bodies {
        let candidate = Service::start(move |request| {
            if is_odd(&request.target) {
                answer.clone()
            } else {
                Answer::json(BODY)
            }
        });
        check(name, "mismatch", &candidate);
    }
}

#[test]
fn a_body_that_only_the_candidate_made_uncomparable_counts_against_it() {
    let encoded =
        |body: Vec<u8>, coding: &str| Answer::json(body).header("content-encoding", coding);
    let mut cut = gzip(BODY.as_bytes());
    cut.truncate(cut.len() - 9);
    let deep = "[".repeat(1_000) + &"]".repeat(1_000);
    for (name, outcome, answer) in [
        ("no gzip", "mismatch", encoded(BODY.into(), "gzip")),
        ("cut gzip", "mismatch", encoded(cut, "gzip")),
        (
            "an unknown coding",
            "candidate_undecodable",
            encoded(BODY.into(), "compress"),
        ),
        (
            "a bomb",
            "candidate_too_large",
            encoded(gzip(&vec![b' '; 1_000_000]), "gzip"),
        ),
        (
            "too large",
            "candidate_too_large",
            Answer::json(format!("{BODY}{}", " ".repeat(100_000))),
        ),
        ("too deep", "candidate_too_deep", Answer::json(deep)),
        ("a stream", "mismatch", Answer::events(200, "data: 1\n\n")),
    ] {
        let candidate = Service::start(move |request| {
            if is_odd(&request.target) {
                answer.clone()
            } else {
                Answer::json(BODY)
            }
        });
        check(name, outcome, &candidate);
    }
}

#[test]
fn an_announced_length_that_is_a_lie_counts_against_the_candidate() {
    let candidate = Service::misbehaving(|request, stream: &mut TcpStream| {
        let length = if is_odd(&request.target) {
            99_999_999
        } else {
            BODY.len()
        };
        // The mirror may have hung up already.
        drop(write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{BODY}"
        ));
    });
    check("a lie", "candidate_too_large", &candidate);
}

#[test]
fn what_the_legacy_made_uncomparable_has_a_cap_of_its_own() {
    // A tenth of the answers are streams on both sides.
    let service = || {
        Service::start(|request| {
            if request.target.ends_with('7') {
                Answer::events(200, "data: 1\n\n")
            } else {
                Answer::json(BODY)
            }
        })
    };
    let gate = ["--max-mismatch-rate", "0.1", "--output", "json"];
    let (report, gate_of_default) = through(&service(), &service(), &gate);
    assert_eq!(report.not_compared()["stream"], REQUESTS / 10);
    assert_eq!(gate_of_default.code, 3, "{}", gate_of_default.stdout);
    let decision = gate_of_default.json();
    assert_eq!(decision["total"]["uncomparable"], REQUESTS / 10);
    assert_eq!(decision["thresholds"]["max_uncomparable"], 0.05);
    let reason = decision["reasons"][0].as_str().expect("a reason");
    assert!(
        reason.starts_with(
            "all requests: 10.00 % of the pairs could not be compared (mostly `stream`)"
        ),
        "{reason}"
    );
    let allowed = ["--max-mismatch-rate", "0.1", "--max-uncomparable", "0.2"];
    let (_, gate) = through(&service(), &service(), &allowed);
    assert_eq!(gate.code, 0, "{}", gate.stdout);
}
