//! The book against a model: whatever is counted, in whatever order it is gathered, written, lost and written again,
//! the store ends up with exactly that.

use std::collections::{BTreeMap, HashMap};

use parity_schemas::clients::ClientOutcome;
use parity_schemas::digest::ExchangeDigest;
use parity_schemas::field_share::{FieldCount, FieldNumbers};
use parity_schemas::id::new_id;
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::record::MismatchClass;
use parity_schemas::route::Route;
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::verdict::{Kind, Part, Reason};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

mod groups;
mod intervals;
mod metrics;
mod watermarks;

const ROUTES: [&str; 4] = ["GET /a", "GET /b", "POST /c", "GET /d"];
const START: i64 = 1_767_225_600_000_000 + 20_000_000;

fn group(fingerprint: &str) -> Group {
    Group {
        fingerprint: fingerprint.to_owned(),
        part: Part::Body,
        pattern: format!("/{fingerprint}"),
        kind: Kind::Value,
        explanation: None,
        shape: String::new(),
        legacy_status: 200,
        candidate_status: 200,
    }
}

fn book(max_routes: usize, max_groups: usize) -> Arc<TallyBook> {
    let identity = Identity {
        migration: "default".to_owned(),
        ..Identity::default()
    };
    TallyBook::new(TallyConfig {
        max_routes,
        max_groups,
        started: Timestamp::from_micros(START),
        ..TallyConfig::new(identity, "here", vec!["one".to_owned(), "two".to_owned()])
    })
}

/// A store that keeps the highest revision, as every store does.
#[derive(Default)]
struct Store {
    tallies: HashMap<Uuid, Tally>,
    groups: HashMap<(Uuid, String), GroupTally>,
}

impl Store {
    fn write(&mut self, snapshot: &Snapshot) {
        for tally in &snapshot.tallies {
            let stored = self
                .tallies
                .entry(tally.id)
                .or_insert_with(|| tally.clone());
            if tally.revision > stored.revision {
                *stored = tally.clone();
            }
        }
        for group in &snapshot.groups {
            let key = (group.tally_id, group.group.fingerprint.clone());
            let stored = self.groups.entry(key).or_insert_with(|| group.clone());
            if group.revision > stored.revision {
                *stored = group.clone();
            }
        }
    }

    fn by_route(&self) -> BTreeMap<String, Counts> {
        let mut routes = BTreeMap::<String, Counts>::new();
        for tally in self.tallies.values() {
            routes
                .entry(tally.route.clone())
                .or_default()
                .merge(&tally.counts);
        }
        routes
    }

    fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.by_route()
            .values()
            .for_each(|counts| total.merge(counts));
        total
    }
}

#[derive(Clone, Debug)]
enum Step {
    Received(usize, usize),
    Matched(usize, usize, Option<FieldNumbers>),
    NotCompared(usize, usize, usize),
    Client(usize, usize, usize),
    Mismatch(usize, usize, Vec<u8>),
    RuleHits(usize, usize, usize, u32),
    NewThread(usize),
    Pass(i64),
    Snapshot(Fate),
    Totals,
}

/// What becomes of a snapshot.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Stored,
    Lost,
    /// Written, but the writer was told that it failed.
    Unsure,
    /// Written behind a later one, by a retry that nobody waits for any more.
    Late,
}

fn step() -> impl Strategy<Value = Step> {
    let (thread, route) = (0..3_usize, 0..ROUTES.len());
    let at = (thread, route);
    prop_oneof![
        4 => at.clone().prop_map(|(thread, route)| Step::Received(thread, route)),
        2 => (at.clone(), proptest::option::of(any::<[u32; FieldCount::ALL.len()]>()))
            .prop_map(|((thread, route), fields)| Step::Matched(thread, route, fields.map(|fields| fields.map(u64::from)))),
        1 => (at.clone(), 0..Reason::COUNT)
            .prop_map(|((thread, route), reason)| Step::NotCompared(thread, route, reason)),
        2 => (at.clone(), 0..ClientOutcome::COUNT)
            .prop_map(|((thread, route), outcome)| Step::Client(thread, route, outcome)),
        2 => (at.clone(), vec(0..5_u8, 0..6))
            .prop_map(|((thread, route), groups)| Step::Mismatch(thread, route, groups)),
        1 => (at, 0..2_usize, 1..9_u32)
            .prop_map(|((thread, route), rule, hits)| Step::RuleHits(thread, route, rule, hits)),
        1 => (0..3_usize).prop_map(Step::NewThread),
        2 => prop_oneof![0..900_000_i64, Just(INTERVAL_MICROS), Just(-INTERVAL_MICROS), 0..5 * INTERVAL_MICROS]
            .prop_map(Step::Pass),
        3 => prop_oneof![Just(Fate::Stored), Just(Fate::Lost), Just(Fate::Unsure), Just(Fate::Late)]
            .prop_map(Step::Snapshot),
        1 => Just(Step::Totals),
    ]
}

