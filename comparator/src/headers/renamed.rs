//! Fields and cookies that have another name in the candidate: those that rules name, and fields that only their values show.
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

/// Rules that apply, each with its names.
type Renamed<'c> = SmallVec<[(u16, &'c Rename); 2]>;

/// Shorter values, such as `DENY` and `nosniff`, stand in several fields by chance, unless the two names are alike.
const MIN_VALUE_BYTES: usize = 8;
/// Most fields that one side lacks for which the other one is searched: each is compared with each.
const MAX_LONE: usize = 64;

impl<'c> FieldComparison<'_, 'c> {
    /// The rules for headers that only the legacy has, in place of which only the candidate has another one.
    pub(super) fn renamed(&self) -> Renamed<'c> {
        let has =
            |side: &FieldLines, wanted: &str| side.iter().any(|(name, _)| name.as_str() == wanted);
        self.renamed_of(
            |rename| !rename.is_of_cookie(),
            [&|name| has(self.legacy, name), &|name| {
                has(self.candidate, name)
            }],
        )
    }

    /// The same of what rules are for that are `meant`, where the legacy and the candidate have these names.
    pub(super) fn renamed_of(
        &self,
        meant: impl Fn(&Rename) -> bool,
        [legacy, candidate]: [&dyn Fn(&str) -> bool; 2],
    ) -> Renamed<'c> {
        let mut found = Renamed::new();
        let all = self.out.rules;
        for rule in self.rules().iter().copied() {
            let Action::Rename(rename) = &all.get(rule).action else {
                continue;
            };
            let is_renamed = meant(rename)
                && legacy(&rename.from)
                && !legacy(&rename.to)
                && candidate(&rename.to)
                && !candidate(&rename.from);
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
        self.told_with(&rename.to, |fields| fields.field(&from, [&one, &two]))
    }

    /// Compares, and tells what is found with the candidate's path.
    pub(super) fn told_with(
        &mut self,
        candidate: &str,
        compare: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        let told = self.out.findings.len();
        let flow = compare(self);
        for finding in self.out.findings.iter_mut().skip(told) {
            finding.candidate_path = Some(shown_path(candidate));
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
