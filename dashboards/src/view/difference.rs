//! One difference, whatever it was read from: two files, a recorded mismatch, or a group of a report. All three draw it from
//! here.

use parity_comparator::Limits;
use parity_schemas::json_text::escaped;
use parity_schemas::record::RecordedFinding;
use parity_schemas::report::{self, GroupExample};
use parity_schemas::verdict::{Explanation, Finding, Kind, Part};
use parity_schemas::visible::is_hidden;

use super::sides::{Drawing, Room, Sides};
use super::words::{grouped, shown};

/// Where in an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// Which part of it.
    pub(crate) part: Part,
    /// Where in that part: a JSON Pointer or the name of a field, generalized or not. Empty for the whole part.
    pub(crate) path: &'a str,
}

impl Place<'_> {
    /// The text before the path, or instead of one.
    pub(crate) fn name(&self) -> String {
        match (self.part, self.path) {
            (Part::Status, _) => Part::Status.to_string(),
            (part, "") => format!("{part}, as a whole"),
            (part, _) => part.to_string(),
        }
    }

    /// The JSON Pointer of a place in a body (RFC 6901). One with a character that nobody sees is written as its section 5 has it:
    /// as a string of JSON, in which that is an escape.
    pub(crate) fn pointer(&self) -> Option<String> {
        let is_one = self.part == Part::Body && self.path.starts_with('/');
        if !is_one || !self.path.contains(is_hidden) {
            return is_one.then(|| self.path.to_owned());
        }
        let quoted = serde_json::Value::from(self.path).to_string();
        Some(escaped(&quoted).into_owned())
    }

    /// The whole as text, made visible.
    pub(crate) fn shown(&self) -> String {
        match (self.path, self.name()) {
            ("", name) => name,
            (path, name) => format!("{name} {}", shown(path)),
        }
    }
}

/// What differs, and how.
pub(crate) struct Difference<'a> {
    /// The place in the legacy's answer, or in the candidate's for what only the candidate has.
    pub(crate) place: Place<'a>,
    /// The path in the candidate's answer, if it is another one.
    pub(crate) candidate_path: Option<&'a str>,
    /// How the sides differ.
    pub(crate) kind: Kind,
    /// In what way the two values are similar.
    pub(crate) explanation: Option<Explanation>,
    /// Mismatches at the same place without this explanation.
    pub(crate) against: u64,
    /// Both values; `None` once retention has removed them.
    pub(crate) values: Option<Values<'a>>,
}

/// Both values, as recorded (redacted) or as compared.
pub(crate) struct Values<'a> {
    /// The request that they are from, if the difference was found in several.
    pub(crate) target: Option<&'a str>,
    /// Their exact path.
    pub(crate) path: &'a str,
    /// The two.
    pub(crate) sides: Sides<'a>,
    /// What aligning two texts for a reader may cost.
    limits: Limits,
}

impl Difference<'_> {
    /// The explanation with its meaning, and how many mismatches do not have it.
    pub(crate) fn near(&self) -> Option<String> {
        let near = explained(self.explanation?);
        Some(match self.against {
            0 => near,
            against => format!(
                "{near}; perhaps by chance, for {} at the same place have no such explanation",
                grouped(against)
            ),
        })
    }
}

/// An explanation with its meaning.
pub(super) fn explained(explanation: Explanation) -> String {
    format!("{explanation}: {}", explanation.meaning())
}

impl<'a> Difference<'a> {
    /// A finding of two answers that were just compared.
    pub(crate) fn found(finding: &'a Finding, sides: Sides<'a>, limits: &Limits) -> Self {
        let place = Place {
            part: finding.part,
            path: &finding.path,
        };
        let how = (finding.kind, finding.explanation);
        Self::of_one(place, finding.candidate_path.as_deref(), how, sides, limits)
    }

    /// What differs between the two answers to one request.
    fn of_one(
        place: Place<'a>,
        candidate_path: Option<&'a str>,
        (kind, explanation): (Kind, Option<Explanation>),
        sides: Sides<'a>,
        limits: &Limits,
    ) -> Self {
        Self {
            place,
            candidate_path,
            kind,
            explanation,
            against: 0,
            values: Some(Values {
                target: None,
                path: place.path,
                sides,
                limits: *limits,
            }),
        }
    }

    /// The JSON Pointers of its place: of both answers, where they have it at two.
    pub(crate) fn pointers(&self) -> Vec<String> {
        let candidate = self.candidate_path.map(|path| Place { path, ..self.place });
        let places = std::iter::once(self.place).chain(candidate);
        places.filter_map(|place| place.pointer()).collect()
    }

    /// The lines that show best how the two values differ; `None` once retention has removed them.
    pub(crate) fn draw(&self, room: Room) -> Option<Drawing> {
        let values = self.values.as_ref()?;
        Some(values.sides.draw(self.kind, &values.limits, room))
    }
}

impl<'a> From<&'a RecordedFinding> for Difference<'a> {
    fn from(finding: &'a RecordedFinding) -> Self {
        let place = Place {
            part: finding.part,
            path: &finding.path,
        };
        let how = (finding.kind, finding.explanation);
        let sides = Sides::recorded(
            finding.legacy.as_deref(),
            finding.candidate.as_deref(),
            finding.text_diff.as_deref(),
        );
        let candidate_path = finding.candidate_path.as_deref();
        Self::of_one(place, candidate_path, how, sides, &Limits::default())
    }
}

impl<'a> From<&'a GroupExample> for Values<'a> {
    fn from(example: &'a GroupExample) -> Self {
        Self {
            target: Some(&example.target),
            path: &example.path,
            sides: Sides::recorded(
                example.legacy.as_deref(),
                example.candidate.as_deref(),
                example.text_diff.as_deref(),
            ),
            limits: Limits::default(),
        }
    }
}

impl<'a> From<report::Member<'a>> for Difference<'a> {
    fn from(member: report::Member<'a>) -> Self {
        Self {
            place: Place {
                part: member.part,
                path: member.pattern,
            },
            candidate_path: None,
            kind: member.kind,
            explanation: member.explanation,
            against: member.against,
            values: member.example.map(Values::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_place_in_a_body_has_a_pointer_and_no_character_of_it_is_unseen() {
        for (part, path, expected) in [
            (Part::Body, "/a~1b/0/~0c", Some("/a~1b/0/~0c")),
            (Part::Body, "/\u{202e}\"\n", Some(r#""/\u202e\"\n""#)),
            (Part::Body, "", None),
            (Part::Header, "etag", None),
            (Part::Status, "", None),
        ] {
            let pointer = Place { part, path }.pointer();
            assert_eq!(pointer.as_deref(), expected, "{path}");
        }
    }
}
