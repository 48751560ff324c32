//! Services that answer by the head of a request and leave its body unread: their answer always arrives, at once, and
//! their connection carries no other request.

use std::sync::Mutex;

use http::Request;

use crate::support::h2_client::H2Client;
use crate::support::service::Conn;
use crate::support::wire::{fill_until, find};
use crate::support::{Next, Rig, Running, Service, ok};

/// From what all buffers hold to what they never do.
const LENGTHS: [usize; 3] = [400_000, 3_000_000, 8_000_000];
/// A connection that is used again, and a write that fails before the answer was read, are matters of chance.
const ROUNDS: usize = 5;

/// What a service does after its answer, of which the body stays unread.
#[derive(Clone, Copy, Debug)]
enum Behind {
    /// Keeps the connection, without a word that it will not be used.
    Keeps,
    /// The same, but says that it will close.
    SaysClose,
    /// Closes at once, which makes the system send a reset.
    Resets,
}

/// Refuses by the head alone. Its connections end with it.
fn refusing(behind: Behind) -> Service {
    let kept = Mutex::new(Vec::<Conn>::new());
    Service::raw(move |mut conn| {
        let mut buffer = Vec::new();
        let head = fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        if head.is_none() {
            return;
        }
        let word = match behind {
            Behind::Keeps | Behind::Resets => "",
            Behind::SaysClose => "connection: close\r\n",
        };
        conn.say(format!(
            "HTTP/1.1 413 Content Too Large\r\n{word}content-length: 3\r\n\r\nbig"
        ));
        if !matches!(behind, Behind::Resets) {
            kept.lock().expect("no panic").push(conn);
        }
    })
}

fn before(legacy: &Service) -> Running {
    Rig::new(legacy, &Service::refusing()).start()
}

/// A whole request with a body of this length.
fn request(length: usize, chunked: bool) -> Vec<u8> {
    let body = vec![b'x'; length];
    if !chunked {
        let head = format!("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: {length}\r\n\r\n");
        return [head.as_bytes(), &body].concat();
    }
    let mut request =
        b"POST / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in body.chunks(50_000) {
        request.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        request.extend(piece);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    request
}

fn answers_every_upload(behind: Behind) {
    let legacy = refusing(behind);
    let mirror = before(&legacy);
    for length in LENGTHS {
        for chunked in [false, true] {
            let request = request(length, chunked);
            for round in 0..ROUNDS {
                let mut client = mirror.client();
                // It may have its answer, and its connection be closed, before it has sent everything.
                client.try_send(&request);
                let reply = client.reply_to("POST");
                assert_eq!(
                    (reply.status(), reply.text()),
                    (413, "big"),
                    "{behind:?}, {length}, chunked: {chunked}, round {round}"
                );
            }
        }
    }
}

#[test]
fn one_that_keeps_the_connection_and_never_reads_again_is_passed_on_every_time() {
    answers_every_upload(Behind::Keeps);
}

#[test]
fn one_that_says_that_it_will_close_is_passed_on_every_time() {
    answers_every_upload(Behind::SaysClose);
}

#[test]
fn one_that_breaks_the_upload_off_is_passed_on_every_time() {
    answers_every_upload(Behind::Resets);
}

#[test]
fn clients_by_http2_get_it_every_time() {
    static BODY: [u8; 3_000_000] = [b'x'; 3_000_000];
    for behind in [Behind::Keeps, Behind::SaysClose, Behind::Resets] {
        let legacy = refusing(behind);
        let mirror = before(&legacy);
        for length in [400_000, 3_000_000] {
            for _ in 0..ROUNDS {
                let mut client = H2Client::connect(mirror.address);
                let request = Request::post("http://test/").body(()).expect("a request");
                let reply = client
                    .ask(request, &BODY[..length], None)
                    .expect("an answer");
                assert_eq!(
                    (reply.head.status.as_u16(), &*reply.body),
                    (413, &b"big"[..]),
                    "{behind:?}, {length}"
                );
            }
        }
    }
}

#[test]
fn a_short_body_that_comes_behind_the_refusal_is_not_the_next_request() {
    let legacy = refusing(Behind::Keeps);
    let mirror = before(&legacy);
    let mut client = mirror.client();
    for _ in 0..ROUNDS {
        client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 4\r\n\r\n");
        assert_eq!(client.reply_to("POST").status(), 413);
        client.send("body");
    }
    assert_eq!(legacy.connections(), ROUNDS);
}

#[test]
fn a_candidate_is_compared_by_its_early_answers_and_not_by_what_follows_them() {
    let legacy = Service::saying(ok("whole"));
    let candidate = refusing(Behind::Keeps);
    let mirror = Rig::new(&legacy, &candidate)
        .route("POST /", Some(true))
        .start();
    let request = request(LENGTHS[0], false);
    let mut client = mirror.client();
    for _ in 0..ROUNDS {
        client.send(&request);
        assert_eq!(client.reply_to("POST").text(), "whole");
        assert_eq!(mirror.ledger.exchange().candidate.status, 413);
    }
    assert_eq!(candidate.connections(), ROUNDS);
}

#[test]
fn connections_whose_requests_were_read_are_used_again() {
    let legacy = Service::new(|request, conn| {
        let status = if request.body.len() > 10_000 {
            "200 OK"
        } else {
            "422 Unprocessable Content"
        };
        conn.say(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n"));
        Next::Keep
    });
    let mirror = before(&legacy);
    let mut client = mirror.client();
    for (length, status) in [(LENGTHS[0], 200), (1_000, 422)] {
        for chunked in [false, true] {
            client.send(request(length, chunked));
            assert_eq!(client.reply_to("POST").status(), status);
        }
    }
    assert_eq!(legacy.connections(), 1);
}
