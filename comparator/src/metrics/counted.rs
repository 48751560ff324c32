//! What counters and histograms did between the first and the last of several pages, as it was [followed](super::followed).

use std::collections::{BTreeMap, BTreeSet};

use statrs::distribution::{Binomial, DiscreteCDF};

use super::edges::same;
use super::followed::Followed;
use super::labels::Labels;
use super::names::Source;

/// Chance that the bounds of a quantile do not hold it: 2.5 % on each side.
const ALPHA: f64 = 0.05;

/// Requests above which a quantile of a sample lies so near to its rank that the normal distribution tells how near.
const MANY: f64 = 1e6;
/// The share by which sums of counts that are no whole numbers are rounded at most.
const ROUNDED: f64 = 1e-9;
/// Standard deviations that hold 95 % of it.
const DEVIATIONS: f64 = 1.96;

/// How much the counters of a name grew, by their labels.
#[derive(Default)]
pub(super) struct Grown<'a> {
    pub(super) by_labels: BTreeMap<&'a Labels, f64>,
    /// How often one of them began anew.
    pub(super) resets: u64,
}

impl Grown<'_> {
    pub(super) fn total(&self) -> f64 {
        self.by_labels.values().sum()
    }
}

/// How much a counter grew; `None` if no page has it.
pub(super) fn grown<'a>(
    followed: &'a Followed,
    source: &'a Source,
    ending: &str,
) -> Option<Grown<'a>> {
    let mut grown = Grown::default();
    for (labels, counter) in followed.counters(source, ending) {
        grown.by_labels.insert(labels, counter.by);
        grown.resets += counter.resets;
    }
    (!grown.by_labels.is_empty()).then_some(grown)
}

/// A histogram of what was counted between the first page and the last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Buckets {
    /// Upper edges with how many are at most there, in order; the last edge is infinite.
    pub(super) edges: Vec<(f64, f64)>,
}

/// A quantile of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// Interpolated in its bucket, as Prometheus does it.
    pub(super) value: f64,
    /// It is not below this, with 97.5 % confidence.
    pub(super) low: f64,
    /// It is not above this, likewise; `None` if nothing tells.
    pub(super) high: Option<f64>,
}

impl Buckets {
    /// Of all that `source` means; `None` if no page has buckets of it. Where label sets have other edges, those that all have; if
    /// that is only the infinite one, it says nothing of how long anything took, and there is none. That a bucket grew by less than a
    /// smaller one cannot be, and is told.
    pub(super) fn of(followed: &Followed, source: &Source) -> Result<Option<Self>, String> {
        let Some(grown) = grown(followed, source, "_bucket") else {
            return Ok(None);
        };
        let mut sets: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for (labels, by) in grown.by_labels {
            let edge = labels.get("le").and_then(|edge| edge.parse::<f64>().ok());
            if let Some(edge) = edge.filter(|edge| !edge.is_nan()) {
                let others = labels.without("le");
                sets.entry(others).or_default().push((edge, by));
            }
        }
        let bits = |edge: f64| edge.to_bits();
        let mut common: Option<BTreeSet<u64>> = None;
        for (labels, set) in &mut sets {
            set.sort_by(|one, other| one.0.total_cmp(&other.0));
            if let Some(line) = between(set) {
                return Err(format!(
                    "`{}_bucket` is not known, because its pages contradict each other: {line}, of {}",
                    source.name,
                    labels.told()
                ));
            }
            let own: BTreeSet<u64> = set.iter().map(|(edge, _)| bits(*edge)).collect();
            common = Some(match common {
                None => own,
                Some(common) => common.intersection(&own).copied().collect(),
            });
        }
        let Some(common) = common else {
            return Ok(None);
        };
        let mut edges: Vec<(f64, f64)> = common
            .iter()
            .map(|edge| (f64::from_bits(*edge), 0.0))
            .collect();
        edges.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
        for (edge, by) in sets.values().flatten() {
            *sums.entry(bits(*edge)).or_default() += by;
        }
        for (edge, count) in &mut edges {
            *count = sums.get(&bits(*edge)).copied().unwrap_or(0.0);
        }
        let has_all = edges.last().is_some_and(|(edge, _)| *edge == f64::INFINITY);
        let has_edge = edges.iter().any(|(edge, _)| edge.is_finite());
        Ok((has_all && has_edge).then_some(Self { edges }))
    }

    pub(super) fn total(&self) -> f64 {
        self.edges.last().map_or(0.0, |(_, count)| *count)
    }

    /// The position of the bucket with the value of this rank, and its lower edge.
    fn bucket(&self, rank: f64) -> (usize, f64) {
        let found = self.edges.iter().position(|(_, count)| *count >= rank);
        let at = found.unwrap_or(self.edges.len() - 1);
        let lower = at.checked_sub(1).map_or(0.0, |before| self.edges[before].0);
        (at, lower)
    }

