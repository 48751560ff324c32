//! Collects what the comparison of an answer finds.
//!
//! A collector works in one of two modes. The first pass only decides whether the answers are equal: it counts the
//! rules' hits, allocates nothing and stops at the first finding. Only a pair that differs is walked again for its
//! details, so only mismatches pay for paths, values and explanations.

use std::ops::ControlFlow;
use std::time::Duration;

use parity_schemas::side::CUT_MARK;
use parity_schemas::verdict::{Digest, Excerpt, Finding, Note, Part, Reason, Side, Tolerated, Why};
use sha2::{Digest as _, Sha256};

use crate::limits::Limits;
use crate::rules::Rules;

/// Why a comparison stops early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A difference was found, and details are not wanted.
    Enough,
    /// No verdict is possible, for this reason.
    GiveUp(Reason),
}

/// Continue or stop.
pub(crate) type Flow = ControlFlow<Stop>;

/// What was found so far.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and none excludes another"
)]
pub(crate) struct Collector<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) limits: &'a Limits,
    /// Whether to gather details instead of stopping at the first finding.
    pub(crate) detail: bool,
    pub(crate) differs: bool,
    pub(crate) findings: Vec<Finding>,
    pub(crate) findings_cut: bool,
    /// Something that was not looked at, because the answers differ already, may differ as well.
    pub(crate) may_hide_more: bool,
    /// The body is in a format that has texts alone, such as CSV and XML: a number is a text there, and nothing else could be.
    pub(crate) has_texts_alone: bool,
    /// Whether there are members that have the types of keys ([`crate::yaml`]).
    pub(crate) has_key_types: bool,
    /// How long the slower answer took, if both were asked for at once: a time that a service reads meanwhile may be later by as much.
    pub(crate) apart: Duration,
    /// Bytes of all paths and values in `findings`.
    finding_bytes: usize,
    pub(crate) tolerated: Vec<Tolerated>,
    pub(crate) notes: Vec<Note>,
    /// How often each rule excused a difference, by the rule's position.
    pub(crate) hits: &'a mut Vec<u32>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        rules: &'a Rules,
        limits: &'a Limits,
        hits: &'a mut Vec<u32>,
        detail: bool,
    ) -> Self {
        hits.clear();
        hits.resize(rules.len(), 0);
        Self {
            rules,
            limits,
            detail,
            differs: false,
            findings: Vec::new(),
            findings_cut: false,
            may_hide_more: false,
            has_texts_alone: false,
            has_key_types: false,
            apart: Duration::ZERO,
            finding_bytes: 0,
            tolerated: Vec::new(),
            notes: Vec::new(),
            hits,
        }
    }

    /// Adds a finding; `make` is only called if its details are wanted.
    pub(crate) fn finding(&mut self, make: impl FnOnce(&Limits) -> Finding) -> Flow {
        self.differs = true;
        if !self.detail {
            return Flow::Break(Stop::Enough);
        }
        if self.findings.len() >= self.limits.findings
            || self.finding_bytes >= self.limits.finding_bytes
        {
            self.findings_cut = true;
            return Flow::Break(Stop::Enough);
        }
        let finding = make(self.limits);
        self.finding_bytes += bytes_of(&finding);
        self.findings.push(finding);
        Flow::Continue(())
    }

    /// Takes out what was found so far, so that another reading of the same pair lists its own within the same limits.
    pub(crate) fn set_aside(&mut self) -> Vec<Finding> {
        self.finding_bytes = 0;
        std::mem::take(&mut self.findings)
    }

    /// Puts back what was set aside, followed by what is `wanted` of what was found since.
    pub(crate) fn put_back(&mut self, before: Vec<Finding>, wanted: impl FnMut(&Finding) -> bool) {
        let since = std::mem::replace(&mut self.findings, before);
        self.finding_bytes = self.findings.iter().map(bytes_of).sum();
        for finding in since.into_iter().filter(wanted) {
            // A full list says itself that it is cut.
            if self.finding(|_| finding).is_break() {
                break;
            }
        }
    }

    /// Counts a difference that a rule excuses.
    pub(crate) fn excused(&mut self, rule: u16, part: Part, path: impl FnOnce() -> String) {
        self.hits[usize::from(rule)] += 1;
        if self.detail {
            let rules = self.rules;
            self.list(part, path, || Why::Rule(rules.get(rule).id.to_string()));
        }
    }

    /// Notes a difference that counts as equal by default.
    pub(crate) fn tolerated(&mut self, part: Part, path: impl FnOnce() -> String, why: Why) {
        if self.detail {
            self.list(part, path, || why);
        }
    }

    /// Adds a note on the pair as a whole.
    pub(crate) fn note(&mut self, note: Note) {
        if self.detail && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn list(&mut self, part: Part, path: impl FnOnce() -> String, why: impl FnOnce() -> Why) {
        if !self.is_full() {
            self.tolerated.push(Tolerated {
                part,
                path: path(),
                why: why(),
            });
        }
    }

    /// Whether the list of tolerated differences is full, or not wanted.
    pub(crate) fn is_full(&self) -> bool {
        self.tolerated.len() >= self.limits.tolerated
    }

    /// The rules that excused a difference, each with its number of hits.
    pub(crate) fn rule_hits(&self) -> Vec<(usize, u32)> {
        self.hits
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, hits)| *hits > 0)
            .collect()
    }
}

fn bytes_of(finding: &Finding) -> usize {
    let candidate_path = finding.candidate_path.as_ref().map_or(0, String::len);
    let text_diff = finding
        .text_diff
        .as_ref()
        .map_or(0, |diff| diff.lines.len());
    let sides = finding.legacy.held() + finding.candidate.held();
    finding.path.len() + finding.pattern.len() + sides + candidate_path + text_diff
}

/// The first `limit` bytes of `text`, followed by [`CUT_MARK`] if it is longer. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn shown(text: &[u8], limit: usize) -> String {
    let mut out = begin(text, limit);
    if text.len() > limit {
        out.push(CUT_MARK);
    }
    out
}

/// `text` as a finding stores it: its first `limit` bytes, where bytes that are not UTF-8 become U+FFFD, and the hash
/// of the whole text if it is longer.
pub(crate) fn excerpt(text: &[u8], limit: usize) -> Excerpt {
    Excerpt {
        text: begin(text, limit),
        whole: (text.len() > limit).then(|| digest(text)),
    }
}

/// [`excerpt`] of one value.
pub(crate) fn value(text: &[u8], limit: usize) -> Side {
    Side::Value(excerpt(text, limit))
}

/// Bytes as a finding stores them.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest {
        length: bytes.len(),
        sha256: Sha256::digest(bytes).into(),
    }
}

fn begin(text: &[u8], limit: usize) -> String {
    let mut end = limit.min(text.len());
    // Never cuts inside a character: continuation bytes are 10xxxxxx.
    while end > 0 && end < text.len() && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    String::from_utf8_lossy(&text[..end]).into_owned()
}
