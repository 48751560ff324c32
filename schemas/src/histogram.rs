//! Latency histograms that merge by adding counts.
//!
//! Log-linear buckets over microseconds: four per power of two, so a quantile is right to within 19 %, from 16 µs to
//! over an hour. The bounds are fixed for ever, because counts of different instances and versions are added up.
//! We keep our own 40 lines instead of `hdrhistogram`: the hot path needs an array index from a duration and nothing
//! else, and the stored form must be a plain map that SQL can sum.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Buckets per power of two.
const STEPS: u64 = 4;
/// Everything below 16 µs is one bucket: less is below what a network round trip can be.
const FIRST_EXPONENT: u32 = 4;
/// The last bucket begins at 2^32 µs, over an hour; what is longer is in it too.
const LAST_EXPONENT: u32 = 32;

/// How many buckets there are: what an array of counters must hold.
pub const BUCKETS: usize = 2 + (LAST_EXPONENT - FIRST_EXPONENT) as usize * STEPS as usize;

/// The bucket of a duration in microseconds.
pub fn bucket(micros: u64) -> usize {
    let exponent = micros.max(1).ilog2();
    if exponent < FIRST_EXPONENT {
        return 0;
    }
    if exponent >= LAST_EXPONENT {
        return BUCKETS - 1;
    }
    let step = (micros >> (exponent - 2)) & (STEPS - 1);
    1 + (exponent - FIRST_EXPONENT) as usize * STEPS as usize + step as usize
}

/// The first duration in microseconds that is too long for `bucket`; `u64::MAX` for the last.
pub fn upper_bound(bucket: usize) -> u64 {
    match bucket {
        0 => 1 << FIRST_EXPONENT,
        _ if bucket >= BUCKETS - 1 => u64::MAX,
        _ => {
            let (octave, step) = ((bucket - 1) as u64 / STEPS, (bucket - 1) as u64 % STEPS);
            (STEPS + step + 1) << (octave + u64::from(FIRST_EXPONENT) - 2)
        }
    }
}

/// Counts by bucket; buckets without a count are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Histogram(pub BTreeMap<u16, u64>);

impl Histogram {
    /// Adds `count` durations that fell into `bucket`.
    pub fn add(&mut self, bucket: usize, count: u64) {
        if count > 0 {
            *self.0.entry(bucket as u16).or_default() += count;
        }
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.0 {
            *self.0.entry(*bucket).or_default() += count;
        }
    }

    /// An upper bound in microseconds for the quantile `q` in 0..=1; `None` without any count.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let total: u64 = self.0.values().sum();
        let rank = ((total as f64 * q).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        self.0.iter().find_map(|(bucket, count)| {
            seen += count;
            (seen >= rank).then(|| upper_bound(usize::from(*bucket)))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_duration_is_below_its_bucket_and_not_below_the_one_before(micros in 0..1_u64 << 34) {
            let index = bucket(micros);
            prop_assert!(index < BUCKETS);
            prop_assert!(micros < upper_bound(index));
            prop_assert!(index == 0 || micros >= upper_bound(index - 1));
        }
    }

    #[test]
    fn quantiles_come_from_the_counts() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        histogram.add(bucket(100), 99);
        histogram.add(bucket(10_000), 1);
        assert_eq!(histogram.quantile(0.5), Some(112));
        assert_eq!(histogram.quantile(0.99), Some(112));
        assert_eq!(histogram.quantile(1.0), Some(10_240));
    }
}
