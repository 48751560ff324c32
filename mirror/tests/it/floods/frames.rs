//! Services that speak HTTP/2 frame by frame.

use std::io::Read as _;

use parity_mirror::{Protocol, Target, UpstreamUrl};

use crate::support::service::Conn;
use crate::support::{Rig, Service};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const UNKNOWN: u8 = 0xbe;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const ACK: u8 = 1;

/// `:status: 200`, by HPACK's static table.
const OK: &[u8] = &[0x88];
/// `:status: 103`, a literal with the name of the static table.
const EARLY_HINTS: &[u8] = b"\x08\x03103";

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

pub(super) fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, OK)
}

pub(super) fn data(stream: u32, bytes: &[u8], last: bool) -> Vec<u8> {
    frame(DATA, if last { END_STREAM } else { 0 }, stream, bytes)
}

pub(super) fn ping() -> Vec<u8> {
    frame(PING, 0, 0, &[7; 8])
}

pub(super) fn window(stream: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &1_u32.to_be_bytes())
}

/// A name, what goes before, and what is sent for ever, on a stream.
type Flood = fn(u32) -> (Vec<u8>, Vec<u8>);

pub(super) fn floods() -> [(&'static str, Flood); 10] {
    [
        ("PING", |_| (vec![], ping())),
        ("SETTINGS", |_| (vec![], frame(SETTINGS, 0, 0, &[]))),
        ("WINDOW_UPDATE", |_| (vec![], window(0))),
        ("WINDOW_UPDATE of the stream", |stream| {
            (vec![], window(stream))
        }),
        ("PRIORITY", |stream| {
            (vec![], frame(PRIORITY, 0, stream, &[0, 0, 0, 0, 9]))
        }),
        ("unknown frames", |_| (vec![], frame(UNKNOWN, 0, 0, b"x"))),
        ("empty DATA", |stream| {
            (head(stream), data(stream, b"", false))
        }),
        ("DATA of padding", |stream| {
            let padding = [&[200][..], &[0; 200]].concat();
            (head(stream), frame(DATA, PADDED, stream, &padding))
        }),
        ("DATA of a byte", |stream| {
            (head(stream), data(stream, b"x", false))
        }),
        ("interim answers", |stream| {
            (vec![], frame(HEADERS, END_HEADERS, stream, EARLY_HINTS))
        }),
    ]
}

/// A service that reads requests, and says for each stream what its script says.
pub(super) struct Frames(Service);

impl Frames {
    pub(super) fn new(answer: impl Fn(u32, &mut Conn) + Send + Sync + 'static) -> Self {
        Self(Service::raw(move |mut conn| {
            let mut preface = [0; 24];
            if conn.read_exact(&mut preface).is_err() {
                return;
            }
            conn.say(frame(SETTINGS, 0, 0, &[]));
            let mut first = [0; 9];
            while conn.read_exact(&mut first).is_ok() {
                let length = u32::from_be_bytes([0, first[0], first[1], first[2]]);
                let stream = u32::from_be_bytes([first[5], first[6], first[7], first[8]]);
                let mut payload = vec![0; length as usize];
                if conn.read_exact(&mut payload).is_err() {
                    return;
                }
                match (first[3], first[4] & ACK) {
                    (SETTINGS, 0) => drop(conn.say(frame(SETTINGS, ACK, 0, &[]))),
                    (HEADERS, _) => answer(stream, &mut conn),
                    _ => {}
                }
            }
        }))
    }

    pub(super) fn url(&self) -> UpstreamUrl {
        self.0.url()
    }

    pub(super) fn flooding(flood: Flood) -> Self {
        Self::new(move |stream, conn| {
            let (before, endless) = flood(stream);
            conn.say(before);
            // What we are answered must be read, or the flood stops.
            let mut answers = conn.other_end();
            let reading = std::thread::spawn(move || {
                while answers.read(&mut [0; 16 * 1024]).is_ok_and(|read| read > 0) {}
            });
            let many = endless.repeat(1000);
            while conn.say(&many) {}
            reading.join().expect("no panic");
        })
    }
}

/// A mirror whose candidate speaks HTTP/2.
pub(super) fn rig(legacy: &Service, candidate: UpstreamUrl) -> Rig {
    let mut target = Target::new(candidate);
    target.protocol = Protocol::Http2;
    Rig::new(legacy, legacy).policy(|policy| policy.candidate = target)
}
