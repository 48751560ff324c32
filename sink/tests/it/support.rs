//! Shared by the tests: a store in a temporary folder, records, and waiting for a condition.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parity_schemas::clickhouse::Layout;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::field_share::FieldCount;
use parity_schemas::id::new_id;
use parity_schemas::record::{
    Mismatch, Record, RecordType, RecordedFinding, RecordedMessage, Sample,
};
use parity_schemas::report::Report;
use parity_schemas::route::Route;
use parity_schemas::tally::{Counts, Group, GroupTally, Identity, Tally};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Part};
use parity_sink::tally::Sighting;
use parity_sink::write::Retention;
use parity_sink::{
    OutcomeRecorder, Reader, Selection, StoreConfig, StoreUrl, TallyBook, TallyConfig, Writer,
    WriterOptions, apply_schema,
};
use rusqlite::Connection;
use tempfile::TempDir;
use uuid::Uuid;

use crate::servers::Database;

/// Far longer than anything here takes, so that a slow machine is no failure.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Store {
    _folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) url: StoreConfig,
}

impl Store {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let path = folder.path().join("parity.db");
        Self {
            url: StoreUrl::Sqlite(path.clone()).into(),
            path,
            _folder: folder,
        }
    }

    pub(crate) fn writer(&self, book: &Arc<TallyBook>, options: WriterOptions) -> Writer {
        Writer::open(&self.url, Arc::clone(book), options).expect("a new store opens")
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.url).expect("the store is there")
    }

    pub(crate) fn report(&self) -> Report {
        self.reader()
            .report(&Selection::default())
            .expect("the report is read")
    }

    /// `received` as stored; 0 while there is nothing.
    pub(crate) fn received(&self) -> u64 {
        self.report().counts.received
    }

    /// A separate connection to the file.
    pub(crate) fn sql(&self) -> Connection {
        let connection = Connection::open(&self.path).expect("the file opens");
        connection
            .busy_timeout(PATIENCE)
            .expect("a time-out is set");
        connection
    }

    /// Drops the columns that later steps added, as in a store of an older program.
    pub(crate) fn undo_steps(&self) {
        // It has some of them, and comes back with the last file.
        self.sql()
            .execute_batch("DROP INDEX tallies_by_identity")
            .expect("it is there");
        for record in RecordType::ALL {
            let added = record.columns().iter().filter(|column| column.since > 0);
            for column in added {
                let (table, name) = (record.table(), column.name);
                self.sql()
                    .execute_batch(&format!("ALTER TABLE {table} DROP COLUMN \"{name}\""))
                    .expect("it is there");
            }
        }
    }

    /// Writes records only, without retention.
    pub(crate) fn fill(&self, records: impl IntoIterator<Item = Record>) {
        let keeps_all = WriterOptions {
            retention: Retention {
                samples: Duration::MAX,
                mismatches: Duration::MAX,
                tallies: Duration::MAX,
                max_bytes: u64::MAX,
            },
            ..WriterOptions::default()
        };
        let writer = self.writer(&filler(), keeps_all);
        let sender = writer.handle();
        for record in records {
            wait_until("the queue takes a record", || {
                sender.send(record.clone()).is_ok()
            });
        }
        let report = writer.finish(PATIENCE).expect("the writer ends");
        assert_eq!(report.failure, None);
    }
}

/// A ClickHouse database with the tables in it.
pub(crate) fn with_tables(database: &Database<'_>) -> StoreConfig {
    let store = StoreConfig::from(database.url().parse::<StoreUrl>().expect("a URL"));
    apply_schema(&store, &Layout::Single, &Retention::default()).expect("it is applied");
    store
}

/// Writes records into any store, and ends.
pub(crate) fn fill(store: &StoreConfig, records: &[Record]) {
    let writer = Writer::open(store, filler(), WriterOptions::default()).expect("the store opens");
    let sender = writer.handle();
    for record in records {
        wait_until("the queue takes a record", || {
            sender.send(record.clone()).is_ok()
        });
    }
    let report = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!(report.failure, None);
    assert_eq!(report.unwritten_tallies, 0);
}

pub(crate) fn number(connection: &Connection, sql: &str) -> i64 {
    connection
        .query_row(sql, (), |row| row.get(0))
        .expect("a query of the test's own")
}

pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

pub(crate) fn identity() -> Identity {
    Identity {
        migration: "default".to_owned(),
        legacy_version: "go-1".to_owned(),
        candidate_version: "rust-1".to_owned(),
        rules_hash: "abc".to_owned(),
    }
}

