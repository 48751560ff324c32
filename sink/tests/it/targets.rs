//! Targets are counted alike in every store: exactly where there are few, and once under one key, however many processes
//! and intervals saw them.

use std::sync::Arc;

use parity_schemas::record::Record;
use parity_schemas::report::Report;
use parity_schemas::targets::{Between, TargetEvidence};
use parity_schemas::time::Timestamp;
use parity_sink::tally::{Sighting, TargetKey};
use parity_sink::{
    Reader, Selection, StoreConfig, StoreUrl, TallyBook, TallyConfig, Writer, WriterOptions,
};

use crate::servers::ClickHouse;
use crate::support::{PATIENCE, Store, group, identity, route, tally, with_tables};

/// One process that counts these requests to the targets with these numbers.
fn count(store: &StoreConfig, instance: &str, secret: &[u8], targets: impl Iterator<Item = u64>) {
    let key = TargetKey::new(secret);
    let mut config = TallyConfig::new(identity(), instance, Vec::new());
    key.name().clone_into(&mut config.target_key);
    let book = TallyBook::new(config);
    let writer =
        Writer::open(store, Arc::clone(&book), WriterOptions::default()).expect("it opens");
    let (recorder, route) = (book.recorder(book.generation()), route());
    for (number, target) in targets.enumerate() {
        recorder.received(&route);
        recorder.compared(&route, 200, key.hash("GET", &format!("/users/{target}")));
        if number % 7 == 0 {
            let id = parity_schemas::id::new_id();
            let groups = [group("f00d")];
            let seen = Sighting::unconfirmed(id, Timestamp::now(), &groups);
            recorder.mismatch(&route, 1, 1, &seen);
        } else {
            recorder.matched(&route, 1, 1);
        }
    }
    drop(recorder);
    book.end();
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!(finished.unwritten_tallies, 0);
}

/// What the store says of the only route, which a report says, too.
fn targets(store: &StoreConfig) -> TargetEvidence {
    let reader = Reader::open(store).expect("it opens");
    let evidence = reader.evidence(&Selection::default()).expect("it is read");
    let evidence = evidence.expect("there is some");
    let report: Report = reader.report(&Selection::default()).expect("it is read");
    let targets = evidence.routes[0].targets.clone();
    assert_eq!(evidence.targets(), targets);
    assert_eq!(report.routes[0].targets, targets);
    for (distinct, share) in [
        (report.distinct_targets, report.most_frequent_share),
        (
            report.routes[0].distinct_targets,
            report.routes[0].most_frequent_share,
        ),
    ] {
        assert_eq!(distinct, targets.distinct());
        assert_eq!(share, targets.most_frequent_share());
    }
    targets
}

/// Few targets, and many.
fn check(new_store: impl Fn() -> StoreConfig) {
    let store = new_store();
    // Of 100 requests, 40 are to target 0; the rest to 12 others.
    let few = |()| (0..100).map(|n: u64| if n < 40 { 0 } else { 1 + n % 12 });
    count(&store, "one", b"of all", few(()));
    let once = targets(&store);
    assert_eq!(
        (once.known(), once.unknown(), once.distinct()),
        (100, 0, 13)
    );
    let most = Between {
        at_least: 40,
        at_most: 40,
    };
    assert_eq!(once.most_frequent(), most);
    // The same targets, seen by another process with the same key.
    count(&store, "two", b"of all", few(()));
    let twice = targets(&store);
    assert_eq!(
        (twice.known(), twice.keys(), twice.distinct()),
        (200, 1, 13)
    );
    assert_eq!(twice.most_frequent_share(), Some(0.4));
    // And by one that tells nobody how it hashes.
    count(&store, "three", b"its own", few(()));
    let apart = targets(&store);
    assert_eq!(
        (apart.known(), apart.keys(), apart.distinct()),
        (300, 2, 13)
    );
    assert_eq!(
        apart.most_frequent(),
        Between {
            at_least: 80,
            at_most: 120
        }
    );

    let store = new_store();
    // Every fifth request is to target 0, all others to a target each.
    let many =
        |from: u64| (0..2_000).map(move |n: u64| if n.is_multiple_of(5) { 0 } else { from + n });
    count(&store, "one", b"of all", many(1));
    count(&store, "two", b"of all", many(100_000));
    let both = targets(&store);
    assert_eq!((both.known(), both.keys()), (4_000, 1));
    assert!(
        (2_500..3_900).contains(&both.distinct()),
        "{}",
        both.distinct()
    );
    let most = both.most_frequent();
    assert!(most.at_least <= 800 && 800 <= most.at_most, "{most:?}");
    assert!(most.at_most - most.at_least <= 4_000 / 17, "{most:?}");
}

#[test]
fn targets_are_counted_in_a_file() {
    let stores = std::cell::RefCell::new(Vec::new());
    check(|| {
        let store = Store::new();
        let url = store.url.clone();
        stores.borrow_mut().push(store);
        url
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn targets_are_counted_in_clickhouse() {
    let server = ClickHouse::shared();
    let databases = std::cell::RefCell::new(Vec::new());
    check(|| {
        let database = server.database();
        let store = with_tables(&database);
        databases.borrow_mut().push(database);
        store
    });
}

#[test]
fn targets_of_a_file_of_the_former_version_are_not_known() {
    let store = Store::new();
    let older = tally("GET /users/{id}", Timestamp::now(), 10);
    store.fill([Record::Tally(Box::new(older))]);
    store.undo_steps();
    store
        .sql()
        .execute_batch("DROP TABLE set_tallies; DROP TABLE terms; PRAGMA user_version = 6")
        .expect("what version 6 left");
    count(&store.url, "new", b"", [1, 1, 2].into_iter());
    let targets = targets(&store.url);
    assert_eq!(
        (targets.known(), targets.unknown(), targets.distinct()),
        (3, 10, 2)
    );
    assert!(!targets.is_single());
}

#[test]
fn a_summary_that_is_none_is_an_error_that_names_its_column() {
    for (column, text) in [("targets", "0"), ("frequent_targets", "no list")] {
        let store = Store::new();
        count(&store.url, "here", b"", [1].into_iter());
        let spoilt = format!("UPDATE tallies SET {column} = '{text}'");
        store.sql().execute(&spoilt, ()).expect("SQL");
        let url: StoreUrl = store.url.url.clone();
        let reader = Reader::open(&StoreConfig::from(url)).expect("it opens");
        let error = reader
            .report(&Selection::default())
            .expect_err("it is spoilt");
        let error = error.to_string();
        assert!(error.contains(column) && error.contains(text), "{error}");
    }
}
