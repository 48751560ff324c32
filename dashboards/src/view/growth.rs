//! What a steady load made grow, in words that every surface uses.

use parity_comparator::metrics::shown;
use parity_schemas::metrics::Unit;
use parity_schemas::soak::{Grows, SoakDocument, SoakSlope, SoakTrend, SoakVerdict};
use parity_schemas::visible::visible_up_to;

/// Longest text that is from elsewhere.
const MAX_CHARS: usize = 400;

/// A trend in words; what is not known is empty.
pub(crate) struct Told {
    /// The verdict: what grows is growing, whether or not it may.
    pub(crate) word: &'static str,
    /// The first and the last value.
    pub(crate) ends: String,
    pub(crate) per_request: String,
    pub(crate) per_hour: String,
    /// Why it is undecided, or what else to know.
    pub(crate) more: String,
}

/// What the numbers of a trend are.
pub(crate) fn unit(of: Grows) -> Unit {
    match of {
        Grows::Rss => Unit::Bytes,
        Grows::Descriptors | Grows::Threads => Unit::Number,
    }
}

/// A trend in words. `allowed` is the limit of `--growth`, in bytes.
pub(crate) fn told(trend: &SoakTrend, allowed: f64) -> Told {
    let unit = unit(trend.of);
    let ends = trend.first.zip(trend.last);
    let mut more = trend
        .why
        .as_deref()
        .map_or_else(String::new, |why| visible_up_to(why, MAX_CHARS));
    if trend.verdict == SoakVerdict::BelowLimit {
        more = match trend.of {
            Grows::Rss => format!("below the limit of --growth, {}", shown(allowed, unit)),
            Grows::Descriptors | Grows::Threads => "below what a pool may take".to_owned(),
        };
    }
    if trend.verdict == SoakVerdict::Flat && trend.jumps > 0.0 {
        more = format!("{} at once", signed(trend.jumps, unit));
    }
    let word = match trend.verdict {
        SoakVerdict::BelowLimit => SoakVerdict::Growing,
        other => other,
    };
    Told {
        word: word.as_str(),
        ends: ends.map_or_else(String::new, |(first, last)| {
            format!("{} → {}", shown(first, unit), shown(last, unit))
        }),
        per_request: trend
            .per_request
            .as_ref()
            .map_or_else(String::new, |slope| range(slope, unit)),
        per_hour: trend
            .per_hour
            .as_ref()
            .map_or_else(String::new, |slope| signed(slope.value, unit)),
        more,
    }
}

/// By which rule something is growing.
pub(crate) fn rule(document: &SoakDocument) -> String {
    format!(
        "Growing: by Mann-Kendall at {} % and by more than {} in all, after {:.1} s of warm-up; slopes by Theil-Sen.",
        document.confidence * 100.0,
        shown(document.allowed, Unit::Bytes),
        document.warm_up
    )
}

fn range(slope: &SoakSlope, unit: Unit) -> String {
    format!(
        "{} ({} to {})",
        signed(slope.value, unit),
        signed(slope.low, unit),
        signed(slope.high, unit)
    )
}

/// With its sign; what is less than a thousandth of the unit is nothing.
pub(crate) fn signed(value: f64, unit: Unit) -> String {
    if value.abs() < 1e-3 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "+" };
    let size = value.abs();
    if unit == Unit::Bytes && size < 1.0 {
        return format!("{sign}{size:.3} B");
    }
    format!("{sign}{}", shown(size, unit))
}
