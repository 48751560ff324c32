//! A candidate that answers 2 KB of JSON as the legacy does, but so many times a second with a fault.
//!
//! `candidate FAULT BODY` listens on two free ports of 127.0.0.1 and prints them: the service, and one where a line with
//! a number sets how many faults a second there shall be. Faults are due at equal distances; the next request gets one.
//! `candidate --list` prints the names of the faults, each with the protocol that the service speaks.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
/// The headers that nginx sends with a file, so that the answers do not differ.
const LIKE_NGINX: &str = "last-modified: Thu, 01 Jan 2026 00:00:00 GMT\r\netag: \"6955b900-7d0\"\r\naccept-ranges: bytes\r\n";
const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
const LARGE: usize = 1 << 20;

/// What is done to a connection instead of an answer.
type Fault = fn(&mut TcpStream, u32);

/// HTTP/1.1. Each ends when the peer hangs up or does not take more.
const HTTP1: &[(&str, Fault)] = &[
    ("1 MiB in one piece", |stream, _| {
        say(stream, format!("{HEAD}content-length: {LARGE}\r\n\r\n"));
        say(stream, vec![b'x'; LARGE]);
    }),
    ("1 MiB in lines of 100", |stream, _| {
        say(stream, CHUNKED);
        let line = format!("64\r\n{}\r\n", "x".repeat(100));
        say(stream, line.repeat(LARGE / 100) + "0\r\n\r\n");
    }),
    ("1 MiB in chunks of 1", |stream, _| {
        say(stream, CHUNKED);
        say(stream, "1\r\nx\r\n".repeat(LARGE) + "0\r\n\r\n");
    }),
    ("100 KB in chunks of 1", |stream, _| {
        say(stream, CHUNKED);
        say(stream, "1\r\nx\r\n".repeat(100_000) + "0\r\n\r\n");
    }),
    ("2 KB in chunks of 1", |stream, _| {
        say(stream, CHUNKED);
        say(stream, "1\r\nx\r\n".repeat(2000) + "0\r\n\r\n");
    }),
    ("1 MiB in segments of 1", |stream, _| {
        say(stream, format!("{HEAD}content-length: {LARGE}\r\n\r\n"));
        while say(stream, b"x") {}
    }),
    ("103 for ever", |stream, _| {
        repeat(stream, "HTTP/1.1 103 Early Hints\r\n\r\n");
    }),
    ("sizes with leading zeros", |stream, _| {
        say(stream, CHUNKED);
        repeat(stream, "0000000000000000");
    }),
    ("64 KB of trailers", |stream, _| {
        let trailers = format!("x: {}\r\n", "y".repeat(1000)).repeat(60);
        say(stream, format!("{CHUNKED}2\r\n{{}}\r\n0\r\n{trailers}\r\n"));
    }),
    ("reset at the request", |stream, _| reset(stream)),
    ("closed at the request", |_, _| {}),
    ("never answers", |stream, _| hang(stream)),
    ("head at 1 KB/s", |stream, _| {
        say(stream, HEAD);
        drip(
            stream,
            b"x-more: 0123456789abcdefghij\r\n",
            Duration::from_millis(30),
        );
    }),
    ("body at 1 KB/s", |stream, _| {
        say(stream, format!("{HEAD}content-length: 1000000\r\n\r\n"));
        drip(stream, &[b'1'; 30], Duration::from_millis(30));
    }),
    ("1xx at 100/s", |stream, _| {
        drip(
            stream,
            b"HTTP/1.1 102 Processing\r\n\r\n",
            Duration::from_millis(10),
        );
    }),
    ("reset in the head", |stream, _| {
        say(stream, "HTTP/1.1 200 OK\r\ncontent-");
        reset(stream);
    }),
    ("reset in the body", |stream, _| {
        say(stream, format!("{HEAD}content-length: 100\r\n\r\n{{\"a\""));
        reset(stream);
    }),
    ("truncated by length", |stream, _| {
        say(stream, format!("{HEAD}content-length: 100\r\n\r\n{{\"a\""));
    }),
    ("truncated in a chunk", |stream, _| {
        say(stream, format!("{CHUNKED}50\r\n{{\"a\""));
    }),
    ("endless", |stream, _| {
        say(stream, CHUNKED);
        repeat(stream, &format!("4000\r\n{}\r\n", "x".repeat(0x4000)));
    }),
    ("garbage", |stream, _| {
        say(stream, [0, 159, 146, 150, 13, 10, 13, 10]);
    }),
    ("header bomb", |stream, _| {
        say(stream, HEAD);
        repeat(stream, &format!("x-bomb: {}\r\n", "b".repeat(4096)));
    }),
    ("a million headers", |stream, _| {
        say(stream, HEAD);
        repeat(stream, "x: y\r\n");
    }),
    ("wrong chunk size", |stream, _| {
        say(stream, format!("{CHUNKED}zz\r\nabc\r\n"));
    }),
    ("101 that nobody asked for", |stream, _| {
        say(
            stream,
            "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
        );
    }),
    ("an answer too many", |stream, _| {
        let answer = format!("{HEAD}content-length: 2\r\n\r\n{{}}");
        say(stream, answer.repeat(2));
    }),
];

