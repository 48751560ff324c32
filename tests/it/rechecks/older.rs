//! Stores of a program that asked nothing again: what they counted is unconfirmed, and what is counted from now on has its class.

use std::fs;

use parity_schemas::clickhouse::{Layout, migrations, record_version, version_table};
use rusqlite::Connection;

use super::{classes, counts, gets, map, mirror};
use crate::servers::{ClickHouse, Database};
use crate::support::process::Place;
use crate::support::root;
use crate::support::service::Service;
use crate::support::wait_for;

/// Steps of the `SQLite` schema that knew no classes.
const SQLITE: u32 = 6;
/// The same of `ClickHouse`.
const CLICKHOUSE: usize = 5;
const OLDER: u64 = 10;
const NEWER: u64 = 5;

/// A store in which a program without second looks has counted mismatches; returns their identity.
fn older(place: &Place, services: (&Service, &Service)) -> [String; 4] {
    let mirror = mirror(
        place,
        services.0,
        services.1,
        &[("PARITY_RECHECK_RATE", "0")],
    );
    gets(mirror.address, "/items/", 10);
    mirror.settled(OLDER);
    assert_eq!(mirror.stop().0, 0);
    let newer = place.path().join("newer.db");
    fs::rename(place.path().join("parity.db"), &newer).expect("it is closed");
    let store = Connection::open(place.path().join("parity.db")).expect("a file");
    let mut steps: Vec<_> = fs::read_dir(root().join("schemas/sqlite"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    steps.sort();
    for step in &steps[..SQLITE as usize] {
        let sql = fs::read_to_string(step).expect("a step");
        store.execute_batch(&sql).expect("what it was");
    }
    store
        .execute_batch(&format!(
            "PRAGMA application_id = 0x70727479; PRAGMA user_version = {SQLITE}; ATTACH '{}' AS newer",
            newer.display()
        ))
        .expect("both");
    for table in ["mismatches", "tallies", "group_tallies", "watermarks"] {
        let columns: String = store
            .query_row(
                "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info(?1, 'main')",
                [table],
                |row| row.get(0),
            )
            .expect("columns");
        let copy =
            format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}");
        store.execute_batch(&copy).expect("rows as it wrote them");
    }
    store
        .query_row(
            "SELECT migration, legacy_version, candidate_version, rules_hash FROM main.tallies",
            [],
            |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]),
        )
        .expect("a tally")
}

#[test]
fn an_sqlite_store_without_classes_is_migrated_and_what_it_counted_is_unconfirmed() {
    let (legacy, candidate) = (Service::json("1"), Service::json("2"));
    let place = Place::new();
    older(&place, (&legacy, &candidate));
    // A reader changes nothing, so it cannot read it, and says what can.
    for command in ["report", "gate"] {
        let ended = place.run(&[command]);
        assert_eq!(ended.code, 2, "{}", ended.stdout);
        for words in [&*format!("schema version {SQLITE}"), "parity mirror"] {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
    }
    let mirror = mirror(&place, &legacy, &candidate, &[]);
    gets(mirror.address, "/items/", 5);
    let report = mirror.settled(OLDER + NEWER);
    let expected = counts(&[("unconfirmed", OLDER), ("confirmed", NEWER)]);
    assert_eq!(classes(&report), expected);
    assert_eq!(map(&report, "rechecks"), counts(&[("asked", NEWER)]));
    let mut seen = 0;
    for group in report.0["groups"].as_array().expect("a list") {
        let classes = group["classes"].as_object().expect("a map").values();
        let sum: u64 = classes.filter_map(serde_json::Value::as_u64).sum();
        assert_eq!(Some(sum), group["count"].as_u64(), "{group}");
        seen += sum;
    }
    assert_eq!(seen, OLDER + NEWER);
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(place.integrity(), "ok");
}

/// The rows of a program that knew no classes.
fn insert_as_older(database: &Database<'_>, identity: &[String; 4]) {
    let [migration, legacy, candidate, rules] = identity;
    database.sql(&format!(
        "INSERT INTO tallies (id, revision, migration, legacy_version, candidate_version, rules_hash, instance, \
         interval_start, interval_us, route, received, match, mismatch) SELECT generateUUIDv4(), 1, '{migration}', '{legacy}', \
         '{candidate}', '{rules}', 'older', now64(6) - 60, 60000000, 'GET /items/{{id}}', {OLDER}, 0, {OLDER}"
    ));
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_clickhouse_store_without_classes_is_migrated_and_what_it_counted_is_unconfirmed() {
    let (legacy, candidate) = (Service::json("1"), Service::json("2"));
    let place = Place::new();
    let identity = older(&place, (&legacy, &candidate));
    let server = ClickHouse::shared();
    let database = server.database();
    let made = server.ask("default", &format!("CREATE DATABASE {}", database.name));
    assert!(made.is_ok(), "{made:?}");
    for statement in version_table(&Layout::Single) {
        database.sql(&statement);
    }
    for migration in &migrations(&Layout::Single)[..CLICKHOUSE] {
        for statement in &migration.statements {
            database.sql(statement);
        }
        database.sql(&record_version(migration.version, "older"));
    }
    insert_as_older(&database, &identity);
    let url = database.url();
    let ended = place.run(&["report", "--store", &url]);
    assert_eq!(ended.code, 2, "{}", ended.stdout);
    assert!(
        ended.stderr.contains("parity schema apply"),
        "{}",
        ended.stderr
    );
    let (of_legacy, of_candidate) = (legacy.url(), candidate.url());
    let ended = place.run(&[
        "mirror",
        "--legacy",
        &of_legacy,
        "--candidate",
        &of_candidate,
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--store",
        &url,
    ]);
    assert_eq!(ended.code, 2, "{}", ended.stdout);
    assert!(
        ended.stderr.contains("parity schema apply"),
        "{}",
        ended.stderr
    );
    let applied = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(applied.code, 0, "{}", applied.stderr);
    let more = ["--store", url.as_str()];
    let mirror = place.mirror_with(&of_legacy, &of_candidate, &more, |command| {
        super::conserved::often(command)
    });
    gets(mirror.address, "/items/", 5);
    // An older mirror that still runs.
    insert_as_older(&database, &identity);
    let report = wait_for("all of them", || {
        let report = place.report_of(&url);
        (report.settled() == 2 * OLDER + NEWER).then_some(report)
    });
    let expected = counts(&[("unconfirmed", 2 * OLDER), ("confirmed", NEWER)]);
    assert_eq!(classes(&report), expected);
    assert_eq!(mirror.stop().0, 0);
}
