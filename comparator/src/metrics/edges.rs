//! What the lines of a histogram must say of each other on one page: each edge is there once, no bucket has fewer than a smaller one, and
//! the last one has about what `_count` has: some clients (Micrometer) read the two one after the other, and count meanwhile.
//!
//! Whatever contradicts that, nobody knows which of the lines holds, so nothing that rests on them is measured. That is strict on purpose:
//! a quantile of such buckets can be any. A family that has neither `_count` nor `_sum` has nothing to agree with.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::labels::{Labels, Samples, Shared};
use super::passed::{OfPage, Passed, Why};

const BUCKET: &str = "_bucket";
const COUNT: &str = "_count";

/// How far `_count` and the last bucket may be apart, in requests: those that end while a page is written.
const APART: f64 = 16.0;
/// The same as a share of all. No quantile of the buckets moves by it, because they are read together.
const APART_SHARE: f64 = 0.01;

/// A bucket: its edge, as it is written, and how many it has.
type Bucket<'a> = (f64, &'a str, f64);

/// What histograms say that cannot be, by the names of the samples that it makes unknown.
pub(super) fn contradictions(samples: &BTreeMap<String, Samples>, shared: &mut Shared) -> OfPage {
    let mut found = OfPage::new();
    let buckets = samples
        .iter()
        .filter_map(|(name, of_name)| Some((name.strip_suffix(BUCKET)?, of_name)));
    for (family, of_name) in buckets {
        let mut sets: BTreeMap<Labels, Vec<Bucket<'_>>> = BTreeMap::new();
        let mut put = |labels: &Labels, endings: &[&str], line: String| {
            let labels = shared.one(labels.without("le"));
            for ending in endings {
                let of_name = found.entry(format!("{family}{ending}")).or_default();
                of_name.push(Passed {
                    why: Why::Contradicts,
                    labels: Some(Arc::clone(&labels)),
                    number: 0,
                    line: line.clone(),
                });
            }
        };
        for (labels, value) in of_name {
            let written = labels.get("le");
            let edge = written.and_then(|edge| edge.parse::<f64>().ok());
            match (edge.filter(|edge| !edge.is_nan()), written) {
                (Some(edge), Some(written)) => {
                    let of_set = sets.entry(labels.without("le")).or_default();
                    of_set.push((edge, written, *value));
                }
                _ => put(
                    labels,
                    &[BUCKET],
                    format!("{} has no `le` that is a number", labels.told()),
                ),
            }
        }
        for (labels, of_set) in &mut sets {
            of_set.sort_by(|one, other| one.0.total_cmp(&other.0));
            if let Some(line) = between(of_set) {
                put(labels, &[BUCKET], format!("{line}, of {}", labels.told()));
            }
        }
        let of_family = |ending: &str| samples.get(&format!("{family}{ending}"));
        let counts = of_family(COUNT);
        if counts.is_none() && of_family("_sum").is_none() {
            continue;
        }
        for (labels, of_set) in &sets {
            let Some((edge, _, all)) = of_set.last() else {
                continue;
            };
            let count = counts.and_then(|counts| counts.get(labels)).copied();
            // Without the last bucket there is no histogram, which is told elsewhere; what is no number is told as that.
            if *edge != f64::INFINITY
                || !all.is_finite()
                || count.is_some_and(|one| agree(one, *all))
            {
                continue;
            }
            let line = match count {
                Some(count) if !count.is_finite() => continue,
                Some(count) => format!("le=\"+Inf\" has {all} and `{COUNT}` {count}"),
                None => format!("le=\"+Inf\" has {all} and there is no `{COUNT}`"),
            };
            let line = format!("{line}, of {}", labels.told());
            put(labels, &[BUCKET, COUNT], line);
        }
        for labels in counts.into_iter().flat_map(BTreeMap::keys) {
            if !sets.contains_key(&**labels) && !sets.is_empty() {
                let line = format!("`{COUNT}` of {} has no buckets", labels.told());
                put(labels, &[BUCKET], line);
            }
        }
    }
    found
}

/// Whether `_count` and the last bucket may be of one histogram.
fn agree(count: f64, all: f64) -> bool {
    (count - all).abs() <= APART.max(APART_SHARE * count.max(all))
}

/// Whether two numbers are one, in whatever spelling.
pub(super) fn same(one: f64, other: f64) -> bool {
    one.partial_cmp(&other).is_some_and(Ordering::is_eq)
}

/// What neighbouring buckets of one set say that cannot be.
fn between(sorted: &[Bucket<'_>]) -> Option<String> {
    let mut pairs = sorted.windows(2);
    pairs.find_map(|pair| match pair {
        [(one, written, _), (other, again, _)] if same(*one, *other) => Some(format!(
            "le=\"{written}\" and le=\"{again}\" are one edge, which is there twice"
        )),
        [(_, smaller, more), (_, larger, fewer)] if fewer < more => Some(format!(
            "le=\"{smaller}\" has {more} and le=\"{larger}\" {fewer}, which is less"
        )),
        _ => None,
    })
}
