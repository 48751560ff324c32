//! Fields and cookies that rules say have another name in the candidate.
//!
//! As in a body, the two names are paired only where each stands alone: on its side, and not at all on the other.

use http::HeaderName;
use parity_schemas::fields::FieldLines;
use smallvec::SmallVec;

use super::{FieldComparison, shown_path};
use crate::collect::Flow;
use crate::rules::{Action, Rename};

/// Rules that apply, each with its names.
type Renamed<'c> = SmallVec<[(u16, &'c Rename); 2]>;

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
}
