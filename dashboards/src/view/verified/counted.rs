//! Whether a decision can have counted what it says: sums of larger numbers would overflow, and deciding again means adding up.

use parity_schemas::extent::MOST_COUNTED;
use serde_json::Value;

/// What is no count: it is demanded, or follows from the counts and may be as large as it likes.
const NO_COUNTS: [&str; 2] = ["thresholds", "needed"];

/// What is wrong with the counts of a decision; `None` if they may be true.
pub(super) fn impossible(decision: &Value) -> Option<String> {
    let mut sum = 0;
    let place = beyond(decision, &mut sum, "decision")?;
    Some(format!(
        "its numbers add up to more than any traffic has ({MOST_COUNTED}), at the latest with {place}"
    ))
}

/// The place with which the sum of all numbers is too large.
fn beyond(value: &Value, sum: &mut u64, place: &str) -> Option<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !NO_COUNTS.contains(&name.as_str()))
            .find_map(|(name, value)| beyond(value, sum, &format!("{place}.{name}"))),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .find_map(|(number, value)| beyond(value, sum, &format!("{place}[{number}]"))),
        // A fraction or a negative number is read as such, or not at all.
        Value::Number(number) => {
            *sum = sum.saturating_add(number.as_u64().unwrap_or(0));
            (*sum >= MOST_COUNTED).then(|| place.to_owned())
        }
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}
