//! A client that leaves in the middle of an answer, or waits for the rest of it for too long.
//!
//! In a rollout the wait is the age of the request, without the time in which the client took nothing: a service that sends a byte now and then
//! keeps its clients waiting as well as one that sends none. It is set beside what the legacy takes for whole answers at the route.

use std::time::{Duration, Instant};

use http_body::Body as _;
use parity_schemas::verdict::Reason;

use super::Relay;
use crate::exchange::{Came, Capturing, Judged, Left, Side};
use crate::upstream::ServiceFault;

impl Relay {
    /// How long the service has taken so far, without the time in which the client was not ready for more.
    fn took(&self, now: Instant) -> Duration {
        let client = self.client_since;
        let client = client.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        now.saturating_duration_since(self.sent)
            .saturating_sub(self.client_took)
            .saturating_sub(client)
    }

    /// What a wait for the rest says that ends now, or goes on.
    fn judge(&self, waited: Duration, waits: bool) -> Judged {
        let Some(client) = &self.client_ticket else {
            return Judged::default();
        };
        let rest = self.incoming.size_hint().exact();
        let most = self.asker.terms().limits().body as u64;
        let mut came = self.counted.came(self.length, rest, most);
        let other_goes_on = |capturing: &Capturing| !capturing.other_has_ended();
        if came == Came::Open && self.capturing.as_ref().is_some_and(other_goes_on) {
            came = Came::Stream;
        }
        self.asker.serving().given_up(&Left {
            route: client.route().get().label(),
            client: self.overdue.as_ref().map_or(0, |overdue| overdue.client()),
            asked: self.sent,
            waited,
            came,
            waits,
        })
    }

    /// The client still waits for the rest, for longer than it may wait for a head.
    pub(super) fn wait_goes_on(&mut self) {
        let took = self.took(Instant::now());
        let Some(patience) = self.overdue.as_ref().map(|overdue| overdue.patience()) else {
            return;
        };
        let judged = if self.counted.is_judged() {
            self.judge(took.saturating_sub(patience), true)
        } else {
            Judged::default()
        };
        if let Some(overdue) = &mut self.overdue {
            overdue.found(judged);
        }
    }

    pub(super) fn is_overdue(&self) -> bool {
        self.overdue
            .as_ref()
            .is_some_and(|overdue| overdue.is_over())
    }
}

/// The client left before the answer was over. That says something of a service that keeps it waiting for the rest. Outside of a rollout, an
/// answer that does not say how long it is may go on for as long as somebody listens, unless the other service's has ended.
impl Drop for Relay {
    fn drop(&mut self) {
        let terms = self.asker.terms();
        if self.client_ticket.is_none() || terms.drop_reason() != Reason::ClientAborted {
            return;
        }
        let side = self.asker.serving().side();
        let took = self.took(Instant::now());
        let judged = match &self.overdue {
            Some(overdue) if overdue.is_over() => overdue.judged(),
            _ if self.counted.is_judged() => self.judge(took, false),
            _ => Judged::default(),
        };
        let has_ended = || {
            let capturing = self.capturing.as_ref();
            capturing.is_some_and(Capturing::other_has_ended)
        };
        let has_end = || self.incoming.size_hint().exact().is_some() || has_ended();
        if judged.is_error {
            terms.left(side, took, true);
        } else if self.counted.is_waited_for() && self.client_since.is_none() && has_end() {
            terms.left(side, self.ready_at.elapsed(), true);
        }
        if judged.is_longest
            && side == Side::Candidate
            && let Some(capturing) = self.capturing.take()
        {
            capturing.fail(side.reason(ServiceFault::TimedOut, true));
        }
    }
}
