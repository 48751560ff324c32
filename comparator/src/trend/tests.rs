//! Series of which it is known whether they grow.

use proptest::prelude::*;

use super::*;

const DEMAND: Demand = Demand {
    confidence: 0.99,
    allowed: 4.0,
    unit: Unit::Number,
};

/// Noise between -0.5 and 0.5 that is the same in each run.
fn noise(at: u64) -> f64 {
    let mixed =
        (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xABCD).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed >> 40) as f64) / f64::from(1_u32 << 24) - 0.5
}

fn series(count: u64, value: impl Fn(f64) -> f64, of_noise: f64) -> Vec<(f64, f64)> {
    let sample = |at: u64| {
        let time = at as f64 / 10.0;
        (time, 100.0 + value(time) + of_noise * noise(at))
    };
    (0..count).map(sample).collect()
}

fn word(samples: &[(f64, f64)]) -> &'static str {
    match trend(samples, DEMAND) {
        Trend::Growing(_) => "growing",
        Trend::BelowLimit(_) => "below",
        Trend::Flat(_) => "flat",
        Trend::Unclear(_) => "unclear",
    }
}

#[test]
fn a_leak_is_found_in_noise_with_its_slope() {
    for of_noise in [0.0, 1.0, 10.0, 50.0] {
        let samples = series(600, |time| 2.0 * time, of_noise);
        let Trend::Growing(slope) = trend(&samples, DEMAND) else {
            panic!("{of_noise}: {:?}", trend(&samples, DEMAND));
        };
        assert!(slope.low <= 2.0 && slope.high >= 2.0, "{slope:?}");
        assert!((slope.value - 2.0).abs() < 0.3, "{slope:?}");
    }
    // The sawtooth of a garbage collector, and what stays behind it.
    let sawtooth = |time: f64| (time % 3.0) * 10.0 + time;
    assert_eq!(word(&series(600, sawtooth, 1.0)), "growing");
    // By stairs, as tables that double.
    let stairs = |time: f64| (time / 4.0).floor() * 8.0;
    assert_eq!(word(&series(600, stairs, 1.0)), "growing");
}

#[test]
fn what_grows_once_or_only_moves_is_no_leak() {
    let flat = |_: f64| 0.0;
    assert_eq!(word(&series(600, flat, 0.0)), "flat");
    assert_eq!(word(&series(600, flat, 3.0)), "flat");
    for at in [10.0, 30.0, 45.0] {
        let once = move |time: f64| if time > at { 80.0 } else { 0.0 };
        assert_eq!(word(&series(600, once, 1.0)), "flat", "{at}");
    }
    let twice = |time: f64| f64::from(u8::from(time > 20.0) + u8::from(time > 40.0)) * 50.0;
    assert_eq!(word(&series(600, twice, 1.0)), "flat");
    let saw = |time: f64| (time % 3.0) * 5.0;
    assert_eq!(word(&series(600, saw, 0.0)), "flat");
    let shrinking = |time: f64| -time;
    assert_eq!(word(&series(600, shrinking, 1.0)), "flat");
    // Less than is allowed, however steady: it grows, and may.
    let slow = series(600, |time| time / 60.0, 0.0);
    let Trend::BelowLimit(slope) = trend(&slow, DEMAND) else {
        panic!("{:?}", trend(&slow, DEMAND));
    };
    assert!((slope.value - 1.0 / 60.0).abs() < 1e-6, "{slope:?}");
}

#[test]
fn too_little_or_too_wild_or_at_the_very_end_decides_nothing() {
    assert_eq!(word(&[]), "unclear");
    assert_eq!(word(&series(35, |time| 100.0 * time, 0.0)), "unclear");
    assert_eq!(word(&series(600, |_| 0.0, 500.0)), "unclear");
    let late = |time: f64| if time > 57.0 { 80.0 } else { 0.0 };
    assert_eq!(word(&series(600, late, 1.0)), "unclear");
}

#[test]
fn noise_alone_looks_like_a_leak_as_seldom_as_the_confidence_says() {
    let found = (0..500_u64).filter(|seed| {
        let samples: Vec<(f64, f64)> = (0..240_u64)
            .map(|at| (at as f64, 1_000.0 * noise(seed * 1_000_003 + at)))
            .collect();
        matches!(trend(&samples, DEMAND), Trend::Growing(_))
    });
    // One in a hundred is allowed, and both tests must agree.
    let found = found.count();
    assert!(found <= 10, "{found} of 500");
}

