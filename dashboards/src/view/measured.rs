//! Measures of two services as the cells of a table, which every surface draws alike.

use parity_comparator::metrics::shown;
use parity_schemas::metrics::{Measured, MetricValue, Unit};

/// Where a value is missing.
const NOTHING: &str = "–";

/// The heads of the columns.
pub(crate) const COLUMNS: [&str; 4] = ["metric", "legacy", "candidate", "change"];

/// A row for each measure that at least one of them has.
pub(crate) fn rows(measures: &[Measured]) -> impl Iterator<Item = [String; 4]> {
    let has_one = |measured: &&Measured| measured.legacy.is_some() || measured.candidate.is_some();
    measures.iter().filter(has_one).map(row)
}

fn row(measured: &Measured) -> [String; 4] {
    let unit = measured.measure.unit();
    let value = |value: &Option<MetricValue>| {
        let value = value.as_ref();
        value.map_or_else(
            || NOTHING.to_owned(),
            |value| value_with_bounds(value, unit),
        )
    };
    let change = measured.change.map_or_else(String::new, |change| {
        let percent = change * 100.0;
        if percent.abs() < 0.05 {
            "0.0 %".to_owned()
        } else {
            format!("{percent:+.1} %")
        }
    });
    [
        measured.measure.as_str().to_owned(),
        value(&measured.legacy),
        value(&measured.candidate),
        change,
    ]
}

/// The value, and behind it between which it is where that is not the value itself.
fn value_with_bounds(value: &MetricValue, unit: Unit) -> String {
    let text = shown(value.value, unit);
    let is_value = |bound: Option<f64>| bound.map(f64::to_bits) == Some(value.value.to_bits());
    let bound = |bound: f64| shown(bound, unit);
    match (value.low, value.high) {
        (low, high) if is_value(low) && is_value(high) => text,
        (Some(low), Some(high)) if bound(low) == text && bound(high) == text => text,
        (Some(low), Some(high)) => format!("{text} ({} to {})", bound(low), bound(high)),
        // Nothing is below 0, so that says nothing.
        (None | Some(0.0), None) => format!("{text} (unsure)"),
        (Some(low), None) => format!("{text} (at least {})", bound(low)),
        (None, Some(high)) => format!("{text} (at most {})", bound(high)),
    }
}
