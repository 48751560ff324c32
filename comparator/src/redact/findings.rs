//! Redacts findings.
//!
//! The values that the comparator kept are never recorded. A value in a body is looked up in the redacted body by the
//! path of the finding. Two texts are compared again line by line after redaction: since hashes are equal only for
//! equal values, the same lines differ. A value that cannot be looked up is replaced by its hash.

use parity_schemas::record::RecordedFinding;
use parity_schemas::side::CUT_MARK;
use parity_schemas::tally::Group;
use parity_schemas::verdict::{Excerpt, Finding, Kind, Part, Side};

use super::Redactor;
use super::body::{RedactedBodies, RedactedBody};
use super::json::FoundValue;
use crate::collect::shown;
use crate::comparator::Comparison;
use crate::limits::{Limits, VALUE_BYTES};
use crate::rules::Scope;
use crate::text;

impl Redactor {
    pub(super) fn findings(
        &self,
        comparison: &Comparison,
        groups: &[Group],
        bodies: &RedactedBodies,
        scope: &Scope,
    ) -> Vec<RecordedFinding> {
        comparison
            .findings
            .iter()
            .zip(groups)
            .map(|(finding, group)| self.finding(finding, group, bodies, scope))
            .collect()
    }

    fn finding(
        &self,
        finding: &Finding,
        group: &Group,
        bodies: &RedactedBodies,
        scope: &Scope,
    ) -> RecordedFinding {
        let path = |path: &str| self.pointer(finding.part, path, bodies.doubtful, scope);
        let candidate_path = finding.candidate_path.as_deref();
        let lines = matches!(
            (&finding.legacy, &finding.candidate),
            (Side::Line(_), _) | (_, Side::Line(_))
        );
        let (values, text_diff) = if lines {
            self.lines(finding, bodies, scope)
        } else {
            let legacy = (&finding.legacy, &bodies.legacy, &*finding.path);
            let other = candidate_path.unwrap_or(&finding.path);
            let candidate = (&finding.candidate, &bodies.candidate, other);
            let values = [legacy, candidate]
                .map(|(side, body, path)| self.side(finding, side, body, path, scope));
            (values, None)
        };
        let [legacy, candidate] = values;
        RecordedFinding {
            fingerprint: group.fingerprint.clone(),
            part: finding.part,
            path: path(&finding.path),
            candidate_path: candidate_path.map(path),
            pattern: group.pattern.clone(),
            kind: finding.kind,
            legacy,
            candidate,
            explanation: finding.explanation,
            text_diff,
        }
    }

    /// What a redacted finding shows of one side.
    fn side(
        &self,
        finding: &Finding,
        side: &Side,
        body: &RedactedBody,
        path: &str,
        scope: &Scope,
    ) -> Option<String> {
        match side {
            Side::Absent => None,
            Side::Bytes(digest) => Some(self.hide_digest(digest)),
            Side::Described(words) => Some(words.clone().into_owned()),
            // Nothing of the text at which parsing failed is kept: the key before it is not known.
            Side::Broken { problem, at, .. } => Some(match at {
                Some(at) => format!("{problem}, at `{}`", self.hide_excerpt(at)),
                None => problem.clone().into_owned(),
            }),
            Side::Body(_) | Side::Line(_) => Some(begin(body.text())),
            Side::Value(value) => Some(match finding.part {
                Part::Status => value.shown().into_owned(),
                Part::Header | Part::Trailer => self.field(finding, value, path, scope),
                Part::Body => self.value(finding, value, body, path),
            }),
        }
    }

    fn field(&self, finding: &Finding, value: &Excerpt, path: &str, scope: &Scope) -> String {
        if self.hides_header(finding.part, path, scope) {
            return self.hide_excerpt(value);
        }
        let clean = self.header_value(finding.part, path, &value.text, scope);
        match value.whole {
            // A value that was cut may end inside a secret that is recognized only as a whole.
            Some(_) if clean != value.text => self.hide_excerpt(value),
            Some(_) => format!("{clean}{CUT_MARK}"),
            None => clean,
        }
    }

    fn value(&self, finding: &Finding, value: &Excerpt, body: &RedactedBody, path: &str) -> String {
        let found = match body {
            RedactedBody::Json(document) => document.find(path),
            _ => None,
        };
        match found {
            Some(FoundValue::Shown(text)) => begin(&text),
            Some(FoundValue::Hidden(bytes)) => quoted(&self.hash(&bytes)),
            None if finding.kind == Kind::Decode => begin(body.text()),
            None => quoted(&self.hide_excerpt(value)),
        }
    }

    /// The first lines in which two redacted texts differ, and their diff.
    fn lines(
        &self,
        finding: &Finding,
        bodies: &RedactedBodies,
        scope: &Scope,
    ) -> ([Option<String>; 2], Option<String>) {
        let (one, two) = (bodies.legacy.text(), bodies.candidate.text());
        let hidden = [&bodies.legacy, &bodies.candidate]
            .iter()
            .any(|body| matches!(body, RedactedBody::Hidden(_)));
        if hidden {
            return ([Some(begin(one)), Some(begin(two))], None);
        }
        if one == two {
            let sides = [&finding.legacy, &finding.candidate];
            let hashes = sides.map(|side| match side {
                Side::Line(line) => Some(self.hide_excerpt(line)),
                _ => None,
            });
            return (hashes, None);
        }
        let readable = text::for_a_reader([one, two], scope, &self.rules);
        let [one, two] = match &readable {
            Some(texts) => texts.each_ref().map(String::as_str),
            None => [one, two],
        };
        let (first, second) = text::first_difference(one, two);
        let values = [first, second].map(|line| Some(begin(line.unwrap_or_default())));
        let diff = finding
            .text_diff
            .as_ref()
            .and_then(|_| text::unified(one, two, &Limits::default()))
            .map(|diff| diff.to_string());
        (values, diff)
    }
}

/// The start of a redacted text, as long as a finding may hold.
fn begin(text: &str) -> String {
    shown(text.as_bytes(), VALUE_BYTES)
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
