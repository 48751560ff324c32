//! Adds up counts, of which a process that serves pages remembers what it has read before.
//!
//! What is the same for every store is here: what is asked for, under which key it is remembered, and from when on rows are read.
//! A store says how its rows are read, and by which numbers it is known whether they have changed.

use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;

use parity_schemas::evidence::LeftOutSpan;

use super::Selection;
use super::assemble::{Added, Sums};
use crate::error::StoreError;
use crate::remembered::{Key, Marks, Remembered, What};

/// Which counts are added up.
#[derive(Clone, Copy)]
pub(super) struct Counting<'a> {
    pub(super) identity: &'a Identity,
    pub(super) selection: &'a Selection,
    pub(super) with_details: bool,
}

impl Counting<'_> {
    /// The condition that an interval is in no span that is left out; empty without any. `within` writes that it is in one.
    pub(super) fn outside(&self, within: impl Fn(&LeftOutSpan) -> String) -> String {
        let spans = self.selection.left_out.iter();
        spans
            .flat_map(|span| [" AND NOT ".to_owned(), within(span)])
            .collect()
    }
}

/// What a store does for it. Times are microseconds since 1970.
pub(super) trait CountingRows {
    /// When the first interval of a migration at or after a time began.
    fn first_from(&self, identity: &Identity, from: i64) -> Result<Option<i64>, StoreError>;
    /// The marks of what began from this time on, or in the same slot.
    fn marks(&self, identity: &Identity, from: i64) -> Result<Marks, StoreError>;
    /// Adds the rows of all intervals that begin from one time on and before another one.
    fn add_rows(
        &self,
        counting: &Counting<'_>,
        added: &mut Added,
        from: i64,
        to: i64,
    ) -> Result<(), StoreError>;
    /// Adds the tallies of a span that is left out, without details.
    fn add_span(
        &self,
        counting: &Counting<'_>,
        span: &LeftOutSpan,
        held: &mut Sums,
    ) -> Result<(), StoreError>;
}

/// All counts, added up, with what each span has that is left out of them.
pub(super) fn count_up(
    store: &impl CountingRows,
    remembered: Option<&Remembered>,
    counting: &Counting<'_>,
) -> Result<Sums, StoreError> {
    let mut left_out = Vec::new();
    for span in &counting.selection.left_out {
        let mut held = Sums::default();
        store.add_span(counting, span, &mut held)?;
        left_out.push(held.into_left_out(span.clone()));
    }
    let mut sums = add_up(store, remembered, counting)?.sums;
    sums.left_out = left_out;
    Ok(sums)
}

/// The sums of all rows, of which only those are read that are not remembered.
fn add_up(
    store: &impl CountingRows,
    remembered: Option<&Remembered>,
    counting: &Counting<'_>,
) -> Result<Added, StoreError> {
    let Counting {
        identity,
        selection,
        with_details,
    } = *counting;
    let mut from = since(selection);
    // What is left out is asked for once: there is no use in remembering it.
    let Some(remembered) = remembered.filter(|_| selection.left_out.is_empty()) else {
        let mut added = Added::default();
        store.add_rows(counting, &mut added, from, i64::MAX)?;
        return Ok(added);
    };
    if from > i64::MIN {
        // Whoever asks for the last hour asks for the same intervals until the next one begins.
        from = store.first_from(identity, from)?.unwrap_or(from);
    }
    let marks = store.marks(identity, from)?;
    let key = Key {
        identity: identity.clone(),
        from,
        of: What::Sums { with_details },
    };
    let now = Timestamp::now().as_micros();
    remembered
        .of::<Added>()
        .sums(&key, &marks, now, |added, from, to| {
            store.add_rows(counting, added, from, to)
        })
}

/// The first time of a selection.
pub(super) fn since(selection: &Selection) -> i64 {
    selection.since.map_or(i64::MIN, Timestamp::as_micros)
}
