//! Which requests reach the candidate.

use parity_schemas::verdict::Reason;

use crate::support::{Rig, Service, ok};

#[test]
fn only_safe_methods_reach_the_candidate() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    let unsafe_methods = ["POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"];
    for method in unsafe_methods {
        assert_eq!(client.ask(method, "/").status(), 200);
    }
    assert_eq!(
        mirror.ledger.reasons(unsafe_methods.len()),
        vec![Reason::UnsafeMethod; unsafe_methods.len()]
    );
    for method in ["GET", "OPTIONS"] {
        client.ask(method, "/");
    }
    mirror.ledger.exchanges(2);
    assert_eq!(candidate.seen().len(), 2);
    assert_eq!(legacy.seen().len(), 8);
}

#[test]
fn a_head_request_is_compared_too() {
    let service = Service::saying("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n");
    let mirror = Rig::new(&service, &service).start();
    mirror.client().ask("HEAD", "/");
    let exchange = mirror.ledger.exchange();
    assert!(exchange.legacy.body.is_empty() && exchange.candidate.body.is_empty());
}

#[test]
fn a_route_allows_and_a_route_forbids() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = Rig::new(&legacy, &candidate)
        .route("POST /quotes", Some(true))
        .route("GET /charge/{id}", Some(false))
        .start();
    let mut client = mirror.client();
    client.post("/quotes", "{\"a\":1}");
    let exchange = mirror.ledger.exchange();
    assert_eq!(&*exchange.request.body.contiguous(), b"{\"a\":1}");
    assert_eq!(candidate.requests(1)[0].body, b"{\"a\":1}");
    client.get("/charge/7");
    assert_eq!(mirror.ledger.reasons(2), [Reason::UnsafeMethod]);
    assert_eq!(candidate.seen().len(), 1);
}

#[test]
fn nothing_is_sampled_at_zero_and_a_share_in_between() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = Rig::new(&legacy, &candidate).sample(0.0).start();
    mirror.client().get("/");
    assert_eq!(mirror.ledger.reason(), Reason::SampledOut);

    let mirror = Rig::new(&legacy, &candidate).sample(0.5).start();
    let mut client = mirror.client();
    for _ in 0..200 {
        client.get("/");
    }
    let left_out = mirror.ledger.reasons(200).len();
    assert!((50..150).contains(&left_out), "{left_out} of 200");
}

#[test]
fn shadowing_stops_and_starts_at_run_time() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    assert!(mirror.control.shadowing());
    client.get("/");
    mirror.ledger.reasons(1);
    mirror.control.set_shadowing(false);
    client.get("/");
    assert_eq!(mirror.ledger.reasons(2), [Reason::ShadowingOff]);
    mirror.control.set_shadowing(true);
    client.get("/");
    mirror.ledger.exchanges(2);
    assert_eq!(candidate.seen().len(), 2);
}

#[test]
fn connect_is_refused_and_counted() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy)
        .route("CONNECT /{*any}", Some(true))
        .start();
    let mut client = mirror.client();
    client.send(
        "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\nGET /behind HTTP/1.1\r\nhost: test\r\n\r\n",
    );
    assert_eq!(client.reply().status(), 501);
    assert_eq!(client.rest(), b"", "nothing behind it is a request");
    assert_eq!(mirror.ledger.reason(), Reason::UnsafeMethod);
    assert_eq!(legacy.connections(), 0);
}
