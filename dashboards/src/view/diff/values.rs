//! The two values of a difference, in the form that shows best how they differ.

use std::borrow::Cow;

use parity_comparator::{Limits, text};
use parity_schemas::verdict::{Finding, Kind, Part, TextDiff};

use super::bytes::{self, FirstByte, LineEnds};
use super::order::Order;

/// A form in which two values are shown.
pub(crate) enum Form<'a> {
    /// Two texts that differ only in their line ends.
    LineEnds([LineEnds; 2]),
    /// Two texts of several lines.
    Lines(Cow<'a, TextDiff>),
    /// Two bodies that are not text.
    Bytes(FirstByte<'a>),
    /// Two arrays of the same elements.
    Order(Order),
    /// Two values without marks of what changed, because one of them is a message ("not valid JSON") or elements have moved.
    Apart([Cow<'a, str>; 2]),
    /// Two values in which the changed parts are marked.
    Both([Cow<'a, str>; 2]),
    /// Only the legacy has one.
    OnlyLegacy(Cow<'a, str>),
    /// Only the candidate has one.
    OnlyCandidate(Cow<'a, str>),
    /// No value can be shown.
    Nothing,
}

impl<'a> Form<'a> {
    pub(super) fn of(finding: &'a Finding, bodies: [&'a [u8]; 2], limits: &Limits) -> Self {
        if finding.part == Part::Body && finding.path.is_empty() && finding.kind == Kind::Value {
            if let Some(ends) = bytes::line_ends(finding, bodies) {
                return Self::LineEnds(ends);
            }
            if let Some(diff) = &finding.text_diff
                && !is_one_line(&diff.lines)
            {
                return Self::Lines(Cow::Borrowed(diff));
            }
            if let Some(first) = bytes::first_byte(finding, bodies) {
                return Self::Bytes(first);
            }
        }
        match (finding.legacy.shown(), finding.candidate.shown()) {
            (Some(legacy), Some(candidate)) => match finding.kind {
                Kind::Order => Order::of(&legacy, &candidate)
                    .map_or(Self::Apart([legacy, candidate]), Self::Order),
                Kind::Decode => Self::Apart([legacy, candidate]),
                _ => strings(&legacy, &candidate, limits).map_or_else(
                    || Self::Both([legacy, candidate]),
                    |diff| Self::Lines(Cow::Owned(diff)),
                ),
            },
            (Some(legacy), None) => Self::OnlyLegacy(legacy),
            (None, Some(candidate)) => Self::OnlyCandidate(candidate),
            (None, None) => Self::Nothing,
        }
    }
}

/// Whether a diff replaces one line by one line. Then showing the two values is clearer.
fn is_one_line(diff: &str) -> bool {
    let mut lines = diff.lines().filter(|line| !line.starts_with('\\'));
    let signs = [lines.next(), lines.next(), lines.next()];
    let is = |line: Option<&str>, sign| line.is_some_and(|line| line.starts_with(sign));
    is(signs[0], "@@") && is(signs[1], "-") && is(signs[2], "+") && lines.next().is_none()
}

/// The diff of two strings of which at least one has several lines; `None` for other values.
fn strings(legacy: &str, candidate: &str, limits: &Limits) -> Option<TextDiff> {
    let (one, two) = (string(legacy)?, string(candidate)?);
    let inner = |text: &str| text.trim_end_matches('\n').contains('\n');
    if !inner(&one) && !inner(&two) {
        return None;
    }
    text::unified(&one, &two, limits)
}

/// The content of a complete JSON string.
fn string(value: &str) -> Option<String> {
    value
        .starts_with('"')
        .then(|| serde_json::from_str(value).ok())
        .flatten()
}

/// Escapes both strings in the same way, because equal characters with different escapes would look like a change.
pub(crate) fn alike<'a>(legacy: &'a str, candidate: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    if let (Some(one), Some(two)) = (string(legacy), string(candidate))
        && (legacy.contains('\\') || candidate.contains('\\'))
        && let (Ok(one), Ok(two)) = (serde_json::to_string(&one), serde_json::to_string(&two))
    {
        return (one.into(), two.into());
    }
    (legacy.into(), candidate.into())
}
