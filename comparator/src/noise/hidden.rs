//! What may hide in all noise of a route together.
//!
//! Of each group it is known what may hide in it at the most ([`super::proof`]). The sum of these is a bound for all of them,
//! but far too wide where many fields differ in every answer: each of ten ids could hide a fault in one of a hundred, but
//! not all in different answers, because then a recheck of any of them would show one.
//!
//! *Together.* A fault hides in an exchange. Where m exchanges have one, in whichever groups, and each recheck stands for w
//! mismatches at the most, m/w rechecks are expected to show one, in one group at least. How many did is not counted, but it
//! is at most what was seen in all these groups, added up, and a bound for a larger number is a larger bound. So m is at
//! most w times the bound of what is expected where so much was seen. It makes no difference whether the groups
//! go together or by turns. With nothing seen it is the same as of one group.
//!
//! *In which groups.* What was seen may also be by chance: values that repeat, races. Then its counterpart is seen as often,
//! and the proof of a group takes one from the other. That cannot be done with sums, because chance may hit many groups of an
//! exchange at once. So groups in which the legacy alone ever showed the counterpart are added one by one. Which
//! ones are, is decided by what the legacy did, so no fault of the candidate moves a group from one to the other.
//!
//! A group, its mirror, and those that differ in their explanation only share one proof, and are one here.

use std::collections::BTreeMap;

use parity_schemas::noise::{NoiseGroup, NoiseState};
use parity_schemas::recheck::RecheckEvidence;
use parity_schemas::tally::Group;
use parity_schemas::verdict::{Explanation, Kind, Part};

use super::group_place::Place;
use super::proof::{GroupSums, PAIRS, both, expected, may_hide, prove};
use super::shape::Shape;

/// The share of the compared requests of a route that may hide in its groups of noise, of which `noise` mismatches consist.
/// All groups are of one route; those that are not proven are passed over, because nothing is excused by them.
pub fn of_route<'a>(groups: impl IntoIterator<Item = &'a NoiseGroup>, noise: u64) -> f64 {
    let mut compared = 0;
    let mut units = BTreeMap::new();
    for group in groups {
        if let (NoiseState::Proven, Some((unit, sums))) = (group.state, Unit::of(group)) {
            compared = compared.max(group.compared);
            units.insert(unit, sums);
        }
    }
    let units: Vec<GroupSums> = units.into_values().collect();
    let seen = PAIRS.map(|pair| in_all(&units, pair));
    let seen = seen.into_iter().fold(0.0, f64::max);
    let unsampled: u64 = units.iter().map(GroupSums::unsampled).sum();
    // No more than there are.
    let most = (seen + unsampled as f64).min(noise as f64);
    most / compared.max(1) as f64
}

/// The most mismatches that may hide by one pair, in all groups together.
fn in_all(units: &[GroupSums], pair: (RecheckEvidence, RecheckEvidence)) -> f64 {
    let (quiet, noisy): (Vec<_>, Vec<_>) = units.iter().partition(|sums| sums.of(pair.1) == 0);
    let one_by_one =
        |units: &[&GroupSums]| units.iter().map(|sums| may_hide(sums, pair)).sum::<f64>();
    let seen = quiet.iter().map(|sums| sums.of(pair.0)).sum();
    let rechecks = quiet.iter().map(|sums| sums.rechecks()).sum();
    let each = quiet.iter().map(|sums| sums.each()).fold(0.0, f64::max);
    let together = each * expected(seen, rechecks);
    one_by_one(&noisy) + one_by_one(&quiet).min(together)
}

/// The explanation of a group, if it has one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Told(Option<Explanation>);

/// What is proven at once: a place without the order of the services, and without an explanation if the proof is that of
/// all explanations.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Unit<'a> {
    part: Part,
    pattern: &'a str,
    /// `None` of all explanations together.
    explanation: Option<Told>,
    /// The smaller one of the group's and of its mirror's.
    what: (Kind, (u16, u16), Shape),
}

impl<'a> Unit<'a> {
    fn of(group: &'a NoiseGroup) -> Option<(Self, GroupSums)> {
        let Group {
            part,
            pattern,
            explanation,
            ..
        } = &group.group;
        let place = Place::of(&group.route, &group.group)?;
        let (alone, mirror) = GroupSums::of_noise(group, place.shape);
        let family = group.family.as_ref().filter(|_| {
            let proof = prove(&alone, mirror.as_ref(), group);
            !proof.is_proven()
        });
        let sums = match family {
            None => both(&alone, mirror.as_ref()),
            Some(family) => {
                let (sums, mirror) = GroupSums::of_family(family, place.shape);
                both(&sums, mirror.as_ref())
            }
        };
        let what = |place: &Place<'_>| (place.kind, place.statuses, place.shape);
        let unit = Self {
            part: *part,
            pattern,
            explanation: family.is_none().then_some(Told(*explanation)),
            what: what(&place).min(what(&place.mirrored())),
        };
        Some((unit, sums))
    }
}

#[cfg(test)]
mod tests;
