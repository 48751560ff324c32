//! What retention removes by age and by size, and what it keeps.

use std::time::Duration;

use parity_schemas::id::new_id;
use parity_schemas::record::Record;
use parity_schemas::time::Timestamp;
use parity_sink::WriterOptions;
use parity_sink::write::Retention;

use crate::support::{Store, book, group_tally, mismatch, number, tally, wait_until};

fn days_ago(days: i64) -> Timestamp {
    Timestamp::now().saturating_add_micros(-days * 86_400_000_000)
}

fn of(record: parity_schemas::record::Mismatch) -> Record {
    Record::Mismatch(Box::new(record))
}

#[test]
fn samples_go_first_then_rows_then_tallies_and_decisions_never() {
    let store = Store::new();
    let mut records = Vec::new();
    // Enough rows of each for several steps.
    for _ in 0..700 {
        records.push(of(mismatch("fresh", days_ago(13), 50)));
        records.push(of(mismatch("slim", days_ago(15), 50)));
        records.push(of(mismatch("gone", days_ago(91), 50)));
        let old = tally("GET /old", days_ago(401), 1);
        let group = group_tally(&old, "gone", 1, new_id());
        records.push(Record::GroupTally(Box::new(group)));
        records.push(Record::Tally(Box::new(old)));
    }
    records.push(Record::Tally(Box::new(tally("GET /new", days_ago(399), 5))));
    let mut decision = crate::opening::decision();
    decision.time = days_ago(4_000);
    records.push(Record::Decision(Box::new(decision)));
    store.fill(records);

    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    let sql = store.sql();
    wait_until("old tallies are gone", || {
        number(&sql, "SELECT count(*) FROM tallies") == 1
    });
    let count = |filter: &str| {
        number(
            &sql,
            &format!("SELECT count(*) FROM mismatches WHERE {filter}"),
        )
    };
    assert_eq!(
        count("fingerprints = '[\"fresh\"]' AND sample IS NOT NULL"),
        700
    );
    assert_eq!(count("fingerprints = '[\"slim\"]' AND sample IS NULL"), 700);
    assert_eq!(count("true"), 1_400);
    assert_eq!(number(&sql, "SELECT count(*) FROM group_tallies"), 0);
    assert_eq!(number(&sql, "SELECT count(*) FROM decisions"), 1);
    drop(writer);
}

pub(crate) fn used_bytes(store: &Store) -> i64 {
    let sql = store.sql();
    (number(&sql, "PRAGMA page_count") - number(&sql, "PRAGMA freelist_count"))
        * number(&sql, "PRAGMA page_size")
}

fn with_limit(max_bytes: u64) -> WriterOptions {
    WriterOptions {
        retention: Retention {
            max_bytes,
            ..Retention::default()
        },
        ..WriterOptions::default()
    }
}

#[test]
fn a_store_that_is_too_large_loses_its_oldest_samples_and_then_rows_but_no_tally() {
    const LIMIT: i64 = 4 << 20;
    let store = Store::new();
    let mut records: Vec<_> = (0..800_i64)
        .map(|number| {
            let time = Timestamp::now().saturating_add_micros(number - 10_000);
            of(mismatch("f00d", time, 20_000))
        })
        .collect();
    records.push(Record::Tally(Box::new(tally(
        "GET /a",
        Timestamp::now(),
        5,
    ))));
    store.fill(records);
    assert!(used_bytes(&store) > 3 * LIMIT);

    let book = book("here");
    let writer = store.writer(&book, with_limit(LIMIT as u64));
    wait_until("it is within the limit", || used_bytes(&store) <= LIMIT);
    drop(writer);
    let sql = store.sql();
    assert_eq!(number(&sql, "SELECT count(*) FROM mismatches"), 800);
    let kept = number(&sql, "SELECT count(sample) FROM mismatches");
    assert!((50..400).contains(&kept), "{kept} samples are kept");
    let newest =
        "SELECT count(sample) FROM (SELECT sample FROM mismatches ORDER BY time DESC LIMIT ";
    assert_eq!(
        number(&sql, &format!("{newest}{kept})")),
        kept,
        "the newest"
    );

    let writer = store.writer(&book, with_limit(1));
    wait_until("nothing but tallies is left", || {
        number(&sql, "SELECT count(*) FROM mismatches") == 0
    });
    drop(writer);
    assert_eq!(store.received(), 5);
}

#[test]
fn freed_space_goes_back_to_the_file_system_while_inserts_go_on() {
    let store = Store::new();
    let records = (0..1_500).map(|_| of(mismatch("f00d", days_ago(20), 20_000)));
    store.fill(records);
    let before = store.path.metadata().expect("a file").len();
    assert!(before > 25 << 20);
    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    let (sender, sql) = (writer.handle(), store.sql());
    wait_until("pages are given back", || {
        sender
            .send(of(mismatch("new", Timestamp::now(), 0)))
            .expect("there is room");
        number(&sql, "PRAGMA page_count") * 4_096 < 20 << 20
    });
    drop(writer);
    assert!(store.path.metadata().expect("a file").len() < 20 << 20);
    assert_eq!(number(&sql, "SELECT count(sample) FROM mismatches"), 0);
    assert_eq!(Retention::default().samples, Duration::from_hours(14 * 24));
}
