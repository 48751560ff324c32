//! Findings as they may be recorded.
//!
//! The comparator's own values never leave. What a finding shows of a body is cut out of the redacted body by its path;
//! of two texts, the lines are compared anew, as redacted: equal lines are still equal and different ones different,
//! because a hash is the same for the same value only. What is not found there is hidden by its hash.

use parity_schemas::record::RecordedFinding;
use parity_schemas::tally::Group;
use parity_schemas::verdict::{Excerpt, Finding, Kind, Part, Side};

use super::Redactor;
use super::body::{Bodies, Shown};
use super::json::Found;
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
        bodies: &Bodies,
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
        bodies: &Bodies,
        scope: &Scope,
    ) -> RecordedFinding {
        let path = |path: &str| self.pointer(finding.part, path, bodies.doubtful, scope);
        let candidate_path = finding.candidate_path.as_deref();
        let lines = matches!(
            (&finding.legacy, &finding.candidate),
            (Side::Line(_), _) | (_, Side::Line(_))
        );
        let (values, text_diff) = if lines {
            self.lines(finding, bodies)
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

    /// What a finding shows of one side.
    fn side(
        &self,
        finding: &Finding,
        side: &Side,
        body: &Shown,
        path: &str,
        scope: &Scope,
    ) -> Option<String> {
        match side {
            Side::Absent => None,
            Side::Bytes(digest) => Some(self.hide_digest(digest)),
            Side::Described(words) => Some(words.clone().into_owned()),
            // The text that it is wrong at has lost the key that it stood behind, so none of it is kept.
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
            // What was cut may end within a secret that is known by its end.
            Some(_) if clean != value.text => self.hide_excerpt(value),
            Some(_) => format!("{clean}{}", parity_schemas::side::CUT_MARK),
            None => clean,
        }
    }

    fn value(&self, finding: &Finding, value: &Excerpt, body: &Shown, path: &str) -> String {
        let found = match body {
            Shown::Json(document) => document.find(path),
            _ => None,
        };
        match found {
            Some(Found::Shown(text)) => begin(&text),
            Some(Found::Hidden(bytes)) => quoted(&self.hash(&bytes)),
            None if finding.kind == Kind::Decode => begin(body.text()),
            None => quoted(&self.hide_excerpt(value)),
        }
    }

    /// The first lines in which two redacted texts differ, and their diff.
    fn lines(&self, finding: &Finding, bodies: &Bodies) -> ([Option<String>; 2], Option<String>) {
        let (one, two) = (bodies.legacy.text(), bodies.candidate.text());
        let hidden = [&bodies.legacy, &bodies.candidate]
            .iter()
            .any(|body| matches!(body, Shown::Hidden(_)));
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
        let (first, second) = text::first_difference(one, two);
        let values = [first, second].map(|line| Some(begin(line.unwrap_or_default())));
        let diff = finding
            .text_diff
            .as_ref()
            .and_then(|_| text::unified(one, two, &Limits::default()));
        (values, diff)
    }
}

/// As much of a redacted text as a finding holds.
fn begin(text: &str) -> String {
    shown(text.as_bytes(), VALUE_BYTES)
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
