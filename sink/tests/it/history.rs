//! The history that is read from what was written, on both stores alike.

use std::sync::OnceLock;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::Window;
use parity_schemas::history::{History, MarkKind};
use parity_schemas::id::new_id;
use parity_schemas::lately::{CandidateErrors, CandidateFailures, CandidateSeen};
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::tally::{SetTally, Tally, set_id};
use parity_schemas::terms::{Coverage, Terms};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_schemas::watermark::Watermark;
use parity_sink::read::RunSeen;
use parity_sink::read::history::{
    Buckets, ExcusedOf, ExcusedSet, HistoryFilter, MAX_ROUTES, MinutesFilter, Versions,
};
use parity_sink::{Reader, Selection, StoreConfig, StoreError};

use crate::servers::ClickHouse;
use crate::support::{Store, fill, group_tally, identity, tally, with_tables};

const MINUTE: i64 = 60_000_000;

/// Minutes before the tests began, on the minute: the same however long they take.
fn minutes_ago(minutes: i64) -> Timestamp {
    static BEGAN: OnceLock<i64> = OnceLock::new();
    let began = *BEGAN.get_or_init(|| Timestamp::now().as_micros() / MINUTE);
    Timestamp::from_micros((began - minutes) * MINUTE)
}

fn of_tally(tally: &Tally) -> Record {
    Record::Tally(Box::new(tally.clone()))
}

/// A minute of one route with all that a history counts.
fn counted(route: &str, ago: i64, differing: u64) -> Tally {
    let mut tally = tally(route, minutes_ago(ago), 100);
    tally.counts.received += differing + 4;
    tally.counts.mismatch = differing;
    tally.counts.classes = [
        (MismatchClass::Confirmed, differing - differing / 2),
        (MismatchClass::Transient, differing / 2),
    ]
    .into();
    tally.counts.not_compared = [(Reason::CandidateTimeout, 3), (Reason::UnsafeMethod, 1)].into();
    tally.counts.clients = [
        (ClientOutcome::Success, 102 + differing),
        (ClientOutcome::LegacyTimeout, 2),
    ]
    .into();
    let bucket = parity_schemas::histogram::bucket;
    tally.legacy_head_latency.add(bucket(1_000), 100);
    tally.candidate_head_latency.add(bucket(2_000), 98);
    tally.candidate_head_latency.add(bucket(50_000), 2);
    tally
}

/// Two routes, two versions, other rules, a gap, groups and sets, one tally that is old and one of the future.
fn traffic() -> Vec<Record> {
    let mut records = Vec::new();
    for ago in (0..100).rev().filter(|ago| !(40..50).contains(ago)) {
        for route in ["GET /a", "POST /ö\u{202e}'\\"] {
            let mut tally = counted(route, ago, if ago < 20 { 10 } else { 0 });
            if ago < 60 {
                "rust-2".clone_into(&mut tally.identity.candidate_version);
            }
            if ago < 30 {
                "def".clone_into(&mut tally.identity.rules_hash);
            }
            if ago < 20 && route == "GET /a" {
                let group = group_tally(&tally, "f00d", 7, new_id());
                records.push(Record::GroupTally(Box::new(group)));
                records.push(Record::SetTally(Box::new(SetTally {
                    tally_id: tally.id,
                    revision: 1,
                    identity: tally.identity.clone(),
                    interval_start: tally.interval_start,
                    run: tally.run,
                    route: tally.route.clone(),
                    set_id: set_id(["f00d"]),
                    fingerprints: vec!["f00d".to_owned()],
                    classes: [(MismatchClass::Confirmed, 4), (MismatchClass::Transient, 3)].into(),
                    never_asked: 1,
                })));
            }
            records.push(of_tally(&tally));
        }
    }
    let mut wrong = counted("GET /a", 0, 50);
    wrong.interval_start = minutes_ago(300 * 24 * 60);
    records.push(of_tally(&wrong));
    wrong.id = new_id();
    wrong.interval_start = minutes_ago(-10_000);
    records.push(of_tally(&wrong));
    for (ago, sample) in [(200, 1.0), (50, 1.0), (25, 0.5)] {
        records.push(Record::Terms(Box::new(Terms {
            id: new_id(),
            identity: identity(),
            time: minutes_ago(ago),
            coverage: Coverage {
                sample,
                ..Coverage::default()
            },
            ..Terms::default()
        })));
    }
    records
}

