//! Clients of HTTP/2 that flood: each is ended or held up, what it costs is bounded, and nobody else notices.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::support::process::Place;
use crate::support::service::Service;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Far more than any client that means well sends; a flood that is still let in after it has not been noticed.
const MOST: usize = 64 << 20;
/// What a flood may cost: the buffers of one connection, and what the allocator keeps.
const MEMORY: u64 = 16 << 20;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// `GET http://test/`, by HPACK's static table.
const GET: &[u8] = &[0x82, 0x86, 0x84, 0x41, 4, b't', b'e', b's', b't'];

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// How a flood ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The mirror closed the connection.
    Closed,
    /// The mirror reads no more, because its answers are not read.
    HeldUp,
}

/// Sends what `next` gives until the mirror has enough.
fn flood(address: SocketAddr, reading: bool, mut next: impl FnMut(u32) -> Vec<u8>) -> Option<End> {
    let mut stream = TcpStream::connect(address).expect("the mirror listens");
    stream
        .set_write_timeout(Some(Duration::from_millis(500)))
        .expect("a socket");
    stream
        .write_all(&[PREFACE, SETTINGS].concat())
        .expect("sent");
    if reading {
        let mut answers = stream.try_clone().expect("a socket");
        std::thread::spawn(
            move || while answers.read(&mut [0; 16 * 1024]).is_ok_and(|read| read > 0) {},
        );
    }
    let mut sent = 0;
    for number in 0.. {
        let bytes = next(number);
        match stream.write_all(&bytes) {
            Ok(()) => sent += bytes.len(),
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) =>
            {
                return Some(End::HeldUp);
            }
            Err(_) => return Some(End::Closed),
        }
        if sent > MOST {
            return None;
        }
    }
    None
}

/// A name, whether answers are read, the frames, and whether the connection must be closed for it.
type Case = (&'static str, bool, fn(u32) -> Vec<u8>, bool);

fn cases() -> [Case; 8] {
    [
        (
            "rapid reset",
            true,
            |number| {
                let stream = number * 2 + 1;
                let open = frame(HEADERS, END_HEADERS | END_STREAM, stream, GET);
                [open, frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())].concat()
            },
            true,
        ),
        (
            "header block without end",
            true,
            |number| {
                if number == 0 {
                    frame(HEADERS, END_STREAM, 1, GET)
                } else {
                    // A literal field, never indexed.
                    frame(CONTINUATION, 0, 1, b"\x10\x01x\x7f\x00")
                }
            },
            true,
        ),
        (
            "empty continuations",
            true,
            |number| {
                if number == 0 {
                    frame(HEADERS, END_STREAM, 1, GET)
                } else {
                    frame(CONTINUATION, 0, 1, b"")
                }
            },
            true,
        ),
        (
            "header bomb",
            true,
            |number| {
                // One field of 4,000 bytes into the table, then thousands of references to it.
                let mut block = GET.to_vec();
                block.extend(b"\x40\x01a\x7f\xa1\x1e");
                block.extend([b'b'; 4000]);
                block.extend([0xbe; 8000]);
                frame(HEADERS, END_HEADERS | END_STREAM, number * 2 + 1, &block)
            },
            true,
        ),
        (
            "empty data",
            true,
            |number| {
                if number == 0 {
                    let mut block = GET.to_vec();
                    block[0] = 0x83;
                    frame(HEADERS, END_HEADERS, 1, &block)
                } else {
                    frame(DATA, 0, 1, b"").repeat(1000)
                }
            },
            false,
        ),
        (
            "pings, answers unread",
            false,
            |_| frame(PING, 0, 0, &[7; 8]).repeat(1000),
            false,
        ),
        (
            "settings, answers unread",
            false,
            |_| SETTINGS.repeat(1000),
            false,
        ),
        (
            "window updates beyond the limit",
            true,
            |_| frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()),
            true,
        ),
    ]
}

#[test]
fn floods_are_bounded_and_nobody_else_notices() {
    let place = Place::new();
    let service = Service::json("{\"a\":1}");
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    for number in 0..50 {
        assert_eq!(mirror.get(&format!("/items/{number}")).status, 200);
    }
    for (name, reading, next, must_close) in cases() {
        let (before, _) = mirror.memory();
        let address = mirror.address;
        let flooding = std::thread::spawn(move || flood(address, reading, next));
        while !flooding.is_finished() {
            assert_eq!(mirror.get("/items/1").status, 200, "{name}");
        }
        let end = flooding.join().expect("no panic");
        if must_close {
            assert_eq!(end, Some(End::Closed), "{name}");
        }
        let (after, _) = mirror.memory();
        assert!(
            after <= before + MEMORY,
            "{name}: {before} bytes, then {after}"
        );
    }
    assert_eq!(mirror.stop().0, 0);
    let report = place.report();
    assert_eq!(report.count("received"), report.settled());
}
