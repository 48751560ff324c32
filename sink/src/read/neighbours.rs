//! Where a mismatch stands among others: the one before it, the one after it, and how many there are.
//!
//! Stores list ids alone, on each side as many as somebody would go through one by one. So a group of a million mismatches costs no
//! more than one of a thousand.

use uuid::Uuid;

/// Mismatches that are counted on each side of one.
pub const MAX_NEIGHBOURS: usize = 1_000;
/// Ids that are listed of a side: one more tells that there are more.
pub(super) const LISTED: usize = MAX_NEIGHBOURS + 1;

/// A side of a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Newer,
    Older,
}

/// Where a mismatch stands in a list, the newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The next newer one.
    pub newer: Option<Uuid>,
    /// The next older one.
    pub older: Option<Uuid>,
    /// How many are newer, [`MAX_NEIGHBOURS`] at most.
    pub newer_count: usize,
    /// How many are older, [`MAX_NEIGHBOURS`] at most.
    pub older_count: usize,
    /// There are more newer ones than are counted.
    pub more_newer: bool,
    /// There are more older ones than are counted.
    pub more_older: bool,
}

impl Neighbours {
    /// Between those on both sides, the nearest first.
    pub(super) fn between(newer: &[Uuid], older: &[Uuid]) -> Self {
        Self {
            newer: newer.first().copied(),
            older: older.first().copied(),
            newer_count: newer.len().min(MAX_NEIGHBOURS),
            older_count: older.len().min(MAX_NEIGHBOURS),
            more_newer: newer.len() > MAX_NEIGHBOURS,
            more_older: older.len() > MAX_NEIGHBOURS,
        }
    }
}
