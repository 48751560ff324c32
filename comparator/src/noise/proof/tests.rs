//! Proofs from sums.

use parity_schemas::recheck::EvidenceCounts;
use parity_schemas::record::MismatchClass;

use super::*;

fn sums(shape: &str, count: u64, rechecks: u64, evidence: &[(RecheckEvidence, u64)]) -> GroupSums {
    let mut evidence: EvidenceCounts = evidence.iter().copied().collect();
    evidence.entry(RecheckEvidence::Targets).or_insert(50);
    GroupSums {
        shape: shape.parse().expect("a shape"),
        count,
        classes: [
            (MismatchClass::Noise, rechecks),
            (MismatchClass::Unconfirmed, 7),
        ]
        .into(),
        evidence,
    }
}

#[test]
fn fresh_ids_in_every_answer_need_seven_hundred_rechecks_and_in_one_of_a_hundred_twenty() {
    let proven =
        |count, rechecks| prove(&sums("uuid→uuid", count, rechecks, &[]), None, 10_000).is_proven();
    assert!(!proven(10_000, 687) && proven(10_000, 688));
    assert!(!proven(100, 19) && proven(100, 20));
    let proof = prove(&sums("uuid→uuid", 10_000, 688, &[]), None, 10_000);
    assert!(proof.hidden <= MAX_HIDDEN && proof.hidden > 0.99 * MAX_HIDDEN);
    assert_eq!(proof.rechecks, 688);
}

#[test]
fn each_fault_is_told_by_its_name() {
    use RecheckEvidence::{
        Above, Below, CandidateAlone, CandidateFar, CandidateOdd, CandidateRepeats, CandidateTwins,
        LegacyRepeats, Own, Targets,
    };
    for (shape, evidence, words) in [
        (
            "status→status",
            &[][..],
            "what differs is status→status, which is never taken for noise: write a rule if it may differ",
        ),
        (
            "uuid→uuid",
            &[(Targets, 3)],
            "3 different targets of at least 10",
        ),
        (
            "integer→integer",
            &[(Above, 600), (Below, 400)],
            "the candidate's value was the greater, later or longer one 600 times, and the other way round 400 times",
        ),
        (
            "integer→integer",
            &[(Above, 400), (Below, 600)],
            "the candidate's value was the smaller, earlier or shorter one 600 times, and the other way round 400 times",
        ),
        (
            "uuid→uuid",
            &[(CandidateRepeats, 16)],
            "only the candidate showed a value of earlier requests 16 times, and the other way round 0 times",
        ),
        (
            "uuid→uuid",
            &[(CandidateTwins, 16)],
            "the candidate had the same id at more places of one answer than the legacy 16 times, and the other way round 0 times",
        ),
        (
            "uuid→uuid",
            &[(CandidateRepeats, 90), (LegacyRepeats, 20)],
            "only the candidate showed a value of earlier requests 90 times, and the other way round 20 times",
        ),
        (
            "decimal→decimal",
            &[(Above, 500), (Below, 500), (CandidateFar, 16)],
            "the candidate was much further off than the legacy ever moved 16 times, and the other way round 0 times",
        ),
        (
            "uuid→uuid",
            &[(Own, 20)],
            "each service repeated itself more than the other 20 times, and the other way round 0 times",
        ),
        (
            "uuid→uuid",
            &[(CandidateAlone, 20)],
            "only the candidate changed its answer 20 times, and the other way round 0 times",
        ),
        (
            "uuid→uuid",
            &[(CandidateOdd, 3)],
            "too few rechecks, about 1040 more are wanted: \"the candidate's value was of another kind\" may exceed its opposite by 1.3 %, 1.0 % allowed",
        ),
    ] {
        let proof = prove(&sums(shape, 10_000, 1_000, evidence), None, 10_000);
        let told: Vec<String> = proof.against.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told == words), "{told:?}");
        assert!(told.len() == 1, "{told:?}");
    }
}

#[test]
fn mismatches_that_nobody_asked_about_again_are_not_covered_by_the_proof_of_others() {
    use RecheckEvidence::Unsampled;
    let proof = |unsampled| {
        let sums = sums("uuid→uuid", 10_000, 1_000, &[(Unsampled, unsampled)]);
        prove(&sums, None, 10_000)
    };
    let without = proof(0).hidden;
    assert!(proof(50).is_proven() && (proof(50).hidden - without - 0.005).abs() < 1e-12);
    let many = proof(4_500);
    assert!(!many.is_proven() && many.is_open() && many.hidden > 0.45);
}

#[test]
fn rechecks_that_are_spread_unevenly_say_less() {
    use RecheckEvidence::Even;
    let proof = |even| {
        let sums = sums("uuid→uuid", 10_000, 3_000, &[(Even, even)]);
        prove(&sums, None, 10_000)
    };
    let even = proof(3_000);
    assert!(even.is_proven() && proof(1_000).is_proven());
    assert!((proof(1_000).hidden - 3.0 * even.hidden).abs() < 1e-12);
    let few = proof(100);
    assert!(!few.is_proven() && few.is_open() && few.hidden > 0.06);
}

