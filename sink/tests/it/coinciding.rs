//! Groups that contain the same exchanges, and only those, are one entry of the report, decided from tallies alone.

use std::collections::BTreeMap;

use parity_schemas::clickhouse::{Layout, VERSION, migrations, record_version, version_table};
use parity_schemas::digest::ExchangeDigest;
use parity_schemas::id::new_id;
use parity_schemas::record::{Mismatch, Record};
use parity_schemas::report::Report;
use parity_schemas::sqlite;
use parity_schemas::tally::{Group, Tally};
use parity_schemas::time::Timestamp;
use parity_sink::tally::Sighting;
use parity_sink::write::Retention;
use parity_sink::{Reader, Selection, StoreConfig, StoreUrl, WriterOptions, apply_schema};

use crate::servers::ClickHouse;
use crate::support::{
    PATIENCE, Store, book, fill, group, group_tally, mismatch, number, route, tally, with_tables,
};

/// `FIRST COUNT + OTHER…` of each entry, the most frequent first.
fn told(report: &Report) -> Vec<String> {
    report
        .groups
        .iter()
        .map(|group| {
            let mut line = format!("{} {}", group.fingerprint, group.count);
            for other in &group.also {
                line.push_str(" + ");
                line.push_str(&other.fingerprint);
            }
            line
        })
        .collect()
}

fn at(pattern: &str) -> Group {
    Group {
        pattern: format!("/{pattern}"),
        ..group(pattern)
    }
}

/// A mismatch with a finding of each group.
fn found_in(patterns: &[&str], time: Timestamp) -> Mismatch {
    let mut record = mismatch(patterns[0], time, 0);
    let finding = record.findings[0].clone();
    record.fingerprints = patterns.iter().map(|name| (*name).to_owned()).collect();
    record.findings = patterns
        .iter()
        .map(|name| parity_schemas::record::RecordedFinding {
            fingerprint: (*name).to_owned(),
            path: format!("/{name}"),
            legacy: Some(format!("\"{name}\"")),
            ..finding.clone()
        })
        .collect();
    record
}

#[test]
fn what_always_differs_together_is_one_group_and_the_example_shows_all_of_it() {
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    let sender = writer.handle();
    // Two threads, whose counts are added up.
    let recorders = [
        book.recorder(book.generation()),
        book.recorder(book.generation()),
    ];
    for number in 0..30_usize {
        let patterns: &[&str] = match number % 3 {
            0 => &["error", "code", "rare"],
            1 => &["code", "error"],
            _ => &["often", "rare", "rare"],
        };
        let record = found_in(patterns, Timestamp::now());
        let groups: Vec<Group> = patterns.iter().map(|pattern| at(pattern)).collect();
        let recorder = &recorders[number % 2];
        recorder.received(&route());
        recorder.mismatch(
            &route(),
            1,
            1,
            &Sighting::unconfirmed(record.id, record.time, &groups),
        );
        let record = Record::Mismatch(Box::new(record));
        sender.send(record).expect("there is room");
    }
    writer.finish(PATIENCE).expect("the writer ends");
    let report = store.report();
    // `rare` has as many mismatches as the other two, but not the same ones.
    let mut lines = told(&report);
    lines.sort_unstable();
    assert_eq!(lines, ["code 20 + error", "often 10", "rare 20"]);
    let code = &report.groups[0];
    assert_eq!(code.also[0].pattern, "/error");
    let example = code.also[0].example.as_ref().expect("it was stored");
    assert_eq!(example.legacy.as_deref(), Some("\"error\""));
    assert_eq!(
        Some(&example.target),
        code.example.as_ref().map(|own| &own.target)
    );

    let digests = "SELECT sum(exchange_digest) FROM group_tallies WHERE fingerprint";
    let sql = store.sql();
    let sum = |name: &str| number(&sql, &format!("{digests} = '{name}'"));
    assert_eq!(sum("code"), sum("error"));
    assert_ne!(sum("code"), sum("rare"));
}

/// A tally of `GET /a` a minute or more ago.
fn minute(ago: i64) -> Tally {
    let minute = Timestamp::now().as_micros() / 60_000_000 - ago;
    tally("GET /a", Timestamp::from_micros(minute * 60_000_000), 100)
}

/// Rows of groups: tally, group, count, digest.
fn rows(of: &[(&Tally, &str, u64, u32)]) -> Vec<Record> {
    let mut tallies = BTreeMap::new();
    let mut records = Vec::new();
    for (tally, name, count, digest) in of {
        let mut row = group_tally(tally, name, *count, new_id());
        row.group = at(name);
        row.exchange_digest = ExchangeDigest::from_number(*digest);
        records.push(Record::GroupTally(Box::new(row)));
        tallies.insert(tally.id, *tally);
    }
    records.extend(tallies.into_values().map(|tally| {
        let mut tally = tally.clone();
        tally.counts.received = 100;
        Record::Tally(Box::new(tally))
    }));
    records
}

