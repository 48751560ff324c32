//! What the chart tells of the service that serves clients: when it answered them with server errors (5xx), and when the legacy was slow.

use parity_schemas::history::History;
use parity_schemas::time::Timestamp;

use super::hour::Hour;
use crate::view::served::{errors_told, slow_told, span_told};

/// A stretch of time in which clients were hurt although they got whole answers.
pub(super) struct Serving {
    /// When it began.
    pub(super) from: Timestamp,
    /// When the last one was.
    pub(super) to: Timestamp,
    /// In words, visible.
    pub(super) told: String,
}

/// Those of a history.
pub(super) fn of_serving(history: &History, hour: &Hour) -> Vec<Serving> {
    let exactly = |time| hour.exactly(time);
    let errors = history.client_errors.iter().map(|one| Serving {
        from: one.from,
        to: one.to,
        told: format!(
            "clients were answered 5xx {}: {}",
            span_told((one.from, one.to, one.ended), exactly),
            errors_told(one)
        ),
    });
    let slow = history.slow.iter().map(|one| Serving {
        from: one.from,
        to: one.to,
        told: format!(
            "the legacy was slow {}: {}",
            span_told((one.from, one.to, one.ended), exactly),
            slow_told(one)
        ),
    });
    errors.chain(slow).collect()
}
