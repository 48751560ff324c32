//! How numbers and recorded texts are written, on every surface alike.

use parity_schemas::attributes::{HOUR, SpecialAttribute};
use parity_schemas::recheck::{ClassCounts, MismatchClass};
use parity_schemas::visible::visible_up_to;

pub use parity_comparator::decision::number as grouped;
pub use parity_comparator::decision::plural;

/// Longest name shown in a list. The JSON document and the store have the whole name.
const MAX_NAME_CHARS: usize = 120;
/// Longest sentence that is shown. Its text is parity's, but names of routes and instances in it may be long.
const MAX_SENTENCE_CHARS: usize = 1_000;

/// A captured text made visible and short.
pub fn shown(text: &str) -> String {
    visible_up_to(text, MAX_NAME_CHARS)
}

/// A sentence of parity's, with the names that it quotes made visible.
pub(crate) fn sentence(text: &str) -> String {
    visible_up_to(text, MAX_SENTENCE_CHARS)
}

/// Sentences shown of a decision: about a screen.
const MAX_SENTENCES: usize = 20;

/// The sentences of a decision, the weightiest first, and how many more there are.
pub(crate) fn sentences(reasons: &[String]) -> impl Iterator<Item = String> {
    let more = (reasons.len() as u64).saturating_sub(MAX_SENTENCES as u64);
    let told = reasons.iter().take(MAX_SENTENCES);
    let rest = (more > 0).then(|| {
        let more = plural(more, "more reason", "more reasons");
        format!("… and {more}; --output json has all")
    });
    told.map(|text| sentence(text)).chain(rest)
}

/// An error and its causes in one line.
pub(crate) fn caused(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.extend([": ", &error.to_string()]);
        cause = error.source();
    }
    text
}

/// A version as it was recorded; it may be empty.
pub(crate) fn version(version: &str) -> String {
    if version.is_empty() {
        "(no version)".to_owned()
    } else {
        shown(version)
    }
}

/// A share as a percentage that does not round a small share to nothing.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p < 0.01 => format!("{p:.4} %"),
        p if p < 10.0 => format!("{p:.2} %"),
        p => format!("{} %", format!("{p:.1}").trim_end_matches(".0")),
    }
}

/// `part` of `whole` as a percentage; `None` if `whole` is zero.
pub(crate) fn rate(part: u64, whole: u64) -> Option<String> {
    (whole > 0).then(|| percent(part as f64 / whole as f64))
}

/// How many of the received requests were compared. In a range that begins, or ends, at some minute, a request may have been received
/// in the minute before that in which it was compared: then there are more of the one than of the other, and no share.
pub(crate) fn of_received(compared: u64, received: u64) -> String {
    match compared.checked_sub(received) {
        Some(earlier @ 1..) => format!(
            "{} requests, {} more than were received in this time: these were received before it",
            grouped(compared),
            grouped(earlier)
        ),
        _ => format!(
            "{} of {} requests ({})",
            grouped(compared),
            grouped(received),
            rate(compared, received).unwrap_or_else(|| "–".to_owned())
        ),
    }
}

/// How many distinct targets there are; `-` if that is not known.
pub(crate) fn targets(distinct: u64) -> String {
    match distinct {
        0 => "-".to_owned(),
        known => grouped(known),
    }
}

/// The greatest share that the most frequent target can have; `-` if that is not known.
pub(crate) fn most_frequent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), percent)
}

/// On how many targets the verdicts rest, in one line; `None` if that is not known.
pub(crate) fn targets_line(distinct: u64, share: Option<f64>) -> Option<String> {
    /// Up to so many are counted exactly.
    const EXACT: u64 = parity_schemas::targets::FREQUENT as u64;
    let share = share.filter(|_| distinct > 0)?;
    let about = if distinct > EXACT { "about " } else { "" };
    let targets = plural(distinct, "distinct target", "distinct targets");
    Some(format!(
        "{about}{targets} (method, path and query); the most frequent one has at most {} of the verdicts",
        percent(share)
    ))
}

/// Mismatches by class, such as `confirmed 8, unconfirmed 992`; `None` if none of them was asked again.
pub(crate) fn classes(counts: &ClassCounts) -> Option<String> {
    let told: Vec<String> = counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(class, count)| format!("{class} {}", grouped(*count)))
        .collect();
    let asked = counts
        .iter()
        .any(|(class, count)| *class != MismatchClass::Unconfirmed && *count > 0);
    asked.then(|| told.join(", "))
}

pub(crate) use parity_schemas::time::elapsed;

/// What is special about the requests of a group: `query debug: 100 % of these, 12 % of the others`. `None` if nothing is.
pub(crate) fn special(found: &[SpecialAttribute]) -> Option<String> {
    let mut lines = Vec::new();
    for special in found {
        let (these, others) = special.percents();
        let name = special.attribute.replace('_', " ");
        let value = match (special.attribute.as_str(), special.value.as_str()) {
            (HOUR, hour) => format!("{hour}:00 to {hour}:59 UTC"),
            (_, value) => value.to_owned(),
        };
        let without = if special.is_absent { "without " } else { "" };
        let text = shown(&format!("{without}{name} {value}"));
        lines.push(format!(
            "{text}: {these} % of these, {others} % of the others"
        ));
    }
    (!lines.is_empty()).then(|| lines.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_compared_than_received_is_explained_and_no_share() {
        assert_eq!(of_received(15, 30), "15 of 30 requests (50 %)");
        assert_eq!(of_received(0, 0), "0 of 0 requests (–)");
        assert_eq!(
            of_received(1_030, 1_028),
            "1,030 requests, 2 more than were received in this time: these were received before it"
        );
    }

    #[test]
    fn classes_are_told_if_something_was_asked_again() {
        let of = |counts: &[(MismatchClass, u64)]| classes(&counts.iter().copied().collect());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(MismatchClass::Unconfirmed, 5)]), None);
        assert_eq!(
            of(&[
                (MismatchClass::Unconfirmed, 992),
                (MismatchClass::Confirmed, 1_008),
                (MismatchClass::Noise, 0)
            ]),
            Some("confirmed 1,008, unconfirmed 992".to_owned())
        );
    }

    #[test]
    fn of_many_sentences_the_rest_is_counted() {
        let all: Vec<String> = (0..22).map(|number| format!("reason {number}")).collect();
        let told: Vec<String> = sentences(&all).collect();
        assert_eq!(told.len(), 21);
        assert_eq!(told[20], "… and 2 more reasons; --output json has all");
        assert_eq!(sentences(&all[..20]).count(), 20);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567].map(grouped)
        );
        assert_eq!(
            ["0 %", "0.0010 %", "0.40 %", "12 %"],
            [0.0, 0.00001, 0.004, 0.12].map(percent)
        );
        assert_eq!(
            ["7 µs", "1.5 ms", "2.0 s"],
            [7, 1_500, 2_000_000].map(elapsed)
        );
        assert_eq!(["-", "1,000"], [0, 1_000].map(targets));
        assert_eq!(targets_line(0, None), None);
        assert_eq!(
            targets_line(1, Some(1.0)).as_deref(),
            Some(
                "1 distinct target (method, path and query); the most frequent one has at most 100 % of the verdicts"
            )
        );
        assert_eq!(
            targets_line(1_234, Some(0.059)).as_deref(),
            Some(
                "about 1,234 distinct targets (method, path and query); the most frequent one has at most 5.90 % of the verdicts"
            )
        );
    }
}
