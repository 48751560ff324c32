//! Reports what the walk finds: findings, excused differences and tolerated ones, at the current path.

use parity_schemas::verdict::{Explanation, Finding, Kind, Part, Reason, Side, Why};

use super::moved::Lone;
use super::path::{Origin, Path};
use super::walk::{Frame, Walk};
use crate::collect::{Flow, Stop, value};
use crate::explain;
use crate::notation::index::ROOT;

/// Matching elements in any order costs at most about the cube of their number: each is compared with each, and each
/// may move all partners.
const MATCHING_POWER: u32 = 3;
/// Size ratio above which the candidate's answer is out of proportion: a candidate that does the same work answers with
/// about as much.
const OUT_OF_PROPORTION: u64 = 2;

impl Walk<'_, '_> {
    /// Reports a value that only one side has. The step into it has been taken.
    pub(super) fn absent(
        &mut self,
        present: Origin,
        at: u32,
        frame: Frame,
        near: Option<Explanation>,
    ) -> Flow {
        if !frame.is_empty()
            && let Some(rule) = self.matched_rules(frame).ignore
        {
            self.excused(rule);
            return Flow::Continue(());
        }
        let tree = self.tree(present);
        let kind = match present {
            Origin::Legacy => Kind::Missing,
            Origin::Candidate => Kind::Extra,
        };
        let finding = self.out.findings.len();
        let flow = self.report(kind, |limit| {
            let value = value(tree.raw(at), limit);
            let near = near.or_else(|| explain::absent(tree, at));
            match present {
                Origin::Legacy => (value, Side::Absent, near),
                Origin::Candidate => (Side::Absent, value, near),
            }
        });
        if self.out.findings.len() > finding {
            self.lone.push(Lone {
                finding,
                side: present,
                at,
            });
        }
        flow
    }

    /// Reports two values that differ by `kind`.
    pub(super) fn differ(&mut self, kind: Kind, legacy: u32, candidate: u32) -> Flow {
        let (one, two) = (self.legacy, self.candidate);
        self.report(kind, |limit| {
            let near = match kind {
                Kind::Value | Kind::Type => explain::values(one, legacy, two, candidate),
                _ => None,
            };
            (
                value(one.raw(legacy), limit),
                value(two.raw(candidate), limit),
                near,
            )
        })
    }

    /// Adds a finding at the current path.
    pub(super) fn report(
        &mut self,
        kind: Kind,
        values: impl FnOnce(usize) -> (Side, Side, Option<Explanation>),
    ) -> Flow {
        if self.probes > 0 {
            return Flow::Break(Stop::Enough);
        }
        let path = Path {
            steps: self.steps,
            legacy: self.legacy,
            candidate: self.candidate,
        };
        self.out.finding(|limits| {
            let (legacy, candidate, explanation) = values(limits.value_bytes);
            Finding {
                part: Part::Body,
                path: path.primary(),
                candidate_path: path.candidate(),
                pattern: path.pattern(),
                kind,
                legacy,
                candidate,
                explanation,
                text_diff: None,
            }
        })
    }

    /// Counts a difference at the current path that a rule excuses.
    pub(super) fn excused(&mut self, rule: u16) {
        if self.probes == 0 {
            let path = Path {
                steps: self.steps,
                legacy: self.legacy,
                candidate: self.candidate,
            };
            self.out.excused(rule, Part::Body, || path.primary());
        }
    }

    pub(super) fn tolerated(&mut self, why: Why) {
        if self.probes == 0 {
            let path = Path {
                steps: self.steps,
                legacy: self.legacy,
                candidate: self.candidate,
            };
            self.out.tolerated(Part::Body, || path.primary(), why);
        }
    }

    /// Ends the comparison because the budget was spent before the verdict was known. The candidate alone is to blame
    /// if an answer like the legacy's would always have fitted, or if its own is out of proportion.
    pub(super) fn give_up(&self) -> Flow {
        if self.probes > 0 {
            return Flow::Break(Stop::Enough);
        }
        let (legacy, candidate) = (self.legacy.cost(ROOT), self.candidate.cost(ROOT));
        let fits = legacy.saturating_pow(MATCHING_POWER) <= self.out.limits.work;
        let reason = if fits || candidate > legacy.saturating_mul(OUT_OF_PROPORTION) {
            Reason::CandidateWorkBudget
        } else {
            Reason::WorkBudget
        };
        Flow::Break(Stop::GiveUp(reason))
    }
}
