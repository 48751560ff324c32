//! Whether a group of findings is noise: from sums alone, so that every reader says the same.
//!
//! *What is asked.* If the candidate behaves as the legacy does, then in each recheck the two second answers could be
//! exchanged: every statement about the candidate has a counterpart about the legacy that is as likely ([`RecheckEvidence`]
//! comes in such pairs). So each pair is looked at in two ways:
//!
//! - *Shown to differ*: a sequential sign test says that the one is more frequent. It may be looked at any number of times.
//!   This finds what is wrong in all of a group, however rare the group is.
//! - *Not shown to be alike*: the most by which the one may exceed the other, at high confidence, is still more than may be
//!   hidden. Nobody is acquitted for want of evidence: a group that is in every answer could hide a fault in one of a
//!   hundred, and needs some seven hundred rechecks; one that is in one of a hundred needs twenty.
//!
//! *Why not "one confirmed recheck ends it".* A field with three values is the same twice in a third of the rechecks, and
//! a race that hits the candidate looks unstable; so both would never be noise, in a service against itself. They repeat
//! each other as often as themselves, and that is what counts here. For ids and clocks, which never repeat, it comes to the
//! same: a single confirmed recheck asks for a third more.
//!
//! *What it cannot see.* A candidate that is off by less than the legacy's own values move, in fewer than one of ten of
//! the answers: signs would have to be counted for a hundred thousand rechecks. What is off by more is *far* and found at one of a hundred.
//!
//! *What it does not need*: how often the legacy moves in requests that match. Where every recheck found it moving it
//! moves at least as often as the services differ; where not, the pairs above say whether they do so alike.

mod objection;
#[cfg(test)]
mod tests;
mod told;

use parity_schemas::evidence::Bound;
use parity_schemas::noise::NoiseGroup;
use parity_schemas::recheck::RecheckEvidence;
use parity_schemas::record::MismatchClass;

use super::coin::{evidence_for, shown_of};
use super::likewise::Likewise;
use super::shape::ValueShape;
pub use super::sums::GroupSums;
use crate::bounds::{self, Seen};
pub use objection::Objection;

/// Fewest rechecks. With fewer even the smallest group says nothing: a coin falls on one side ten times in a thousand.
pub const MIN_RECHECKS: u64 = 20;
/// Fewest different targets, so that one odd record is not taken for a property of the service.
pub const MIN_TARGETS: u64 = 10;
/// The share of all compared requests of a route that may hide in a group. What a gate allows is most often less, but it
/// is not given away: it is the most that could hide and is not seen, at [`CONFIDENCE`].
pub const MAX_HIDDEN: f64 = 0.01;
/// The share of a group's own exchanges that may hide in it, however rare it is. It is what twenty rechecks without any can
/// show.
pub const MAX_OF_GROUP: f64 = 0.3;
/// What signs cannot show more finely in any reasonable time: at a tenth it takes a thousand rechecks, at a hundredth a
/// hundred times as many.
pub const FINEST_IMBALANCE: f64 = 0.1;
/// Of a rare group, the imbalance of signs that may hide: what forty rechecks can show.
pub const COARSEST_IMBALANCE: f64 = 0.75;
/// Of orders of the same elements, the imbalance that may hide, however many there are. A list that one service sorts and the other
/// does not is out of balance nearly always, and finer than this takes thousands of rechecks.
pub const ORDER_IMBALANCE: f64 = 0.25;
/// Of each bound. A fault that shows in exactly the share that may hide, and in no other way, goes unseen in so many rechecks
/// once in a thousand times. What was seen once does not go away, so looking often adds little to that.
pub const CONFIDENCE: f64 = 0.999;
/// More rechecks than this are not told as a number: at the default of `recheck.rate` it would take more than a day in which nothing
/// else is asked again, and what is so near to what is allowed stays near.
pub const MOST_MISSING: f64 = 1e6;

/// Of which route a group is.
#[derive(Clone, Copy, Debug)]
pub struct OfRoute {
    /// Compared requests of the route.
    pub compared: u64,
    /// Groups of all routes that are looked at. They share the chance of a wrong verdict on one of them.
    pub groups: u64,
}

