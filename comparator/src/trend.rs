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
//! - More than half of all slopes are 0 where something grows by a few steps, or begins to grow late: then the median says that nothing
//!   grows, whatever it gained. So what is at its end higher than at its beginning, besides these jumps, by more than is allowed, is not
//!   flat.
//!
//! Too few blocks, or an interval that reaches from nothing to too much, decide nothing.

use parity_schemas::metrics::Unit;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::metrics::shown;

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
/// One in so many blocks is the beginning. Its median is a value of the first eighth: a warm-up that ends within it is no growth.
const BEGINNING: usize = 4;
/// One in so many blocks is the end, whose median is no single peak.
const END: usize = 8;
/// The newest blocks, which show what began to grow within the end.
const NEWEST: usize = 3;

/// What counts as growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// How sure the test is, and how wide the interval.
    pub confidence: f64,
    /// Growth over the whole time that is none.
    pub allowed: f64,
    /// What the values are, for people.
    pub unit: Unit,
}

/// What is said of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Trend {
    /// It grows, by this in a second.
    Growing(Slope),
    /// It grows, as surely, but by no more than is allowed.
    BelowLimit(Slope),
    /// It does not grow: its end is above its beginning by no more than is allowed, besides the jumps that were taken out.
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
            "it moves so much that its growth may be anything up to {} a second; a longer run tells",
            rate(rest.high, demand.unit)
        ));
    }
    let gained = gained(&smooth);
    if gained > demand.allowed {
        let at_once = if jumps > 0.0 {
            format!(", besides {} at once", shown(jumps, demand.unit))
        } else {
            String::new()
        };
        return Trend::Unclear(format!(
            "it gained {} from its beginning to its end{at_once}, and whether that goes on is not known; a longer run tells",
            shown(gained, demand.unit)
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

/// By how much a series is higher at its end than at its beginning.
fn gained(blocks: &[(f64, f64)]) -> f64 {
    let values: Vec<f64> = blocks.iter().map(|block| block.1).collect();
    let count = values.len();
    let of_last = |last: usize| median(values[count - last.min(count)..].to_vec());
    let beginning = median(values[..count.div_ceil(BEGINNING)].to_vec());
    // Few blocks are as high as the peak that they happen to be on, so what falls by as much at other times says nothing of them.
    let mut most = f64::NEG_INFINITY;
    let fall = values.iter().fold(0.0, |fall: f64, value| {
        most = most.max(*value);
        fall.max(most - value)
    });
    let end = of_last((count / END).max(NEWEST));
    end.max(of_last(NEWEST) - fall) - beginning
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

/// How much a second, as people read it: a number of files that leak is far below one.
fn rate(value: f64, unit: Unit) -> String {
    if unit == Unit::Number && value < 1.0 {
        return format!("{value:.1e}");
    }
    shown(value, unit)
}

#[cfg(test)]
mod tests;
