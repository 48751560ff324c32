//! A decision that is made again from its document says the same, and a changed document does not.

use parity_schemas::evidence::{GroupEvidence, SetEvidence};
use parity_schemas::noise::NoiseState;
use parity_schemas::recheck::RecheckEvidence;
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::Group;

use super::super::again::{again, differences, noise_faults};
use super::*;

/// With a route that fails, one that was required and never came, an operation that covers two routes, a path that is not
/// served, our own drops, and noise.
fn all() -> Vec<Decision> {
    let mut noisy = counts(4_600, 400, &[(Reason::CandidateTimeout, 3)]);
    noisy.classes = [
        (MismatchClass::Noise, 300),
        (MismatchClass::Transient, 40),
        (MismatchClass::Unconfirmed, 60),
    ]
    .into();
    let mut evidence = evidence(vec![
        ("GET /a", noisy),
        ("GET /b", counts(990, 8, &[(Reason::QueueFull, 70)])),
        ("GET /items/{id}", counts(700, 0, &[])),
        ("GET /items/new", counts(300, 1, &[])),
        ("GET /wp-login.php", counts(1, 0, &[])),
    ]);
    evidence.groups = vec![GroupEvidence {
        route: "GET /a".to_owned(),
        group: Group {
            fingerprint: "f".to_owned(),
            pattern: "/id".to_owned(),
            shape: "uuid→uuid".to_owned(),
            legacy_status: 200,
            candidate_status: 200,
            ..Group::default()
        },
        count: 360,
        classes: [
            (MismatchClass::Noise, 300),
            (MismatchClass::Unconfirmed, 60),
        ]
        .into(),
        evidence: [(RecheckEvidence::Targets, 50)].into(),
    }];
    evidence.sets = vec![SetEvidence {
        route: "GET /a".to_owned(),
        fingerprints: vec!["f".to_owned()],
        classes: [(MismatchClass::Noise, 360)].into(),
        never_asked: 0,
    }];
    let demands = |change: fn(&mut Thresholds)| {
        let mut thresholds = Thresholds::default();
        change(&mut thresholds);
        thresholds
    };
    let thresholds = [
        Thresholds::default(),
        demands(|thresholds| thresholds.max_mismatch_rate = 0.2),
        demands(|thresholds| thresholds.require_all_routes = true),
        demands(|thresholds| thresholds.required_routes = vec!["GET /never".to_owned()]),
        demands(|thresholds| {
            thresholds.operations = vec!["GET /items/{id}".to_owned(), "GET /none".to_owned()];
        }),
        demands(|thresholds| thresholds.min_requests = 1_000_000),
    ];
    let decide = |thresholds: &Thresholds, evidence| {
        let (id, time) = (Uuid::nil(), Timestamp::from_micros(1));
        super::decide(
            "default",
            evidence,
            &Standing::default(),
            thresholds,
            id,
            time,
        )
    };
    let mut decisions: Vec<Decision> = thresholds
        .iter()
        .map(|thresholds| decide(thresholds, Some(&evidence)))
        .collect();
    decisions.push(decide(&thresholds[0], None));
    decisions
}

#[test]
fn a_document_is_enough_to_decide_again() {
    let decisions = all();
    assert!(
        decisions
            .iter()
            .any(|decision| decision.total.excused.transient > 0)
    );
    for decision in decisions {
        let text = serde_json::to_string(&decision).expect("JSON");
        let read: Decision = serde_json::from_str(&text).expect("it is read");
        let made = again(&read).expect("it holds its counts");
        assert_eq!(differences(&read, &made), [""; 0]);
        assert_eq!(
            (&made.reasons, &made.headline),
            (&read.reasons, &read.headline)
        );
        assert_eq!(noise_faults(&read), [""; 0]);
    }
}

#[test]
fn a_changed_number_is_told() {
    let decision = &all()[0];
    let changes: [fn(&mut Decision); 11] = [
        |decision| decision.outcome = Outcome::Pass,
        |decision| decision.total.upper = 0.0,
        |decision| decision.total.alpha = Some(0.05),
        |decision| decision.routes[0].alpha = None,
        |decision| decision.routes[0].outcome = Outcome::Pass,
        |decision| decision.routes[0].compared += 1,
        |decision| drop(decision.routes.remove(0)),
        |decision| decision.scope.proven += 1,
        |decision| decision.thresholds.confidence = 0.99,
        |decision| own(decision).counts.matched += 1,
        |decision| own(decision).excused.noise += 10_000,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut changed = decision.clone();
        change(&mut changed);
        let made = again(&changed).expect("it holds its counts");
        let mut told = differences(&changed, &made);
        told.extend(noise_faults(&changed));
        assert!(!told.is_empty(), "change {number}");
    }
}

