//! What can be wrong with a service.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use super::BODY;
use crate::support::service::{Service, nobody};

/// A candidate, and the outcomes that it leads to.
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) url: String,
    pub(super) outcomes: &'static [&'static str],
    _kept: Box<dyn std::any::Any>,
}

impl Fault {
    fn new(
        name: &'static str,
        outcomes: &'static [&'static str],
        act: impl Fn(&mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let service = Service::misbehaving(move |_, stream| act(stream));
        Self {
            name,
            url: service.url(),
            outcomes,
            _kept: Box::new(service),
        }
    }
}

fn say(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) -> bool {
    stream.write_all(bytes.as_ref()).is_ok()
}

fn reset(stream: &TcpStream) {
    drop(SockRef::from(stream).set_linger(Some(Duration::ZERO)));
}

/// Waits until the peer hangs up.
fn hang(stream: &mut TcpStream) {
    while stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
}

/// Says something every `pause` until the peer hangs up.
fn drip(stream: &mut TcpStream, bytes: &[u8], pause: Duration) {
    while say(stream, bytes) {
        std::thread::park_timeout(pause);
    }
}

/// A port whose backlog is full: the system does not even answer.
fn black_hole() -> (String, Box<dyn std::any::Any>) {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    listener.bind(&any.into()).expect("a free port");
    listener.listen(0).expect("a socket");
    let address = listener.local_addr().expect("bound");
    let waiting: Vec<Socket> = (0..8)
        .map(|_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_nonblocking(true).expect("a socket");
            drop(socket.connect(&address));
            socket
        })
        .collect();
    let port = address.as_socket().expect("an address").port();
    (
        format!("http://127.0.0.1:{port}"),
        Box::new((listener, waiting)),
    )
}

/// Resets every connection before a byte of the request is read.
fn resets_at_once() -> (String, Box<dyn std::any::Any>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            reset(&stream);
        }
    });
    (url, Box::new(()))
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

/// All of them.
pub(super) fn all() -> Vec<Fault> {
    [connecting(), silent(), broken(), lying(), flooding()]
        .into_iter()
        .flatten()
        .collect()
}

/// Faults in which no connection is made, or it breaks at once.
fn connecting() -> Vec<Fault> {
    let (hole, hole_kept) = black_hole();
    let (resetting, resetting_kept) = resets_at_once();
    vec![
        Fault {
            name: "refused",
            url: nobody(),
            outcomes: &["candidate_refused", "breaker_open"],
            _kept: Box::new(()),
        },
        Fault {
            name: "black-holed",
            url: hole,
            outcomes: &["candidate_timeout", "breaker_open", "in_flight_cap"],
            _kept: hole_kept,
        },
        Fault {
            name: "reset at accept",
            url: resetting,
            outcomes: &["candidate_reset", "candidate_refused", "breaker_open"],
            _kept: resetting_kept,
        },
    ]
}

/// Faults in which the candidate is slow or never answers.
fn silent() -> Vec<Fault> {
    vec![
        Fault::new(
            "never answers",
            &["candidate_timeout", "breaker_open", "in_flight_cap"],
            hang,
        ),
        Fault::new(
            "10 s slow",
            &["candidate_timeout", "breaker_open", "in_flight_cap"],
            |stream| {
                // Sooner only when the mirror has hung up, as it must.
                drop(stream.set_read_timeout(Some(Duration::from_secs(10))));
                drop(stream.read(&mut [0]));
                say(stream, format!("{HEAD}content-length: 2\r\n\r\n{{}}"));
            },
        ),
        Fault::new(
            "head at 1 KB/s",
            &["candidate_timeout", "breaker_open", "in_flight_cap"],
            |stream| {
                say(stream, HEAD);
                drip(
                    stream,
                    b"x-more: 0123456789abcdefghij\r\n",
                    Duration::from_millis(30),
                );
            },
        ),
        Fault::new(
            "body at 1 KB/s",
            &["candidate_timeout", "breaker_open", "in_flight_cap"],
            |stream| {
                say(stream, format!("{HEAD}content-length: 1000000\r\n\r\n"));
                drip(stream, &[b'1'; 30], Duration::from_millis(30));
            },
        ),
        Fault::new(
            "1xx for ever",
            &["candidate_timeout", "breaker_open", "candidate_protocol"],
            |stream| {
                drip(
                    stream,
                    b"HTTP/1.1 102 Processing\r\n\r\n",
                    Duration::from_millis(10),
                );
            },
        ),
    ]
}

