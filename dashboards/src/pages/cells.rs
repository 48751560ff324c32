//! What stands in a cell of a table, or in the midst of a sentence: numbers, times, shares, values. Templates call these by name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use parity_schemas::field_share::FieldShare;
use parity_schemas::tally::Counts;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::{visible, visible_value};

use crate::view::Equal;
use crate::view::words::{elapsed, grouped, most_frequent, rate, targets};

/// Longest value in a table cell; the page of the mismatch shows all that was recorded.
const CELL_CHARS: usize = 160;
/// Places named for each reason why something counts as equal.
const MAX_PLACES: usize = 20;

/// A number in a cell.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "askama passes fields by reference"
)]
pub(super) fn count(number: &u64) -> String {
    grouped(*number)
}

/// A size in a cell.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "askama passes fields by reference"
)]
pub(super) fn number(number: &usize) -> String {
    grouped(*number as u64)
}

/// How many targets, in a cell.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "askama passes fields by reference"
)]
pub(super) fn target_count(distinct: &u64) -> String {
    targets(*distinct)
}

/// The greatest share of one target, in a cell.
#[expect(clippy::ref_option, reason = "askama passes fields by reference")]
pub(super) fn most_frequent_share(share: &Option<f64>) -> String {
    most_frequent(*share)
}

/// Which share of the fields of a route rules leave to compare, in a cell.
pub(super) fn fields_compared(counts: &Counts) -> String {
    FieldShare::of(&counts.fields)
        .map_or_else(|| "–".to_owned(), |share| format!("{} %", share.percent()))
}

/// A time that something took.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "askama passes fields by reference"
)]
pub(super) fn time(micros: &u64) -> String {
    elapsed(*micros)
}

/// A share in a cell.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "askama passes fields by reference"
)]
pub(super) fn percent(part: &u64, whole: &u64) -> String {
    rate(*part, *whole).unwrap_or_else(|| "–".to_owned())
}

/// Median and 99th percentile.
pub(super) fn latency(quantiles: &BTreeMap<String, u64>) -> String {
    let of = |name| quantiles.get(name).map(|us| elapsed(*us));
    match (of("p50"), of("p99")) {
        (Some(median), Some(most)) => format!("{median} / {most}"),
        _ => "–".to_owned(),
    }
}

/// A time to the second, which is what a person compares with other clocks; the API has microseconds.
pub(super) fn second(time: Timestamp) -> String {
    let text = time.to_string();
    let second = text.split('.').next().unwrap_or(&text);
    format!("{}Z", second.replace('T', " "))
}

/// The same of a field.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "askama passes fields by reference"
)]
pub(super) fn moment(time: &Timestamp) -> String {
    second(*time)
}

/// A value of one side in a cell, or a mark that it is absent.
pub(super) fn side(value: Option<&Cow<'_, str>>) -> String {
    value.map_or_else(
        || "(absent)".to_owned(),
        |value| visible_value(value, CELL_CHARS),
    )
}

/// The places of a reason, behind it.
pub(super) fn places(equal: &Equal<'_>) -> String {
    let places = equal
        .places
        .iter()
        .take(MAX_PLACES)
        .map(|place| match place.path {
            "" => place.name(),
            path => visible(path),
        });
    let mut places: Vec<String> = places.collect();
    if equal.places.len() > MAX_PLACES {
        places.push("…".to_owned());
    }
    places.join(", ")
}

/// Text of several lines, each made visible, the line breaks kept.
pub(super) fn lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}
