//! Proofs of noise that rest on more than one group are made again, too.

use super::*;

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
            last_seen: parity_schemas::time::Timestamp::default(),
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
    assert_eq!(faults(&decision), [""; 0]);
    let text = serde_json::to_string(&decision).expect("JSON");
    let read: Decision = serde_json::from_str(&text).expect("it is read");
    assert_eq!(faults(&read), [""; 0]);
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
        assert_ne!(faults(&changed), [""; 0], "change {number}");
    }
}
