//! Classes of mismatches, evidence of groups and sets of groups: counted to the unit, and the same in every store.

use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::Evidence;
use parity_schemas::id::new_id;
use parity_schemas::recheck::{GroupSummary, RecheckEvent, RecheckEvidence, RecheckSummary};
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::sqlite::VERSION;
use parity_schemas::tally::{Group, set_id};
use parity_schemas::time::Timestamp;
use parity_sink::tally::{Sighting, Unasked};
use parity_sink::{
    OutcomeRecorder, Reader, Selection, Sink, SinkOptions, StoreConfig, StoreUrl, TallyBook,
    Writer, WriterOptions,
};

use crate::servers::{ClickHouse, Kafka};
use crate::support::{
    PATIENCE, Store, book, group, group_tally, matched, number, route, tally, wait_until,
    with_tables,
};

/// How often each kind of mismatch is counted: its class, its groups, and whether all of them are known.
const COUNTED: [(MismatchClass, &[&str], bool, u64); 6] = [
    (MismatchClass::Noise, &["a", "b"], true, 7),
    (MismatchClass::Noise, &["b", "a", "a"], true, 4),
    (MismatchClass::Confirmed, &["a", "b"], true, 3),
    (MismatchClass::Transient, &["c"], true, 2),
    (MismatchClass::Unstable, &["a"], false, 5),
    (MismatchClass::Unconfirmed, &["a"], true, 6),
];
const MATCHED: u64 = 11;
/// Processes that count the same.
const INSTANCES: u64 = 2;

fn count(recorder: &OutcomeRecorder) {
    let route = route();
    for _ in 0..MATCHED {
        matched(recorder, &route);
    }
    for (class, names, is_complete, times) in COUNTED {
        let groups: Vec<Group> = names.iter().map(|name| group(name)).collect();
        let summary = GroupSummary {
            class,
            evidence: [(RecheckEvidence::Above, 2), (RecheckEvidence::Targets, 1)].into(),
        };
        let summaries = names
            .iter()
            .map(|name| ((*name).to_owned(), summary.clone()));
        let summary = RecheckSummary {
            class,
            groups: summaries.collect(),
        };
        let is_rechecked = class != MismatchClass::Unconfirmed;
        for _ in 0..times {
            recorder.received(&route);
            recorder.client(&route, ClientOutcome::Success);
            if is_rechecked {
                recorder.recheck(&route, RecheckEvent::Asked);
            }
            let seen = Sighting {
                attributes: &[],
                id: new_id(),
                time: Timestamp::now(),
                groups: &groups,
                is_complete,
                rechecked: is_rechecked.then_some(&summary),
                unasked: (!is_rechecked).then_some(Unasked::Never),
            };
            recorder.mismatch(&route, 1_000, 900, &seen);
        }
    }
}

fn write(store: &StoreConfig, book: &Arc<TallyBook>) -> Writer {
    let writer = Writer::open(store, Arc::clone(book), WriterOptions::default()).expect("it opens");
    let recorder = book.recorder(book.generation());
    count(&recorder);
    writer
}

/// Counts in two processes, each into a writer of its own.
fn write_all(stores: [&StoreConfig; 2]) {
    for (store, instance) in stores.into_iter().zip(["one", "two"]) {
        let book = book(instance);
        let writer = write(store, &book);
        book.end();
        let finished = writer.finish(PATIENCE).expect("the writer ends");
        assert_eq!(
            (finished.unwritten_tallies, finished.spooled_records),
            (0, 0)
        );
    }
}

fn evidence(store: &StoreConfig) -> Evidence {
    let reader = Reader::open(store).expect("it opens");
    let evidence = reader.evidence(&Selection::default()).expect("it is read");
    let evidence = evidence.expect("there is some");
    let report = reader.report(&Selection::default()).expect("it is read");
    let of_report = report.evidence().expect("there is some");
    assert_eq!(of_report.routes, evidence.routes);
    assert_eq!(of_report.groups, evidence.groups);
    assert_eq!(of_report.sets, evidence.sets);
    evidence
}

