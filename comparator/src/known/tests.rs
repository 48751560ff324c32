//! How differences stand to a register, and what it excuses.

use parity_schemas::evidence::{GroupEvidence, RouteEvidence, SetEvidence, Window};
use parity_schemas::recheck::{ClassCounts, EvidenceCounts};
use parity_schemas::tally::{Counts, Identity};
use parity_schemas::verdict::{Kind, Part};

use super::*;
use crate::noise::excused;
use parity_schemas::noise::NoiseUse;

const ROUTE: &str = "GET /a";

/// 10,000 compared requests of which each set of groups has so many.
fn evidence(sets: &[(&[&str], u64)]) -> Evidence {
    let mismatches: u64 = sets.iter().map(|(_, count)| count).sum();
    let mut names: Vec<&str> = sets
        .iter()
        .flat_map(|(names, _)| names.iter().copied())
        .collect();
    names.sort_unstable();
    names.dedup();
    let confirmed = |count| ClassCounts::from([(MismatchClass::Confirmed, count)]);
    let groups = names.iter().map(|name| {
        let with = sets.iter().filter(|(names, _)| names.contains(name));
        let count = with.map(|(_, count)| count).sum();
        GroupEvidence {
            route: ROUTE.to_owned(),
            group: Group {
                fingerprint: (*name).to_owned(),
                pattern: format!("/{name}"),
                ..Group::default()
            },
            count,
            classes: confirmed(count),
            evidence: EvidenceCounts::new(),
            last_seen: Timestamp::from_micros(1_000),
        }
    });
    let counts = Counts {
        received: 10_000,
        matched: 10_000 - mismatches,
        mismatch: mismatches,
        classes: confirmed(mismatches),
        ..Counts::default()
    };
    Evidence {
        identity: Identity::default(),
        window: Window {
            from: Timestamp::default(),
            to: Timestamp::from_micros(2_000),
        },
        instances: Vec::new(),
        routes: vec![RouteEvidence {
            route: ROUTE.to_owned(),
            counts,
            ..RouteEvidence::default()
        }],
        groups: groups.collect(),
        sets: sets
            .iter()
            .map(|(names, count)| SetEvidence {
                route: ROUTE.to_owned(),
                fingerprints: names.iter().map(|name| (*name).to_owned()).collect(),
                classes: confirmed(*count),
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

fn of(id: &str, names: &[&str]) -> KnownEntry {
    KnownEntry {
        id: id.to_owned(),
        fingerprints: names.iter().map(|name| (*name).to_owned()).collect(),
        ..KnownEntry::default()
    }
}

fn at(id: &str, path: &str) -> KnownEntry {
    KnownEntry {
        path: Some(path.to_owned()),
        ..of(id, &[])
    }
}

/// Of each entry that means something: its name, how it stands, and how many mismatches it has.
fn found(register: &[KnownEntry], evidence: &Evidence) -> Vec<(String, KnownState, u64)> {
    let now = Timestamp::from_micros(10_000);
    let uses = find(register, evidence, &Thresholds::default(), now);
    uses.iter()
        .map(|one| (one.entry.id.clone(), one.state, one.mismatches()))
        .collect()
}

/// How many mismatches do not count.
fn not_counted(register: &[KnownEntry], evidence: &Evidence) -> u64 {
    let now = Timestamp::from_micros(10_000);
    let uses = find(register, evidence, &Thresholds::default(), now);
    let each = [NoiseUse::Use, NoiseUse::Report, NoiseUse::Off].map(|usage| {
        excused::find(evidence, usage, &excused(&uses))
            .of(ROUTE)
            .known
    });
    assert_eq!(
        each, [each[0]; 3],
        "what is known does not depend on the use of noise"
    );
    each[0]
}

#[test]
fn an_exchange_is_excused_only_if_all_of_it_is_known() {
    let evidence = evidence(&[
        (&["a"], 50),
        (&["a", "b"], 7),
        (&["b"], 3),
        (&["a", "c"], 2),
    ]);
    let blocking = |id: &str, names: &[&str]| KnownEntry {
        blocks: true,
        ..of(id, names)
    };
    for (register, expected) in [
        (vec![], 0),
        (vec![of("a", &["a"])], 50),
        (vec![of("b", &["b"])], 3),
        (vec![of("a", &["a"]), of("b", &["b"])], 60),
        (vec![of("all", &["a", "b", "c"])], 62),
        (vec![of("a", &["a"]), blocking("b", &["b"])], 50),
        (vec![blocking("a", &["a"])], 0),
        (vec![at("a", "/a")], 50),
        (vec![at("a", "/*")], 62),
        (vec![at("none", "/d")], 0),
        (vec![of("unknown", &["z"])], 0),
    ] {
        assert_eq!(not_counted(&register, &evidence), expected, "{register:?}");
    }
}

#[test]
fn a_mismatch_that_is_in_no_set_is_never_excused() {
    let mut evidence = evidence(&[(&["a"], 50)]);
    evidence.routes[0].counts.mismatch += 10;
    evidence.groups[0].count += 10;
    assert_eq!(not_counted(&[of("a", &["a"])], &evidence), 50);
    // What is beyond the groups that are kept is not known, whatever a path covers.
    evidence.groups[0].group.fingerprint = OTHER.to_owned();
    assert_eq!(found(&[at("all", "/**/a")], &evidence), []);
}

#[test]
fn how_a_difference_stands_follows_from_its_times_and_its_rate() {
    use KnownState::{Expired, Growing, Known, Mended, Regressed};
    let evidence = evidence(&[(&["a"], 100)]);
    let time = |micros| Some(Timestamp::from_micros(micros));
    for (entry, expected) in [
        (of("plain", &["a"]), Known),
        (
            KnownEntry {
                expires: time(10_001),
                ..of("later", &["a"])
            },
            Known,
        ),
        (
            KnownEntry {
                expires: time(10_000),
                ..of("now", &["a"])
            },
            Expired,
        ),
        (
            KnownEntry {
                mended: time(1_001),
                ..of("gone", &["a"])
            },
            Mended,
        ),
        (
            KnownEntry {
                mended: time(1_000),
                ..of("back", &["a"])
            },
            Regressed,
        ),
        (
            KnownEntry {
                mended: time(1),
                expires: time(2),
                ..of("both", &["a"])
            },
            Regressed,
        ),
        (
            KnownEntry {
                rate: Some(0.01),
                ..of("same", &["a"])
            },
            Known,
        ),
        (
            KnownEntry {
                rate: Some(0.005),
                ..of("twice", &["a"])
            },
            Known,
        ),
        // More than twice, but that may be chance.
        (
            KnownEntry {
                rate: Some(0.004_5),
                ..of("chance", &["a"])
            },
            Known,
        ),
        (
            KnownEntry {
                rate: Some(0.002),
                ..of("more", &["a"])
            },
            Growing,
        ),
        (
            KnownEntry {
                rate: Some(0.0),
                ..of("none", &["a"])
            },
            Growing,
        ),
        (
            KnownEntry {
                rate: Some(1.0),
                ..of("always", &["a"])
            },
            Known,
        ),
    ] {
        let id = entry.id.clone();
        let excused = if expected == Known { 100 } else { 0 };
        assert_eq!(
            found(std::slice::from_ref(&entry), &evidence),
            [(id, expected, 100)]
        );
        assert_eq!(not_counted(&[entry], &evidence), excused);
    }
}

#[test]
fn of_two_entries_the_narrow_one_holds_and_then_the_first() {
    let evidence = evidence(&[(&["a"], 50), (&["b"], 5)]);
    let mended = KnownEntry {
        mended: Some(Timestamp::from_micros(1)),
        ..of("mended", &["a"])
    };
    let wide = at("wide", "/**/*");
    let expected = [
        ("wide", KnownState::Known, 5),
        ("mended", KnownState::Regressed, 50),
    ];
    let expected = expected.map(|(id, state, count)| (id.to_owned(), state, count));
    assert_eq!(found(&[wide.clone(), mended], &evidence), expected);
    let again = at("again", "/a");
    assert_eq!(
        found(&[wide, again], &evidence),
        [("wide".to_owned(), KnownState::Known, 55)]
    );
}

#[test]
fn an_entry_means_what_all_of_its_words_say() {
    let evidence = evidence(&[(&["a"], 1)]);
    let group = &evidence.groups[0].group;
    let own = KnownEntry {
        route: Some(ROUTE.to_owned()),
        part: Some(group.part),
        kind: Some(group.kind),
        ..at("own", "/a")
    };
    assert_eq!(found(std::slice::from_ref(&own), &evidence).len(), 1);
    let other_part = Part::ALL.iter().copied().find(|part| *part != group.part);
    let other_kind = Kind::ALL.iter().copied().find(|kind| *kind != group.kind);
    for other in [
        KnownEntry {
            route: Some("GET /b".to_owned()),
            ..own.clone()
        },
        KnownEntry {
            part: other_part,
            ..own.clone()
        },
        KnownEntry {
            kind: other_kind,
            ..own.clone()
        },
        KnownEntry {
            path: Some("/b".to_owned()),
            ..own
        },
    ] {
        assert_eq!(
            found(std::slice::from_ref(&other), &evidence),
            [],
            "{other:?}"
        );
    }
}

#[test]
fn the_rate_of_an_entry_is_above_what_was_seen_and_does_not_grow_by_chance() {
    let thresholds = Thresholds::default();
    for (count, compared) in [
        (0, 100),
        (1, 10),
        (1, 1_000),
        (14, 4_000),
        (500, 1_000),
        (10, 10),
    ] {
        let rate = rate(count, compared, &thresholds);
        assert!(
            rate > count as f64 / compared as f64 || rate >= 1.0,
            "{count}/{compared}: {rate}"
        );
        assert!(rate.to_string().len() < 12, "{rate} is for people to read");
    }
    // The same service for ever: the share that it had at first, ten and a thousand times as long.
    let mut evidence = evidence(&[(&["a"], 140)]);
    let entry = KnownEntry {
        rate: Some(rate(14, 1_000, &thresholds)),
        ..of("a", &["a"])
    };
    for times in [1, 10, 1_000] {
        evidence.routes[0].counts.matched = 9_860 * times;
        evidence.groups[0].count = 140 * times;
        evidence.groups[0].classes = ClassCounts::from([(MismatchClass::Confirmed, 140 * times)]);
        evidence.routes[0].counts.mismatch = 140 * times;
        evidence.sets.clear();
        assert_eq!(
            found(std::slice::from_ref(&entry), &evidence)[0].1,
            KnownState::Known
        );
    }
}

#[test]
fn what_is_new_counts_and_is_told_apart_by_its_rechecks() {
    let mut evidence = evidence(&[(&["a"], 50), (&["b"], 5), (&["c"], 2), (&["d"], 1)]);
    let class = |class, count| ClassCounts::from([(class, count)]);
    evidence.groups[2].classes = class(MismatchClass::Unconfirmed, 2);
    evidence.groups[3].classes = class(MismatchClass::Transient, 1);
    let thresholds = Thresholds::default();
    let register = [of("a", &["a"])];
    let uses = find(
        &register,
        &evidence,
        &thresholds,
        Timestamp::from_micros(10_000),
    );
    let news = news(&evidence, &uses, &[], &thresholds);
    let names: Vec<_> = news
        .groups
        .iter()
        .map(|new| (new.group.fingerprint.as_str(), new.confirmed))
        .collect();
    assert_eq!(names, [("b", true), ("c", false)]);
    assert_eq!((news.confirmed, news.open), (1, 1));
}

/// A legacy that stands still, known differences, and in each answer more that differs than is recorded.
fn more_than_is_kept() -> Evidence {
    let mut evidence = evidence(&[(&["a", "b"], 31)]);
    evidence.sets.clear();
    evidence
}

#[test]
fn what_is_confirmed_and_more_than_is_kept_proves_nothing_unless_it_is_of_other_groups() {
    let register = [at("all", "/**/*")];
    let uses = |evidence: &Evidence| {
        find(
            &register,
            evidence,
            &Thresholds::default(),
            Timestamp::from_micros(10_000),
        )
    };
    let open = |evidence: &Evidence, usage| {
        let excused = excused::find(evidence, usage, &excused(&uses(evidence))).of(ROUTE);
        assert_eq!(excused.open, excused.untold);
        (excused.total(), excused.open)
    };
    let mut evidence = more_than_is_kept();
    for usage in [NoiseUse::Use, NoiseUse::Report, NoiseUse::Off] {
        assert_eq!(
            open(&evidence, usage),
            (0, 31),
            "they count, and prove nothing: all of it may be known"
        );
    }
    // Some were not confirmed; of those that were, only what is known is told.
    let classes = ClassCounts::from([
        (MismatchClass::Confirmed, 20),
        (MismatchClass::Unconfirmed, 11),
    ]);
    evidence.routes[0].counts.classes = classes;
    assert_eq!(open(&evidence, NoiseUse::Use), (0, 31));
    // What is known was confirmed four times at the most, so all other confirmed ones are of something else.
    let mut fewer = evidence.clone();
    for group in &mut fewer.groups {
        group.classes = ClassCounts::from([(MismatchClass::Confirmed, 2)]);
    }
    for usage in [NoiseUse::Use, NoiseUse::Report, NoiseUse::Off] {
        assert_eq!(open(&fewer, usage), (0, 31 - 16));
    }
    // A group that no entry means proves it, too; one that stands for all that are beyond the kept ones does not.
    for (name, proven) in [("c", 9), (OTHER, 0)] {
        let mut more = evidence.clone();
        let mut group = more.groups[0].clone();
        name.clone_into(&mut group.group.fingerprint);
        group.count = 9;
        group.classes = ClassCounts::from([(MismatchClass::Confirmed, 9)]);
        more.groups.push(group);
        let register = [of("both", &["a", "b"])];
        let now = Timestamp::from_micros(10_000);
        let uses = find(&register, &more, &Thresholds::default(), now);
        let found = excused::find(&more, NoiseUse::Use, &excused(&uses)).of(ROUTE);
        assert_eq!(found.open, 31 - proven, "{name}");
    }
    // What is in a set is told by it.
    evidence.sets.push(SetEvidence {
        route: ROUTE.to_owned(),
        fingerprints: vec!["a".to_owned()],
        classes: ClassCounts::from([(MismatchClass::Confirmed, 15)]),
        never_asked: 0,
    });
    assert_eq!(open(&evidence, NoiseUse::Use), (15, 16));
}

#[test]
fn whether_more_than_is_kept_is_new_nobody_can_say() {
    let mut evidence = more_than_is_kept();
    let thresholds = Thresholds::default();
    let untold = |evidence: &Evidence, register: &[KnownEntry]| {
        let uses = find(
            register,
            evidence,
            &thresholds,
            Timestamp::from_micros(10_000),
        );
        let news = news(evidence, &uses, &[], &thresholds);
        (news.confirmed, news.untold)
    };
    assert_eq!(untold(&evidence, &[at("all", "/**/*")]), (0, 31));
    // Each of their groups is news.
    assert_eq!(untold(&evidence, &[]), (2, 0));
    evidence.routes[0].counts.classes = ClassCounts::from([(MismatchClass::Transient, 31)]);
    assert_eq!(untold(&evidence, &[at("all", "/**/*")]).1, 0);
}

#[test]
fn a_gate_neither_passes_nor_fails_by_what_is_kept_in_part_beside_what_is_known() {
    use parity_schemas::evidence::Outcome;
    use parity_schemas::watermark::Standing;
    use uuid::Uuid;

    use crate::decision::{Asked, decide_knowing};

    let thresholds = Thresholds {
        max_mismatch_rate: 0.0005,
        ..Thresholds::default()
    };
    let (evidence, standing) = (more_than_is_kept(), Standing::default());
    let asked = Asked {
        migration: "default",
        evidence: Some(&evidence),
        standing: &standing,
        thresholds: &thresholds,
    };
    let now = Timestamp::from_micros(10_000);
    let decide = |register: &[KnownEntry]| decide_knowing(&asked, register, Uuid::nil(), now);
    let decided = decide(&[at("all", "/**/*")]);
    let told = decided.reasons.join("\n");
    assert_eq!(decided.outcome, Outcome::Undecided, "{told}");
    for words in [
        "Of 31 of them not all that differs is kept",
        "whether all of it is known nobody can say",
        "Ignore what is known there by a rule",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(
        crate::decision::again::again(&decided),
        Some(decided.clone())
    );
    // Where it is not known, or blocks, it fails.
    let blocking = KnownEntry {
        blocks: true,
        ..at("all", "/**/*")
    };
    for register in [&[][..], &[blocking]] {
        assert_eq!(decide(register).outcome, Outcome::Fail);
    }
}

/// Evidence that has `differing` of `compared` requests in a slice.
fn lately(number: u64, differing: u64, compared: u64) -> Evidence {
    let mut all = evidence(&[(&["a"], 200)]);
    let mut slice = evidence(&[(&["a"], differing)]);
    slice.routes[0].counts.matched = compared - differing;
    all.recent = vec![parity_schemas::evidence::RecentCounts {
        from: Timestamp::from_micros(1_500),
        number,
        routes: slice.routes,
        groups: slice.groups,
        sets: slice.sets,
    }];
    all
}

#[test]
fn what_grew_lately_grows_and_chance_does_not() {
    let entry = |rate| KnownEntry {
        rate: Some(rate),
        ..of("a", &["a"])
    };
    let use_of = |rate, evidence: &Evidence| {
        let now = Timestamp::from_micros(10_000);
        find(&[entry(rate)], evidence, &Thresholds::default(), now).remove(0)
    };
    // 2 % of all, which is not more than twice that.
    for (differing, compared, expected) in [
        (4, 200, KnownState::Known),
        (12, 200, KnownState::Known),
        (60, 200, KnownState::Growing),
        (0, 0, KnownState::Known),
    ] {
        for number in [1, 10_000] {
            let found = use_of(0.02, &lately(number, differing, compared));
            assert_eq!(found.state, expected, "{number}: {differing} of {compared}");
            let grown = found.routes[0].grown.map(|slice| slice.mismatches);
            let expected = (expected == KnownState::Growing).then_some(differing);
            assert_eq!(grown, expected);
        }
    }
    // What grows in all of the time is told so.
    let found = use_of(0.002, &lately(1, 60, 200));
    assert_eq!(
        (found.state, found.routes[0].grown),
        (KnownState::Growing, None)
    );
    // Without a rate nothing grows, and no slice is kept.
    let plain = of("a", &["a"]);
    let now = Timestamp::from_micros(10_000);
    let found = find(&[plain], &lately(1, 60, 200), &Thresholds::default(), now).remove(0);
    assert_eq!(
        (found.state, found.routes[0].recent.len()),
        (KnownState::Known, 0)
    );

    // A difference that is just twice as frequent as its rate, looked at every hour of a week: in all of these looks together
    // one of twenty may be wrong.
    let mut random = 88_172_645_463_325_252_u64;
    let mut differs = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random.is_multiple_of(25)
    };
    let mut wrong = 0;
    for _ in 0..200 {
        let mut before = 0;
        let mut route = KnownRoute {
            route: ROUTE.to_owned(),
            mismatches: 0,
            compared: 0,
            recent: Vec::new(),
            grown: None,
        };
        let grew = (0..168).any(|number| {
            let now = (0..100).filter(|_| differs()).count() as u64;
            route.mismatches += now;
            route.compared += 100;
            let slice = KnownSlice {
                from: Timestamp::default(),
                number,
                mismatches: before + now,
                compared: 200,
            };
            route.recent = if number > 0 { vec![slice] } else { Vec::new() };
            before = now;
            look_for_growth(&mut route, 0.02, Bound::AnyTime, 0.05)
        });
        wrong += u32::from(grew);
    }
    assert!(wrong <= 10, "{wrong} of 200");
}