/// What must be in the store in the end.
#[derive(Default)]
struct Expected {
    routes: BTreeMap<String, Counts>,
    groups: u64,
    hits: [u64; 2],
    compared: u64,
}

proptest! {
    #[test]
    fn every_count_ends_up_in_the_store_once(steps in vec(step(), 0..120), max_routes in 1..5_usize) {
        let book = book(max_routes, 3);
        let routes = ROUTES.map(Route::new);
        let mut threads = [book.recorder(book.generation()), book.recorder(book.generation()), book.recorder(book.generation())];
        let mut now = Timestamp::from_micros(START);
        let (mut store, mut late) = (Store::default(), Vec::new());
        let mut expected = Expected::default();

        for step in steps {
            match step {
                Step::Received(thread, route) => {
                    threads[thread].received(&routes[route]);
                    expected.route(route).received += 1;
                }
                Step::Matched(thread, route, fields) => {
                    threads[thread].fields(&routes[route], fields.as_ref());
                    for (word, count) in FieldCount::ALL.iter().zip(fields.iter().flatten()).filter(|(_, count)| **count > 0) {
                        *expected.route(route).fields.entry(*word).or_default() += count;
                    }
                    let legacy = Elapsed { head_us: 50, end_us: 100 };
                    threads[thread].matched(&routes[route], legacy, 200);
                    expected.route(route).matched += 1;
                    expected.compared += 1;
                }
                Step::NotCompared(thread, route, reason) => {
                    let reason = Reason::ALL[reason];
                    threads[thread].not_compared(&routes[route], reason);
                    *expected.route(route).not_compared.entry(reason).or_default() += 1;
                }
                Step::Client(thread, route, outcome) => {
                    let outcome = ClientOutcome::ALL[outcome];
                    threads[thread].client(&routes[route], outcome);
                    *expected.route(route).clients.entry(outcome).or_default() += 1;
                }
                Step::Mismatch(thread, route, mut names) => {
                    let groups: Vec<Group> = names.iter().map(|name| group(&name.to_string())).collect();
                    threads[thread].mismatch(&routes[route], 100, 200, &Sighting::unconfirmed(new_id(), now, &groups));
                    expected.route(route).mismatch += 1;
                    *expected.route(route).classes.entry(MismatchClass::Unconfirmed).or_default() += 1;
                    expected.compared += 1;
                    names.sort_unstable();
                    names.dedup();
                    expected.groups += names.len() as u64;
                }
                Step::RuleHits(thread, route, rule, hits) => {
                    threads[thread].rule_hits(&routes[route], &[(rule, hits)]);
                    expected.route(route);
                    expected.hits[rule] += u64::from(hits);
                }
                Step::NewThread(thread) => threads[thread] = book.recorder(book.generation()),
                Step::Pass(micros) => now = now.saturating_add_micros(micros),
                Step::Totals => drop(book.totals()),
                Step::Snapshot(fate) => {
                    let snapshot = book.snapshot(now);
                    let mut starts: Vec<_> =
                        snapshot.tallies.iter().map(|tally| tally.interval_start).collect();
                    starts.sort_unstable();
                    starts.dedup();
                    prop_assert!(starts.len() <= MAX_UNWRITTEN_INTERVALS + 1);
                    match fate {
                        Fate::Stored => {
                            store.write(&snapshot);
                            book.acknowledge(&snapshot);
                            late.drain(..).for_each(|snapshot| store.write(&snapshot));
                        }
                        Fate::Lost => {}
                        Fate::Unsure => store.write(&snapshot),
                        Fate::Late => late.push(snapshot),
                    }
                }
            }
        }

        let last = book.snapshot(now);
        store.write(&last);
        book.acknowledge(&last);
        late.drain(..).for_each(|snapshot| store.write(&snapshot));
        prop_assert!(book.snapshot(now).is_empty(), "nothing is due once all is stored");

        let mut total = Counts::default();
        expected.routes.values().for_each(|counts| total.merge(counts));
        prop_assert_eq!(&store.total(), &total);
        prop_assert_eq!(&book.totals().total, &total);
        for (route, counts) in store.by_route() {
            if route != OTHER {
                prop_assert_eq!(Some(&counts), expected.routes.get(&route));
            }
        }
        prop_assert!(store.by_route().keys().filter(|route| *route != OTHER).count() <= max_routes);
        prop_assert_eq!(store.groups.values().map(|group| group.count).sum::<u64>(), expected.groups);
        for (rule, id) in ["one", "two"].into_iter().enumerate() {
            let hits: u64 = store.tallies.values().filter_map(|tally| tally.rule_hits.get(id)).sum();
            prop_assert_eq!(hits, expected.hits[rule]);
        }
        for durations in [
            |tally: &Tally| tally.legacy_latency.counts().sum::<u64>(),
            |tally: &Tally| tally.candidate_latency.counts().sum::<u64>(),
            |tally: &Tally| tally.legacy_head_latency.counts().sum::<u64>(),
            |tally: &Tally| tally.candidate_head_latency.counts().sum::<u64>(),
        ] {
            prop_assert_eq!(store.tallies.values().map(durations).sum::<u64>(), expected.compared);
        }
    }
}

