//! Where a group of findings is, and what is there: by which its mirror and its family are found.

use parity_schemas::tally::Group;
use parity_schemas::verdict::{Explanation, Kind, Part};

use super::shape::Shape;

/// Where a group is, and what is there.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Place<'a> {
    route: &'a str,
    part: Part,
    pattern: &'a str,
    pub(super) kind: Kind,
    pub(super) statuses: (u16, u16),
    explanation: Option<Explanation>,
    pub(super) shape: Shape,
}

impl<'a> Place<'a> {
    /// `None` without a shape that is known: what older programs counted, and what is folded into one group.
    pub(super) fn of(route: &'a str, group: &'a Group) -> Option<Self> {
        let shape = group.shape.parse().ok()?;
        Some(Self {
            route,
            part: group.part,
            pattern: &group.pattern,
            kind: group.kind,
            statuses: (group.legacy_status, group.candidate_status),
            explanation: group.explanation,
            shape,
        })
    }

    /// The same without its explanation.
    pub(super) fn family(&self) -> Self {
        Self {
            explanation: None,
            ..*self
        }
    }

    /// The same with the services exchanged.
    pub(super) fn mirrored(&self) -> Self {
        Self {
            kind: match self.kind {
                Kind::Missing => Kind::Extra,
                Kind::Extra => Kind::Missing,
                kind => kind,
            },
            statuses: (self.statuses.1, self.statuses.0),
            shape: self.shape.mirrored(),
            ..*self
        }
    }
}
