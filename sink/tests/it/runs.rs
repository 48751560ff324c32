//! Runs and their watermarks, which read the same from both stores: sums over minutes, and runs under other rules.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::Evidence;
use parity_schemas::record::Record;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Apart;
use parity_sink::{Reader, Selection, StoreConfig, TallyBook, TallyConfig};

use crate::servers::ClickHouse;
use crate::support::{Store, fill, identity, route, with_tables};

const SECOND: i64 = 1_000_000;

/// Seconds after a minute that is thirteen minutes before the tests began: all that happens in a test has happened, the first of it
/// in what is added up as closed, and the last of it so late that the run is at work.
fn at(second: i64) -> Timestamp {
    static BASE: LazyLock<i64> =
        LazyLock::new(|| Timestamp::now().as_micros() / (60 * SECOND) - 13);
    Timestamp::from_micros((*BASE * 60 + second) * SECOND)
}

/// What a run writes that begins at the first of these seconds, and counts a request before it looks at each other one:
/// the request is settled, and so is its client.
fn run(instance: &str, rules: &str, seconds: &[i64]) -> Vec<Record> {
    let mut identity = identity();
    rules.clone_into(&mut identity.rules_hash);
    run_of(identity, instance, seconds)
}

/// The same, for any identity.
fn run_of(identity: Identity, instance: &str, seconds: &[i64]) -> Vec<Record> {
    let (began, looks) = seconds.split_first().expect("it begins");
    let mut config = TallyConfig::new(identity, instance, Vec::new());
    config.started = at(*began);
    let book = TallyBook::new(config);
    let recorder = book.recorder(book.generation());
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

/// A store, its URL, and how it is written to.
fn stores(check: impl Fn(&StoreConfig)) {
    check(&Store::new().url);
    let database = ClickHouse::shared().database();
    check(&with_tables(&database));
}

fn evidence(store: &StoreConfig) -> Evidence {
    evidence_of(store, &Selection::default())
}

fn evidence_of(store: &StoreConfig, selection: &Selection) -> Evidence {
    let reader = Reader::open(store).expect("it opens");
    let evidence = reader.evidence(selection).expect("it is read");
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
        // Another process with its name began, but it continued to receive requests.
        fill(store, &run("two", "abc", &[65, 70]));
        assert_eq!(apart(), two);
        // It was reloaded, and only settled its remaining requests.
        fill(store, &run("two", "abc", &[150, 160]));
        assert_eq!(apart(), []);
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn what_is_unknown_of_a_run_reaches_into_the_window() {
    stores(|store| {
        fill(store, &run("one", "abc", &[0, 10, 20]));
        fill(store, &run("under other rules", "old", &[0, 10, 20]));
        fill(store, &run("two", "abc", &[130, 140]));
        let runs = |since| {
            let selection = Selection {
                since: Some(at(since)),
                ..Selection::default()
            };
            let found = evidence_of(store, &selection);
            let runs = found.runs.into_iter();
            runs.map(|run| (run.instance, run.succeeded))
                .collect::<Vec<_>>()
        };
        let (one, two) = (("one".to_owned(), None), ("two".to_owned(), None));
        let other = ("under other rules".to_owned(), None);
        // Nobody knows what they received after their last watermark.
        assert_eq!(runs(120), [one, two.clone(), other]);
        fill(store, &run("one", "abc", &[125, 140]));
        fill(store, &run("under other rules", "abc", &[126, 140]));
        let began = ("one".to_owned(), Some(at(125)));
        let same = |name: &str| (name.to_owned(), None);
        let (again, reloaded) = (same("one"), same("under other rules"));
        // As with equal rules, nobody knows what the one before received until then.
        let killed = ("under other rules".to_owned(), Some(at(126)));
        let all = [began, again.clone(), two.clone(), reloaded, killed];
        assert_eq!(runs(124), all);
        assert_eq!(runs(125)[0], again);
        assert_eq!(runs(125).len(), 4);
        assert_eq!(runs(126).len(), 3);
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn a_run_for_another_version_is_seen_while_it_receives_unless_one_was_asked_for() {
    stores(|store| {
        let of = |legacy: &str, candidate: &str| Identity {
            legacy_version: legacy.to_owned(),
            candidate_version: candidate.to_owned(),
            ..identity()
        };
        fill(store, &run_of(of("1", "1"), "long ago", &[0, 10]));
        fill(
            store,
            &run_of(of("1", "1"), "old candidate", &[60, 70, 200]),
        );
        fill(store, &run_of(of("old", "2"), "old legacy", &[60, 70, 200]));
        fill(store, &run_of(of("1", "2"), "one", &[130, 140, 200]));
        let apart = |selection: &Selection| {
            let runs = evidence_of(store, selection).runs.into_iter();
            runs.filter_map(|run| match run.apart? {
                Apart::Versions { legacy, candidate } => Some((run.instance, legacy, candidate)),
                Apart::Rules(_) => None,
            })
            .collect::<Vec<_>>()
        };
        let named = |texts: [&str; 3]| texts.map(ToOwned::to_owned).into();
        let (candidate, legacy): (_, (String, String, String)) = (
            named(["old candidate", "1", "1"]),
            named(["old legacy", "old", "2"]),
        );
        let all = Selection::default();
        assert_eq!(apart(&all), [candidate, legacy.clone()]);
        let version = Selection {
            candidate_version: Some("2".to_owned()),
            ..all
        };
        assert_eq!(apart(&version), [legacy]);
        let both = Selection {
            legacy_version: Some("1".to_owned()),
            ..version
        };
        assert_eq!(apart(&both), []);
    });
}

/// When runs look whose clock is set back by more than a minute: one comes to where it was, one ends before it began.
const SET_BACK: [&[i64]; 2] = [
    &[0, 10, 70, 80, 130, 5, 12, 65, 70],
    &[200, 210, 270, 5, 12],
];

fn lacks(store: &StoreConfig) -> bool {
    let remembering = store.clone().remembering();
    // Also by a process that adds up what is closed, and by what it then knows.
    let found = [store, &remembering, &remembering].map(|store| {
        let found = evidence(store);
        let one = found.runs.iter().find(|run| run.instance == "one");
        one.expect("it is there").lacks_tallies
    });
    assert!(found.iter().all(|lacks| *lacks == found[0]), "{found:?}");
    found[0]
}

/// All that a run counted is found at each look, and each tally that is missing at the end is missed.
/// `store` gives a new one with what keeps it.
fn clock_set_back<K>(store: impl Fn() -> (StoreConfig, K)) {
    for seconds in SET_BACK {
        clock_set_back_at(seconds, &store);
    }
}

fn clock_set_back_at<K>(seconds: &[i64], store: impl Fn() -> (StoreConfig, K)) {
    let (whole, _kept) = store();
    for record in run("one", "abc", seconds) {
        let is_look = matches!(record, Record::Watermark(_));
        fill(&whole, &[record]);
        assert!(!is_look || !lacks(&whole));
    }
    let records = run("one", "abc", seconds);
    let ids: BTreeSet<_> = records.iter().filter_map(id_of_tally).collect();
    assert!(ids.len() >= 2, "{}", ids.len());
    for missing in ids {
        let (store, _kept) = store();
        let others = records
            .iter()
            .filter(|record| id_of_tally(record) != Some(missing));
        let others: Vec<Record> = others.cloned().collect();
        fill(&store, &others);
        assert!(lacks(&store), "{missing}");
    }
}

fn id_of_tally(record: &Record) -> Option<uuid::Uuid> {
    match record {
        Record::Tally(tally) => Some(tally.id),
        _ => None,
    }
}

#[test]
fn counts_of_a_clock_that_was_set_back_are_all_found_in_a_file() {
    clock_set_back(|| {
        let store = Store::new();
        (store.url.clone(), store)
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn counts_of_a_clock_that_was_set_back_are_all_found_on_a_server() {
    clock_set_back(|| {
        let database = ClickHouse::shared().database();
        (with_tables(&database), database)
    });
}

/// The records of a run that ended in order, a request in each of its looks.
fn ended(seconds: &[i64]) -> Vec<Record> {
    let (began, looks) = seconds.split_first().expect("it begins");
    let mut config = TallyConfig::new(identity(), "one", Vec::new());
    config.started = at(*began);
    let book = TallyBook::new(config);
    let recorder = book.recorder(book.generation());
    let route = route();
    let mut records = look(&book, *began);
    for second in looks {
        // Settled in the minute after, if the next look is in it.
        let epoch = recorder.received(&route);
        records.extend(look(&book, *second));
        recorder.matched(&route, 1_000, 900);
        recorder.settled(epoch);
        recorder.client(&route, ClientOutcome::Success);
    }
    book.end();
    let last = looks.last().expect("it ends") + 1;
    records.extend(look(&book, last));
    records
}

/// Counts that somebody made larger, of a run that ended: nothing is decided on it.
fn an_ended_run_has_no_more(store: impl Fn() -> StoreConfig) {
    for seconds in [&[0, 10, 20][..], &[0, 10, 70, 130, 200]] {
        let records = ended(seconds);
        let whole = store();
        fill(&whole, &records);
        assert!(!lacks(&whole), "{seconds:?}");
        let ids: BTreeSet<_> = records.iter().filter_map(id_of_tally).collect();
        for id in ids {
            let more = records.iter().cloned().map(|mut record| {
                if let Record::Tally(tally) = &mut record
                    && tally.id == id
                {
                    tally.counts.matched += 100;
                }
                record
            });
            let edited = store();
            fill(&edited, &more.collect::<Vec<_>>());
            assert!(lacks(&edited), "{seconds:?}, {id}");
        }
    }
}

#[test]
fn an_ended_run_has_no_more_than_it_counted_in_a_file() {
    let stores = std::cell::RefCell::new(Vec::new());
    an_ended_run_has_no_more(|| {
        let store = Store::new();
        let url = store.url.clone();
        stores.borrow_mut().push(store);
        url
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn an_ended_run_has_no_more_than_it_counted_on_a_server() {
    let server = ClickHouse::shared();
    let databases = std::cell::RefCell::new(Vec::new());
    an_ended_run_has_no_more(|| {
        let database = server.database();
        let url = with_tables(&database);
        databases.borrow_mut().push(database);
        url
    });
}
