//! Runs and what they vouch for, read the same out of both stores: sums over minutes, and runs under other rules.

use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::Evidence;
use parity_schemas::record::Record;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Apart;
use parity_sink::{Reader, Selection, StoreConfig, TallyBook, TallyConfig};

use crate::servers::ClickHouse;
use crate::support::{Store, fill, identity, route, with_tables};

const SECOND: i64 = 1_000_000;

/// Seconds after a minute that is six minutes ago, so that all that happens in a test has happened.
fn at(second: i64) -> Timestamp {
    let minute = Timestamp::now().as_micros() / (60 * SECOND) - 6;
    Timestamp::from_micros((minute * 60 + second) * SECOND)
}

/// What a run writes that begins at the first of these seconds, and counts a request before it looks at each other one:
/// the request is settled, and so is its client.
fn run(instance: &str, rules: &str, seconds: &[i64]) -> Vec<Record> {
    let (began, looks) = seconds.split_first().expect("it begins");
    let mut config = TallyConfig::new(identity(), instance, Vec::new());
    rules.clone_into(&mut config.identity.rules_hash);
    config.started = at(*began);
    let book = TallyBook::new(config);
    let recorder = book.recorder(book.edition());
    let route = route();
    let mut records = look(&book, *began);
    for second in looks {
        let epoch = recorder.received(&route);
        recorder.matched(&route, 1_000, 900);
        recorder.settled(epoch);
        recorder.client(&route, ClientOutcome::Success);
        records.extend(look(&book, *second));
    }
    records
}

fn look(book: &Arc<TallyBook>, second: i64) -> Vec<Record> {
    let snapshot = book.snapshot(at(second));
    book.acknowledge(&snapshot);
    let tallies = snapshot.tallies.into_iter();
    let tallies = tallies.map(|tally| Record::Tally(Box::new(tally)));
    let watermarks = snapshot.watermarks.into_iter();
    tallies
        .chain(watermarks.map(|watermark| Record::Watermark(Box::new(watermark))))
        .collect()
}

/// A store, its place, and how it is written to.
fn stores(check: impl Fn(&StoreConfig)) {
    check(&Store::new().url);
    let database = ClickHouse::shared().database();
    check(&with_tables(&database));
}

fn evidence(store: &StoreConfig) -> Evidence {
    let reader = Reader::open(store).expect("it opens");
    let evidence = reader.evidence(&Selection::default()).expect("it is read");
    evidence.expect("there is some")
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn sums_over_minutes_are_found_to_the_unit_with_the_outcomes_of_clients() {
    stores(|store| {
        fill(store, &run("one", "abc", &[0, 10, 70, 80, 130, 140]));
        let found = evidence(store);
        let one = found.runs.iter().find(|run| run.instance == "one");
        let one = one.expect("it is there");
        let watermark = one.watermark.as_ref().expect("it is there");
        // Two minutes are closed, the third is open.
        assert_eq!((watermark.tallies, watermark.received), (2, 4));
        assert_eq!((watermark.settled, watermark.open.len()), (4, 1));
        assert!(!one.lacks_tallies);
        assert_eq!(found.total().clients_settled(), 5);
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn a_run_under_other_rules_is_seen_while_it_receives() {
    stores(|store| {
        let apart = || {
            let found = evidence(store);
            assert_eq!(found.identity.rules_hash, "abc");
            assert_eq!(found.other_rules.len(), 1);
            let old = &found.other_rules[0];
            assert_eq!(
                (&*old.rules_hash, old.from, old.to),
                ("old", at(0), at(160))
            );
            let apart = found.runs.into_iter().filter_map(|run| match run.apart? {
                Apart::Rules(rules) => Some((run.instance, rules)),
                Apart::Versions { .. } => None,
            });
            apart.collect::<Vec<_>>()
        };
        let two = [("two".to_owned(), "old".to_owned())];
        fill(store, &run("two", "old", &[0, 10, 70, 130, 160]));
        fill(store, &run("one", "abc", &[130, 140, 200]));
        assert_eq!(apart(), two);
        // Another process of its name began, and it went on receiving.
        fill(store, &run("two", "abc", &[65, 70]));
        assert_eq!(apart(), two);
        // It was reloaded, and only settled what it had.
        fill(store, &run("two", "abc", &[150, 160]));
        assert_eq!(apart(), []);
    });
}