pub(crate) fn book(instance: &str) -> Arc<TallyBook> {
    TallyBook::new(TallyConfig::new(
        identity(),
        instance,
        vec!["updated-at".to_owned()],
    ))
}

/// Of a writer that only brings records into a store. Its own run is of another migration, or it would be what was last
/// in force.
fn filler() -> Arc<TallyBook> {
    let identity = Identity {
        migration: "filler".to_owned(),
        ..identity()
    };
    TallyBook::new(TallyConfig::new(identity, "filler", Vec::new()))
}

pub(crate) fn route() -> Arc<Route> {
    Arc::new(Route::new("GET /users/{id}"))
}

pub(crate) fn group(fingerprint: &str) -> Group {
    Group {
        fingerprint: fingerprint.to_owned(),
        part: Part::Body,
        pattern: "/balance".to_owned(),
        kind: Kind::Value,
        explanation: None,
        shape: String::new(),
        legacy_status: 200,
        candidate_status: 200,
    }
}

/// A mismatch of one group whose sample has a body of `body` bytes; without a sample for 0.
pub(crate) fn mismatch(fingerprint: &str, time: Timestamp, body: usize) -> Mismatch {
    let message = || RecordedMessage {
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: "x".repeat(body),
        body_bytes: body as u64,
        body_cut: false,
    };
    let sample = (body > 0).then(|| Sample {
        request: RecordedMessage {
            body: String::new(),
            ..message()
        },
        legacy: RecordedMessage {
            body: String::new(),
            ..message()
        },
        candidate: message(),
    });
    Mismatch {
        id: new_id(),
        identity: identity(),
        time,
        instance: "here".to_owned(),
        route: "GET /users/{id}".to_owned(),
        method: "GET".to_owned(),
        path: "/users/7".to_owned(),
        query: "page=2".to_owned(),
        fingerprints: vec![fingerprint.to_owned()],
        findings: vec![RecordedFinding {
            fingerprint: fingerprint.to_owned(),
            part: Part::Body,
            path: "/balance".to_owned(),
            candidate_path: None,
            pattern: "/balance".to_owned(),
            kind: Kind::Value,
            legacy: Some("12.50".to_owned()),
            candidate: Some("12.51".to_owned()),
            explanation: None,
            text_diff: None,
        }],
        legacy_status: 200,
        candidate_status: 200,
        legacy_us: 1_000,
        candidate_us: 900,
        sample,
        ..Mismatch::default()
    }
}

/// One request that matched.
pub(crate) fn matched(recorder: &OutcomeRecorder, route: &Route) {
    recorder.received(route);
    recorder.answered(route, 200);
    recorder.client(route, ClientOutcome::Success);
    recorder.matched(route, 1_000, 900);
}

/// One request that did not, and its record.
pub(crate) fn mismatched(recorder: &OutcomeRecorder, route: &Route, body: usize) -> Record {
    let record = mismatch("f00d", Timestamp::now(), body);
    recorder.received(route);
    recorder.answered(route, 200);
    recorder.client(route, ClientOutcome::Success);
    recorder.mismatch(
        route,
        1_000,
        900,
        &Sighting::unconfirmed(record.id, record.time, &[group("f00d")]),
    );
    Record::Mismatch(Box::new(record))
}

/// How often a group was seen in a tally.
pub(crate) fn group_tally(
    tally: &Tally,
    fingerprint: &str,
    count: u64,
    example: Uuid,
) -> GroupTally {
    GroupTally {
        tally_id: tally.id,
        revision: tally.revision,
        identity: tally.identity.clone(),
        interval_start: tally.interval_start,
        route: tally.route.clone(),
        group: group(fingerprint),
        count,
        first_seen: tally.interval_start.saturating_add_micros(1),
        last_seen: tally.interval_start.saturating_add_micros(50_000_000),
        example_id: example,
        ..GroupTally::default()
    }
}

/// A tally as another process would have written it.
pub(crate) fn tally(route: &str, start: Timestamp, matched: u64) -> Tally {
    Tally {
        id: new_id(),
        revision: 1,
        identity: identity(),
        instance: "there".to_owned(),
        run: new_id(),
        interval_start: start,
        interval_us: 60_000_000,
        route: route.to_owned(),
        counts: Counts {
            received: matched,
            matched,
            clients: [(ClientOutcome::Success, matched)].into(),
            legacy_answers: [(ClientOutcome::Success, matched)].into(),
            fields: [
                (FieldCount::Sampled, matched),
                (FieldCount::Left, matched),
                (FieldCount::All, 4 * matched),
            ]
            .into(),
            ..Counts::default()
        },
        ..Tally::default()
    }
}