fn check(evidence: &Evidence) {
    let counts = evidence.total();
    let times = |wanted: &dyn Fn(MismatchClass, &[&str], bool) -> bool| -> u64 {
        let counted = COUNTED
            .iter()
            .filter(|(class, names, complete, _)| wanted(*class, names, *complete));
        INSTANCES * counted.map(|(.., times)| times).sum::<u64>()
    };
    assert_eq!(counts.received, counts.settled());
    assert_eq!(counts.mismatch, times(&|_, _, _| true));
    assert_eq!(counts.classes.values().sum::<u64>(), counts.mismatch);
    for class in MismatchClass::ALL {
        let expected = times(&|of, _, _| of == *class);
        assert_eq!(counts.classes.get(class), Some(&expected), "{class}");
    }
    let asked = times(&|class, _, _| class != MismatchClass::Unconfirmed);
    assert_eq!(counts.rechecks, [(RecheckEvent::Asked, asked)].into());

    let names: Vec<&str> = evidence
        .groups
        .iter()
        .map(|group| group.group.fingerprint.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    for found in &evidence.groups {
        let name = found.group.fingerprint.as_str();
        let count = times(&|_, names, _| names.contains(&name));
        assert_eq!(
            (found.count, found.classes.values().sum()),
            (count, count),
            "{name}"
        );
        let asked =
            times(&|class, names, _| names.contains(&name) && class != MismatchClass::Unconfirmed);
        let expected = [
            (RecheckEvidence::Above, 2 * asked),
            // The largest number of one process.
            (RecheckEvidence::Targets, asked / INSTANCES),
            (RecheckEvidence::NeverAsked, count - asked),
        ];
        let expected = expected.into_iter().filter(|(_, count)| *count > 0);
        assert_eq!(found.evidence, expected.collect(), "{name}");
    }

    let sets: Vec<(&[String], u64)> = evidence
        .sets
        .iter()
        .map(|set| (set.fingerprints.as_slice(), set.classes.values().sum()))
        .collect();
    let expected = |set: &[&str]| {
        times(&|_, names, complete| {
            let mut names = names.to_vec();
            names.sort_unstable();
            names.dedup();
            complete && names == set
        })
    };
    let named = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        sets,
        [
            (&named(&["a"])[..], expected(&["a"])),
            (&named(&["a", "b"])[..], expected(&["a", "b"])),
        ],
        "what was transient is in no set"
    );
    let never: Vec<u64> = evidence.sets.iter().map(|set| set.never_asked).collect();
    let expected = times(&|class, _, _| class == MismatchClass::Unconfirmed);
    assert_eq!(never, [expected, 0]);
    assert_eq!(evidence.runs.len() as u64, INSTANCES);
    assert!(
        evidence.runs.iter().all(|run| !run.lacks_tallies),
        "{:?}",
        evidence.runs
    );
}

