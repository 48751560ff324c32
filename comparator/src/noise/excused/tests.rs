//! What counts and what does not, from counts.

use parity_schemas::evidence::{RouteEvidence, SetEvidence, Window};
use parity_schemas::recheck::{ClassCounts, EvidenceCounts, RecheckEvidence};
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
            ..RouteEvidence::default()
        }],
        groups: groups
            .iter()
            .map(|(name, shape, count, rechecks)| GroupEvidence {
                last_seen: parity_schemas::time::Timestamp::default(),
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
                never_asked: 0,
            })
            .collect(),
        runs: Vec::new(),
        carried: Vec::new(),
        recent: Vec::new(),
        other_rules: Vec::new(),
        left_out: Vec::new(),
        only_left_out: Vec::new(),
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
    let found = find(&evidence, NoiseUse::Use, &Names::new());
    let excused = found.of(ROUTE);
    assert_eq!((excused.noise, excused.open), (60, 0));
    let names: Vec<_> = found
        .groups
        .iter()
        .map(|group| group.group.pattern.as_str())
        .collect();
    assert_eq!(names, ["/at", "/id"]);
    // One recheck shows a fault in either.
    let of_each = found.groups.iter().map(|group| group.hidden);
    let (most, sum) = (of_each.clone().fold(0.0, f64::max), of_each.sum::<f64>());
    let hidden = excused.hidden;
    assert!(most < hidden && hidden < sum * 0.6, "{most} {hidden} {sum}");
}

#[test]
fn what_is_never_asked_again_is_not_excused_by_the_proof_of_others() {
    let mut evidence = evidence(&[ID, AT], &[(&["id"], 40), (&["at", "id"], 60)]);
    evidence.sets[1].never_asked = 25;
    let excused = find(&evidence, NoiseUse::Use, &Names::new()).of(ROUTE);
    assert_eq!(
        (excused.noise, excused.open, excused.never_asked),
        (75, 25, 25)
    );
    // Where nothing is proven, it is no other than the rest.
    evidence.groups[1].classes =
        ClassCounts::from([(MismatchClass::Noise, 3), (MismatchClass::Unconfirmed, 97)]);
    let excused = find(&evidence, NoiseUse::Use, &Names::new()).of(ROUTE);
    assert_eq!(
        (excused.noise, excused.open, excused.never_asked),
        (40, 60, 25)
    );
}

#[test]
fn a_group_with_few_rechecks_is_open_and_one_without_any_counts() {
    let few = ("few", "uuid→uuid", 50, 3);
    let none = ("none", "uuid→uuid", 50, 0);
    let found = evidence(&[ID, few, none], &[(&["few", "id"], 50), (&["none"], 50)]);
    let found = find(&found, NoiseUse::Use, &Names::new());
    let excused = found.of(ROUTE);
    assert_eq!((excused.noise, excused.open), (0, 50));
    let states: Vec<_> = found.groups.iter().map(|group| group.state).collect();
    assert_eq!(states, [NoiseState::Proven, NoiseState::Open]);
    assert_eq!(found.groups[1].against[0], "3 rechecks of at least 20");
}

#[test]
fn mismatches_in_no_set_are_open_but_for_those_with_a_group_that_is_no_noise() {
    let price = ("price", "integer→integer", 40, 0);
    let mut found = evidence(&[ID, AT, price], &[(&["id"], 10), (&["id", "price"], 15)]);
    // 75 more are in no set, 25 of them with a wrong price.
    found.routes[0].counts.mismatch = 100;
    let excused = find(&found, NoiseUse::Use, &Names::new()).of(ROUTE);
    assert_eq!((excused.noise, excused.open), (10, 50));
    let found = evidence(&[("price", "integer→integer", 40, 0)], &[]);
    let excused = find(&found, NoiseUse::Use, &Names::new()).of(ROUTE);
    assert_eq!(excused, Excused::default(), "no noise is there at all");
}

#[test]
fn a_shape_that_is_not_known_is_never_noise() {
    let found = evidence(&[("old", "", 100, 30)], &[(&["old"], 100)]);
    assert_eq!(
        find(&found, NoiseUse::Use, &Names::new()),
        Found {
            routes: HashMap::from([]),
            groups: Vec::new()
        }
    );
}

