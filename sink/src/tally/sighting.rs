//! One mismatch, as it is counted.

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::recheck::{EvidenceCounts, GroupSummary, RecheckEvidence, RecheckSummary};
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::Group;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::attributes::AttributeId;

/// See the module.
#[derive(Clone, Copy)]
pub struct Sighting<'a> {
    /// The id of its record.
    pub id: Uuid,
    /// The time of its record.
    pub time: Timestamp,
    /// The groups of its findings. Several findings may have the same one, which counts once.
    pub groups: &'a [Group],
    /// Whether these are all groups that it has: no finding was left out, and no part of the answers. Otherwise it
    /// counts in no set, because a set must not hide what is not known.
    pub is_complete: bool,
    /// Its class and those of its groups; `None` if nothing was asked again, so that all are unconfirmed.
    pub rechecked: Option<&'a RecheckSummary>,
    /// Why rechecks of others say nothing of it, if it was not asked about; `None` if they do.
    pub unasked: Option<Unasked>,
    /// The attributes of its request; none if they are not counted.
    pub attributes: &'a [AttributeId],
}

/// Why rechecks of other mismatches say nothing of one that was not asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// The configuration never asks again about such a request.
    Never,
    /// What kept it from being asked about may be the reason of a fault, too: see [`RecheckEvidence::Unheard`].
    Unheard,
    /// It was asked about, and no two answers came that can be compared: see [`RecheckEvidence::Silent`].
    Silent,
}

impl<'a> Sighting<'a> {
    /// One that nothing was asked again about, with all groups that it has.
    pub const fn unconfirmed(id: Uuid, time: Timestamp, groups: &'a [Group]) -> Self {
        Self {
            id,
            time,
            groups,
            is_complete: true,
            rechecked: None,
            unasked: None,
            attributes: &[],
        }
    }

    pub(super) fn class(&self) -> MismatchClass {
        self.rechecked
            .map_or(MismatchClass::Unconfirmed, |found| found.class)
    }

    pub(super) const fn digest(&self) -> ExchangeDigest {
        ExchangeDigest::of(self.id)
    }

    /// Whether one of its groups is only there because the data changed between the answers.
    pub(super) fn is_transient(&self, fingerprint: &str) -> bool {
        let summary = self.summary(fingerprint);
        summary.is_some_and(|group| group.class == MismatchClass::Transient)
    }

    /// What is counted of one of its groups besides its class.
    pub(super) fn evidence(&self, fingerprint: &str) -> EvidenceCounts {
        let mut evidence = self
            .summary(fingerprint)
            .map_or_else(EvidenceCounts::new, |group| group.evidence.clone());
        let unasked = self.unasked.map(|unasked| match unasked {
            Unasked::Never => RecheckEvidence::NeverAsked,
            Unasked::Unheard => RecheckEvidence::Unheard,
            Unasked::Silent => RecheckEvidence::Silent,
        });
        // Others of its groups were told; of this one its recheck says nothing.
        let is_untold =
            self.rechecked.is_some() && self.class_of(fingerprint) == MismatchClass::Unconfirmed;
        let unasked = unasked.or(is_untold.then_some(RecheckEvidence::Silent));
        evidence.extend(unasked.map(|unasked| (unasked, 1)));
        evidence
    }

    /// The class of one of its groups.
    pub(super) fn class_of(&self, fingerprint: &str) -> MismatchClass {
        self.summary(fingerprint)
            .map_or(MismatchClass::Unconfirmed, |group| group.class)
    }

    /// What is known of one of its groups.
    fn summary(&self, fingerprint: &str) -> Option<&GroupSummary> {
        self.rechecked?.groups.get(fingerprint)
    }
}

/// How many classes there are.
const CLASSES: usize = MismatchClass::ALL.len();

/// Mismatches by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Classes([u64; CLASSES]);

impl Classes {
    /// One mismatch.
    pub(super) fn one(class: MismatchClass) -> Self {
        let mut classes = Self::default();
        classes.0[class as usize] = 1;
        classes
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }

    /// Of all classes.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Those with a count.
    pub(super) fn counts(&self) -> parity_schemas::recheck::ClassCounts {
        let counts = MismatchClass::ALL.iter().copied().zip(self.0);
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_which_its_recheck_said_nothing_is_silent_and_the_others_are_not() {
        let group = |class| GroupSummary {
            class,
            evidence: EvidenceCounts::new(),
        };
        let found = RecheckSummary {
            class: MismatchClass::Unconfirmed,
            groups: [
                ("noise".to_owned(), group(MismatchClass::Noise)),
                ("gone".to_owned(), group(MismatchClass::Unconfirmed)),
            ]
            .into(),
        };
        let mut seen = Sighting::unconfirmed(Uuid::nil(), Timestamp::default(), &[]);
        assert!(seen.evidence("gone").is_empty(), "a sample");
        for (why, evidence) in [
            (Unasked::Never, RecheckEvidence::NeverAsked),
            (Unasked::Unheard, RecheckEvidence::Unheard),
            (Unasked::Silent, RecheckEvidence::Silent),
        ] {
            seen.unasked = Some(why);
            assert_eq!(seen.evidence("gone"), [(evidence, 1)].into());
        }
        seen.unasked = None;
        seen.rechecked = Some(&found);
        let silent = [(RecheckEvidence::Silent, 1)].into();
        assert_eq!(seen.evidence("gone"), silent);
        assert_eq!(seen.evidence("not told"), silent);
        assert!(seen.evidence("noise").is_empty());
    }
}
