//! The client gets the legacy's answer unchanged: status, headers, bytes, framing.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use parity_schemas::exchange::Omitted;

use crate::support::{Client, Next, Rig, Running, Service, ok};

fn between(legacy: &Service) -> Running {
    Rig::new(legacy, &Service::saying(ok("candidate"))).start()
}

#[test]
fn a_get_is_answered_by_the_legacy_and_captured_on_both_sides() {
    let legacy = Service::saying(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Odd: a,b\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\ncontent-length: 7\r\n\r\n{\"a\":1}",
    );
    let candidate = Service::saying(ok("{\"a\":2}"));
    let mirror = Rig::new(&legacy, &candidate).start();
    let reply = mirror.client().get("/users/7?page=2&q=%20");
    assert_eq!(reply.status(), 200);
    assert_eq!(reply.text(), "{\"a\":1}");
    assert_eq!(
        reply.head.to_ascii_lowercase(),
        "http/1.1 200 ok\r\ncontent-type: application/json\r\nx-odd: a,b\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 7"
    );

    let exchange = mirror.ledger.exchange();
    assert_eq!(exchange.route.label(), "GET /users/{id}");
    assert_eq!(&*exchange.request.target, "/users/7?page=2&q=%20");
    assert_eq!(
        exchange.request.headers.get("host").expect("a line"),
        "test"
    );
    assert_eq!(exchange.legacy.status, 200);
    assert_eq!(&*exchange.legacy.body.contiguous(), b"{\"a\":1}");
    assert_eq!(&*exchange.candidate.body.contiguous(), b"{\"a\":2}");
    assert_eq!(exchange.legacy.headers.get_all("set-cookie").count(), 2);
    let held = 14 + exchange.heads_held();
    assert_eq!(mirror.control.shadow_bytes_held(), held);
    drop(exchange);
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
    assert_eq!(
        mirror.ledger.answered(),
        [("GET /users/{id}".to_owned(), 200)]
    );

    for (service, marks) in [(&legacy, 0), (&candidate, 1)] {
        let request = &service.requests(1)[0];
        assert_eq!(request.target(), "/users/7?page=2&q=%20");
        assert_eq!(request.header("host"), ["test"]);
        assert_eq!(request.header("x-forwarded-for"), ["127.0.0.1"]);
        assert_eq!(request.header("x-parity-shadow").len(), marks);
        assert!(request.header("via").is_empty());
    }
}

#[test]
fn connections_are_used_again_on_all_three_sides() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("b")));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    for count in 1..=20 {
        assert_eq!(client.get("/").text(), "a");
        mirror.ledger.reasons(count);
    }
    assert_eq!((legacy.connections(), candidate.connections()), (1, 1));
}

#[test]
fn chunked_and_bodiless_answers_leave_the_connection_usable() {
    let legacy = Service::new(|request, conn| {
        conn.say(match request.target() {
            "/chunked" => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            "/none" => "HTTP/1.1 204 No Content\r\n\r\n",
            "/empty" => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            _ => "HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n",
        });
        Next::Keep
    });
    let mirror = between(&legacy);
    let mut client = mirror.client();
    for _ in 0..3 {
        assert_eq!(client.get("/chunked").text(), "abcde");
        assert_eq!(client.get("/none").status(), 204);
        assert_eq!(client.get("/empty").header("content-length"), ["0"]);
        assert_eq!(client.get("/same").status(), 304);
    }
    assert_eq!(legacy.connections(), 1);
}

