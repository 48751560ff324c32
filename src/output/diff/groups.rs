//! Findings by what they have in common, so that a hundred thousand of one cause read as one.
//!
//! Findings belong together that have the same pattern, kind and explanation. The comparator's patterns already have
//! `*` for indices; here also the keys of an object become `*` when so many of them differ that it must be a map: two
//! records do not differ in dozens of fields, two price lists do. That is for readers; documents keep the patterns.

use std::collections::{BTreeMap, HashMap};

use parity_schemas::verdict::{Explanation, Finding, Kind, Part};

/// Differing keys of one object beyond which it is shown as a map.
const MAX_KEYS: usize = 32;

/// What the findings of a group share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shared {
    pub(super) part: Part,
    pub(super) pattern: String,
    pub(super) kind: Kind,
    pub(super) explanation: Option<Explanation>,
}

/// A group and how many are in it.
pub(super) struct Group {
    pub(super) shared: Shared,
    pub(super) count: u64,
    /// For texts: lines that are removed and added.
    pub(super) lines: Option<(u64, u64)>,
}

/// All groups.
pub(super) struct Groups {
    /// In the order of their first findings.
    pub(super) groups: Vec<Group>,
    /// For each finding, which group.
    pub(super) of: Vec<usize>,
}

impl Groups {
    pub(super) fn new(findings: &[Finding]) -> Self {
        let mut maps = Maps::default();
        for finding in findings {
            if finding.part == Part::Body {
                maps.insert(&finding.pattern);
            }
        }
        maps.fold();
        let mut patterns: HashMap<&str, String> = HashMap::new();
        let mut positions: HashMap<Shared, usize> = HashMap::new();
        let mut all = Self {
            groups: Vec::new(),
            of: Vec::with_capacity(findings.len()),
        };
        for finding in findings {
            let pattern = match finding.part {
                Part::Body => patterns
                    .entry(&finding.pattern)
                    .or_insert_with(|| maps.general(&finding.pattern))
                    .clone(),
                _ => finding.pattern.clone(),
            };
            let shared = Shared {
                part: finding.part,
                pattern,
                kind: finding.kind,
                explanation: finding.explanation,
            };
            let position = *positions.entry(shared).or_insert_with_key(|shared| {
                all.groups.push(Group {
                    shared: shared.clone(),
                    count: 0,
                    lines: finding.text_diff.as_deref().map(super::lines::counts),
                });
                all.groups.len() - 1
            });
            all.groups[position].count += 1;
            all.of.push(position);
        }
        all
    }

    /// Positions of the groups, the most frequent first.
    pub(super) fn by_count(&self) -> Vec<usize> {
        let mut positions: Vec<usize> = (0..self.groups.len()).collect();
        // Stable, so that equally frequent ones stay in the order of the document.
        positions.sort_by_key(|position| std::cmp::Reverse(self.groups[*position].count));
        positions
    }
}

/// The objects that the patterns lead through, as a tree of their segments.
#[derive(Default)]
struct Maps<'a> {
    children: BTreeMap<&'a str, Maps<'a>>,
    /// Its keys are shown as `*`.
    is_map: bool,
}

impl<'a> Maps<'a> {
    fn insert(&mut self, pattern: &'a str) {
        // The comparator follows no deeper than a bounded number of levels, and so does every recursion here.
        let mut at = self;
        for segment in pattern.split('/').skip(1) {
            at = at.children.entry(segment).or_default();
        }
    }

    /// Makes maps of the objects of which too many keys differ: all their values become one.
    fn fold(&mut self) {
        if self.children.len() > MAX_KEYS {
            self.is_map = true;
            let mut value = Self::default();
            for child in std::mem::take(&mut self.children).into_values() {
                value.absorb(child);
            }
            self.children.insert("*", value);
        }
        for child in self.children.values_mut() {
            child.fold();
        }
    }

    fn absorb(&mut self, other: Self) {
        for (segment, child) in other.children {
            self.children.entry(segment).or_default().absorb(child);
        }
    }

    /// The pattern with the keys of maps as `*`.
    fn general(&self, pattern: &str) -> String {
        let mut out = String::with_capacity(pattern.len());
        let mut at = self;
        for segment in pattern.split('/').skip(1) {
            let segment = if at.is_map { "*" } else { segment };
            out.push('/');
            out.push_str(segment);
            let Some(child) = at.children.get(segment) else {
                break;
            };
            at = child;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::verdict::Side;

    use super::*;

    fn finding(pattern: String, kind: Kind) -> Finding {
        Finding {
            part: Part::Body,
            path: pattern.clone(),
            candidate_path: None,
            pattern,
            kind,
            legacy: Side::Absent,
            candidate: Side::Absent,
            explanation: None,
            text_diff: None,
        }
    }

    /// `count pattern` of each group.
    fn check(patterns: impl IntoIterator<Item = String>, expected: &[&str]) {
        let findings: Vec<Finding> = patterns
            .into_iter()
            .map(|pattern| finding(pattern, Kind::Value))
            .collect();
        let groups = Groups::new(&findings);
        let shown: Vec<String> = groups
            .groups
            .iter()
            .map(|group| format!("{} {}", group.count, group.shared.pattern))
            .collect();
        assert_eq!(shown, expected);
        assert_eq!(groups.of.len(), findings.len());
    }

    #[test]
    fn the_same_pattern_is_one_group_and_another_kind_another() {
        check(
            ["/a", "/b/*", "/a", ""].map(str::to_owned),
            &["2 /a", "1 /b/*", "1 "],
        );
        let two = [Kind::Value, Kind::Type].map(|kind| finding("/a".to_owned(), kind));
        assert_eq!(Groups::new(&two).groups.len(), 2);
    }

    #[test]
    fn the_keys_of_a_map_become_one_also_in_the_middle_and_those_of_a_record_do_not() {
        let keys = |count: usize, tail: &'static str| {
            (0..count).map(move |key| format!("/rates/{key}{tail}"))
        };
        check(keys(MAX_KEYS + 1, "/value"), &["33 /rates/*/value"]);
        let groups = Groups::new(
            &keys(MAX_KEYS, "")
                .map(|pattern| finding(pattern, Kind::Value))
                .collect::<Vec<_>>(),
        );
        assert_eq!(groups.groups.len(), MAX_KEYS);
        let nested = (0..50).flat_map(|one| (0..50).map(move |two| format!("/{one}/x/{two}")));
        check(nested, &["2500 /*/x/*"]);
    }
}
