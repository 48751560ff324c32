//! What was counted of a group, and how far its rechecks speak for its mismatches ([`parity_schemas::sampling`]).
//!
//! Sums only add up and are asked; what follows from them is decided in [`super::proof`].

use std::collections::BTreeMap;

use parity_schemas::evidence::GroupEvidence;
use parity_schemas::noise::{NoiseFamily, NoiseGroup, NoiseSums};
use parity_schemas::recheck::{ClassCounts, EvidenceCounts, RecheckEvidence, add_counts};
use parity_schemas::record::MismatchClass;
use parity_schemas::sampling::sample;

use super::shape::Shape;

/// What was counted of one group, added up over tallies.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSums {
    /// What its values are.
    pub shape: Shape,
    /// Exchanges that have it.
    pub count: u64,
    /// Those that were rechecked, by the class of the group in them; `unconfirmed` is not looked at.
    pub classes: BTreeMap<MismatchClass, u64>,
    /// What the rechecks showed. Of [`RecheckEvidence::Targets`], the largest number of a single process.
    pub evidence: EvidenceCounts,
}

impl GroupSums {
    /// Of no group.
    pub(super) fn none(shape: Shape) -> Self {
        Self {
            shape,
            count: 0,
            classes: ClassCounts::new(),
            evidence: EvidenceCounts::new(),
        }
    }

    fn of_sums(sums: &NoiseSums, shape: Shape) -> Self {
        Self {
            shape,
            count: sums.count,
            classes: sums.classes.clone(),
            evidence: sums.evidence.clone(),
        }
    }

    /// Those of a group that may be noise, and of its mirror.
    pub(super) fn of_noise(group: &NoiseGroup, shape: Shape) -> (Self, Option<Self>) {
        let alone = Self {
            shape,
            count: group.count,
            classes: group.classes.clone(),
            evidence: group.evidence.clone(),
        };
        (alone, Self::of_mirror(group.mirror.as_ref(), shape))
    }

    /// Those of a family, and of its mirror.
    pub(super) fn of_family(family: &NoiseFamily, shape: Shape) -> (Self, Option<Self>) {
        let sums = Self::of_sums(&family.sums, shape);
        (sums, Self::of_mirror(family.mirror.as_ref(), shape))
    }

    fn of_mirror(sums: Option<&NoiseSums>, shape: Shape) -> Option<Self> {
        sums.map(|sums| Self::of_sums(sums, shape.mirrored()))
    }

    pub(super) fn into_noise(self) -> NoiseSums {
        NoiseSums {
            count: self.count,
            classes: self.classes,
            evidence: self.evidence,
        }
    }

    pub(super) fn of_group(group: &GroupEvidence, shape: Shape) -> Self {
        Self {
            shape,
            count: group.count,
            classes: group.classes.clone(),
            evidence: group.evidence.clone(),
        }
    }
}

impl GroupSums {
    /// Rechecks in which it had this class.
    pub(super) fn of_class(&self, class: MismatchClass) -> u64 {
        self.classes.get(&class).copied().unwrap_or(0)
    }

    /// Mismatches that rechecks speak for.
    fn sampled(&self) -> u64 {
        let apart = self.unsampled() + self.of(RecheckEvidence::NeverAsked);
        self.count.saturating_sub(apart)
    }

    /// Rechecks that would say as much if they were spread evenly over those.
    fn even(&self) -> u64 {
        let even = self.evidence.get(&RecheckEvidence::Even).copied();
        even.unwrap_or_else(|| self.rechecks()).min(self.sampled())
    }

    /// How many mismatches each recheck stands for at the most.
    pub(super) fn each(&self) -> f64 {
        self.sampled() as f64 / self.even().max(1) as f64
    }

    /// How many mismatches there are for which no recheck speaks.
    pub(super) fn unsampled(&self) -> u64 {
        self.of(RecheckEvidence::Unsampled) + self.of(RecheckEvidence::Unheard)
    }

    /// Adds another group of the same place.
    pub(super) fn add(&mut self, other: &Self) {
        let parts = [&*self, other].map(|sums| (sums.sampled(), sums.even()));
        let sampled = sample(parts);
        // Several groups may have the same targets.
        let targets = self
            .of(RecheckEvidence::Targets)
            .max(other.of(RecheckEvidence::Targets));
        self.count += other.count;
        add_counts(&mut self.classes, &other.classes);
        add_counts(&mut self.evidence, &other.evidence);
        let unsampled = self.of(RecheckEvidence::Unsampled) + sampled.unsampled;
        let even = (sampled.even < self.rechecks()).then_some(sampled.even);
        for (evidence, count) in [
            (RecheckEvidence::Targets, (targets > 0).then_some(targets)),
            (
                RecheckEvidence::Unsampled,
                (unsampled > 0).then_some(unsampled),
            ),
            (RecheckEvidence::Even, even),
        ] {
            match count {
                Some(count) => self.evidence.insert(evidence, count),
                None => self.evidence.remove(&evidence),
            };
        }
    }

    pub(super) fn rechecks(&self) -> u64 {
        let classes = self.classes.iter();
        classes
            .filter(|(class, _)| **class != MismatchClass::Unconfirmed)
            .map(|(_, count)| count)
            .sum()
    }

    pub(super) fn of(&self, evidence: RecheckEvidence) -> u64 {
        self.evidence.get(&evidence).copied().unwrap_or(0)
    }

    /// By how much so many rechecks of so many mismatches say less than they would if they were spread evenly.
    pub(super) fn uneven(&self, rechecks: u64, mismatches: u64) -> f64 {
        let rechecks = rechecks.min(mismatches) as f64;
        (self.each() * rechecks / mismatches.max(1) as f64).max(1.0)
    }

    /// The more frequent one of two with its count, and the count of the other.
    pub(super) fn leading(
        &self,
        one: RecheckEvidence,
        other: RecheckEvidence,
    ) -> ((RecheckEvidence, u64), u64) {
        let (first, second) = ((one, self.of(one)), (other, self.of(other)));
        if second.1 > first.1 {
            (second, first.1)
        } else {
            (first, second.1)
        }
    }
}

/// How many are of one class.
pub(crate) fn of_class(classes: &ClassCounts, class: MismatchClass) -> u64 {
    classes.get(&class).copied().unwrap_or(0)
}
