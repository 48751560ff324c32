//! Terms are stored once however often they are written, and read alike from every store.

use std::sync::Arc;

use parity_schemas::evidence::carried::{Fate, Redecide};
use parity_schemas::terms::{Coverage, RuleText, RulesText, Terms};
use parity_schemas::time::Timestamp;
use parity_sink::read::{MAX_TERMS, TermsFilter};
use parity_sink::{
    Reader, Selection, Sink, SinkOptions, StoreConfig, StoreUrl, TallyBook, Writer, WriterOptions,
};
use uuid::Uuid;

use crate::servers::{ClickHouse, Kafka};
use crate::support::{PATIENCE, Store, book, identity, number, wait_until, with_tables};

fn terms(sample: f64, time: Timestamp) -> Terms {
    let rules = RulesText {
        equality: 3,
        rules: vec![RuleText {
            id: "é \"x\"\n".to_owned(),
            path: "/a".to_owned(),
            action: "ignore".to_owned(),
            ..RuleText::default()
        }],
        cut: false,
    };
    let coverage = Coverage {
        sample,
        ..Coverage::default()
    };
    let program = "parity test".to_owned();
    Terms::begun(identity(), program, rules, coverage, time, |_| {
        Uuid::from_u128((sample * 100.0) as u128)
    })
}

/// A process under these terms, from its begin to its end.
fn run(store: &StoreConfig, all: &[Terms]) -> Arc<TallyBook> {
    let book = book("one");
    for terms in all {
        book.begin_terms(terms.clone());
    }
    let writer =
        Writer::open(store, Arc::clone(&book), WriterOptions::default()).expect("it opens");
    let report = writer.finish(PATIENCE).expect("it ends");
    assert_eq!(report.failure, None);
    book
}

/// What two processes wrote, that first which is in force.
fn written(store: &StoreConfig) -> Vec<Terms> {
    let first = Timestamp::now();
    let later = first.saturating_add_micros(5_000_000);
    run(store, &[terms(1.0, first)]);
    run(store, &[terms(1.0, later), terms(0.5, later)]);
    vec![terms(0.5, later), terms(1.0, first)]
}

/// The first of them come back, in a process that had the others meanwhile.
fn came_back(store: &StoreConfig) {
    let again = Timestamp::now().saturating_add_micros(6_000_000);
    run(
        store,
        &[terms(1.0, again), terms(0.5, again), terms(1.0, again)],
    );
}

fn of(rules_hash: &str) -> TermsFilter {
    TermsFilter {
        migration: "default".to_owned(),
        rules_hash: rules_hash.to_owned(),
        ..TermsFilter::default()
    }
}

/// The terms of a version are chosen before they are cut, and that some are cut is said.
fn check_versions(store: &StoreConfig) {
    let now = Timestamp::now();
    // Every process remembers only some, so there are several.
    for process in 0..11 {
        let others: Vec<Terms> = (0..10)
            .map(|number| {
                let number = process * 10 + number;
                let mut terms = terms(f64::from(number), now.saturating_add_micros(1_000_000));
                "newer".clone_into(&mut terms.identity.candidate_version);
                terms
            })
            .collect();
        run(store, &others);
    }
    let reader = Reader::open(store).expect("it opens");
    let of = |candidate: &str| TermsFilter {
        versions: Some((identity().legacy_version, candidate.to_owned())),
        ..of("abc")
    };
    let all = reader.terms(&of("newer")).expect("read");
    assert!(
        all.cut && all.terms.len() == MAX_TERMS,
        "{}",
        all.terms.len()
    );
    let first = reader
        .terms(&of(&identity().candidate_version))
        .expect("read");
    assert!(
        !first.cut && first.terms.len() == 2,
        "{}",
        first.terms.len()
    );
}

fn read(store: &StoreConfig) -> Vec<Terms> {
    let reader = Reader::open(store).expect("it opens");
    assert_eq!(reader.terms(&of("other")).expect("read").terms, []);
    assert_eq!(reader.rule_text("other", "abc").expect("read"), None);
    let all = reader.terms(&of("abc")).expect("read");
    assert!(!all.cut);
    let Some(first) = all.terms.first() else {
        return Vec::new();
    };
    let one = TermsFilter {
        ids: vec![first.id],
        ..of("abc")
    };
    assert_eq!(reader.terms(&one).expect("read").terms, all.terms[..1]);
    all.terms
}

#[test]
fn terms_are_stored_once_and_the_first_write_stays() {
    let store = Store::new();
    let expected = written(&store.url);
    assert_eq!(read(&store.url), expected);
    assert_eq!(number(&store.sql(), "SELECT count(*) FROM terms"), 2);
    came_back(&store.url);
    let back: Vec<Terms> = expected.iter().rev().cloned().collect();
    assert_eq!(read(&store.url), back);
    assert_eq!(number(&store.sql(), "SELECT count(*) FROM terms"), 2);
    // What a program wrote whose watermarks do not tell.
    let set = "UPDATE watermarks SET terms = ''";
    store.sql().execute_batch(set).expect("SQL");
    assert_eq!(read(&store.url), expected);
    check_versions(&store.url);
}

#[test]
fn while_the_terms_in_force_are_not_in_the_store_the_record_is_not_complete() {
    let store = Store::new();
    let expected = written(&store.url);
    came_back(&store.url);
    let redecide = Redecide {
        fates: |_, _, routes| Ok(vec![Fate::Untouched; routes.len()]),
        expired: |_, _, _| None,
    };
    let lacks = || {
        let reader = store.reader().carrying(redecide);
        let found = reader.evidence(&Selection::default()).expect("it is read");
        let runs = found.expect("there are runs").runs;
        runs.iter().filter(|run| run.lacks_tallies).count()
    };
    assert_eq!(lacks(), 0);
    let id = expected[1].id;
    let moved = format!("UPDATE terms SET rules_hash = 'late' WHERE id = '{id}'");
    store.sql().execute_batch(&moved).expect("SQL");
    assert_eq!(lacks(), 1, "of the run that names it last");
    let found = store.reader().terms(&of("abc")).expect("read");
    assert!(found.missing && found.terms == expected[..1], "{found:?}");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn terms_are_the_same_in_clickhouse_directly_and_through_kafka() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let direct = server.database();
    let direct = with_tables(&direct);
    let expected = written(&direct);
    assert_eq!(read(&direct), expected);
    came_back(&direct);
    let back: Vec<Terms> = expected.iter().rev().cloned().collect();
    assert_eq!(read(&direct), back);
    check_versions(&direct);

    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(1);
    let folder = tempfile::tempdir().expect("a folder");
    let mut source = StoreConfig::from(kafka.url(&topic).parse::<StoreUrl>().expect("a URL"));
    source.spool.folder = folder.path().join("spool");
    let expected = written(&source);
    let sink = Sink::open(&source, &target, SinkOptions::default()).expect("it opens");
    let stopper = sink.stopper();
    let running = std::thread::spawn(move || sink.run());
    wait_until("all of them are stored", || read(&target) == expected);
    came_back(&source);
    let back: Vec<Terms> = expected.iter().rev().cloned().collect();
    wait_until("the first are in force again", || read(&target) == back);
    stopper.stop();
    let ended = running.join().expect("no panic").expect("no failure");
    assert_eq!(ended.dead_letters, 0);
}
