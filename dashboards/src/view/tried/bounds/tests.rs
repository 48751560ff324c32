//! The fewest and the most of what was counted.

use parity_schemas::evidence::{RouteEvidence, Window};
use parity_schemas::tally::{Counts, Group, Identity};
use parity_schemas::time::Timestamp;

use super::*;

const ROUTE: &str = "GET /a";

fn group(name: &str, count: u64) -> GroupEvidence {
    GroupEvidence {
        route: ROUTE.to_owned(),
        group: Group {
            fingerprint: name.to_owned(),
            ..Group::default()
        },
        count,
        classes: [(MismatchClass::Confirmed, count)].into(),
        evidence: BTreeMap::new(),
        last_seen: Timestamp::default(),
    }
}

fn set(names: &[&str], class: MismatchClass, count: u64) -> SetEvidence {
    SetEvidence {
        route: ROUTE.to_owned(),
        fingerprints: names.iter().map(|name| (*name).to_owned()).collect(),
        classes: [(class, count)].into(),
        never_asked: 0,
    }
}

/// Ten mismatches of `a`, five of both, three of `b`, two of which it is not recorded what differs, and one of noise.
fn evidence() -> Evidence {
    use MismatchClass::{Confirmed, Noise};
    let time = Timestamp::default();
    Evidence {
        identity: Identity::default(),
        window: Window {
            from: time,
            to: time,
        },
        instances: Vec::new(),
        runs: Vec::new(),
        carried: Vec::new(),
        recent: Vec::new(),
        other_rules: Vec::new(),
        left_out: Vec::new(),
        only_left_out: Vec::new(),
        routes: vec![RouteEvidence {
            route: ROUTE.to_owned(),
            counts: Counts {
                received: 100,
                matched: 79,
                mismatch: 21,
                classes: [(Confirmed, 20), (Noise, 1)].into(),
                ..Counts::default()
            },
            ..RouteEvidence::default()
        }],
        groups: vec![group("a", 15), group("b", 8)],
        sets: vec![
            set(&["a"], Confirmed, 10),
            set(&["a", "b"], Confirmed, 5),
            set(&["b"], Confirmed, 3),
        ],
    }
}

fn trial(name: &str, fate: Fate, is_certain: bool) -> GroupTrial {
    GroupTrial {
        fingerprint: name.to_owned(),
        route: ROUTE.to_owned(),
        fate,
        is_certain,
        ..super::super::untried(&group(name, 0))
    }
}

fn example(number: u128, names: &[&str]) -> Mismatch {
    Mismatch {
        id: Uuid::from_u128(number),
        route: ROUTE.to_owned(),
        class: MismatchClass::Confirmed,
        fingerprints: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Mismatch::default()
    }
}

/// The fewest and the most; every request still has an outcome, and every group and set a count.
fn both(groups: &[GroupTrial], seen: &Seen, is_unchanged: bool) -> (u64, u64, u64) {
    let known = Known {
        groups,
        seen,
        is_unchanged,
    };
    let (fewest, unlisted) = if_equal(&evidence(), &known);
    let most = if_different(&evidence(), &known);
    for found in [&fewest, &most] {
        let counts = &found.routes[0].counts;
        assert_eq!(counts.matched + counts.mismatch, 100);
        let classes: u64 = counts.classes.values().sum();
        assert_eq!(classes, counts.mismatch);
        for group in &found.groups {
            assert!(group.count > 0);
            assert_eq!(group.classes.values().sum::<u64>(), group.count);
        }
    }
    let of = |evidence: &Evidence| evidence.routes[0].counts.mismatch;
    (of(&fewest), of(&most), unlisted)
}

#[test]
fn what_is_not_known_is_between_the_fewest_and_the_most() {
    let none = Seen::default();
    let trials = |a: (Fate, bool), b: (Fate, bool)| [trial("a", a.0, a.1), trial("b", b.0, b.1)];
    let certain = trials((Fate::Excused, true), (Fate::Stays, true));
    // The noise stays, and two of which it is not recorded what differs may be anything.
    assert_eq!(both(&certain, &none, false), (9, 11, 2));
    let unknown = trials((Fate::CannotTell, false), (Fate::Stays, true));
    assert_eq!(both(&unknown, &none, false), (9, 21, 2));
    let nothing = trials((Fate::CannotTell, false), (Fate::EqualExamples, false));
    assert_eq!(both(&nothing, &none, false), (1, 21, 2));
    // The same rules change nothing, whatever is recorded.
    let same = trials((Fate::Stays, true), (Fate::Stays, true));
    assert_eq!(both(&same, &none, true), (21, 21, 0));
}

#[test]
fn examples_count_each_once_and_only_for_what_was_seen() {
    let groups = [
        trial("a", Fate::Partly, false),
        trial("b", Fate::EqualExamples, false),
    ];
    let mut seen = Seen::default();
    for number in 0..3 {
        seen.add(&example(number, &["a"]), "a", false);
    }
    // Two differ in one of their groups, and are equal in the other: they differ.
    for number in 3..5 {
        let one = example(number, &["a", "b"]);
        seen.add(&one, "a", false);
        seen.add(&one, "b", true);
    }
    // Four are equal, one of them in both of its groups; of a fifth only one group is told.
    for number in 5..8 {
        seen.add(&example(number, &["a"]), "a", true);
    }
    let whole = example(8, &["a", "b"]);
    seen.add(&whole, "a", true);
    seen.add(&whole, "b", true);
    seen.add(&example(9, &["a", "b"]), "b", true);
    assert_eq!(both(&groups, &seen, false), (1 + 5, 21 - 4, 2));
    // A mismatch with a group that stays is not counted once more for its other one.
    let stays = [
        trial("a", Fate::Partly, false),
        trial("b", Fate::Stays, true),
    ];
    assert_eq!(both(&stays, &seen, false).0, 9 + 3);
}
