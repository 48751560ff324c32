//! What becomes of recorded mismatches under other rules.
//!
//! A rule that excuses a group as a whole, by place, kind and explanation, needs no values. Where that is not enough, the stored
//! answers of an example are compared again, under both rules. They are redacted, so they prove something only if the rules that
//! the difference was found by find it in them once more. Where a hash stands in a text that is compared, what it stands for is
//! tried by values of many forms ([`stand_ins`]): only what holds for all of them is said. Everything else is not known.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::CONTENT_TYPE;
use parity_schemas::evidence::GroupEvidence;
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldValue;
use parity_schemas::record::{Mismatch, RecordedFinding, RecordedMessage, Sample};
use parity_schemas::side::CUT_MARK;
use parity_schemas::trial::Untold;
use parity_schemas::verdict::{Finding, Part, Verdict};

use crate::media::{BodyKind, Declared};
use crate::message::read_answer;
use crate::redact::{RedactConfig, Redactor};
use crate::rules::Rules;
use crate::{AnswerPair, Comparator, Comparison, Limits};

use self::stand_ins::HASHED;

mod hidden;
mod stand_ins;

/// What is known of a difference under other rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is none any more.
    Equal,
    /// It still is one.
    Differs,
    /// The record does not say, for this reason.
    CannotTell(Untold),
}

/// Compares again.
pub struct Retrial {
    before: Arc<Rules>,
    after: Arc<Rules>,
    comparators: [Comparator; 2],
    /// As the answers were redacted, with the names of secrets that are built in. `None` if that cannot be known.
    redactor: Option<Redactor>,
}

impl Retrial {
    /// From some rules to others.
    pub fn new(before: Arc<Rules>, after: Arc<Rules>) -> Self {
        let config = RedactConfig::default();
        let redactor = Redactor::new(&config, stand_ins::KEY, Arc::clone(&before)).ok();
        let comparators =
            [&before, &after].map(|rules| Comparator::new(Arc::clone(rules), Limits::default()));
        Self {
            before,
            after,
            comparators,
            redactor,
        }
    }

    /// What follows for a group from its place, kind and explanation, whatever its values are; `None` if they decide.
    pub fn group(&self, group: &GroupEvidence) -> Option<Told> {
        if self.after.surely_excuse(group) {
            Some(Told::Equal)
        } else if self.after.may_reach(&self.before, group) {
            None
        } else {
            Some(Told::Differs)
        }
    }

    /// What the stored answers of a mismatch say of its differences of one group.
    pub fn example(&mut self, mismatch: &Mismatch, fingerprint: &str) -> Told {
        let findings = mismatch.findings.iter();
        let findings: Vec<&RecordedFinding> = findings
            .filter(|finding| finding.fingerprint == fingerprint)
            .collect();
        let Some(sample) = &mismatch.sample else {
            return Told::CannotTell(Untold::NotStored);
        };
        if findings.is_empty()
            || mismatch.findings_cut
            || sample.legacy.body_cut
            || sample.candidate.body_cut
        {
            return Told::CannotTell(Untold::Cut);
        }
        if findings.iter().any(|finding| finding.path.contains('*')) {
            return Told::CannotTell(Untold::Hashed);
        }
        let hidden = findings.iter().filter(|one| is_in_doubt(one, sample));
        let hidden: Vec<&RecordedFinding> = hidden.copied().collect();
        let told = if hidden.is_empty() {
            self.compared_again(mismatch, sample, &findings)
        } else if hidden.iter().all(|one| is_around_hashes(one, sample)) {
            self.whatever_is_hidden(mismatch, sample, &findings)
        } else {
            Told::CannotTell(Untold::Hashed)
        };
        if told == Told::Equal && self.loses_an_order(mismatch, sample) {
            return Told::CannotTell(Untold::NotCompared);
        }
        told
    }

    /// Whether an order may count by the new rules that is not in what was recorded: that of columns or elements which have one name
    /// only by a rename. The JSON of a table or of XML has an order only where the names of both sides were the same.
    fn loses_an_order(&self, mismatch: &Mismatch, answers: &Sample) -> bool {
        let sides = [
            answer(mismatch.legacy_status, &answers.legacy),
            answer(mismatch.candidate_status, &answers.candidate),
        ];
        let [Some(legacy), Some(candidate)] = &sides else {
            return false;
        };
        let mut rules = self.after.texts();
        rules.any(|rule| rule.action == "rename") && are_recorded_as_json(legacy, candidate)
    }

    /// What two answers say, which may be those of a sample.
    fn compared_again(
        &mut self,
        mismatch: &Mismatch,
        answers: &Sample,
        findings: &[&RecordedFinding],
    ) -> Told {
        let Some(both) = self.compared(mismatch, answers) else {
            return Told::CannotTell(Untold::NotCompared);
        };
        let is_found = |finding: &&RecordedFinding| {
            let mut found = both[0].findings.iter();
            found.any(|found| found.explanation == finding.explanation && is_at(found, finding))
        };
        if !findings.iter().all(is_found) {
            return Told::CannotTell(Untold::NotFoundAgain);
        }
        left(&both, findings)
    }

