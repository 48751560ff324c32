//! Whether the legacy moved where two answers differ.
//!
//! Its own two answers are compared by the same rules; what differs between them is its motion. Where it moved decides
//! what excuses the candidate, so a place is taken narrowly: a price that changed in one element of a list says nothing of
//! the price in another, a list that was shuffled nothing of what stands in its elements, and a value that changed nothing
//! of whether it is there.

use parity_schemas::verdict::{Finding, Kind, Part};

use super::shape::Shape;

/// How the legacy moved, as seen from one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Motion {
    /// Not there.
    None,
    /// At a place of the same pattern: another element of the same list.
    Elsewhere,
    /// There.
    Here,
}

/// How the legacy moved at the place of a finding.
pub(super) fn motion(finding: &Finding, motions: &[Finding]) -> Motion {
    let motions = motions.iter().filter(|moved| moved.part == finding.part);
    motions
        .map(|moved| one_motion(finding, moved))
        .max()
        .unwrap_or(Motion::None)
}

fn one_motion(finding: &Finding, moved: &Finding) -> Motion {
    if is_above(&moved.path, &finding.path) && !matches!(moved.kind, Kind::Order | Kind::Extra) {
        return Motion::Here;
    }
    if moved.pattern != finding.pattern || !is_of_one_kind(finding.kind, moved.kind) {
        return Motion::None;
    }
    let here = if is_membership(finding) {
        // Elements come and go at any index; the same element is known by its value.
        let value = if finding.kind == Kind::Missing {
            &finding.legacy
        } else {
            &finding.candidate
        };
        *value == moved.legacy || *value == moved.candidate
    } else {
        moved.path == finding.path
    };
    if here {
        Motion::Here
    } else {
        Motion::Elsewhere
    }
}

/// Whether a motion of one kind is one of what a finding of the other kind is about.
fn is_of_one_kind(finding: Kind, moved: Kind) -> bool {
    let is_structural = |kind| {
        matches!(
            kind,
            Kind::Missing | Kind::Extra | Kind::Type | Kind::Errors
        )
    };
    match finding {
        Kind::Missing | Kind::Extra | Kind::Type | Kind::Errors => is_structural(moved),
        Kind::Order => moved == Kind::Order,
        Kind::Value => moved == Kind::Value || is_structural(moved),
        Kind::DuplicateKey | Kind::Decode => moved == finding,
    }
}

/// Whether a finding is about an element of a list that only one side has.
pub(super) fn is_membership(finding: &Finding) -> bool {
    matches!(finding.kind, Kind::Missing | Kind::Extra)
        && finding.part == Part::Body
        && finding.pattern.ends_with("/*")
}

/// Whether one path leads to what another one is within.
pub(super) fn is_above(above: &str, path: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Whether two findings are about one place, or one within the other, whatever the index in lists.
pub(super) fn overlap(one: &Finding, two: &Finding) -> bool {
    one.part == two.part
        && (one.pattern == two.pattern
            || is_above(&one.pattern, &two.pattern)
            || is_above(&two.pattern, &one.pattern))
}

/// What findings of one exchange have in common that belong to one group, as far as the answers say it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Likeness {
    part: Part,
    pattern: String,
    kind: Kind,
    pub(super) shape: Shape,
}

impl Likeness {
    pub(super) fn of(finding: &Finding) -> Self {
        Self {
            part: finding.part,
            pattern: finding.pattern.clone(),
            kind: finding.kind,
            shape: Shape::of(finding),
        }
    }

    /// Whether the legacy's motion is at this place, and between the same two shapes.
    pub(super) fn is_motion(&self, moved: &Self) -> bool {
        self.part == moved.part
            && self.pattern == moved.pattern
            && self.shape.is_same_pair(moved.shape)
    }
}
