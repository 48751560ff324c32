//! Rules that excuse so much that little is left to compare. They are no mistake for certain, so they are told and hold.

use super::RuleConfig;
use super::pattern::Pattern;
use super::place::Lines;
use super::segment::Segment;

impl RuleConfig {
    /// What a rule excuses, in words, if it names no field and whatever it meets counts as equal.
    pub fn excuses_everything(&self) -> Option<&'static str> {
        if self.action != "ignore" {
            return None;
        }
        if self.names_a_part() {
            let is_whole = self.column.is_none() && self.characters.is_none();
            let lines = Lines::parse(self.line.as_deref()?).ok()?;
            return (is_whole && lines.seem_all()).then_some("every line of a text");
        }
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
                rule.excuses_everything(),
                expected,
                "{part} {path} {action}"
            );
        }
    }
}
