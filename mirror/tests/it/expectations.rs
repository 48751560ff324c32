//! `Expect: 100-continue`: the legacy answers it, not the mirror.

use std::time::{Duration, Instant};

use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;

use crate::support::wire::{fill_until, find, read_request};
use crate::support::{Rig, Running, Service, ok};

const ASKING: &str =
    "POST / HTTP/1.1\r\nhost: test\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n";

fn rig(legacy: &Service, candidate: &Service) -> Running {
    Rig::new(legacy, candidate)
        .route("POST /", Some(true))
        .start()
}

#[test]
fn a_refusal_arrives_instead_of_100() {
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        let head = fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        let head = String::from_utf8_lossy(&buffer[..head.expect("a head")]).into_owned();
        assert!(head.contains("\r\nexpect: 100-continue"), "{head}");
        assert!(head.contains("\r\ncontent-length: 4"), "{head}");
        conn.say("HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno");
        conn.wait_for_close();
    });
    let candidate = Service::saying(ok("a"));
    let mirror = rig(&legacy, &candidate);
    for _ in 0..5 {
        let asked = Instant::now();
        let mut client = mirror.client();
        client.send(ASKING);
        let answer = String::from_utf8(client.rest()).expect("text");
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nno"), "{answer}");
        assert!(asked.elapsed() < Duration::from_secs(1), "it ends at once");
    }
    assert_eq!(candidate.connections(), 0);
    // Not the client's doing: it is there, and has its answer.
    assert_eq!(mirror.ledger.reasons(5), [Reason::LegacyEarly; 5]);
    assert_eq!(mirror.ledger.clients(5), [ClientOutcome::ClientError; 5]);
}

#[test]
fn an_upload_that_is_refused_in_the_middle_is_the_legacys_doing() {
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        conn.say(
            "HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno",
        );
        conn.wait_for_close();
    });
    let candidate = Service::saying(ok("a"));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 400000\r\n\r\n");
    client.send(vec![b'x'; 100_000]);
    let answer = String::from_utf8(client.rest()).expect("text");
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_eq!(mirror.ledger.reason(), Reason::LegacyEarly);
    assert_eq!(mirror.ledger.client(), ClientOutcome::ClientError);
    assert_eq!(candidate.connections(), 0);
}

#[test]
fn a_100_of_the_legacy_is_passed_on_and_not_before() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let legacy = Service::raw(move |mut conn| {
        let mut buffer = Vec::new();
        fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        wait.lock().expect("no panic").recv().expect("told");
        conn.say("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
        let request = read_request(&mut conn, &mut buffer).expect("whole");
        assert_eq!(request.body, b"body");
        conn.say(ok("thanks"));
        conn.wait_for_close();
    });
    let candidate = Service::saying(ok("thanks"));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    let asked = Instant::now();
    client.send(ASKING);
    go.send(()).expect("the legacy waits");
    client.read_until(b"HTTP/1.1 100 Continue\r\n\r\n");
    assert!(
        asked.elapsed() < Duration::from_millis(900),
        "by the legacy's word"
    );
    client.send("body");
    assert_eq!(client.reply().text(), "thanks");
    let shadow = &candidate.requests(1)[0];
    assert_eq!(shadow.body, b"body");
    assert_eq!(shadow.header("expect"), Vec::<&str>::new());
    mirror.ledger.exchange();
}

#[test]
fn a_legacy_that_knows_nothing_of_it_gets_the_body_after_a_while() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = rig(&legacy, &candidate);
    let mut client = mirror.client();
    let asked = Instant::now();
    client.send(ASKING);
    client.read_until(b"HTTP/1.1 100 Continue\r\n\r\n");
    assert!(
        asked.elapsed() >= Duration::from_millis(990),
        "{:?}",
        asked.elapsed()
    );
    client.send("body");
    assert_eq!(client.reply().status(), 200);
    assert_eq!(legacy.requests(1)[0].header("expect"), ["100-continue"]);
    assert_eq!(candidate.requests(1)[0].body, b"body");
}

#[test]
fn a_legacy_that_is_down_asks_for_no_body() {
    let mirror = rig(&Service::refusing(), &Service::refusing());
    let mut client = mirror.client();
    client.send(ASKING);
    let answer = String::from_utf8(client.rest()).expect("text");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(mirror.ledger.reason(), Reason::LegacyUnreachable);
}

#[test]
fn http_1_0_knows_no_such_question() {
    let legacy = Service::saying(ok("a"));
    let mirror = rig(&legacy, &Service::refusing());
    let mut client = mirror.client();
    client.send("POST / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\nbody");
    let answer = String::from_utf8(client.rest()).expect("text");
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
    assert_eq!(legacy.requests(1)[0].header("expect"), Vec::<&str>::new());
}
