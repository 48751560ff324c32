//! What the slots of [`RouteCounters::outcomes`](super::counters::RouteCounters::outcomes) count, for whoever reads them one by one.

use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;

use super::counters::{CLIENTS, LEGACY_ANSWERS, REASONS};

/// Answers of the legacy that are server errors, in exchanges with a verdict.
pub(super) const LEGACY_ERRORS: usize = LEGACY_ANSWERS + ClientOutcome::ServerError.index();

/// The reason that a slot counts.
pub(super) fn reason(slot: usize) -> Option<Reason> {
    let place = slot.checked_sub(REASONS)?;
    Reason::ALL.get(place).copied()
}

/// The outcome of clients that a slot counts.
pub(super) fn client(slot: usize) -> Option<ClientOutcome> {
    let place = slot.checked_sub(CLIENTS)?;
    ClientOutcome::ALL.get(place).copied()
}