    /// A quantile; `None` of nothing.
    pub(super) fn quantile(&self, quantile: f64) -> Option<Estimate> {
        let total = self.total().floor();
        if total < 1.0 {
            return None;
        }
        let rank = quantile * total;
        let (at, lower) = self.bucket(rank);
        let (upper, count) = self.edges[at];
        let before = at.checked_sub(1).map_or(0.0, |before| self.edges[before].1);
        let value = if upper.is_finite() && count > before {
            lower + (upper - lower) * ((rank - before) / (count - before)).clamp(0.0, 1.0)
        } else {
            lower
        };
        let (first, last) = ranks(quantile, total)?;
        let low = if first < 1.0 {
            0.0
        } else {
            self.bucket(first).1
        };
        let high = (last <= total).then(|| self.edges[self.bucket(last).0].0);
        Some(Estimate {
            value,
            low,
            high: high.filter(|high| high.is_finite()),
        })
    }
}

/// What the buckets of one set, in the order of their edges, did between the pages that cannot be.
fn between(sorted: &[(f64, f64)]) -> Option<String> {
    let mut pairs = sorted.windows(2);
    pairs.find_map(|pair| match pair {
        [(one, _), (other, _)] if same(*one, *other) => {
            Some(format!("le=\"{one}\" is there in two spellings"))
        }
        [(smaller, more), (larger, fewer)] if *fewer < more * (1.0 - ROUNDED) => Some(format!(
            "le=\"{smaller}\" grew by {more} and le=\"{larger}\" by {fewer}, which is less"
        )),
        _ => None,
    })
}

