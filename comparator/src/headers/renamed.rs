//! Fields that have another name in the candidate: those that rules name, and those that only their values show.
//!
//! As in a body, the two names are paired by a rule only where each stands alone: on its side, and not at all on the other.

use http::HeaderName;
use parity_schemas::fields::{FieldLines, FieldValue};
use parity_schemas::verdict::{Explanation, Kind};
use smallvec::SmallVec;

use super::{FieldComparison, shown_path};
use crate::collect::Flow;
use crate::json::plain;
use crate::rules::{Action, Rename};

/// Shorter values, such as `DENY` and `nosniff`, stand in several fields by chance, unless the two names are alike.
const MIN_VALUE_BYTES: usize = 8;
/// Most fields that one side lacks for which the other one is searched: each is compared with each.
const MAX_LONE: usize = 64;

impl<'c> FieldComparison<'_, 'c> {
    /// The rules for names that only the legacy has, in place of which only the candidate has another one.
    pub(super) fn renamed(&self) -> SmallVec<[(u16, &'c Rename); 2]> {
        let mut found: SmallVec<[(u16, &Rename); 2]> = SmallVec::new();
        let all = self.out.rules;
        let has =
            |side: &FieldLines, wanted: &str| side.iter().any(|(name, _)| name.as_str() == wanted);
        for rule in self.rules().iter().copied() {
            let Action::Rename(rename) = &all.get(rule).action else {
                continue;
            };
            let is_renamed = has(self.legacy, &rename.from)
                && !has(self.legacy, &rename.to)
                && has(self.candidate, &rename.to)
                && !has(self.candidate, &rename.from);
            let is_taken = found
                .iter()
                .any(|(_, other)| other.from == rename.from || other.to == rename.to);
            if is_renamed && !is_taken {
                found.push((rule, &**rename));
            }
        }
        found
    }

    /// Compares a field with the one that a rule calls the same. Rules and findings name the legacy's.
    pub(super) fn renamed_field(&mut self, (rule, rename): &(u16, &Rename)) -> Flow {
        self.out
            .excused(*rule, self.part, || shown_path(&rename.from));
        let names = [&rename.from, &rename.to].map(|name| HeaderName::from_bytes(name.as_bytes()));
        let [Ok(from), Ok(to)] = names else {
            return Flow::Continue(());
        };
        let (one, two) = (self.legacy.lines_of(&from), self.candidate.lines_of(&to));
        let same = one
            .iter()
            .map(|line| &line.1)
            .eq(two.iter().map(|line| &line.1));
        if same {
            return Flow::Continue(());
        }
        let told = self.out.findings.len();
        let flow = self.field(&from, [&one, &two]);
        for finding in self.out.findings.iter_mut().skip(told) {
            finding.candidate_path = Some(shown_path(&rename.to));
        }
        flow
    }

    /// Says of fields that one side lacks that the other has the same lines under another name, and nothing else has them. Looks at
    /// the findings from `told` on.
    pub(super) fn explain_other_names(&mut self, told: usize) {
        let lone = |kind: Kind, side: &FieldLines| -> Vec<(usize, HeaderName, Vec<Vec<u8>>)> {
            let findings = self.out.findings.iter().enumerate().skip(told);
            findings
                .filter(|(_, finding)| finding.kind == kind && finding.explanation.is_none())
                .filter_map(|(index, finding)| {
                    let name = HeaderName::from_bytes(finding.path.as_bytes()).ok()?;
                    let lines = side.get_all(&name).map(FieldValue::as_bytes);
                    let lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
                    (!lines.is_empty()).then_some((index, name, lines))
                })
                .collect()
        };
        let missing = lone(Kind::Missing, self.legacy);
        let extra = lone(Kind::Extra, self.candidate);
        if missing.len().max(extra.len()) > MAX_LONE {
            return;
        }
        for (one, name, lines) in &missing {
            let alone = missing.iter().filter(|(.., other)| other == lines).count() == 1;
            let mut same = extra.iter().filter(|(.., other)| other == lines);
            let (Some((two, other, _)), None, true) = (same.next(), same.next(), alone) else {
                continue;
            };
            let is_long = lines.iter().map(Vec::len).sum::<usize>() >= MIN_VALUE_BYTES;
            if is_long || plain(name.as_str()) == plain(other.as_str()) {
                for index in [*one, *two] {
                    self.out.findings[index].explanation = Some(Explanation::OtherName);
                }
            }
        }
    }
}
