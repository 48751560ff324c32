//! Clients that disconnect, in each phase.

use std::time::Duration;

use parity_schemas::verdict::Reason;

use crate::support::{Next, Rig, Running, Service, ok};

fn rig(legacy: &Service, candidate: &Service) -> Running {
    Rig::new(legacy, candidate)
        .route("POST /", Some(true))
        .limits(|limits| limits.candidate_deadline = Duration::from_secs(10))
        .start()
}

#[test]
fn within_the_head_nothing_was_received() {
    let service = Service::saying(ok("a"));
    let mirror = rig(&service, &service);
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: te");
    client.reset();
    assert_eq!(mirror.client().get("/").status(), 200);
    assert_eq!(mirror.ledger.reasons(1), []);
}

#[test]
fn within_the_body_the_candidate_hears_nothing() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    for reset in [true, false] {
        let mirror = rig(&legacy, &candidate);
        let mut client = mirror.client();
        client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 100\r\n\r\nsome");
        mirror.ledger.wait_received(1);
        if reset {
            client.reset();
        } else {
            drop(client);
        }
        assert_eq!(mirror.ledger.reason(), Reason::ClientAborted);
        legacy.wait_open(0);
    }
    assert_eq!(candidate.connections(), 0);
    assert_eq!(legacy.seen().len(), 0, "no whole request");
}

#[test]
fn while_both_services_think_both_are_let_go() {
    let hung = || Service::new(|_, _| Next::Hang);
    let (legacy, candidate) = (hung(), hung());
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    legacy.requests(1);
    candidate.requests(1);
    // One that closes without a reset may still read: see `half_closing`.
    client.reset();
    assert_eq!(mirror.ledger.reason(), Reason::ClientAborted);
    legacy.wait_open(0);
    candidate.wait_open(0);
    mirror.wait_free();
}

#[test]
fn within_the_answer_both_are_let_go() {
    let unfinished = Service::new(|_, conn| {
        conn.say("HTTP/1.1 200 OK\r\n\r\nxxxx");
        Next::Hang
    });
    let candidate = Service::new(|_, _| Next::Hang);
    let mirror = rig(&unfinished, &candidate);
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    client.read_until(b"xxxx");
    client.reset();
    assert_eq!(mirror.ledger.reason(), Reason::ClientAborted);
    unfinished.wait_open(0);
    candidate.wait_open(0);
    mirror.wait_free();
}

#[test]
fn after_the_legacys_last_byte_the_exchange_is_whole() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let candidate = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(ok("b"));
        Next::Keep
    });
    let mirror = rig(&Service::saying(ok("a")), &candidate);
    let mut client = mirror.client();
    client.get("/");
    drop(client);
    candidate.requests(1);
    go.send(()).expect("the candidate waits");
    mirror.ledger.exchange();
}
