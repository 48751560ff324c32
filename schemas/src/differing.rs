//! In what two documents differ, place by place.
//!
//! Whoever checks a document against another one wants to know of every field that is not the same, also of those that are
//! added later. So nobody lists fields here: both are walked as JSON.

use serde::Serialize;
use serde_json::Value;

/// Numbers that differ by less, as a share of the larger one, are the same: another machine may round the last digit of a
/// logarithm otherwise.
const ROUNDED: f64 = 1e-9;
/// And near zero, by less than this.
const NOTHING: f64 = 1e-12;
/// Longest part of a value that is told, in characters.
const MAX_SHOWN: usize = 200;
/// What tells elements of a list apart: the first of these members that they have.
const NAMES: [&str; 4] = ["route", "instance", "rules_hash", "id"];

/// One place where two documents differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// As in `routes[GET /a].lower`.
    pub place: String,
    /// What the first one has there; `None` if nothing.
    pub one: Option<String>,
    /// What the other one has there.
    pub other: Option<String>,
}

impl Difference {
    /// In a sentence without a full stop; `here` and `there` are words for the two documents: `in the file`.
    pub fn told(&self, here: &str, there: &str) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
        format!(
            "{} is {} {here}, and {} {there}",
            self.place,
            text(&self.one),
            text(&self.other)
        )
    }
}

/// Every place where two documents differ, in the order of the first one.
pub fn differing<T: Serialize>(one: &T, other: &T) -> Vec<Difference> {
    let [one, other] = [one, other].map(|document| {
        // A number that JSON does not have becomes null, and a document is made of nothing else that could fail.
        serde_json::to_value(document).unwrap_or_default()
    });
    let mut found = Vec::new();
    walk(&mut found, "", Some(&one), Some(&other));
    found
}

/// The members that a document has as it was written, and that are gone once it was read and written again: what its reader
/// does not know. What says nothing (null, false, an empty list) is not among them.
pub fn unknown<T: Serialize>(written: &Value, read: &T) -> Vec<String> {
    let read = serde_json::to_value(read).unwrap_or_default();
    let mut found = Vec::new();
    walk(&mut found, "", Some(written), Some(&read));
    let says = |difference: &Difference| {
        let nothing = ["null", "false", "[]", "{}", "\"\""];
        difference.other.is_none()
            && difference
                .one
                .as_deref()
                .is_some_and(|one| !nothing.contains(&one))
    };
    let unknown = found.into_iter().filter(says);
    unknown.map(|difference| difference.place).collect()
}

fn walk(found: &mut Vec<Difference>, place: &str, one: Option<&Value>, other: Option<&Value>) {
    match (one, other) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let more = other.keys().filter(|name| !one.contains_key(*name));
            for name in one.keys().chain(more) {
                let place = match place {
                    "" => name.clone(),
                    place => format!("{place}.{name}"),
                };
                walk(found, &place, one.get(name), other.get(name));
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for number in 0..one.len().max(other.len()) {
                let [one, other] = [one.get(number), other.get(number)];
                let name = name(one.or(other)).unwrap_or_else(|| number.to_string());
                walk(found, &format!("{place}[{name}]"), one, other);
            }
        }
        (Some(Value::Number(one)), Some(Value::Number(other))) if near(one, other) => {}
        (one, other) if one == other => {}
        (one, other) => found.push(Difference {
            place: place.to_owned(),
            one: one.map(shown),
            other: other.map(shown),
        }),
    }
}

fn name(element: Option<&Value>) -> Option<String> {
    let members = element?.as_object()?;
    let mut names = NAMES.iter().filter_map(|name| members.get(*name)?.as_str());
    names.next().map(str::to_owned)
}

fn near(one: &serde_json::Number, other: &serde_json::Number) -> bool {
    if let (Some(one), Some(other)) = (one.as_i128(), other.as_i128()) {
        return one == other;
    }
    let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) else {
        return one == other;
    };
    (one - other).abs() <= (ROUNDED * one.abs().max(other.abs())).max(NOTHING)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= MAX_SHOWN {
        return text;
    }
    text.chars().take(MAX_SHOWN).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn places(one: &Value, other: &Value) -> Vec<String> {
        let found = differing(one, other).into_iter();
        found.map(|difference| difference.place).collect()
    }

    #[test]
    fn every_place_is_named_and_what_is_the_same_is_not() {
        let one =
            json!({"a": 1, "routes": [{"route": "GET /a", "n": 1}, {"route": "GET /b"}], "x": [1]});
        let other = json!({"a": 2, "routes": [{"route": "GET /a", "n": 2}], "x": [1], "more": {}});
        let expected = ["a", "more", "routes[GET /a].n", "routes[GET /b]"];
        let mut found = places(&one, &other);
        found.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!(places(&one, &one), [""; 0]);
    }

    #[test]
    fn numbers_are_exact_if_they_are_whole_and_may_be_rounded_if_not() {
        for (one, other, same) in [
            (json!(u64::MAX), json!(u64::MAX - 1), false),
            (json!(0.1), json!(0.100_000_000_000_01), true),
            (json!(0.1), json!(0.100_001), false),
            (json!(1e-7), json!(1.1e-7), false),
            (json!(1), json!(1.0), true),
            (json!(1), json!("1"), false),
            (json!(null), json!(0), false),
        ] {
            assert_eq!(places(&one, &other).is_empty(), same, "{one} {other}");
        }
    }

    #[test]
    fn what_a_reader_does_not_know_is_named_unless_it_says_nothing() {
        let written = json!({"a": 1, "b": {"c": 2, "d": null}, "e": [], "f": false});
        assert_eq!(unknown(&written, &json!({"a": 1, "b": {}})), ["b.c"]);
    }
}
