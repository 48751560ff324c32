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
        Grows::Rss | Grows::Anon => Unit::Bytes,
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
            Grows::Rss | Grows::Anon => {
                format!("below the limit of --growth, {}", shown(allowed, unit))
            }
            Grows::Descriptors | Grows::Threads => "below what a pool may take".to_owned(),
        };
    }
    // The slope is that of what is left without jumps, and of all blocks: it may point to another side than the first and the last value,
    // and a line that says both says nothing.
    let slope = trend.per_request.map_or(0.0, |slope| slope.value);
    let moved = ends.map_or(0.0, |(first, last)| last - first);
    let is_flat = trend.verdict == SoakVerdict::Flat;
    let is_against = is_flat && slope * moved < 0.0;
    if is_flat && trend.jumps > 0.0 {
        let rest = if slope > 0.0 {
            "the slope is without that"
        } else {
            "and no growth besides"
        };
        more = format!("{} at once, {rest}", signed(trend.jumps, unit));
    } else if is_against {
        "no trend to either side".clone_into(&mut more);
    }
    let slope_of = |slope: Option<SoakSlope>| slope.filter(|_| !is_against);
    let word = match trend.verdict {
        SoakVerdict::BelowLimit => SoakVerdict::Growing,
        other => other,
    };
    Told {
        word: word.as_str(),
        ends: ends.map_or_else(String::new, |(first, last)| {
            format!("{} → {}", shown(first, unit), shown(last, unit))
        }),
        per_request: slope_of(trend.per_request)
            .map_or_else(String::new, |slope| range(&slope, unit)),
        per_hour: slope_of(trend.per_hour)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(ends: [f64; 2], slope: f64, jumps: f64) -> Told {
        let slope = SoakSlope {
            value: slope,
            low: slope - 1.0,
            high: slope + 1.0,
        };
        let trend = SoakTrend {
            of: Grows::Threads,
            source: "process".to_owned(),
            verdict: SoakVerdict::Flat,
            why: None,
            samples: 60,
            first: Some(ends[0]),
            last: Some(ends[1]),
            per_request: Some(slope),
            per_hour: Some(slope),
            jumps,
            blocks: Vec::new(),
        };
        told(&trend, 0.0)
    }

    /// A line said that something rose, and that it falls with each request.
    #[test]
    fn a_line_says_one_thing() {
        let jumped = flat([10.0, 40.0], -2.0, 30.0);
        assert_eq!((&*jumped.per_request, &*jumped.per_hour), ("", ""));
        assert_eq!(jumped.more, "+30 at once, and no growth besides");
        let besides = flat([10.0, 40.0], 2.0, 25.0);
        assert_eq!(besides.per_request, "+2 (+1 to +3)");
        assert_eq!(besides.more, "+25 at once, the slope is without that");
        for (ends, slope) in [([10.0, 11.0], -2.0), ([11.0, 10.0], 2.0)] {
            let neither = flat(ends, slope, 0.0);
            assert_eq!((&*neither.per_request, &*neither.per_hour), ("", ""));
            assert_eq!(neither.more, "no trend to either side");
        }
        let falling = flat([11.0, 10.0], -2.0, 0.0);
        assert_eq!((&*falling.per_hour, &*falling.more), ("-2", ""));
    }
}
