//! Values as people write them: durations, shares, switches. Settings, flags and the parameters of requests are read here, so
//! that a value that works in one place works in all of them.
//!
//! Each reader says what was expected and shows an example, because the message is the only help a person has whose process
//! did not start.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// A type with a reader of its own.
pub fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// `500ms`, `5s`, `2m`, `12h`, `14d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => 0,
    };
    number
        .parse::<u64>()
        .ok()
        .filter(|_| millis > 0)
        .and_then(|number| number.checked_mul(millis))
        .map(Duration::from_millis)
        .ok_or_else(|| {
            format!("`{text}` is not a duration; write for example 500ms, 5s, 2m, 12h or 14d")
        })
}

/// Between 0 and 1, both included. Minus nothing is a slip of somebody who meant another number.
pub fn share(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share) && share.is_sign_positive())
        .ok_or_else(|| {
            format!("`{text}` is not a share; write a number between 0 and 1, for example 0.25")
        })
}

/// Between 0 and 100, both included.
pub fn percent(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent) && percent.is_sign_positive())
        .ok_or_else(|| {
            format!(
                "`{text}` is not a percent; write a number between 0 and 100, for example 10 or 0.5"
            )
        })
}

/// `on`, `off`, `true`, `false`.
pub fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(format!(
            "`{text}` is neither on nor off; write on or off (or true or false)"
        )),
    }
}

/// A whole number, such as `3000`.
pub fn whole(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a whole number"))
}

/// The number and the unit of a text that begins with digits; the white space between them is dropped.
pub fn split_unit(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    (number, unit.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_people_write_them() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("14d"), Ok(Duration::from_hours(14 * 24)));
        assert_eq!(share("0.5"), Ok(0.5));
        assert_eq!(percent("0.5"), Ok(0.5));
        assert_eq!(percent("100"), Ok(100.0));
        assert_eq!(switch("off"), Ok(false));
        assert_eq!(whole("7"), Ok(7));
    }

    #[test]
    fn nonsense_is_refused_with_its_text() {
        for text in ["", "5", "s", "-5s", "5 parsecs", "99999999999999999999d"] {
            assert!(
                duration(text).is_err_and(|error| error.contains(text)),
                "{text}"
            );
        }
        for text in ["NaN", "1.01", "-0.1", "half", "1%", "-0", "-0.0"] {
            assert!(
                share(text).is_err_and(|error| error.contains(text)),
                "{text}"
            );
        }
        for text in ["NaN", "101", "100.1", "-1", "-0", "10%", "", "inf"] {
            assert!(
                percent(text).is_err_and(|error| error.contains(text)),
                "{text}"
            );
        }
        assert!(switch("ON").is_err_and(|error| error.contains("`ON`")));
        for text in ["-1", "1.5", "many", ""] {
            assert!(
                whole(text).is_err_and(|error| error.contains(text)),
                "{text}"
            );
        }
    }
}
