//! When an interval begins and ends, and what begins with it.

use super::*;
use crate::tally::interval::Interval;

#[test]
fn an_interval_is_a_minute_and_the_first_begins_with_the_process() {
    let book = book(MAX_ROUTES, MAX_GROUPS);
    let recorder = book.recorder(book.generation());
    let route = Route::new("GET /a");
    let mut store = Store::default();
    for tick in 0..600 {
        recorder.received(&route);
        let snapshot = book.snapshot(Timestamp::from_micros(START + tick * 250_000 + 1));
        store.write(&snapshot);
        book.acknowledge(&snapshot);
    }
    let mut intervals: Vec<_> = store
        .tallies
        .values()
        .map(|tally| {
            let start = tally.interval_start.as_micros() - START;
            (start, start + tally.interval_us, tally.counts.received)
        })
        .collect();
    intervals.sort_unstable();
    // 20 s into a minute, so that the first has 40 s; what is gathered just behind a boundary belongs before it.
    assert_eq!(
        intervals,
        [
            (0, 40_000_000, 161),
            (40_000_000, 100_000_000, 240),
            (100_000_000, 149_750_001, 199)
        ]
    );
}

#[test]
fn a_store_that_is_away_makes_one_long_interval() {
    let book = book(MAX_ROUTES, MAX_GROUPS);
    let recorder = book.recorder(book.generation());
    let route = Route::new("GET /a");
    let mut last = Snapshot::default();
    for minute in 0..100 {
        recorder.received(&route);
        let now = Timestamp::from_micros(START + minute * INTERVAL_MICROS);
        last = book.snapshot(now);
        assert!(last.tallies.len() <= MAX_UNWRITTEN_INTERVALS + 1);
    }
    let received: u64 = last.tallies.iter().map(|tally| tally.counts.received).sum();
    assert_eq!(received, 100);
    let longest = last.tallies.iter().map(|tally| tally.interval_us).max();
    assert!(longest > Some(90 * INTERVAL_MICROS));

    book.acknowledge(&last);
    for minute in 101..104 {
        recorder.received(&route);
        let now = Timestamp::from_micros(START + minute * INTERVAL_MICROS);
        book.acknowledge(&book.snapshot(now));
    }
    recorder.received(&route);
    let again = book.snapshot(Timestamp::from_micros(START + 104 * INTERVAL_MICROS + 1));
    assert_eq!(again.tallies.len(), 1, "intervals are short again");
    assert!(again.tallies[0].interval_us <= INTERVAL_MICROS);
}

#[test]
fn the_first_twenty_of_any_group_keep_their_sample_in_each_interval() {
    let book = book(MAX_ROUTES, MAX_GROUPS);
    let (common, rare) = (group("common"), group("rare"));
    let both = [common.clone(), rare, common.clone()];
    for _ in 0..SAMPLES_PER_GROUP - 1 {
        assert!(book.keep_sample(std::slice::from_ref(&common)));
    }
    assert!(book.keep_sample(&both), "the twentieth, counted once");
    assert!(!book.keep_sample(std::slice::from_ref(&common)));
    assert!(book.keep_sample(&both), "for the rare one's sake");
    assert!(!book.keep_sample(&[]));
    for seconds in [0, 60] {
        let later = Timestamp::from_micros(START + seconds * 1_000_000);
        drop(book.snapshot(later));
    }
    assert!(book.keep_sample(&[common]), "another interval");
}

#[test]
fn another_identity_begins_tallies_of_its_own_and_recorders_finish_what_they_began() {
    let book = book(10, 10);
    let route = Route::new("GET /a");
    let before = book.recorder(book.generation());
    before.received(&route);
    let second = Identity {
        migration: "default".to_owned(),
        rules_hash: "other".to_owned(),
        ..Identity::default()
    };
    book.begin_generation(second.clone(), Vec::new());
    book.begin_generation(second, Vec::new());
    let after = book.recorder(book.generation());
    for _ in 0..2 {
        after.received(&route);
        after.matched(&route, 1, 1);
    }
    before.matched(&route, 1, 1);
    let snapshot = book.snapshot(Timestamp::from_micros(START + 1));
    let mut seen: Vec<_> = snapshot
        .tallies
        .iter()
        .map(|tally| {
            let rules = tally.identity.rules_hash.as_str();
            (
                rules,
                tally.route.as_str(),
                tally.counts.received,
                tally.counts.matched,
            )
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, [("", "GET /a", 1, 1), ("other", "GET /a", 2, 2)]);
    let totals = book.totals();
    assert_eq!((totals.routes.len(), totals.total.received), (1, 3));
}

/// The counts of new rules seemed to begin with the minute, before the rules came.
#[test]
fn what_begins_within_an_interval_begins_when_it_did() {
    let at = |seconds: i64| Timestamp::from_micros(START + seconds * 1_000_000);
    let first = Interval::begin(at(1), at(0));
    let next = Interval::begin(at(41), at(40));
    for (interval, began, expected) in [
        (&first, at(0), at(0)),
        (&next, at(0), at(40)),
        (&next, at(55), at(55)),
        // The clock was set back since, or a store was away for minutes: what a row says must not change.
        (&next, at(3_600), at(40)),
    ] {
        assert_eq!(interval.starts()(began), expected, "{began}");
    }
}
