//! The verdict on one exchange.
//!
//! A [`Comparator`] belongs to one thread and keeps its memory from one exchange to the next. It looks at status,
//! header fields, trailers and body, in this order, first for whether anything differs, and a second time for the
//! details only if something does.
//!
//! A proven difference is final: an answer with another status is a mismatch even if its body has no end or cannot be
//! decoded. Only if nothing else differs does a body that cannot be compared make the pair `not_compared`. The reason
//! tells whether the candidate alone is to blame.

mod answers;
pub(crate) mod body;
mod fields;
mod hidden;

use std::borrow::Cow;
use std::sync::Arc;

use http::Method;
use parity_schemas::exchange::{Capture, Exchange};
use parity_schemas::fields::FieldLines;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Finding, Kind, Note, Part, Reason, Side, Tolerated, Verdict};

use crate::charset;
use crate::collect::{Collector, Flow, Stop};
use crate::json;
use crate::limits::Limits;
use crate::media::{BodyKind, Declared};
use crate::message::{contradicts_itself, cut_short};
use crate::rules::{Rules, ScopeCache};

/// The result for one pair, with its reasons.
#[derive(Clone)]
pub struct Comparison {
    /// The verdict.
    pub verdict: Verdict,
    /// What differs; empty unless the verdict is a mismatch.
    pub findings: Vec<Finding>,
    /// Whether `findings` is incomplete, or a part could not be compared.
    pub findings_cut: bool,
    /// Whether rules that excuse all of `findings` could leave another difference: not all was looked at.
    pub may_hide_more: bool,
    /// What differs but counts as equal; gathered for mismatches and for documents only.
    pub tolerated: Vec<Tolerated>,
    /// The reason why the body of a mismatch was not compared.
    pub body_not_compared: Option<Reason>,
    /// Notes for a reader; gathered under the same condition.
    pub notes: Vec<Note>,
    /// For each rule that excused a difference, by its position in [`Rules::ids`], how many.
    pub rule_hits: Vec<(usize, u32)>,
    /// The places of the legacy's answer that a recording hides, so that only their presence was compared.
    pub hidden: Option<Arc<[String]>>,
}

/// Two answers to one request.
#[derive(Clone, Copy)]
pub struct AnswerPair<'a> {
    /// Label of the route, for rules that are for one route only.
    pub route: &'a str,
    /// Method of the request: the answer to HEAD has no body.
    pub method: &'a Method,
    /// Header fields of the request, which tell what the client can read; `None` for answers without a request.
    pub request: Option<&'a FieldLines>,
    /// When the request came, for rules that expire.
    pub time: Timestamp,
    /// What the legacy answered.
    pub legacy: &'a Capture,
    /// What the candidate answered.
    pub candidate: &'a Capture,
    /// Whether both were asked at the same time, so that their clocks can be compared. Saved answers may come from
    /// different days.
    pub asked_together: bool,
}

/// How two documents are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// By structure.
    Json,
    /// An answer of GraphQL: as JSON, with its errors apart from its data.
    Graphql,
    /// A JSON document on each line, by structure.
    JsonLines,
    /// By its data.
    Yaml,
    /// By its data.
    Xml,
    /// By row and column.
    Csv,
    /// By line.
    Text,
    /// Whole.
    Bytes,
}

/// Compares answers. It reuses its own memory, so each comparing thread needs one.
pub struct Comparator {
    rules: Arc<Rules>,
    limits: Limits,
    scopes: ScopeCache,
    scratch: json::Scratch,
    hits: Vec<u32>,
    /// Bodies in JSON were written from a format that has texts alone.
    has_texts_alone: bool,
}

impl Comparison {
    /// Whether `findings` are all differences of the two answers, so that there is none without them.
    pub fn is_complete(&self) -> bool {
        !self.findings_cut && self.body_not_compared.is_none() && !self.may_hide_more
    }
}