#[test]
fn the_framing_of_answers_without_a_body_is_kept() {
    for (method, answer, expected) in [
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\ncontent-length: 1234\r\netag: \"x\"\r\n\r\n",
            "http/1.1 200 ok\r\ncontent-length: 1234\r\netag: \"x\"",
        ),
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "http/1.1 200 ok",
        ),
        (
            "GET",
            "HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n",
            "http/1.1 204 no content\r\nx-a: 1",
        ),
        (
            "GET",
            "HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n",
            "http/1.1 304 not modified\r\netag: \"x\"",
        ),
        (
            "GET",
            "HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n",
            "http/1.1 304 not modified\r\ncontent-length: 99",
        ),
        (
            "HEAD",
            "HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n",
            "http/1.1 304 not modified\r\ncontent-length: 99",
        ),
    ] {
        let legacy = Service::saying(answer);
        let mirror = between(&legacy);
        let mut client = mirror.client();
        for _ in 0..2 {
            let reply = client.ask(method, "/");
            assert_eq!(reply.head.to_ascii_lowercase(), expected, "{method}");
        }
        assert_eq!(legacy.connections(), 1, "{method} {expected}");
    }
}

#[test]
fn redirects_errors_and_odd_statuses_are_passed_on() {
    for answer in [
        "HTTP/1.1 302 Found\r\nlocation: http://elsewhere/\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 404 Not Here\r\ncontent-length: 2\r\n\r\nno",
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 299 Odd\r\ncontent-length: 0\r\n\r\n",
    ] {
        let reply = between(&Service::saying(answer)).client().get("/");
        let head = answer.split("\r\n\r\n").next().expect("a head");
        assert_eq!(reply.head, head);
    }
}

#[test]
fn compressed_bytes_are_not_touched() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&[b'x'; 10_000]).expect("memory");
    let body = encoder.finish().expect("memory");
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(&body);
    let mirror = between(&Service::saying(answer));
    let reply = mirror.client().get("/");
    assert_eq!(reply.header("content-encoding"), ["gzip"]);
    assert_eq!(reply.body, body);
    assert_eq!(*mirror.ledger.exchange().legacy.body.contiguous(), body);
}

#[test]
fn an_answer_streams_before_its_end_is_known() {
    // The legacy sends the second half only after the client has told that it read the first.
    let (told, read) = std::sync::mpsc::channel::<()>();
    let read = std::sync::Mutex::new(read);
    let legacy = Service::new(move |_, conn| {
        conn.say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfirst");
        read.lock().expect("no panic").recv().expect("told");
        conn.say("after");
        Next::Keep
    });
    let mirror = between(&legacy);
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    assert!(client.head().expect("a head").contains("200 OK"));
    client.read_until(b"first");
    told.send(()).expect("the legacy waits");
    client.read_until(b"firstafter");
}

#[test]
fn a_body_far_above_every_buffer_arrives_whole() {
    const CHUNK: usize = 64 * 1024;
    const CHUNKS: usize = 512;
    let legacy = Service::new(|_, conn| {
        let length = CHUNK * CHUNKS;
        conn.say(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n"
        ));
        for index in 0..CHUNKS {
            conn.say(vec![index as u8; CHUNK]);
        }
        Next::Keep
    });
    let mirror = between(&legacy);
    let reply = mirror.client().get("/");
    assert_eq!(reply.body.len(), CHUNK * CHUNKS);
    for (index, chunk) in reply.body.chunks(CHUNK).enumerate() {
        assert!(
            chunk.iter().all(|byte| *byte == index as u8),
            "chunk {index}"
        );
    }
    let at_least = (CHUNK * CHUNKS) as u64;
    assert_eq!(
        mirror.ledger.exchange().legacy.body.omission(),
        Some(Omitted::TooLarge { at_least })
    );
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
}

#[test]
fn an_answer_that_ends_with_its_connection_is_whole() {
    let legacy = Service::saying_then("HTTP/1.0 200 OK\r\nx-a: 1\r\n\r\nto the end", || {
        Next::Close
    });
    let mirror = between(&legacy);
    let mut client = mirror.client();
    assert_eq!(client.get("/").text(), "to the end");
    assert_eq!(client.get("/").text(), "to the end");
    mirror.ledger.exchanges(2);
}

#[test]
fn a_client_of_http_1_0_is_served_and_gets_a_host() {
    let legacy = Service::saying(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    );
    let mirror = between(&legacy);
    let mut client = mirror.client();
    client.send("GET / HTTP/1.0\r\n\r\n");
    let whole = String::from_utf8(client.rest()).expect("text");
    assert!(whole.starts_with("HTTP/1.0 200 OK\r\n"), "{whole}");
    assert!(whole.ends_with("\r\n\r\nabc"), "{whole}");
    let request = &legacy.requests(1)[0];
    assert_eq!(request.header("host"), [legacy.address().to_string()]);
}

