//! An array whose elements are the same in another order: which of them are at another place.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::pretty::{elements, member};

/// Elements in a row that are at their place and still told one by one.
const MAX_IN_PLACE: usize = 3;
/// Elements of a reordered array that are aligned: some milliseconds when none is at its place.
const MAX_ALIGNED_ELEMENTS: usize = 500;
/// The field by which elements are named, when all have it; the comparator pairs them by it, too.
const IDENTITY: &str = "id";

/// The elements of both sides, by name if all have one; as many as are aligned.
pub(crate) struct Order {
    legacy: Vec<String>,
    candidate: Vec<String>,
}

/// What became of an element on the way from the legacy's order to the candidate's.
pub(crate) enum Step<'a> {
    /// It is at its place.
    InPlace(&'a str),
    /// So are this many, which are not told one by one.
    MoreInPlace(usize),
    /// It stood here.
    Removed(&'a str),
    /// It stands here now.
    Added(&'a str),
}

impl Order {
    /// Of two arrays, which may be cut; `None` for what is none, or has no element.
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

    /// The way from one order to the other.
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

    /// From which element on they differ, and how each goes on from there: where too much has moved for every step to be
    /// of use.
    pub(crate) fn parted(&self) -> (usize, [String; 2]) {
        let pairs = self.legacy.iter().zip(&self.candidate);
        let from = pairs.take_while(|(one, two)| one == two).count();
        let rest = [&self.legacy, &self.candidate]
            .map(|texts| texts.get(from..).unwrap_or_default().join(", "));
        (from, rest)
    }
}

/// What the elements are called, when each has a name.
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
