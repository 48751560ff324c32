//! HTTP/2 on each of the three sides, alone and against HTTP/1.1 on the others.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Request, Response};
use parity_mirror::{Protocol, Target};
use parity_schemas::verdict::Reason;

use crate::support::h2::{Act, H2Service};
use crate::support::h2_client::H2Client;
use crate::support::{Next, Rig, Running, Service, ok};

fn answer(body: &'static [u8]) -> Act {
    let head = Response::builder().header("content-type", "text/plain");
    Act::Answer(head.body(()).expect("a head"), vec![body], None)
}

/// A service that speaks HTTP/2 by prior knowledge.
pub(crate) fn target(service: &H2Service) -> Target {
    let mut target = Target::new(service.url().parse().expect("a URL"));
    target.protocol = Protocol::Http2;
    target
}

/// A mirror between two services that speak HTTP/2 by prior knowledge.
pub(crate) fn between(legacy: &H2Service, candidate: &H2Service) -> Rig {
    let nobody = Service::refusing();
    let (legacy, candidate) = (target(legacy), target(candidate));
    Rig::new(&nobody, &nobody).policy(|policy| {
        policy.legacy = legacy;
        policy.candidate = candidate;
    })
}

pub(crate) fn client(mirror: &Running) -> H2Client {
    H2Client::connect(mirror.address)
}

#[test]
fn a_client_of_http2_before_services_of_http1() {
    let legacy = Service::saying(ok("legacy"));
    let candidate = Service::saying(ok("candidate"));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = client(&mirror);
    let request = Request::get("http://shop.example:81/a?b")
        .header("cookie", "one=1")
        .header("cookie", "two=2")
        .header("te", "trailers")
        .body(())
        .expect("a request");
    let reply = client.ask(request, b"", None).expect("an answer");
    assert_eq!(
        (reply.head.status.as_u16(), &*reply.body),
        (200, &b"legacy"[..])
    );
    let exchange = mirror.ledger.exchange();
    assert_eq!(&*exchange.candidate.body.contiguous(), b"candidate");
    for service in [&legacy, &candidate] {
        let request = &service.requests(1)[0];
        assert_eq!(request.target(), "/a?b");
        assert_eq!(request.header("host"), ["shop.example:81"]);
        assert_eq!(request.header("cookie"), ["one=1; two=2"]);
        assert_eq!(request.header("te"), ["trailers"]);
        assert_eq!(request.header("connection"), ["te"]);
    }
}

#[test]
fn many_requests_of_one_client_at_once() {
    let legacy = Service::new(|request, conn| {
        conn.say(ok(request.target()));
        Next::Keep
    });
    let mirror = Rig::new(&legacy, &legacy).start();
    let requests = (0..300).map(|number| {
        Request::get(format!("http://test/{number}"))
            .body(())
            .expect("a request")
    });
    let replies = client(&mirror).ask_all(requests);
    for (reply, number) in replies.into_iter().zip(0..) {
        let reply = reply.expect("an answer");
        assert_eq!(reply.body, format!("/{number}").into_bytes());
    }
    mirror.ledger.exchanges(300);
}