impl From<&NoiseGroup> for OfRoute {
    fn from(group: &NoiseGroup) -> Self {
        Self {
            compared: group.compared,
            groups: group.groups,
        }
    }
}

impl From<u64> for OfRoute {
    /// A route with so many compared requests and no other group.
    fn from(compared: u64) -> Self {
        let groups = 1;
        Self { compared, groups }
    }
}

/// Whether a group is noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// Rechecks that it rests on.
    pub rechecks: u64,
    /// The most that could hide in the group, of all compared requests, as far as the rechecks show.
    pub hidden: f64,
    /// Why it is not proven; none if it is.
    pub against: Vec<Objection>,
    /// Whether the legacy differed from itself in the same way in most of the rechecks, or as often as the candidate. Then
    /// a shape that is never proven is no fault either.
    pub moves_alike: bool,
    /// How the legacy shows by itself what the group shows.
    pub likewise: Likewise,
    /// The e-value from which one of a pair is shown to be more frequent.
    shown: f64,
    /// Whether it is the order of elements that differs.
    is_order: bool,
}

impl Proof {
    /// Whether nothing is against it.
    pub fn is_proven(&self) -> bool {
        self.against.is_empty()
    }

    /// Whether more rechecks could prove it: nothing is shown to differ yet.
    pub fn is_open(&self) -> bool {
        let mut against = self.against.iter();
        !self.is_proven()
            && against.all(|objection| match objection {
                Objection::FewRechecks { .. }
                | Objection::FewTargets { .. }
                | Objection::Unsampled { .. }
                | Objection::MayHide { .. } => true,
                Objection::OneSided { count, mirrored } => {
                    evidence_for(*count, *mirrored) < self.shown
                }
                Objection::Shape(_) => self.moves_alike,
                Objection::Shown { evidence, .. } => self.likewise.shows(*evidence),
            })
    }
}

/// The pairs, each with what is more frequent if the candidate is at fault first.
pub(super) const PAIRS: [(RecheckEvidence, RecheckEvidence); 6] = [
    (RecheckEvidence::Own, RecheckEvidence::Other),
    (
        RecheckEvidence::CandidateAlone,
        RecheckEvidence::LegacyAlone,
    ),
    (RecheckEvidence::CandidateOdd, RecheckEvidence::LegacyOdd),
    (
        RecheckEvidence::CandidateRepeats,
        RecheckEvidence::LegacyRepeats,
    ),
    (
        RecheckEvidence::CandidateTwins,
        RecheckEvidence::LegacyTwins,
    ),
    (RecheckEvidence::CandidateFar, RecheckEvidence::LegacyFar),
];

/// Pairs of signs that are there in nearly every recheck, so that only much can be told of them. What is more frequent if
/// the candidate is at fault comes first. The first one is of orders alone, the second of numbers and times, too.
const ORDERS: [(RecheckEvidence, RecheckEvidence); 2] = [
    (RecheckEvidence::OwnOrder, RecheckEvidence::OtherOrder),
    (
        RecheckEvidence::CandidateScatters,
        RecheckEvidence::LegacyScatters,
    ),
];

