//! Records of older programs are read, and fields that they did not write are not invented.

use parity_schemas::clickhouse::{Layout, VERSION, migrations, record_version, version_table};
use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::field_share::FieldCount;
use parity_schemas::record::{Record, TYPE_HEADER, VERSION_HEADER};
use parity_schemas::report::Report;
use parity_schemas::tally::Tally;
use parity_schemas::time::Timestamp;
use parity_sink::write::Retention;
use parity_sink::{
    Reader, Selection, Sink, SinkOptions, StoreConfig, StoreError, StoreUrl, apply_schema,
};

use crate::servers::{ClickHouse, Database, Kafka, Raw};
use crate::support::{Store, fill, tally, wait_until, with_tables};

const OLDER: u64 = 70;
const NEWER: u64 = 30;

/// A tally of this program, with an answer whose head came long before its end.
fn newer() -> Tally {
    let mut tally = tally("GET /a", Timestamp::now(), NEWER);
    let bucket = parity_schemas::histogram::bucket;
    tally.counts.clients = [
        (ClientOutcome::Success, NEWER - 1),
        (ClientOutcome::LegacyTruncated, 1),
    ]
    .into();
    tally.legacy_latency.add(bucket(10_000), NEWER);
    tally.legacy_head_latency.add(bucket(100), NEWER);
    tally
}

/// The expected sums of both. The older program's durations were 448 to 512 µs, its bucket 20.
fn check(report: &Report) {
    assert_eq!(report.counts.received, OLDER + NEWER);
    let expected: Clients = [
        (ClientOutcome::NotRecorded, OLDER),
        (ClientOutcome::Success, NEWER - 1),
        (ClientOutcome::LegacyTruncated, 1),
    ]
    .into();
    assert_eq!(report.counts.clients, expected);
    let answers: Clients = [(ClientOutcome::Success, NEWER)].into();
    assert_eq!(report.counts.legacy_answers, answers);
    assert_eq!(report.counts.clients_settled(), report.counts.received);
    let route = &report.routes[0];
    // Of what the older program counted nothing is known, and the share is that of the rest.
    assert_eq!(route.counts.fields[&FieldCount::Sampled], NEWER);
    assert_eq!(route.fields_left, Some(0.25));
    assert_eq!(route.legacy_us["p50"], 512);
    assert_eq!(route.legacy_us["p95"], 10_240);
    assert_eq!(route.legacy_head_us["p99"], 102);
}

fn report(store: &StoreConfig) -> Report {
    Reader::open(store)
        .expect("it opens")
        .report(&Selection::default())
        .expect("it is read")
}

#[test]
fn clients_that_an_older_program_did_not_tell_of_are_not_recorded() {
    let store = Store::new();
    store.fill([Record::Tally(Box::new(tally(
        "GET /a",
        Timestamp::now(),
        OLDER,
    )))]);
    store.undo_steps();
    store
        .sql()
        .execute_batch(
            "DROP TABLE set_tallies; DROP TABLE terms; UPDATE tallies SET legacy_latency = '{\"20\":70}', candidate_latency = '{}'; \
             ALTER TABLE tallies DROP COLUMN clients; ALTER TABLE tallies DROP COLUMN legacy_head_latency; \
             ALTER TABLE tallies DROP COLUMN candidate_head_latency; \
             ALTER TABLE tallies DROP COLUMN run; ALTER TABLE tallies DROP COLUMN legacy_answers; \
             DROP TABLE watermarks; PRAGMA user_version = 3",
        )
        .expect("what version 3 left");
    assert!(matches!(
        Reader::open(&store.url).err(),
        Some(StoreError::OlderSchema { found: 3, .. })
    ));
    store.fill([Record::Tally(Box::new(newer()))]);
    check(&store.report());
}

/// The insert of a mirror of version 2.
fn insert_as_older(database: &Database<'_>) {
    database.sql(&format!(
        "INSERT INTO tallies (id, revision, migration, legacy_version, candidate_version, rules_hash, instance, \
         interval_start, interval_us, route, received, match, mismatch, not_compared, rule_hits, legacy_latency, \
         candidate_latency) SELECT generateUUIDv4(), 1, 'default', 'go-1', 'rust-1', 'abc', 'older', now64(6) - 60, \
         60000000, 'GET /a', {half}, {half}, 0, map(), map(), map(20, {half}), map()",
        half = OLDER / 2
    ));
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn clients_that_an_older_program_did_not_tell_of_are_not_recorded_in_clickhouse_either() {
    let server = ClickHouse::shared();
    let database = server.database();
    let store = StoreConfig::from(database.url().parse::<StoreUrl>().expect("a URL"));
    let made = server.ask("default", &format!("CREATE DATABASE {}", database.name));
    assert!(made.is_ok(), "{made:?}");
    for statement in version_table(&Layout::Single) {
        database.sql(&statement);
    }
    for migration in &migrations(&Layout::Single)[..2] {
        for statement in &migration.statements {
            database.sql(statement);
        }
        database.sql(&record_version(migration.version, "older"));
    }
    insert_as_older(&database);
    let applied = apply_schema(&store, &Layout::Single, &Retention::default()).expect("applied");
    assert_eq!((applied.from, applied.to), (2, VERSION));
    // A mirror of the older version that still runs.
    insert_as_older(&database);
    fill(&store, &[Record::Tally(Box::new(newer()))]);
    check(&report(&store));
    assert_eq!(
        database.number("SELECT sum(arraySum(mapValues(clients))) FROM tallies_final"),
        OLDER + NEWER
    );
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn tallies_of_an_older_mirror_come_through_a_newer_sink() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(1);
    let mut older = tally("GET /a", Timestamp::now(), OLDER);
    older.legacy_latency.add(20, OLDER);
    let mut json = serde_json::to_value(&older).expect("it is JSON");
    let fields = json.as_object_mut().expect("an object");
    for field in [
        "clients",
        "legacy_answers",
        "fields",
        "classes",
        "rechecks",
        "legacy_head_latency",
        "candidate_head_latency",
    ] {
        assert!(fields.remove(field).is_some(), "{field}");
    }
    let newer = serde_json::to_value(newer()).expect("it is JSON");
    let payloads = [json, newer].map(|json| json.to_string().into_bytes());
    kafka.produce(
        &topic,
        payloads.iter().map(|payload| Raw {
            key: "key",
            payload,
            headers: &[(TYPE_HEADER, "tally"), (VERSION_HEADER, "1")],
            partition: None,
        }),
    );
    let source = StoreConfig::from(kafka.url(&topic).parse::<StoreUrl>().expect("a URL"));
    let sink = Sink::open(&source, &target, SinkOptions::default()).expect("it opens");
    let (stopper, handle) = (sink.stopper(), sink.handle());
    let running = std::thread::spawn(move || sink.run());
    wait_until("both are stored", || handle.health().stored == 2);
    stopper.stop();
    let ended = running.join().expect("no panic").expect("no failure");
    assert_eq!(ended.dead_letters, 0);
    check(&report(&target));
}