#[test]
fn bodies_and_trailers_both_ways_over_http2_alone() {
    let with_trailers = |seen: &crate::support::h2::Seen| {
        let mut trailers = HeaderMap::new();
        let length = seen.body.len().to_string();
        trailers.insert("x-length", HeaderValue::from_str(&length).expect("digits"));
        Act::Answer(Response::new(()), vec![b"one", b"two"], Some(trailers))
    };
    let (legacy, candidate) = (H2Service::new(with_trailers), H2Service::new(with_trailers));
    let mirror = between(&legacy, &candidate)
        .route("POST /quotes", Some(true))
        .start();
    let request = Request::post("http://test/quotes")
        .body(())
        .expect("a request");
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("7"));
    let body: &'static [u8] = Box::leak(vec![b'x'; 300_000].into_boxed_slice());
    let reply = client(&mirror)
        .ask(request, body, Some(trailers.clone()))
        .expect("an answer");
    assert_eq!(reply.body, b"onetwo");
    assert_eq!(reply.trailers.expect("trailers")["x-length"], "300000");
    let exchange = mirror.ledger.exchange();
    for capture in [&exchange.legacy, &exchange.candidate] {
        assert_eq!(
            capture
                .trailers
                .as_ref()
                .expect("kept")
                .get("x-length")
                .expect("a line"),
            "300000"
        );
    }
    for (service, mark) in [(&legacy, None), (&candidate, Some("1"))] {
        let seen = service.seen().remove(0);
        assert_eq!(seen.body, body);
        assert_eq!(seen.trailers, Some(trailers.clone()));
        let shadow = seen.head.headers.get("x-parity-shadow");
        assert_eq!(shadow.and_then(|value| value.to_str().ok()), mark);
        assert_eq!(seen.head.uri.authority().expect("one").as_str(), "test");
    }
}

#[test]
fn a_client_of_http1_before_services_of_http2_sees_the_same_framing() {
    let legacy = H2Service::new(|seen| match seen.head.uri.path() {
        "/none" => Act::Answer(
            Response::builder().status(204).body(()).expect("a head"),
            Vec::new(),
            None,
        ),
        "/same" => Act::Answer(
            Response::builder()
                .status(304)
                .header("content-length", "10")
                .body(())
                .expect("a head"),
            Vec::new(),
            None,
        ),
        _ if seen.head.method == "HEAD" => Act::Answer(
            Response::builder()
                .header("content-length", "10")
                .body(())
                .expect("a head"),
            Vec::new(),
            None,
        ),
        _ => answer(b"0123456789"),
    });
    let mirror = between(&legacy, &legacy).start();
    let mut client = mirror.client();
    let reply = client.get("/none");
    assert_eq!(
        (reply.status(), reply.header("content-length").len()),
        (204, 0)
    );
    let reply = client.get("/same");
    assert_eq!(
        (reply.status(), reply.header("content-length")),
        (304, vec!["10"])
    );
    let reply = client.ask("HEAD", "/");
    assert_eq!(
        (reply.status(), reply.header("content-length")),
        (200, vec!["10"])
    );
    let reply = client.get("/");
    assert_eq!((reply.status(), reply.text()), (200, "0123456789"));
    mirror.ledger.exchanges(4);
    assert_eq!(legacy.connections(), 2, "one for each side, shared");
}

#[test]
fn a_stream_that_the_client_gives_up_costs_only_itself() {
    let legacy = H2Service::new(|seen| match seen.head.uri.path() {
        "/endless" => Act::Break(Response::new(()), b"some", h2::Reason::NO_ERROR),
        "/hang" => Act::Hang,
        _ => answer(b"all"),
    });
    let quick = H2Service::new(|_| answer(b"all"));
    let mirror = between(&legacy, &quick).start();
    let mut client = client(&mirror);
    client.abandon("/endless");
    assert_eq!(client.get("/").body, b"all");
    mirror.ledger.wait_received(2);
    mirror.ledger.exchange();
}

#[test]
fn a_candidate_that_breaks_http2_costs_the_client_nothing() {
    type Script = fn() -> Act;
    let cases: [(Script, Reason); 6] = [
        (
            || Act::Reset(h2::Reason::INTERNAL_ERROR),
            Reason::CandidateReset,
        ),
        (
            || Act::Reset(h2::Reason::REFUSED_STREAM),
            Reason::CandidateReset,
        ),
        (
            || Act::Reset(h2::Reason::PROTOCOL_ERROR),
            Reason::CandidateProtocol,
        ),
        (|| Act::GoAway, Reason::CandidateReset),
        (
            || Act::Break(Response::new(()), b"some", h2::Reason::CANCEL),
            Reason::CandidateTruncated,
        ),
        (|| Act::Hang, Reason::CandidateTimeout),
    ];
    for (script, expected) in cases {
        let legacy = H2Service::new(|_| answer(b"legacy"));
        let candidate = H2Service::new(move |_| script());
        let mirror = between(&legacy, &candidate)
            .limits(|limits| limits.candidate_deadline = Duration::from_millis(300))
            .start();
        let mut client = client(&mirror);
        for number in 0..3 {
            assert_eq!(client.get(&format!("/{number}")).body, b"legacy");
        }
        assert_eq!(mirror.ledger.reasons(3), [expected; 3]);
    }
}

