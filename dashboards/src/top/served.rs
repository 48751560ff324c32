//! What `parity top` says of the service that serves clients: that it answers them with server errors (5xx), that the legacy is slow, and how
//! long it takes.

use parity_schemas::lately::{ClientErrors, SlowAnswers};

use super::seen::{Process, Seen, clock};
use crate::view::served::{errors_told, last_errors, last_slow, slow_told, span_told};
use crate::view::words::elapsed;

/// A stretch in a few words.
pub(super) struct Told {
    /// Whether it goes on.
    pub(super) goes_on: bool,
    /// The same in as few as there can be.
    pub(super) alarm: &'static str,
    /// It is visible.
    pub(super) words: String,
}

impl Seen {
    /// What is known of it: a mirror knows it itself, and else the record does.
    fn of_serving(&self) -> (&[ClientErrors], &[SlowAnswers]) {
        match (&self.process, &self.history) {
            (Process::Mirror(status), _)
                if !status.client_errors.is_empty() || !status.slow.is_empty() =>
            {
                (&status.client_errors, &status.slow)
            }
            (_, Some(history)) => (&history.client_errors, &history.slow),
            _ => (&[], &[]),
        }
    }

    /// The last errors that clients got, by service, and when the legacy was last slow.
    pub(super) fn served(&self) -> Vec<Told> {
        let (errors, slow) = self.of_serving();
        let errors = last_errors(errors).into_iter().map(|last| {
            let one = last.one;
            let goes_on = one.ended.is_none();
            let how = if goes_on { "ARE" } else { "were" };
            Told {
                goes_on,
                alarm: "CLIENTS GET 5xx",
                words: format!(
                    "clients {how} answered 5xx: {} {}",
                    errors_told(one),
                    span_told((one.from, one.to, one.ended), clock)
                ),
            }
        });
        let slow = last_slow(slow).map(|last| {
            let one = last.one;
            let goes_on = one.ended.is_none();
            let how = if goes_on { "IS" } else { "was" };
            Told {
                goes_on,
                alarm: "LEGACY IS SLOW",
                words: format!(
                    "legacy {how} slow {}: {}",
                    span_told((one.from, one.to, one.ended), clock),
                    slow_told(one)
                ),
            }
        });
        errors.chain(slow).collect()
    }

    /// How long the legacy takes, as its mirror says.
    pub(super) fn took(&self) -> Option<String> {
        let Process::Mirror(status) = &self.process else {
            return None;
        };
        let took = status.clients_now.as_ref()?.legacy_took?;
        Some(format!(
            " · legacy p50 {}, p99 {}",
            elapsed(took.p50_us),
            elapsed(took.p99_us)
        ))
    }
}
