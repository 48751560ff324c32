//! Counts under earlier rules that still hold, added alike from every store; and those that are left out, with the reason.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use parity_schemas::evidence::carried::{
    Expired, ExpiredRule, Fate, Redecide, RouteCounted, RulesCounted,
};
use parity_schemas::evidence::{Evidence, LeftOutSpan};
use parity_schemas::histogram::Histogram;
use parity_schemas::id::new_id;
use parity_schemas::recheck::{GroupSummary, RecheckSummary};
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::report::Report;
use parity_schemas::route::Route;
use parity_schemas::tally::{Counts, Group, Identity};
use parity_schemas::terms::{Coverage, RuleText, RulesText, Terms};
use parity_schemas::time::Timestamp;
use parity_sink::tally::Sighting;
use parity_sink::{OutcomeRecorder, Reader, Selection, StoreConfig, TallyBook, TallyConfig};
use uuid::Uuid;

use crate::servers::ClickHouse;
use crate::support::{Store, fill, group, identity, matched, with_tables};

const SECOND: i64 = 1_000_000;

/// Six minutes ago, the same for as long as a test takes.
static MINUTE: LazyLock<i64> = LazyLock::new(|| Timestamp::now().as_micros() / (60 * SECOND) - 6);

/// Seconds after that minute.
fn at(second: i64) -> Timestamp {
    Timestamp::from_micros((*MINUTE * 60 + second) * SECOND)
}

fn of_rules(rules: &str) -> Identity {
    Identity {
        rules_hash: rules.to_owned(),
        ..identity()
    }
}

fn mismatched(recorder: &OutcomeRecorder, route: &Route, names: &[&str]) {
    let groups: Vec<Group> = names.iter().map(|name| group(name)).collect();
    let class = MismatchClass::Confirmed;
    let summary = GroupSummary {
        class,
        ..GroupSummary::default()
    };
    let summaries = names
        .iter()
        .map(|name| ((*name).to_owned(), summary.clone()));
    let summary = RecheckSummary {
        class,
        groups: summaries.collect(),
    };
    recorder.received(route);
    recorder.mismatch(
        route,
        1_000,
        900,
        &Sighting {
            attributes: &[],
            id: new_id(),
            time: at(1),
            groups: &groups,
            is_complete: true,
            rechecked: Some(&summary),
            unasked: None,
        },
    );
}

/// What a run under rules writes that counts this, and ends if `ends`.
fn run(
    rules: &str,
    [began, until]: [i64; 2],
    ends: bool,
    count: impl FnOnce(&OutcomeRecorder),
) -> Vec<Record> {
    let identity = of_rules(rules);
    let mut config = TallyConfig::new(identity.clone(), "one", vec!["gone".to_owned()]);
    config.started = at(began);
    let book = TallyBook::new(config);
    book.begin_terms(terms(identity, at(began)));
    count(&book.recorder(book.generation()));
    let mut records = look(&book, until);
    if ends {
        book.end();
        records.extend(look(&book, until));
    }
    records
}

fn terms(identity: Identity, time: Timestamp) -> Terms {
    let rules = RulesText {
        rules: vec![RuleText {
            id: format!("of {}", identity.rules_hash),
            ..RuleText::default()
        }],
        ..RulesText::default()
    };
    let id = |text: &[u8]| Uuid::from_u128(text.iter().map(|byte| u128::from(*byte)).sum());
    Terms::begun(
        identity,
        "test".to_owned(),
        rules,
        Coverage::default(),
        time,
        id,
    )
}

fn look(book: &Arc<TallyBook>, second: i64) -> Vec<Record> {
    let snapshot = book.snapshot(at(second));
    book.acknowledge(&snapshot);
    snapshot.records().collect()
}

