//! How often the candidate fails where the legacy does not.

use parity_schemas::evidence::GroupEvidence;
use parity_schemas::recheck::{EvidenceCounts, MismatchClass, RecheckEvidence};
use parity_schemas::tally::Group;
use parity_schemas::verdict::{Kind, Part};

use super::*;

/// So many mismatches with these statuses, of one class.
fn statuses(
    name: &str,
    legacy: u16,
    candidate: u16,
    count: u64,
    class: MismatchClass,
) -> GroupEvidence {
    GroupEvidence {
        last_seen: parity_schemas::time::Timestamp::default(),
        route: "GET /a".to_owned(),
        group: Group {
            fingerprint: name.to_owned(),
            part: Part::Status,
            pattern: String::new(),
            kind: Kind::Value,
            explanation: None,
            shape: String::new(),
            legacy_status: legacy,
            candidate_status: candidate,
        },
        count,
        classes: [(class, count)].into(),
        evidence: EvidenceCounts::new(),
    }
}

fn decided(counts: Counts, groups: Vec<GroupEvidence>, thresholds: &Thresholds) -> Decision {
    let evidence = Evidence {
        groups,
        ..evidence(vec![("GET /a", counts)])
    };
    decided_on(&evidence, thresholds)
}

fn at_most(share: f64) -> Thresholds {
    Thresholds {
        max_candidate_errors: Some(share),
        max_mismatch_rate: 0.05,
        ..Thresholds::default()
    }
}

#[test]
fn failures_and_server_errors_of_the_candidate_alone_have_a_cap_of_their_own() {
    let failing = counts(10_000, 60, &[(Reason::CandidateTimeout, 30)]);
    let group = |candidate| vec![statuses("s", 200, candidate, 60, MismatchClass::Confirmed)];
    let fail = decided(failing.clone(), group(503), &at_most(0.001));
    assert_eq!(fail.outcome, Outcome::Fail);
    assert!(
        fail.reasons[0].starts_with(
            "all requests: the candidate fails where the legacy does not on at least 0."
        ),
        "{:?}",
        fail.reasons
    );
    let [all] = &fail.candidate_errors[..] else {
        panic!("of all requests only: {:?}", fail.candidate_errors);
    };
    assert_eq!((all.errors, all.at_most, all.compared), (90, 90, 10_090));
    // Other statuses differ, and nothing else: of 30 time-outs in 10,090, 2 % is surely not exceeded.
    let other = decided(failing, group(404), &at_most(0.02));
    assert_eq!(other.outcome, Outcome::Pass, "{:?}", other.reasons);
    assert_eq!(other.candidate_errors[0].errors, 30);
}

#[test]
fn what_the_legacy_fails_at_is_never_the_candidates() {
    let both = counts(10_000, 200, &[(Reason::LegacyTimeout, 300)]);
    let groups = vec![
        statuses("a", 500, 503, 100, MismatchClass::Confirmed),
        statuses("b", 500, 200, 100, MismatchClass::Confirmed),
    ];
    let decision = decided(both, groups, &at_most(0.001));
    assert_eq!(decision.outcome, Outcome::Pass, "{:?}", decision.reasons);
    assert_eq!(decision.candidate_errors[0].at_most, 0);
    // A legacy that is flaky itself: the second look found it failing, too.
    let flaky = counts(10_000, 200, &[]);
    let groups = vec![statuses("c", 200, 500, 200, MismatchClass::Noise)];
    let decision = decided(flaky, groups, &at_most(0.001));
    assert_eq!(decision.candidate_errors[0].errors, 0);
    assert_ne!(decision.candidate_errors[0].outcome, Outcome::Fail);
}

#[test]
fn too_few_requests_and_groups_that_are_not_known_leave_it_open() {
    let few = decided(counts(1_000, 0, &[]), Vec::new(), &at_most(0.001));
    assert_eq!(few.outcome, Outcome::Undecided);
    assert_eq!(few.candidate_errors[0].needed, 2_787);
    assert!(
        few.reasons[0].ends_with("2,787 more requests without one would settle it"),
        "{:?}",
        few.reasons
    );
    let mut hidden = statuses("_other", 0, 0, 100, MismatchClass::Unconfirmed);
    hidden.group.part = Part::Body;
    let unknown = decided(counts(10_000, 100, &[]), vec![hidden], &at_most(0.001));
    assert_eq!(unknown.outcome, Outcome::Undecided, "{:?}", unknown.reasons);
    let one = &unknown.candidate_errors[0];
    assert_eq!((one.errors, one.at_most), (0, 100));
}

#[test]
fn a_required_route_has_it_judged_on_its_own() {
    let thresholds = Thresholds {
        required_routes: vec!["GET /a".to_owned(), "GET /never".to_owned()],
        ..at_most(0.001)
    };
    let decision = decided(counts(10_000, 0, &[]), Vec::new(), &thresholds);
    let of: Vec<(&str, Outcome)> = decision
        .candidate_errors
        .iter()
        .map(|one| (one.route.as_str(), one.outcome))
        .collect();
    assert_eq!(
        of,
        [
            ("", Outcome::Pass),
            ("GET /a", Outcome::Pass),
            ("GET /never", Outcome::Undecided)
        ]
    );
    assert!(
        decided(counts(1, 0, &[]), Vec::new(), &Thresholds::default())
            .candidate_errors
            .is_empty()
    );
}

#[test]
fn noise_of_statuses_fails_nothing() {
    // Both services answer 503 now and then, each at other times: by the second answers the legacy does it as well.
    let failing = || counts(10_000, 400, &[]);
    let fail = decided(
        failing(),
        vec![statuses("s", 200, 503, 400, MismatchClass::Confirmed)],
        &at_most(0.001),
    );
    assert_eq!(fail.candidate_errors[0].outcome, Outcome::Fail);
    for class in [MismatchClass::Noise, MismatchClass::Transient] {
        let group = statuses("s", 200, 503, 400, class);
        let open = decided(failing(), vec![group], &at_most(0.001));
        let errors = &open.candidate_errors[0];
        assert_eq!((errors.errors, errors.at_most), (0, 400), "{class}");
        assert_eq!(errors.outcome, Outcome::Undecided, "{class}");
        assert_ne!(open.outcome, Outcome::Fail, "{class}: {:?}", open.reasons);
    }
    // What was not asked again is like what was.
    let mut group = statuses("s", 200, 503, 400, MismatchClass::Noise);
    group.group.shape = "integer→integer".to_owned();
    group.classes = [
        (MismatchClass::Noise, 300),
        (MismatchClass::Unconfirmed, 100),
    ]
    .into();
    group.evidence = [(RecheckEvidence::Targets, 300)].into();
    let alike = decided(failing(), vec![group], &at_most(0.001));
    assert_eq!(alike.noise.len(), 1);
    assert_eq!(alike.candidate_errors[0].errors, 0);
    assert_ne!(alike.candidate_errors[0].outcome, Outcome::Fail);
}
