//! Compares the clocks of two services by their `Date`.
//!
//! Both answers are to one request, so their dates differ by no more than the time that the answers took and the error
//! of the clocks. A service whose clock is wrong sets cookies that have expired, signs tokens that are not yet valid,
//! and lets caches keep old answers. Every other time in its answers may be compared by its distance from its `Date`,
//! so a wrong clock shows nowhere else.

use std::time::Duration;

use http::header::{AGE, DATE};
use parity_schemas::fields::{FieldLines, FieldValue};

use crate::instant::Instant;

/// Allowed difference of two clocks. Synchronized machines are within a second of each other. Protocols that depend on
/// clocks (Kerberos, signed requests) allow five minutes, so a service that is further off fails there, too.
const CLOCK_SLACK: Duration = Duration::from_mins(5);

/// Whether the dates of two answers are consistent, where `apart` is how long the slower one took. If a date is
/// missing, or it is not known when the answers were written, they are.
pub(super) fn agree(legacy: &FieldLines, candidate: &FieldLines, apart: Option<Duration>) -> bool {
    let (Some(apart), true, true) = (apart, legacy.contains(&DATE), candidate.contains(&DATE))
    else {
        return true;
    };
    // Of two dates a client may read either.
    if legacy.get_all(&DATE).count() != candidate.get_all(&DATE).count() {
        return false;
    }
    match (written(legacy), written(candidate)) {
        (Some(one), Some(two)) => one.abs_diff(two) <= (apart + CLOCK_SLACK).as_secs(),
        (None, None) => true,
        _ => false,
    }
}

/// When an answer was sent, in Unix seconds. A cache keeps the date and adds the age of the answer.
fn written(headers: &FieldLines) -> Option<i64> {
    let date = Instant::parse(headers.get(&DATE)?.as_bytes())?;
    Some(date.utc_seconds() + age(headers))
}

/// How many seconds after its `Date` an answer was sent.
pub(super) fn age(headers: &FieldLines) -> i64 {
    let age = headers.get(&AGE).and_then(FieldValue::as_str);
    age.and_then(|age| age.parse::<u32>().ok())
        .map_or(0, i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(date: &'static str, age: Option<&'static str>) -> FieldLines {
        let age = age.map(|age| (AGE, age));
        [(DATE, date)].into_iter().chain(age).collect()
    }

    #[test]
    fn dates_of_one_time_agree_also_through_a_cache_and_a_wrong_clock_does_not() {
        const NOON: &str = "Sun, 01 Feb 2026 12:00:00 GMT";
        let noon = at(NOON, None);
        for (date, age, seconds, expected) in [
            ("Sun, 01 Feb 2026 12:00:09 GMT", None, 0, true),
            ("Sun, 01 Feb 2026 11:55:00 GMT", None, 0, true),
            ("Sun, 01 Feb 2026 11:54:59 GMT", None, 0, false),
            ("Sun, 01 Feb 2026 11:54:59 GMT", None, 1, true),
            ("Sun, 01 Feb 2026 10:00:00 GMT", None, 0, false),
            ("Sun, 01 Feb 2026 10:00:00 GMT", Some("7200"), 0, true),
            ("Wed, 01 Jan 2020 12:00:00 GMT", None, 0, false),
            ("Sun Feb  1 12:00:00 2026", None, 0, true),
            ("yesterday", None, 0, false),
        ] {
            let other = at(date, age);
            let apart = Some(Duration::from_secs(seconds));
            assert_eq!(agree(&noon, &other, apart), expected, "{date}");
            assert_eq!(agree(&other, &noon, apart), expected, "{date}");
            assert!(agree(&noon, &other, None));
        }
        let none = FieldLines::default();
        assert!(agree(&noon, &none, Some(Duration::ZERO)));
        let twice: FieldLines = [(DATE, NOON), (DATE, "Thu, 01 Jan 1970 00:00:00 GMT")]
            .into_iter()
            .collect();
        assert!(!agree(&noon, &twice, Some(Duration::ZERO)));
        let (one, two) = (at("a", None), at("b", None));
        assert!(agree(&one, &two, Some(Duration::ZERO)));
    }
}