/// Of routes that are called by what becomes of them.
fn redecide(
    earlier: &RulesCounted,
    now: &RulesCounted,
    routes: &[RouteCounted],
) -> Result<Vec<Fate>, String> {
    for rules in [earlier, now] {
        assert_eq!(rules.texts.len(), 1);
        assert_eq!(rules.texts[0].rules[0].id, format!("of {}", rules.hash));
    }
    if earlier.hash == "unknown" {
        return Err("nobody knows".to_owned());
    }
    let fate = |counted: &RouteCounted| match counted.route.as_str() {
        "GET /anew" => {
            assert_eq!(counted.rule_hits.get("gone"), Some(&4));
            Fate::Anew("it excused 4".to_owned())
        }
        "GET /again" => {
            assert_eq!((counted.groups.len(), counted.sets.len()), (2, 3));
            Fate::Excused(BTreeSet::from(["a".to_owned()]))
        }
        _ => Fate::Untouched,
    };
    Ok(routes.iter().map(fate).collect())
}

/// Of the rules `ended` one has expired.
fn expired(rules: &RulesCounted, _: &[RuleText], _: Timestamp) -> Option<Expired> {
    let left = RulesCounted {
        hash: "left".to_owned(),
        texts: vec![terms(of_rules("left"), at(0)).rules],
    };
    let rule = ExpiredRule {
        id: "gone".to_owned(),
        expires: at(70),
        by_reader: false,
    };
    (rules.hash == "ended").then(|| Expired {
        expired: vec![rule],
        left,
    })
}

fn reader(store: &StoreConfig) -> Reader {
    let redecide = Redecide {
        fates: redecide,
        expired,
    };
    Reader::open(store).expect("it opens").carrying(redecide)
}

fn read(store: &StoreConfig, selection: &Selection) -> (Evidence, Report) {
    let reader = reader(store);
    let evidence = reader
        .evidence(selection)
        .expect("it is read")
        .expect("there is some");
    let report = reader.report(selection).expect("it is read");
    let of_report = report.evidence().expect("there is some");
    let counts = |evidence: &Evidence| -> Vec<(String, Counts)> {
        let routes = evidence.routes.iter();
        let counts = routes.map(|route| (route.route.clone(), route.counts.clone()));
        let mut counts: Vec<_> = counts.collect();
        counts.sort_by(|one, other| one.0.cmp(&other.0));
        counts
    };
    assert_eq!(counts(&of_report), counts(&evidence));
    let latency = evidence
        .routes
        .iter()
        .map(|route| &route.legacy_head_latency);
    assert!(latency.into_iter().all(Histogram::is_empty), "nobody asked");
    assert_eq!(of_report.groups, evidence.groups);
    assert_eq!(of_report.sets, evidence.sets);
    assert_eq!(of_report.carried, evidence.carried);
    assert_eq!(of_report.other_rules, evidence.other_rules);
    (evidence, report)
}

fn stores(check: impl Fn(&StoreConfig)) {
    check(&Store::new().url);
    let database = ClickHouse::shared().database();
    check(&with_tables(&database));
}

