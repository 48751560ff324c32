//! An array with the same elements in another order: which of them have moved.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::pretty::{elements, member};

/// Consecutive unmoved elements that are still listed one by one.
const MAX_IN_PLACE: usize = 3;
/// Elements of a reordered array that are aligned. It takes a few milliseconds when all have moved.
const MAX_ALIGNED_ELEMENTS: usize = 500;
/// The field that names elements, if all have it. The comparator pairs them by it, too.
const IDENTITY: &str = "id";

/// The elements of both sides, by name if all have one; at most as many as are aligned.
pub(crate) struct Order {
    legacy: Vec<String>,
    candidate: Vec<String>,
}

/// What became of an element on the way from the legacy's order to the candidate's.
pub(crate) enum Step<'a> {
    /// It has not moved.
    InPlace(&'a str),
    /// This many have not moved, and are not listed one by one.
    MoreInPlace(usize),
    /// It was here in the legacy's order.
    Removed(&'a str),
    /// It is here in the candidate's order.
    Added(&'a str),
}

impl Order {
    /// Reads two arrays, which may have been cut. `None` if one is not an array, or is empty.
    pub(crate) fn of(legacy: &str, candidate: &str) -> Option<Self> {
        let (one, two) = (elements(legacy), elements(candidate));
        if one.is_empty() || two.is_empty() {
            return None;
        }
        let (mut legacy, mut candidate) = match (names(&one), names(&two)) {
            (Some(legacy), Some(candidate)) => (legacy, candidate),
            _ => (texts(&one), texts(&two)),
        };
        legacy.truncate(MAX_ALIGNED_ELEMENTS);
        candidate.truncate(MAX_ALIGNED_ELEMENTS);
        Some(Self { legacy, candidate })
    }

    /// The steps from one order to the other.
    pub(crate) fn steps(&self) -> Vec<Step<'_>> {
        let (legacy, candidate) = (&self.legacy, &self.candidate);
        let mut steps = Vec::new();
        for op in capture_diff_slices(Algorithm::Myers, legacy, candidate) {
            match op {
                DiffOp::Equal { old_index, len, .. } if len > MAX_IN_PLACE => {
                    steps.push(Step::InPlace(&legacy[old_index]));
                    steps.push(Step::MoreInPlace(len - 2));
                    steps.push(Step::InPlace(&legacy[old_index + len - 1]));
                }
                DiffOp::Equal { old_index, len, .. } => {
                    let same = legacy[old_index..old_index + len].iter();
                    steps.extend(same.map(|text| Step::InPlace(text)));
                }
                op => {
                    let (removed, added) = (&legacy[op.old_range()], &candidate[op.new_range()]);
                    steps.extend(removed.iter().map(|text| Step::Removed(text)));
                    steps.extend(added.iter().map(|text| Step::Added(text)));
                }
            }
        }
        steps
    }

    /// The first element that differs, and how each side goes on from there. It is shown when so much has moved that listing
    /// every step would not help.
    pub(crate) fn parted(&self) -> (usize, [String; 2]) {
        let pairs = self.legacy.iter().zip(&self.candidate);
        let from = pairs.take_while(|(one, two)| one == two).count();
        let rest = [&self.legacy, &self.candidate]
            .map(|texts| texts.get(from..).unwrap_or_default().join(", "));
        (from, rest)
    }
}

/// The names of the elements, if each has one.
fn names(elements: &[&str]) -> Option<Vec<String>> {
    let name = |element: &&str| Some(format!("{IDENTITY} {}", member(element, IDENTITY)?));
    elements.iter().map(name).collect()
}

fn texts(elements: &[&str]) -> Vec<String> {
    elements
        .iter()
        .map(|element| (*element).to_owned())
        .collect()
}