fn since(ago: i64) -> HistoryFilter {
    HistoryFilter {
        selection: Selection {
            since: Some(minutes_ago(ago)),
            ..Selection::default()
        },
        ..HistoryFilter::default()
    }
}

fn read(store: &StoreConfig, filter: &HistoryFilter) -> History {
    let reader = Reader::open(store).expect("it opens");
    reader.history(filter).expect("it is read")
}

/// Of all buckets, by name.
fn sum(history: &History, of: fn(&parity_schemas::history::HistoryBucket) -> u64) -> u64 {
    history.buckets.iter().map(of).sum()
}

fn versions(candidate: &str) -> Versions {
    Versions {
        legacy: identity().legacy_version,
        candidate: candidate.to_owned(),
    }
}

fn excused(candidate: &str, with_never_asked: bool) -> Vec<ExcusedOf> {
    let sets = vec![
        ExcusedSet {
            route: "GET /a".to_owned(),
            fingerprints: vec!["f00d".to_owned()],
            with_never_asked,
        },
        ExcusedSet {
            route: "GET /other".to_owned(),
            fingerprints: vec!["f00d".to_owned()],
            with_never_asked: true,
        },
    ];
    vec![ExcusedOf {
        versions: versions(candidate),
        sets,
    }]
}

/// What any store must say of [`traffic`].
fn check(store: &StoreConfig) {
    check_minutes(store);
    let filter = HistoryFilter {
        fingerprints: vec!["f00d".to_owned(), "none".to_owned(), "f00d".to_owned()],
        ..since(110)
    };
    let history = read(store, &filter);
    assert_eq!(history.bucket_seconds, 60);
    // The tally of the future is in no bucket, and the old one is before the range.
    assert_eq!(history.buckets.len(), 90);
    assert_eq!(
        sum(&history, |bucket| bucket.received),
        90 * 2 * 104 + 20 * 2 * 10
    );
    assert_eq!(
        sum(&history, |bucket| bucket.compared),
        90 * 2 * 103 + 20 * 2 * 10
    );
    assert_eq!(
        sum(&history, |bucket| bucket.candidate_failures),
        90 * 2 * 3
    );
    assert_eq!(sum(&history, |bucket| bucket.clients_failed), 90 * 2 * 2);
    assert_eq!(sum(&history, |bucket| bucket.mismatches), 20 * 2 * 10);
    // What is transient does not count.
    assert_eq!(
        sum(&history, |bucket| bucket.differing),
        90 * 2 * 3 + 20 * 2 * 5
    );
    let last = history.buckets.last().expect("a bucket");
    assert_eq!(last.classes[&MismatchClass::Transient], 10);
    assert!(history.with_latency);
    assert_eq!(last.legacy_head_us["p50"], 1_008);
    assert_eq!(last.candidate_head_us["p99"], 50_176);
    // Absent, and not zero.
    let gap = minutes_ago(45);
    assert!(history.buckets.iter().all(|bucket| bucket.from != gap));
    let marks: Vec<_> = history
        .marks
        .iter()
        .map(|mark| (mark.kind, mark.time, mark.from.as_str(), mark.to.as_str()))
        .collect();
    assert_eq!(
        marks,
        [
            (
                MarkKind::CandidateVersion,
                minutes_ago(59),
                "rust-1",
                "rust-2"
            ),
            (MarkKind::Rules, minutes_ago(29), "abc", "def"),
            (MarkKind::Configuration, minutes_ago(25), "", ""),
        ]
    );
    assert_eq!(history.identities.len(), 3);
    assert_eq!(last.identities, [2]);
    let of: Vec<_> = history
        .routes
        .iter()
        .map(|route| (route.route.as_str(), route.differing))
        .collect();
    assert_eq!(of, [("GET /a", 370), ("POST /ö\u{202e}'\\", 370)]);
    assert_eq!(
        history.routes[0].differing_by_bucket.iter().sum::<u64>(),
        370
    );
    assert_eq!(history.routes[0].compared_by_bucket.len(), history.places());
    let [seen, never] = &history.groups[..] else {
        panic!("{:?}", history.groups);
    };
    assert_eq!((seen.count, seen.route.as_str()), (140, "GET /a"));
    assert_eq!(
        seen.first_seen,
        Some(minutes_ago(19).saturating_add_micros(1))
    );
    assert_eq!(
        seen.last_seen,
        Some(minutes_ago(0).saturating_add_micros(50_000_000))
    );
    assert_eq!(
        seen.count_by_bucket
            .iter()
            .filter(|count| **count == 7)
            .count(),
        20
    );
    assert_eq!((never.count, never.first_seen), (0, None));
    assert_eq!(never.count_by_bucket, vec![0; history.places()]);
    check_selected(store, &history);
}