fn own(decision: &mut Decision) -> &mut parity_schemas::evidence::OwnCounts {
    decision.routes[0].counts.as_mut().expect("it was received")
}

/// Times on which the services agree no better than with themselves: at one place a few by an explanation of their own, which
/// only the rest of the place shows to be noise; at another of two shapes, each the mirror image of the other.
fn of_places() -> Decision {
    use RecheckEvidence::{Above, Below, Targets};
    let (alike, there, back) = (
        "instant-us-utc→instant-us-utc",
        "instant-us-utc→instant-ms-utc",
        "instant-ms-utc→instant-us-utc",
    );
    let cut = Some(parity_schemas::verdict::Explanation::TruncatedTime);
    let group = |name: &str,
                 (pattern, shape): (&str, &str),
                 explanation,
                 (count, rechecks),
                 counted: &[_]| {
        GroupEvidence {
            route: "GET /a".to_owned(),
            group: Group {
                fingerprint: name.to_owned(),
                pattern: pattern.to_owned(),
                shape: shape.to_owned(),
                explanation,
                ..Group::default()
            },
            count,
            classes: [
                (MismatchClass::Noise, rechecks),
                (MismatchClass::Unconfirmed, count - rechecks),
            ]
            .into(),
            evidence: counted.iter().copied().collect(),
        }
    };
    let mut evidence = evidence(vec![("GET /a", counts(0, 10_000, &[]))]);
    let clock = &[(Above, 2_010), (Below, 1_990), (Targets, 256)];
    let half = &[(Above, 1_005), (Below, 995), (Targets, 256)];
    evidence.groups = vec![
        group("clock", ("/at", alike), None, (9_950, 4_000), clock),
        group(
            "few",
            ("/at", alike),
            cut,
            (8, 5),
            &[(Above, 3), (Below, 2), (Targets, 5)],
        ),
        group("forth", ("/t", there), None, (4_996, 2_000), half),
        group("back", ("/t", back), None, (4_996, 2_000), half),
    ];
    evidence.sets = vec![SetEvidence {
        route: "GET /a".to_owned(),
        fingerprints: vec!["forth".to_owned()],
        classes: [(MismatchClass::Noise, 10_000)].into(),
        never_asked: 0,
    }];
    decided_on(&evidence, &Thresholds::default())
}

#[test]
fn sums_of_the_mirror_image_and_of_the_place_are_checked_again() {
    let decision = of_places();
    let at = |name: &str| {
        let mut groups = decision.noise.iter();
        groups
            .position(|group| group.group.fingerprint == name)
            .expect("it is taken for noise")
    };
    let (few, forth) = (at("few"), at("forth"));
    assert_eq!(decision.noise[few].state, NoiseState::Proven);
    assert!(decision.noise[few].family.is_some(), "{:?}", decision.noise);
    assert!(
        decision.noise[forth].mirror.is_some(),
        "{:?}",
        decision.noise
    );
    assert_eq!(noise_faults(&decision), [""; 0]);
    let text = serde_json::to_string(&decision).expect("JSON");
    let read: Decision = serde_json::from_str(&text).expect("it is read");
    assert_eq!(noise_faults(&read), [""; 0]);
    // What the proof rests on is taken away, or changed.
    let changes: [&dyn Fn(&mut Decision); 3] = [
        &|decision| decision.noise[few].family = None,
        &|decision| {
            let family = decision.noise[few].family.as_mut().expect("it has one");
            *family
                .sums
                .evidence
                .entry(RecheckEvidence::Above)
                .or_default() += 1_000;
        },
        &|decision| {
            let mirror = decision.noise[forth].mirror.as_mut().expect("it has one");
            *mirror.evidence.entry(RecheckEvidence::Above).or_default() += 1_000;
            mirror.count *= 2;
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut changed = decision.clone();
        change(&mut changed);
        assert_ne!(noise_faults(&changed), [""; 0], "change {number}");
    }
}

#[test]
fn a_document_of_an_older_program_is_not_decided_again() {
    let mut decision = all().remove(0);
    for route in &mut decision.routes {
        route.counts = None;
    }
    assert_eq!(again(&decision), None);
}
