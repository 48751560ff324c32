//! What the writer thread needs of a store that takes batches.

use super::queue::Queued;
use super::retention::Step;
use crate::retention::Retention;
use crate::tally::Snapshot;

/// What the thread asks of a store. A batch is written as a whole or not at all; every write is idempotent by the
/// records' own ids, so that a failed one can be repeated.
pub(super) trait BatchStore: Sized + Send + 'static {
    /// What can go wrong.
    type Error: std::fmt::Display;

    /// Checks that the store is still the one that was opened. Called before each write, and several times a second
    /// without one.
    fn check(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Writes everything, or nothing.
    fn write(
        &mut self,
        records: &[Queued],
        snapshot: Option<&Snapshot>,
    ) -> Result<Written, Self::Error>;

    /// From now on, a write waits for other processes for about this long at most. Called when the writer is to end.
    fn limit_wait(&mut self, _limit: std::time::Duration) {}

    /// Whether the tallies alone may be written after `error`: not if it prevents every write.
    fn may_take_tallies(error: &Self::Error) -> bool;

    /// Whether `error` means that this is no longer the store that was opened. It is then given up and opened again.
    fn is_lost(_error: &Self::Error) -> bool {
        false
    }

    /// Closes a lost store without writing to it.
    fn give_up(self, _error: &Self::Error) {}

    /// Removes a few rows that retention no longer allows.
    fn retain(&mut self, retention: &Retention) -> Result<Step, Self::Error>;

    /// Size on disk, if known.
    fn bytes(&self) -> Option<u64>;

    /// Closes the store. If this fails, nothing that was written is lost.
    fn close(self) -> Result<(), Self::Error>;
}

/// The result of writing a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Rows that the store accepted, including those that it already had; without watermarks.
    pub(super) rows: usize,
    /// Those that it refused because of their own content: where each stands among the records that were given and, behind them,
    /// the counts.
    pub(super) rejected: Vec<usize>,
}
