//! Latency histograms that merge by adding counts.
//!
//! Log-linear buckets over microseconds: 32 per power of two, so a quantile is right to within 3 %, and exact below 32
//! µs. Everything longer than an hour is in the last one. The numbers of the buckets never change, because counts of
//! different instances and versions are added up. Older programs wrote four buckets per power of two under lower
//! numbers; those are still read, and sorted among the finer ones by their range.
//!
//! We keep this instead of `hdrhistogram`: the hot path needs an array index from a duration and nothing else, and the
//! stored form must be a plain map that SQL can sum.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Buckets per power of two (octave).
pub const STEPS: usize = 32;
/// The exponent of [`STEPS`]: all durations below 2⁵ µs are octave 0, one bucket for each microsecond.
const STEP_BITS: u32 = STEPS.ilog2();
/// 2³² µs, over an hour, is the first duration beyond all octaves.
const END_EXPONENT: u32 = 32;
/// How many octaves there are.
pub const OCTAVES: usize = (END_EXPONENT - STEP_BITS) as usize + 1;
/// The number of the first bucket. Lower ones are those of older programs.
const FIRST: u16 = 1_024;

/// The number of the last bucket.
const LAST: u16 = FIRST + (OCTAVES * STEPS - 1) as u16;

/// Buckets per power of two of older programs.
const COARSE_STEPS: u64 = 4;
/// Everything below 16 µs was one bucket of theirs.
const COARSE_EXPONENT: u32 = 4;
/// Their last bucket began at 2³² µs.
const COARSE_LAST: u16 = 1 + (END_EXPONENT - COARSE_EXPONENT) as u16 * COARSE_STEPS as u16;

/// Octave and step of a duration in microseconds; the last ones if it is too long.
pub fn place(micros: u64) -> (usize, usize) {
    let micros = micros.min((1 << END_EXPONENT) - 1);
    // Short durations have no low bits to drop.
    let exponent = micros.max(1).ilog2().max(STEP_BITS - 1);
    let octave = exponent + 1 - STEP_BITS;
    let step = (micros >> octave.saturating_sub(1)) as usize & (STEPS - 1);
    (octave as usize, step)
}

/// The number under which counts of a place are stored.
pub fn bucket_at(octave: usize, step: usize) -> u16 {
    FIRST + (octave * STEPS + step) as u16
}

/// The bucket of a duration in microseconds.
pub fn bucket(micros: u64) -> u16 {
    let (octave, step) = place(micros);
    bucket_at(octave, step)
}

/// The exclusive upper bound of `bucket` in microseconds; `u64::MAX` for the last.
pub fn upper_bound(bucket: u16) -> u64 {
    let Some(index) = bucket.checked_sub(FIRST) else {
        return coarse_upper_bound(bucket);
    };
    let (octave, step) = (usize::from(index) / STEPS, usize::from(index) % STEPS);
    match octave {
        0 => step as u64 + 1,
        _ if octave >= OCTAVES || (octave, step) == (OCTAVES - 1, STEPS - 1) => u64::MAX,
        _ => ((STEPS + step + 1) as u64) << (octave - 1),
    }
}

/// The inclusive lower bound of `bucket` in microseconds.
pub fn lower_bound(bucket: u16) -> u64 {
    match bucket {
        0 | FIRST => 0,
        // A number beyond the last one reads as the last one.
        1..FIRST => coarse_upper_bound(bucket.min(COARSE_LAST) - 1),
        _ => upper_bound(bucket.min(LAST) - 1),
    }
}

fn coarse_upper_bound(bucket: u16) -> u64 {
    match bucket {
        0 => 1 << COARSE_EXPONENT,
        _ if bucket >= COARSE_LAST => u64::MAX,
        _ => {
            let index = u64::from(bucket - 1);
            let (octave, step) = (index / COARSE_STEPS, index % COARSE_STEPS);
            (COARSE_STEPS + step + 1) << (octave + u64::from(COARSE_EXPONENT) - 2)
        }
    }
}

/// Counts by bucket; buckets without a count are absent.
///
/// They are a sorted list: a report adds up millions of them, each with the same few dozen buckets, and a list is read from
/// text and added to another in a tenth of the time of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(Vec<(u16, u64)>);

impl Histogram {
    /// Adds `count` durations that fell into `bucket`.
    pub fn add(&mut self, bucket: u16, count: u64) {
        if count == 0 {
            return;
        }
        match self.0.binary_search_by_key(&bucket, |(known, _)| *known) {
            Ok(at) => self.0[at].1 += count,
            Err(at) => self.0.insert(at, (bucket, count)),
        }
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        let mut further = Vec::new();
        let mut at = 0;
        for (bucket, count) in &other.0 {
            let lower = self.0[at..].iter().take_while(|(own, _)| own < bucket);
            at += lower.count();
            match self.0.get_mut(at) {
                Some((own, sum)) if own == bucket => *sum += count,
                _ => further.push((*bucket, *count)),
            }
        }
        if !further.is_empty() {
            self.0.append(&mut further);
            self.0.sort_by_key(|(bucket, _)| *bucket);
        }
    }

