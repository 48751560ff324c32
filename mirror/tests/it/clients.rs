//! The client's outcome is counted for every request, whatever the result of the comparison.

use std::time::Duration;

use parity_mirror::Mode;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;

use crate::support::h2_client::H2Client;
use crate::support::{Next, Rig, Running, Service, ok};

const GET: &str = "GET / HTTP/1.1\r\nhost: test\r\n\r\n";
const UPGRADE: &str = "GET / HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";

fn before(legacy: &Service) -> Running {
    Rig::new(legacy, &Service::saying(ok("candidate"))).start()
}

#[test]
fn a_legacy_outage_is_told_while_the_breaker_is_open() {
    const REQUESTS: usize = 20;
    let legacy = Service::new(|request, conn| match request.target() {
        "/up" => {
            conn.say(ok("a"));
            Next::Keep
        }
        _ => Next::Close,
    });
    let mirror = Rig::new(&legacy, &Service::refusing())
        .limits(|limits| {
            limits.breaker_failures = 1;
            limits.breaker_pause = Duration::from_mins(1);
        })
        .start();
    let mut client = mirror.client();
    assert_eq!(client.get("/up").status(), 200);
    assert_eq!(mirror.ledger.reason(), Reason::CandidateRefused);
    for _ in 0..REQUESTS {
        assert_eq!(client.get("/down").status(), 502);
    }
    let reasons = mirror.ledger.reasons(1 + REQUESTS);
    assert_eq!(reasons[1..], [Reason::BreakerOpen; REQUESTS]);
    let clients = mirror.ledger.clients(1 + REQUESTS);
    assert_eq!(clients[1..], [ClientOutcome::LegacyUnreachable; REQUESTS]);
}

#[test]
fn a_legacy_outage_is_told_of_requests_that_are_never_shadowed() {
    let mirror = before(&Service::refusing());
    assert_eq!(mirror.client().post("/", "x").status(), 502);
    mirror.control.set_shadowing(false);
    assert_eq!(mirror.client().get("/").status(), 502);
    let mut client = mirror.client();
    client.send(UPGRADE);
    assert_eq!(client.reply().status(), 502);
    let sampled = Rig::new(&Service::refusing(), &Service::refusing())
        .sample(0.0)
        .start();
    assert_eq!(sampled.client().get("/").status(), 502);
    assert_eq!(
        mirror.ledger.reasons(3),
        [
            Reason::UnsafeMethod,
            Reason::ShadowingOff,
            Reason::ShadowingOff
        ]
    );
    assert_eq!(
        mirror.ledger.clients(3),
        [ClientOutcome::LegacyUnreachable; 3]
    );
    assert_eq!(sampled.ledger.reason(), Reason::SampledOut);
    assert_eq!(sampled.ledger.client(), ClientOutcome::LegacyUnreachable);
}

#[test]
fn whole_answers_are_told_by_the_class_of_their_status() {
    for (status, expected) in [
        ("200 OK", ClientOutcome::Success),
        ("302 Found", ClientOutcome::Redirection),
        ("304 Not Modified", ClientOutcome::Redirection),
        ("404 Not Found", ClientOutcome::ClientError),
        ("503 Service Unavailable", ClientOutcome::ServerError),
        ("799 Odd", ClientOutcome::OtherStatus),
    ] {
        let body = if status.starts_with("304") { "" } else { "no" };
        let length = body.len();
        let legacy = Service::saying(format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
        let mirror = before(&legacy);
        mirror.client().get("/");
        assert_eq!(mirror.ledger.client(), expected, "{status}");
        let http2 = before(&legacy);
        H2Client::connect(http2.address).get("/");
        assert_eq!(http2.ledger.client(), expected, "{status} by HTTP/2");
        let head = before(&legacy);
        let told = head.client().ask("HEAD", "/").status().to_string();
        assert!(status.starts_with(&told), "{told}");
        assert_eq!(head.ledger.client(), expected, "{status} to HEAD");
    }
    let chunked = Service::saying(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    );
    let mirror = before(&chunked);
    assert_eq!(mirror.client().get("/").status(), 200);
    assert_eq!(mirror.ledger.client(), ClientOutcome::Success);
}

#[test]
fn an_answer_that_breaks_off_is_told_also_where_nothing_is_compared() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome";
    for (request, reason) in [
        (GET, Reason::LegacyTruncated),
        (
            "DELETE / HTTP/1.1\r\nhost: test\r\n\r\n",
            Reason::UnsafeMethod,
        ),
        (UPGRADE, Reason::Upgrade),
    ] {
        let mirror = before(&Service::saying_then(cut, || Next::Close));
        let mut client = mirror.client();
        client.send(request);
        client.rest();
        assert_eq!(mirror.ledger.reason(), reason);
        assert_eq!(
            mirror.ledger.client(),
            ClientOutcome::LegacyTruncated,
            "{reason}"
        );
    }
}

