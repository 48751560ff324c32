//! Requests that another proxy mirrors to us.

use std::time::Duration;

use parity_mirror::Mode;
use parity_schemas::verdict::Reason;

use crate::support::{Next, Rig, Service, ok};

fn tap(legacy: &Service, candidate: &Service) -> Rig {
    Rig::new(legacy, candidate)
        .policy(|policy| policy.mode = Mode::Tap)
        .route("POST /quotes", Some(true))
}

#[test]
fn both_services_are_asked_and_the_answer_is_204() {
    let (legacy, candidate) = (Service::saying(ok("old")), Service::saying(ok("new")));
    let mirror = tap(&legacy, &candidate).start();
    let mut client = mirror.client();
    client.send("GET /a HTTP/1.1\r\nhost: shop-shadow:81\r\n\r\n");
    let reply = client.reply();
    assert_eq!((reply.status(), &*reply.body), (204, &b""[..]));
    assert_eq!(client.post("/quotes", "body").status(), 204);
    let exchanges = mirror.ledger.exchanges(2);
    for exchange in &exchanges {
        assert_eq!(&*exchange.legacy.body.contiguous(), b"old");
        assert_eq!(&*exchange.candidate.body.contiguous(), b"new");
    }
    for service in [&legacy, &candidate] {
        let requests = service.requests(2);
        let get = requests.iter().find(|request| request.target() == "/a");
        let get = get.expect("it was sent");
        assert_eq!(get.header("host"), ["shop:81"]);
        assert_eq!(get.header("x-parity-shadow"), ["1"]);
        let post = requests
            .iter()
            .find(|request| request.target() == "/quotes");
        assert_eq!(post.expect("it was sent").body, b"body");
    }
}

#[test]
fn what_is_not_safe_to_repeat_goes_to_neither() {
    let (legacy, candidate) = (Service::saying(ok("old")), Service::saying(ok("new")));
    let mirror = tap(&legacy, &candidate).start();
    let mut client = mirror.client();
    assert_eq!(client.post("/charge", "body").status(), 204);
    // The connection goes on behind a body that nobody wanted.
    assert_eq!(client.get("/").status(), 204);
    assert_eq!(mirror.ledger.reasons(2), [Reason::UnsafeMethod]);
    assert_eq!((legacy.seen().len(), candidate.seen().len()), (1, 1));
}

#[test]
fn a_legacy_that_fails_is_told_apart_and_costs_the_proxy_nothing() {
    for (next, expected) in [
        (Service::refusing(), Reason::LegacyUnreachable),
        (
            Service::saying_then("", || Next::Reset),
            Reason::LegacyUnreachable,
        ),
        (
            Service::saying_then("", || Next::Hang),
            Reason::LegacyTimeout,
        ),
        (
            Service::saying_then("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", || {
                Next::Close
            }),
            Reason::LegacyTruncated,
        ),
    ] {
        let candidate = Service::saying(ok("new"));
        let mirror = tap(&next, &candidate)
            .limits(|limits| limits.candidate_deadline = Duration::from_millis(200))
            .start();
        assert_eq!(mirror.client().get("/").status(), 204);
        assert_eq!(mirror.ledger.reason(), expected);
    }
}

#[test]
fn a_body_over_the_limit_is_read_and_let_go() {
    let service = Service::saying(ok("old"));
    let mirror = tap(&service, &service)
        .limits(|limits| limits.body = 10)
        .start();
    let mut client = mirror.client();
    assert_eq!(client.post("/quotes", "12345678901").status(), 204);
    client.send("POST /quotes HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n");
    client.send("8\r\n12345678\r\n8\r\n12345678\r\n0\r\n\r\n");
    assert_eq!(client.reply().status(), 204);
    assert_eq!(mirror.ledger.reasons(2), [Reason::RequestTooLarge; 2]);
    // Neither service gets a part of it, nor a request without its body.
    assert_eq!(client.post("/quotes", "12345").status(), 204);
    let bodies: Vec<_> = service
        .requests(2)
        .into_iter()
        .map(|one| one.body)
        .collect();
    assert_eq!(bodies, [b"12345"; 2]);
}
