//! What an answer is in a rollout, and one of the candidate that takes too long although its client still waits.
//!
//! A client that is patient says nothing while it waits, and a candidate may keep it waiting behind a head for ever, byte by byte or without
//! any. So the answer itself looks at the clock: the rest may take as long as the legacy takes for its whole answers, and as long as the
//! candidate may take for a head. There is one timer for each answer of the candidate that is not there at once, and none without a rollout.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::exchange::{Came, Judged};

/// What an answer is in a rollout, and to a client that leaves before its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Nothing: it could not have been the candidate's, and lasts as long as somebody listens.
    No,
    /// It could not have been the candidate's; who leaves waits for the rest of it.
    Waited,
    /// The same, and it counts, and so does how long it took.
    Timed,
    /// The same, and by its type it may be a message or a stream of them.
    Messages,
    /// It counts, but a stream lasts as long as it is.
    Stream,
    /// It counts, but an answer that begins before the request has ended lasts as long as the client sends.
    Untimed,
}

impl Counted {
    /// Whether it counts in a rollout.
    pub(super) fn is_in_rollout(self) -> bool {
        !matches!(self, Self::No | Self::Waited)
    }

    /// Whether how long it took says something of the service.
    pub(super) fn is_timed(self) -> bool {
        matches!(self, Self::Timed | Self::Messages)
    }

    /// Whether a client waits for its end, whatever the legacy does at the route.
    pub(super) fn is_waited_for(self) -> bool {
        self.is_timed() || self == Self::Waited
    }

    /// Whether who leaves it is set beside what the legacy does at the route.
    pub(super) fn is_judged(self) -> bool {
        self.is_timed() || self == Self::Stream
    }

    /// What has come of one of which so many bytes are there, and so many are missing if it says so; more than `most` in all are not timed.
    pub(super) fn came(self, length: u64, rest: Option<u64>, most: u64) -> Came {
        let in_all = length.saturating_add(rest.unwrap_or(0));
        match (self, rest) {
            _ if in_all > most => Came::Stream,
            (Self::Timed, Some(_)) => Came::Part,
            (Self::Timed, None) => Came::Open,
            _ => Came::Stream,
        }
    }
}

/// A client that the candidate serves.
#[derive(Clone, Copy)]
pub(crate) struct Rolled {
    /// Where it stands.
    pub(crate) client: u64,
    /// How long the candidate may take for a head.
    pub(crate) patience: Duration,
}

/// An answer of the candidate that is under way.
pub(super) struct Overdue {
    rolled: Rolled,
    /// When it is looked at next, from then on.
    next: Duration,
    /// Made when it is first waited for.
    sleep: Option<Pin<Box<Sleep>>>,
    /// What was found, once it took too long.
    judged: Option<Judged>,
}

impl Overdue {
    pub(super) fn new(rolled: Rolled) -> Self {
        Self {
            rolled,
            // A little later than it may be, so that there is something to judge.
            next: rolled.patience + rolled.patience / 4,
            sleep: None,
            judged: None,
        }
    }

    pub(super) fn client(&self) -> u64 {
        self.rolled.client
    }

    pub(super) fn patience(&self) -> Duration {
        self.rolled.patience
    }

    /// Whether it is time to look. The next time is after twice as long: a stream that goes on for hours costs no more.
    pub(super) fn is_due(&mut self, cx: &mut Context<'_>) -> bool {
        if self.judged.is_some() {
            return false;
        }
        let next = self.next;
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(next)));
        if sleep.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.next = next.saturating_mul(2);
        if let Some(at) = Instant::now().checked_add(self.next) {
            sleep.as_mut().reset(at);
        }
        // So that it wakes the reader.
        let _again: Poll<()> = sleep.as_mut().poll(cx);
        true
    }

    /// It was looked at.
    pub(super) fn found(&mut self, judged: Judged) {
        if judged.is_error {
            self.judged = Some(judged);
            self.sleep = None;
        }
    }

    /// Whether it took too long, which has been counted.
    pub(super) fn is_over(&self) -> bool {
        self.judged.is_some()
    }

    /// What was found; nothing before.
    pub(super) fn judged(&self) -> Judged {
        self.judged.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_no_end_is_told_from_what_says_how_long_it_is() {
        for (counted, length, rest, came) in [
            (Counted::Timed, 10, Some(10), Came::Part),
            (Counted::Timed, 10, Some(100), Came::Stream),
            (Counted::Timed, 10, None, Came::Open),
            (Counted::Timed, 101, None, Came::Stream),
            (Counted::Messages, 10, None, Came::Stream),
            (Counted::Stream, 10, None, Came::Stream),
        ] {
            assert_eq!(counted.came(length, rest, 100), came, "{length} {rest:?}");
        }
    }
}