impl Comparator {
    /// A comparator by these rules within these limits.
    pub fn new(rules: Arc<Rules>, limits: Limits) -> Self {
        Self {
            rules,
            limits,
            scopes: ScopeCache::default(),
            scratch: json::Scratch::default(),
            hits: Vec::new(),
            has_texts_alone: false,
        }
    }

    /// Says of all that is compared from now on whether it was recorded as JSON for a format that has texts alone.
    pub(crate) fn read_texts_alone(&mut self, has_texts_alone: bool) {
        self.has_texts_alone = has_texts_alone;
    }

    /// Judges one exchange.
    pub fn compare(&mut self, exchange: &Exchange) -> Comparison {
        let comparison = self.compare_answers(AnswerPair {
            route: exchange.route.label(),
            method: &exchange.request.method,
            request: Some(&exchange.request.headers),
            time: exchange.time,
            legacy: &exchange.legacy,
            candidate: &exchange.candidate,
            asked_together: true,
        });
        match &exchange.legacy.hidden {
            Some(places) => hidden::let_pass(comparison, places, exchange),
            None => comparison,
        }
    }

    /// Judges two answers to one request.
    pub fn compare_answers(&mut self, pair: AnswerPair<'_>) -> Comparison {
        let scope = self.scopes.get(&self.rules, pair.route, pair.time);
        let limits = self.limits;
        self.settle(&limits, false, |out, scratch| {
            answers::compare(&pair, &scope, out, scratch)
        })
    }

    /// As [`Comparator::compare_answers`], with everything that was tolerated also for a match.
    pub fn explain_answers(&mut self, pair: AnswerPair<'_>) -> Comparison {
        let scope = self.scopes.get(&self.rules, pair.route, pair.time);
        let limits = self.limits;
        self.settle(&limits, true, |out, scratch| {
            answers::compare(&pair, &scope, out, scratch)
        })
    }

    /// As [`Comparator::explain_answers`], of answers to GET that were saved in files, perhaps on different days. Two of
    /// which one was cut short are never a match, because the missing part may differ, and none is where clients refuse one
    /// for what its fields say of its length; a difference that was found remains a mismatch.
    pub fn explain_saved(
        &mut self,
        legacy: &Capture,
        candidate: &Capture,
        now: Timestamp,
    ) -> Comparison {
        let mut comparison = self.explain_answers(AnswerPair {
            route: "",
            method: &Method::GET,
            request: None,
            time: now,
            legacy,
            candidate,
            asked_together: false,
        });
        let refused = |answer: &Capture| contradicts_itself(&answer.headers);
        let cut = |answer: &Capture| cut_short(answer).is_some();
        // The reasons that the proxy has for such answers. The legacy comes first: without its answer nothing is known.
        let doubt = [
            (refused(legacy), Reason::LegacyUnreachable),
            (cut(legacy), Reason::LegacyTruncated),
            (refused(candidate), Reason::CandidateProtocol),
            (cut(candidate), Reason::CandidateTruncated),
        ]
        .into_iter()
        .find_map(|(found, reason)| found.then_some(reason));
        if let Some(reason) = doubt
            && comparison.verdict != Verdict::Mismatch
        {
            comparison.verdict = Verdict::NotCompared(reason);
        }
        comparison
    }

