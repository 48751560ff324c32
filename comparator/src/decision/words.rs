//! Numbers as people read them.

use parity_schemas::evidence::RouteDecision;

/// The name of all routes together in sentences.
pub(super) const TOTAL: &str = "all requests";

/// Decimal places of a percentage, unless more are needed to distinguish two.
const PLACES: usize = 2;
/// Most decimal places of a percentage.
const MAX_PLACES: usize = 6;

/// A share of 1 as a percentage.
pub(super) fn percent(share: f64) -> String {
    let places = (0..=MAX_PLACES)
        .find(|places| {
            let text = format!("{:.places$}", share * 100.0);
            text.parse::<f64>()
                .is_ok_and(|shown| (shown - share * 100.0).abs() < 1e-9)
        })
        .unwrap_or(PLACES);
    format!("{:.places$}", share * 100.0)
}

/// The percentage of the compared requests that may hide in what is taken for noise, rounded up.
pub(super) fn hidden(total: &RouteDecision) -> String {
    let share = total.excused.hidden.min(1.0);
    percent((share * 1e4).ceil() / 1e4)
}

/// A measured and an allowed share as percentages, with enough places to distinguish them.
pub(super) fn percents(measured: f64, allowed: f64) -> (String, String) {
    let show = |places: usize| {
        (
            format!("{:.places$}", measured * 100.0),
            format!("{:.places$}", allowed * 100.0),
        )
    };
    (PLACES..=MAX_PLACES)
        .map(show)
        .find(|(measured, allowed)| measured != allowed)
        .unwrap_or_else(|| show(PLACES))
}

/// A number with a comma between each three digits.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 difference`, `1,234 differences`.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// Microseconds, or none.
pub(super) fn micros(time: Option<u64>) -> String {
    match time {
        None => "?".to_owned(),
        Some(micros @ 0..1_000) => format!("{micros} µs"),
        Some(micros @ 1_000..1_000_000) => format!("{:.1} ms", micros as f64 / 1e3),
        Some(micros) => format!("{:.2} s", micros as f64 / 1e6),
    }
}

/// A time in the two largest units that it has.
pub(super) fn duration(millis: u64) -> String {
    const UNITS: [(u64, &str); 5] = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
        (1, "ms"),
    ];
    let mut left = millis;
    let mut parts = Vec::new();
    for (length, unit) in UNITS {
        if left >= length && parts.len() < 2 {
            parts.push(format!("{}{unit}", left / length));
            left %= length;
        } else if !parts.is_empty() {
            break;
        }
    }
    if parts.is_empty() {
        return "0s".to_owned();
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            (number(0), number(999), number(1_234_567)),
            ("0".into(), "999".into(), "1,234,567".into())
        );
        assert_eq!(
            (percent(0.95), percent(0.999), percent(0.0)),
            ("95".into(), "99.9".into(), "0".into())
        );
        assert_eq!(percents(0.004, 0.001), ("0.40".into(), "0.10".into()));
        assert_eq!(
            percents(0.001_001, 0.001),
            ("0.1001".into(), "0.1000".into())
        );
    }
}
