//! How a reader adds up rows of tallies.

use super::Column;

/// What several rows have in a column when they are added up to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Nothing: it has no meaning in a sum, or the reader knows it already.
    Nothing,
    /// The same: only rows that agree in it are added up.
    By,
    /// Nothing; but some counts are also told apart by it, see `sink/src/read/groups/spread.rs`.
    Apart,
    /// The same, as rows that agree in the columns of [`Fold::By`] agree in it.
    Any,
    /// The sum; of counts by word or bucket, word by word.
    Sum,
    /// The sum, which only a report needs: a decision does not read it.
    Detail,
    /// The sum, entry by entry, of which only the largest are kept: one more than there are
    /// [`FREQUENT`](crate::targets::FREQUENT) targets.
    Frequent,
    /// The least.
    Min,
    /// The greatest; of registers, register by register.
    Max,
    /// From the first begin of an interval to the last end.
    Interval,
    /// That of the row which was seen last.
    Newest,
    /// The sum of digests.
    Digest,
}

impl Column {
    /// Whether a reader that adds rows up needs it.
    pub const fn is_read(&self, with_details: bool) -> bool {
        match self.fold {
            Fold::Nothing => false,
            Fold::Detail => with_details,
            _ => true,
        }
    }
}
