//! HTTP/2 clients that flood: their connections are closed, their cost is bounded, and no other client notices.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::support::PATIENCE;
use crate::support::process::Place;
use crate::support::service::Service;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Far more than any honest client sends. A connection that is still open after that many was not recognized as a flood.
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
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Sends what `next` gives; whether the mirror closed the connection, before [`MOST`] was sent.
fn is_closed(address: SocketAddr, reading: bool, mut next: impl FnMut(u32) -> Vec<u8>) -> bool {
    let mut stream = TcpStream::connect(address).expect("the mirror listens");
    // A mirror that has stopped reading, because its answers are not read, has not closed.
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
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
            Err(error) => {
                let kind = error.kind();
                return !matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut);
            }
        }
        if sent > MOST {
            break;
        }
    }
    false
}

/// A name, whether answers are read, and the frames.
type Case = (&'static str, bool, fn(u32) -> Vec<u8>);

fn cases() -> [Case; 12] {
    [
        ("rapid reset", true, |number| {
            let stream = number * 2 + 1;
            let open = frame(HEADERS, END_HEADERS | END_STREAM, stream, GET);
            [open, frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())].concat()
        }),
        ("header block without end", true, |number| {
            if number == 0 {
                frame(HEADERS, END_STREAM, 1, GET)
            } else {
                // A literal field, never indexed.
                frame(CONTINUATION, 0, 1, b"\x10\x01x\x7f\x00")
            }
        }),
        ("empty continuations", true, |number| {
            if number == 0 {
                frame(HEADERS, END_STREAM, 1, GET)
            } else {
                frame(CONTINUATION, 0, 1, b"")
            }
        }),
        ("header bomb", true, |number| {
            // One field of 4,000 bytes into the table, then thousands of references to it.
            let mut block = GET.to_vec();
            block.extend(b"\x40\x01a\x7f\xa1\x1e");
            block.extend([b'b'; 4000]);
            block.extend([0xbe; 8000]);
            frame(HEADERS, END_HEADERS | END_STREAM, number * 2 + 1, &block)
        }),
        ("empty data", true, |number| {
            if number == 0 {
                let mut block = GET.to_vec();
                block[0] = 0x83;
                frame(HEADERS, END_HEADERS, 1, &block)
            } else {
                frame(DATA, 0, 1, b"").repeat(1000)
            }
        }),
        ("pings, answers unread", false, |_| {
            frame(PING, 0, 0, &[7; 8]).repeat(1000)
        }),
        ("settings, answers unread", false, |_| SETTINGS.repeat(1000)),
        ("pings", true, |_| frame(PING, 0, 0, &[7; 8]).repeat(1000)),
        ("settings", true, |_| SETTINGS.repeat(1000)),
        ("priorities", true, |number| {
            frame(PRIORITY, 0, number * 2 + 1, &[0, 0, 0, 0, 9]).repeat(1000)
        }),
        ("unknown frames", true, |_| {
            frame(0xbe, 0, 0, b"x").repeat(1000)
        }),
        ("window updates beyond the limit", true, |_| {
            frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes())
        }),
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
    for (name, reading, next) in cases() {
        let (before, _) = mirror.memory();
        let address = mirror.address;
        let flooding = std::thread::spawn(move || is_closed(address, reading, next));
        while !flooding.is_finished() {
            assert_eq!(mirror.get("/items/1").status, 200, "{name}");
        }
        assert!(flooding.join().expect("no panic"), "{name}");
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
