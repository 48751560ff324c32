//! Fields that rules say have another name in the candidate.
//!
//! As in a body, the two names are paired only where each stands alone: on its side, and not at all on the other.

use http::HeaderName;
use parity_schemas::fields::FieldLines;
use smallvec::SmallVec;

use super::{FieldComparison, shown_path};
use crate::collect::Flow;
use crate::rules::{Action, Rename};

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
}