/// HTTP/2 without TLS, on the stream that the request is on.
const HTTP2: &[(&str, Fault)] = &[
    ("DATA of 16 KB", |stream, on| {
        say(stream, frame(HEADERS, END_HEADERS, on, OK));
        say(stream, frame(DATA, 0, on, &[b'x'; 16_000]).repeat(3));
        say(stream, frame(DATA, END_STREAM, on, b""));
    }),
    ("DATA of 1", |stream, on| {
        say(stream, frame(HEADERS, END_HEADERS, on, OK));
        repeat_bytes(stream, &frame(DATA, 0, on, b"x"));
    }),
    ("PING", |stream, _| {
        repeat_bytes(stream, &frame(PING, 0, 0, &[7; 8]));
    }),
    ("SETTINGS", |stream, _| {
        repeat_bytes(stream, &frame(SETTINGS, 0, 0, b""));
    }),
    ("WINDOW_UPDATE", |stream, _| {
        repeat_bytes(stream, &frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()));
    }),
    ("interim answers", |stream, on| {
        repeat_bytes(stream, &frame(HEADERS, END_HEADERS, on, b"\x08\x03103"));
    }),
    ("unknown frames", |stream, _| {
        repeat_bytes(stream, &frame(0xbe, 0, 0, b""));
    }),
];

/// Bytes written at a time. The system delivers them within the call, which occupies the core.
const PIECE: usize = 16 * 1024;

fn say(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) -> bool {
    let mut pieces = bytes.as_ref().chunks(PIECE);
    pieces.all(|piece| stream.write_all(piece).is_ok())
}

fn repeat(stream: &mut TcpStream, text: &str) {
    repeat_bytes(stream, text.as_bytes());
}

fn repeat_bytes(stream: &mut TcpStream, bytes: &[u8]) {
    let many = bytes.repeat(64 * 1024 / bytes.len() + 1);
    while say(stream, &many) {}
}

fn drip(stream: &mut TcpStream, bytes: &[u8], pause: Duration) {
    while say(stream, bytes) {
        thread::sleep(pause);
    }
}

fn hang(stream: &mut TcpStream) {
    while stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
}

fn reset(stream: &TcpStream) {
    drop(SockRef::from(stream).set_linger(Some(Duration::ZERO)));
}

/// When faults are due.
struct Due {
    /// Faults per second; 0 for none.
    rate: AtomicU64,
    next: Mutex<Instant>,
}

impl Due {
    fn now(&self) -> bool {
        let rate = self.rate.load(Ordering::Relaxed);
        let mut next = self.next.lock().expect("no panic");
        let now = Instant::now();
        if rate == 0 || now < *next {
            return false;
        }
        *next = now.max(*next + Duration::from_secs(1) / rate as u32);
        true
    }

    fn set(&self, rate: u64) {
        self.rate.store(rate, Ordering::Relaxed);
    }
}

