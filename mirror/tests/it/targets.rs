//! Request targets reach the services with the client's exact bytes, even those that the standard forbids.

use http::Response;
use parity_mirror::{PathRewrite, Target};

use crate::support::h2::{Act, H2Service};
use crate::support::wire::{fill_until, find};
use crate::support::{Rig, Running, Service, ok};

/// Every visible character, and a few that are no ASCII.
const ODD: [&str; 9] = [
    "/search?q=\"exact\"",
    "/search?q=<b>&r=a>b",
    "/a`b/c\"d/e<f>g?h`i",
    "/path#fragment?x#y",
    "/?!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~",
    "/!\"#$%&'()*+,-./09:;<=>@AZ[\\]^_`az{|}~",
    "/caf\u{e9}?na\u{ef}ve=\"\u{1f642}\"",
    "/?\"",
    "/#",
];

fn rig(legacy: &Service, candidate: &Service) -> Running {
    Rig::new(legacy, candidate)
        .route("POST /{*any}", Some(true))
        .start()
}

#[test]
fn both_services_get_every_byte_as_the_client_sent_it() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = rig(&legacy, &candidate);
    // A connection for each, and one for all, with bodies between.
    let mut kept = mirror.client();
    let mut count = 0;
    for target in ODD {
        assert_eq!(mirror.client().get(target).status(), 200, "{target}");
        assert_eq!(kept.get(target).status(), 200, "{target}");
        assert_eq!(
            kept.post(target, "{\"some\":\"body\"}").status(),
            200,
            "{target}"
        );
        kept.send(format!(
            "POST {target} HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
        ));
        assert_eq!(kept.reply_to("POST").status(), 200, "{target}");
        count += 4;
        for service in [&legacy, &candidate] {
            for request in &service.requests(count)[count - 4..] {
                assert_eq!(request.target(), target);
            }
        }
        for exchange in mirror.ledger.exchanges(4) {
            assert_eq!(&*exchange.request.target, target);
        }
    }
}

#[test]
fn bytes_that_are_no_text_pass_as_well() {
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        let end = fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        assert!(end.is_some());
        let same = buffer.starts_with(b"GET /caf\xe9?\xff\xfe HTTP/1.1\r\n");
        conn.say(ok(if same { "same" } else { "other" }));
        conn.wait_for_close();
    });
    let mirror = Rig::new(&legacy, &Service::refusing()).start();
    let mut client = mirror.client();
    client.send(b"GET /caf\xe9?\xff\xfe HTTP/1.1\r\nhost: test\r\n\r\n");
    assert_eq!(client.reply().text(), "same");
}

#[test]
fn a_head_may_come_in_any_pieces() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &Service::refusing()).start();
    let request = b"\r\nGET /a?q=\"<x>\" HTTP/1.1\r\nhost: test\r\n\r\n";
    let mut client = mirror.client();
    for cut in 1..request.len() {
        let (first, second) = request.split_at(cut);
        client.send(first);
        // Lets the first part arrive by itself.
        std::thread::yield_now();
        client.send(second);
        assert_eq!(client.reply().status(), 200, "{cut}");
    }
    for byte in request {
        client.send([*byte]);
    }
    assert_eq!(client.reply().status(), 200);
    for request in legacy.seen() {
        assert_eq!(request.target(), "/a?q=\"<x>\"");
    }
}

#[test]
fn a_body_that_looks_like_a_request_is_a_body() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = rig(&legacy, &candidate);
    let body = "GET /a?q=\"<x>\" HTTP/1.1\r\nhost: test\r\n\r\n";
    let mut client = mirror.client();
    for count in 1..=5 {
        client.send(format!(
            "POST / HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n",
            body.len()
        ));
        std::thread::yield_now();
        client.send(body);
        assert_eq!(client.reply_to("POST").status(), 200);
        for service in [&legacy, &candidate] {
            assert_eq!(service.requests(count)[count - 1].body, body.as_bytes());
        }
    }
}

#[test]
fn a_rewritten_path_keeps_the_rest_as_it_was() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &Service::refusing())
        .policy(|policy| {
            policy.legacy.rewrite = Some(PathRewrite::new("/api", "/v1/old").expect("paths"));
        })
        .start();
    mirror.client().get("/api/<x>?q=\"y\"");
    assert_eq!(legacy.requests(1)[0].target(), "/v1/old/<x>?q=\"y\"");
}

#[test]
fn http2_and_upgrades_have_such_bytes_percent_encoded() {
    let legacy = H2Service::new(|_| Act::Answer(Response::new(()), vec![b"a"], None));
    let mirror = Rig::new(&Service::refusing(), &Service::refusing())
        .policy(|policy| {
            policy.legacy = Target::new(legacy.url().parse().expect("a URL"));
            policy.legacy.protocol = parity_mirror::Protocol::Http2;
        })
        .start();
    assert_eq!(mirror.client().get("/<x>?q=\"y\"#z").status(), 200);
    let sent = legacy.seen()[0].head.uri.path_and_query().cloned();
    assert_eq!(sent.expect("a target"), "/%3Cx%3E?q=%22y%22%23z");

    let legacy = Service::saying(ok("declined"));
    let mirror = Rig::new(&legacy, &Service::refusing()).start();
    let mut client = mirror.client();
    client.send(
        "GET /?q=\"y\" HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    );
    assert_eq!(client.reply().status(), 200);
    assert_eq!(legacy.requests(1)[0].target(), "/?q=%22y%22");
}

#[test]
fn what_would_be_two_words_is_still_refused() {
    let mirror = Rig::new(&Service::refusing(), &Service::refusing()).start();
    for line in [
        "GET /a\" b HTTP/1.1",
        "GET \"/a HTTP/1.1",
        "GET http://te\"st/ HTTP/1.1",
        "GET /\u{1}\" HTTP/1.1",
        "GET /\"\u{7f} HTTP/1.1",
    ] {
        let mut client = mirror.client();
        client.send(format!("{line}\r\nhost: test\r\n\r\n"));
        assert_eq!(client.reply().status(), 400, "{line}");
    }
}