/// 600 values: 100, and so much more from each of these shares of the time on.
fn steps(of: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let height = |time: f64| {
        let come = of.iter().filter(|(at, _)| time >= at * 60.0);
        come.map(|(_, by)| by).sum()
    };
    series(600, height, 0.0)
}

#[test]
fn what_grew_by_more_steps_than_are_taken_out_is_not_flat_and_says_by_how_much() {
    let four = steps(&[(0.46, 300.0), (0.73, 300.0), (0.82, 200.0), (0.875, 200.0)]);
    let Trend::Unclear(why) = trend(&four, DEMAND) else {
        panic!("{:?}", trend(&four, DEMAND));
    };
    assert!(why.contains("gained 400 "), "{why}");
    assert!(why.contains("besides 600 at once"), "{why}");
    let three = steps(&[(0.17, 57.0), (0.5, 57.0), (0.83, 56.0)]);
    assert_eq!(word(&three), "unclear");
    // As many as are taken out.
    assert_eq!(word(&steps(&[(0.46, 300.0), (0.73, 300.0)])), "flat");
}

#[test]
fn what_begins_to_grow_late_is_not_flat() {
    for begins in [0.5, 0.6, 0.7, 0.8, 0.9, 0.95] {
        for of_noise in [0.0, 2.0] {
            let ramp = |time: f64| 340.0 * ((time / 60.0 - begins) / (1.0 - begins)).max(0.0);
            let found = word(&series(600, ramp, of_noise));
            assert!(
                ["unclear", "growing"].contains(&found),
                "{begins} {of_noise}: {found}"
            );
        }
    }
}

#[test]
fn a_warm_up_that_ends_and_peaks_that_fall_again_are_flat() {
    let warm_up = |time: f64| 300.0 * (time / 6.0).min(1.0);
    assert_eq!(word(&series(600, warm_up, 1.0)), "flat");
    let exponential = |time: f64| 300.0 * (1.0 - (-time).exp());
    let found = word(&series(600, exponential, 1.0));
    assert!(["flat", "below"].contains(&found), "{found}");
    // The end is on the peak of a saw, as high as all before it.
    for period in [1.5, 2.0, 2.5, 3.5, 4.0] {
        let saw = |time: f64| ((60.0 - time) / period).ceil() * period + time - 60.0;
        assert_eq!(word(&series(600, saw, 0.0)), "flat", "{period}");
    }
}

proptest! {
    /// Whatever the values are: what is not told to grow is not higher at its end than is allowed, besides what came at once.
    #[test]
    fn nothing_that_ends_higher_is_flat(
        values in prop::collection::vec(0.0..20.0_f64, 36..200),
        rises in prop::collection::vec((0.0..1.0_f64, 0.0..60.0_f64), 0..6),
    ) {
        let all = values.len() as f64;
        let samples: Vec<(f64, f64)> = values.iter().enumerate().map(|(at, value)| {
            let come = rises.iter().filter(|(from, _)| at as f64 >= from * all);
            (at as f64, value / 10.0 + come.map(|(_, by)| by).sum::<f64>())
        }).collect();
        if let Trend::Flat(slope) | Trend::BelowLimit(slope) = trend(&samples, DEMAND) {
            let of: Vec<f64> = blocks(&samples).iter().map(|block| block.1).collect();
            let end = median(of[of.len() - (of.len() / END).max(NEWEST)..].to_vec());
            let beginning = median(of[..of.len().div_ceil(BEGINNING)].to_vec());
            prop_assert!(end - beginning <= DEMAND.allowed + slope.jumps + 1e-9, "{slope:?}");
        }
    }

    /// What only rises, by steps: of these, no more are taken out than may be.
    #[test]
    fn no_more_steps_are_taken_out_than_may_be(
        sizes in prop::collection::vec(prop_oneof![Just(0.0), 0.0..8.0_f64, 0.0..300.0_f64], 11),
    ) {
        let places = sizes.iter().enumerate();
        let samples = steps(&places.map(|(at, by)| (0.16 + 0.08 * at as f64, *by)).collect::<Vec<_>>());
        let mut sorted = sizes;
        sorted.sort_by(|one, other| other.total_cmp(one));
        let others: f64 = sorted[JUMPS..].iter().sum();
        if others > DEMAND.allowed + 1e-9 {
            let found = word(&samples);
            prop_assert!(found == "unclear" || found == "growing", "{found}: {sorted:?}");
        }
    }
}
