//! The bounds against closed forms, published values, and integrals and sums that are done step by step.

use proptest::prelude::*;

use super::*;

const KINDS: [Bound; 2] = [Bound::AnyTime, Bound::OneLook];

#[track_caller]
fn near(one: f64, two: f64, relative: f64) {
    assert!(
        (one - two).abs() <= relative * two.abs().max(1e-300),
        "{one} {two}"
    );
}

/// The mixture, added up: over the angle whose sine is the root of the rate, the prior is flat.
fn integrated(differing: u64, compared: u64, rate: f64) -> f64 {
    const STEPS: u32 = 40_000;
    let (s, f) = (differing as f64, (compared - differing) as f64);
    let end = rate.sqrt().asin();
    let ratio = |angle: f64| {
        let some = |count: f64, ratio: f64| {
            if count > 0.0 { count * ratio.ln() } else { 0.0 }
        };
        some(s, angle.sin().powi(2) / rate) + some(f, angle.cos().powi(2) / (1.0 - rate))
    };
    // Nothing counts that is sixty deviations away from where the integrand is highest.
    let peak = (s / compared as f64).sqrt().asin().min(end);
    let deviation = 0.5 / (compared as f64).sqrt();
    let begin = (peak - 60.0 * deviation).max(0.0);
    let stop = (peak + 60.0 * deviation).min(end);
    let (width, highest) = ((stop - begin) / f64::from(STEPS), ratio(peak.max(1e-300)));
    // Simpson's rule.
    let sum: f64 = (0..=STEPS)
        .map(|step| {
            let weight = match step {
                0 | STEPS => 1.0,
                _ if step % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * (ratio(begin + f64::from(step) * width) - highest).exp()
        })
        .sum();
    (sum * width / 3.0 / end).ln() + highest
}

#[test]
fn the_mixture_is_what_its_integral_is() {
    for (differing, compared, rate) in [
        (0, 1, 0.001),
        (1, 1, 0.001),
        (0, 3_787, 0.001),
        (5, 14_401, 0.001),
        (5, 5, 0.5),
        (400, 1_000, 0.3),
        (30, 1_000, 0.5),
        (970, 1_000, 0.5),
        (1_000, 1_000_000, 0.001_15),
        (1_100, 1_000_000, 0.001),
        (499_000, 1_000_000, 0.5),
        (501_000, 1_000_000, 0.5),
        (1_000_000, 1_000_000_000, 0.001_005),
    ] {
        let found = evidence(
            Bound::AnyTime,
            Seen::new(differing, compared),
            Rate::of(rate),
        );
        let wanted = integrated(differing, compared, rate);
        assert!(
            (found - wanted).abs() < 1e-6,
            "{differing} of {compared} at {rate}: {found} {wanted}"
        );
    }
}

#[test]
fn the_mixture_is_right_for_a_million_million_requests() {
    // By mpmath with sixty digits.
    for (differing, compared, rate, wanted) in [
        (3, 1_000_000_000_000, 1e-11, 2.443_193_344_738_404),
        (100_000, 1_000_000_000_000, 1.02e-7, 14.196_699_254_706_89),
        (
            1_000_000_000,
            1_000_000_000_000,
            0.001_000_2,
            9.881_245_438_795_73,
        ),
        (
            500_000_000_000,
            1_000_000_000_000,
            0.500_003,
            4.651_841_449_576_77,
        ),
        (
            500_000_000_000,
            1_000_000_000_000,
            0.499_997,
            -16.084_919_860_315_9,
        ),
    ] {
        let seen = Seen::new(differing, compared);
        near(evidence(Bound::AnyTime, seen, Rate::of(rate)), wanted, 1e-6);
    }
    let seen = Seen::new(1_000_000_000, 1_000_000_000_000);
    for bound in KINDS {
        let (low, high) = (lower(bound, seen, 0.05), upper(bound, seen, 0.05));
        assert!(0.000_999 < low && low < 0.001 && 0.001 < high && high < 0.001_001);
    }
}

#[test]
fn the_published_numbers_of_requests_are_enough_and_one_less_is_not() {
    for (allowed, alpha, counts) in [
        (
            0.001,
            0.05,
            [
                (3_787, 2_995),
                (6_655, 4_742),
                (8_859, 6_294),
                (14_401, 10_511),
            ],
        ),
        (
            0.001,
            0.01,
            [
                (5_585, 4_603),
                (8_654, 6_636),
                (11_007, 8_403),
                (16_881, 13_105),
            ],
        ),
        (
            0.01,
            0.05,
            [(377, 299), (663, 473), (883, 628), (1_436, 1_049)],
        ),
    ] {
        for (differing, (any_time, one_look)) in [0, 1, 2, 5].into_iter().zip(counts) {
            for (bound, compared) in [(Bound::AnyTime, any_time), (Bound::OneLook, one_look)] {
                let within =
                    |compared| is_within(bound, Seen::new(differing, compared), allowed, alpha);
                assert!(within(compared), "{bound} {differing} {compared}");
                assert!(!within(compared - 1), "{bound} {differing} {compared}");
                let seen = Seen::new(differing, differing);
                let more = compared - differing;
                assert_eq!(needed(bound, seen, allowed, alpha), Some(more));
            }
        }
    }
}

#[test]
fn closed_forms_of_one_look() {
    for n in [1_u64, 2, 10, 1_000, 1_000_000, 1_000_000_000] {
        for alpha in [0.5, 0.05, 0.000_001] {
            let upper = |seen| upper(Bound::OneLook, seen, alpha);
            let lower = |seen| lower(Bound::OneLook, seen, alpha);
            // (1 - p)^n = α.
            near(
                upper(Seen::new(0, n)),
                -(alpha.ln() / n as f64).exp_m1(),
                1e-9,
            );
            near(lower(Seen::new(n, n)), (alpha.ln() / n as f64).exp(), 1e-9);
            // 1 - (1 - p)^n = α.
            let one = -((-alpha).ln_1p() / n as f64).exp_m1();
            near(lower(Seen::new(1, n)), one, 1e-9);
        }
    }
}

#[test]
fn one_look_holds_the_tail_that_it_promises() {
    // By adding up the distribution itself.
    let tail = |k: u64, n: u64, p: f64| {
        let mut term = (n as f64 * (1.0 - p).ln()).exp();
        let mut sum = term;
        for i in 0..k {
            term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
            sum += term;
        }
        sum
    };
    for (k, n) in [(0, 7), (1, 100), (5, 300), (8, 998), (17, 1_000)] {
        let seen = Seen::new(k, n);
        near(tail(k, n, upper(Bound::OneLook, seen, 0.05)), 0.05, 1e-8);
        if k > 0 {
            let low = lower(Bound::OneLook, seen, 0.05);
            near(1.0 - tail(k - 1, n, low), 0.05, 1e-8);
        }
    }
}

#[test]
fn large_counts_of_one_look_are_where_the_normal_distribution_has_them() {
    for (k, n) in [
        (100_000_u64, 10_000_000_u64),
        (5_000_000, 10_000_000),
        (1_000_000, 1_000_000_000),
        (1_000_000_000, 1_000_000_000_000),
    ] {
        let rate = k as f64 / n as f64;
        let deviation = (rate * (1.0 - rate) / n as f64).sqrt();
        let seen = Seen::new(k, n);
        let high = upper(Bound::OneLook, seen, 0.05) - rate;
        let low = rate - lower(Bound::OneLook, seen, 0.05);
        near(high, 1.644_85 * deviation, 0.01);
        near(low, 1.644_85 * deviation, 0.01);
    }
}

#[test]
fn both_ways_to_find_a_tail_agree() {
    for (x, y) in [
        (500.5, 501.0),
        (500.5, 1e6),
        (500.5, 1e12),
        (1e6, 501.0),
        (5_000.5, 70_000.5),
    ] {
        let n: f64 = x + y;
        let deviation = (x / n * (y / n) / n).sqrt();
        for deviations in [0.0, 0.1, 1.0, 5.0, 20.0] {
            let p = x / n - deviations * deviation;
            let q = y / n + deviations * deviation;
            let (one, two) = (beta::fraction(x, y, p, q), beta::integrated(x, y, p, q));
            near(one, two, 1e-9);
        }
    }
}

#[test]
fn the_edges() {
    for bound in KINDS {
        let none = Seen::new(0, 0);
        assert_eq!(
            (lower(bound, none, 0.05), upper(bound, none, 0.05)),
            (0.0, 1.0)
        );
        assert!(!is_within(bound, none, 0.5, 0.05) && !is_beyond(bound, none, 0.5, 0.05));
        let all = Seen::new(5, 5);
        near(upper(bound, all, 0.05), 1.0, f64::EPSILON);
        assert!(is_within(bound, all, 1.0, 0.05) && !is_beyond(bound, all, 1.0, 0.05));
        // One difference excludes that there are none; nothing proves that there are none.
        assert!(is_beyond(bound, Seen::new(1, 1_000), 0.0, 0.05));
        assert!(!is_within(bound, Seen::new(0, u64::MAX >> 1), 0.0, 0.05));
        assert_eq!(needed(bound, Seen::new(0, 5), 0.0, 0.05), None);
        assert_eq!(needed(bound, Seen::new(3, 5), 1.0, 0.05), Some(0));
        // Who must be surer than sure proves nothing.
        let one = Seen::new(1, 5);
        assert_eq!((lower(bound, one, 0.0), upper(bound, one, 0.0)), (0.0, 1.0));
        assert_eq!(needed(bound, one, 0.5, 0.0), None);
        assert!(!is_within(bound, one, 0.5, 0.0) && !is_beyond(bound, one, 0.001, 0.0));
    }
}

fn counts() -> impl Strategy<Value = Seen> {
    (0_u32..40, any::<u64>(), any::<f64>()).prop_map(|(bits, compared, share)| {
        let compared = compared % (1 << bits) + 1;
        // Few, most, or anything between.
        let share = share.abs() % 1.0;
        let share = if share.is_finite() {
            share.powi(4)
        } else {
            0.0
        };
        let differing = (compared as f64 * share) as u64;
        Seen::new(differing.min(compared), compared)
    })
}

proptest! {
    #[test]
    fn a_bound_is_the_rate_that_is_just_not_excluded(seen in counts(), alpha in 1e-9..0.5_f64) {
        let rate = seen.differing as f64 / seen.compared as f64;
        for bound in KINDS {
            let (low, high) = (lower(bound, seen, alpha), upper(bound, seen, alpha));
            prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
            prop_assert!(low <= rate * (1.0 + 1e-9) && rate <= high * (1.0 + 1e-9), "{low} {rate} {high}");
            // A little further out it is excluded, a little further in it is not.
            let width = (high - rate) * 1e-3;
            if high < 1.0 && width > high * 1e-12 {
                prop_assert!(is_within(bound, seen, high + width, alpha));
                prop_assert!(!is_within(bound, seen, high - width, alpha));
            }
            let width = (rate - low) * 1e-3;
            if low > 0.0 && width > low * 1e-12 {
                prop_assert!(is_beyond(bound, seen, low - width.min(low / 2.0), alpha));
                prop_assert!(!is_beyond(bound, seen, low + width, alpha));
            }
        }
        // What may be looked at any time is never narrower.
        prop_assert!(upper(Bound::AnyTime, seen, alpha) >= upper(Bound::OneLook, seen, alpha) * (1.0 - 1e-9));
        prop_assert!(lower(Bound::AnyTime, seen, alpha) <= lower(Bound::OneLook, seen, alpha) * (1.0 + 1e-9));
    }

    #[test]
    fn what_is_needed_is_enough_and_one_less_is_not(seen in counts(), allowed in 1e-6..0.9_f64, alpha in 1e-6..0.5_f64) {
        for bound in KINDS {
            let Some(more) = needed(bound, seen, allowed, alpha) else {
                continue;
            };
            let within = |more| {
                is_within(bound, Seen::new(seen.differing, seen.compared + more), allowed, alpha)
            };
            prop_assert!(within(more));
            prop_assert!(more == 0 || !within(more - 1));
        }
    }
}