    /// The buckets that have a count, in the order of their numbers, with it.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u16, u64)> + '_ {
        self.0.iter().copied()
    }

    /// The counts of all buckets.
    pub fn counts(&self) -> impl Iterator<Item = &u64> {
        self.0.iter().map(|(_, count)| count)
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of buckets in any order; `None` if the counts of one, which may be there several times, are too many.
    fn of(mut counts: Vec<(u16, u64)>) -> Option<Self> {
        counts.retain(|(_, count)| *count > 0);
        if !counts.is_sorted_by(|(one, _), (next, _)| one < next) {
            counts.sort_by_key(|(bucket, _)| *bucket);
            let mut overflows = false;
            counts.dedup_by(|(bucket, count), (before, sum)| {
                let is_same = bucket == before;
                if is_same {
                    let added = sum.checked_add(*count);
                    overflows |= added.is_none();
                    *sum = added.unwrap_or(u64::MAX);
                }
                is_same
            });
            if overflows {
                return None;
            }
        }
        Some(Self(counts))
    }

    /// What was counted since `before`, which is what this was earlier.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |bucket: u16| {
            let at = before.0.binary_search_by_key(&bucket, |(known, _)| *known);
            at.map_or(0, |at| before.0[at].1)
        };
        let left = self
            .iter()
            .map(|(bucket, count)| (bucket, count.saturating_sub(earlier(bucket))));
        Self(left.filter(|(_, count)| *count > 0).collect())
    }

    /// An upper bound in microseconds for the quantile `q` in 0..=1; `None` without any count.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.quantile_bucket(q).map(upper_bound)
    }

    /// The bucket that the quantile `q` in 0..=1 is in, so between which bounds it is; `None` without any count.
    pub fn quantile_bucket(&self, q: f64) -> Option<u16> {
        let mut bounds: Vec<(u64, u16, u64)> = self
            .0
            .iter()
            .map(|(bucket, count)| (upper_bound(*bucket), *bucket, *count))
            .collect();
        // Only the buckets of older programs are out of order.
        bounds.sort_unstable();
        let total: u64 = self.counts().sum();
        let rank = ((total as f64 * q).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        bounds.into_iter().find_map(|(_, bucket, count)| {
            seen += count;
            (seen >= rank).then_some(bucket)
        })
    }

    /// A compact text: runs of buckets, each `FIRST:COUNT,COUNT,…`, joined by `;`. A tenth of the size of the map as
    /// JSON, for stores without compression.
    pub fn to_runs(&self) -> String {
        let mut runs = String::new();
        let mut next = None;
        for (bucket, count) in &self.0 {
            let gap = next.map(|next| bucket.saturating_sub(next));
            // Writing to a String cannot fail.
            let _infallible = match gap {
                Some(gap) if gap <= MAX_GAP => {
                    (0..gap).for_each(|_| runs.push_str(",0"));
                    write!(runs, ",{count}")
                }
                Some(_) => write!(runs, ";{bucket}:{count}"),
                None => write!(runs, "{bucket}:{count}"),
            };
            next = bucket.checked_add(1);
        }
        runs
    }

    /// What [`Self::to_runs`] wrote, or the JSON map of an older program; `None` if it is neither.
    pub fn from_text(text: &str) -> Option<Self> {
        if text.starts_with('{') {
            return serde_json::from_str(text).ok();
        }
        let mut counts = Vec::with_capacity(text.len() / 2);
        for run in text.split(';').filter(|run| !run.is_empty()) {
            let (first, run) = run.split_once(':')?;
            let mut bucket: u16 = first.parse().ok()?;
            for (place, count) in run.as_bytes().split(|byte| *byte == b',').enumerate() {
                if place > 0 {
                    bucket = bucket.checked_add(1)?;
                }
                counts.push((bucket, number(count)?));
            }
        }
        Self::of(counts)
    }
}

/// Of digits and nothing else. Nearly all are one digit, for which the parser of the standard library is slow.
fn number(digits: &[u8]) -> Option<u64> {
    let (first, rest) = digits.split_first()?;
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    rest.iter().try_fold(digit(first)?, |number, byte| {
        number.checked_mul(10)?.checked_add(digit(byte)?)
    })
}

impl<const N: usize> From<[(u16, u64); N]> for Histogram {
    fn from(counts: [(u16, u64); N]) -> Self {
        counts.into_iter().collect()
    }
}

impl FromIterator<(u16, u64)> for Histogram {
    fn from_iter<T: IntoIterator<Item = (u16, u64)>>(counts: T) -> Self {
        let mut histogram = Self::default();
        for (bucket, count) in counts {
            histogram.add(bucket, count);
        }
        histogram
    }
}

/// As a map.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let counts = BTreeMap::<u16, u64>::deserialize(deserializer)?;
        Ok(counts.into_iter().collect())
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = BTreeMap::<u16, u64>::json_schema(generator);
        schema.insert(
            "description".to_owned(),
            "Counts by bucket; buckets without a count are absent.".into(),
        );
        schema
    }
}

