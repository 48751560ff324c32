//! What comes into ClickHouse in the middle of a page: between a reader and the server stands a relay that writes before a question is
//! passed on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parity_schemas::record::Record;
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, Selection, StoreConfig, StoreUrl};

use crate::blocks;
use crate::servers::ClickHouse;
use crate::support::{fill, with_tables};

const MINUTE: i64 = 60_000_000;

/// One request as it came, with the end of its connection demanded.
fn request(from: &TcpStream) -> Option<Vec<u8>> {
    let mut from = BufReader::new(from);
    let mut line = String::new();
    from.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut head = format!("{line}connection: close\r\n");
    let (mut length, mut is_chunked) = (0, false);
    loop {
        line.clear();
        from.read_line(&mut line).ok()?;
        head.push_str(&line);
        let lower = line.to_ascii_lowercase();
        if let Some(text) = lower.strip_prefix("content-length:") {
            length = text.trim().parse().ok()?;
        }
        is_chunked |= lower.starts_with("transfer-encoding:");
        if line == "\r\n" {
            break;
        }
    }
    let mut whole = head.into_bytes();
    while is_chunked {
        line.clear();
        from.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; size + 2];
        from.read_exact(&mut chunk).ok()?;
        whole.extend_from_slice(line.as_bytes());
        whole.extend_from_slice(&chunk);
        is_chunked = size > 0;
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    whole.extend_from_slice(&body);
    Some(whole)
}

/// Stands before the server of a store: `before` is called with each question that is passed on.
fn relayed(store: &StoreConfig, before: impl Fn(&str) + Send + Sync + 'static) -> StoreConfig {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut through = store.clone();
    let StoreUrl::ClickHouse(url) = &mut through.url else {
        panic!("it is a ClickHouse");
    };
    let server = ("127.0.0.1", url.port);
    url.port = listener.local_addr().expect("bound").port();
    let before = Arc::new(before);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let before = Arc::clone(&before);
            std::thread::spawn(move || {
                let mut client = client;
                let Some(question) = request(&client) else {
                    return;
                };
                before(&String::from_utf8_lossy(&question));
                let mut passed_on = TcpStream::connect(server).expect("the server");
                passed_on.write_all(&question).expect("it is passed on");
                let _ended = std::io::copy(&mut passed_on, &mut client);
            });
        }
    });
    through
}

/// Case 1: the parts of the tallies were looked at before the watermarks were asked for. The counts that were kept of these parts then
/// passed for all that the newer watermarks say.
#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn counts_are_never_older_than_the_watermarks_that_they_are_judged_by() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let now = Timestamp::now().as_micros() / MINUTE;
    let (first, more) = (now - 60..now - 30, now - 30..now - 10);
    let watermarks = |minutes: std::ops::Range<i64>, revision| {
        let mut records = blocks::watermarks(minutes, now);
        for record in &mut records {
            if let Record::Watermark(watermark) = record {
                watermark.revision = revision;
                watermark.counted_from = Timestamp::from_micros((now - 60) * MINUTE);
            }
        }
        records
    };
    let counts: Vec<Record> = first.clone().flat_map(blocks::minute).collect();
    fill(&store, &counts);
    fill(&store, &watermarks(first.clone(), 10));
    let is_armed = Arc::new(AtomicBool::new(false));
    let through = relayed(&store, {
        let (store, is_armed) = (store.clone(), Arc::clone(&is_armed));
        let come: Vec<Record> = more.clone().flat_map(blocks::minute).collect();
        let newer = watermarks(first.start..more.end, 12);
        move |question| {
            if question.contains("FROM watermarks") && is_armed.swap(false, Ordering::SeqCst) {
                fill(&store, &come);
                fill(&store, &newer);
            }
        }
    })
    .remembering();
    let read = || {
        let reader = Reader::open(&through).expect("it opens");
        let evidence = reader.evidence(&Selection::default()).expect("it is read");
        let evidence = evidence.expect("it is there");
        let counted: u64 = evidence
            .routes
            .iter()
            .map(|route| route.counts.received)
            .sum();
        let said: u64 = evidence
            .runs
            .iter()
            .filter_map(|run| run.watermark.as_ref())
            .map(|watermark| watermark.received)
            .sum();
        (counted, said)
    };
    let before = read();
    assert_eq!(before.0, before.1);
    assert_eq!(read(), before);
    // Otherwise the watermarks are kept, too, and nobody asks for them.
    fill(&store, &watermarks(first, 11));
    is_armed.store(true, Ordering::SeqCst);
    let after = read();
    assert!(!is_armed.load(Ordering::SeqCst), "nobody asked");
    assert!(after.1 > before.1, "{after:?}");
    assert_eq!(after.0, after.1);
}