/// Says of a group whether it is noise. `mirrored` is the group at the same place with the services exchanged: with their
/// shapes, kinds and status codes. Only groups that are not their own mirror have one.
pub fn prove(group: &GroupSums, mirrored: Option<&GroupSums>, route: impl Into<OfRoute>) -> Proof {
    let OfRoute { compared, groups } = route.into();
    let shown = shown_of(groups);
    let is_one_sided = !group.shape.is_alike() || mirrored.is_some();
    // Which of the two groups an exchange has is decided by who was the odd one, so only both together are balanced.
    let both = both(group, mirrored);
    let rechecks = both.rechecks();
    let compared = compared.max(both.count).max(1);
    let share = both.count as f64 / compared as f64;
    let allowed = (MAX_HIDDEN / share.max(f64::MIN_POSITIVE)).min(MAX_OF_GROUP);
    let likewise = Likewise::of(&both, shown);
    let mostly = group.of_class(MismatchClass::Noise) * 2 > group.rechecks();
    let mut proof = Proof {
        rechecks: group.rechecks(),
        hidden: 0.0,
        against: Vec::new(),
        moves_alike: mostly || (likewise.moves() && group.shape.may_move()),
        likewise,
        shown,
        is_order: group.shape.legacy == ValueShape::Order,
    };
    // Behind two status codes are answers of two kinds, of which nothing can be compared: the codes themselves are what
    // comes and goes.
    let is_of_two_statuses = group.shape.is_alike() && mirrored.is_some();
    if !group.shape.may_be_noise() && !is_of_two_statuses {
        proof.against.push(Objection::Shape(group.shape));
    }
    if proof.rechecks < MIN_RECHECKS {
        let rechecks = proof.rechecks;
        proof.against.push(Objection::FewRechecks { rechecks });
    }
    let unsampled = both.unsampled();
    let unseen = unsampled as f64 / compared as f64;
    if unseen > MAX_HIDDEN {
        proof.against.push(Objection::Unsampled { unsampled });
    }
    let targets = group.of(RecheckEvidence::Targets);
    if targets < MIN_TARGETS {
        proof.against.push(Objection::FewTargets { targets });
    }
    if is_one_sided {
        let mirrored = mirrored.map_or(0, |mirrored| mirrored.count);
        let most = excess(group.count, mirrored, compared);
        if evidence_for(group.count, mirrored) >= shown || most > MAX_HIDDEN {
            proof.against.push(Objection::OneSided {
                count: group.count,
                mirrored,
            });
        }
    }
    for (evidence, counterpart) in PAIRS {
        let (times, other) = (both.of(evidence), both.of(counterpart));
        let pair = Weighed::of([times, other], rechecks, both.uneven(rechecks, both.count));
        proof.hidden = proof.hidden.max(pair.most * share);
        proof.weigh(evidence, &pair, allowed);
    }
    proof.hidden += unseen;
    let orders = if proof.is_order {
        &ORDERS[..]
    } else if group.shape.is_ordered() {
        &ORDERS[1..]
    } else {
        &[]
    };
    for &(evidence, counterpart) in orders {
        let (times, other) = (both.of(evidence), both.of(counterpart));
        let pair = Weighed::of([times, other], rechecks, both.uneven(rechecks, both.count));
        let allowed = allowed.clamp(ORDER_IMBALANCE, COARSEST_IMBALANCE);
        proof.weigh(evidence, &pair, allowed);
    }
    if group.shape.is_ordered() {
        let allowed = MAX_HIDDEN / share.max(f64::MIN_POSITIVE);
        let (more, less) = both.leading(RecheckEvidence::Above, RecheckEvidence::Below);
        let uneven = both.uneven(rechecks, both.count);
        let pair = Weighed::of([more.1, less], rechecks, uneven);
        let allowed = allowed.clamp(FINEST_IMBALANCE, COARSEST_IMBALANCE);
        proof.weigh(more.0, &pair, allowed);
        proof.weigh_lately(&both, compared);
    }
    proof
}

/// A group with its mirror.
pub(super) fn both(group: &GroupSums, mirrored: Option<&GroupSums>) -> GroupSums {
    let mut both = group.clone();
    if let Some(mirrored) = mirrored {
        both.add(mirrored);
    }
    both
}

/// The most mismatches of a group, with its mirror, that may hide by one of the [`PAIRS`].
pub(super) fn may_hide(
    both: &GroupSums,
    (evidence, counterpart): (RecheckEvidence, RecheckEvidence),
) -> f64 {
    let rechecks = both.rechecks();
    let most = excess(both.of(evidence), both.of(counterpart), rechecks);
    most * both.uneven(rechecks, both.count) * both.count as f64
}

/// The most of so many that are expected to have been seen, when so many were.
pub(super) fn expected(seen: u64, of: u64) -> f64 {
    let seen = Seen::new(seen.min(of), of);
    bounds::upper(Bound::OneLook, seen, 1.0 - CONFIDENCE) * of as f64
}

