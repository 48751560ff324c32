//! How much of the answers rules leave to compare.
//!
//! Rules say what does not count, and nothing in the counts of matches tells how much that is: answers of which every field
//! is ignored match, too. So of a sample of the compared requests the fields of the legacy's answer are counted, and those of
//! them that rules leave to compare. The counts are sums like all others; a share is only made of them when they are read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What is counted of the fields of sampled answers of the legacy: status, header and trailer fields that are compared by
    /// default, and values of the body. In this order they are read while others are counted, and in the reverse order they
    /// are written, so that no reading has more fields left than fields.
    FieldCount as "count of fields" {
        /// Answers whose fields were counted.
        Sampled = "sampled" => "answers whose fields were counted",
        /// Those of [`Self::Roughly`] that are of bodies.
        BodyRoughly = "body_roughly" => "fields of bodies that rules compare within a tolerance or in part",
        /// Fields of them that a rule compares with a tolerance only, and fields that it compares in part. They are left.
        Roughly = "roughly" => "fields that rules compare within a tolerance or in part",
        /// Fields of bodies that no rule ignores.
        BodyLeft = "body_left" => "fields of bodies that rules leave to compare",
        /// Fields that no rule ignores.
        Left = "left" => "fields that rules leave to compare",
        /// Fields of bodies.
        Body = "body" => "fields of bodies",
        /// Fields.
        All = "all" => "fields of the sampled answers",
    }
}

/// The same of one answer, by [`FieldCount`].
pub type FieldNumbers = [u64; FieldCount::ALL.len()];

/// So many sampled answers of a route say what share rules leave; fewer only where no more have a verdict. A mirror samples as
/// many first of each route.
pub const ENOUGH_SAMPLED: u64 = 10;

/// Counts of fields. Without any, nothing is known: older programs did not count them.
pub type FieldCounts = BTreeMap<FieldCount, u64>;

/// How much rules leave to compare, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldShare {
    /// Answers whose fields were counted; at least one.
    pub sampled: u64,
    /// The share of the fields that is compared, 0..=1: of whole answers or of bodies alone, whichever is less. A status and a
    /// content type say little of a body that is ignored.
    pub left: f64,
    /// It is of bodies alone.
    pub of_bodies: bool,
    /// The share of all fields that is compared within a tolerance or in part only, 0..=1; part of what is left.
    pub roughly: f64,
    /// The share of the fields that is compared exactly, 0..=1: what is left without what is compared roughly, of whole answers
    /// or of bodies alone, whichever is less. A tolerance may be so large that every value is within it, and no count tells.
    pub exact: f64,
    /// `exact` is of bodies alone.
    pub exact_of_bodies: bool,
}

impl FieldShare {
    /// What the counts say; `None` if no answer was sampled.
    pub fn of(counts: &FieldCounts) -> Option<Self> {
        let of = |word| counts.get(&word).copied().unwrap_or(0);
        let sampled = of(FieldCount::Sampled);
        let share = |part, whole| match of(whole) {
            0 => 1.0,
            all => (of(part) as f64 / all as f64).min(1.0),
        };
        let exactly = |left, roughly, whole| match of(whole) {
            0 => 1.0,
            all => (of(left).saturating_sub(of(roughly)) as f64 / all as f64).min(1.0),
        };
        let exact = exactly(FieldCount::Left, FieldCount::Roughly, FieldCount::All);
        let of_body = exactly(
            FieldCount::BodyLeft,
            FieldCount::BodyRoughly,
            FieldCount::Body,
        );
        let answers = share(FieldCount::Left, FieldCount::All);
        let bodies = share(FieldCount::BodyLeft, FieldCount::Body);
        (sampled > 0).then(|| Self {
            sampled,
            left: answers.min(bodies),
            of_bodies: bodies < answers,
            roughly: match of(FieldCount::All) {
                0 => 0.0,
                _ => share(FieldCount::Roughly, FieldCount::All),
            },
            exact: exact.min(of_body),
            exact_of_bodies: of_body < exact,
        })
    }

    /// The share that is left, in whole percent; never 0 or 100 unless it is.
    pub fn percent(&self) -> u64 {
        whole_percent(self.left)
    }

    /// The share that is compared exactly, in whole percent; never 0 or 100 unless it is.
    pub fn exact_percent(&self) -> u64 {
        whole_percent(self.exact)
    }
}

fn whole_percent(share: f64) -> u64 {
    match share {
        share if share <= 0.0 => 0,
        share if share >= 1.0 => 100,
        share => ((share * 100.0).floor() as u64).clamp(1, 99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(counts: &[(FieldCount, u64)]) -> Option<FieldShare> {
        FieldShare::of(&counts.iter().copied().collect())
    }

    #[test]
    fn the_smaller_share_counts_and_nothing_is_known_without_a_sample() {
        use FieldCount::{All, Body, BodyLeft, Left, Roughly, Sampled};
        for (counts, expected) in [
            (&[][..], None),
            (&[(All, 5), (Left, 5)][..], None),
            (&[(Sampled, 1), (All, 2), (Left, 2)], Some((100, 0.0))),
            (
                &[(Sampled, 1), (All, 4), (Left, 3), (Body, 1), (BodyLeft, 0)],
                Some((0, 0.0)),
            ),
            (
                &[(Sampled, 9), (All, 10), (Left, 2), (Body, 2), (BodyLeft, 2)],
                Some((20, 0.0)),
            ),
            (
                &[(Sampled, 1), (All, 1_000), (Left, 1), (Roughly, 1)],
                Some((1, 0.001)),
            ),
            (&[(Sampled, 1), (All, 1_000), (Left, 999)], Some((99, 0.0))),
        ] {
            let found = share(counts).map(|share| (share.percent(), share.roughly));
            assert_eq!(found, expected, "{counts:?}");
        }
    }

    #[test]
    fn what_is_compared_roughly_is_not_compared_exactly() {
        use FieldCount::{All, Body, BodyLeft, BodyRoughly, Left, Roughly, Sampled};
        for (counts, exact, of_bodies) in [
            (&[(All, 4), (Left, 4)][..], 100, false),
            (&[(All, 4), (Left, 4), (Roughly, 1)], 75, false),
            (
                &[
                    (All, 4),
                    (Left, 4),
                    (Roughly, 2),
                    (Body, 2),
                    (BodyLeft, 2),
                    (BodyRoughly, 2),
                ],
                0,
                true,
            ),
            (&[(All, 4), (Left, 3), (Body, 2), (BodyLeft, 1)], 50, true),
            (&[(All, 1_000), (Left, 1_000), (Roughly, 1)], 99, false),
            // What nobody counted so.
            (&[(All, 4), (Left, 1), (Roughly, 3)], 0, false),
        ] {
            let counts = [&[(Sampled, 1)][..], counts].concat();
            let share = share(&counts).expect("a sample");
            let found = (share.exact_percent(), share.exact_of_bodies);
            assert_eq!(found, (exact, of_bodies), "{counts:?}");
        }
    }
}
