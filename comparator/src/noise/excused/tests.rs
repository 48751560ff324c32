//! What counts and what does not, from counts.

use parity_schemas::evidence::{RouteEvidence, SetEvidence, Window};
use parity_schemas::recheck::{EvidenceCounts, RecheckEvidence};
use parity_schemas::tally::{Group, Identity};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Part;

use super::*;

const ROUTE: &str = "GET /a";

/// Groups are (name, shape, mismatches, noisy rechecks), sets (names, mismatches).
fn evidence(groups: &[(&str, &str, u64, u64)], sets: &[(&[&str], u64)]) -> Evidence {
    let noise = |count, rechecks| {
        ClassCounts::from([
            (MismatchClass::Noise, rechecks),
            (MismatchClass::Unconfirmed, count - rechecks),
        ])
    };
    let mismatch = sets.iter().map(|(_, count)| count).sum();
    Evidence {
        identity: Identity::default(),
        window: Window {
            from: Timestamp::from_micros(0),
            to: Timestamp::from_micros(1),
        },
        instances: Vec::new(),
        routes: vec![RouteEvidence {
            route: ROUTE.to_owned(),
            counts: Counts {
                received: 10_000,
                matched: 10_000 - mismatch,
                mismatch,
                ..Counts::default()
            },
        }],
        groups: groups
            .iter()
            .map(|(name, shape, count, rechecks)| GroupEvidence {
                route: ROUTE.to_owned(),
                group: Group {
                    fingerprint: (*name).to_owned(),
                    part: Part::Body,
                    pattern: format!("/{name}"),
                    shape: (*shape).to_owned(),
                    legacy_status: 200,
                    candidate_status: 200,
                    ..Group::default()
                },
                count: *count,
                classes: noise(*count, *rechecks),
                evidence: EvidenceCounts::from([(RecheckEvidence::Targets, 50)]),
            })
            .collect(),
        sets: sets
            .iter()
            .map(|(names, count)| SetEvidence {
                route: ROUTE.to_owned(),
                fingerprints: names.iter().map(|name| (*name).to_owned()).collect(),
                classes: noise(*count, 0),
            })
            .collect(),
        runs: Vec::new(),
        carried: Vec::new(),
        other_rules: Vec::new(),
        left_out: Vec::new(),
    }
}

const ID: (&str, &str, u64, u64) = ("id", "uuid→uuid", 100, 30);
const AT: (&str, &str, u64, u64) = ("at", "uuid→uuid", 100, 30);

#[test]
fn only_exchanges_whose_groups_are_all_proven_do_not_count() {
    let price = ("price", "integer→integer", 40, 0);
    let evidence = evidence(
        &[ID, AT, price],
        &[(&["id"], 10), (&["at", "id"], 50), (&["id", "price"], 40)],
    );
    let found = find(&evidence, NoiseUse::Use);
    let excused = found.of(ROUTE);
    assert_eq!((excused.noise, excused.open), (60, 0));
    let names: Vec<_> = found
        .groups
        .iter()
        .map(|group| group.group.pattern.as_str())
        .collect();
    assert_eq!(names, ["/at", "/id"]);
    let hidden: f64 = found.groups.iter().map(|group| group.hidden).sum();
    assert!(excused.hidden > 0.0 && (excused.hidden - hidden).abs() < 1e-12);
}

#[test]
fn a_group_with_few_rechecks_is_open_and_one_without_any_counts() {
    let few = ("few", "uuid→uuid", 50, 3);
    let none = ("none", "uuid→uuid", 50, 0);
    let found = evidence(&[ID, few, none], &[(&["few", "id"], 50), (&["none"], 50)]);
    let found = find(&found, NoiseUse::Use);
    let excused = found.of(ROUTE);
    assert_eq!((excused.noise, excused.open), (0, 50));
    let states: Vec<_> = found.groups.iter().map(|group| group.state).collect();
    assert_eq!(states, [NoiseState::Proven, NoiseState::Open]);
    assert_eq!(found.groups[1].against[0], "3 rechecks of at least 20");
}

#[test]
fn a_shape_that_is_not_known_is_never_noise() {
    let found = evidence(&[("old", "", 100, 30)], &[(&["old"], 100)]);
    assert_eq!(
        find(&found, NoiseUse::Use),
        Found {
            routes: HashMap::from([]),
            groups: Vec::new()
        }
    );
}

#[test]
fn what_is_listed_only_and_what_is_not_looked_for_counts() {
    let found = evidence(&[ID], &[(&["id"], 100)]);
    let listed = find(&found, NoiseUse::Report);
    assert_eq!(
        (listed.groups.len(), listed.of(ROUTE)),
        (1, Excused::default())
    );
    assert_eq!(find(&found, NoiseUse::Off).groups, []);
}

#[test]
fn what_was_transient_does_not_count_and_is_not_taken_away_twice() {
    let mut found = evidence(&[ID], &[(&["id"], 100)]);
    found.sets[0].classes.insert(MismatchClass::Transient, 7);
    found.routes[0].counts.mismatch = 107;
    found.routes[0]
        .counts
        .classes
        .insert(MismatchClass::Transient, 7);
    let excused = find(&found, NoiseUse::Use).of(ROUTE);
    assert_eq!(
        (excused.transient, excused.noise, excused.total()),
        (7, 100, 107)
    );
    let off = find(&found, NoiseUse::Off).of(ROUTE);
    assert_eq!((off.transient, off.noise), (7, 0));
}