/// The ranks between which the quantile of all requests is, whatever their distribution, if these are a sample of them.
fn ranks(quantile: f64, total: f64) -> Option<(f64, f64)> {
    if total > MANY {
        let (middle, most) = (quantile * total, total);
        let wide = DEVIATIONS * (middle * (1.0 - quantile)).sqrt();
        return Some((middle - wide, (middle + wide + 1.0).min(most)));
    }
    let ranks = Binomial::new(quantile, total as u64).ok()?;
    let first = ranks.inverse_cdf(ALPHA / 2.0) as f64;
    let last = ranks.inverse_cdf(1.0 - ALPHA / 2.0) as f64 + 1.0;
    Some((first, last))
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;
    use crate::metrics::exposition::Exposition;
    use crate::metrics::labels::Shared;
    use crate::metrics::names::Names;
    use parity_schemas::metrics::Subject;

    fn followed(pages: &[&str]) -> Followed {
        let mut names = Names::default();
        for (subject, text) in [(Subject::Requests, "a"), (Subject::Latency, "a in s")] {
            names.set(subject, Source::read(text, subject).unwrap());
        }
        let shared = &mut Shared::default();
        let mut followed = Followed::default();
        for page in pages {
            let page = Exposition::read(page, &|_| true, shared).unwrap();
            followed.take(&page, &names);
        }
        followed
    }

    fn source(text: &str) -> Source {
        Source::read(text, Subject::Requests).unwrap()
    }

    #[test]
    fn counters_grow_over_resets_and_from_nothing() {
        for (pages, expected, resets) in [
            (&["a 5\n", "a 9\n"][..], Some(4.0), 0),
            // The process began anew.
            (&["a 5\n", "a 2\n", "a 6\n"], Some(6.0), 1),
            // It did so, and is above what it was before.
            (
                &[
                    "a 5\nprocess_start_time_seconds 1\n",
                    "a 9\nprocess_start_time_seconds 2\n",
                ],
                Some(9.0),
                1,
            ),
            // It was not there before.
            (&["b 1\n", "a 3\n"], Some(3.0), 0),
            (
                &["a{x=\"1\"} 5\n", "a{x=\"1\"} 6\na{x=\"2\"} 4\n"],
                Some(5.0),
                0,
            ),
            // It is away once.
            (&["a 5\n", "b 1\n", "a 9\n"], Some(4.0), 0),
            (&["a 5\n", "a NaN\n", "a 9\n"], Some(4.0), 0),
            (&["a 5\n", "a -1\n", "a +Inf\n"], Some(0.0), 0),
            (&["b 5\n", "b 9\n"], None, 0),
            (&["a NaN\n"], None, 0),
        ] {
            let (followed, source) = (followed(pages), source("a"));
            let found = grown(&followed, &source, "");
            let total = found.as_ref().map(Grown::total);
            assert_eq!(total, expected, "{pages:?}");
            assert_eq!(found.map_or(0, |found| found.resets), resets, "{pages:?}");
        }
    }

    fn buckets(counts: &[(f64, f64)]) -> Buckets {
        Buckets {
            edges: counts.to_vec(),
        }
    }

    #[test]
    fn a_quantile_is_where_its_requests_are_and_its_bounds_hold_it() {
        let of = buckets(&[
            (0.01, 500.0),
            (0.05, 980.0),
            (0.1, 1_000.0),
            (f64::INFINITY, 1_000.0),
        ]);
        let p50 = of.quantile(0.5).unwrap();
        assert_eq!(p50.value, 0.01);
        assert_eq!((p50.low, p50.high), (0.0, Some(0.05)));
        let p99 = of.quantile(0.99).unwrap();
        assert!((p99.value - 0.075).abs() < 1e-9, "{p99:?}");
        assert_eq!((p99.low, p99.high), (0.05, Some(0.1)));
        // Of a thousand requests nothing tells where the slowest of a thousand is at most.
        assert_eq!(of.quantile(0.999).unwrap().high, None);
        // What is above the last edge has none.
        let slow = buckets(&[(0.01, 10.0), (f64::INFINITY, 1_000.0)]);
        let p50 = slow.quantile(0.5).unwrap();
        assert_eq!((p50.value, p50.high), (0.01, None));
        assert_eq!(buckets(&[(f64::INFINITY, 0.0)]).quantile(0.5), None);
    }

    #[test]
    fn the_ranks_of_many_requests_go_on_where_those_of_few_end_and_no_number_is_too_large() {
        for quantile in [0.5, 0.99, 0.999] {
            let few = ranks(quantile, MANY).unwrap();
            let many = ranks(quantile, MANY + 1.0).unwrap();
            assert!((few.0 - many.0).abs() < 3.0, "{few:?} {many:?}");
            assert!((few.1 - many.1).abs() < 3.0, "{few:?} {many:?}");
        }
        for total in [1e9, 1e18, 1e300, f64::MAX] {
            let of = buckets(&[(0.01, total / 2.0), (0.1, total), (f64::INFINITY, total)]);
            let p99 = of.quantile(0.99).unwrap();
            assert!(
                p99.low <= p99.value && p99.high == Some(0.1),
                "{total}: {p99:?}"
            );
        }
    }

    #[test]
    fn bounds_hold_the_quantile_of_a_known_distribution() {
        // Requests that take 1 to 1,000 ms, each as often: the 95 % quantile is 950 ms. Samples of 200 of them, by a fixed sequence.
        let mut state: u64 = 7;
        let mut held = 0;
        for _ in 0..400 {
            let mut counts = vec![0.0; 101];
            for _ in 0..200 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let millis = (state >> 33) % 1_000;
                counts[usize::try_from(millis / 10).unwrap()] += 1.0;
            }
            let mut sum = 0.0;
            let mut edges: Vec<(f64, f64)> = Vec::new();
            for (at, count) in counts.iter().enumerate() {
                sum += count;
                edges.push((
                    if at == 100 {
                        f64::INFINITY
                    } else {
                        (at + 1) as f64 * 0.01
                    },
                    sum,
                ));
            }
            let found = buckets(&edges).quantile(0.95).unwrap();
            held += usize::from(found.low <= 0.95 && found.high.is_none_or(|high| high >= 0.95));
        }
        assert!(held >= 376, "{held} of 400");
    }

    #[test]
    fn label_sets_are_added_where_their_edges_agree() {
        let before = "a_bucket{r=\"1\",le=\"1\"} 0\na_bucket{r=\"1\",le=\"+Inf\"} 0\n";
        let after = "a_bucket{r=\"1\",le=\"1\"} 3\na_bucket{r=\"1\",le=\"+Inf\"} 4\n\
                     a_bucket{r=\"2\",le=\"0.5\"} 1\na_bucket{r=\"2\",le=\"1.0\"} 2\na_bucket{r=\"2\",le=\"+Inf\"} 5\n";
        let of = |pages: &[&str], name: &str| Buckets::of(&followed(pages), &source(name)).unwrap();
        let found = of(&[before, after], "a").unwrap();
        assert_eq!(found.edges, [(1.0, 5.0), (f64::INFINITY, 9.0)]);
        let one = of(&[before, after], "a{r=\"2\"}").unwrap();
        assert_eq!(one.edges, [(0.5, 1.0), (1.0, 2.0), (f64::INFINITY, 5.0)]);
        // Without an edge that all have nothing tells how long they took.
        let other = "a_bucket{r=\"1\",le=\"2\"} 3\na_bucket{r=\"1\",le=\"+Inf\"} 4\n\
                     a_bucket{r=\"2\",le=\"1\"} 0\na_bucket{r=\"2\",le=\"+Inf\"} 5\n";
        for pages in [
            &["b 1\n", other][..],
            &["b 1\n", "a_bucket{le=\"+Inf\"} 5\n"],
        ] {
            assert_eq!(of(pages, "a"), None, "{pages:?}");
        }
        // Without the last edge nobody knows how many there are.
        assert_eq!(of(&["a_bucket{le=\"1\"} 0\n"], "a"), None);
    }

    #[test]
    fn buckets_that_contradict_each_other_from_page_to_page_are_none() {
        let page = |edge: &str, few: u32, all: u32| {
            format!("a_bucket{{le=\"{edge}\"}} {few}\na_bucket{{le=\"+Inf\"}} {all}\n")
        };
        for (pages, line) in [
            // Each page could be.
            (
                [page("0.1", 10, 100), page("0.1", 60, 120)],
                "le=\"0.1\" grew by 50 and le=\"inf\" by 20",
            ),
            (
                [page("0.1", 0, 0), page("0.10", 5, 9)],
                "le=\"0.1\" is there in two spellings",
            ),
        ] {
            let pages = pages.each_ref().map(String::as_str);
            let why = Buckets::of(&followed(&pages), &source("a")).unwrap_err();
            assert!(why.contains(line) && why.starts_with("`a_bucket`"), "{why}");
        }
    }
}
