//! What happened between two answers of a mirror: its status and its metrics count from its start.

use std::time::Duration;

use parity_schemas::clients::ClientOutcome;

use crate::view::Status;

/// What happened to clients between two answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live {
    /// Requests that ended, in a second.
    pub rate: f64,
    /// Those of them that got no whole answer of the legacy, 0..=1.
    pub failed: f64,
    /// Those of them whose client left before it had one, 0..=1.
    pub left: f64,
    /// Those of them that got one that is an error of the legacy's own, 0..=1.
    pub errors: f64,
}

/// The time that is added to requests, by the metric of the mirror.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overhead {
    /// How many requests were within each bound in microseconds, the lowest first.
    pub within: Vec<(u64, u64)>,
    /// How many there were.
    pub count: u64,
}

impl Overhead {
    /// What was counted since `earlier`.
    fn since(&self, earlier: &Self) -> Self {
        let before = |bound: u64| {
            let found = earlier.within.iter().find(|(other, _)| *other == bound);
            found.map_or(0, |(_, count)| *count)
        };
        let each = self.within.iter();
        Self {
            within: each
                .map(|(bound, count)| (*bound, count.saturating_sub(before(*bound))))
                .collect(),
            count: self.count.saturating_sub(earlier.count),
        }
    }

    /// The bound that this share of the requests is within; `None` if nothing was counted, or it is beyond the last bound.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let wanted = self.count as f64 * share;
        let mut bounds = self.within.iter();
        let found = bounds.find(|(_, count)| self.count > 0 && *count as f64 >= wanted);
        found.map(|(bound, _)| *bound)
    }
}

/// Compares one answer with the one before.
#[derive(Debug, Default)]
pub struct Meter {
    before: Option<Counted>,
    overhead: Option<Overhead>,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    ended: u64,
    failed: u64,
    left: u64,
    errors: u64,
}

impl Meter {
    /// What happened since the answer before; `None` for the first one, and where the process began anew.
    pub fn clients(&mut self, status: &Status, passed: Duration) -> Option<Live> {
        let sum = |wanted: fn(ClientOutcome) -> bool| -> u64 {
            let counts = status.clients.iter();
            let counts = counts.filter(|(outcome, _)| wanted(**outcome));
            counts.fold(0, |sum: u64, (_, count)| sum.saturating_add(*count))
        };
        let now = Counted {
            ended: sum(|_| true),
            failed: sum(ClientOutcome::is_failure),
            left: sum(|outcome| outcome == ClientOutcome::ClientAborted),
            errors: sum(ClientOutcome::is_error),
        };
        let before = self.before.replace(now)?;
        let ended = now.ended.checked_sub(before.ended)?;
        let share =
            |part: u64, before: u64| part.saturating_sub(before) as f64 / ended.max(1) as f64;
        Some(Live {
            rate: ended as f64 / passed.as_secs_f64().max(f64::EPSILON),
            failed: share(now.failed, before.failed),
            left: share(now.left, before.left),
            errors: share(now.errors, before.errors),
        })
    }

    /// The time that was added to the requests since the answer before, or to all if there was none in between.
    pub fn overhead(&mut self, now: Overhead) -> Overhead {
        let since = self.overhead.as_ref().map(|before| now.since(before));
        let lately = since.filter(|lately| lately.count > 0);
        let told = lately.unwrap_or_else(|| now.clone());
        self.overhead = Some(now);
        told
    }
}