/// Minutes of a few spans, by version, and when runs were at work.
fn check_minutes(store: &StoreConfig) {
    let reader = Reader::open(store).expect("it opens");
    let spans = [(64, 58), (21, 20)].map(|(from, to)| Window {
        from: minutes_ago(from),
        to: minutes_ago(to),
    });
    let filter = MinutesFilter {
        of: HistoryFilter::default(),
        spans: spans.to_vec(),
    };
    let minutes = reader.minutes(&filter).expect("they are read");
    let told: Vec<_> = minutes
        .iter()
        .map(|minute| {
            let ago = (minutes_ago(0).as_micros() - minute.from.as_micros()) / MINUTE;
            (ago, minute.candidate_version.as_str() == "rust-2")
        })
        .collect();
    let expected = [64, 63, 62, 61, 60, 59, 21].map(|ago| (ago, ago < 60));
    assert_eq!(told, expected);
    for minute in &minutes {
        // Of two routes.
        assert_eq!(
            (minute.compared, minute.unanswered, minute.breaker_open),
            (206, 6, 0)
        );
        assert_eq!(minute.clients[&ClientOutcome::LegacyTimeout], 4);
    }
    let of_one = MinutesFilter {
        of: HistoryFilter {
            route: Some("GET /a".to_owned()),
            ..HistoryFilter::default()
        },
        ..filter
    };
    let of_one = reader.minutes(&of_one).expect("they are read");
    assert_eq!((of_one.len(), of_one[0].compared), (7, 103));
    let nothing = reader.minutes(&MinutesFilter::default());
    assert_eq!(nothing.expect("nothing is read"), []);
    assert!(reader.run_times("none").expect("none").is_empty());
}

