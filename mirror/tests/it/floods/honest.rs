//! Unusual but honest candidates: none is treated as a flood.

use std::fmt::Write as _;

use super::frames::{self, Frames};
use super::{CHUNKED, legacy};
use crate::support::authority::Authority;
use crate::support::service::Conn;
use crate::support::{Next, Rig, Service, ok};

/// Every one of `count` requests becomes an exchange; the candidate's body has so many bytes.
fn check(name: &str, rig: Rig, bytes: usize, count: usize) {
    let mirror = rig
        .limits(|limits| limits.candidate_deadline = crate::support::PATIENCE)
        .start();
    let mut client = mirror.client();
    for number in 1..=count {
        assert_eq!(client.get("/").text(), "the legacy's");
        let reasons = mirror.ledger.reasons(number);
        assert_eq!(reasons, [], "{name}, request {number}");
    }
    for exchange in mirror.ledger.exchanges(count) {
        assert_eq!(exchange.candidate.body.len(), bytes, "{name}");
    }
}

fn check_http1(
    name: &str,
    bytes: usize,
    answer: impl Fn(&mut Conn) -> bool + Send + Sync + 'static,
) {
    let candidate = Service::new(move |_, conn| {
        if answer(conn) {
            Next::Keep
        } else {
            Next::Close
        }
    });
    check(name, Rig::new(&legacy(), &candidate), bytes, 5);
}

fn chunks(sizes: impl Iterator<Item = usize>) -> (String, usize) {
    let (mut text, mut total) = (CHUNKED.to_owned(), 0);
    for size in sizes {
        write!(text, "{size:x}\r\n{}\r\n", "x".repeat(size)).expect("a string");
        total += size;
    }
    (text + "0\r\n\r\n", total)
}

#[test]
fn chunks_as_encoders_flush_them() {
    let lines = (0..8000).map(|number| 50 + number % 151);
    let rows_and_commas = (0..16_000).map(|number| if number % 2 == 0 { 60 } else { 1 });
    let few_words = (0..1500).map(|number| 1 + number % 7);
    let short_rows = (0..20_000).map(|_| 17);
    for (name, (text, bytes)) in [
        ("lines", chunks(lines)),
        ("rows and commas", chunks(rows_and_commas)),
        ("few words", chunks(few_words)),
        ("short rows", chunks(short_rows)),
    ] {
        check_http1(name, bytes, move |conn| conn.say(&text));
    }
}

#[test]
fn a_segment_for_each_line() {
    check_http1("a segment for each line", 100 * 100, |conn| {
        conn.say("HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n");
        (0..100).all(|_| conn.say("x".repeat(100)))
    });
}

#[test]
fn an_answer_that_is_written_byte_by_byte() {
    let answer = ok("{\"id\":1,\"name\":\"a\"}");
    check_http1("byte by byte", 19, move |conn| {
        answer.as_bytes().iter().all(|byte| conn.say([*byte]))
    });
}

#[test]
fn heads_that_are_large_and_bodies_that_are_not() {
    let fields = format!("x-many: {}\r\n", "y".repeat(1000)).repeat(60);
    let answer = format!("HTTP/1.1 200 OK\r\n{fields}content-length: 2\r\n\r\n{{}}");
    check_http1("a head of 60 KB", 2, move |conn| conn.say(&answer));
    check_http1("no body", 0, |conn| {
        conn.say("HTTP/1.1 204 No Content\r\n\r\n")
    });
}

#[test]
fn some_interim_answers() {
    let link = format!("link: </{}>; rel=preload\r\n", "a".repeat(5000));
    let hints = format!("HTTP/1.1 103 Early Hints\r\n{link}\r\n").repeat(4);
    let processing = "HTTP/1.1 102 Processing\r\n\r\n".repeat(100);
    let answer = format!("{processing}{hints}{}", ok("done"));
    check_http1("interim answers", 4, move |conn| conn.say(&answer));
}

#[test]
fn a_record_of_tls_for_each_line() {
    let authority = Authority::new();
    let candidate = Service::tls_with(authority.server(&[]), |_, conn| {
        conn.say(CHUNKED);
        for _ in 0..4000 {
            conn.say(format!("32\r\n{}\r\n", "x".repeat(50)));
        }
        conn.say("0\r\n\r\n");
        Next::Keep
    });
    let rig = Rig::new(&legacy(), &candidate).ca_file(authority.file.clone());
    check("a record for each line", rig, 4000 * 50, 3);
}

#[test]
fn small_frames_of_http2() {
    // As a server does that measures the bandwidth, and gives back what it read at once.
    let chatty = Frames::new(|stream, conn| {
        let mut answer = frames::head(stream);
        // As much as may come before it is asked for more.
        for _ in 0..700 {
            answer.extend(frames::data(stream, &[b'x'; 80], false));
            answer.extend(frames::ping());
            answer.extend(frames::window(0));
        }
        answer.extend(frames::data(stream, b"", true));
        conn.say(answer);
    });
    check("chatty", frames::rig(&legacy(), chatty.url()), 56_000, 5);
}

#[test]
fn a_connection_of_http2_that_is_used_for_long() {
    // None of these has any payload.
    let empty = Frames::new(|stream, conn| {
        conn.say(
            [
                frames::ping(),
                frames::head(stream),
                frames::data(stream, b"", true),
            ]
            .concat(),
        );
    });
    check("no payload", frames::rig(&legacy(), empty.url()), 0, 5000);
}