#[test]
fn a_client_that_goes_away_is_told_at_each_phase() {
    let hung = || Service::new(|_, _| Next::Hang);
    let endless = || {
        Service::new(|_, conn| {
            conn.say("HTTP/1.1 200 OK\r\n\r\n");
            while conn.say([b'x'; 4096]) {}
            Next::Close
        })
    };
    let stream = || {
        Service::new(|_, conn| {
            conn.say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
            while conn.say("data: xxxx\n\n") {}
            Next::Close
        })
    };
    let upload = "POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 100\r\n\r\nsome";
    for (legacy, request, begins) in [
        (hung(), GET, false),
        (hung(), "DELETE / HTTP/1.1\r\nhost: test\r\n\r\n", false),
        (Service::saying(ok("a")), upload, false),
        (endless(), GET, true),
        (stream(), GET, true),
    ] {
        let mirror = before(&legacy);
        let mut client = mirror.client();
        client.send(request);
        mirror.ledger.wait_received(1);
        if begins {
            client.read_until(b"xxxx");
        }
        client.reset();
        assert_eq!(
            mirror.ledger.client(),
            ClientOutcome::ClientAborted,
            "{request}"
        );
    }
}

#[test]
fn what_we_refuse_and_what_a_proxy_copies_to_us_are_outcomes_of_their_own() {
    let service = Service::saying(ok("a"));
    let mirror = before(&service);
    let mut client = mirror.client();
    client.send("CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n");
    assert_eq!(client.reply().status(), 501);
    let mut client = mirror.client();
    client.send(UPGRADE.replace("\r\n\r\n", "\r\ncontent-length: 1\r\n\r\nx"));
    assert_eq!(client.reply().status(), 400);
    assert_eq!(mirror.ledger.clients(2), [ClientOutcome::Refused; 2]);

    let tap = Rig::new(&Service::refusing(), &service)
        .policy(|policy| policy.mode = Mode::Tap)
        .start();
    let mut proxy = tap.client();
    assert_eq!(proxy.get("/").status(), 204);
    assert_eq!(proxy.post("/", "x").status(), 204);
    assert_eq!(tap.ledger.clients(2), [ClientOutcome::Tapped; 2]);
}

#[test]
fn a_switch_of_protocols_and_the_end_of_the_drain_are_outcomes_too() {
    let legacy = Service::new(|request, conn| {
        if request.header("upgrade").is_empty() {
            return Next::Hang;
        }
        conn.say("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
        conn.wait_for_close();
        Next::Close
    });
    let mut mirror = Rig::new(&legacy, &Service::saying(ok("a")))
        .limits(|limits| limits.drain = Duration::from_millis(100))
        .start();
    let mut tunnel = mirror.client();
    tunnel.send(UPGRADE);
    assert!(tunnel.head().expect("a head").starts_with("HTTP/1.1 101"));
    assert_eq!(mirror.ledger.client(), ClientOutcome::Informational);
    let mut client = mirror.client();
    client.send(GET);
    legacy.requests(2);
    mirror.stop();
    assert_eq!(
        mirror.ledger.clients(2),
        [ClientOutcome::Informational, ClientOutcome::Shutdown]
    );
}
