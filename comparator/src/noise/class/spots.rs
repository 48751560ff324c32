//! Where within a text two answers differ, and how the legacy moved there.
//!
//! A page with a fresh token differs in every answer, and the token says nothing of the price beside it. So a text that is
//! equal but for numbers and ids is looked at number by number and id by id: each is a place of its own ([`Spot`]), with the
//! values of all four answers. Texts that cannot be laid over each other have none, and are looked at as a whole.

use std::collections::BTreeMap;

use parity_schemas::side::{Excerpt, Side};
use parity_schemas::verdict::{Finding, Part};

use super::look::SecondLook;
use super::spot::Spot;
use crate::comparator::Comparison;
use crate::noise::shape::{Shape, ValueShape, changed_lines, spots, unquoted};

impl SecondLook<'_> {
    /// The places within the text that a finding is about where any of the four answers differs; `None` if it is about no
    /// such text.
    pub(super) fn spots(&self, finding: &Finding) -> Option<Vec<Spot>> {
        if Shape::of(finding).legacy != ValueShape::Pattern {
            return None;
        }
        let mut found = Vec::new();
        if matches!(finding.legacy, Side::Line(_)) {
            for texts in self.lines(finding)?.into_values() {
                found.extend(spots(texts)?);
            }
        } else {
            let texts = self.values(finding).map(|side| text_of(finding.part, side));
            let [Some(l1), Some(c1), Some(l2), Some(c2)] = texts else {
                return None;
            };
            found = spots([&l1, &c1, &l2, &c2])?;
        }
        let side = |text: String| Side::Value(Excerpt { text, whole: None });
        Some(found.into_iter().map(|texts| texts.map(side)).collect())
    }

    /// The lines of a body in which any of the four answers differ, by their number.
    fn lines<'b>(&'b self, finding: &'b Finding) -> Option<BTreeMap<usize, [&'b str; 4]>> {
        let first = changed_lines(finding.text_diff.as_ref()?)?;
        let moved = |comparison: &'b Comparison| {
            let mut there = comparison.findings.iter();
            match there.find(|other| other.part == finding.part && other.path == finding.path) {
                Some(moved) => changed_lines(moved.text_diff.as_ref()?),
                None => Some(Vec::new()),
            }
        };
        let (legacy, candidate) = (moved(self.legacy)?, moved(self.candidate)?);
        let mut lines = BTreeMap::new();
        for (number, one, two) in &first {
            lines.insert(*number, [*one, *two, *one, *two]);
        }
        for (number, one, two) in &legacy {
            let line = lines.entry(*number).or_insert([*one, *one, *one, *one]);
            line[2] = two;
        }
        for (number, one, two) in &candidate {
            // Where the first answers agree, the candidate's first is the legacy's.
            let line = lines.entry(*number).or_insert([*one, *one, *one, *one]);
            line[3] = two;
        }
        Some(lines)
    }
}

/// The text of a value that is shown whole.
fn text_of(part: Part, side: &Side) -> Option<String> {
    let Side::Value(Excerpt { text, whole: None }) = side else {
        return None;
    };
    if part == Part::Body {
        unquoted(text)
    } else {
        Some(text.clone())
    }
}