#[test]
fn what_is_listed_only_and_what_is_not_looked_for_counts() {
    let found = evidence(&[ID], &[(&["id"], 100)]);
    let listed = find(&found, NoiseUse::Report, &Names::new());
    assert_eq!(
        (listed.groups.len(), listed.of(ROUTE)),
        (1, Excused::default())
    );
    assert_eq!(find(&found, NoiseUse::Off, &Names::new()).groups, []);
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
    let excused = find(&found, NoiseUse::Use, &Names::new()).of(ROUTE);
    assert_eq!(
        (excused.transient, excused.noise, excused.total()),
        (7, 100, 107)
    );
    let off = find(&found, NoiseUse::Off, &Names::new()).of(ROUTE);
    assert_eq!((off.transient, off.noise), (7, 0));
}

/// Groups of one place that differ in their explanation only: (explanation, mismatches, rechecks, evidence).
type Member = (
    Option<parity_schemas::verdict::Explanation>,
    u64,
    u64,
    &'static [(RecheckEvidence, u64)],
);

fn family(members: &[Member]) -> Vec<NoiseState> {
    let names: Vec<String> = (0..members.len()).map(|at| format!("g{at}")).collect();
    let groups: Vec<_> = members
        .iter()
        .zip(&names)
        .map(|((_, count, rechecks, _), name)| {
            (
                name.as_str(),
                "instant-us-utc→instant-us-utc",
                *count,
                *rechecks,
            )
        })
        .collect();
    let mut found = evidence(&groups, &[(&["g0"], 10_000)]);
    for (group, (explanation, _, _, counted)) in found.groups.iter_mut().zip(members) {
        group.group.pattern = "/at".to_owned();
        group.group.explanation = *explanation;
        for (evidence, count) in *counted {
            group.evidence.insert(*evidence, *count);
            // The services stood still, each at its own value.
            if *evidence == RecheckEvidence::Own {
                group.classes.insert(MismatchClass::Confirmed, *count);
            }
        }
    }
    let found = find(&found, NoiseUse::Use, &Names::new());
    let state = |name: &String| {
        let mut groups = found.groups.iter();
        let group = groups.find(|group| group.group.fingerprint == *name)?;
        Some(group.state)
    };
    names.iter().filter_map(state).collect()
}

#[test]
fn what_is_explained_by_chance_is_noise_with_the_rest_of_its_place() {
    use RecheckEvidence::{Above, Below, Targets};
    let cut = Some(parity_schemas::verdict::Explanation::TruncatedTime);
    let clock = (None, 9_950, 4_000, &[(Above, 2_010), (Below, 1_990)][..]);
    let few = (cut, 8, 5, &[(Above, 3), (Below, 2), (Targets, 5)][..]);
    assert_eq!(
        family(&[clock, few]),
        [NoiseState::Proven, NoiseState::Proven]
    );
    // Nobody asked about those few yet. One confirmed recheck of them, and they count.
    let unasked = (cut, 38, 0, &[(Targets, 0)][..]);
    assert_eq!(
        family(&[clock, unasked]),
        [NoiseState::Proven, NoiseState::Proven]
    );
    let standing = (cut, 38, 0, &[(Targets, 1), (RecheckEvidence::Own, 1)][..]);
    assert_eq!(family(&[clock, standing]), [NoiseState::Proven]);
    // So many that all of them may be wrong.
    let many = (cut, 400, 0, &[(Targets, 0)][..]);
    assert_eq!(family(&[clock, many]), [NoiseState::Proven]);
    // Alone it says nothing.
    assert_eq!(family(&[few]), [NoiseState::Open]);
    // It is cut always on the same side.
    let cut_off = (cut, 50, 30, &[(Below, 30), (Targets, 30)][..]);
    assert_eq!(family(&[clock, cut_off]), [NoiseState::Proven]);
    // The rest of the place is not known to be noise.
    let unknown = (None, 9_950, 300, &[(Above, 150), (Below, 150)][..]);
    assert_eq!(
        family(&[unknown, few]),
        [NoiseState::Open, NoiseState::Open]
    );
    let faulty = (None, 9_950, 4_000, &[(Above, 2_500), (Below, 1_500)][..]);
    assert_eq!(family(&[faulty, few]), [NoiseState::Open]);
}
