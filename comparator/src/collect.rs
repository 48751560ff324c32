//! Where the comparison of the parts of an answer leaves what it finds.
//!
//! A collector works in one of two ways. The first pass only wants to know whether the answers are equal: it counts
//! the rules' hits, allocates nothing and stops at the first finding. Only a pair that differs is walked again for
//! its details, so the price of paths, values and explanations falls on mismatches alone.

use std::ops::ControlFlow;

use parity_schemas::side::CUT_MARK;
use parity_schemas::verdict::{Digest, Excerpt, Finding, Note, Part, Reason, Side, Tolerated};
use sha2::{Digest as _, Sha256};

use crate::limits::Limits;
use crate::rules::Rules;

/// Why a comparison ends before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It differs and no more is wanted.
    Enough,
    /// No verdict can be had.
    GiveUp(Reason),
}

/// Go on, or stop.
pub(crate) type Flow = ControlFlow<Stop>;

/// What was found so far.
pub(crate) struct Collector<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) limits: &'a Limits,
    /// Gather details, or stop at the first finding.
    pub(crate) detail: bool,
    pub(crate) differs: bool,
    pub(crate) findings: Vec<Finding>,
    pub(crate) findings_cut: bool,
    /// What `findings` hold.
    finding_bytes: usize,
    pub(crate) tolerated: Vec<Tolerated>,
    pub(crate) notes: Vec<Note>,
    /// By position of the rule.
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
            finding_bytes: 0,
            tolerated: Vec::new(),
            notes: Vec::new(),
            hits,
        }
    }

    /// Takes in a finding; `make` is only called when it is wanted.
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

    /// Counts a difference that a rule excuses.
    pub(crate) fn excused(&mut self, rule: u16, part: Part, path: impl FnOnce() -> String) {
        self.hits[usize::from(rule)] += 1;
        if self.detail {
            let rules = self.rules;
            self.list(part, path, || format!("rule:{}", rules.get(rule).id));
        }
    }

    /// Notes a difference that is none by default.
    pub(crate) fn tolerated(&mut self, part: Part, path: impl FnOnce() -> String, why: &str) {
        if self.detail {
            self.list(part, path, || why.to_owned());
        }
    }

    /// Says what a reader should know of the pair as a whole.
    pub(crate) fn note(&mut self, note: Note) {
        if self.detail && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn list(&mut self, part: Part, path: impl FnOnce() -> String, why: impl FnOnce() -> String) {
        if !self.is_full() {
            self.tolerated.push(Tolerated {
                part,
                path: path(),
                why: why(),
            });
        }
    }

    /// Whether nothing that is tolerated would be listed any more.
    pub(crate) fn is_full(&self) -> bool {
        self.tolerated.len() >= self.limits.tolerated
    }

    /// The rules that excused something, with how often.
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
    let optional = [&finding.candidate_path, &finding.text_diff];
    let texts = optional.into_iter().flatten().map(String::len);
    let sides = finding.legacy.held() + finding.candidate.held();
    finding.path.len() + finding.pattern.len() + sides + texts.sum::<usize>()
}

/// The first `limit` bytes of `text`, lossy where it is not UTF-8; with [`CUT_MARK`] behind if that is not all.
pub(crate) fn shown(text: &[u8], limit: usize) -> String {
    let mut out = begin(text, limit);
    if text.len() > limit {
        out.push(CUT_MARK);
    }
    out
}

/// `text` as a finding holds it: its first `limit` bytes, lossy where it is not UTF-8, and the hash of all of it where
/// that is not all.
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

/// Bytes as a finding holds them.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest {
        length: bytes.len(),
        sha256: Sha256::digest(bytes).into(),
    }
}

fn begin(text: &[u8], limit: usize) -> String {
    let mut end = limit.min(text.len());
    // Never inside a character: continuation bytes are 10xxxxxx.
    while end > 0 && end < text.len() && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    String::from_utf8_lossy(&text[..end]).into_owned()
}
