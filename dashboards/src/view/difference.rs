//! One difference, whatever it was read from: two files, a recorded mismatch, or a group of a report.

use std::borrow::Cow;

use parity_schemas::record::RecordedFinding;
use parity_schemas::report::{self, GroupExample};
use parity_schemas::verdict::{Explanation, Finding, Kind, Part, TextDiff};

use super::words::grouped;

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
    /// The legacy's; `None` where it has none.
    pub(crate) legacy: Option<Cow<'a, str>>,
    /// The candidate's, likewise.
    pub(crate) candidate: Option<Cow<'a, str>>,
    /// For texts: a unified diff.
    pub(crate) text_diff: Option<Cow<'a, TextDiff>>,
}

impl Difference<'_> {
    /// The explanation with its meaning, and how many mismatches do not have it.
    pub(crate) fn near(&self) -> Option<String> {
        let explanation = self.explanation?;
        let meaning = explanation.meaning();
        Some(match self.against {
            0 => format!("{explanation}: {meaning}"),
            against => format!(
                "{explanation}: {meaning}; perhaps by chance, for {} at the same place have no such explanation",
                grouped(against)
            ),
        })
    }
}

impl<'a> Difference<'a> {
    /// A finding of one exchange; `legacy` and `candidate` are its two values.
    fn of_finding(
        place: Place<'a>,
        candidate_path: Option<&'a str>,
        kind: Kind,
        explanation: Option<Explanation>,
        [legacy, candidate]: [Option<Cow<'a, str>>; 2],
        text_diff: Option<Cow<'a, TextDiff>>,
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
                legacy,
                candidate,
                text_diff,
            }),
        }
    }
}

impl<'a> From<&'a Finding> for Difference<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self::of_finding(
            Place {
                part: finding.part,
                path: &finding.path,
            },
            finding.candidate_path.as_deref(),
            finding.kind,
            finding.explanation,
            [finding.legacy.shown(), finding.candidate.shown()],
            finding.text_diff.as_ref().map(Cow::Borrowed),
        )
    }
}

/// A diff as records hold it.
fn recorded<'a>(text: Option<&str>) -> Option<Cow<'a, TextDiff>> {
    text.map(|text| Cow::Owned(TextDiff::read(text)))
}

impl<'a> From<&'a RecordedFinding> for Difference<'a> {
    fn from(finding: &'a RecordedFinding) -> Self {
        let values = [&finding.legacy, &finding.candidate];
        Self::of_finding(
            Place {
                part: finding.part,
                path: &finding.path,
            },
            finding.candidate_path.as_deref(),
            finding.kind,
            finding.explanation,
            values.map(|value| value.as_deref().map(Cow::Borrowed)),
            recorded(finding.text_diff.as_deref()),
        )
    }
}

impl<'a> From<&'a GroupExample> for Values<'a> {
    fn from(example: &'a GroupExample) -> Self {
        Self {
            target: Some(&example.target),
            path: &example.path,
            legacy: example.legacy.as_deref().map(Cow::Borrowed),
            candidate: example.candidate.as_deref().map(Cow::Borrowed),
            text_diff: recorded(example.text_diff.as_deref()),
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
