//! Groups findings by what they have in common, so that a hundred thousand with one cause read as one.
//!
//! Findings with the same part, pattern, kind and explanation form a group; in a record those of one shape. A pattern
//! already has `*` for array indices. For a reader, the keys of an object become `*`, too, if so many of them differ that it must be a map: two
//! records do not differ in dozens of fields, two price lists do. Documents and records keep the patterns;
//! `fingerprint` gives the groups of a record their names.

use std::collections::{BTreeMap, HashMap};

use parity_schemas::verdict::{Explanation, Finding, Kind, Part};

use crate::noise::shape::Shape;

/// Most differing keys of an object; with more it is shown as a map.
const MAX_KEYS: usize = 32;

/// What all findings of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    /// Which part of the answer.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How the sides are related.
    pub explanation: Option<Explanation>,
    /// What kind of values they are. `None` in what is shown of one comparison: who reads a single diff sees the values.
    pub shape: Option<Shape>,
}

/// A group of findings, and how many it has.
pub struct FindingGroup {
    /// What they have in common.
    pub key: GroupKey,
    /// Number of findings.
    pub count: u64,
    /// Position of its first finding.
    pub first: usize,
}

/// The groups of a list of findings.
pub struct FindingGroups {
    /// The groups, in the order of their first findings.
    pub groups: Vec<FindingGroup>,
    /// For each finding, the position of its group.
    pub group_of: Vec<usize>,
}

impl FindingGroups {
    /// Groups by the patterns as they are.
    pub fn by_pattern(findings: &[Finding]) -> Self {
        Self::by(findings, |finding| (finding.pattern.clone(), None))
    }

    /// Groups with `*` for the keys of maps, too.
    pub fn for_readers(findings: &[Finding]) -> Self {
        let mut maps = Maps::default();
        for finding in findings {
            if finding.part == Part::Body {
                maps.insert(&finding.pattern);
            }
        }
        maps.fold();
        let mut patterns: HashMap<&str, String> = HashMap::new();
        Self::by(findings, |finding| {
            let pattern = match finding.part {
                Part::Body => patterns
                    .entry(&finding.pattern)
                    .or_insert_with(|| maps.general(&finding.pattern))
                    .clone(),
                _ => finding.pattern.clone(),
            };
            (pattern, None)
        })
    }

    /// Groups by shape, too, and by what `pattern` returns for the pattern of a finding.
    pub(crate) fn for_records(findings: &[Finding], pattern: impl Fn(&Finding) -> String) -> Self {
        Self::by(findings, |finding| {
            (pattern(finding), Some(Shape::of(finding)))
        })
    }

    /// Groups by what `place` returns for the pattern of a finding, and for its shape.
    fn by<'a>(
        findings: &'a [Finding],
        mut place: impl FnMut(&'a Finding) -> (String, Option<Shape>),
    ) -> Self {
        let mut positions: HashMap<GroupKey, usize> = HashMap::new();
        let mut all = Self {
            groups: Vec::new(),
            group_of: Vec::with_capacity(findings.len()),
        };
        for (first, finding) in findings.iter().enumerate() {
            let (pattern, shape) = place(finding);
            let key = GroupKey {
                part: finding.part,
                pattern,
                kind: finding.kind,
                explanation: finding.explanation,
                shape,
            };
            let position = *positions.entry(key).or_insert_with_key(|key| {
                all.groups.push(FindingGroup {
                    key: key.clone(),
                    count: 0,
                    first,
                });
                all.groups.len() - 1
            });
            all.groups[position].count += 1;
            all.group_of.push(position);
        }
        all
    }

    /// Positions of the groups, the most frequent first.
    pub fn by_count(&self) -> Vec<usize> {
        let mut positions: Vec<usize> = (0..self.groups.len()).collect();
        // Stable, so that equally frequent ones stay in the order of the document.
        positions.sort_by_key(|position| std::cmp::Reverse(self.groups[*position].count));
        positions
    }
}

/// The objects on the paths of the patterns, as a tree of path segments.
#[derive(Default)]
struct Maps<'a> {
    children: BTreeMap<&'a str, Maps<'a>>,
    /// Whether its keys are shown as `*`.
    is_map: bool,
}

impl<'a> Maps<'a> {
    fn insert(&mut self, pattern: &'a str) {
        // The comparator limits nesting, so every recursion here is limited, too.
        let mut at = self;
        for segment in pattern.split('/').skip(1) {
            at = at.children.entry(segment).or_default();
        }
    }

    /// Marks objects as maps if too many of their keys differ, and merges all their values into one.
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
        let groups = FindingGroups::for_readers(&findings);
        let shown: Vec<String> = groups
            .groups
            .iter()
            .map(|group| format!("{} {}", group.count, group.key.pattern))
            .collect();
        assert_eq!(shown, expected);
        assert_eq!(groups.group_of.len(), findings.len());
        for (position, group) in groups.groups.iter().enumerate() {
            assert_eq!(
                groups.group_of.iter().position(|of| *of == position),
                Some(group.first)
            );
        }
    }

    #[test]
    fn the_same_pattern_is_one_group_and_another_kind_another() {
        check(
            ["/a", "/b/*", "/a", ""].map(str::to_owned),
            &["2 /a", "1 /b/*", "1 "],
        );
        let two = [Kind::Value, Kind::Type].map(|kind| finding("/a".to_owned(), kind));
        assert_eq!(FindingGroups::for_readers(&two).groups.len(), 2);
    }

    #[test]
    fn the_keys_of_a_map_become_one_also_in_the_middle_and_those_of_a_record_do_not() {
        let keys = |count: usize, tail: &'static str| {
            (0..count).map(move |key| format!("/rates/{key}{tail}"))
        };
        check(keys(MAX_KEYS + 1, "/value"), &["33 /rates/*/value"]);
        let groups = FindingGroups::for_readers(
            &keys(MAX_KEYS, "")
                .map(|pattern| finding(pattern, Kind::Value))
                .collect::<Vec<_>>(),
        );
        assert_eq!(groups.groups.len(), MAX_KEYS);
        let nested = (0..50).flat_map(|one| (0..50).map(move |two| format!("/{one}/x/{two}")));
        check(nested, &["2500 /*/x/*"]);
        let findings: Vec<Finding> = keys(MAX_KEYS + 1, "")
            .map(|pattern| finding(pattern, Kind::Value))
            .collect();
        let groups = FindingGroups::by_pattern(&findings);
        assert_eq!(groups.groups.len(), MAX_KEYS + 1, "documents keep them");
    }
}
