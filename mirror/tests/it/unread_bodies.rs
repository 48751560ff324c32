//! Answers before the end of the request's body: what happens to the rest and to the connection.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use http::{Request, Response};
use parity_mirror::Target;
use rustls::{ClientConnection, StreamOwned};

use crate::support::authority::Authority;
use crate::support::h2::{Act, H2Service};
use crate::support::h2_client::H2Client;
use crate::support::service::Conn;
use crate::support::wire::{fill_until, find};
use crate::support::{Client, Rig, Running, Service, ok};

/// More than what sockets and our buffers hold.
const LARGE: usize = 16 * 1024 * 1024;
const DOWN: &str = "parity: the legacy service did not answer\n";

fn before(legacy: &Service) -> Running {
    Rig::new(legacy, &Service::refusing()).start()
}

/// Refuses by the head alone, closes its side, and reads nothing more for as long as the second value is kept.
fn refusing_early() -> (Service, Sender<()>) {
    let (kept, end) = channel::<()>();
    let end = Mutex::new(end);
    let service = Service::raw(move |mut conn| {
        let mut buffer = Vec::new();
        fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        conn.say(
            "HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno",
        );
        if let Conn::Tcp(stream) = &conn {
            stream.shutdown(Shutdown::Write).expect("open");
        }
        let _ended = end.lock().expect("no panic").recv();
    });
    (service, kept)
}

fn chunked(length: usize) -> Vec<u8> {
    let chunk = [
        b"10000\r\n".to_vec(),
        vec![b'x'; 0x1_0000],
        b"\r\n".to_vec(),
    ]
    .concat();
    [chunk.repeat(length / 0x1_0000), b"0\r\n\r\n".to_vec()].concat()
}

/// Sends a request whole before it reads anything, as most programs do, and reads to the end of the connection.
fn say_all(client: &mut Client, head: &str, body: &[u8]) -> String {
    client.send(head).send(body);
    String::from_utf8(client.rest()).expect("text")
}

#[test]
fn a_short_body_that_nobody_wanted_costs_no_connection() {
    let mirror = before(&Service::refusing());
    for body in ["short", &"x".repeat(200 * 1024)] {
        let mut client = mirror.client();
        for _ in 0..20 {
            let reply = client.post("/", body);
            assert_eq!((reply.status(), reply.text()), (502, DOWN));
            assert_eq!(reply.header("connection"), Vec::<&str>::new());
        }
    }
    let mut client = mirror.client();
    for _ in 0..20 {
        client.send("POST / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n");
        let reply = client.reply_to("POST");
        assert_eq!((reply.status(), reply.text()), (502, DOWN));
        assert_eq!(reply.header("connection"), Vec::<&str>::new());
    }
}

#[test]
fn a_short_body_that_comes_late_is_waited_for_behind_the_answer() {
    let mirror = before(&Service::refusing());
    let mut client = mirror.client();
    for _ in 0..3 {
        client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 8\r\n\r\nsome");
        assert_eq!(client.reply_to("POST").status(), 502);
        client.send("more");
    }
    assert_eq!(client.get("/").status(), 502);
}

#[test]
fn a_long_body_is_answered_with_the_word_that_the_connection_ends() {
    let body = vec![b'x'; LARGE];
    let (early, _kept) = refusing_early();
    for legacy in [Service::refusing(), early] {
        let mirror = before(&legacy);
        for (version, more) in [
            ("1.1", ""),
            ("1.0", ""),
            ("1.0", "connection: keep-alive\r\n"),
        ] {
            let head = format!(
                "POST / HTTP/{version}\r\nhost: test\r\n{more}content-length: {LARGE}\r\n\r\n"
            );
            let answer = say_all(&mut mirror.client(), &head, &body);
            let (head, text) = answer.split_once("\r\n\r\n").expect("a head");
            assert!(
                head.starts_with(&format!("HTTP/{version} 502 "))
                    || head.starts_with(&format!("HTTP/{version} 413 ")),
                "{answer}"
            );
            assert_eq!(head.matches("connection: ").count(), 1, "{head}");
            assert!(head.contains("connection: close"), "{head}");
            assert!(text == DOWN || text == "no", "{answer}");
        }
        let head = "POST / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n";
        let answer = say_all(&mut mirror.client(), head, &chunked(LARGE));
        assert!(answer.contains("connection: close"), "{answer}");
        assert!(answer.ends_with(DOWN) || answer.ends_with("no"), "{answer}");
    }
}

