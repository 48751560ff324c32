//! Lists and names of ClickHouse that read no more of a table than they must have all that they would have of the whole.

use std::collections::BTreeSet;

use parity_schemas::record::{Mismatch, MismatchClass, Record};
use parity_schemas::time::Timestamp;
use parity_sink::{MismatchFilter, Reader, Selection};
use uuid::Uuid;

use crate::servers::ClickHouse;
use crate::support::{fill, group_tally, mismatch, tally, with_tables};

const GROUP: &str = "00000000000000aa";
const MINUTE: i64 = 60_000_000;

fn of_group() -> MismatchFilter {
    MismatchFilter {
        fingerprint: Some(GROUP.to_owned()),
        ..MismatchFilter::default()
    }
}

fn records(mismatches: &[Mismatch]) -> Vec<Record> {
    let each = mismatches.iter().cloned();
    each.map(|one| Record::Mismatch(Box::new(one))).collect()
}

/// By time and id, the newest first.
fn newest_first(mut mismatches: Vec<Mismatch>) -> Vec<Uuid> {
    mismatches.sort_by_key(|one| std::cmp::Reverse((one.time, one.id)));
    mismatches.into_iter().map(|one| one.id).collect()
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_list_has_its_length_however_often_a_row_is_there() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let now = Timestamp::now().as_micros() / MINUTE * MINUTE;
    let at = |minutes_ago: i64| Timestamp::from_micros(now - minutes_ago * MINUTE);
    // The newest, ten of one time, and older ones; and another group in between.
    let mut all = vec![mismatch(GROUP, at(1), 10)];
    all.extend((0..10).map(|_| mismatch(GROUP, at(2), 10)));
    all.extend((3..20).map(|minutes| mismatch(GROUP, at(minutes), 10)));
    fill(&store, &records(&all));
    let others: Vec<_> = (0..5)
        .map(|minutes| mismatch("00000000000000bb", at(minutes), 10))
        .collect();
    fill(&store, &records(&others));
    let order = newest_first(all.clone());
    let check = |what: &str| {
        let reader = Reader::open(&store).expect("it opens");
        for limit in [1, 2, 5, 12, 27, 28, 40] {
            let listed = reader.mismatches(&of_group(), limit).expect("it is read");
            let listed: Vec<Uuid> = listed.into_iter().map(|one| one.id).collect();
            assert_eq!(listed, order[..limit.min(order.len())], "{what}, {limit}");
        }
        for place in [0, 1, 5, 14, 27] {
            let one = all.iter().find(|one| one.id == order[place]).expect("it");
            let beside = reader
                .neighbours(&of_group(), (one.time, one.id))
                .expect("it is read");
            let newer = (place > 0).then(|| order[place - 1]);
            assert_eq!(beside.newer, newer, "{what}, {place}");
            let older = order.get(place + 1).copied();
            assert_eq!(beside.older, older, "{what}, {place}");
            let counts = (beside.newer_count, beside.older_count);
            assert_eq!(counts, (place, order.len() - place - 1), "{what}, {place}");
        }
        let none = MismatchFilter {
            fingerprint: Some("00000000000000cc".to_owned()),
            ..MismatchFilter::default()
        };
        assert!(reader.mismatches(&none, 5).expect("it is read").is_empty());
    };
    check("each once");
    database.sql("SYSTEM STOP MERGES mismatches");
    // Delivered again and again, and not merged yet.
    for id in [order[0], order[3], order[20]] {
        database.sql(&format!(
            "INSERT INTO mismatches SELECT t.* FROM mismatches AS t, numbers(60) AS n WHERE t.id = '{id}' LIMIT 60 \
             SETTINGS optimize_on_insert = 0"
        ));
    }
    assert!(database.number("SELECT count() FROM mismatches") > 200);
    check("three many times");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn an_example_is_found_however_far_its_time_is_from_its_id() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let now = Timestamp::now().as_micros() / MINUTE * MINUTE;
    let start = Timestamp::from_micros(now - 10 * MINUTE);
    // Compared now, recorded an hour, a day and a month ago.
    let ages = [0, 61, 24 * 60, 30 * 24 * 60];
    let names: Vec<String> = (0..ages.len()).map(|at| format!("{at:016x}")).collect();
    let mut counted = tally("GET /users/{id}", start, 100);
    counted.counts.mismatch = ages.len() as u64;
    counted.counts.classes = [(MismatchClass::Unconfirmed, ages.len() as u64)].into();
    let mut all = Vec::new();
    for (name, minutes) in names.iter().zip(ages) {
        let time = Timestamp::from_micros(now - minutes * MINUTE);
        let example = mismatch(name, time, 10);
        let group = group_tally(&counted, name, 1, example.id);
        all.push(Record::Mismatch(Box::new(example)));
        all.push(Record::GroupTally(Box::new(group)));
    }
    all.push(Record::Tally(Box::new(counted)));
    fill(&store, &all);
    let reader = Reader::open(&store).expect("it opens");
    let report = reader.report(&Selection::default()).expect("it is read");
    let with_example = report.groups.iter().filter(|group| group.example.is_some());
    let found: BTreeSet<String> = with_example
        .map(|group| group.fingerprint.clone())
        .collect();
    assert_eq!(found, names.into_iter().collect());
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn versions_are_known_by_the_parts_that_they_were_counted_in() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let remembering = store.clone().remembering();
    let now = Timestamp::now().as_micros() / MINUTE * MINUTE;
    let write = |version: &str, minutes_ago: i64| {
        let start = Timestamp::from_micros(now - minutes_ago * MINUTE);
        let mut counted = tally("GET /a", start, 10);
        counted.identity.candidate_version = version.to_owned();
        fill(&store, &[Record::Tally(Box::new(counted))]);
    };
    let expect = |versions: &[&str], latest: &str, what: &str| {
        for store in [&store, &remembering] {
            let reader = Reader::open(store).expect("it opens");
            let known = reader.known("default").expect("it is read");
            assert_eq!(known.candidate_versions, versions, "{what}");
            let evidence = reader.evidence(&Selection::default()).expect("it is read");
            let identity = evidence.expect("something was counted").identity;
            assert_eq!(identity.candidate_version, latest, "{what}");
        }
    };
    write("1", 30);
    write("2", 20);
    expect(&["2", "1"], "2", "two parts");
    write("1", 10);
    expect(&["1", "2"], "1", "the first one again");
    database.sql("OPTIMIZE TABLE tallies FINAL");
    expect(&["1", "2"], "1", "one part of all");
    // Of two in one minute the one that was written last.
    write("3", 5);
    write("2", 5);
    expect(&["2", "3", "1"], "2", "a minute of two versions");
    database.sql(
        "ALTER TABLE tallies DELETE WHERE candidate_version = '2' SETTINGS mutations_sync = 2",
    );
    expect(&["3", "1"], "3", "one is gone");
    database.sql(
        "DELETE FROM tallies WHERE candidate_version = '3' SETTINGS lightweight_deletes_sync = 2",
    );
    expect(&["1"], "1", "one is marked as gone");
    database.sql("TRUNCATE TABLE tallies");
    for store in [&store, &remembering] {
        let reader = Reader::open(store).expect("it opens");
        let known = reader.known("default").expect("it is read");
        assert!(known.candidate_versions.is_empty());
        // What wrote the rows, and counted nothing.
        let newest = reader.newest_migration().expect("it is read");
        assert_eq!(newest.as_deref(), Some("filler"));
    }
}
