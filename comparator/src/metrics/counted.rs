//! What counters, histograms and gauges did between the first and the last of several pages.
//!
//! A counter that falls began anew with its process: what it shows then was counted since. One that appears later was 0 before,
//! because clients show a counter only when it counts for the first time. Numbers that are none, and negative counts, are passed over.

use std::collections::{BTreeMap, BTreeSet};

use statrs::distribution::{Binomial, DiscreteCDF};

use super::Scrape;
use super::exposition::Sample;
use super::names::Source;

/// Chance that the bounds of a quantile do not hold it: 2.5 % on each side.
const ALPHA: f64 = 0.05;

type Labels = BTreeMap<String, String>;

/// How much the counters of a name grew, by their labels.
#[derive(Default)]
pub(super) struct Grown {
    pub(super) by_labels: BTreeMap<Labels, f64>,
    /// How often one of them began anew.
    pub(super) resets: u64,
}

impl Grown {
    pub(super) fn total(&self) -> f64 {
        self.by_labels.values().sum()
    }
}

/// The samples of `source` on a page whose name has this ending.
fn met<'a>(
    scrape: &'a Scrape,
    source: &'a Source,
    ending: &str,
) -> impl Iterator<Item = &'a Sample> {
    let samples = scrape.page.samples.get(&format!("{}{ending}", source.name));
    let samples = samples.into_iter().flatten();
    samples.filter(|sample| source.is_met(&sample.labels))
}

/// How much a counter grew; `None` if no page has it.
pub(super) fn grown(scrapes: &[Scrape], source: &Source, ending: &str) -> Option<Grown> {
    let mut last: BTreeMap<&Labels, f64> = BTreeMap::new();
    let mut grown = Grown::default();
    let mut is_there = false;
    for (at, scrape) in scrapes.iter().enumerate() {
        for sample in met(scrape, source, ending) {
            if !(sample.value.is_finite() && sample.value >= 0.0) {
                continue;
            }
            is_there = true;
            let before = last.insert(&sample.labels, sample.value);
            let by = match before {
                None if at == 0 => 0.0,
                None => sample.value,
                Some(before) if sample.value >= before => sample.value - before,
                Some(_) => {
                    grown.resets += 1;
                    sample.value
                }
            };
            *grown.by_labels.entry(sample.labels.clone()).or_default() += by;
        }
    }
    is_there.then_some(grown)
}

/// The sum of a gauge over its labels, on each page that has it.
pub(super) fn gauge(scrapes: &[Scrape], source: &Source, ending: &str) -> Vec<f64> {
    let of_page = |scrape| {
        let values = met(scrape, source, ending).map(|sample| sample.value);
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    };
    scrapes.iter().filter_map(of_page).collect()
}

/// A quantile that a summary shows, on the last page, once for each set of other labels.
pub(super) fn shown_quantiles(scrapes: &[Scrape], source: &Source, quantile: f64) -> Vec<f64> {
    let is_it = |sample: &&Sample| {
        let shown = sample
            .labels
            .get("quantile")
            .and_then(|text| text.parse::<f64>().ok());
        shown.is_some_and(|shown| (shown - quantile).abs() < 1e-9) && sample.value.is_finite()
    };
    scrapes.last().map_or_else(Vec::new, |last| {
        met(last, source, "")
            .filter(is_it)
            .map(|sample| sample.value)
            .collect()
    })
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
    /// Of all that `source` means; `None` if no page has buckets of it. Where label sets have other edges, those that all have.
    pub(super) fn of(scrapes: &[Scrape], source: &Source) -> Option<Self> {
        let grown = grown(scrapes, source, "_bucket")?;
        let mut sets: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for (mut labels, by) in grown.by_labels {
            let edge = labels
                .remove("le")
                .and_then(|edge| edge.parse::<f64>().ok());
            if let Some(edge) = edge.filter(|edge| !edge.is_nan()) {
                sets.entry(labels).or_default().push((edge, by));
            }
        }
        let bits = |edge: f64| edge.to_bits();
        let mut common: Option<BTreeSet<u64>> = None;
        for set in sets.values_mut() {
            set.sort_by(|one, other| one.0.total_cmp(&other.0));
            let own: BTreeSet<u64> = set.iter().map(|(edge, _)| bits(*edge)).collect();
            common = Some(match common {
                None => own,
                Some(common) => common.intersection(&own).copied().collect(),
            });
        }
        let common = common?;
        let mut edges: Vec<(f64, f64)> = common
            .iter()
            .map(|edge| (f64::from_bits(*edge), 0.0))
            .collect();
        edges.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (edge, count) in &mut edges {
            let sums = sets.values().flatten();
            let sums = sums.filter(|(of, _)| bits(*of) == bits(*edge));
            *count = sums.map(|(_, by)| by).sum();
        }
        // What a reset made of them must not fall.
        let mut most: f64 = 0.0;
        for (_, count) in &mut edges {
            most = most.max(*count);
            *count = most;
        }
        let has_all = edges.last().is_some_and(|(edge, _)| *edge == f64::INFINITY);
        has_all.then_some(Self { edges })
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
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of requests, which is a whole number"
    )]
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
        // The ranks between which the quantile of all requests is, whatever their distribution, if these are a sample of them.
        let ranks = Binomial::new(quantile, total as u64).ok()?;
        let first = ranks.inverse_cdf(ALPHA / 2.0) as f64;
        let last = ranks.inverse_cdf(1.0 - ALPHA / 2.0) as f64 + 1.0;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::exposition::Exposition;
    use parity_schemas::metrics::Subject;

    fn scrapes(pages: &[&str]) -> Vec<Scrape> {
        let pages = pages.iter().enumerate();
        pages
            .map(|(at, page)| Scrape {
                at: at as f64,
                page: Exposition::read(page),
            })
            .collect()
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
            let found = grown(&scrapes(pages), &source("a"), "");
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
        let found = Buckets::of(&scrapes(&[before, after]), &source("a")).unwrap();
        assert_eq!(found.edges, [(1.0, 5.0), (f64::INFINITY, 9.0)]);
        let one = Buckets::of(&scrapes(&[before, after]), &source("a{r=\"2\"}")).unwrap();
        assert_eq!(one.edges, [(0.5, 1.0), (1.0, 2.0), (f64::INFINITY, 5.0)]);
        // Without the last edge nobody knows how many there are.
        assert_eq!(
            Buckets::of(&scrapes(&["a_bucket{le=\"1\"} 0\n"]), &source("a")),
            None
        );
    }
}
