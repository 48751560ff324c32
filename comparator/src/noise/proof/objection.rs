//! What is against a group's being noise, as numbers: `told` beside this has the words.

use parity_schemas::recheck::RecheckEvidence;

use crate::noise::shape::Shape;

/// What is against a group's being noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objection {
    /// Values of these shapes do not differ by chance, or too little of the answer is known.
    Shape(Shape),
    /// Too few rechecks.
    FewRechecks {
        /// How many there are.
        rechecks: u64,
    },
    /// Too few different targets.
    FewTargets {
        /// How many there are.
        targets: u64,
    },
    /// Too many mismatches are of processes and days that did not ask again about enough of them.
    Unsampled {
        /// How many there are.
        unsampled: u64,
    },
    /// One of a pair is shown to be more frequent than its counterpart.
    Shown {
        /// The one.
        evidence: RecheckEvidence,
        /// How often it was seen.
        times: u64,
        /// How often its counterpart.
        counterpart: u64,
    },
    /// One of a pair may still be more frequent than its counterpart, by more than may hide.
    MayHide {
        /// The one.
        evidence: RecheckEvidence,
        /// The most by which it may exceed its counterpart, of the group's exchanges.
        most: f64,
        /// What may hide, of them.
        allowed: f64,
        /// How many rechecks there are.
        rechecks: u64,
        /// About how many more rechecks would show that no more does, if they come out as those so far; `None` if none would, or too
        /// many, or there are none to go by.
        missing: Option<u64>,
        /// Whether it is the order of elements that differs, of which people can say that it does not matter.
        is_order: bool,
    },
    /// One side has another kind of value, or none, more often than the other has it the other way round.
    OneSided {
        /// Exchanges of this group.
        count: u64,
        /// Exchanges of the group with the sides exchanged.
        mirrored: u64,
    },
}
