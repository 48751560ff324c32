//! One place within a text, and its class.

use std::cmp::Ordering;

use parity_schemas::record::MismatchClass;
use parity_schemas::side::Side;
use parity_schemas::verdict::Part;

use crate::noise::value::Ordered;

/// The values of one place within a text: of the legacy and the candidate, first and second.
pub(super) type Spot = [Side; 4];
/// What the values of a spot are read as: they have no quotes.
pub(super) const PART_OF_SPOT: Part = Part::Header;

/// The gravest class of the places in which the first answers differ, by the same table as everything else.
pub(super) fn class_of_spots(spots: &[Spot]) -> Option<MismatchClass> {
    let differs_elsewhere = spots
        .iter()
        .any(|[l1, c1, l2, c2]| l1 == c1 && l1 == l2 && l2 != c2);
    let of_spot = |[l1, c1, l2, c2]: &Spot| match (l1 != l2, l2 != c2) {
        (true, true) => MismatchClass::Noise,
        (false, true) => MismatchClass::Confirmed,
        (false, false) => MismatchClass::Unstable,
        (true, false) if c1 != l2 && !is_between(l1, c1, l2) => MismatchClass::Unstable,
        (true, false) if differs_elsewhere => MismatchClass::Unconfirmed,
        (true, false) => MismatchClass::Transient,
    };
    let differing = spots.iter().filter(|[l1, c1, ..]| l1 != c1);
    differing.map(of_spot).min()
}

/// Whether a number or time is between two others.
fn is_between(from: &Side, at: &Side, to: &Side) -> bool {
    let of = |side| Ordered::of(PART_OF_SPOT, side);
    let orders = || {
        let (from, at, to) = (of(from)?, of(at)?, of(to)?);
        Some((at.compare(&from)?.order, to.compare(&at)?.order))
    };
    orders().is_some_and(|(first, last)| first == last && first != Ordering::Equal)
}
