//! A store that is full, locked or broken loses records but never counts, and nobody waits for it.

use std::time::{Duration, Instant};

use parity_schemas::record::Record;
use parity_schemas::time::Timestamp;
use parity_sink::write::{Dropped, MAX_RECORD_BYTES};
use parity_sink::{Writer, WriterOptions};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::support::{
    PATIENCE, Store, book, matched, mismatch, mismatched, number, route, wait_until,
};

fn metrics(writer: &Writer) -> Registry {
    let mut registry = Registry::default();
    writer.register(&mut registry);
    registry
}

fn text(registry: &Registry) -> String {
    let mut text = String::new();
    encode(&mut text, registry).expect("writing to a string");
    text
}

#[test]
fn a_full_disk_drops_records_by_count_and_recovers_by_itself() {
    const PAGES: u32 = 400;
    const QUEUE: usize = 32;
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(
        &book,
        WriterOptions {
            max_page_count: Some(PAGES),
            queue_records: QUEUE,
            batch_rows: 8,
            ..WriterOptions::default()
        },
    );
    let registry = metrics(&writer);
    // Another table takes most of the disk.
    let neighbour = store.sql();
    neighbour
        .execute_batch(
            "CREATE TABLE neighbour (bytes); INSERT INTO neighbour VALUES (zeroblob(1200000))",
        )
        .expect("there is room for it");

    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    matched(&recorder, &route);
    wait_until("the first count is stored", || store.received() == 1);
    let (mut taken, mut dropped) = (0, 0);
    let mut send_until = |what: &str, done: &mut dyn FnMut(u64) -> bool| {
        wait_until(what, || {
            matched(&recorder, &route);
            match sender.send(mismatched(&recorder, &route, 20_000)) {
                Ok(()) => taken += 1,
                Err(reason) => {
                    assert_eq!(reason, Dropped::QueueFull);
                    dropped += 1;
                }
            }
            done(dropped)
        });
    };
    send_until("the disk is full", &mut |_| {
        writer.health().failure.is_some()
    });
    let failure = writer.health().failure.expect("it is still full");
    assert!(failure.message.contains("full"), "{}", failure.message);
    send_until("records are dropped", &mut |dropped| dropped >= 100);
    let health = writer.health();
    assert_eq!(health.dropped_records, dropped);
    assert!(health.queued_records as usize >= QUEUE);
    assert!(store.received() > 0, "readers read on");

    neighbour
        .execute_batch("DROP TABLE neighbour")
        .expect("room again");
    wait_until("the store works again", || {
        let health = writer.health();
        health.failure.is_none() && health.queued_records == 0
    });
    matched(&recorder, &route);
    let metrics = text(&registry);
    let line = format!("parity_sink_dropped_total{{reason=\"queue_full\"}} {dropped}");
    assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    assert!(metrics.contains("parity_sink_queue_depth 0"), "{metrics}");
    assert!(
        !metrics.contains("parity_sink_write_errors_total 0"),
        "{metrics}"
    );

    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!(finished.records_dropped, dropped);
    assert_eq!((finished.unwritten_tallies, finished.failure), (0, None));
    let report = store.report();
    assert_eq!(report.counts.mismatch, taken + dropped);
    assert_eq!(report.counts.matched, taken + dropped + 2);
    assert_eq!(report.counts.received, report.counts.settled());
    let stored = number(&store.sql(), "SELECT count(*) FROM mismatches");
    assert_eq!(stored, i64::try_from(taken).expect("few"));
}

#[test]
fn a_lock_of_another_process_is_waited_out_without_a_loss() {
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    let other = store.sql();
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let began = Instant::now();
    for _ in 0..1_000 {
        sender
            .send(mismatched(&recorder, &route, 0))
            .expect("there is room");
    }
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "senders never wait"
    );
    wait_until("the lock is noticed", || writer.health().failure.is_some());
    let failure = writer.health().failure.expect("it is still locked");
    assert!(failure.message.contains("locked"), "{}", failure.message);
    other
        .execute_batch("COMMIT")
        .expect("the lock is given back");
    wait_until("everything is written", || {
        writer.health().failure.is_none() && store.received() == 1_000
    });
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!(finished.records_dropped, 0);
    let stored = number(&store.sql(), "SELECT count(*) FROM mismatches");
    assert_eq!(stored, 1_000);
}

#[test]
fn finishing_keeps_its_deadline_and_says_what_is_lost() {
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    let other = store.sql();
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    for _ in 0..10 {
        sender
            .send(mismatched(&recorder, &route, 0))
            .expect("there is room");
    }
    let began = Instant::now();
    let finished = writer
        .finish(Duration::from_millis(300))
        .expect("the writer ends");
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(
        (finished.records_dropped, finished.unwritten_tallies),
        (10, 1)
    );
    let failure = finished.failure.expect("the lock");
    assert!(failure.contains("locked"), "{failure}");
    let late = Record::Mismatch(Box::new(mismatch("f00d", Timestamp::now(), 0)));
    assert_eq!(sender.send(late), Err(Dropped::Closed));
}

#[test]
fn finishing_keeps_its_deadline_while_a_write_waits_for_a_lock() {
    let store = Store::new();
    // Created beforehand, so that opening it takes no lock.
    store.fill([]);
    let other = store.sql();
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let book = book("here");
    let (recorder, route) = (book.recorder(book.generation()), route());
    matched(&recorder, &route);
    // The first write begins as soon as the store is open, and waits for the lock.
    let writer = store.writer(&book, WriterOptions::default());
    let finished = writer
        .finish(Duration::from_millis(300))
        .expect("the writer ends");
    assert_eq!(finished.unwritten_tallies, 1);
    let failure = finished.failure.expect("the lock");
    assert!(failure.contains("locked"), "{failure}");
}

#[test]
fn the_queue_is_bounded_by_bytes_and_a_huge_record_loses_its_sample() {
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(
        &book,
        WriterOptions {
            queue_bytes: 1 << 20,
            ..WriterOptions::default()
        },
    );
    let sender = writer.handle();
    let other = store.sql();
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let send = |body: usize| {
        let record = mismatch("f00d", Timestamp::now(), body);
        sender.send(Record::Mismatch(Box::new(record)))
    };
    assert_eq!(send(2 * MAX_RECORD_BYTES), Ok(()), "without its sample");
    assert_eq!(send(800_000), Ok(()));
    assert_eq!(send(800_000), Err(Dropped::QueueBytes));
    let mut huge = mismatch("f00d", Timestamp::now(), 0);
    huge.path = "x".repeat(2 * MAX_RECORD_BYTES);
    let huge = Record::Mismatch(Box::new(huge));
    assert_eq!(sender.send(huge), Err(Dropped::TooLarge));
    other
        .execute_batch("COMMIT")
        .expect("the lock is given back");
    wait_until("there is room again", || {
        writer.health().queued_records == 0 && send(800_000).is_ok()
    });
    writer.finish(PATIENCE).expect("the writer ends");
    let sql = store.sql();
    assert_eq!(number(&sql, "SELECT count(*) FROM mismatches"), 3);
    assert_eq!(number(&sql, "SELECT count(sample) FROM mismatches"), 2);
}

#[test]
fn what_is_counted_is_stored_within_moments_without_being_asked_for() {
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    let (recorder, route) = (book.recorder(book.generation()), route());
    for expected in 1..5 {
        matched(&recorder, &route);
        wait_until("the tally is stored", || store.received() == expected);
    }
    assert!(writer.health().last_write.is_some());
    drop(writer);
    assert_eq!(store.received(), 4);
}
