//! Repeated or invalid `Content-Length` headers, and answers with a length but no body.

use http::{HeaderMap, HeaderValue, Request, Response};
use parity_mirror::{Protocol, Target};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;

use crate::support::h2::{Act, H2Service};
use crate::support::h2_client::{H2Client, H2Reply};
use crate::support::{Next, Rig, Running, Service, ok};

/// The method and the first line of an answer that has no body.
const BODILESS: [(&str, &str); 3] = [
    ("HEAD", "200 OK"),
    ("GET", "304 Not Modified"),
    ("GET", "204 No Content"),
];
const REPEATED: [&str; 3] = [
    "content-length: 3\r\ncontent-length: 3\r\n",
    "content-length: 3, 3\r\n",
    "content-length: 3 ,3\r\nx-a: b\r\ncontent-length: 3\r\n",
];
const UNUSABLE: [&str; 7] = [
    "content-length: 3\r\ncontent-length: 4\r\n",
    "content-length: 3, 4\r\n",
    "content-length: x\r\n",
    "content-length: +3\r\n",
    "content-length: \r\n",
    "content-length: 3,\r\n",
    "content-length: 99999999999999999999\r\n",
];

fn saying(status: &str, fields: &str, body: &str) -> Service {
    Service::saying(format!("HTTP/1.1 {status}\r\n{fields}\r\n{body}"))
}

fn by_http2(mirror: &Running, method: &str) -> H2Reply {
    let request = Request::builder().method(method).uri("http://test/");
    H2Client::connect(mirror.address)
        .ask(request.body(()).expect("a request"), b"", None)
        .expect("an answer")
}

fn lengths(headers: &HeaderMap) -> Vec<&str> {
    let lengths = headers.get_all("content-length").iter();
    lengths.map(|value| value.to_str().expect("text")).collect()
}

#[test]
fn a_length_that_an_answer_repeats_becomes_one() {
    for fields in REPEATED {
        for (method, status) in BODILESS.into_iter().chain([("GET", "200 OK")]) {
            let body = match (method, status) {
                ("GET", "200 OK") => "abc",
                _ => "",
            };
            // RFC 9110 §8.6: a 204 has no length.
            let expected: &[_] = match status {
                "204 No Content" => &[],
                _ => &["3"],
            };
            let legacy = saying(status, fields, body);
            let mirror = Rig::new(&legacy, &legacy).start();
            let mut client = mirror.client();
            for _ in 0..2 {
                let reply = client.ask(method, "/");
                assert!(status.starts_with(&reply.status().to_string()));
                assert_eq!(
                    reply.header("content-length"),
                    expected,
                    "{method} {fields}"
                );
                assert_eq!(reply.text(), body);
            }
            let reply = by_http2(&mirror, method);
            assert!(status.starts_with(reply.head.status.as_str()));
            assert_eq!(lengths(&reply.head.headers), expected, "{method} {fields}");
            assert_eq!(reply.body, body.as_bytes());
            let outcome = ClientOutcome::of_status(reply.head.status.as_u16());
            assert_eq!(mirror.ledger.clients(3), [outcome; 3]);
            for exchange in mirror.ledger.exchanges(3) {
                // What the services sent is what is compared.
                let sent = exchange.legacy.headers.get_all("content-length").count();
                assert_eq!(sent, fields.matches("content-length").count());
            }
        }
    }
}

#[test]
fn an_answer_without_a_body_whose_length_is_none_is_no_http() {
    for fields in UNUSABLE {
        for (method, status) in BODILESS {
            let legacy = saying(status, fields, "");
            let mirror = Rig::new(&legacy, &Service::saying(ok("candidate"))).start();
            let mut client = mirror.client();
            for _ in 0..2 {
                let reply = client.ask(method, "/");
                assert_eq!(reply.status(), 502, "{method} {status} {fields}");
            }
            assert_eq!(by_http2(&mirror, method).head.status, 502);
            assert_eq!(mirror.ledger.reasons(3), [Reason::LegacyUnreachable; 3]);
            assert_eq!(
                mirror.ledger.clients(3),
                [ClientOutcome::LegacyUnreachable; 3]
            );
            let good = Service::saying("HTTP/1.1 204 No Content\r\n\r\n");
            let mirror = Rig::new(&good, &legacy).start();
            assert_eq!(mirror.client().ask(method, "/").status(), 204);
            assert_eq!(mirror.ledger.reason(), Reason::CandidateProtocol);
        }
    }
}

#[test]
fn a_length_beside_chunks_is_none_in_answers_without_a_body_too() {
    for (method, status) in BODILESS {
        let fields = "content-length: x\r\ntransfer-encoding: chunked\r\n";
        let legacy = saying(status, fields, "");
        let mirror = Rig::new(&legacy, &legacy).start();
        let reply = mirror.client().ask(method, "/");
        assert!(status.starts_with(&reply.status().to_string()));
        assert!(reply.header("content-length").is_empty());
        assert!(lengths(&by_http2(&mirror, method).head.headers).is_empty());
        mirror.ledger.exchanges(2);
    }
}

