//! What one page says of a source: the samples that are meant, their sum, the quantiles that a summary shows.

use super::exposition::Exposition;
use super::labels::Labels;
use super::names::Source;

/// The samples of `source` on a page whose name has this ending.
fn met<'a>(
    page: &'a Exposition,
    source: &Source,
    ending: &str,
) -> impl Iterator<Item = (&'a Labels, f64)> {
    let samples = page.samples.get(&format!("{}{ending}", source.name));
    let samples = samples.into_iter().flatten();
    let samples = samples.map(|(labels, value)| (&**labels, *value));
    samples.filter(|(labels, _)| source.is_met(labels))
}

/// The sum of a gauge over its labels; `None` if the page does not have it, or if one of them has a value that cannot be: no number, or
/// below 0.
pub(super) fn gauge(page: &Exposition, source: &Source, ending: &str) -> Option<f64> {
    let values = met(page, source, ending).map(|(_, value)| value);
    let values: Vec<f64> = values.collect();
    let is_known = !values.is_empty() && values.iter().copied().all(can_be);
    is_known.then(|| values.iter().sum())
}

/// Whether a value can be one of an amount, a time or a count.
fn can_be(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

/// A quantile that a summary shows, once for each set of other labels.
pub(super) fn shown_quantiles(page: &Exposition, source: &Source, quantile: f64) -> Vec<f64> {
    let is_it = |(labels, value): &(&Labels, f64)| {
        let shown = labels
            .get("quantile")
            .and_then(|text| text.parse::<f64>().ok());
        shown.is_some_and(|shown| (shown - quantile).abs() < 1e-9) && can_be(*value)
    };
    let found = met(page, source, "").filter(is_it);
    found.map(|(_, value)| value).collect()
}
