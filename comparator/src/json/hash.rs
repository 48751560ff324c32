//! Hash functions of the comparison, and the text by which a number is hashed.

use std::hash::{BuildHasher, Hasher};

use crate::notation::index::NodeKind;
use crate::notation::number::Decimal;

/// The hasher of every hash here: without a random seed, so that the same pair takes the same steps.
pub(super) fn fixed_hash(value: impl std::hash::Hash) -> u64 {
    foldhash::fast::FixedState::default().hash_one(value)
}

pub(super) fn hash_bytes(kind: NodeKind, bytes: &[u8]) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    hasher.write_u8(kind as u8);
    hasher.write(bytes);
    hasher.finish()
}

/// A text for a number that is the same for every spelling of one decimal.
pub(super) fn number_text(lexeme: &[u8]) -> Vec<u8> {
    match Decimal::parse(lexeme) {
        Some(decimal) => decimal.canonical(),
        None => lexeme.to_vec(),
    }
}
