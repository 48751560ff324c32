//! Whether the legacy by itself shows what a group of findings shows.
//!
//! A recheck that finds the same difference again, with a legacy that stands still, is `confirmed`. Of services that behave
//! alike that is told now and then of everything that does not move each time: lists whose length changes, a text that is one
//! of two, a value that each process keeps for some seconds. Then the services repeat themselves more than each other,
//! and one of the two answers of each is as good as the other. What tells such a service from a candidate that is wrong is
//! that the legacy differs from *itself* in the same way, as often as the candidate does: the same kinds of values at
//! the same places, between its own two answers. So each recheck says which of both did, and these may be compared.
//!
//! That proves nothing, so no group is noise by it. It says that `confirmed` shows no fault there, so that nothing
//! fails by it: the group is open.
//!
//! *What it does not excuse*: a legacy that stands still; a candidate that stands still where the legacy moves, or the
//! reverse; and a legacy that only moves when the candidate does, because the data changed for both: a wrong value of data
//! that changes is wrong.
//!
//! *What it leaves open*: until some rechecks more, one of two that move seldom and unequally; and for ever a candidate that
//! is always wrong and changes its value as often as the legacy does, which looks like two services with a text of their own
//! at random. Neither passes by it.

use parity_schemas::evidence::Bound;
use parity_schemas::recheck::RecheckEvidence;

use super::coin::evidence_for;
use super::sums::GroupSums;
use crate::bounds::{Seen, upper};

/// The least share of rechecks in which the legacy must be known to move. A value that is kept for ten seconds changes
/// within half a second in one of twenty.
const LEAST_MOTION: f64 = 0.04;
/// Of the bound for that share.
const CONFIDENCE: f64 = 0.95;
/// So many times as often as by chance may both move at once.
const TOGETHER: f64 = 2.0;
/// Rechecks in which both may move at once in any case.
const BY_CHANCE: f64 = 3.0;

/// How the legacy moves in the way of a group, beside the candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Likewise {
    /// It does so by itself, about as often as the candidate.
    moves: bool,
    /// Both mostly stand still between two looks, so that rechecks at one time all say the same.
    stands: bool,
    /// What rechecks say when one of both shows a new value is balanced.
    is_balanced: bool,
}

impl Likewise {
    /// Of a group with its mirror; from this e-value on one of a pair is told to be more frequent.
    pub(super) fn of(both: &GroupSums, shown: f64) -> Self {
        let rechecks = both.rechecks();
        let of = |evidence| both.of(evidence).min(rechecks);
        let (legacy, candidate) = (
            of(RecheckEvidence::LegacyLikewise),
            of(RecheckEvidence::CandidateLikewise),
        );
        let together = of(RecheckEvidence::BothLikewise);
        let all = (legacy + together).min(rechecks);
        let is_seldom = all == 0
            || upper(Bound::OneLook, Seen::new(all, rechecks), 1.0 - CONFIDENCE) < LEAST_MOTION;
        let is_unlike =
            evidence_for(legacy, candidate) >= shown || evidence_for(candidate, legacy) >= shown;
        let by_chance = all as f64 * (candidate + together) as f64 / rechecks.max(1) as f64;
        let is_joint =
            together as f64 > TOGETHER * by_chance + BY_CHANCE * by_chance.sqrt() + BY_CHANCE;
        let moves = !is_seldom && !is_unlike && !is_joint;
        let first = |evidence, again| of(evidence).saturating_sub(of(again));
        let (above, below) = (
            first(RecheckEvidence::Above, RecheckEvidence::AboveAgain),
            first(RecheckEvidence::Below, RecheckEvidence::BelowAgain),
        );
        let far = first(RecheckEvidence::CandidateFar, RecheckEvidence::FarAgain);
        let is_balanced = [
            (above, below),
            (below, above),
            (far, of(RecheckEvidence::LegacyFar)),
        ]
        .into_iter()
        .all(|(one, other)| evidence_for(one, other) < shown);
        let stands = (legacy + candidate + together) * 2 < rechecks;
        Self {
            moves,
            stands,
            is_balanced,
        }
    }

    /// Of a group that differs from its family only in the explanation. The explanation comes by chance: whoever keeps a value
    /// has it in all looks of one moment and in none of the others, so only the family shows how the services move. What a
    /// new value says is the group's own. Where the services move each time, a group is told by its own rechecks.
    pub(super) fn within(self, family: Self) -> Self {
        let lends = family.moves && family.stands;
        Self {
            moves: self.moves || lends,
            stands: self.stands && family.stands,
            is_balanced: self.is_balanced,
        }
    }