#[test]
fn a_candidate_that_does_not_speak_http2_is_a_protocol_error() {
    let legacy = Service::saying(ok("legacy"));
    let candidate = Service::raw(|mut conn| {
        conn.say("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        conn.wait_for_close();
    });
    let mirror = Rig::new(&legacy, &candidate)
        .policy(|policy| policy.candidate.protocol = Protocol::Http2)
        .start();
    assert_eq!(mirror.client().get("/").text(), "legacy");
    let reason = mirror.ledger.reason();
    assert!(
        matches!(reason, Reason::CandidateProtocol | Reason::CandidateReset),
        "{reason}"
    );
}

#[test]
fn a_connection_that_the_legacy_gives_up_is_replaced_without_the_client_seeing_it() {
    let left = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = Arc::clone(&left);
    let legacy = H2Service::new(move |_| {
        // The second request meets a connection that is just being given up.
        if counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            Act::GoAway
        } else {
            answer(b"all")
        }
    });
    let candidate = H2Service::new(|_| answer(b"all"));
    let mirror = between(&legacy, &candidate).start();
    let mut client = client(&mirror);
    for number in 0..4 {
        assert_eq!(client.get(&format!("/{number}")).body, b"all");
    }
    mirror.ledger.exchanges(4);
    assert_eq!(legacy.connections(), 2);
}

#[test]
fn rapid_resets_end_the_connection_and_nobody_elses() {
    let legacy = Service::saying(ok("legacy"));
    let mirror = Rig::new(&legacy, &legacy).start();
    let mut flood = client(&mirror);
    let sent = flood.reset_rapidly(100_000);
    assert!(sent < 100_000, "{sent} resets were taken");
    flood.wait_for_end().expect_err("ended for its calm");
    assert_eq!(client(&mirror).get("/").body, b"legacy");
    assert_eq!(mirror.client().get("/").text(), "legacy");
}

#[test]
fn the_drain_finishes_streams_and_takes_no_more() {
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let legacy = Service::new(move |_, conn| {
        gone.lock().expect("no panic").recv().expect("told");
        conn.say(ok("late"));
        Next::Keep
    });
    let candidate = Service::saying(ok("late"));
    let mut mirror = Rig::new(&legacy, &candidate).start();
    let address = mirror.address;
    let asking = std::thread::spawn(move || {
        let mut client = H2Client::connect(address);
        let body = client.get("/").body;
        (body, client.wait_for_end())
    });
    mirror.ledger.wait_received(1);
    mirror.signal();
    go.send(()).expect("the service waits");
    let (body, ended) = asking.join().expect("no panic");
    assert_eq!(body, b"late");
    ended.expect("closed with grace");
    assert_eq!(mirror.stop().cut, 0);
}

#[test]
fn a_burst_opens_as_many_connections_as_it_needs_streams_for() {
    let legacy = H2Service::new(|_| answer(b"all"));
    let candidate = Service::saying(ok("all"));
    let mirror = Rig::new(&candidate, &candidate)
        .policy(|policy| policy.legacy = target(&legacy))
        .start();
    let address = mirror.address;
    let clients: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let requests = (0..100).map(|number| {
                    Request::get(format!("http://test/{number}"))
                        .body(())
                        .expect("a request")
                });
                for reply in H2Client::connect(address).ask_all(requests) {
                    assert_eq!(reply.expect("an answer").body, b"all");
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("no wrong answer");
    }
    assert!(legacy.connections() <= 8, "{}", legacy.connections());
}