#[test]
fn trailers_reach_the_client_and_the_capture() {
    let legacy = Service::saying(
        "HTTP/1.1 200 OK\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 42\r\n\r\n",
    );
    let mirror = Rig::new(&legacy, &legacy).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\nte: trailers\r\nconnection: te\r\n\r\n");
    client.read_until(b"\r\nx-sum: 42\r\n\r\n");
    let exchange = mirror.ledger.exchange();
    let trailers = [&exchange.legacy, &exchange.candidate].map(|capture| {
        let trailers = capture.trailers.as_ref().expect("trailers");
        trailers.get("x-sum").expect("a line")
    });
    assert_eq!(trailers, ["42", "42"]);
    for request in legacy.requests(2) {
        assert_eq!(request.header("te"), ["trailers"]);
    }
}

#[test]
fn the_targets_authority_is_the_host_and_never_chooses_the_upstream() {
    let legacy = Service::saying(ok("legacy"));
    let mirror = between(&legacy);
    let mut client = mirror.client();
    client.send("GET http://asked.example/a?b HTTP/1.1\r\nhost: Asked.example:80\r\n\r\n");
    assert_eq!(client.reply().text(), "legacy");
    let request = &legacy.requests(1)[0];
    assert_eq!(request.target(), "/a?b");
    assert_eq!(request.header("host"), ["asked.example"]);
    client.send("OPTIONS * HTTP/1.1\r\nhost: test\r\n\r\n");
    client.reply();
    assert_eq!(legacy.requests(2)[1].target(), "*");
}

#[test]
fn a_request_for_two_places_or_none_goes_nowhere() {
    let legacy = Service::saying(ok("legacy"));
    let mirror = between(&legacy);
    for head in [
        "GET http://one.example/ HTTP/1.1\r\nhost: two.example\r\n",
        "GET / HTTP/1.1\r\nhost: one.example\r\nhost: two.example\r\n",
        "GET / HTTP/1.1\r\nhost: one.example, two.example\r\n",
        "GET / HTTP/1.1\r\n",
    ] {
        let mut client = mirror.client();
        client.send(format!("{head}\r\n"));
        let reply = client.reply();
        assert_eq!(reply.status(), 400, "{head}");
        assert!(reply.text().starts_with("parity: "), "{head}");
    }
    assert_eq!(mirror.ledger.balance().0, 0);
    assert_eq!(legacy.connections(), 0);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let legacy = Service::new(|request, conn| {
        conn.say(ok(request.target()));
        Next::Keep
    });
    let mirror = between(&legacy);
    let mut client = mirror.client();
    let requests: Vec<_> = (0..10)
        .map(|index| format!("GET /{index} HTTP/1.1\r\nhost: test\r\n\r\n"))
        .collect();
    client.send(requests.concat());
    for index in 0..10 {
        assert_eq!(client.reply().text(), format!("/{index}"));
    }
    mirror.ledger.exchanges(10);
}

#[test]
fn what_is_not_http_is_refused_before_it_counts() {
    let legacy = Service::saying(ok("legacy"));
    let mirror = between(&legacy);
    for (bytes, status) in [
        ("\x16\x03\x01 this is TLS\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nbad field\r\n\r\n".to_owned(), 400),
        (
            format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(70_000)),
            431,
        ),
        (
            format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(101)),
            431,
        ),
    ] {
        let mut client = Client::connect(mirror.address);
        client.try_send(bytes);
        if let Some(reply) = client.try_reply("GET") {
            assert_eq!(reply.status(), status);
        }
    }
    assert_eq!(mirror.client().get("/").text(), "legacy");
    assert_eq!(mirror.ledger.reasons(1), []);
    assert_eq!(legacy.seen().len(), 1);
}