#[test]
fn signs_of_weeks_ago_do_not_vouch_for_those_of_the_last_days() {
    use RecheckEvidence::{Above, Below, Lately, LatelyAbove, LatelyAsked, LatelyBelow};
    let proof = |lately: u64, [above, below]: [u64; 2]| {
        let evidence = [
            (Above, 10_000),
            (Below, 10_000 - above + below),
            (Lately, lately),
            (LatelyAsked, above + below),
            (LatelyAbove, above),
            (LatelyBelow, below),
        ];
        prove(
            &sums("integer→integer", 40_000, 20_000, &evidence),
            None,
            40_000,
        )
    };
    assert!(proof(9_000, [1_000, 1_000]).is_proven());
    // In all the signs are balanced, but lately the candidate was always above.
    for (lately, signs) in [(9_000, [600, 0]), (9_000, [0, 600]), (9_000, [700, 500])] {
        let proof = proof(lately, signs);
        assert!(
            !proof.is_proven() && proof.is_open(),
            "{signs:?} {:?}",
            proof.against
        );
        let told = proof.against[0].to_string();
        assert!(told.contains("in the last seven days"), "{told}");
    }
    // Nobody asked; and where little came of it, little can hide.
    assert!(!proof(9_000, [0, 0]).is_proven());
    assert!(proof(300, [20, 0]).is_proven());
}

#[test]
fn a_group_and_its_family_are_spoken_for_by_the_rarer_rechecks_or_without_the_few() {
    use RecheckEvidence::{Even, Unsampled};
    let mut many = sums("uuid→uuid", 10_007, 1_000, &[]);
    many.add(&sums("uuid→uuid", 30, 1, &[]));
    assert_eq!((many.of(Unsampled), many.of(Even)), (30, 1_000));
    let mut many = sums("uuid→uuid", 10_000, 1_000, &[]);
    many.add(&sums("uuid→uuid", 10_000, 100, &[(Unsampled, 500)]));
    assert_eq!((many.of(Unsampled), many.of(Even)), (500, 205));
    let mut alone = sums("uuid→uuid", 1_000, 100, &[]);
    alone.add(&sums("uuid→uuid", 1_000, 100, &[]));
    assert_eq!((alone.evidence.get(&Even), alone.rechecks()), (None, 200));
}

#[test]
fn values_that_come_and_go_are_noise_only_if_they_do_so_on_both_sides() {
    let group = |shape, count| sums(shape, count, 200, &[]);
    let missing = group("object→missing", 150);
    let extra = group("missing→object", 145);
    assert!(prove(&missing, Some(&extra), 10_000).is_proven());
    for mirrored in [None, Some(&group("missing→object", 40))] {
        let proof = prove(&missing, mirrored, 10_000);
        assert!(matches!(
            proof.against[..],
            [Objection::OneSided { count: 150, .. }]
        ));
        assert!(!proof.is_open());
    }
}

#[test]
fn a_coin_is_not_shown_to_be_unfair_by_a_fair_one_however_often_it_is_looked_at() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut shown = 0;
    for _ in 0..1_000 {
        let (mut one, mut two) = (0, 0);
        let mut ever = false;
        for _ in 0..1_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state >> 63 == 0 {
                one += 1;
            } else {
                two += 1;
            }
            ever |= evidence_for(one, two) >= shown_of(1) || evidence_for(two, one) >= shown_of(1);
        }
        shown += u32::from(ever);
    }
    assert!(shown <= 5, "{shown} of 1000");
    assert!(evidence_for(15, 0) >= shown_of(1) && evidence_for(0, 15) < 1.0);
}

#[test]
fn errors_that_come_and_go_are_noise_only_if_both_services_have_them_alike() {
    use RecheckEvidence::{CandidateAlone, LegacyAlone, Other, Own};
    let of_candidate = |count, own| {
        let evidence = [(CandidateAlone, count - own), (Own, own), (Other, own / 2)];
        sums("status→status", count, count, &evidence)
    };
    let of_legacy = |count, own| {
        let evidence = [(LegacyAlone, count - own), (Own, own), (Other, own)];
        sums("status→status", count, count, &evidence)
    };
    let proven = |one: &GroupSums, two: Option<&GroupSums>| prove(one, two, 100_000).is_proven();
    let (candidate, legacy) = (of_candidate(500, 5), of_legacy(480, 5));
    assert!(proven(&candidate, Some(&legacy)) && proven(&legacy, Some(&candidate)));
    // Only the candidate fails, or it fails more often.
    assert!(!proven(&candidate, None));
    assert!(!proven(&candidate, Some(&of_legacy(300, 5))));
    // It fails as often, but always for the same requests.
    assert!(!proven(&of_candidate(500, 400), Some(&legacy)));
    let few = (of_candidate(30, 1), of_legacy(25, 1));
    let proof = prove(&few.0, Some(&few.1), 600);
    assert!(!proof.is_proven() && proof.is_open(), "{:?}", proof.against);
}

