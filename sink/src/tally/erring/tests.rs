//! Errors by chance, and those that are none.

use parity_schemas::lately::CandidateErrors;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(1_790_000_000_000_000 + second * 1_000_000)
}

/// Of looks: when, how many were compared, how many of them the candidate alone answered with an error, how many both did.
fn told(looks: &[(i64, u64, u64, u64)]) -> Vec<(i64, i64, Option<i64>, [u64; 3])> {
    let mut erring = Erring::default();
    for (second, compared, alone, both) in looks {
        let look = Verdicts {
            compared: *compared,
            legacy_errors: *both,
            alone: ErrorsAlone {
                candidate: *alone,
                legacy: 0,
                span: (*alone > 0).then(|| (at(*second), at(*second))),
            },
        };
        erring.look(&look, "2", at(*second));
    }
    let second = |time: Timestamp| (time.as_micros() - at(0).as_micros()) / 1_000_000;
    let each = erring.told().into_iter();
    each.map(|one| {
        let counts = [one.compared, one.errors, one.legacy_errors];
        let ended = one.ended.map(second);
        (second(one.from), second(one.to), ended, counts)
    })
    .collect()
}

#[test]
fn a_stretch_is_from_the_first_error_to_the_last_and_over_when_others_follow() {
    let down = [(0, 10, 0, 0), (1, 10, 6, 1), (2, 10, 10, 0), (3, 0, 0, 0)];
    assert_eq!(told(&down), [(1, 2, None, [20, 17, 1])]);
    // At half of its rate, that is no wonder.
    let doubt = [&down[..], &[(4, 20, 0, 0)]].concat();
    assert_eq!(told(&doubt), [(1, 2, None, [20, 17, 1])]);
    let over = [&doubt[..], &[(5, 10, 0, 0), (60, 10, 0, 0)]].concat();
    assert_eq!(told(&over), [(1, 2, Some(5), [20, 17, 1])]);
    let two = [&over[..], &[(61, 10, 9, 0)]].concat();
    assert_eq!(told(&two).len(), 2);
}

#[test]
fn a_route_that_always_fails_is_one_and_a_few_errors_are_none() {
    let route: Vec<_> = (0..400).map(|second| (second, 9, 1, 0)).collect();
    assert_eq!(told(&route), [(0, 399, None, [3_600, 400, 0])]);
    let seldom: Vec<_> = (0..4_000)
        .map(|second| (second, 10, u64::from(second % 10 == 0), 0))
        .collect();
    assert!(told(&seldom).is_empty(), "{:?}", told(&seldom));
    // Behind them, all of a sudden, it begins when it began.
    let then = [&seldom[..], &[(4_001, 9, 9, 0), (4_002, 9, 9, 0)]].concat();
    assert_eq!(told(&then), [(4_001, 4_002, None, [18, 18, 0])]);
    // Both services fail: that is no fault of the candidate's.
    let both: Vec<_> = (0..9).map(|second| (second, 9, 0, 9)).collect();
    assert!(told(&both).is_empty());
}

#[test]
fn another_candidate_does_not_go_on_with_the_errors_of_the_one_before() {
    let mut erring = Erring::default();
    let look = Verdicts {
        compared: 9,
        legacy_errors: 0,
        alone: ErrorsAlone {
            candidate: 9,
            legacy: 0,
            span: Some((at(1), at(1))),
        },
    };
    for (version, second) in [("1", 1), ("2", 2)] {
        erring.look(&look, version, at(second));
    }
    let told = erring.told();
    let told: Vec<_> = told
        .iter()
        .map(|one| (one.candidate_version.as_str(), one.errors, one.ended))
        .collect();
    assert_eq!(told, [("1", 9, Some(at(2))), ("2", 9, None)]);
}

/// Numbers that look random and are the same in every run (`SplitMix64`).
struct Random(u64);

impl Random {
    /// Above 0 and below 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((mixed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// How many of so many requests are errors.
    fn errors(&mut self, requests: u64, share: f64) -> u64 {
        let each = (0..requests).filter(|_| self.share() < share);
        each.count() as u64
    }
}

