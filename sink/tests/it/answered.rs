//! Mismatches with stored answers are found among many without, alike in both stores.

use std::collections::HashMap;

use parity_schemas::record::{Mismatch, Record};
use parity_schemas::time::Timestamp;
use parity_sink::{AnsweredFilter, Examples, Reader};
use uuid::Uuid;

use crate::servers::ClickHouse;
use crate::support::{Store, fill, identity, mismatch, with_tables};

/// Intervals in which one group has many mismatches, of which the first have their answers.
const INTERVALS: i64 = 12;
const IN_EACH: i64 = 60;
const ANSWERED: i64 = 5;

fn start() -> Timestamp {
    // Whole hours ago, so that no retention comes near it.
    Timestamp::now().saturating_add_micros(-3_600_000_000)
}

fn traffic(start: Timestamp) -> Vec<Mismatch> {
    let mut records = Vec::new();
    for interval in 0..INTERVALS {
        for index in 0..IN_EACH {
            let time = start.saturating_add_micros(interval * 60_000_000 + index);
            let body = if index < ANSWERED { 30 } else { 0 };
            let mut one = mismatch("many", time, body);
            if index == 1 {
                one.fingerprints.push("rare".to_owned());
            }
            if index == 2 {
                "other".clone_into(&mut one.identity.rules_hash);
            }
            records.push(one);
        }
    }
    records
}

fn filter(start: Timestamp) -> AnsweredFilter {
    AnsweredFilter {
        identity: identity(),
        from: start,
        to: start.saturating_add_micros(INTERVALS * 60_000_000),
    }
}

fn check(reader: &Reader, records: &[Mismatch], start: Timestamp) -> Examples {
    let by_id: HashMap<Uuid, &Mismatch> = records.iter().map(|one| (one.id, one)).collect();
    let groups = ["many", "rare", "none"].map(str::to_owned);
    let filter = filter(start);
    let found = reader.examples(&filter, &groups, 30).expect("a list");
    assert!(found.of_all);
    assert_eq!(found.ids["many"].len(), 30);
    assert_eq!(found.ids["rare"].len(), INTERVALS as usize);
    assert!(found.ids["none"].is_empty());
    for (group, ids) in &found.ids {
        for id in ids {
            let one = by_id[id];
            assert!(one.sample.is_some() && one.identity == identity());
            assert!(one.fingerprints.contains(group));
        }
    }
    let minutes = |ids: &[Uuid]| {
        let minute = |id: &Uuid| by_id[id].time.as_micros() / 60_000_000;
        let mut minutes: Vec<i64> = ids.iter().map(minute).collect();
        minutes.sort_unstable();
        minutes.dedup();
        minutes.len()
    };
    assert!(minutes(&found.ids["many"]) > 3, "they are of one burst");
    let whole = reader.answered(&filter, &found.ids["many"]).expect("rows");
    let ids: Vec<Uuid> = whole.iter().map(|one| one.id).collect();
    assert_eq!(ids, found.ids["many"]);
    assert!(whole.iter().all(|one| *one == *by_id[&one.id]));
    // What is of another time, or was asked for of another one, is not there.
    let later = AnsweredFilter {
        from: start.saturating_add_micros(60_000_000),
        ..filter.clone()
    };
    let of_later = reader.examples(&later, &groups, 30).expect("a list");
    assert_eq!(of_later.ids["rare"].len(), INTERVALS as usize - 1);
    assert!(
        reader
            .examples(&filter, &[], 30)
            .expect("a list")
            .ids
            .is_empty()
    );
    found
}

#[test]
fn answers_are_found_among_many_mismatches_without_and_retention_takes_them() {
    let store = Store::new();
    let start = start();
    let records = traffic(start);
    store.fill(
        records
            .iter()
            .map(|one| Record::Mismatch(Box::new(one.clone()))),
    );
    let reader = store.reader();
    let found = check(&reader, &records, start);
    let gone = found.ids["rare"][0];
    store
        .sql()
        .execute(
            "UPDATE mismatches SET sample = NULL WHERE id = ?1",
            [gone.to_string()],
        )
        .expect("as retention does");
    let filter = filter(start);
    let left = reader
        .answered(&filter, &found.ids["rare"])
        .expect("the others");
    assert_eq!(left.len(), INTERVALS as usize - 1);
    let groups = ["rare".to_owned()];
    let again = reader.examples(&filter, &groups, 30).expect("a list");
    assert!(!again.ids["rare"].contains(&gone));
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn answers_are_found_in_clickhouse_as_in_a_file() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let start = start();
    let records = traffic(start);
    let all = records
        .iter()
        .map(|one| Record::Mismatch(Box::new(one.clone())));
    let all: Vec<Record> = all.collect();
    fill(&store, &all);
    let reader = Reader::open(&store).expect("the database is there");
    let found = check(&reader, &records, start);
    let file = Store::new();
    file.fill(all.iter().cloned());
    assert_eq!(found, check(&file.reader(), &records, start));
    let gone = found.ids["rare"][0];
    database.sql(&format!(
        "ALTER TABLE mismatches UPDATE sample = '' WHERE id = '{gone}' SETTINGS mutations_sync = 2"
    ));
    let left = reader
        .answered(&filter(start), &found.ids["rare"])
        .expect("the others");
    assert_eq!(left.len(), INTERVALS as usize - 1);
}
