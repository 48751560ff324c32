//! How many mismatches contradict the explanation of a group.
//!
//! An explanation is determined for each finding separately, and some findings fit it by chance: of the fees that a
//! wrong formula computes, now and then one looks rounded. So an explanation is believed only if it holds for all
//! mismatches at the same place. Other values there without an explanation contradict it. Missing values do not, as
//! long as they are rare: they may have another reason. Another unit, factor, offset or number of digits than most have
//! there is contradicted by the majority, as `Explanation::contradicts` says: it is as true of its values, but a fault.

use std::collections::{BTreeMap, HashMap};

use parity_schemas::tally::Group;
use parity_schemas::verdict::{Explanation, Kind, Part};

/// At most one in this many mismatches at a place may be a missing value, another order or broken content without an
/// explanation.
const ONE_IN: u64 = 20;

/// A place in the answers of one route, with the status codes of both sides.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    part: Part,
    pattern: String,
    legacy_status: u16,
    candidate_status: u16,
}

impl Place {
    fn of(group: &Group) -> Self {
        Self {
            part: group.part,
            pattern: group.pattern.clone(),
            legacy_status: group.legacy_status,
            candidate_status: group.candidate_status,
        }
    }
}

/// Counts of mismatches at one place.
#[derive(Default)]
struct Told {
    explained: BTreeMap<Explanation, u64>,
    /// Two different values without an explanation.
    values: u64,
    /// Anything else without an explanation.
    other: u64,
}

/// All places of one route.
#[derive(Default)]
pub(super) struct Hints(HashMap<Place, Told>);

impl Hints {
    pub(super) fn add(&mut self, group: &Group, count: u64) {
        let told = self.0.entry(Place::of(group)).or_default();
        *match (group.explanation, group.kind) {
            (Some(near), _) => told.explained.entry(near).or_default(),
            (None, Kind::Value | Kind::Type) => &mut told.values,
            (None, _) => &mut told.other,
        } += count;
    }

    /// How many mismatches contradict the explanation of a group.
    pub(super) fn against(&self, group: &Group) -> u64 {
        let (Some(near), Some(told)) = (group.explanation, self.0.get(&Place::of(group))) else {
            return 0;
        };
        let explained: u64 = told.explained.values().sum();
        let own = told.explained.get(&near).copied().unwrap_or_default();
        let majority = told.explained.iter().filter(|(word, count)| {
            word.contradicts(near)
                .is_some_and(|share| **count >= own.saturating_mul(share))
        });
        let unexplained = if told.other * ONE_IN > explained {
            told.values + told.other
        } else {
            told.values
        };
        unexplained + majority.map(|(_, count)| count).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::other_group;

    fn group(pattern: &str, kind: Kind, explanation: Option<Explanation>) -> Group {
        Group {
            part: Part::Body,
            pattern: pattern.to_owned(),
            kind,
            explanation,
            ..other_group()
        }
    }

    #[test]
    fn a_hint_holds_for_all_of_its_place_or_is_contradicted() {
        let rounded = group("/fee", Kind::Value, Some(Explanation::Rounded));
        let near = group("/fee", Kind::Value, Some(Explanation::NearDouble));
        let wrong = group("/fee", Kind::Value, None);
        let missing = group("/fee", Kind::Missing, None);
        let elsewhere = group("/total", Kind::Value, None);
        let against = |groups: &[(&Group, u64)]| {
            let mut hints = Hints::default();
            for (group, count) in groups {
                hints.add(group, *count);
            }
            hints.against(&rounded)
        };
        assert_eq!(against(&[(&rounded, 5), (&wrong, 24)]), 24);
        assert_eq!(against(&[(&rounded, 10_000), (&wrong, 1)]), 1);
        assert_eq!(against(&[(&rounded, 5), (&near, 20), (&elsewhere, 9)]), 0);
        assert_eq!(against(&[(&rounded, 20), (&missing, 1)]), 0);
        assert_eq!(against(&[(&rounded, 20), (&missing, 2)]), 2);
        let mut hints = Hints::default();
        hints.add(&wrong, 3);
        assert_eq!(hints.against(&wrong), 0);
    }

    #[test]
    fn the_majority_contradicts_another_unit_and_not_the_reverse() {
        use Explanation as E;
        let of = |near| group("/at", Kind::Type, Some(near));
        let against = |counts: &[(Explanation, u64)]| {
            let mut hints = Hints::default();
            for (near, count) in counts {
                hints.add(&of(*near), *count);
            }
            let told = counts.iter().map(|(near, _)| hints.against(&of(*near)));
            told.collect::<Vec<u64>>()
        };
        assert_eq!(
            against(&[(E::UnixSeconds, 76), (E::UnixMillis, 4)]),
            [0, 76]
        );
        // Nobody can tell which of two is meant.
        assert_eq!(against(&[(E::UnixSeconds, 4), (E::UnixMillis, 4)]), [4, 4]);
        assert_eq!(
            against(&[(E::ScaledBy100, 9), (E::DividedBy100, 1)]),
            [0, 9]
        );
        assert_eq!(
            against(&[(E::Rounded, 76), (E::RoundedToWhole, 4)]),
            [0, 76]
        );
        assert_eq!(
            against(&[(E::RoundedToWhole, 90), (E::Rounded, 10)]),
            [0, 0]
        );
        assert_eq!(against(&[(E::Rounded, 50), (E::CutDecimals, 50)]), [0, 0]);
        assert_eq!(against(&[(E::Rounded, 76), (E::CutDecimals, 4)]), [0, 76]);
        assert_eq!(against(&[(E::UnixSeconds, 9), (E::NullVsBlank, 1)]), [0, 0]);
    }
}