fn check_selected(store: &StoreConfig, history: &History) {
    for (with_never, each) in [(true, 4), (false, 3)] {
        let of = HistoryFilter {
            excused: Some(excused("rust-2", with_never)),
            ..since(110)
        };
        let without = read(store, &of);
        assert!(without.without_excused && !history.without_excused);
        assert_eq!(sum(&without, |bucket| bucket.excused), 20 * each);
        let less = sum(history, |bucket| bucket.differing) - 20 * each;
        assert_eq!(sum(&without, |bucket| bucket.differing), less);
    }
    // What is excused of one version is not of another one that differs in the same; and of both, each by its own.
    let mut both = excused("rust-1", true);
    let of = |excused: &[ExcusedOf]| HistoryFilter {
        excused: Some(excused.to_vec()),
        ..since(110)
    };
    assert_eq!(sum(&read(store, &of(&both)), |bucket| bucket.excused), 0);
    both.extend(excused("rust-2", false));
    let all = read(store, &of(&both));
    assert_eq!(sum(&all, |bucket| bucket.excused), 20 * 3);
    let reader = Reader::open(store).expect("it opens");
    // In which order two stand that counted within five minutes of each other depends on the store.
    let counted = |filter: &HistoryFilter| {
        let mut found = reader.counted_versions(filter).expect("they are read");
        found.sort();
        found
    };
    let both = ["rust-1", "rust-2"].map(versions);
    assert_eq!(counted(&since(110)), both);
    // One that has a tally of the future may have counted at any time before, and whether that is asked depends on the store.
    assert!(counted(&since(40)).contains(&versions("rust-2")));
    let mut of_one = since(110);
    of_one.selection.candidate_version = Some("rust-1".to_owned());
    assert_eq!(counted(&of_one), [versions("rust-1")]);
    of_one.selection.migration = Some("none".to_owned());
    assert_eq!(counted(&of_one), []);
    let of_route = read(
        store,
        &HistoryFilter {
            route: Some("GET /a".to_owned()),
            ..since(110)
        },
    );
    assert_eq!(
        sum(&of_route, |bucket| bucket.received),
        sum(history, |bucket| bucket.received) / 2
    );
    assert_eq!(
        (of_route.routes.len(), of_route.window),
        (1, history.window)
    );
    let mut of_version = since(110);
    of_version.selection.candidate_version = Some("rust-1".to_owned());
    let of_version = read(store, &of_version);
    assert_eq!(of_version.buckets.len(), 40);
    assert_eq!(of_version.identities.len(), 1);
    let until = HistoryFilter {
        until: Some(minutes_ago(60)),
        ..since(80)
    };
    let until = read(store, &until);
    let begins: Vec<_> = until.buckets.iter().map(|bucket| bucket.from).collect();
    assert_eq!(
        (begins.len(), begins[0], begins[19]),
        (20, minutes_ago(80), minutes_ago(61))
    );
    // All of it, in such buckets that the old one is in the first.
    let mut all = since(0);
    all.selection.since = Some(Timestamp::from_micros(0));
    let all = read(store, &all);
    assert!(all.places() <= 120, "{}", all.places());
    let one = sum(history, |bucket| bucket.received) + 154;
    assert_eq!(sum(&all, |bucket| bucket.received), one);
    // In the buckets of another one, which begin long before: only what was asked for.
    let upon = HistoryFilter {
        buckets: Buckets::of(&all),
        ..since(110)
    };
    let upon = read(store, &upon);
    assert_eq!(
        (upon.window, upon.bucket_seconds),
        (all.window, all.bucket_seconds)
    );
    let received = |history: &History| sum(history, |bucket| bucket.received);
    assert_eq!(received(&upon), received(history));
    for filter in [
        HistoryFilter {
            until: Some(minutes_ago(90)),
            ..since(80)
        },
        HistoryFilter {
            selection: Selection {
                migration: Some("none".to_owned()),
                ..Selection::default()
            },
            fingerprints: vec!["f00d".to_owned()],
            ..HistoryFilter::default()
        },
    ] {
        let nothing = read(store, &filter);
        assert_eq!((nothing.window, nothing.buckets.len()), (None, 0));
        assert_eq!(nothing.groups.len(), filter.fingerprints.len());
    }
}