/// Faults in which an answer breaks off.
fn broken() -> Vec<Fault> {
    vec![
        Fault::new("reset after the request", &["candidate_reset"], |stream| {
            reset(stream);
        }),
        Fault::new("closed after the request", &["candidate_reset"], |_| {}),
        Fault::new("reset in the head", &["candidate_reset"], |stream| {
            say(stream, "HTTP/1.1 200 OK\r\ncontent-");
            reset(stream);
        }),
        Fault::new(
            "reset in the body",
            &["candidate_truncated", "candidate_reset"],
            |stream| {
                say(stream, format!("{HEAD}content-length: 100\r\n\r\n{{\"a\""));
                reset(stream);
            },
        ),
        Fault::new("truncated by length", &["candidate_truncated"], |stream| {
            say(stream, format!("{HEAD}content-length: 100\r\n\r\n{{\"a\""));
        }),
        Fault::new("truncated in a chunk", &["candidate_truncated"], |stream| {
            say(
                stream,
                format!("{HEAD}transfer-encoding: chunked\r\n\r\n50\r\n{{\"a\""),
            );
        }),
    ]
}

/// Faults in which an answer costs far more to read than its bytes.
fn flooding() -> Vec<Fault> {
    vec![
        Fault::new(
            "1 MiB, byte by chunk",
            &["candidate_flood", "breaker_open"],
            |stream| {
                say(stream, format!("{HEAD}transfer-encoding: chunked\r\n\r\n"));
                say(stream, "1\r\nx\r\n".repeat(1 << 20));
            },
        ),
        Fault::new(
            "103 as fast as it goes",
            &["candidate_flood", "breaker_open"],
            |stream| {
                let some = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000);
                while say(stream, &some) {}
            },
        ),
    ]
}

/// Faults in which the answer is not HTTP.
fn lying() -> Vec<Fault> {
    vec![
        Fault::new(
            "endless",
            &[
                "candidate_too_large",
                "byte_budget",
                "no_room",
                "candidate_timeout",
                "breaker_open",
            ],
            |stream| {
                say(stream, format!("{HEAD}transfer-encoding: chunked\r\n\r\n"));
                let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
                while say(stream, &chunk) {}
            },
        ),
        Fault::new(
            "garbage",
            &["candidate_protocol", "candidate_reset"],
            |stream| {
                say(stream, [0, 159, 146, 150, 13, 10, 13, 10]);
            },
        ),
        Fault::new(
            "header bomb",
            &["candidate_protocol", "candidate_reset"],
            |stream| {
                say(stream, HEAD);
                let field = format!("x-bomb: {}\r\n", "b".repeat(4096));
                while say(stream, &field) {}
            },
        ),
        Fault::new(
            "a million headers",
            &["candidate_protocol", "candidate_reset"],
            |stream| {
                say(stream, HEAD);
                let fields = "x: y\r\n".repeat(1000);
                while say(stream, &fields) {}
            },
        ),
        Fault::new("wrong chunk size", &["candidate_protocol"], |stream| {
            say(
                stream,
                format!("{HEAD}transfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n"),
            );
        }),
        Fault::new(
            "101 that nobody asked for",
            &["candidate_protocol"],
            |stream| {
                say(
                    stream,
                    "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
                );
            },
        ),
        Fault::new(
            "an answer too many",
            &["match", "candidate_protocol", "candidate_reset"],
            |stream| {
                let answer = format!("{HEAD}content-length: {}\r\n\r\n{BODY}", BODY.len());
                say(stream, answer.repeat(2));
            },
        ),
    ]
}
