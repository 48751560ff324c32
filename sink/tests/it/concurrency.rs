//! Several threads, writers and processes on one store.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use parity_schemas::verdict::Reason;
use parity_sink::{WriterOptions, record_decision};

use crate::crash::{start_child, store_of_child};
use crate::opening::decision;
use crate::support::{PATIENCE, Store, book, matched, mismatched, number, route};

#[test]
fn many_threads_are_in_the_report_to_the_unit() {
    const THREADS: u64 = 6;
    const EACH: u64 = 3_000;
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (sender, recorder) = (writer.handle(), book.recorder(book.generation()));
            scope.spawn(move || {
                let route = route();
                for request in 0..EACH {
                    match request % 10 {
                        0 => {
                            sender.send(mismatched(&recorder, &route, 0)).ok();
                        }
                        1 => {
                            recorder.received(&route);
                            recorder.not_compared(&route, Reason::CandidateTimeout);
                        }
                        _ => matched(&recorder, &route),
                    }
                }
            });
        }
    });
    let totals = book.totals();
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    let report = store.report();
    assert_eq!(report.counts, totals.total);
    assert_eq!(report.counts.received, THREADS * EACH);
    assert_eq!(report.counts.settled(), report.counts.received);
    assert_eq!(report.counts.candidate_failures(), THREADS * EACH / 10);
    assert_eq!(report.groups[0].count, THREADS * EACH / 10);
    let stored = number(&store.sql(), "SELECT count(*) FROM mismatches");
    assert_eq!(
        stored as u64 + finished.records_dropped,
        THREADS * EACH / 10
    );
}

#[test]
fn two_mirrors_on_one_store_add_up() {
    let store = Store::new();
    let (one, two) = (book("one"), book("two"));
    let options = WriterOptions::default;
    let (first, second) = (store.writer(&one, options()), store.writer(&two, options()));
    let route = route();
    let (one, two) = (
        one.recorder(one.generation()),
        two.recorder(two.generation()),
    );
    for _ in 0..500 {
        matched(&one, &route);
        matched(&two, &route);
    }
    for writer in [first, second] {
        let finished = writer.finish(PATIENCE).expect("the writer ends");
        assert_eq!(finished.unwritten_tallies, 0);
    }
    let report = store.report();
    assert_eq!(report.counts.received, 1_000);
    assert_eq!(report.instances, ["one", "two"]);
}

#[test]
fn a_store_that_many_create_at_once_is_created_once() {
    for _ in 0..5 {
        let store = Store::new();
        let start = Barrier::new(6);
        std::thread::scope(|scope| {
            for number in 0..6 {
                let (store, start) = (&store, &start);
                scope.spawn(move || {
                    let book = book(&number.to_string());
                    matched(&book.recorder(book.generation()), &route());
                    start.wait();
                    let writer = store.writer(&book, WriterOptions::default());
                    writer.finish(PATIENCE).expect("the writer ends");
                });
            }
        });
        assert_eq!(store.received(), 6);
    }
}

const DECISIONS: i64 = 20;

#[test]
fn child_that_decides() {
    let Some(url) = store_of_child() else { return };
    for _ in 0..DECISIONS {
        record_decision(&url, &decision()).expect("the gate writes beside the mirror");
    }
}

#[test]
fn the_gate_of_another_process_writes_while_the_mirror_does() {
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    let done = AtomicBool::new(false);
    let counted = std::thread::scope(|scope| {
        let mirror = scope.spawn(|| {
            let (sender, recorder, route) =
                (writer.handle(), book.recorder(book.generation()), route());
            let mut counted = 0_u64;
            while !done.load(Ordering::Acquire) {
                // As fast as the store accepts them, so that it is always busy.
                sender.send(mismatched(&recorder, &route, 1_000)).ok();
                counted += 1;
            }
            counted
        });
        let child = start_child("concurrency::child_that_decides", &store);
        let output = child.wait_with_output().expect("it ends");
        done.store(true, Ordering::Release);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
        mirror.join().expect("no panic")
    });
    writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!(store.received(), counted);
    let decisions = number(&store.sql(), "SELECT count(*) FROM decisions");
    assert_eq!(decisions, DECISIONS);
}
