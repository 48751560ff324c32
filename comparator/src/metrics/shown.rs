//! Numbers of measures as people read them.

use parity_schemas::metrics::Unit;

/// A number of a measure in words.
pub fn shown(value: f64, unit: Unit) -> String {
    let scaled = |steps: &[(f64, &str)]| {
        let mut steps = steps.iter();
        // What three digits make a whole one of is one.
        let found = steps.find(|(least, _)| value >= *least * 0.9995);
        found.map(|(least, word)| format!("{} {word}", digits(value / least)))
    };
    match unit {
        Unit::PerSecond => format!("{}/s", digits(value)),
        Unit::Share => format!("{} %", digits(value * 100.0)),
        Unit::Seconds => scaled(&[
            (86_400.0, "d"),
            (3_600.0, "h"),
            (120.0, "min"),
            (1.0, "s"),
            (1e-3, "ms"),
            (1e-6, "µs"),
            (1e-9, "ns"),
        ])
        .unwrap_or_else(|| "0 s".to_owned()),
        Unit::Bytes => scaled(&[
            (1_073_741_824.0, "GiB"),
            (1_048_576.0, "MiB"),
            (1_024.0, "KiB"),
            (1.0, "B"),
        ])
        .unwrap_or_else(|| "0 B".to_owned()),
        Unit::Cores | Unit::Number => digits(value),
    }
}

/// Three digits that count.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size if size >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{value:.places$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_three_digits() {
        for (value, unit, text) in [
            (0.0198, Unit::Seconds, "19.8 ms"),
            (0.000_049, Unit::Seconds, "49 µs"),
            (1.5, Unit::Seconds, "1.5 s"),
            (0.000_999_8, Unit::Seconds, "1 ms"),
            (0.000_999_4, Unit::Seconds, "999 µs"),
            (0.0, Unit::Seconds, "0 s"),
            (93_784.0, Unit::Seconds, "1.09 d"),
            (209_715_200.0, Unit::Bytes, "200 MiB"),
            (0.0, Unit::Bytes, "0 B"),
            (0.001, Unit::Share, "0.1 %"),
            (102_400.4, Unit::PerSecond, "102400/s"),
            (0.0123, Unit::Cores, "0.0123"),
        ] {
            assert_eq!(shown(value, unit), text);
        }
    }
}