/// Looks, four each second, of parts: seconds, share of errors.
fn told_of(seed: u64, per_second: u64, parts: &[(i64, f64)]) -> Vec<CandidateErrors> {
    let (mut erring, mut random, mut quarter) = (Erring::default(), Random(seed), 0);
    for (seconds, share) in parts {
        for _ in 0..seconds * 4 {
            let compared = per_second / 4;
            let candidate = random.errors(compared, *share);
            let now = at(0).saturating_add_micros(quarter * 250_000);
            let look = Verdicts {
                compared,
                legacy_errors: 0,
                alone: ErrorsAlone {
                    candidate,
                    legacy: 0,
                    span: (candidate > 0).then_some((now, now)),
                },
            };
            erring.look(&look, "2", now);
            quarter += 1;
        }
    }
    erring.told()
}

#[test]
fn steady_errors_of_less_than_one_in_twenty_are_no_stretch_for_hours() {
    for per_second in [4, 20, 100, 400] {
        for (seed, share) in [(1, 0.01), (2, 0.02)] {
            let told = told_of(seed, per_second, &[(4 * 3_600, share)]);
            assert!(told.is_empty(), "{per_second}/s at {share}: {told:?}");
        }
    }
}

#[test]
fn a_burst_among_steady_errors_is_one_stretch_with_its_begin_and_its_end() {
    for per_second in [20, 100, 400] {
        for share in [1.0, 0.2] {
            for seed in 0..20 {
                let parts = [(300, 0.002), (60, share), (300, 0.002)];
                let told = told_of(seed, per_second, &parts);
                let [one] = &told[..] else {
                    panic!("{per_second}/s at {share}, {seed}: {told:?}");
                };
                let near = |time: Timestamp, second: i64| {
                    (time.as_micros() - at(second).as_micros()).abs() <= 3_000_000
                };
                assert!(near(one.from, 300) && near(one.to, 360), "{one:?}");
                assert!(one.ended.is_some_and(|ended| ended < at(390)), "{one:?}");
                let sent = (per_second * 60) as f64;
                assert!((one.errors as f64 / sent - share).abs() < 0.05, "{one:?}");
            }
        }
    }
}

#[test]
fn five_errors_of_five_are_told_and_four_are_not() {
    let told_of = |errors: i64| {
        let looks: Vec<_> = (0..errors).map(|second| (second * 60, 1, 1, 0)).collect();
        told(&looks).len()
    };
    assert_eq!((told_of(4), told_of(5)), (0, 1));
}

#[test]
fn errors_that_go_on_to_be_few_do_not_keep_a_stretch_open() {
    // At 5,000 requests a second no look is without an error.
    let told = told_of(1, 5_000, &[(10, 0.01), (30, 1.0), (60, 0.01)]);
    let [one] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(one.ended.is_some_and(|ended| ended < at(41)), "{one:?}");
    assert_eq!((one.compared, one.errors), (150_000, 150_000));
    // A stretch that gets rarer, and is still one, goes on.
    let told = told_of(1, 400, &[(30, 0.9), (60, 0.3)]);
    assert!(matches!(&told[..], [one] if one.ended.is_none()));
}

#[test]
fn of_many_stretches_those_with_the_fewest_errors_are_left_out() {
    let mut looks = vec![(0, 900, 900, 0), (1, 99, 0, 0)];
    for stretch in 1..=i64::try_from(2 * MAX_STRETCHES).expect("a few") {
        looks.extend([(stretch * 10, 6, 6, 0), (stretch * 10 + 1, 99, 0, 0)]);
    }
    let told = told(&looks);
    let begun: Vec<i64> = told.iter().map(|(from, ..)| *from).collect();
    assert_eq!(told.len(), MAX_STRETCHES);
    // The first, and the latest of those that are alike.
    assert_eq!(begun[..2], [0, 520]);
    assert!(begun.is_sorted());
}
