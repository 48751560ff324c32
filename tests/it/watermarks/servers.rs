//! The same through Kafka and ClickHouse, where records arrive late and in any order.

use super::{ENOUGH, gate, pair, send};
use crate::servers::{ClickHouse, Database, Kafka};
use crate::support::process::Place;
use crate::support::wait_for;

/// A database with tables, and its URL.
fn tables<'a>(place: &Place, server: &'a ClickHouse) -> (Database<'a>, String) {
    let database = server.database();
    let url = database.url();
    let ended = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    (database, url)
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn wrong_answers_just_before_the_gate_are_counted_by_way_of_a_broker() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let (legacy, candidate) = pair();
    let place = Place::new();
    let (_database, url) = tables(&place, server);
    let topic = kafka.url(&kafka.topic(3));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--store", &topic]);
    let sinks = [place.sink(&topic, &url, &[]), place.sink(&topic, &url, &[])];
    send(&mirror, "/items", ENOUGH);
    mirror.settled_in(&url, u64::from(ENOUGH));
    let equal = gate(&place, &["--store", &url, "--wait", "60s"]);
    assert_eq!(equal.code, 0, "{}", equal.stdout);
    send(&mirror, "/wrong", 20);
    // A long wait: how fast brokers and sinks are on a busy machine is not tested here.
    let ended = gate(&place, &["--store", &url, "--wait", "60s"]);
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    assert!(
        ended.stdout.contains("GET /wrong/{id}: at least"),
        "{}",
        ended.stdout
    );
    assert_eq!(mirror.stop().0, 0);
    let farewell = wait_for("the last word of the mirror", || {
        let report = place.report_of(&url).0;
        (report["watermarks"][0]["state"] == "ended").then_some(report)
    });
    assert_eq!(farewell["received"], ENOUGH + 20);
    for sink in sinks {
        assert_eq!(sink.stop().0, 0);
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_record_that_is_behind_makes_the_gate_undecided() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let (legacy, candidate) = pair();
    let place = Place::new();
    let (database, url) = tables(&place, server);
    let topic = kafka.url(&kafka.topic(3));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--store", &topic]);
    let sink = place.sink(&topic, &url, &[]);
    send(&mirror, "/items", ENOUGH);
    mirror.settled_in(&url, u64::from(ENOUGH));
    assert_eq!(sink.stop().0, 0);
    send(&mirror, "/wrong", 20);
    // No sink moves records into the database, and what it already holds would pass.
    let behind = gate(&place, &["--store", &url]);
    assert_eq!(behind.code, 3, "{}", behind.stdout);
    assert!(
        behind
            .stdout
            .contains("instance `test` was last heard of at 20"),
        "{}",
        behind.stdout
    );
    let sink = place.sink(&topic, &url, &[]);
    let moved = gate(&place, &["--store", &url, "--wait", "30s"]);
    assert_eq!(moved.code, 1, "{}", moved.stdout);
    assert_eq!(mirror.stop().0, 0);
    wait_for("the last word of the mirror", || {
        (place.report_of(&url).0["watermarks"][0]["state"] == "ended").then_some(())
    });
    assert_eq!(sink.stop().0, 0);
    // The watermark has arrived but a tally has not: it was lost, or is not yet on this replica.
    database.sql(
        "ALTER TABLE tallies DELETE WHERE route = 'GET /wrong/{id}' SETTINGS mutations_sync = 2",
    );
    let lost = gate(&place, &["--store", &url]);
    assert_eq!(lost.code, 3, "{}", lost.stdout);
    assert!(
        lost.stdout
            .contains("not all that instance `test` counted is in the store"),
        "{}",
        lost.stdout
    );
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn wrong_answers_just_before_the_gate_are_counted_in_a_database() {
    let server = ClickHouse::shared();
    let (legacy, candidate) = pair();
    let place = Place::new();
    let (_database, url) = tables(&place, server);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--store", &url]);
    send(&mirror, "/items", ENOUGH);
    mirror.settled_in(&url, u64::from(ENOUGH));
    send(&mirror, "/wrong", 20);
    let ended = gate(&place, &["--store", &url]);
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    let version = gate(
        &place,
        &["--store", &url, "--candidate-version", "deadbeef"],
    );
    assert_eq!(version.code, 3, "{}", version.stdout);
    assert!(
        version.stdout.contains(
            "candidate version `deadbeef` of migration `default`; recorded are (no version)"
        ),
        "{}",
        version.stdout
    );
    let migration = place.run(&["report", "--store", &url, "--migration", "defalt"]);
    assert_eq!(migration.code, 2, "{}", migration.stdout);
    assert!(
        migration.stderr.contains("did you mean `default`?"),
        "{}",
        migration.stderr
    );
    assert_eq!(mirror.stop().0, 0);
}
