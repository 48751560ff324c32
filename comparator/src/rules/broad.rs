//! Rules that excuse so much that little is left to compare. They are no mistake for certain, so they are told and hold.

use parity_schemas::verdict::Explanation;

use super::parts::Parts;
use super::pattern::Pattern;
use super::place::{Lines, Span};
use super::segment::Segment;
use super::{RuleConfig, action};
use crate::explain::Nanoseconds;

/// With this tolerance any two numbers of one sign are equal.
const ANY_RELATIVE: f64 = 1.0;
/// Beyond what a number of a service is rounded by, or a double can hold exactly.
const ANY_ABSOLUTE: f64 = 1e15;
/// Longer than anything is late: a year.
const ANY_WITHIN: u128 = 365 * DAY;
/// The same for a rule that holds for all values, also for those that nobody thought of: half of each, a thousand of anything,
/// a day.
const MUCH_RELATIVE: f64 = 0.5;
const MUCH_ABSOLUTE: f64 = 1_000.0;
const MUCH_WITHIN: u128 = DAY;
const DAY: u128 = 86_400_000_000_000;
/// So many explanations that a wrong value may have, too, hardly leave one that has none.
const MANY_EXPLANATIONS: usize = 3;
/// A range of so many characters from the first is a whole line.
const LINE_CHARACTERS: usize = 200;
/// Texts that are unlike each other: an expression that captures all of each captures all of any.
const UNLIKE: [&str; 6] = [
    "a",
    "12",
    "settled in 95 ms",
    "2026-01-31T09:30:00Z",
    "{\"a\": 1}",
    "<p>x</p>",
];

impl RuleConfig {
    /// What a rule excuses, in words, if it names no field, or no bound, and whatever it meets counts as equal.
    pub fn excuses_everything(&self) -> Option<String> {
        match self.action.as_str() {
            "ignore" => self.ignores_everything().map(str::to_owned),
            "tolerance" => {
                let what = self.tolerates_everything()?;
                Some(match self.every_place() {
                    Some(place) => format!("{place} that is {what}"),
                    None => what.to_owned(),
                })
            }
            "parts" => {
                let parts = Parts::new(self.pattern.as_deref()?).ok()?;
                let is_all = UNLIKE
                    .iter()
                    .all(|text| parts.leave_nothing(text.as_bytes()));
                // Of one field that is what `ignore` says.
                let place = self.every_place().filter(|_| is_all)?;
                Some(format!(
                    "{place} that is a text, because the pattern captures all of it"
                ))
            }
            "accept" => {
                let rough = self.explanations.iter().filter(|word| {
                    let explanation = word.parse::<Explanation>();
                    explanation.is_ok_and(action::is_rough)
                });
                let place = self
                    .every_place()
                    .filter(|_| rough.count() >= MANY_EXPLANATIONS)?;
                Some(format!("{place} that has one of so many explanations"))
            }
            _ => None,
        }
    }

