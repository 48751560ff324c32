//! Values of a question as people write them. What reads them says what was expected, with an example.

use parity_schemas::evidence::{Outcome, Thresholds};
use parity_schemas::noise::NoiseUse;
use parity_schemas::recheck::MismatchClass;
use parity_schemas::route::{OTHER, RouteError, RoutePolicy, RouteRule};
use parity_schemas::spelling;
use parity_schemas::time::Timestamp;
use parity_schemas::value;
use parity_schemas::verdict::Reason;

/// A time, or an age before now.
pub(crate) fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(age) = value::duration(text) {
        let micros = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        return Ok(Timestamp::now().saturating_add_micros(-micros));
    }
    text.parse().map_err(|_| {
        format!(
            "`{text}` is neither a time with an offset, such as 2026-01-31T09:30:00Z, nor an age, such as 15m, 2h or 7d"
        )
    })
}

pub(super) fn confidence(text: &str) -> Result<f64, String> {
    value::share(text)
        .ok()
        .filter(|confidence| Thresholds::CONFIDENCE.contains(confidence))
        .ok_or_else(|| {
            format!(
                "`{text}` is not a confidence; write a number from 0.5 to below 1, for example 0.95"
            )
        })
}

/// What to do with noise.
pub(super) fn noise_use(word: &str) -> Result<NoiseUse, String> {
    word.parse().map_err(|_| {
        let known: Vec<String> = NoiseUse::ALL
            .iter()
            .map(|known| format!("{} ({})", known.as_str(), known.meaning()))
            .collect();
        format!(
            "`{word}` is not a use of noise; there are {}",
            known.join(", ")
        )
    })
}

/// A reason and a share.
pub(super) fn not_compared(text: &str) -> Result<(Reason, f64), String> {
    let (word, allowed) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not REASON=SHARE; write for example stream=0.01"))?;
    let reason = word.trim().parse().map_err(|_| {
        let known: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        let hint = spelling::hint(word, &known);
        format!("`{text}`: `{word}` is no reason why a request is not compared; {hint}")
    })?;
    Ok((reason, value::share(allowed.trim())?))
}

/// Checks that `text` is the label of a route as reports write it. A label in another form would name a route that can
/// never be seen, and the gate would wait for it in vain.
pub(super) fn route(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text == OTHER {
        return Ok(text.to_owned());
    }
    // The label of a received path may contain characters that a [[route]] must not.
    let label = text.replace(['{', '}', '?', '#'], "");
    match RouteRule::parse(&label, RoutePolicy::default()) {
        // `* /path` is a [[route]] for every method, which no label in a report begins with. A label that parsing changes
        // is not in the form that reports use.
        Ok(rule) if rule.label() == label && !label.starts_with('*') => Ok(text.to_owned()),
        Err(_) if text == "OPTIONS *" => Ok(text.to_owned()),
        Err(error @ RouteError::Operation(_)) => Err(error.to_string()),
        _ => Err(format!(
            "`{text}` is not a route; write METHOD /template as the report has it, for example \"GET /users/{{id}}\""
        )),
    }
}

/// The outcome of a decision.
pub fn outcome(text: &str) -> Result<Outcome, String> {
    text.parse().map_err(|_| {
        let known: Vec<&str> = Outcome::ALL.iter().map(|word| word.as_str()).collect();
        format!("`{text}` is no outcome; {}", spelling::hint(text, &known))
    })
}

/// The class of a mismatch.
pub(crate) fn class(text: &str) -> Result<MismatchClass, String> {
    text.parse().map_err(|_| {
        let known: Vec<&str> = MismatchClass::ALL
            .iter()
            .map(|class| class.as_str())
            .collect();
        format!("`{text}` is not a class; {}", spelling::hint(text, &known))
    })
}

/// How many records of a list, of at most `most`.
pub fn limit(text: &str, most: usize) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|limit| (1..=most).contains(limit))
        .ok_or_else(|| format!("`{text}` is not a number from 1 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_time_or_an_age() {
        assert_eq!(
            since("2026-01-01T00:00:00Z").expect("a time").to_string(),
            "2026-01-01T00:00:00.000000Z"
        );
        assert!(since("15m").expect("an age") < Timestamp::now());
        assert!(
            since("yesterday")
                .expect_err("a word")
                .contains("`yesterday`")
        );
    }

    #[test]
    fn routes_are_labels_of_reports() {
        for label in [
            "GET /users/{id}",
            "_other",
            "OPTIONS *",
            "POST /",
            " GET /a ",
        ] {
            assert_eq!(route(label).expect(label), label.trim());
        }
    }

    #[test]
    fn a_limit_is_a_number_from_one() {
        assert_eq!(limit("7", 10), Ok(7));
        for text in ["0", "11", "many", "-1", ""] {
            assert_eq!(
                limit(text, 10),
                Err(format!("`{text}` is not a number from 1 to 10"))
            );
        }
    }
}
