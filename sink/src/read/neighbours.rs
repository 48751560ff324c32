//! Where a mismatch stands among others: the one before it, the one after it, and how many there are.
//!
//! Stores list ids alone, on each side as many as somebody would go through one by one. So a group of a million mismatches costs no
//! more than one of a few hundred.

use uuid::Uuid;

/// Mismatches that are counted on each side of one.
pub const MAX_NEIGHBOURS: usize = 200;

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
    /// There may be more newer ones than are counted.
    pub more_newer: bool,
    /// There may be more older ones than are counted.
    pub more_older: bool,
}

/// Those on one side, the nearest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// [`MAX_NEIGHBOURS`] at most.
    pub(super) ids: Vec<Uuid>,
    /// There may be more.
    pub(super) is_cut: bool,
}

impl Beside {
    /// Of a list that has one more than is counted, if there are more.
    pub(super) fn of(mut ids: Vec<Uuid>) -> Self {
        let is_cut = ids.len() > MAX_NEIGHBOURS;
        ids.truncate(MAX_NEIGHBOURS);
        Self { ids, is_cut }
    }
}

impl Neighbours {
    /// Between those on both sides.
    pub(super) fn between(newer: &Beside, older: &Beside) -> Self {
        Self {
            newer: newer.ids.first().copied(),
            older: older.ids.first().copied(),
            newer_count: newer.ids.len(),
            older_count: older.ids.len(),
            more_newer: newer.is_cut,
            more_older: older.is_cut,
        }
    }
}
