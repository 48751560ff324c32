//! Whether something grows: memory, open files or threads of a service under a steady load.
//!
//! - The time is cut into blocks, and of each the median counts: one peak of a garbage collector is no trend, and neighbouring samples,
//!   which say almost the same, do not count as many.
//! - The trend is tested by Mann (1945) and Kendall (1975), one-sided, with the correction for ties. The slope is the median of all
//!   slopes between two blocks, by Theil (1950) and Sen (1968); its interval is that of Sen, in the normal approximation of Gilbert
//!   (Statistical Methods for Environmental Pollution Monitoring, 1987, 16.4 and 16.5).
//! - What grew once, when a cache filled or a pool was made, is no leak. So the largest jumps between two neighbouring blocks are taken
//!   out, and only what still grows without them is growing.
//!
//! Too few blocks, or an interval that reaches from nothing to too much, decide nothing.

use statrs::distribution::{ContinuousCDF, Normal};

/// Blocks into which the time is cut: all slopes between them are a few thousand.
const BLOCKS: usize = 60;
/// Samples of a block, so that its median is one.
const LEAST_OF_BLOCK: usize = 3;
/// With fewer blocks, the normal approximation of the test says little (Gilbert: 10).
const LEAST_BLOCKS: usize = 12;
/// Jumps that are taken out: a cache that fills, and a table that doubles.
const JUMPS: usize = 2;
/// By so much more than the usual step between two blocks is a jump; noise alone makes none as large.
const UNUSUAL: f64 = 6.0;

/// What counts as growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// How sure the test is, and how wide the interval.
    pub confidence: f64,
    /// Growth over the whole time that is none.
    pub allowed: f64,
}

/// What is said of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Trend {
    /// It grows, by this in a second.
    Growing(Slope),
    /// It grows, as surely, but by no more than is allowed.
    BelowLimit(Slope),
    /// It does not grow.
    Flat(Slope),
    /// It cannot be told, and why.
    Unclear(String),
}

/// A slope with its interval, and what it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// In a second.
    pub value: f64,
    /// It is not below this.
    pub low: f64,
    /// It is not above this.
    pub high: f64,
    /// Chance that what does not grow looks as if it did.
    pub p: f64,
    /// What was taken out because it came at once.
    pub jumps: f64,
    /// Medians of the first and the last block.
    pub ends: [f64; 2],
    /// Blocks that it rests on.
    pub blocks: usize,
}

/// Judges samples of (seconds, value), in the order of time.
pub fn trend(samples: &[(f64, f64)], demand: Demand) -> Trend {
    let blocks = blocks(samples);
    if blocks.len() < LEAST_BLOCKS {
        return Trend::Unclear(format!(
            "{} samples are too few: {} are needed",
            samples.len(),
            LEAST_BLOCKS * LEAST_OF_BLOCK
        ));
    }
    let whole = slope(&blocks, demand.confidence);
    let (smooth, jumps, is_late) = without_jumps(&blocks, demand.allowed);
    let rest = Slope {
        jumps,
        ends: whole.ends,
        ..slope(&smooth, demand.confidence)
    };
    let seconds = blocks.last().map_or(0.0, |last| last.0) - blocks[0].0;
    let is_significant = |slope: &Slope| slope.p < 1.0 - demand.confidence && slope.low > 0.0;
    let grew = |per_second: f64| per_second * seconds;
    if is_significant(&whole) && is_significant(&rest) && grew(whole.value) > demand.allowed {
        return Trend::Growing(Slope { jumps, ..whole });
    }
    if grew(rest.high) > demand.allowed {
        return Trend::Unclear(format!(
            "it moves so much that its growth may be anything up to {:.3e} a second",
            rest.high
        ));
    }
    if is_late {
        return Trend::Unclear(
            "it grew at the very end, and whether it stays there is not known".to_owned(),
        );
    }
    if is_significant(&whole) && is_significant(&rest) {
        return Trend::BelowLimit(Slope { jumps, ..whole });
    }
    Trend::Flat(rest)
}