#[test]
fn classes_groups_and_sets_are_counted_to_the_unit_in_a_file() {
    let store = Store::new();
    write_all([&store.url, &store.url]);
    check(&evidence(&store.url));
    // A row of a group, or of a set, that is missing is noticed.
    for (table, key) in [
        ("group_tallies", "fingerprint = 'c'"),
        ("set_tallies", "length(fingerprints) < 6"),
    ] {
        let store = Store::new();
        write_all([&store.url, &store.url]);
        let removed = store
            .sql()
            .execute(&format!("DELETE FROM {table} WHERE {key}"), ());
        assert_eq!(removed.expect("SQL") % 2, 0);
        let evidence = evidence(&store.url);
        assert!(evidence.runs.iter().all(|run| run.lacks_tallies), "{table}");
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn classes_groups_and_sets_are_counted_to_the_unit_through_kafka_and_without() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let direct = with_tables(&database);
    write_all([&direct, &direct]);
    check(&evidence(&direct));
    database.sql(
        "ALTER TABLE set_tallies DELETE WHERE length(fingerprints) = 2 SETTINGS mutations_sync = 2",
    );
    assert!(evidence(&direct).runs.iter().all(|run| run.lacks_tallies));

    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(3);
    let folder = tempfile::tempdir().expect("a folder");
    let mut source = StoreConfig::from(kafka.url(&topic).parse::<StoreUrl>().expect("a URL"));
    source.spool.folder = folder.path().join("spool");
    write_all([&source, &source]);
    let sink = Sink::open(&source, &target, SinkOptions::default()).expect("it opens");
    let stopper = sink.stopper();
    let running = std::thread::spawn(move || sink.run());
    wait_until("all is stored", || {
        let ended = "SELECT count() FROM watermarks_final WHERE ended";
        database.number(ended) == INSTANCES
    });
    stopper.stop();
    let ended = running.join().expect("no panic").expect("no failure");
    assert_eq!(ended.dead_letters, 0);
    check(&evidence(&target));
}

/// The class of a mismatch says whether it counts, and stands in three tables.
#[test]
fn a_class_that_somebody_edited_in_one_table_is_noticed() {
    let lacks = |edit: &str| {
        let store = Store::new();
        write(&store.url, &book("here"))
            .finish(PATIENCE)
            .expect("the writer ends");
        store.sql().execute_batch(edit).expect("it is edited");
        let remembering = store.url.clone().remembering();
        let found = [&store.url, &remembering, &remembering].map(|store| {
            let found = evidence(store);
            assert!(!found.runs.is_empty());
            found.runs.iter().all(|run| run.lacks_tallies)
        });
        assert!(
            found.iter().all(|one| *one == found[0]),
            "{edit}: {found:?}"
        );
        found[0]
    };
    assert!(!lacks(""));
    for (table, to) in [
        ("tallies", "json_object('transient', mismatch)"),
        ("tallies", "json_object('noise', mismatch)"),
        (
            "tallies",
            "json_object('confirmed', 1, 'transient', mismatch - 1)",
        ),
        (
            "set_tallies",
            "json_object('transient', (SELECT sum(value) FROM json_each(classes)))",
        ),
        ("group_tallies", "json_object('confirmed', count)"),
        ("group_tallies", "json_object('noise', count)"),
    ] {
        let edit = format!("UPDATE {table} SET classes = {to}");
        assert!(lacks(&edit), "{edit}");
    }
}

#[test]
fn mismatches_of_a_file_of_the_former_version_are_unconfirmed() {
    let store = Store::new();
    let mut older = tally("GET /a", Timestamp::now(), 10);
    (older.counts.received, older.counts.mismatch) = (13, 3);
    let group = group_tally(&older, "f00d", 3, new_id());
    store.fill([
        Record::Tally(Box::new(older)),
        Record::GroupTally(Box::new(group)),
    ]);
    store.undo_steps();
    store
        .sql()
        .execute_batch("DROP TABLE set_tallies; DROP TABLE terms; PRAGMA user_version = 6")
        .expect("what version 6 left");
    store.fill([]);
    assert_eq!(
        number(&store.sql(), "PRAGMA user_version"),
        i64::from(VERSION)
    );
    let evidence = evidence(&store.url);
    let unconfirmed = [(MismatchClass::Unconfirmed, 3)].into();
    assert_eq!(evidence.total().classes, unconfirmed);
    assert_eq!(evidence.groups[0].classes, unconfirmed);
    assert_eq!(
        (evidence.groups[0].group.shape.as_str(), evidence.sets.len()),
        ("", 0)
    );
}

#[test]
fn a_flood_of_sets_is_bounded_and_what_is_beyond_counts_in_none() {
    const SETS: u64 = 1_000;
    let store = Store::new();
    let book = book("here");
    let writer =
        Writer::open(&store.url, Arc::clone(&book), WriterOptions::default()).expect("it opens");
    let recorder = book.recorder(book.generation());
    let route = route();
    for number in 0..SETS {
        let names: Vec<String> = (0..10)
            .map(|bit| format!("{bit}{}", number >> bit & 1))
            .collect();
        let groups: Vec<Group> = names.iter().map(|name| group(name)).collect();
        recorder.received(&route);
        recorder.mismatch(
            &route,
            1,
            1,
            &Sighting::unconfirmed(new_id(), Timestamp::now(), &groups),
        );
    }
    writer.finish(PATIENCE).expect("the writer ends");
    let evidence = evidence(&store.url);
    let in_sets: u64 = evidence
        .sets
        .iter()
        .flat_map(|set| set.classes.values())
        .sum();
    assert_eq!(evidence.total().mismatch, SETS);
    assert!((1..SETS).contains(&in_sets), "{in_sets}");
    for set in &evidence.sets {
        assert_eq!(
            set_id(set.fingerprints.iter().map(String::as_str)).len(),
            16
        );
        assert_eq!(set.fingerprints.len(), 10);
    }
}
