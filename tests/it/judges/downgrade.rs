//! Smuggling through HTTP/2: heads that HTTP/2 can carry but HTTP/1.1 would read differently.
//!
//! In HTTP/2 frames carry the lengths, and fields are strings of any bytes; the mirror writes both in another form for an
//! HTTP/1.1 service. Whatever a client puts into a name, a value or a pseudo-field must become one request or none. The
//! frames are built by hand, because no library would send them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::origin::Origin;
use crate::support::PATIENCE;
use crate::support::process::Place;
use crate::support::service::nobody;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

type Fields = &'static [(&'static str, &'static str)];

/// What replaces or follows the fields of an honest request, its body, its trailers, and whether it may go on.
struct Vector {
    name: &'static str,
    fields: Fields,
    body: Option<&'static str>,
    trailers: Fields,
    forwarded: bool,
}

const fn head(name: &'static str, fields: Fields, forwarded: bool) -> Vector {
    Vector {
        name,
        fields,
        body: None,
        trailers: &[],
        forwarded,
    }
}

const fn body(name: &'static str, fields: Fields, body: &'static str, forwarded: bool) -> Vector {
    Vector {
        name,
        fields,
        body: Some(body),
        trailers: &[],
        forwarded,
    }
}

const VECTORS: &[Vector] = &[
    head("honest", &[], true),
    body(
        "honest, with a body",
        &[("content-length", "4")],
        "body",
        true,
    ),
    body("a body that looks like a request", &[], SMUGGLED, true),
    // === Framing (RFC 9113 §8.1.1, §8.2.2) ===
    body(
        "coding",
        &[("transfer-encoding", "chunked")],
        "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n",
        false,
    ),
    body(
        "length of nothing",
        &[("content-length", "0")],
        SMUGGLED,
        false,
    ),
    body(
        "length that is too small",
        &[("content-length", "5")],
        SMUGGLED,
        false,
    ),
    body(
        "length that is too large",
        &[("content-length", "500")],
        SMUGGLED,
        false,
    ),
    body(
        "two lengths",
        &[("content-length", "4"), ("content-length", "0")],
        "body",
        false,
    ),
    body("signed length", &[("content-length", "+4")], "body", false),
    body(
        "lengths in a list",
        &[("content-length", "4, 4")],
        "body",
        false,
    ),
    head("length without a body", &[("content-length", "36")], false),
    // === Values and names (§8.2.1) ===
    head(
        "line in a value",
        &[("x", "y\r\ntransfer-encoding: chunked")],
        false,
    ),
    head("line feed in a value", &[("x", "y\nz: 1")], false),
    head("carriage return in a value", &[("x", "y\rz")], false),
    head("NUL in a value", &[("x", "y\0z")], false),
    head(
        "request in a value",
        &[("x", "y\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h")],
        false,
    ),
    head(
        "line in a cookie",
        &[("cookie", "a=1"), ("cookie", "b=2\r\nx: y")],
        false,
    ),
    head("colon in a name", &[("x: y", "z")], false),
    head(
        "line in a name",
        &[("x: y\r\ntransfer-encoding", "chunked")],
        false,
    ),
    head("space in a name", &[("x y", "z")], false),
    head("upper case in a name", &[("X", "y")], false),
    head("no name", &[("", "y")], false),
    head(
        "cookies apart",
        &[("cookie", "a=1"), ("cookie", "b=2")],
        true,
    ),
    // === Pseudo-fields (§8.3.1) ===
    head(
        "version in the path",
        &[(":path", "/first HTTP/1.1\r\nx: y\r\n\r\nGET /smuggled")],
        false,
    ),
    head("space in the path", &[(":path", "/first /smuggled")], false),
    head("line feed in the path", &[(":path", "/first\nx")], false),
    head("path without a slash", &[(":path", "first")], false),
    head("URL as the path", &[(":path", "http://i/first")], false),
    head("no path", &[(":path", "")], false),
    head(
        "request as the method",
        &[(":method", "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\nGET")],
        false,
    ),
    head(
        "space in the method",
        &[(":method", "GET /smuggled")],
        false,
    ),
    head("CONNECT with a path", &[(":method", "CONNECT")], false),
    head(
        "line in the authority",
        &[(":authority", "h\r\nx: y")],
        false,
    ),
    head(
        "path in the authority",
        &[(":authority", "h/smuggled")],
        false,
    ),
    head("user in the authority", &[(":authority", "h@i")], false),
    head("two authorities", &[(":authority", "h, i")], false),
    head("space in the authority", &[(":authority", "h i")], false),
    head("line in the scheme", &[(":scheme", "http\r\nx: y")], false),
    head(
        "URL as the scheme",
        &[(":scheme", "http://h/smuggled?")],
        false,
    ),
    head("another Host", &[("host", "i")], false),
    head("the same Host", &[("host", "h")], true),
    head("two Hosts", &[("host", "h"), ("host", "h")], false),
    // === Fields of a connection (§8.2.2) ===
    head("connection", &[("connection", "close")], false),
    head("keep-alive", &[("keep-alive", "timeout=5")], false),
    head(
        "proxy-connection",
        &[("proxy-connection", "keep-alive")],
        false,
    ),
    head("upgrade", &[("upgrade", "websocket")], false),
    head("te of another kind", &[("te", "chunked")], false),
    head("te for trailers", &[("te", "trailers")], true),
    // === Trailers (§8.1) ===
    Vector {
        name: "trailers that would frame",
        fields: &[("trailer", "content-length, host, x")],
        body: Some("body"),
        trailers: &[("content-length", "0"), ("host", "i"), ("x", "y")],
        forwarded: true,
    },
    Vector {
        name: "line in a trailer",
        fields: &[("trailer", "x")],
        body: Some("body"),
        trailers: &[("x", "y\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h")],
        forwarded: false,
    },
    Vector {
        name: "pseudo-field in trailers",
        fields: &[],
        body: Some("body"),
        trailers: &[(":path", "/smuggled")],
        // §8.1 wants it refused. The h2 crate drops the field before the mirror sees it, so it does no harm.
        forwarded: true,
    },
];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len())
        .expect("a small frame")
        .to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Fields as literals without an index (RFC 7541 §6.2.2).
