//! Hop-by-hop headers, in both directions.

use crate::support::{Rig, Service, ok};

#[test]
fn every_connection_line_of_a_request_nominates() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    client.send(
        "GET / HTTP/1.1\r\nHost: kept\r\nConnection: X-One, Host\r\nConnection: x-two, X-Forwarded-For\r\n\
         X-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\nX-Forwarded-For: 192.0.2.1\r\nKeep-Alive: timeout=9\r\n\
         Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\nTE: deflate\r\nUpgrade: h2c\r\n\r\n",
    );
    assert_eq!(client.reply().status(), 200);
    for service in [&legacy, &candidate] {
        let request = &service.requests(1)[0];
        for gone in [
            "connection",
            "x-one",
            "x-two",
            "keep-alive",
            "proxy-connection",
            "proxy-authorization",
            "te",
            "upgrade",
        ] {
            assert!(request.header(gone).is_empty(), "{gone}: {}", request.head);
        }
        assert_eq!(request.header("host"), ["kept"]);
        assert_eq!(request.header("x-three"), ["3"]);
        assert_eq!(request.header("x-forwarded-for"), ["127.0.0.1"]);
    }
    // What the client sent is what is recorded.
    let recorded = mirror.ledger.exchange().request.headers;
    assert_eq!(recorded.get_all("connection").count(), 2);
    assert_eq!(recorded.get("x-one").expect("a line"), "1");
}

#[test]
fn every_connection_line_of_an_answer_nominates() {
    let legacy = Service::saying(
        "HTTP/1.1 200 OK\r\nConnection: X-One\r\nConnection: keep-alive, X-Two\r\nX-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\n\
         Keep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nAlt-Svc: h3=\":443\"\r\nContent-Length: 1\r\n\r\na",
    );
    let mirror = Rig::new(&legacy, &legacy).start();
    let reply = mirror.client().get("/");
    let mut names: Vec<_> = reply
        .head
        .lines()
        .skip(1)
        .filter_map(|line| line.split(':').next())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["content-length", "x-three"]);
    let recorded = mirror.ledger.exchange().legacy.headers;
    assert_eq!(
        recorded.get("x-two").expect("a line"),
        "2",
        "what the legacy sent is recorded"
    );
}

#[test]
fn the_chain_of_forwarders_grows_by_one() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: h\r\nx-forwarded-for: 192.0.2.1\r\nx-forwarded-proto: https\r\n\r\n");
    client.reply();
    for request in legacy.requests(2) {
        assert_eq!(request.header("x-forwarded-for"), ["192.0.2.1, 127.0.0.1"]);
        assert_eq!(request.header("x-forwarded-proto"), ["https"]);
    }
}

#[test]
fn a_connection_that_a_side_wants_closed_closes_on_that_side_only() {
    let legacy =
        Service::saying("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\na");
    let candidate = Service::saying(ok("b"));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    for count in 1..=3 {
        assert!(client.get("/").header("connection").is_empty());
        mirror.ledger.reasons(count);
    }
    assert_eq!((legacy.connections(), candidate.connections()), (3, 1));

    client.send("GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    assert_eq!(client.reply().header("connection"), ["close"]);
    assert_eq!(client.rest(), b"");
    assert_eq!(candidate.requests(4)[3].header("connection").len(), 0);
}

#[test]
fn a_length_beside_chunks_never_reaches_a_service() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy).start();
    let mut client = mirror.client();
    client.send(
        "POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
    );
    client.rest();
    for request in legacy.seen() {
        assert_ne!(request.target(), "/smuggled");
        assert!(
            request.header("content-length").is_empty()
                || request.header("transfer-encoding").is_empty()
        );
    }
}

#[test]
fn a_length_beside_chunks_never_reaches_the_client() {
    for length in ["3", "9"] {
        let legacy = Service::saying(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n"
        ));
        let mirror = Rig::new(&legacy, &legacy).start();
        let mut client = mirror.client();
        for _ in 0..2 {
            let reply = client.get("/");
            assert!(reply.header("content-length").is_empty(), "{}", reply.head);
            assert_eq!(reply.text(), "abcd");
        }
    }
}

#[test]
fn a_coding_that_would_be_lost_is_refused() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy).start();
    for coding in [
        "gzip, chunked",
        "chunked, chunked",
        "identity, chunked",
        "chunked\r\ntransfer-encoding: chunked",
    ] {
        let mut client = mirror.client();
        client.send(format!(
            "POST /coded HTTP/1.1\r\nhost: test\r\ntransfer-encoding: {coding}\r\n\r\n1\r\nx\r\n0\r\n\r\n\
             GET /behind HTTP/1.1\r\nhost: test\r\n\r\n"
        ));
        let reply = client.reply();
        assert_eq!(reply.status(), 501, "{coding}");
        assert_eq!(reply.header("connection"), ["close"]);
        assert_eq!(client.rest(), b"", "{coding}");
    }
    let mut client = mirror.client();
    client.send("POST /plain HTTP/1.1\r\nhost: test\r\ntransfer-encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
    assert_eq!(client.reply().status(), 200);
    let targets: Vec<_> = legacy
        .seen()
        .iter()
        .map(|one| one.target().to_owned())
        .collect();
    assert_eq!(targets, ["/plain"]);
}

#[test]
fn what_ends_here_ends_here_in_trailers_too() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = Rig::new(&legacy, &candidate)
        .route("POST /", Some(true))
        .start();
    let mut client = mirror.client();
    client.send(
        "POST / HTTP/1.1\r\nhost: test\r\ntrailer: x-sum, x-one, connection, keep-alive\r\n\
         transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\
         x-sum: 1\r\nx-one: 2\r\nconnection: x-one\r\nkeep-alive: timeout=5\r\n\r\n",
    );
    assert_eq!(client.reply().status(), 200);
    for service in [&legacy, &candidate] {
        assert_eq!(service.requests(1)[0].trailers, "x-sum: 1");
    }
}