#[test]
fn a_history_has_what_was_counted_when_and_what_changed() {
    let store = Store::new();
    store.fill(traffic());
    check(&store.url);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn both_stores_have_the_same_history() {
    let server = ClickHouse::shared();
    let database = server.database();
    let target = with_tables(&database);
    let records = traffic();
    fill(&target, &records);
    // Written twice, as a sink may: nothing is counted twice.
    fill(&target, &records);
    check(&target);
    let store = Store::new();
    store.fill(records);
    let filter = HistoryFilter {
        fingerprints: vec!["f00d".to_owned()],
        excused: Some(excused("rust-2", false)),
        // Both are read at different times.
        until: Some(minutes_ago(-1)),
        ..since(110)
    };
    assert_eq!(read(&target, &filter), read(&store.url, &filter));
}

/// What runs have seen of their candidates, by those that wrote lately; of an older one nothing is known.
fn check_seen(store: &StoreConfig, fill: impl Fn(&[Record])) {
    let seen = |failed| CandidateSeen {
        failures: vec![CandidateFailures {
            candidate_version: "rust-1".to_owned(),
            from: minutes_ago(9),
            to: minutes_ago(8),
            answered: Some(minutes_ago(7)),
            failed,
            not_sent: 4,
        }],
        errors: vec![CandidateErrors {
            candidate_version: "rust-1".to_owned(),
            from: minutes_ago(6),
            to: minutes_ago(5),
            ended: None,
            compared: 60,
            errors: 45,
            legacy_errors: 2,
        }],
        ..CandidateSeen::default()
    };
    let run = |instance: &str, ago: i64, ended, candidate| {
        Record::Watermark(Box::new(Watermark {
            id: new_id(),
            revision: 1,
            identity: identity(),
            instance: instance.to_owned(),
            written: minutes_ago(ago),
            ended,
            candidate,
            ..Watermark::begun(minutes_ago(60 + ago))
        }))
    };
    let one = run("one", 1, false, Some(seen(1)));
    let mut earlier = one.clone();
    if let Record::Watermark(earlier) = &mut earlier {
        earlier.revision = 0;
        earlier.written = minutes_ago(2);
        earlier.candidate = Some(seen(7));
    }
    fill(&[earlier]);
    fill(&[
        run("old", 0, false, None),
        one,
        run("two", 2, true, Some(seen(2))),
        run("before", 30, true, Some(seen(3))),
        run("long before", 300, true, Some(seen(4))),
    ]);
    let reader = Reader::open(store).expect("it opens");
    let migration = identity().migration;
    let found = reader.seen(&migration, minutes_ago(10));
    let expected = [("two", 2, true), ("one", 1, false)].map(|(instance, ago, ended)| RunSeen {
        instance: instance.to_owned(),
        candidate_version: "rust-1".to_owned(),
        written: minutes_ago(ago),
        ended,
        candidate: seen(ago.unsigned_abs()),
    });
    assert_eq!(found.expect("they are read"), expected);
    let nobody = reader.seen("none", minutes_ago(10));
    assert!(nobody.expect("nothing is read").is_empty());
}

#[test]
fn what_runs_have_seen_of_their_candidates_is_read() {
    let store = Store::new();
    check_seen(&store.url, |records| store.fill(records.to_vec()));
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn what_runs_have_seen_of_their_candidates_is_read_from_clickhouse_too() {
    let database = ClickHouse::shared().database();
    let target = with_tables(&database);
    check_seen(&target, |records| fill(&target, records));
}

#[test]
fn a_record_of_an_older_program_has_a_history_of_what_it_told() {
    let store = Store::new();
    let mut older = counted("GET /a", 5, 10);
    older.counts.classes.clear();
    older.counts.clients.clear();
    store.fill([of_tally(&older)]);
    store
        .sql()
        .execute_batch(
            "UPDATE tallies SET classes = '{}', clients = NULL, legacy_head_latency = ''",
        )
        .expect("as an older program left it");
    let history = read(&store.url, &HistoryFilter::default());
    let [bucket] = &history.buckets[..] else {
        panic!("{:?}", history.buckets);
    };
    assert_eq!(bucket.classes, [(MismatchClass::Unconfirmed, 10)].into());
    assert_eq!((bucket.clients_failed, bucket.differing), (0, 13));
    assert!(bucket.legacy_head_us.is_empty() && !bucket.candidate_head_us.is_empty());
}

#[test]
fn of_many_routes_the_worst_are_listed_and_all_are_counted() {
    let store = Store::new();
    let routes = MAX_ROUTES + 7;
    store.fill(
        (0..routes).map(|route| of_tally(&counted(&format!("GET /{route}"), 3, 2 * route as u64))),
    );
    let history = read(&store.url, &HistoryFilter::default());
    assert_eq!(
        (history.routes.len(), history.routes_left_out),
        (MAX_ROUTES, 7)
    );
    assert_eq!(history.routes[0].route, format!("GET /{}", routes - 1));
    let listed: u64 = history.routes.iter().map(|route| route.received).sum();
    assert!(sum(&history, |bucket| bucket.received) > listed);
}

#[test]
fn what_no_traffic_counts_and_words_that_nobody_knows_are_errors() {
    for (sql, column) in [
        (
            "UPDATE tallies SET not_compared = '{\"odd\":1}'",
            "not_compared",
        ),
        ("UPDATE tallies SET classes = 'x'", "classes"),
        ("UPDATE tallies SET received = -1", "received"),
        ("UPDATE tallies SET mismatch = 9007199254740993", "GET /a"),
    ] {
        let store = Store::new();
        store.fill([of_tally(&counted("GET /a", 3, 2))]);
        store.sql().execute_batch(sql).expect("tampered with");
        let read = store.reader().history(&HistoryFilter::default());
        let refused: StoreError = read.expect_err(sql);
        assert!(refused.to_string().contains(column), "{sql}: {refused}");
    }
}
