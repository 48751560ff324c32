//! Groups in which the candidate is wrong now and then, beside a legacy that moves.
//!
//! A field has another value in every two answers, and the candidate hands out a constant in one of fifty of them. That is
//! shown by the rechecks, so the group is no noise: nothing passes by it, and it is listed with what differs. But it
//! does not say that all of its mismatches are wrong: by the rest the legacy differs from itself, too. So only the share counts for
//! certain that was shown, and the rest proves no fail.
//!
//! *How much*: the least by which the one of a pair exceeds its counterpart, at high confidence. A recheck looks at
//! two answers of the candidate, so half of that is the share of answers. Where the fault has a group of its own at the same
//! place (a null instead of an id), that group says how often, and nothing is added to it.
//!
//! *What it is not for*: values that never are noise, a legacy that mostly stands still, and kinds of values that only one service
//! has. There each mismatch counts.

use std::collections::{HashMap, HashSet};

use parity_schemas::evidence::{Bound, Evidence};
use parity_schemas::noise::NoiseGroup;
use parity_schemas::record::MismatchClass;
use parity_schemas::verdict::Part;

use super::proof::{GroupSums, Objection, Proof, both, prove};
use super::shape::Shape;
use crate::bounds::{Seen, lower, upper};

/// Of the bounds: a share that is smaller in truth is told once in a thousand times.
const CONFIDENCE: f64 = 0.999;
/// Answers of the candidate in a recheck.
const ANSWERS: f64 = 2.0;

/// The least share of the mismatches of each such group that is wrong, by route and fingerprint.
pub(super) type Shares<'a> = HashMap<(&'a str, &'a str), f64>;

/// The least share of the mismatches of a group that is no noise; `None` if all of them count.
pub(super) fn share(group: &NoiseGroup) -> Option<f64> {
    let shape: Shape = group.group.shape.parse().ok()?;
    let (alone, mirror) = GroupSums::of_noise(group, shape);
    let proof = prove(&alone, mirror.as_ref(), group);
    let both = both(&alone, mirror.as_ref());
    let moves = both.of_class(MismatchClass::Noise) * 2 > both.rechecks();
    moves.then(|| shown(&proof, both.rechecks())).flatten()
}

/// The share that is shown by any of the pairs; `None` if something else is against the group, too.
fn shown(proof: &Proof, rechecks: u64) -> Option<f64> {
    let alpha = 1.0 - CONFIDENCE;
    let seen = |count: u64| Seen::new(count.min(rechecks), rechecks);
    let mut most = None;
    for objection in &proof.against {
        match objection {
            Objection::Shape(_) | Objection::OneSided { .. } => return None,
            Objection::Shown {
                times, counterpart, ..
            } => {
                let least = lower(Bound::OneLook, seen(*times), alpha)
                    - upper(Bound::OneLook, seen(*counterpart), alpha);
                let share = least.max(0.0) / ANSWERS;
                most = Some(f64::max(most.unwrap_or(0.0), share));
            }
            Objection::FewRechecks { .. }
            | Objection::FewTargets { .. }
            | Objection::Unsampled { .. }
            | Objection::MayHide { .. } => {}
        }
    }
    most
}

/// Where a group is, whatever its values are.
type Place<'a> = (&'a str, Part, &'a str);

/// Adds nothing where a group at the same place counts by itself: one that is neither of these nor one that `may_be` noise.
pub(super) fn without_own_groups<'a>(
    mut shares: Shares<'a>,
    evidence: &'a Evidence,
    may_be: impl Fn((&str, &str)) -> bool,
) -> Shares<'a> {
    let mut told: HashSet<Place<'_>> = HashSet::new();
    let mut place_of: HashMap<(&str, &str), Place<'_>> = HashMap::new();
    for group in &evidence.groups {
        let name = (group.route.as_str(), group.group.fingerprint.as_str());
        let place = (name.0, group.group.part, group.group.pattern.as_str());
        if shares.contains_key(&name) {
            place_of.insert(name, place);
        } else if !may_be(name) {
            told.insert(place);
        }
    }
    for (name, share) in &mut shares {
        if place_of.get(name).is_some_and(|place| told.contains(place)) {
            *share = 0.0;
        }
    }
    shares
}
