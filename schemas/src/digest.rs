//! A digest of the exchanges that were counted, in four bytes that can be added up.
//!
//! Two groups of a route whose counts and digests are equal contain the same exchanges, so a report can list them as
//! one entry, from tallies alone and over any number of intervals, instances and shards. A digest is the sum of the
//! hashes of the exchanges' ids: the order does not matter, so every store sums it like a count.
//!
//! The sums are modulo 2³² − 1 and not 2³², which leaves one value, [`UNKNOWN`](ExchangeDigest::UNKNOWN), for counts
//! that have no digest: those of an older program, and those that count an exchange more than once. Adding to an
//! unknown digest gives an unknown one, because the digest of a part of the exchanges proves nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The modulus of the sums. It also represents zero, so that 0 can mean "unknown".
const MODULUS: u32 = u32::MAX;

/// The digest of a set of exchanges. A number of 32 bits in every store and document; 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ExchangeDigest(u32);

impl ExchangeDigest {
    /// The digest of exchanges whose ids are not known.
    pub const UNKNOWN: Self = Self(0);

    /// The digest of one exchange, by its id.
    pub const fn of(id: Uuid) -> Self {
        let (high, low) = id.as_u64_pair();
        // Ids of the same millisecond differ only in their low half, and in few bits if they are sequential.
        let hash = mixed(high ^ mixed(low)) >> 32;
        Self(1 + (hash % MODULUS as u64) as u32)
    }

    /// Reads what a store holds.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// As a store holds it.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Whether it may be compared at all.
    pub const fn is_known(self) -> bool {
        self.0 != Self::UNKNOWN.0
    }

    /// Adds the exchanges of `other`.
    pub const fn add(&mut self, other: Self) {
        if !self.is_known() || !other.is_known() {
            *self = Self::UNKNOWN;
            return;
        }
        let sum = self.0 as u64 + other.0 as u64;
        self.0 = if sum > MODULUS as u64 {
            (sum - MODULUS as u64) as u32
        } else {
            sum as u32
        };
    }
}

/// The finalizer of `SplitMix64`: every input bit changes half of the output bits. Stored sums depend on it, so it
/// never changes.
pub(crate) const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(digests: impl IntoIterator<Item = u32>) -> u32 {
        digests
            .into_iter()
            .map(ExchangeDigest)
            .reduce(|mut sum, digest| {
                sum.add(digest);
                sum
            })
            .map_or(0, ExchangeDigest::number)
    }

    #[test]
    fn the_digest_of_an_id_never_changes() {
        let id = Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0001);
        assert_eq!(ExchangeDigest::of(id).number(), 4_139_976_018);
        assert!(ExchangeDigest::of(Uuid::nil()).is_known());
        assert!(ExchangeDigest::of(Uuid::max()).is_known());
    }

    #[test]
    fn ids_that_are_counted_up_have_digests_all_over() {
        let mut high: Vec<u32> = (0..1_000_u128)
            .map(|number| ExchangeDigest::of(Uuid::from_u128(number << 64 | number)).number())
            .collect();
        high.sort_unstable();
        high.dedup();
        assert_eq!(high.len(), 1_000);
        let low_half = high.iter().filter(|digest| **digest < u32::MAX / 2).count();
        assert!((400..600).contains(&low_half), "{low_half}");
    }

    #[test]
    fn the_largest_value_stands_for_zero_and_unknown_stays_unknown() {
        assert_eq!(sum([5, u32::MAX]), 5);
        assert_eq!(sum([u32::MAX, u32::MAX]), u32::MAX);
        assert_eq!(sum([u32::MAX - 1, 1]), u32::MAX);
        assert_eq!(sum([u32::MAX - 1, 3]), 2);
        assert_eq!((sum([7, 0]), sum([0, 7]), sum([0, 0])), (0, 0, 0));
    }

    proptest! {
        #[test]
        fn the_order_does_not_count_and_a_store_may_add_up_at_once(
            digests in prop::collection::vec(1..=u32::MAX, 1..50), cut in 0..50_usize
        ) {
            let (one, other) = digests.split_at(cut.min(digests.len() - 1));
            let parts = [sum(one.iter().copied()), sum(other.iter().rev().copied())];
            let known = parts.into_iter().filter(|part| *part != 0);
            prop_assert_eq!(sum(digests.iter().copied()), sum(known));
            // What ClickHouse is asked for.
            let total: u64 = digests.iter().map(|digest| u64::from(*digest)).sum();
            prop_assert_eq!(u64::from(sum(digests)), (total - 1) % u64::from(MODULUS) + 1);
        }
    }
}