/// The median time and value of each block.
pub fn blocks(samples: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let of_block = (samples.len() / BLOCKS).max(LEAST_OF_BLOCK);
    let whole = samples.chunks_exact(of_block);
    let block = |samples: &[(f64, f64)]| {
        let at = |of: fn(&(f64, f64)) -> f64| median(samples.iter().map(of).collect());
        (at(|sample| sample.0), at(|sample| sample.1))
    };
    whole.map(block).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The test and the slope with its interval.
fn slope(blocks: &[(f64, f64)], confidence: f64) -> Slope {
    let count = blocks.len();
    let mut slopes = Vec::with_capacity(count * (count - 1) / 2);
    let mut sum = 0_i64;
    for (at, (before, low)) in blocks.iter().enumerate() {
        for (after, high) in &blocks[at + 1..] {
            sum += i64::from(high > low) - i64::from(high < low);
            if after > before {
                slopes.push((high - low) / (after - before));
            }
        }
    }
    slopes.sort_by(f64::total_cmp);
    let variance = variance(blocks);
    let normal = Normal::standard();
    // One step towards 0, because the sum goes by steps.
    let z = match sum {
        0 => 0.0,
        sum if variance > 0.0 => (sum - sum.signum()) as f64 / variance.sqrt(),
        _ => 0.0,
    };
    let width = normal.inverse_cdf(0.5 + confidence / 2.0) * variance.sqrt();
    let all = slopes.len() as f64;
    let rank = |rank: f64| {
        let last = slopes.len().saturating_sub(1);
        let rank = (rank.max(0.0) as usize).min(last);
        slopes.get(rank).copied().unwrap_or(0.0)
    };
    Slope {
        low: rank((all - width) / 2.0 - 1.0),
        high: rank(f64::midpoint(all, width).ceil()),
        value: median(slopes.clone()),
        p: normal.sf(z),
        jumps: 0.0,
        ends: [blocks[0].1, blocks[count - 1].1],
        blocks: count,
    }
}

/// The variance of the sum of signs, corrected for values that are equal.
fn variance(blocks: &[(f64, f64)]) -> f64 {
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let mut values: Vec<f64> = blocks.iter().map(|block| block.1).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values
        .chunk_by(|one, other| one.to_bits() == other.to_bits())
        .map(|equal| term(equal.len() as f64))
        .sum();
    (term(values.len() as f64) - ties) / 18.0
}

/// The blocks without their largest jumps up, how much these are, and whether one of more than `allowed` came at the very end.
fn without_jumps(blocks: &[(f64, f64)], allowed: f64) -> (Vec<(f64, f64)>, f64, bool) {
    let steps: Vec<f64> = blocks
        .windows(2)
        .map(|pair| pair[1].1 - pair[0].1)
        .collect();
    let usual = median(steps.iter().map(|step| step.abs()).collect());
    let mut jumps: Vec<usize> = (0..steps.len())
        .filter(|at| steps[*at] > 0.0 && steps[*at] > UNUSUAL * usual)
        .collect();
    jumps.sort_by(|one, other| steps[*other].total_cmp(&steps[*one]));
    let mut taken = vec![0.0; steps.len()];
    let mut found = 0;
    for at in jumps {
        if taken[at] > 0.0 {
            continue;
        }
        if found == JUMPS {
            break;
        }
        found += 1;
        // One in the middle of a block is seen on both of its sides.
        let near = at.saturating_sub(1)..(at + 2).min(steps.len());
        for (taken, step) in taken[near.clone()].iter_mut().zip(&steps[near]) {
            *taken = step.max(0.0);
        }
    }
    let end = steps.len() - steps.len() / 8;
    let is_late = taken[end..].iter().sum::<f64>() > allowed;
    let mut sum = 0.0;
    let mut smooth = vec![blocks[0]];
    for ((time, value), jump) in blocks[1..].iter().zip(&taken) {
        sum += jump;
        smooth.push((*time, value - sum));
    }
    (smooth, sum, is_late)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand {
        confidence: 0.99,
        allowed: 4.0,
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
}
