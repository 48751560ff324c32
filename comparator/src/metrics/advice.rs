//! What would settle a threshold that is undecided, which depends on what was measured and how.

use parity_schemas::metrics::{Measure, MetricValue};

/// Chance that a quantile is beyond a bound of its sample, on each side.
const ALPHA: f64 = 0.025;

/// How it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// By pages of metrics, over the requests of others.
    Pages,
    /// By runs of a load.
    Runs,
}

impl Advice {
    /// What would settle it, by the values that it rests on.
    pub(super) fn told(self, measure: Measure, values: &[&MetricValue]) -> String {
        match (self, measure) {
            // Who never broke may hold anything above.
            (Self::Runs, Measure::Rate) if values.iter().any(|value| value.high.is_none()) => {
                "higher rates would tell, until both break (--rates, --up-to)".to_owned()
            }
            (Self::Runs, Measure::Rate) => {
                "rates between the last that was held and the first that was not would tell (--refine)".to_owned()
            }
            (Self::Runs, _) => {
                "more runs (--repeats) or longer ones (--window) would tell".to_owned()
            }
            (Self::Pages, _) => too_few(measure, values).unwrap_or_else(|| {
                "more requests or finer buckets would tell".to_owned()
            }),
        }
    }
}

/// Of too few requests a quantile has no upper bound, whatever the buckets are: says how many it takes.
fn too_few(measure: Measure, values: &[&MetricValue]) -> Option<String> {
    let quantile: f64 = match measure {
        Measure::P50 => 0.5,
        Measure::P95 => 0.95,
        Measure::P99 => 0.99,
        Measure::P999 => 0.999,
        _ => return None,
    };
    let needed = (ALPHA.ln() / quantile.ln()).ceil() as u64;
    let seen = values.iter().filter_map(|value| value.requests).min()?;
    (seen < needed).then(|| {
        format!("of {seen} requests a {measure} has no upper bound; it takes {needed} on each side")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_requests_are_told_with_how_many_it_takes_and_a_load_has_other_means() {
        let value = |requests| MetricValue {
            value: 1.0,
            low: None,
            high: None,
            metric: String::new(),
            requests: Some(requests),
        };
        let (few, many) = (value(300), value(400));
        for (measure, values, words) in [
            (
                Measure::P99,
                [&few, &many],
                "of 300 requests a p99 has no upper bound; it takes 368",
            ),
            (
                Measure::P99,
                [&many, &many],
                "more requests or finer buckets",
            ),
            (Measure::Rss, [&few, &few], "more requests or finer buckets"),
        ] {
            let told = Advice::Pages.told(measure, &values);
            assert!(told.starts_with(words), "{told}");
        }
        assert!(Advice::Runs.told(Measure::Rate, &[]).contains("--refine"));
        assert!(
            Advice::Runs
                .told(Measure::Rate, &[&few])
                .contains("--up-to")
        );
        assert!(
            Advice::Runs
                .told(Measure::P99, &[&few])
                .contains("--repeats")
        );
    }
}