/// Most empty buckets that are written as 0 within a run; for more, a new run is shorter.
const MAX_GAP: u16 = 2;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_duration_is_below_its_bucket_and_at_most_a_thirty_second_below(micros in 0..1_u64 << 34) {
            let bucket = bucket(micros);
            let bound = upper_bound(bucket);
            prop_assert!(micros < bound);
            prop_assert!(bucket == FIRST || micros >= upper_bound(bucket - 1));
            prop_assert!(lower_bound(bucket) <= micros);
            if bound < u64::MAX {
                prop_assert!((bound - 1) as f64 <= micros as f64 * (1.0 + 1.0 / 32.0));
            }
        }

        #[test]
        fn sums_are_those_of_each_bucket_in_any_order(
            one in proptest::collection::vec((0..40_u16, 0..9_u64), 0..40),
            other in proptest::collection::vec((0..60_u16, 0..9_u64), 0..40),
        ) {
            let of = |counts: &[(u16, u64)]| counts.iter().copied().collect::<Histogram>();
            let mut sum = of(&one);
            sum.merge(&of(&other));
            let all = [one, other].concat();
            let runs: Vec<String> = all.iter().map(|(bucket, count)| format!("{bucket}:{count}")).collect();
            prop_assert_eq!(Histogram::from_text(&runs.join(";")), Some(sum.clone()));
            let mut map = BTreeMap::<u16, u64>::new();
            all.iter().filter(|(_, count)| *count > 0).for_each(|(bucket, count)| *map.entry(*bucket).or_default() += count);
            prop_assert_eq!(sum.iter().collect::<Vec<_>>(), map.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn runs_read_back(counts in proptest::collection::btree_map(any::<u16>(), 1..u64::MAX, 0..40)) {
            let histogram: Histogram = counts.into_iter().collect();
            let text = histogram.to_runs();
            prop_assert_eq!(Histogram::from_text(&text), Some(histogram.clone()), "{}", text);
            let json = serde_json::to_string(&histogram).expect("it is JSON");
            prop_assert_eq!(Histogram::from_text(&json), Some(histogram));
        }
    }

    #[test]
    fn every_bucket_has_a_place_and_the_last_takes_all() {
        for octave in 0..OCTAVES {
            for step in 0..STEPS {
                let last = upper_bound(bucket_at(octave, step)).min(1 << END_EXPONENT) - 1;
                assert_eq!(place(last), (octave, step));
            }
        }
        assert_eq!(place(u64::MAX), (OCTAVES - 1, STEPS - 1));
        assert_eq!(lower_bound(FIRST), 0);
        for bucket in FIRST + 1..=LAST {
            assert_eq!(lower_bound(bucket), upper_bound(bucket - 1), "{bucket}");
        }
        assert_eq!(lower_bound(u16::MAX), lower_bound(LAST));
        for bucket in 1..=COARSE_LAST {
            assert_eq!(lower_bound(bucket), upper_bound(bucket - 1), "{bucket}");
        }
        assert_eq!(lower_bound(FIRST - 1), lower_bound(COARSE_LAST));
        assert_eq!(upper_bound(u16::MAX), u64::MAX);
    }

    #[test]
    fn quantiles_come_from_the_counts() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        histogram.add(bucket(100), 99);
        histogram.add(bucket(10_000), 1);
        assert_eq!(histogram.quantile(0.5), Some(102));
        assert_eq!(histogram.quantile(0.99), Some(102));
        assert_eq!(histogram.quantile(1.0), Some(10_240));
    }

    #[test]
    fn buckets_of_older_programs_take_their_place_among_the_finer_ones() {
        // 20 was 448 to 512 µs, 0 was all below 16 µs.
        let mut histogram = Histogram::from_text(r#"{"0":10,"20":10}"#).expect("a map");
        histogram.add(bucket(100), 10);
        assert_eq!(histogram.quantile(0.3), Some(16));
        assert_eq!(histogram.quantile(0.6), Some(102));
        assert_eq!(histogram.quantile(0.9), Some(512));
        assert_eq!(upper_bound(COARSE_LAST), u64::MAX);
    }

    #[test]
    fn runs_are_short_and_what_is_none_is_refused() {
        let histogram = Histogram::from([(1_030, 5), (1_031, 1), (1_034, 2), (1_040, 7)]);
        assert_eq!(histogram.to_runs(), "1030:5,1,0,0,2;1040:7");
        assert_eq!(Histogram::default().to_runs(), "");
        assert_eq!(Histogram::from_text(""), Some(Histogram::default()));
        for text in [
            "x",
            "1",
            "1:",
            "1:2,,3",
            "65535:1,1",
            "1:-1",
            "{\"a\":1}",
            "1:18446744073709551616",
            "1:18446744073709551615;1:1",
            "1:1x",
            "1:+1",
            "70000:1",
        ] {
            assert_eq!(Histogram::from_text(text), None, "{text}");
        }
    }
}