fn http1(mut stream: TcpStream, due: &Due, fault: Fault, body: &[u8]) {
    let answer = [
        format!("{HEAD}{LIKE_NGINX}content-length: {}\r\n\r\n", body.len()).as_bytes(),
        body,
    ]
    .concat();
    let mut request = Vec::new();
    let mut part = [0; 4096];
    while let Ok(read) = stream.read(&mut part)
        && read > 0
    {
        // No request has a body, and none is sent before the previous one is answered.
        request.extend_from_slice(&part[..read]);
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            if due.now() {
                fault(&mut stream, 0);
                return;
            }
            if !say(&mut stream, &answer) {
                return;
            }
        }
    }
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
/// `:status: 200` by the static table of HPACK, and `content-type`, a literal.
const OK: &[u8] = b"\x88\x0f\x10\x10application/json";

/// The same as [`LIKE_NGINX`], as literals whose names are in the static table.
fn like_nginx() -> Vec<u8> {
    let mut block = OK.to_vec();
    for (name, value) in [
        (29, "Thu, 01 Jan 2026 00:00:00 GMT"),
        (19, "\"6955b900-7d0\""),
        (3, "bytes"),
    ] {
        // The index of the name, less the 15 that fit the first byte.
        block.extend([0x0f, name, value.len() as u8]);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn http2(mut stream: TcpStream, due: &Due, fault: Fault, body: &[u8]) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.read_exact(&mut [0; 24])?;
    stream.write_all(&frame(SETTINGS, 0, 0, b""))?;
    let mut head = [0; 9];
    loop {
        reader.read_exact(&mut head)?;
        let [high, middle, low, kind, flags, ..] = head;
        let on = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let mut payload = vec![0; length];
        reader.read_exact(&mut payload)?;
        match (kind, flags & ACK) {
            (SETTINGS, 0) => stream.write_all(&frame(SETTINGS, ACK, 0, b""))?,
            (PING, 0) => stream.write_all(&frame(PING, ACK, 0, &payload))?,
            (HEADERS, _) if due.now() => {
                // The peer's answers must be read, or the flood would stop.
                let mut answers = stream.try_clone()?;
                thread::spawn(move || hang(&mut answers));
                fault(&mut stream, on);
                return Ok(());
            }
            (HEADERS, _) => stream.write_all(
                &[
                    frame(HEADERS, END_HEADERS, on, &like_nginx()),
                    frame(DATA, END_STREAM, on, body),
                ]
                .concat(),
            )?,
            _ => {}
        }
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the script that starts it reads its ports"
)]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("which fault?")?;
    if name == "--list" {
        let each = |protocol, faults: &[(&str, Fault)]| {
            for (name, _) in faults {
                println!("{protocol} {name}");
            }
        };
        each("http1", HTTP1);
        each("http2", HTTP2);
        return Ok(());
    }
    let body: Arc<[u8]> = std::fs::read(arguments.next().ok_or("which body?")?)?.into();
    let named = |faults: &[(&str, Fault)]| {
        let found = faults.iter().find(|(each, _)| *each == name);
        found.map(|(_, fault)| *fault)
    };
    let (fault, old) = match (named(HTTP1), named(HTTP2)) {
        (Some(fault), _) => (fault, true),
        (_, Some(fault)) => (fault, false),
        _ => return Err(format!("`{name}` is no fault; --list prints them").into()),
    };
    let due = Arc::new(Due {
        rate: AtomicU64::new(0),
        next: Mutex::new(Instant::now()),
    });
    let service = TcpListener::bind(("127.0.0.1", 0))?;
    let control = TcpListener::bind(("127.0.0.1", 0))?;
    println!(
        "{} {}",
        service.local_addr()?.port(),
        control.local_addr()?.port()
    );
    let accepting = Arc::clone(&due);
    thread::spawn(move || {
        for stream in service.incoming().flatten() {
            let (due, body) = (Arc::clone(&accepting), Arc::clone(&body));
            thread::spawn(move || {
                drop(stream.set_nodelay(true));
                if old {
                    http1(stream, &due, fault, &body);
                } else {
                    drop(http2(stream, &due, fault, &body));
                }
            });
        }
    });
    for stream in control.incoming().flatten() {
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        due.set(line.trim().parse()?);
        writeln!(&stream, "ok")?;
    }
    Ok(())
}