/// Counts of two intervals and two routes, and the entries expected for them.
fn intervals() -> (Vec<Record>, [&'static str; 7]) {
    let (first, second) = (minute(9), minute(5));
    let mut elsewhere = minute(9);
    "GET /b".clone_into(&mut elsewhere.route);
    let rows = rows(&[
        (&first, "sum", 20, 4_000_000_000),
        (&second, "sum", 22, 4_000_000_000),
        (&first, "same", 20, 4_000_000_000),
        (&second, "same", 22, 4_000_000_000),
        // The same digest with another count; the same count with another digest.
        (&first, "more", 21, 4_000_000_000),
        (&second, "more", 22, 4_000_000_000),
        (&first, "late", 20, 4_000_000_000),
        (&second, "late", 22, 4_000_000_001),
        // Of an older program, in both intervals or in one.
        (&first, "old", 20, 0),
        (&second, "old", 22, 0),
        (&first, "half", 20, 0),
        (&second, "half", 22, 4_000_000_000),
        (&first, "other", 20, 0),
        (&second, "other", 22, 4_000_000_000),
        (&elsewhere, "away", 42, 4_000_000_000),
    ]);
    let told = [
        "away 42",
        "half 42",
        "late 42",
        "more 43",
        "old 42",
        "other 42",
        "sum 42 + same",
    ];
    (rows, told)
}

fn check(report: &Report, expected: [&str; 7]) {
    let mut told = told(report);
    told.sort_unstable();
    assert_eq!(told, expected);
}

#[test]
fn digests_add_up_over_intervals_and_unknown_ones_coincide_with_nothing() {
    let store = Store::new();
    let (records, expected) = intervals();
    store.fill(records);
    check(&store.report(), expected);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn digests_add_up_in_clickhouse_too() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let (records, expected) = intervals();
    fill(&store, &records);
    let report = Reader::open(&store)
        .expect("it opens")
        .report(&Selection::default())
        .expect("it is read");
    check(&report, expected);
}

#[test]
fn a_store_of_an_older_program_is_brought_up_to_date_and_its_groups_stay_apart() {
    let store = Store::new();
    let start = minute(9);
    store.fill(rows(&[(&start, "one", 20, 7), (&start, "two", 20, 7)]));
    store.undo_steps();
    store
        .sql()
        .execute_batch(
            "DROP TABLE set_tallies; DROP TABLE terms; ALTER TABLE group_tallies DROP COLUMN exchange_digest; ALTER TABLE tallies DROP COLUMN clients; \
             ALTER TABLE tallies DROP COLUMN legacy_head_latency; \
             ALTER TABLE tallies DROP COLUMN candidate_head_latency; ALTER TABLE tallies DROP COLUMN run; \
             ALTER TABLE tallies DROP COLUMN legacy_answers; DROP TABLE watermarks; PRAGMA user_version = 2",
        )
        .expect("what version 2 left");
    let error = Reader::open(&store.url).err().expect("refused");
    assert!(
        error.to_string().contains("start `parity mirror`"),
        "{error}"
    );
    let later = minute(5);
    store.fill(rows(&[(&later, "three", 5, 7), (&later, "four", 5, 7)]));
    assert_eq!(
        number(&store.sql(), "PRAGMA user_version"),
        i64::from(sqlite::VERSION)
    );
    let mut told = told(&store.report());
    told.sort_unstable();
    assert_eq!(told, ["four 5 + three", "one 20", "two 20"]);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn tables_of_an_older_program_are_brought_up_to_date_and_their_groups_stay_apart() {
    let database = ClickHouse::shared().database();
    let store = StoreConfig::from(database.url().parse::<StoreUrl>().expect("a URL"));
    let made = ClickHouse::shared().ask("default", &format!("CREATE DATABASE {}", database.name));
    assert!(made.is_ok(), "{made:?}");
    for statement in version_table(&Layout::Single) {
        database.sql(&statement);
    }
    for statement in &migrations(&Layout::Single)[0].statements {
        database.sql(statement);
    }
    database.sql(&record_version(1, "older"));
    database.sql(
        "INSERT INTO group_tallies (tally_id, revision, migration, legacy_version, candidate_version, rules_hash, \
         interval_start, route, fingerprint, part, pattern, kind, count, first_seen, last_seen) \
         SELECT toUUID('01930000-0000-7000-8000-000000000001'), 1, 'default', 'go-1', 'rust-1', 'abc', \
         now64(6) - 600, 'GET /a', arrayJoin(['one', 'two']), 'body', '/x', 'value', 20, now64(6) - 600, now64(6) - 600",
    );
    let error = Reader::open(&store).err().expect("refused");
    assert!(error.to_string().contains("parity schema apply"), "{error}");
    let applied = apply_schema(&store, &Layout::Single, &Retention::default()).expect("applied");
    assert_eq!((applied.from, applied.to), (1, VERSION));
    let later = minute(5);
    fill(
        &store,
        &rows(&[(&later, "three", 5, 7), (&later, "four", 5, 7)]),
    );
    let report = Reader::open(&store)
        .expect("it opens")
        .report(&Selection::default())
        .expect("it is read");
    let mut told = told(&report);
    told.sort_unstable();
    assert_eq!(told, ["four 5 + three", "one 20", "two 20"]);
    assert_eq!(
        database.number("SELECT sum(exchange_digest) FROM group_tallies_final"),
        14
    );
}