    /// Judges two documents that are not HTTP answers. Rules for the body apply unless they are limited to a route.
    /// Files are not limited in size.
    pub fn compare_documents(
        &mut self,
        legacy: &[u8],
        candidate: &[u8],
        kind: DocumentKind,
        now: Timestamp,
    ) -> Comparison {
        let scope = self.rules.scope(None, now);
        let limits = Limits {
            decoded_bytes: usize::MAX,
            ..self.limits
        };
        let is_graphql = kind == DocumentKind::Graphql;
        let kind = match kind {
            DocumentKind::Json | DocumentKind::Graphql => BodyKind::Json,
            DocumentKind::JsonLines => BodyKind::JsonLines,
            DocumentKind::Yaml => BodyKind::Yaml,
            DocumentKind::Xml => BodyKind::Xml,
            DocumentKind::Csv => BodyKind::Csv,
            DocumentKind::Text => BodyKind::Text,
            DocumentKind::Bytes => BodyKind::Bytes,
        };
        let declare = || Declared {
            is_graphql,
            ..Declared::only(kind)
        };
        let declared = [declare(), declare()];
        let texts = [legacy, candidate].map(|document| {
            let charset = declared[0].charset_of(document);
            charset::to_utf8(Cow::Borrowed(document), charset.as_deref())
        });
        let [legacy, candidate] = [&*texts[0], &*texts[1]];
        let mut comparison = self.settle(&limits, true, |out, scratch| {
            body::decoded(legacy, candidate, &declared, &scope, out, scratch)
        });
        // Equal bytes match whatever they hold. But a user who compares two broken files should be told that they are
        // broken.
        if legacy == candidate {
            if legacy.is_empty() {
                comparison.notes.push(Note::BothEmpty);
            } else if body::is_broken(legacy, kind, limits.honoured_depth()) {
                comparison.notes.push(Note::BothInvalid);
            }
        }
        comparison
    }

    /// Runs a first walk for the verdict, and a second one for details if they are wanted. The second one visits the
    /// elements of arrays in another order, so it may spend its budget before it reaches the difference; the verdict of
    /// the first walk holds all the same.
    fn settle(
        &mut self,
        limits: &Limits,
        explain: bool,
        walk: impl Fn(&mut Collector<'_>, &mut json::Scratch) -> Flow,
    ) -> Comparison {
        if !explain {
            let verdict = self.judge(limits, false, &walk);
            if verdict.verdict != Verdict::Mismatch {
                return verdict;
            }
        }
        let mut details = self.judge(limits, true, &walk);
        let gave_up = matches!(details.verdict, Verdict::NotCompared(_));
        let proven =
            !explain || (gave_up && self.judge(limits, false, &walk).verdict == Verdict::Mismatch);
        if proven && details.verdict != Verdict::Mismatch {
            details.verdict = Verdict::Mismatch;
            details.findings_cut = true;
            details.body_not_compared = None;
            details.findings.push(Finding {
                part: Part::Body,
                path: String::new(),
                candidate_path: None,
                pattern: String::new(),
                kind: Kind::Value,
                legacy: Side::Absent,
                candidate: Side::Absent,
                explanation: None,
                text_diff: None,
            });
        }
        details
    }

    fn judge(
        &mut self,
        limits: &Limits,
        detail: bool,
        walk: impl FnOnce(&mut Collector<'_>, &mut json::Scratch) -> Flow,
    ) -> Comparison {
        let mut out = Collector::new(&self.rules, limits, &mut self.hits, detail);
        out.has_texts_alone = self.has_texts_alone;
        let flow = walk(&mut out, &mut self.scratch);
        let gave_up = match flow {
            Flow::Break(Stop::GiveUp(reason)) => Some(reason),
            _ => None,
        };
        let verdict = match gave_up {
            _ if out.differs => Verdict::Mismatch,
            Some(reason) => Verdict::NotCompared(reason),
            None => Verdict::Match,
        };
        let rule_hits = out.rule_hits();
        let of_body = out
            .findings
            .iter()
            .any(|finding| finding.part == Part::Body);
        Comparison {
            verdict,
            body_not_compared: gave_up.filter(|_| out.differs && detail && !of_body),
            notes: out.notes,
            findings_cut: out.findings_cut || (out.differs && gave_up.is_some()),
            may_hide_more: out.may_hide_more,
            rule_hits,
            findings: out.findings,
            tolerated: out.tolerated,
            hidden: None,
        }
    }
}

/// Ends the comparison without a verdict, unless a difference is already proven.
fn give_up(reason: Reason) -> Flow {
    Flow::Break(Stop::GiveUp(reason))
}
