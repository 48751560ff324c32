//! What is transient, or noise, or may be.

use parity_schemas::evidence::{GroupEvidence, SetEvidence};
use parity_schemas::noise::NoiseUse;
use parity_schemas::recheck::{ClassCounts, EvidenceCounts, RecheckEvent, RecheckEvidence};
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::Group;

use super::*;

const ROUTE: &str = "GET /a";

/// Of 10,000 requests each has another id; `wrong` of them a wrong price, too, and `transient` differed for a moment only.
fn noisy(rechecks: u64, wrong: u64, transient: u64) -> Evidence {
    let mut evidence = evidence(vec![(ROUTE, counts(0, 10_000, &[]))]);
    let of = |class, count: u64| ClassCounts::from([(class, count)]);
    let counts = &mut evidence.routes[0].counts;
    counts.classes = ClassCounts::from([
        (MismatchClass::Transient, transient),
        (MismatchClass::Unconfirmed, 10_000 - transient),
    ]);
    let group = |name: &str, shape: &str, count, classes, evidence: &[(RecheckEvidence, u64)]| {
        GroupEvidence {
            last_seen: parity_schemas::time::Timestamp::default(),
            route: ROUTE.to_owned(),
            group: Group {
                fingerprint: name.to_owned(),
                pattern: format!("/{name}"),
                shape: shape.to_owned(),
                ..Group::default()
            },
            count,
            classes,
            evidence: evidence.iter().copied().collect::<EvidenceCounts>(),
        }
    };
    let ids = ClassCounts::from([
        (MismatchClass::Noise, rechecks),
        (MismatchClass::Unconfirmed, 10_000 - transient - rechecks),
    ]);
    evidence.groups = vec![
        group(
            "id",
            "uuid→uuid",
            10_000 - transient,
            ids,
            &[(RecheckEvidence::Targets, rechecks)],
        ),
        group(
            "price",
            "integer→integer",
            wrong,
            of(MismatchClass::Confirmed, wrong),
            &[(RecheckEvidence::Own, wrong)],
        ),
    ];
    let set = |names: &[&str], count| SetEvidence {
        route: ROUTE.to_owned(),
        fingerprints: names.iter().map(|name| (*name).to_owned()).collect(),
        classes: of(MismatchClass::Unconfirmed, count),
        never_asked: 0,
    };
    evidence.sets = vec![
        set(&["id"], 10_000 - transient - wrong),
        set(&["id", "price"], wrong),
    ];
    evidence
}

#[test]
fn what_is_proven_noise_does_not_count_and_the_headline_says_what_may_hide() {
    let pass = decided_on(&noisy(1_000, 0, 0), &Thresholds::default());
    assert_eq!(pass.outcome, Outcome::Pass, "{:?}", pass.reasons);
    assert_eq!(
        (pass.total.differing, pass.total.excused.noise),
        (0, 10_000)
    );
    let hidden = pass.total.excused.hidden;
    assert!(hidden > 0.0 && hidden <= 0.01, "{hidden}");
    assert!(
        pass.headline
            .contains("what is taken for noise may hide up to 0."),
        "{}",
        pass.headline
    );
    assert_eq!(pass.noise.len(), 1);
    let fail = decided_on(&noisy(1_000, 200, 0), &Thresholds::default());
    assert_eq!((fail.outcome, fail.total.differing), (Outcome::Fail, 200));
}

/// The legacy sets a flag now and then, and the candidate never: without any noise, a pass must say what may hide.
#[test]
fn a_pass_says_what_may_hide_in_changes_of_the_data_and_on_which_route_most() {
    let mut evidence = evidence(vec![
        (ROUTE, counts(10_000, 0, &[])),
        ("GET /b", counts(340, 60, &[])),
    ]);
    evidence.routes[1].counts.classes = ClassCounts::from([(MismatchClass::Transient, 60)]);
    evidence.routes[1].counts.rechecks =
        [(RecheckEvent::Asked, 60), (RecheckEvent::LegacyAlone, 60)].into();
    let pass = decided_on(&evidence, &Thresholds::default());
    assert_eq!(pass.outcome, Outcome::Pass, "{:?}", pass.reasons);
    let told = "what is taken for a change of the data may hide up to 0.58 % of the requests; up to 15 % of those of GET /b";
    assert!(pass.headline.contains(told), "{}", pass.headline);
    let told = "At most 0.58 % of the compared requests could hide a difference there";
    assert!(
        pass.reasons.iter().any(|reason| reason.ends_with(told)),
        "{:?}",
        pass.reasons
    );
}

