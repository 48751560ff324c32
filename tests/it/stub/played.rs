//! A real service behind the stub: the legacy's calls reach it, and the candidate gets what the legacy got.

use std::thread;

use parity_schemas::stub::StubOutcome;

use super::{JSON, Stub, counts};
use crate::support::client;
use crate::support::process::Place;
use crate::support::service::{Answer, Service, nobody};

/// A service that counts, so that no two answers are equal.
fn counter() -> Service {
    let count = std::sync::atomic::AtomicUsize::new(0);
    Service::start(move |request| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let told = format!(
            "{number} {} {} {}",
            request.method,
            request.target,
            String::from_utf8_lossy(&request.body)
        );
        Answer::new(
            if request.target.contains("no") {
                409
            } else {
                201
            },
            told,
        )
        .header("x-number", &number.to_string())
    })
}

#[test]
fn the_candidate_gets_what_the_legacy_got_and_the_service_is_asked_once() {
    let place = Place::new();
    let service = counter();
    let stub = Stub::start(
        &place,
        &["--upstream", &service.url(), "--answer-wait", "20s"],
    );
    thread::scope(|scope| {
        // The candidate's first: it waits for the legacy's.
        let (candidate, legacy) = (stub.candidate, stub.legacy);
        for number in 0..8 {
            let call = move |address, spaces: &str| {
                let path = if number % 2 == 0 { "/no?x=%31" } else { "/yes" };
                client::send(
                    address,
                    "POST",
                    path,
                    &[JSON],
                    format!("{{\"n\":{spaces}{number}}}").as_bytes(),
                )
            };
            let played = scope.spawn(move || call(candidate, " "));
            let real = call(legacy, "");
            let played = played.join().expect("no panic");
            assert_eq!(real.status, if number % 2 == 0 { 409 } else { 201 });
            assert_eq!(
                (played.status, played.text(), played.header("x-number")),
                (real.status, real.text(), real.header("x-number"))
            );
            assert!(
                real.text().ends_with(&format!("{{\"n\":{number}}}")),
                "{}",
                real.text()
            );
        }
    });
    assert_eq!(service.seen(), 8);
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Pass, "{}", ended.stdout);
    assert_eq!(counts(&document), [8, 8, 8, 0, 0, 0]);
    assert_eq!(
        (document.answered["upstream"], document.answered["played"]),
        (8, 8)
    );
}

#[test]
fn a_call_that_differs_gets_the_answer_of_its_partner_and_one_without_gets_none() {
    let place = Place::new();
    let service = counter();
    let stub = Stub::start(
        &place,
        &[
            "--upstream",
            &service.url(),
            "--answer-wait",
            "300ms",
            "--wait",
            "4s",
        ],
    );
    let real = client::send(stub.legacy, "POST", "/a", &[JSON], b"{\"n\":1}");
    let played = client::send(stub.candidate, "POST", "/a", &[JSON], b"{\"n\":2}");
    assert_eq!((played.status, played.body), (201, real.body));
    let alone = client::send(stub.candidate, "POST", "/b", &[JSON], b"{}");
    assert_eq!(alone.status, 504);
    assert!(alone.text().starts_with("parity: "), "{}", alone.text());
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Fail);
    assert_eq!(counts(&document), [1, 2, 0, 1, 0, 1], "{}", ended.stdout);
    assert_eq!(document.answered["not_played"], 1);
    assert_eq!(service.seen(), 1, "the candidate's calls never reach it");
}

#[test]
fn a_service_that_fails_is_told_to_both_and_no_difference() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--upstream", &nobody()]);
    for address in [stub.legacy, stub.candidate] {
        let answer = client::send(address, "POST", "/a", &[JSON], b"{}");
        assert_eq!(answer.status, 502, "{}", answer.text());
    }
    let (ended, document) = stub.stop();
    // Nothing is known of what the services do after an answer.
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    assert_eq!(
        (
            document.answered["upstream_failed"],
            document.answered["played"]
        ),
        (1, 1)
    );
}

#[test]
fn an_answer_that_never_ends_or_never_comes_costs_its_time_and_no_more() {
    let endless = Service::raw(|stream, _| {
        use std::io::Write as _;
        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    let hung = Service::raw(|stream, _| {
        use std::io::Read as _;
        while stream.read(&mut [0; 512]).is_ok_and(|length| length > 0) {}
    });
    for service in [&endless, &hung] {
        let place = Place::new();
        let stub = Stub::start(
            &place,
            &[
                "--upstream",
                &service.url(),
                "--upstream-deadline",
                "500ms",
                "--wait",
                "5s",
            ],
        );
        assert_eq!(client::get(stub.legacy, "/a").status, 502);
        assert_eq!(client::get(stub.candidate, "/a").status, 502);
        let (ended, document) = stub.stop();
        assert_eq!(counts(&document), [1, 1, 1, 0, 0, 0], "{}", ended.stdout);
    }
}

#[test]
fn a_candidate_gets_no_answer_to_a_call_of_another_request() {
    let place = Place::new();
    let service = counter();
    let more = ["--upstream", &service.url(), "--answer-wait", "300ms"];
    let stub = Stub::start(&place, &more);
    let send = |address, id: &str, body: &[u8]| {
        client::send(address, "POST", "/a", &[JSON, ("x-request-id", id)], body)
    };
    for id in ["one", "two", "three"] {
        assert_eq!(send(stub.legacy, id, b"{}").status, 201);
        assert_eq!(send(stub.candidate, id, b"{}").status, 201);
    }
    assert_eq!(send(stub.legacy, "a", b"{\"n\":1}").status, 201);
    assert_eq!(send(stub.candidate, "b", b"{\"n\":2}").status, 504);
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [4, 4, 3, 0, 0, 1], "{}", ended.stdout);
}