#[test]
fn a_legacy_that_answers_early_and_closes_costs_a_short_upload_nothing() {
    let (early, _kept) = refusing_early();
    let mirror = before(&early);
    let mut client = mirror.client();
    for _ in 0..20 {
        client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 50000\r\n\r\n");
        let reply = client.reply_to("POST");
        assert_eq!((reply.status(), reply.text()), (413, "no"));
        assert_eq!(reply.header("connection"), Vec::<&str>::new());
        client.send(vec![b'x'; 50_000]);
    }
}

#[test]
fn a_head_that_is_refused_is_answered_though_a_body_comes_behind_it() {
    let mirror = before(&Service::refusing());
    for fields in [
        "host: a\r\nhost: b\r\n",
        "host: test\r\nx y: z\r\n",
        "host: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n",
    ] {
        let head = format!("POST / HTTP/1.1\r\n{fields}content-length: {LARGE}\r\n\r\n");
        let answer = say_all(&mut mirror.client(), &head, &vec![b'x'; LARGE]);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
}

#[test]
fn by_tls_the_answer_arrives_as_well() {
    let authority = Authority::new();
    let files = authority.files.clone();
    let mirror = Rig::new(&Service::refusing(), &Service::refusing())
        .policy(|policy| policy.tls = Some(files))
        .start();
    let name = "localhost".try_into().expect("a name");
    let session = ClientConnection::new(authority.client(&["http/1.1"]), name);
    let stream = TcpStream::connect(mirror.address).expect("the mirror listens");
    let mut stream = StreamOwned::new(session.expect("a session"), stream);
    let head = format!("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: {LARGE}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(&vec![b'x'; LARGE]).expect("sent");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("ended by a farewell");
    assert!(answer.contains("connection: close"), "{answer}");
    assert!(answer.ends_with(DOWN), "{answer}");
}

#[test]
fn over_http2_only_the_stream_ends_and_without_an_error() {
    static BODY: [u8; 1024 * 1024] = [b'x'; 1024 * 1024];
    let mirror = before(&Service::refusing());
    let mut client = H2Client::connect(mirror.address);
    for _ in 0..3 {
        let request = Request::post("http://test/").body(()).expect("a request");
        let (reply, reset) = client.ask_early(request, &BODY);
        assert_eq!(
            (reply.head.status.as_u16(), &*reply.body),
            (502, DOWN.as_bytes())
        );
        assert_eq!(reset, Some(h2::Reason::NO_ERROR));
    }
}

#[test]
fn a_legacy_by_http2_that_answers_early_ends_the_clients_connection_with_a_word() {
    let legacy = H2Service::new(|_| {
        let head = Response::builder().status(413).body(()).expect("an answer");
        Act::Answer(head, vec![b"no"], None)
    });
    let mirror = Rig::new(&Service::refusing(), &Service::refusing())
        .policy(|policy| {
            policy.legacy = Target::new(legacy.url().parse().expect("a URL"));
            policy.legacy.protocol = parity_mirror::Protocol::Http2;
        })
        .start();
    let head =
        format!("POST / HTTP/1.1\r\nhost: test\r\nx-early: 1\r\ncontent-length: {LARGE}\r\n\r\n");
    let answer = say_all(&mut mirror.client(), &head, &vec![b'x'; LARGE]);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

#[test]
fn a_client_that_never_stops_sending_is_left_in_the_end() {
    let mirror = Rig::new(&Service::refusing(), &Service::saying(ok("a"))).start();
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n");
    assert_eq!(client.reply_to("POST").status(), 502);
    client
        .stream
        .set_write_timeout(Some(Duration::from_secs(20)))
        .expect("a socket");
    let chunk = [
        b"100000\r\n".to_vec(),
        vec![b'x'; 0x10_0000],
        b"\r\n".to_vec(),
    ]
    .concat();
    let sent = (0..2_000).take_while(|_| client.try_send(&chunk)).count();
    assert!((200..2_000).contains(&sent), "{sent} MiB");
}