#[test]
fn what_may_be_noise_fails_nothing_and_passes_nothing() {
    let open = decided_on(&noisy(100, 0, 0), &Thresholds::default());
    assert_eq!(open.outcome, Outcome::Undecided);
    assert_eq!(
        (open.total.differing, open.total.excused.open),
        (10_000, 10_000)
    );
    // However many requests come, all of them are of the same kind.
    assert_eq!((open.total.needed, open.routes[0].needed), (0, 0));
    assert!(
        open.reasons[0].ends_with(
            "look like noise that is not proven yet: rechecks of further mismatches settle that, not more equal answers"
        ),
        "{:?}",
        open.reasons
    );
    let missing = open
        .reasons
        .iter()
        .find(|reason| reason.contains("looks like noise, not proven yet: "));
    assert!(
        missing.is_some_and(|reason| reason.contains("/id (uuid→uuid)")),
        "{:?}",
        open.reasons
    );
    // Nobody looked again.
    assert_eq!(
        decided_on(&noisy(0, 0, 0), &Thresholds::default()).outcome,
        Outcome::Fail
    );
    // What is wrong beside it fails.
    let fail = decided_on(&noisy(100, 200, 0), &Thresholds::default());
    assert_eq!(fail.outcome, Outcome::Fail);
}

#[test]
fn noise_counts_on_demand_and_transient_mismatches_may_be_capped() {
    let counted = |noise| {
        let thresholds = Thresholds {
            noise,
            ..Thresholds::default()
        };
        let decision = decided_on(&noisy(1_000, 0, 0), &thresholds);
        (decision.outcome, decision.noise.len())
    };
    assert_eq!(counted(NoiseUse::Report), (Outcome::Fail, 1));
    assert_eq!(counted(NoiseUse::Off), (Outcome::Fail, 0));
    let some = noisy(1_000, 0, 500);
    assert_eq!(
        decided_on(&some, &Thresholds::default()).outcome,
        Outcome::Pass
    );
    let thresholds = Thresholds {
        max_transient: 0.04,
        ..Thresholds::default()
    };
    let capped = decided_on(&some, &thresholds);
    assert_eq!(capped.outcome, Outcome::Undecided);
    assert!(
        capped.reasons[0].contains("5.00 % differed for a moment only, 4.00 % allowed"),
        "{:?}",
        capped.reasons
    );
}

#[test]
fn a_single_mismatch_that_may_be_noise_is_outweighed_by_other_requests() {
    let with = |open: u64, compared: u64| {
        let mut evidence = noisy(100, 0, 0);
        for set in &mut evidence.sets {
            set.classes = ClassCounts::from([(MismatchClass::Unstable, 0)]);
        }
        evidence.sets[0].classes = ClassCounts::from([(MismatchClass::Unstable, open)]);
        let counts = &mut evidence.routes[0].counts;
        *counts = super::counts(compared - open, open, &[]);
        decided_on(&evidence, &Thresholds::default())
    };
    let few = with(1, 1_000);
    assert_eq!(
        (few.outcome, few.total.excused.open),
        (Outcome::Undecided, 1)
    );
    let needed = few.routes[0].needed;
    assert!(needed > 1_000, "{needed}");
    assert!(
        few.reasons[0].ends_with("if all match, would settle it whatever they are"),
        "{:?}",
        few.reasons
    );
    assert_eq!(with(1, 1_000 + needed).outcome, Outcome::Pass);
    assert_eq!(with(1, 999 + needed).outcome, Outcome::Undecided);
    // As many of the next ones would look the same.
    assert_eq!(with(400, 1_000).routes[0].needed, 0);
}