fn block<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(
                u8::try_from(text.len())
                    .ok()
                    .filter(|length| *length < 127)
                    .expect("short"),
            );
            block.extend(text.as_bytes());
        }
    }
    block
}

/// An honest head for a path, with other values for some pseudo-fields and with more fields.
fn head_of(method: &str, path: &str, fields: Fields) -> Vec<u8> {
    let pseudo = [
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "h"),
    ];
    let changed = |name: &str| fields.iter().find(|(other, _)| *other == name);
    let pseudo = pseudo.map(|(name, value)| changed(name).copied().unwrap_or((name, value)));
    let more = fields.iter().filter(|(name, _)| !name.starts_with(':'));
    block(pseudo.into_iter().chain(more.copied()))
}

/// Sends a vector and an honest request after it. Returns whether each got 200; `None` for the latter if the connection
/// ended first.
fn ask(address: SocketAddr, vector: &Vector) -> (bool, Option<bool>) {
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    let method = if vector.body.is_some() { "POST" } else { "GET" };
    let ends = |last: bool| if last { END_STREAM } else { 0 };
    let first = head_of(method, "/first", vector.fields);
    let flags = END_HEADERS | ends(vector.body.is_none());
    bytes.extend(frame(HEADERS, flags, 1, &first));
    if let Some(body) = vector.body {
        let flags = ends(vector.trailers.is_empty());
        bytes.extend(frame(DATA, flags, 1, body.as_bytes()));
    }
    if !vector.trailers.is_empty() {
        let trailers = block(vector.trailers.iter().copied());
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &trailers));
    }
    let after = head_of("GET", "/after", &[]);
    bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 3, &after));
    let mut stream = TcpStream::connect(address).expect("the mirror listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    // The mirror may have closed already, which is an answer, too.
    let _closed = stream.write_all(&bytes);
    let mut answers = [None, None];
    while answers.contains(&None) {
        let mut header = [0; 9];
        if stream.read_exact(&mut header).is_err() {
            break;
        }
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        let mut payload = vec![0; length as usize];
        if stream.read_exact(&mut payload).is_err() || header[3] == GOAWAY {
            break;
        }
        let answer = match header[8] {
            1 => &mut answers[0],
            3 => &mut answers[1],
            _ => continue,
        };
        match header[3] {
            // `:status: 200` of the static table.
            HEADERS if answer.is_none() => *answer = Some(payload.first() == Some(&0x88)),
            RST_STREAM => *answer = Some(false),
            _ => {}
        }
    }
    (answers[0] == Some(true), answers[1])
}

#[test]
fn what_http2_carries_comes_out_as_one_request_or_none() {
    let mut faults = Vec::new();
    for vector in VECTORS {
        let origin = Origin::saying(ANSWER);
        let place = Place::new();
        let mirror = place.mirror(&origin.url(), &nobody(), &["--workers", "1"]);
        let (first, after) = ask(mirror.address, vector);
        let (code, log) = mirror.stop();
        let (heard, broken) = origin.record();
        let mut fault = |what: String| faults.push(format!("{}: {what}", vector.name));
        if code != 0 || log.contains("panicked") {
            fault(format!("the mirror ended with {code}: {log}"));
        }
        if !broken.is_empty() {
            fault(format!("sent to the legacy: {broken:?}"));
        }
        let whole: Vec<_> = heard
            .iter()
            .filter(|one| one.whole)
            .map(|one| one.target.as_str())
            .collect();
        let expected = [
            ("/first", vector.forwarded),
            ("/after", after == Some(true)),
        ];
        let expected = expected
            .iter()
            .filter(|(_, got)| *got)
            .map(|(target, _)| *target);
        let (mut whole, mut expected) = (whole, expected.collect::<Vec<_>>());
        whole.sort_unstable();
        expected.sort_unstable();
        if whole != expected || first != vector.forwarded {
            fault(format!(
                "{first} {after:?}, forwarded {whole:?} instead of {expected:?}"
            ));
        }
        if after == Some(false) {
            fault("the honest request behind it is refused".into());
        }
        for one in &heard {
            let trailers: Vec<_> = one.trailers.iter().map(|(name, _)| name.as_str()).collect();
            if trailers
                .iter()
                .any(|name| ["content-length", "host"].contains(name))
            {
                fault(format!("as trailers: {trailers:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
