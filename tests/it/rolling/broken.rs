//! A candidate that serves and cannot answer: the client of a safe request never learns it.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use super::{BODY, falls_back, get_as, hanging, named, on_the_way, rollout, under_way, who};
use crate::support::client::{self, Connection};
use crate::support::service::{Request, Service, nobody};

/// No breach is found by few requests, so what is tested is the fall back of each request.
const PATIENT: &str = "min_requests = 100000";

fn hang(_: &Request, stream: &mut TcpStream) {
    // Until the other side closes.
    let _closed = std::io::Read::read(stream, &mut [0]);
}

fn reset(_: &Request, stream: &mut TcpStream) {
    let _linger = socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO));
}

fn garbage(_: &Request, stream: &mut TcpStream) {
    let _sent = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n\r\n");
}

#[test]
fn a_safe_request_that_the_candidate_cannot_answer_is_answered_by_the_legacy_once() {
    type Act = fn(&Request, &mut TcpStream);
    let cases: [(&str, Option<Act>); 4] = [
        ("candidate_refused", None),
        ("candidate_timeout", Some(hang)),
        ("candidate_reset", Some(reset)),
        ("candidate_protocol", Some(garbage)),
    ];
    for (reason, act) in cases {
        let place = hanging(PATIENT);
        let legacy = named("legacy");
        let candidate = act.map(Service::misbehaving);
        let url = candidate.as_ref().map_or_else(nobody, Service::url);
        let mirror = on_the_way(&place, &legacy.url(), &url, &[]);
        for method in ["GET", "HEAD", "OPTIONS"] {
            let answer = client::send(mirror.address, method, "/items/1", &[("x-user", "a")], b"");
            assert_eq!(
                (answer.status, who(&answer).as_str()),
                (200, "legacy"),
                "{reason}"
            );
        }
        let report = mirror.settled(3);
        assert_eq!(report.not_compared()[reason], 3, "{}", report.0);
        assert_eq!(report.0["clients"]["2xx"], 3);
        assert_eq!(
            legacy.seen(),
            3,
            "{reason}: the legacy got it once, not as a shadow, too"
        );
        let now = rollout(&mirror);
        assert_eq!(now["repaired"], 3);
        // A few more, and it is down: nobody waits for it any more.
        for _ in 0..2 {
            assert_eq!(get_as(&mirror, "a", "/items/1").text(), BODY);
        }
        let fell = falls_back(&mirror);
        assert_eq!(fell["percent"], 0.0);
        let why = fell["fell_back"]["reason"].as_str().expect("words");
        assert!(why.contains("down"), "{reason}: {why}");
        assert_eq!(fell["fell_back"]["who"], "parity");
        let repaired = rollout(&mirror)["repaired"].as_u64().expect("a count");
        assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "legacy");
        assert_eq!(rollout(&mirror)["repaired"], repaired);
        assert_eq!(mirror.stop().0, 0);
    }
}

#[test]
fn behind_the_head_nothing_is_repaired_and_the_candidate_is_charged() {
    let place = under_way(100.0, PATIENT);
    let legacy = named("legacy");
    let candidate = Service::misbehaving(|request, stream| {
        let _sent = stream
            .write_all(b"HTTP/1.1 200 OK\r\nServer: candidate\r\nContent-Length: 100\r\n\r\nbegin");
        reset(request, stream);
    });
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    let mut connection = Connection::open(mirror.address);
    connection.send("GET", "/items/1", &[("x-user", "a")], b"");
    assert!(connection.answer("GET").is_none(), "it is not whole");
    let report = mirror.answered_in("sqlite:parity.db", 1);
    assert_eq!(
        report.not_compared()["candidate_truncated"],
        1,
        "{}",
        report.0
    );
    assert_eq!(report.0["clients"]["candidate_truncated"], 1);
    let now = rollout(&mirror);
    assert_eq!(
        (&now["candidate"]["errors"], &now["repaired"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn an_answer_that_crawls_comes_whole_also_when_the_clients_go_back_meanwhile() {
    let place = under_way(100.0, PATIENT);
    let legacy = named("legacy");
    let go_on = super::Switch::default();
    let going = go_on.clone();
    let candidate = Service::misbehaving(move |_, stream| {
        let head = b"HTTP/1.1 200 OK\r\nServer: candidate\r\nContent-Length: 6\r\n\r\nabc";
        let _sent = stream.write_all(head);
        crate::support::wait_for("the rest is wanted", || going.is_on().then_some(()));
        for byte in [b"d", b"e", b"f"] {
            let _sent = stream.write_all(byte);
        }
    });
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    let mut connection = Connection::open(mirror.address);
    connection.send("GET", "/items/1", &[("x-user", "a")], b"");
    crate::support::wait_for("the candidate is asked", || {
        (candidate.seen() == 1).then_some(())
    });
    assert_eq!(super::post(&mirror, "back").status, 200);
    assert_eq!(who(&get_as(&mirror, "a", "/items/2")), "legacy");
    go_on.on();
    let answer = connection.answer("GET").expect("it is whole");
    assert_eq!(
        (answer.text().as_str(), who(&answer).as_str()),
        ("abcdef", "candidate")
    );
    mirror.settled(2);
}