fn count_earlier(recorder: &OutcomeRecorder) {
    let [kept, again, anew] = ["GET /kept", "GET /again", "GET /anew"].map(Route::new);
    for _ in 0..5 {
        matched(recorder, &kept);
    }
    mismatched(recorder, &kept, &["k"]);
    matched(recorder, &again);
    for (names, times) in [(&["a"][..], 3), (&["a", "b"], 2), (&["b"], 1)] {
        for _ in 0..times {
            mismatched(recorder, &again, names);
        }
    }
    matched(recorder, &anew);
    recorder.rule_hits(&anew, &[(0, 4)]);
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn what_still_holds_is_added_to_the_unit_and_the_rest_is_named() {
    stores(|store| {
        fill(store, &run("old", [0, 30], true, count_earlier));
        fill(
            store,
            &run("new", [60, 90], false, |recorder| {
                for route in ["GET /kept", "GET /anew"].map(Route::new) {
                    matched(recorder, &route);
                }
                mismatched(recorder, &Route::new("GET /again"), &["b"]);
            }),
        );
        let (evidence, report) = read(store, &Selection::default());
        let counts: Vec<_> = evidence
            .routes
            .iter()
            .map(|route| {
                (
                    &*route.route,
                    route.counts.received,
                    route.counts.matched,
                    route.counts.mismatch,
                )
            })
            .collect();
        assert_eq!(
            counts,
            [
                ("GET /again", 8, 4, 4),
                ("GET /anew", 1, 1, 0),
                ("GET /kept", 7, 6, 1)
            ]
        );
        for route in &evidence.routes {
            assert_eq!(
                route.counts.classes.values().sum::<u64>(),
                route.counts.mismatch
            );
        }
        let groups: Vec<_> = evidence
            .groups
            .iter()
            .map(|group| (&*group.route, &*group.group.fingerprint, group.count))
            .collect();
        assert_eq!(groups, [("GET /again", "b", 4), ("GET /kept", "k", 1)]);
        // Two were confirmed for what is now excused, so of them that is not known.
        assert_eq!(evidence.sets.len(), 2);
        assert_eq!(
            evidence.sets[0].classes,
            [
                (MismatchClass::Confirmed, 2),
                (MismatchClass::Unconfirmed, 2)
            ]
            .into()
        );
        let [carried] = &evidence.carried[..] else {
            panic!("{:?}", evidence.carried);
        };
        assert_eq!(
            (&*carried.rules_hash, carried.routes, carried.requests),
            ("old", 2, 13)
        );
        assert_eq!(
            (carried.matches, carried.routes_anew, carried.requests_anew),
            (3, 1, 1)
        );
        assert_eq!(carried.anew[0].why, "it excused 4");
        assert_eq!(carried.decided_again[0].route, "GET /again");
        assert_eq!((carried.from, carried.to), (at(0), at(30)));
        assert_eq!(evidence.window.from, at(60));
        assert_eq!(evidence.other_rules, []);
        assert_eq!(report.rules, []);
        let strict = Selection {
            strict_rules: true,
            ..Selection::default()
        };
        let (strict, _) = read(store, &strict);
        assert_eq!(strict.total().received, 3);
        // Nothing is kept, and what is missed by that is told.
        let [anew] = &strict.carried[..] else {
            panic!("{:?}", strict.carried);
        };
        assert_eq!((anew.routes, anew.routes_anew, anew.compared), (0, 3, None));
        assert_eq!(strict.other_rules.len(), 1);
        let late = Selection {
            since: Some(at(60)),
            ..Selection::default()
        };
        let (late, _) = read(store, &late);
        assert_eq!((late.total().received, late.only_left_out.len()), (3, 0));
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn what_is_not_complete_or_not_known_is_not_added_and_that_is_told() {
    stores(|store| {
        let kept = |recorder: &OutcomeRecorder| matched(recorder, &Route::new("GET /kept"));
        fill(store, &run("killed", [0, 10], false, kept));
        fill(store, &run("unknown", [20, 30], true, kept));
        let mut lost = run("lost", [40, 50], true, kept);
        lost.retain(|record| !matches!(record, Record::Tally(_)));
        fill(store, &lost);
        let anew = |recorder: &OutcomeRecorder| {
            let route = Route::new("GET /anew");
            matched(recorder, &route);
            recorder.rule_hits(&route, &[(0, 4)]);
        };
        fill(store, &run("anew", [60, 70], true, anew));
        // Reloaded, and nothing was received since.
        fill(store, &run("new", [80, 90], false, |_| {}));
        let (evidence, _) = read(store, &Selection::default());
        assert_eq!(evidence.total().received, 0);
        // Which routes begin anew is told of all that has counts.
        let anew: Vec<_> = evidence
            .carried
            .iter()
            .map(|rules| (&*rules.rules_hash, rules.routes, rules.anew.len()))
            .collect();
        assert_eq!(anew, [("anew", 0, 1), ("unknown", 0, 1), ("killed", 0, 1)]);
        let why: Vec<_> = evidence
            .other_rules
            .iter()
            .map(|rules| (&*rules.rules_hash, rules.why.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(
            why,
            [
                ("anew", "GET /anew: it excused 4"),
                (
                    "lost",
                    "not all that instance `one` counted under these rules is in the record"
                ),
                ("unknown", "nobody knows"),
                (
                    "killed",
                    "instance `one` has not said that it ended under these rules"
                ),
            ]
        );
        // What was killed is over before this; what holds is counted though nothing was received under the new rules.
        fill(store, &run("old", [72, 78], true, kept));
        let (evidence, report) = read(store, &Selection::default());
        let kept = evidence.carried.iter().filter(|rules| rules.routes > 0);
        assert_eq!((evidence.total().received, kept.count()), (1, 1));
        assert_eq!(evidence.window.from, at(78));
        assert!(report.window.is_some());
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn what_was_counted_with_a_rule_that_has_expired_since_is_taken_out() {
    stores(|store| {
        let both = |recorder: &OutcomeRecorder| {
            let (kept, anew) = (Route::new("GET /kept"), Route::new("GET /anew"));
            matched(recorder, &kept);
            mismatched(recorder, &kept, &["k"]);
            matched(recorder, &anew);
            mismatched(recorder, &anew, &["n"]);
            recorder.rule_hits(&anew, &[(0, 4)]);
        };
        // The earlier rules had it, too.
        fill(store, &run("old", [0, 10], true, both));
        fill(store, &run("ended", [60, 65], true, both));
        let (evidence, _) = read(store, &Selection::default());
        let routes: Vec<_> = evidence
            .routes
            .iter()
            .map(|one| (&*one.route, one.counts.received))
            .collect();
        assert_eq!(routes, [("GET /kept", 4)]);
        assert!(
            evidence
                .groups
                .iter()
                .all(|group| group.route == "GET /kept")
        );
        assert!(evidence.sets.iter().all(|set| set.route == "GET /kept"));
        let told: Vec<_> = evidence
            .carried
            .iter()
            .map(|one| {
                (
                    &*one.rules_hash,
                    one.expired.len(),
                    one.requests,
                    one.requests_anew,
                    &*one.anew[0].route,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("ended", 1, 2, 2, "GET /anew"),
                ("old", 0, 2, 2, "GET /anew")
            ]
        );
        let strict = Selection {
            strict_rules: true,
            ..Selection::default()
        };
        let (strict, _) = read(store, &strict);
        let kept: Vec<u64> = strict.carried.iter().map(|rules| rules.routes).collect();
        assert_eq!((strict.total().received, kept), (2, vec![1, 0]));
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn routes_are_named_of_which_only_what_is_left_out_has_comparisons() {
    stores(|store| {
        let of = |routes: &'static [&'static str]| {
            move |recorder: &OutcomeRecorder| {
                for route in routes {
                    matched(recorder, &Route::new(*route));
                }
            }
        };
        fill(store, &run("old", [0, 30], true, of(&["GET /older"])));
        fill(
            store,
            &run("new", [60, 90], true, of(&["GET /gone", "GET /kept"])),
        );
        fill(store, &run("new", [120, 150], false, of(&["GET /kept"])));
        let span = LeftOutSpan {
            from: at(60),
            to: at(120),
            reason: "a plan".to_owned(),
        };
        for (since, left_out, named) in [
            (None, vec![], &[][..]),
            (Some(60), vec![], &["GET /older"]),
            (Some(120), vec![], &["GET /gone", "GET /older"]),
            (None, vec![span.clone()], &["GET /gone"]),
            (Some(60), vec![span], &["GET /gone", "GET /older"]),
        ] {
            let (evidence, report) = read(
                store,
                &Selection {
                    since: since.map(at),
                    left_out,
                    ..Selection::default()
                },
            );
            assert_eq!(evidence.only_left_out, named, "{since:?}");
            assert_eq!(report.only_left_out, named, "{since:?}");
        }
    });
}