#[test]
fn trailers_carry_no_length() {
    let legacy = saying(
        "200 OK",
        "transfer-encoding: chunked\r\n",
        "3\r\nabc\r\n0\r\nx-t: 1\r\ncontent-length: 9\r\n\r\n",
    );
    let mirror = Rig::new(&legacy, &legacy).start();
    let reply = by_http2(&mirror, "GET");
    assert_eq!(reply.body, b"abc");
    let trailers = reply.trailers.expect("trailers");
    assert_eq!(trailers["x-t"], "1");
    assert!(lengths(&trailers).is_empty());
}

#[test]
fn our_own_answers_to_head_have_a_length_and_no_body() {
    let silent = Service::new(|_, _| Next::Close);
    for legacy in [Service::refusing(), silent] {
        let mirror = Rig::new(&legacy, &Service::saying(ok("candidate"))).start();
        let full = by_http2(&mirror, "GET");
        assert_eq!(full.head.status, 502);
        let expected = full.body.len().to_string();
        assert_eq!(lengths(&full.head.headers), [&expected]);
        let empty = by_http2(&mirror, "HEAD");
        assert_eq!(empty.head.status, 502);
        assert_eq!(lengths(&empty.head.headers), [&expected]);
        assert_eq!(
            empty.head.headers["content-type"],
            full.head.headers["content-type"]
        );
        assert!(empty.body.is_empty());
        let mut client = mirror.client();
        for _ in 0..2 {
            let reply = client.ask("HEAD", "/");
            assert_eq!(reply.status(), 502);
            assert_eq!(reply.header("content-length"), [&expected]);
        }
        // Refused before it is passed on.
        client.send("HEAD / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n");
        let reply = client.reply_to("HEAD");
        assert_eq!(
            (reply.status(), reply.header("content-length").len()),
            (400, 1)
        );
        assert_eq!(client.ask("HEAD", "/").status(), 502);
    }
    let conflict = Request::head("http://test/").header("host", "other");
    let mirror = Rig::new(&Service::refusing(), &Service::refusing()).start();
    let reply = H2Client::connect(mirror.address)
        .ask(conflict.body(()).expect("a request"), b"", None)
        .expect("an answer");
    assert_eq!((reply.head.status.as_u16(), reply.body.len()), (400, 0));
    assert_eq!(lengths(&reply.head.headers).len(), 1);
}

fn twice() -> Request<()> {
    let request = Request::post("http://test/quotes")
        .header("content-length", "3")
        .header("content-length", "3");
    request.body(()).expect("a request")
}

#[test]
fn a_length_that_a_request_repeats_reaches_services_once() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let route = "POST /quotes";
    let mirror = Rig::new(&legacy, &candidate)
        .route(route, Some(true))
        .start();
    let reply = H2Client::connect(mirror.address).ask(twice(), b"abc", None);
    assert_eq!(reply.expect("an answer").body, b"a");
    mirror.ledger.exchange();
    for service in [&legacy, &candidate] {
        let request = &service.requests(1)[0];
        assert_eq!(request.header("content-length"), ["3"], "{}", request.head);
        assert!(request.header("transfer-encoding").is_empty());
        assert_eq!(request.body, b"abc");
    }

    let answer = |_: &_| Act::Answer(Response::new(()), vec![b"a"], None);
    let (legacy, candidate) = (H2Service::new(answer), H2Service::new(answer));
    let target = |service: &H2Service| {
        let mut target = Target::new(service.url().parse().expect("a URL"));
        target.protocol = Protocol::Http2;
        target
    };
    let (to_legacy, to_candidate) = (target(&legacy), target(&candidate));
    let nobody = Service::refusing();
    let mirror = Rig::new(&nobody, &nobody)
        .policy(|policy| {
            policy.legacy = to_legacy;
            policy.candidate = to_candidate;
        })
        .route(route, Some(true))
        .start();
    let reply = H2Client::connect(mirror.address).ask(twice(), b"abc", None);
    assert_eq!(reply.expect("an answer").body, b"a");
    mirror.ledger.exchange();
    for service in [&legacy, &candidate] {
        let seen = service.seen().remove(0);
        assert_eq!(lengths(&seen.head.headers), ["3"]);
        assert_eq!(seen.body, b"abc");
    }
}

#[test]
fn an_answer_to_head_that_ends_behind_its_head_is_whole() {
    // Some services of HTTP/2 end it with an empty frame.
    let legacy = H2Service::new(|_| {
        let mut head = Response::new(());
        let length = HeaderValue::from_static("3");
        head.headers_mut().insert("content-length", length);
        Act::Answer(head, vec![b""], None)
    });
    let mut target = Target::new(legacy.url().parse().expect("a URL"));
    target.protocol = Protocol::Http2;
    let nobody = Service::refusing();
    let mirror = Rig::new(&nobody, &nobody)
        .policy(|policy| {
            policy.legacy = target.clone();
            policy.candidate = target;
        })
        .start();
    let mut client = mirror.client();
    for _ in 0..2 {
        let reply = client.ask("HEAD", "/");
        assert_eq!(
            (reply.status(), reply.header("content-length")),
            (200, vec!["3"])
        );
    }
    assert_eq!(by_http2(&mirror, "HEAD").head.status, 200);
    assert_eq!(mirror.ledger.clients(3), [ClientOutcome::Success; 3]);
    mirror.ledger.exchanges(3);
}
