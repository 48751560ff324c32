//! Tunnels: to the legacy only, with half-close, until the time to drain is over.

use std::time::Duration;

use parity_schemas::verdict::Reason;

use crate::support::wire::{fill_until, find};
use crate::support::{Client, Next, Rig, Service, ok};

const ASK: &str = "GET /chat HTTP/1.1\r\nhost: test\r\nconnection: keep-alive, Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: y\r\n\r\n";

/// Switches, says hello at once, and echoes until the peer's end, after which it says goodbye.
fn echoing() -> Service {
    Service::new(|request, conn| {
        assert_eq!(request.header("connection"), ["upgrade"]);
        assert_eq!(request.header("upgrade"), ["websocket"]);
        assert_eq!(request.header("sec-websocket-key"), ["x"]);
        conn.say(format!("{SWITCH}hello"));
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = std::io::Read::read(conn, &mut buffer) {
            conn.say(&buffer[..count]);
        }
        conn.say("goodbye");
        Next::Close
    })
}

fn open(client: &mut Client) {
    client.send(ASK);
    let head = client.head().expect("a head").to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("\r\nconnection: upgrade"), "{head}");
    assert!(head.contains("\r\nupgrade: websocket"), "{head}");
    assert!(head.contains("\r\nsec-websocket-accept: y"), "{head}");
    client.read_until(b"hello");
}

#[test]
fn bytes_pass_both_ways_and_half_close_is_kept() {
    let candidate = Service::saying(ok("a"));
    let mirror = Rig::new(&echoing(), &candidate).start();
    let mut client = mirror.client();
    open(&mut client);
    client.send("ping");
    client.read_until(b"ping");
    client.close_writing();
    client.read_until(b"goodbye");
    assert_eq!(mirror.ledger.reason(), Reason::Upgrade);
    assert_eq!(candidate.connections(), 0);
    assert_eq!(mirror.ledger.answered()[0].1, 101);
}

#[test]
fn what_the_client_sends_with_its_request_is_not_lost() {
    let mirror = Rig::new(&echoing(), &Service::refusing()).start();
    let mut client = mirror.client();
    client.send(format!("{ASK}early"));
    client.read_until(b"early");
}

#[test]
fn a_declined_upgrade_is_an_answer_like_any_other() {
    let legacy = Service::saying("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno");
    let mirror = Rig::new(&legacy, &Service::refusing()).start();
    let mut client = mirror.client();
    for count in 1..=2 {
        client.send(ASK);
        let reply = client.reply();
        assert_eq!((reply.status(), reply.text()), (403, "no"));
        assert_eq!(mirror.ledger.reasons(count), vec![Reason::Upgrade; count]);
    }
}

#[test]
fn an_upgrade_without_a_legacy_is_502() {
    let mirror = Rig::new(&Service::refusing(), &Service::refusing()).start();
    let mut client = mirror.client();
    client.send(ASK);
    assert_eq!(client.reply().status(), 502);
    assert_eq!(mirror.ledger.reason(), Reason::Upgrade);
}

#[test]
fn an_upgrade_with_a_body_is_refused() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy).start();
    let mut client = mirror.client();
    let ask = ASK.replace("\r\n\r\n", "\r\ncontent-length: 4\r\n\r\nbody");
    client.send(ask);
    assert_eq!(client.reply().status(), 400);
    assert_eq!(mirror.ledger.reason(), Reason::Upgrade);
    assert_eq!(legacy.connections(), 0);
}

#[test]
fn h2c_is_not_tunnelled() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\n\r\n");
    assert_eq!(client.reply().text(), "a");
    mirror.ledger.exchange();
    for request in legacy.requests(2) {
        assert!(request.header("upgrade").is_empty());
        assert!(request.header("http2-settings").is_empty());
    }
}

#[test]
fn a_tunnel_has_the_time_of_the_drain_and_no_more() {
    let mut mirror = Rig::new(&echoing(), &Service::refusing())
        .limits(|limits| limits.drain = Duration::from_millis(300))
        .start();
    let mut client = mirror.client();
    open(&mut client);
    mirror.signal();
    client.send("still");
    client.read_until(b"still");
    assert!(mirror.stop().cut > 0);
    assert_eq!(client.rest(), b"hellostill");
}

#[test]
fn the_end_of_one_peer_ends_the_other() {
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        conn.say(format!("{SWITCH}hello"));
        conn.wait_for_close();
    });
    let mut mirror = Rig::new(&legacy, &Service::refusing()).start();
    let mut client = mirror.client();
    open(&mut client);
    client.reset();
    assert_eq!(mirror.stop().cut, 0);
}
