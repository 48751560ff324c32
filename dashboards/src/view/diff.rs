//! Two files or answers that were compared: what differs, what counts as equal, and the verdict.
//!
//! Of many findings with one cause, a few are shown and the rest counted, so that any result fits a page. The inputs are the
//! user's own files, so values are shown unredacted. They are made visible all the same: file names, keys and values may be
//! hostile.

use std::borrow::Cow;
use std::collections::BTreeMap;

use parity_comparator::document::hits;
use parity_comparator::groups::{FindingGroup, FindingGroups};
use parity_comparator::{Comparison, Limits, Rules};
use parity_schemas::verdict::{Finding, Kind, Verdict};

use super::sides::Sides;
use super::words::{grouped, plural};
use super::{Difference, Excused, Place, Tone};

/// Findings listed before the rest is only counted: a few screens with their values.
const MAX_LISTED: usize = 40;
/// Findings shown of a long group: one could be an exception, three show what they have in common.
const MAX_EXAMPLES: u64 = 3;
/// Up to this many findings of a group are all shown: hiding a single one saves nothing.
const MAX_UNFOLDED: u64 = MAX_EXAMPLES + 1;

/// One comparison, to be shown.
#[derive(Clone, Copy)]
pub struct Diff<'a> {
    /// What was found.
    pub comparison: &'a Comparison,
    /// The rules of the comparison.
    pub rules: &'a Rules,
    /// The limits of the comparison.
    pub limits: &'a Limits,
    /// The names that the user gave the two inputs.
    pub names: [&'a str; 2],
    /// The two bodies, if they are what was compared.
    pub bodies: [&'a [u8]; 2],
    /// Whether they are HTTP answers, which have more parts than a body.
    pub answers: bool,
}

/// The verdict in one line.
pub(crate) struct Conclusion {
    /// How good it is.
    pub(crate) tone: Tone,
    /// The verdict.
    pub(crate) word: &'static str,
    /// The sentence that explains it.
    pub(crate) rest: Option<String>,
}

impl<'a> Diff<'a> {
    /// The findings by what they have in common.
    pub(crate) fn groups(&self) -> FindingGroups {
        FindingGroups::for_readers(&self.comparison.findings)
    }

    /// How many findings of each group are listed. If there are many groups, only the most frequent ones are listed, each
    /// with fewer findings.
    pub(crate) fn quotas(groups: &FindingGroups) -> Vec<u64> {
        let count = groups.groups.len();
        let examples = ((MAX_LISTED / count.max(1)) as u64).clamp(1, MAX_EXAMPLES);
        let mut quotas = vec![0; count];
        for position in groups.by_count().into_iter().take(MAX_LISTED) {
            let of = groups.groups[position].count;
            let unfolded = examples == MAX_EXAMPLES && of <= MAX_UNFOLDED;
            quotas[position] = if unfolded { of } else { of.min(examples) };
        }
        quotas
    }

    /// A finding, with what is known of both sides.
    pub(crate) fn difference(&self, finding: &'a Finding) -> Difference<'a> {
        Difference::found(finding, Sides::found(finding, self.bodies), self.limits)
    }

    /// Lines that the texts of a group remove and add, where it is of texts.
    pub(crate) fn lines(&self, group: &FindingGroup) -> Option<(u64, u64)> {
        let first = self.comparison.findings.get(group.first)?;
        Some(first.text_diff.as_ref()?.counts())
    }

    /// What differs and counts as equal.
    pub(crate) fn excused(&self) -> Excused<'a> {
        let listed = &self.comparison.tolerated;
        let is_cut = listed.len() >= self.limits.tolerated;
        Excused::by_hits(listed, is_cut, hits(self.comparison, self.rules))
            .without_route(self.rules.ids_of_one_route())
    }

    /// A remark that the verdict alone does not give: two files may be equal and both broken.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &'static str> + use<'a> {
        self.comparison.notes.iter().map(|note| note.meaning())
    }

    /// The verdict.
    pub(crate) fn conclusion(&self) -> Conclusion {
        match self.comparison.verdict {
            Verdict::Match => Conclusion {
                tone: Tone::Good,
                word: "match",
                rest: None,
            },
            Verdict::NotCompared(reason) => Conclusion {
                tone: Tone::Open,
                word: "not compared",
                rest: Some(format!("{reason}, {}", reason.meaning_of_files())),
            },
            Verdict::Mismatch => Conclusion {
                tone: Tone::Bad,
                word: "mismatch",
                rest: Some(self.counted()),
            },
        }
    }

    /// How many differences there are, of which kinds, and whether there may be more.
    fn counted(&self) -> String {
        let findings = &self.comparison.findings;
        let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
        for finding in findings {
            *kinds.entry(finding.kind).or_default() += 1;
        }
        let alone = kinds.len() == 1;
        let kinds = kinds.into_iter().map(|(kind, count)| {
            if alone {
                kind.to_string()
            } else {
                format!("{} {kind}", grouped(count))
            }
        });
        let kinds: Vec<String> = kinds.collect();
        let count = plural(findings.len() as u64, "difference", "differences");
        let cut = if let Some(reason) = self.comparison.body_not_compared {
            let why = reason.meaning_of_files();
            Some(Cow::Owned(format!(
                "; the bodies were not compared: {reason}, {why}"
            )))
        } else if !self.comparison.findings_cut {
            None
        } else if findings.len() >= self.limits.findings {
            Some("; the comparison stops there".into())
        } else {
            Some("; a limit ended the comparison there".into())
        };
        let least = if cut.is_some() { "at least " } else { "" };
        let cut = cut.unwrap_or_default();
        format!("{least}{count} ({}){cut}", kinds.join(", "))
    }
}

impl<'a> From<&'a FindingGroup> for Place<'a> {
    fn from(group: &'a FindingGroup) -> Self {
        Self {
            part: group.key.part,
            path: &group.key.pattern,
        }
    }
}
