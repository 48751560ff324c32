//! What becomes of recorded mismatches under other rules.
//!
//! A rule that excuses a group as a whole, by place, kind and explanation, needs no values. Where that is not enough, the stored
//! answers of an example are compared again, under both rules. They are redacted, so they prove something only if the rules that
//! the difference was found by find it in them once more, and if neither value is a hash. Everything else is not known, and who
//! decides on this counts it as a difference.

use std::fmt::Write;
use std::sync::Arc;

use http::Method;
use http::header::CONTENT_TYPE;
use parity_schemas::evidence::GroupEvidence;
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldValue;
use parity_schemas::record::{Mismatch, RecordedFinding, RecordedMessage};
use parity_schemas::verdict::{Finding, Verdict};

use crate::media::{BodyKind, Declared};
use crate::message::read_answer;
use crate::rules::Rules;
use crate::{AnswerPair, Comparator, Comparison, Limits};

/// What a redacted value begins with, wherever it stands in a text.
const HASHED: &str = "hmac:";

/// What is known of a difference under other rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is none any more.
    Equal,
    /// It still is one.
    Differs,
    /// The record does not say.
    CannotTell,
}

/// Compares again.
pub struct Retrial {
    after: Arc<Rules>,
    comparators: [Comparator; 2],
}

impl Retrial {
    /// From some rules to others.
    pub fn new(before: Arc<Rules>, after: Arc<Rules>) -> Self {
        let comparators =
            [before, Arc::clone(&after)].map(|rules| Comparator::new(rules, Limits::default()));
        Self { after, comparators }
    }

    /// What follows for a group from its place, kind and explanation, whatever its values are.
    pub fn group(&self, group: &GroupEvidence) -> Told {
        if self.after.surely_excuse(group) {
            Told::Equal
        } else if self.after.may_reach(group) {
            Told::CannotTell
        } else {
            Told::Differs
        }
    }

    /// What the stored answers of a mismatch say of its differences of one group.
    pub fn example(&mut self, mismatch: &Mismatch, fingerprint: &str) -> Told {
        let findings = mismatch.findings.iter();
        let findings: Vec<&RecordedFinding> = findings
            .filter(|finding| finding.fingerprint == fingerprint)
            .collect();
        let hashed = |value: &Option<String>| value.as_deref().is_some_and(|v| v.contains(HASHED));
        let is_hidden = |finding: &&RecordedFinding| {
            hashed(&finding.legacy) || hashed(&finding.candidate) || finding.path.contains('*')
        };
        if findings.is_empty() || mismatch.findings_cut || findings.iter().any(is_hidden) {
            return Told::CannotTell;
        }
        let Some([before, after]) = self.compared(mismatch) else {
            return Told::CannotTell;
        };
        let is_found = |finding: &&RecordedFinding| {
            let mut found = before.findings.iter();
            found.any(|found| found.explanation == finding.explanation && is_at(found, finding))
        };
        if !findings.iter().all(is_found) {
            return Told::CannotTell;
        }
        let is_left = |finding: &&RecordedFinding| {
            let mut found = after.findings.iter();
            found.any(|found| {
                let below = found.path.strip_prefix(&*finding.path);
                found.part == finding.part
                    && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            })
        };
        match after.verdict {
            _ if findings.iter().any(is_left) => Told::Differs,
            Verdict::NotCompared(_) => Told::CannotTell,
            _ if after.is_complete() => Told::Equal,
            _ => Told::CannotTell,
        }
    }

    /// The stored answers, compared under both rules; `None` if they are not stored whole.
    fn compared(&mut self, mismatch: &Mismatch) -> Option<[Comparison; 2]> {
        let sample = mismatch.sample.as_ref()?;
        let method = Method::from_bytes(mismatch.method.as_bytes()).ok()?;
        let mut legacy = answer(mismatch.legacy_status, &sample.legacy)?;
        let mut candidate = answer(mismatch.candidate_status, &sample.candidate)?;
        if are_recorded_as_json(&legacy, &candidate) {
            // Without a type they are compared as what they are.
            for answer in [&mut legacy, &mut candidate] {
                answer.headers = answer.headers.partition(|name| *name != CONTENT_TYPE).0;
            }
        }
        Some(self.comparators.each_mut().map(|comparator| {
            comparator.explain_answers(AnswerPair {
                route: &mismatch.route,
                method: &method,
                request: None,
                time: mismatch.time,
                legacy: &legacy,
                candidate: &candidate,
                asked_together: true,
            })
        }))
    }
}

/// Whether two tables, or two answers in XML, were recorded as the JSON that they were compared as. Neither begins like it.
fn are_recorded_as_json(legacy: &Capture, candidate: &Capture) -> bool {
    let sides = [legacy, candidate];
    let [one, two] = sides.map(|answer| answer.headers.get(&CONTENT_TYPE));
    let is_same_type = one.map(FieldValue::as_bytes) == two.map(FieldValue::as_bytes);
    is_same_type
        && sides.iter().all(|answer| {
            let first = answer.body.contiguous().first().copied();
            match Declared::of(&answer.headers).kind {
                Some(BodyKind::Xml) => first == Some(b'{'),
                Some(BodyKind::Csv) => first == Some(b'['),
                _ => false,
            }
        })
}

fn is_at(found: &Finding, finding: &RecordedFinding) -> bool {
    found.part == finding.part && found.path == finding.path && found.kind == finding.kind
}

/// A recorded answer as one that was captured. Its body was recorded decoded.
fn answer(status: u16, message: &RecordedMessage) -> Option<Capture> {
    if message.body_cut {
        return None;
    }
    let mut text = format!("HTTP/1.1 {status} Recorded\r\n");
    for (name, value) in &message.headers {
        let is_of_transport = matches!(
            name.as_str(),
            "content-length" | "transfer-encoding" | "content-encoding" | "trailer"
        );
        if value.contains(['\r', '\n']) {
            return None;
        }
        if !is_of_transport {
            write!(text, "{name}: {value}\r\n").ok()?;
        }
    }
    write!(
        text,
        "content-length: {}\r\n\r\n{}",
        message.body.len(),
        message.body
    )
    .ok()?;
    read_answer(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests;