    /// Answers as they are recorded, compared under both rules; `None` if they are no answers.
    fn compared(&mut self, mismatch: &Mismatch, answers: &Sample) -> Option<[Comparison; 2]> {
        let method = Method::from_bytes(mismatch.method.as_bytes()).ok()?;
        let ([legacy, candidate], has_texts_alone) = &captured(mismatch, answers)?;
        Some(self.comparators.each_mut().map(|comparator| {
            comparator.read_texts_alone(*has_texts_alone);
            comparator.explain_answers(AnswerPair {
                route: &mismatch.route,
                method: &method,
                request: None,
                time: mismatch.time,
                legacy,
                candidate,
                asked_together: true,
            })
        }))
    }
}

/// What is left of findings. A rule may also move a difference: two elements that it pairs by their values are missing and extra
/// as a whole, and a field that it excuses has another place. So what was not found before counts for all that is looked for.
fn left([before, after]: &[Comparison; 2], findings: &[&RecordedFinding]) -> Told {
    let is_new = |found: &Finding| {
        let mut former = before.findings.iter();
        let is_same = |one: &Finding| {
            one.part == found.part
                && one.path == found.path
                && one.candidate_path == found.candidate_path
                && one.kind == found.kind
                && one.explanation == found.explanation
        };
        !former.any(is_same)
    };
    let is_left = |finding: &&RecordedFinding| {
        let mut found = after.findings.iter();
        found.any(|found| {
            let below = found.path.strip_prefix(&*finding.path);
            found.part == finding.part
                && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        })
    };
    match after.verdict {
        _ if findings.iter().any(is_left) || after.findings.iter().any(is_new) => Told::Differs,
        Verdict::NotCompared(_) => Told::CannotTell(Untold::NotCompared),
        _ if after.is_complete() => Told::Equal,
        _ => Told::CannotTell(Untold::NotCompared),
    }
}

/// Whether a hash may be in what a finding is about. A finding of a whole text shows its first lines, and of a long value the
/// begin: then a hash may be anywhere in the answers.
fn is_in_doubt(finding: &RecordedFinding, sample: &Sample) -> bool {
    let sides = [&finding.legacy, &finding.candidate];
    let any = |has: fn(&str) -> bool| sides.iter().any(|side| side.as_deref().is_some_and(has));
    let is_part = finding.part == Part::Body
        && (finding.path.is_empty() || any(|value| value.ends_with(CUT_MARK)));
    let bodies = [&sample.legacy.body, &sample.candidate.body];
    any(|value| value.contains(HASHED)) || (is_part && bodies.iter().any(|it| it.contains(HASHED)))
}

/// Whether each hash is a part of a text. Where a hash is all of a value in JSON, it may stand for a value of any type.
fn is_around_hashes(finding: &RecordedFinding, sample: &Sample) -> bool {
    let bodies = [&sample.legacy.body, &sample.candidate.body];
    if finding.part != Part::Body || !bodies.iter().any(|body| is_json(body)) {
        return finding.part == Part::Body;
    }
    let sides = [&finding.legacy, &finding.candidate];
    sides.iter().all(|side| {
        let value = side.as_deref().unwrap_or_default();
        stand_ins::hashes(value).iter().all(|span| {
            let before = value.get(..span.start).unwrap_or_default();
            let after = value.get(span.end..).unwrap_or_default();
            let is_all = before.is_empty() && after.is_empty();
            let is_string = before.ends_with('"') && !before.ends_with("\\\"");
            !(is_all || (is_string && after.starts_with('"')))
        })
    })
}

/// Whether a body is recorded as JSON, or at least begins like it.
fn is_json(body: &str) -> bool {
    body.trim_start().starts_with(['{', '[', '"'])
}

/// The recorded answers as they were captured, and whether they have texts alone; `None` if they cannot have been.
fn captured(mismatch: &Mismatch, answers: &Sample) -> Option<([Capture; 2], bool)> {
    let mut legacy = answer(mismatch.legacy_status, &answers.legacy)?;
    let mut candidate = answer(mismatch.candidate_status, &answers.candidate)?;
    legacy.elapsed = Duration::from_micros(mismatch.legacy_us);
    candidate.elapsed = Duration::from_micros(mismatch.candidate_us);
    let has_texts_alone = are_recorded_as_json(&legacy, &candidate);
    if has_texts_alone {
        // Without a type they are compared as what they are.
        for answer in [&mut legacy, &mut candidate] {
            answer.headers = answer.headers.partition(|name| *name != CONTENT_TYPE).0;
        }
    }
    Some(([legacy, candidate], has_texts_alone))
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