    fn tolerates_everything(&self) -> Option<&'static str> {
        let number = |text: &Option<String>| text.as_deref()?.trim().parse::<f64>().ok();
        let (relative, absolute) = (number(&self.relative), number(&self.absolute));
        let within = self.within.as_deref().and_then(|text| {
            Nanoseconds::parse(text.trim().as_bytes()).and_then(Nanoseconds::count)
        });
        let is_every = self.every_place().is_some() && !self.names_a_part();
        let limits = if is_every {
            (MUCH_RELATIVE, MUCH_ABSOLUTE, MUCH_WITHIN)
        } else {
            (ANY_RELATIVE, ANY_ABSOLUTE, ANY_WITHIN)
        };
        if relative.is_some_and(|relative| relative >= ANY_RELATIVE) {
            return Some("any number of the same sign");
        }
        if relative.is_some_and(|relative| relative >= limits.0)
            || absolute.is_some_and(|absolute| absolute >= limits.1)
        {
            return Some("almost any number");
        }
        within
            .is_some_and(|within| within >= limits.2)
            .then_some("almost any time")
    }

    fn ignores_everything(&self) -> Option<&'static str> {
        if !self.names_a_part() {
            return self.every_place();
        }
        let is_any_line = match self.line.as_deref() {
            None => true,
            Some(text) => Lines::parse(text).ok()?.seem_all(),
        };
        if let Some(text) = self.characters.as_deref() {
            let span = Span::characters(text).ok()?;
            let is_line = matches!(span, Span::Characters(1, last) if last >= LINE_CHARACTERS);
            return (is_any_line && is_line).then_some("every line of a text");
        }
        let is_whole = self.column.is_none() && self.line.is_some();
        (is_any_line && is_whole).then_some("every line of a text")
    }

    /// What a rule holds for, in words, if it names no field.
    fn every_place(&self) -> Option<&'static str> {
        match self.part.as_deref() {
            None | Some("body") => {
                let pattern = Pattern::body(&self.path).ok()?;
                let segments = pattern.segments();
                let is_any = |segment: &Segment| matches!(segment, Segment::Any | Segment::Deep);
                let is_deep = segments.contains(&Segment::Deep) || segments.is_empty();
                match (segments.iter().all(is_any), is_deep, segments.len()) {
                    (false, ..) => None,
                    (true, true, _) => Some("everything in a body"),
                    (true, false, 1) => Some("every field of a body, and what is in it"),
                    (true, false, _) => Some("every value below the first fields of a body"),
                }
            }
            Some("header") => self.is_for_any_name().then_some("every header"),
            Some("trailer") => self.is_for_any_name().then_some("every trailer"),
            Some("status") => Some("every other status code"),
            Some(_) => None,
        }
    }

    /// Whether it is for a part of a text.
    fn names_a_part(&self) -> bool {
        let keys = [&self.line, &self.column, &self.characters, &self.element];
        keys.iter().any(|key| key.is_some())
    }

    fn is_for_any_name(&self) -> bool {
        let pattern = Pattern::header(&self.path);
        pattern.is_ok_and(|pattern| {
            let first = pattern.segments().first();
            matches!(first, Some(Segment::Any | Segment::Deep))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_name_nothing_are_told_and_rules_that_name_a_field_are_not() {
        for (part, path, action, expected) in [
            ("body", "", "ignore", Some("everything in a body")),
            ("body", "/**", "ignore", Some("everything in a body")),
            ("body", "/**/*", "ignore", Some("everything in a body")),
            ("body", "$..*", "ignore", Some("everything in a body")),
            (
                "body",
                "/*",
                "ignore",
                Some("every field of a body, and what is in it"),
            ),
            (
                "body",
                "/*/*",
                "ignore",
                Some("every value below the first fields of a body"),
            ),
            ("header", "*", "ignore", Some("every header")),
            ("trailer", "*", "ignore", Some("every trailer")),
            ("status", "", "ignore", Some("every other status code")),
            ("body", "/**/id", "ignore", None),
            ("body", "/items/*", "ignore", None),
            ("body", "/0", "ignore", None),
            ("body", "no path", "ignore", None),
            ("body", "/**", "unordered", None),
            ("body", "/**", "mask", None),
            ("header", "x-id", "ignore", None),
            ("header", "set-cookie", "ignore", None),
        ] {
            let rule = RuleConfig {
                part: Some(part.to_owned()),
                ..RuleConfig::new("r", path, action)
            };
            assert_eq!(
                rule.excuses_everything().as_deref(),
                expected,
                "{part} {path} {action}"
            );
        }
    }

    #[test]
    fn rules_that_take_any_value_for_equal_are_told_and_bounds_are_not() {
        let rule = |path: &str, action: &str| RuleConfig::new("r", path, action);
        let absolute = |path: &str, by: &str| RuleConfig {
            absolute: Some(by.to_owned()),
            ..rule(path, "tolerance")
        };
        let relative = |path: &str, by: &str| RuleConfig {
            relative: Some(by.to_owned()),
            ..rule(path, "tolerance")
        };
        let within = |path: &str, by: &str| RuleConfig {
            within: Some(by.to_owned()),
            ..rule(path, "tolerance")
        };
        let parts = |path: &str, pattern: &str| RuleConfig {
            pattern: Some(pattern.to_owned()),
            ..rule(path, "parts")
        };
        let accept = |path: &str, words: &[&str]| RuleConfig {
            explanations: words.iter().map(|word| (*word).to_owned()).collect(),
            ..rule(path, "accept")
        };
        let characters = |line: Option<&str>, range: &str| RuleConfig {
            line: line.map(str::to_owned),
            characters: Some(range.to_owned()),
            ..rule("", "ignore")
        };
        let rough = ["rounded", "truncated", "case_only"];
        for (rule, is_told) in [
            (absolute("/**", "1e300"), true),
            (absolute("/price", "1e30"), true),
            (absolute("/**", "0.01"), false),
            (absolute("/price", "5000"), false),
            (relative("/**", "1"), true),
            (relative("/price", "2"), true),
            (relative("/price", "0.9"), false),
            (relative("/**", "0.05"), false),
            (within("/**", "87600h"), true),
            (within("/at", "100000h"), true),
            (within("/**", "5s"), false),
            (within("/at", "48h"), false),
            (parts("", "(?s)(.*)"), true),
            (parts("/**", "^(.*)$"), true),
            (parts("/**", "(.+)"), true),
            (parts("", "(.)"), true),
            (parts("/note", "(.*)"), false),
            (parts("/**", r"in (\d+) ms"), false),
            (accept("/**", &rough), true),
            (accept("/**", &rough[..2]), false),
            (accept("/name", &rough), false),
            (
                accept("/**", &["null_vs_missing", "type_only", "empty_vs_missing"]),
                false,
            ),
            (characters(None, "1-99999"), true),
            (characters(Some("."), "1-99999"), true),
            (characters(Some("^at"), "1-99999"), false),
            (characters(None, "10-19"), false),
        ] {
            let told = rule.excuses_everything();
            assert_eq!(told.is_some(), is_told, "{rule:?}: {told:?}");
        }
    }
}