impl Expected {
    fn route(&mut self, route: usize) -> &mut Counts {
        self.routes.entry(ROUTES[route].to_owned()).or_default()
    }
}

/// Counts of fields in their order, each of which is less than the next.
fn fields(counts: &Counts) -> Vec<u64> {
    let of = |word| counts.fields.get(word).copied().unwrap_or(0);
    FieldCount::ALL.iter().map(of).collect()
}

fn asked(counts: &Counts) -> u64 {
    let asked = counts.rechecks.get(&RecheckEvent::Asked);
    asked.copied().unwrap_or(0)
}

#[test]
fn threads_and_snapshots_run_into_each_other_and_nothing_is_lost() {
    const THREADS: u64 = 4;
    const EACH: u64 = 20_000;
    let book = book(MAX_ROUTES, MAX_GROUPS);
    let mut store = Store::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let recorder = book.recorder(book.generation());
                scope.spawn(move || {
                    let routes = ROUTES.map(Route::new);
                    for request in 0..EACH {
                        let route = &routes[(thread + request) as usize % routes.len()];
                        recorder.received(route);
                        recorder.answered(route, 200);
                        recorder.client(route, ClientOutcome::Success);
                        match request % 4 {
                            0 | 1 => {
                                recorder.fields(route, Some(&[1, 2, 3, 4, 5, 6, 7]));
                                recorder.matched(route, 1_000, request);
                            }
                            2 => recorder.not_compared(route, Reason::QueueFull),
                            _ => {
                                let time = Timestamp::from_micros(START);
                                recorder.mismatch(
                                    route,
                                    1,
                                    1,
                                    &Sighting::unconfirmed(new_id(), time, &[group("x")]),
                                );
                                recorder.recheck(route, RecheckEvent::Asked);
                            }
                        }
                    }
                })
            })
            .collect();
        let mut now = START;
        while threads.iter().any(|thread| !thread.is_finished()) {
            now += 200_000;
            let snapshot = book.snapshot(Timestamp::from_micros(now));
            store.write(&snapshot);
            book.acknowledge(&snapshot);
            let total = store.total();
            assert!(
                total.settled() <= total.received,
                "an outcome without a request: {total:?}"
            );
            assert!(total.clients_settled() <= total.received, "{total:?}");
            assert!(
                fields(&total).is_sorted(),
                "more of a part than of the whole: {total:?}"
            );
            assert!(
                asked(&total) <= total.mismatch,
                "a recheck without its mismatch: {total:?}"
            );
        }
        for thread in threads {
            thread.join().expect("no panic");
        }
        store.write(&book.snapshot(Timestamp::from_micros(now)));
    });
    let total = store.total();
    assert_eq!(total.received, THREADS * EACH);
    assert_eq!(total.settled(), total.received);
    assert_eq!(total.clients_settled(), total.received);
    assert_eq!(total.mismatch, THREADS * EACH / 4);
    assert_eq!(asked(&total), total.mismatch);
    assert_eq!(
        fields(&total),
        [1, 2, 3, 4, 5, 6, 7].map(|each| each * total.matched)
    );
    let groups: u64 = store.groups.values().map(|group| group.count).sum();
    assert_eq!(groups, total.mismatch);
}