#[test]
fn of_a_hundred_honest_fields_none_is_thrown_out() {
    const FIELDS: u64 = 100;
    const RECHECKS: u64 = 2_000;
    const RUNS: u64 = 100;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut shared, mut alone) = (0, 0);
    for _ in 0..RUNS {
        let mut most = 0.0_f64;
        for _ in 0..FIELDS {
            let mut above = 0;
            for recheck in 1..=RECHECKS {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                above += state >> 63;
                if recheck.is_multiple_of(20) {
                    let below = recheck - above;
                    most = most
                        .max(evidence_for(above, below))
                        .max(evidence_for(below, above));
                }
            }
        }
        shared += u64::from(most >= shown_of(FIELDS));
        // With a bound for each of them.
        alone += u64::from(most >= 100.0);
    }
    assert!(shared <= 1 && alone > 10, "{shared} and {alone} of {RUNS}");
    let route = OfRoute {
        compared: 40_000,
        groups: FIELDS,
    };
    let field = |above| {
        let signs = [
            (RecheckEvidence::Above, above),
            (RecheckEvidence::Below, RECHECKS - above),
        ];
        let proof = prove(
            &sums("integer→integer", RECHECKS, RECHECKS, &signs),
            None,
            route,
        );
        (proof.is_proven(), proof.is_open())
    };
    // Four standard deviations, as one of so many fields may have now and then; and what is no chance.
    assert_eq!(field(RECHECKS / 2 + 89), (true, false));
    assert_eq!(field(RECHECKS / 2 + 400), (false, false));
}

#[test]
fn about_as_many_rechecks_as_are_said_to_be_missing_prove_it() {
    use RecheckEvidence::{Above, Below, CandidateOdd, LegacyOdd};
    // What was seen in so many rechecks, and would be in so many times as many.
    let proof = |rechecks: u64, times: f64, seen: &[(RecheckEvidence, u64)]| {
        let scaled = |count: u64| (count as f64 * times) as u64;
        let seen: Vec<_> = seen
            .iter()
            .map(|(what, count)| (*what, scaled(*count)))
            .collect();
        prove(
            &sums("integer→integer", 100_000, scaled(rechecks), &seen),
            None,
            100_000,
        )
    };
    let missing = |proof: &Proof| {
        let missing = proof
            .against
            .iter()
            .filter_map(|objection| match objection {
                Objection::MayHide { missing, .. } => *missing,
                _ => None,
            });
        missing.max()
    };
    for (rechecks, seen) in [
        (100, &[(Above, 50), (Below, 50)][..]),
        (600, &[(Above, 300), (Below, 300)]),
        (
            1_000,
            &[
                (Above, 500),
                (Below, 500),
                (CandidateOdd, 3),
                (LegacyOdd, 2),
            ],
        ),
    ] {
        let few = proof(rechecks, 1.0, seen);
        let more = missing(&few).unwrap_or_else(|| panic!("{:?}", few.against));
        let times = |of: f64| 1.0 + more as f64 * of / rechecks as f64;
        assert!(
            !proof(rechecks, times(0.5), seen).is_proven(),
            "{more} {seen:?}"
        );
        assert!(
            proof(rechecks, times(1.5), seen).is_proven(),
            "{more} {seen:?}"
        );
    }
    // More of the same would show no less.
    let seen = [
        (Above, 500),
        (Below, 500),
        (CandidateOdd, 14),
        (LegacyOdd, 3),
    ];
    let open = proof(1_000, 1.0, &seen);
    let odd = open.against.iter().find_map(|objection| match objection {
        Objection::MayHide {
            evidence: CandidateOdd,
            missing,
            ..
        } => Some(*missing),
        _ => None,
    });
    assert_eq!(odd, Some(None), "{:?}", open.against);
}

/// A service with a random order beside itself was told to wait for nine million rechecks.
#[test]
fn what_no_plan_could_wait_for_is_told_with_what_settles_it() {
    use RecheckEvidence::{Other, Own};
    let told = |shape| {
        let sums = sums(shape, 10_000, 10_000, &[(Own, 1_000), (Other, 901)]);
        let proof = prove(&sums, None, 10_000);
        assert!(proof.is_open(), "{:?}", proof.against);
        let told = proof.against.iter().map(ToString::to_string);
        told.collect::<Vec<_>>().join("\n")
    };
    let order = told("order→order");
    assert!(
        order.starts_with("more rechecks may never settle it: "),
        "{order}"
    );
    assert!(order.ends_with("a rule says so (`unordered`)"), "{order}");
    let other = told("uuid→uuid");
    assert!(
        other.ends_with("; write a rule if it may differ"),
        "{other}"
    );
}
