//! Stored decisions are read as they were written, page by page, and alike from every store.

use parity_schemas::evidence::{Decision, GATE_SCHEMA, LeftOutSpan, Outcome, Thresholds, Window};
use parity_schemas::id::new_id;
use parity_schemas::record::Record;
use parity_schemas::time::Timestamp;
use parity_sink::read::{Counted, CountedWindow, DecisionFilter};
use parity_sink::{Reader, StoreConfig, record_decision};
use serde_json::json;

use crate::servers::ClickHouse;
use crate::support::{Store, fill, identity, tally, with_tables};

fn decision(migration: &str, time: Timestamp) -> Decision {
    let total = json!({"route": "", "compared": 0, "differing": 0, "rate": 0.0, "lower": 0.0, "upper": 1.0,
        "outcome": "undecided", "needed": 0});
    let document = json!({"schema": GATE_SCHEMA, "decision_id": new_id(), "time": time, "migration": migration,
        "outcome": "undecided", "headline": "é \"x\" \u{202e}\n", "reasons": [], "thresholds": Thresholds::default(),
        "evidence": null, "total": total, "routes": []});
    serde_json::from_value(document).expect("a decision")
}

/// Three decisions of one migration, oldest first, two of them at the same time, and one of another.
fn check(store: &StoreConfig) {
    let now = Timestamp::now();
    let second = now.saturating_add_micros(1_000_000);
    let mut all = [
        decision("default", now),
        decision("default", second),
        decision("default", second),
    ];
    all[2].outcome = Outcome::Pass;
    for decision in all.iter().chain([&decision("other", now), &all[0]]) {
        record_decision(store, decision).expect("it is stored");
    }
    let reader = Reader::open(store).expect("it opens");
    for decision in &all {
        let text = reader.decision(decision.decision_id).expect("it is read");
        let expected = serde_json::to_string(decision).expect("JSON");
        assert_eq!(text.as_deref(), Some(expected.as_str()));
    }
    assert_eq!(reader.decision(new_id()).expect("it is read"), None);

    let ids = |filter: &DecisionFilter, limit| {
        let lines = reader.decisions(filter, limit).expect("they are read");
        lines.iter().map(|line| line.id).collect::<Vec<_>>()
    };
    let mut filter = DecisionFilter {
        migration: Some("default".to_owned()),
        ..DecisionFilter::default()
    };
    let mut newest = [all[1].decision_id, all[2].decision_id];
    newest.sort_unstable_by(|one, two| two.cmp(one));
    let expected = [newest[0], newest[1], all[0].decision_id];
    assert_eq!(ids(&filter, 10), expected);
    assert_eq!(ids(&DecisionFilter::default(), 10).len(), 4);
    assert_eq!(ids(&filter, 1), expected[..1]);
    filter.before = Some((second, expected[0]));
    assert_eq!(ids(&filter, 10), expected[1..]);
    filter.before = None;
    filter.outcome = Some(Outcome::Pass);
    assert_eq!(ids(&filter, 10), [all[2].decision_id]);
    let line = &reader.decisions(&filter, 1).expect("read")[0];
    assert_eq!(line.headline, all[2].headline);
    assert_eq!((line.time, line.outcome), (second, Outcome::Pass));
}

/// Two tallies of a route, a minute apart, and one of another identity.
fn check_counts(store: &StoreConfig) {
    let minute = 60_000_000;
    let start =
        Timestamp::from_micros(Timestamp::now().as_micros() / minute * minute - 10 * minute);
    let next = start.saturating_add_micros(minute);
    let mut foreign = tally("GET /a", start, 1_000);
    "other".clone_into(&mut foreign.identity.rules_hash);
    let first = tally("GET /a", start, 7);
    let length = first.interval_us;
    let tallies = [
        first,
        tally("GET /a", next, 5),
        tally("GET /b", next, 3),
        foreign,
    ];
    fill(store, &tallies.map(|tally| Record::Tally(Box::new(tally))));
    let reader = Reader::open(store).expect("it opens");
    let received_without = |from, to, closed_by, left_out: &[LeftOutSpan]| {
        let window = Window { from, to };
        let asked = CountedWindow {
            window,
            closed_by,
            left_out: left_out.to_vec(),
        };
        let counted: Counted = reader.counted(&identity(), &asked).expect("read");
        let window = counted.window;
        assert!(counted.routes(|_| false).is_empty());
        let routes = counted.routes(|_| true).into_iter();
        let routes: Vec<_> = routes.map(|one| (one.route, one.counts.received)).collect();
        (window.map(|window| window.from), routes)
    };
    let received = |from, to, closed_by| received_without(from, to, closed_by, &[]);
    let of = |route: &str, count: u64| (route.to_owned(), count);
    let end = next.saturating_add_micros(minute);
    let ever = Timestamp::from_micros(i64::MAX);
    let all = vec![of("GET /a", 12), of("GET /b", 3)];
    assert_eq!(received(start, end, ever), (Some(start), all));
    let closed = start.saturating_add_micros(length);
    assert_eq!(
        received(start, end, closed),
        (Some(start), vec![of("GET /a", 7)])
    );
    assert_eq!(
        received(start, next, ever),
        (Some(start), vec![of("GET /a", 7)])
    );
    let later = vec![of("GET /a", 5), of("GET /b", 3)];
    assert_eq!(received(next, end, ever), (Some(next), later));
    let first_minute = LeftOutSpan {
        from: start,
        to: start.saturating_add_micros(1),
        reason: "a restart".to_owned(),
    };
    let left = vec![of("GET /a", 5), of("GET /b", 3)];
    assert_eq!(
        received_without(start, end, ever, &[first_minute]),
        (Some(next), left)
    );
    assert_eq!(received(end, end, ever), (None, Vec::new()));
}

#[test]
fn decisions_and_their_counts_are_read_from_a_file() {
    let store = Store::new();
    store.fill([]);
    check(&store.url);
    check_counts(&store.url);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn decisions_and_their_counts_are_read_from_clickhouse_alike() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    check(&store);
    check_counts(&store);
}