#[test]
fn a_pass_waits_until_little_enough_may_hide_in_noise_and_says_for_how_many_rechecks() {
    let held = |max_hidden, rechecks| {
        let thresholds = Thresholds {
            max_hidden,
            ..Thresholds::default()
        };
        decided_on(&noisy(rechecks, 0, 0), &thresholds)
    };
    let pass = held(0.01, 1_000);
    assert_eq!(pass.outcome, Outcome::Pass);
    let hidden = pass.total.excused.hidden;
    let open = held(hidden / 2.0, 1_000);
    assert_eq!(
        (open.outcome, open.routes[0].outcome, open.total.needed),
        (Outcome::Undecided, Outcome::Undecided, 0)
    );
    let told = &open.reasons[0];
    assert!(
        told.starts_with(
            "all requests: up to 0.69 % of the compared requests may hide a difference"
        ),
        "{told}"
    );
    assert!(told.contains("about 1,000 more rechecks"), "{told}");
    assert!(!open.headline.starts_with("PASS"), "{}", open.headline);
    // What it asks for is enough, but for the rounding of "about".
    assert_eq!(held(hidden / 2.0, 2_010).outcome, Outcome::Pass);
    assert_eq!(held(hidden, 1_000).outcome, Outcome::Pass);
    // It excuses no fail, and binds nobody who takes nothing for noise.
    let thresholds = Thresholds {
        max_hidden: 0.0,
        ..Thresholds::default()
    };
    let fail = decided_on(&noisy(1_000, 200, 0), &thresholds);
    assert_eq!(fail.outcome, Outcome::Fail);
    let none = evidence(vec![(ROUTE, counts(10_000, 0, &[]))]);
    assert_eq!(decided_on(&none, &thresholds).outcome, Outcome::Pass);
}

#[test]
fn what_is_never_asked_again_passes_nothing_and_says_why() {
    let mut evidence = noisy(1_000, 0, 0);
    evidence.sets[0].never_asked = 400;
    let open = decided_on(&evidence, &Thresholds::default());
    assert_eq!(
        (open.outcome, open.total.differing, open.total.excused.noise),
        (Outcome::Undecided, 400, 9_600)
    );
    let told = &open.reasons[0];
    assert!(
        told.contains("400 of them look like noise that is not proven. 400 are of requests that are never asked again"),
        "{told}"
    );
    assert!(!told.contains("settle that"), "{told}");
    evidence.sets[0].never_asked = 0;
    let pass = decided_on(&evidence, &Thresholds::default());
    assert_eq!(pass.outcome, Outcome::Pass);
}

#[test]
fn a_fail_by_mismatches_that_are_never_asked_again_says_what_would_tell_noise_apart() {
    let told = |refused: u64| {
        let mut evidence = evidence(vec![("POST /quotes", counts(0, 40, &[]))]);
        let rechecks = &mut evidence.routes[0].counts.rechecks;
        if refused > 0 {
            rechecks.insert(RecheckEvent::RefusedMethod, refused);
        }
        let fail = decided_on(&evidence, &Thresholds::default());
        assert_eq!(fail.outcome, Outcome::Fail);
        fail.reasons
    };
    assert_eq!(told(0).len(), 1);
    assert!(
        told(40)[1]
            .starts_with("POST /quotes: 40 mismatches are of requests that are never asked again")
            && told(40)[1].contains("`recheck = true`"),
        "{:?}",
        told(40)
    );
}

#[test]
fn what_was_not_asked_while_rechecks_were_paused_is_told_where_rechecks_are_missing() {
    let told = |refused: &[(RecheckEvent, u64)], rechecks| {
        let mut evidence = noisy(rechecks, 0, 0);
        evidence.routes[0]
            .counts
            .rechecks
            .extend(refused.iter().copied());
        let decision = decided_on(&evidence, &Thresholds::default());
        let mut told = decision.reasons.into_iter();
        let told = told.find(|reason| reason.contains("not asked about again"));
        (decision.outcome, told)
    };
    let paused = [(RecheckEvent::RefusedPaused, 9_900)];
    let (outcome, open) = told(&paused, 100);
    let open = open.expect("it is told");
    assert_eq!(outcome, Outcome::Undecided);
    assert!(
        open.starts_with("9,900 mismatches were not asked about again, and will not be: while rechecks were paused")
            && open.ends_with("takes more traffic, not time"),
        "{open}"
    );
    let (_, rate) = told(&[(RecheckEvent::RefusedGroupRate, 7)], 100);
    assert!(rate.is_some_and(|told| told.contains("`recheck.per_group`")));
    // Nothing waits for them.
    assert_eq!(told(&paused, 1_000), (Outcome::Pass, None));
    assert_eq!(told(&[], 100), (Outcome::Undecided, None));
}