    /// Whether the legacy moves by itself in the way of the group, about as often as the candidate.
    pub(super) fn moves(self) -> bool {
        self.moves
    }

    /// Whether services that behave alike may show this of a pair, although each recheck for itself would tell against it.
    pub(super) fn shows(self, evidence: RecheckEvidence) -> bool {
        match evidence {
            RecheckEvidence::Own => self.moves,
            // One look at values that are kept says as much as many.
            RecheckEvidence::Above | RecheckEvidence::Below | RecheckEvidence::CandidateFar => {
                self.moves && self.stands && self.is_balanced
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::record::MismatchClass;

    use super::*;
    use crate::noise::shape::Shape;

    fn of(
        rechecks: u64,
        [legacy, candidate, together]: [u64; 3],
        more: &[(RecheckEvidence, u64)],
    ) -> Likewise {
        let shape: Shape = "uuid→uuid".parse().expect("it is one");
        let moves = [
            (RecheckEvidence::LegacyLikewise, legacy),
            (RecheckEvidence::CandidateLikewise, candidate),
            (RecheckEvidence::BothLikewise, together),
        ];
        let sums = GroupSums {
            shape,
            count: rechecks,
            classes: [(MismatchClass::Confirmed, rechecks)].into(),
            evidence: moves.iter().chain(more).copied().collect(),
        };
        Likewise::of(&sums, 100.0)
    }

    #[test]
    fn a_legacy_moves_by_itself_if_it_does_so_as_often_as_the_candidate_and_not_only_with_it() {
        for (rechecks, counts, moves) in [
            (100, [0, 0, 0], false),
            (100, [10, 12, 2], true),
            (100, [10, 4, 2], true),
            (100, [20, 25, 50], true),
            (100, [0, 0, 100], true),
            // Once, long ago.
            (40, [1, 0, 0], true),
            (400, [1, 0, 0], false),
            // Only one of both.
            (100, [5, 0, 0], true),
            (100, [10, 0, 0], false),
            (100, [0, 20, 0], false),
            (100, [2, 20, 1], false),
            // The data changed for both.
            (400, [1, 1, 40], false),
        ] {
            let found = of(rechecks, counts, &[]);
            assert_eq!(found.moves(), moves, "{rechecks} {counts:?}");
        }
    }

    #[test]
    fn a_rare_explanation_of_a_value_that_is_kept_is_told_by_what_is_new() {
        use RecheckEvidence::{Below, BelowAgain, CandidateFar, FarAgain, Own};
        let kept = of(110, [6, 6, 2], &[]);
        let moving = of(110, [20, 20, 60], &[]);
        let once = [(Own, 11), (Below, 11), (BelowAgain, 10)];
        let far = [(CandidateFar, 10), (FarAgain, 10)];
        let rare = of(11, [0, 0, 0], &[once.as_slice(), &far].concat());
        assert!(!rare.moves());
        for what in [Own, Below, CandidateFar] {
            assert!(rare.within(kept).shows(what), "{what}");
            assert!(!rare.within(moving).shows(what), "{what}");
        }
        // Each look finds a new value below.
        let anew = of(40, [0, 0, 0], &[(Own, 40), (Below, 40), (BelowAgain, 20)]);
        assert!(!anew.within(kept).shows(Below));
    }

    #[test]
    fn what_is_kept_says_nothing_anew() {
        use RecheckEvidence::{Above, AboveAgain, Below, BelowAgain, CandidateFar, FarAgain, Own};
        let kept = [10, 12, 2];
        let shows = |counts, evidence: &[(RecheckEvidence, u64)], what| {
            of(100, counts, evidence).shows(what)
        };
        let signs = [(Above, 85), (AboveAgain, 78), (Below, 15), (BelowAgain, 9)];
        assert!(shows(kept, &signs, Above) && shows(kept, &[], Own));
        let anew = [(Above, 85), (AboveAgain, 65)];
        assert!(!shows(kept, &anew, Above));
        let far = [(CandidateFar, 60), (FarAgain, 40)];
        assert!(!shows(kept, &far, CandidateFar));
        // Each recheck of what moves is a look of its own.
        assert!(!shows([30, 30, 30], &signs, Above));
        assert!(!shows([0, 0, 0], &signs, Own));
        assert!(!shows(kept, &signs, RecheckEvidence::CandidateRepeats));
    }
}