impl Proof {
    /// Looks at the signs of the last days, if there are more days. They are only asked to be balanced, and never shown not
    /// to be: a test that begins anew every day would be wrong every few months.
    fn weigh_lately(&mut self, both: &GroupSums, compared: u64) {
        let (count, rechecks) = (
            both.of(RecheckEvidence::Lately),
            both.of(RecheckEvidence::LatelyAsked),
        );
        let share = count as f64 / compared as f64;
        if count == 0 {
            return;
        }
        let (more, less) = both.leading(RecheckEvidence::LatelyAbove, RecheckEvidence::LatelyBelow);
        let pair = Weighed::of([more.1, less], rechecks, both.uneven(rechecks, count));
        let allowed = (MAX_HIDDEN / share.max(f64::MIN_POSITIVE)).max(FINEST_IMBALANCE);
        if pair.most > allowed {
            self.against
                .push(pair.may_hide(more.0, allowed, self.is_order));
        }
    }

    /// Looks at one pair.
    fn weigh(&mut self, evidence: RecheckEvidence, pair: &Weighed, allowed: f64) {
        let [times, counterpart] = pair.seen;
        if evidence_for(times, counterpart) >= self.shown {
            self.against.push(Objection::Shown {
                evidence,
                times,
                counterpart,
            });
        } else if pair.most > allowed {
            self.against
                .push(pair.may_hide(evidence, allowed, self.is_order));
        }
    }
}

/// What was seen of a pair, and what may hide by it.
struct Weighed {
    seen: [u64; 2],
    rechecks: u64,
    /// By how much the rechecks say less because they are spread unevenly.
    uneven: f64,
    /// The most by which the one may exceed the other, of the group's exchanges.
    most: f64,
}

impl Weighed {
    fn of(seen: [u64; 2], rechecks: u64, uneven: f64) -> Self {
        let most = excess(seen[0], seen[1], rechecks) * uneven;
        Self {
            seen,
            rechecks,
            uneven,
            most,
        }
    }

    fn may_hide(&self, evidence: RecheckEvidence, allowed: f64, is_order: bool) -> Objection {
        Objection::MayHide {
            is_order,
            rechecks: self.rechecks,
            evidence,
            most: self.most,
            allowed,
            missing: self.missing(allowed),
        }
    }

    /// About how many more rechecks are missing. A bound falls as rechecks rise if nothing was seen, and else as their root
    /// does, towards what was seen; that is near enough for a number that a person plans with, and costs nothing.
    fn missing(&self, allowed: f64) -> Option<u64> {
        let [times, counterpart] = self.seen;
        let rechecks = self.rechecks as f64;
        let seen = times.saturating_sub(counterpart) as f64 / rechecks * self.uneven;
        let factor = (self.most - seen) / (allowed - seen);
        let all = if times + counterpart == 0 {
            rechecks * factor
        } else {
            rechecks * factor * factor
        };
        let more = (all - rechecks).ceil();
        // Without rechecks, or where as much was seen as is allowed, it is no number.
        (allowed > seen && more > 0.0 && more < MOST_MISSING).then_some(more as u64)
    }
}

/// The most by which the rate of one may exceed that of its counterpart: the bounds of both, or the bound of the rate of
/// either times that of how unequal they are, whichever is narrower.
fn excess(times: u64, counterpart: u64, of: u64) -> f64 {
    let upper = |differing, of| {
        let seen = Seen::new(differing, of);
        bounds::upper(Bound::OneLook, seen, 1.0 - CONFIDENCE)
    };
    let lower = |differing, of| {
        let seen = Seen::new(differing, of);
        bounds::lower(Bound::OneLook, seen, 1.0 - CONFIDENCE)
    };
    let (times, counterpart) = (times.min(of), counterpart.min(of));
    let apart = upper(times, of) - lower(counterpart, of);
    let either = (times + counterpart).min(of);
    let together = upper(either, of) * (2.0 * upper(times, either) - 1.0);
    apart.min(together).max(0.0)
}
