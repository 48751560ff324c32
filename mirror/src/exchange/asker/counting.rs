//! What a shadow says in a rollout: of the legacy, what the candidate is measured by, and of the candidate, what it may begin to serve by.

use super::{AskBody, Asker, Attempt, Unanswered};
use crate::exchange::naming::CountedRoute;
use crate::exchange::side::Side;
use crate::upstream::ServiceFault;

impl Attempt {
    /// What the legacy does as the shadow of a candidate that serves is what the candidate is measured by, and what the candidate does as a
    /// shadow is what it may begin to serve by.
    pub(super) fn count<B: AskBody>(&self, asker: &Asker<B>, outcome: Result<(), Unanswered>) {
        let is_by_candidate = asker.serving.is_by_candidate();
        if !is_by_candidate && !self.is_trial {
            return;
        }
        if is_by_candidate && self.side == Side::Legacy {
            // A shadow is cut by a deadline of its own, which is no client's: only a legacy that is not there has failed.
            let tells_nothing = matches!(
                outcome,
                Err(Unanswered::Ours(_) | Unanswered::ServiceFault(ServiceFault::TimedOut))
            );
            let begun = self.capturing.is_some();
            if begun || !tells_nothing {
                asker.serving.legacy_answers(begun);
            }
            if matches!(
                outcome,
                Err(Unanswered::ServiceFault(ServiceFault::TimedOut))
            ) && let Some(route) = self.route()
            {
                let deadline = asker.terms.limits().candidate_deadline;
                asker.serving.legacy_cut(&route, deadline, begun);
            }
        }
        match (outcome, &self.capturing) {
            (Ok(()), Some((capturing, ended))) => {
                let elapsed = ended.saturating_duration_since(capturing.sent());
                let timed = capturing.keeps_body().then_some(elapsed);
                let status = capturing.status();
                if self.is_trial {
                    asker.serving.shadowed(Some((status, timed)));
                } else {
                    let (side, route) = (self.side, self.route());
                    asker.serving.answered(side, route.as_ref(), status, timed);
                }
            }
            (Err(Unanswered::ServiceFault(_)), _) if self.is_trial => {
                asker.serving.shadowed(None);
            }
            (Err(Unanswered::ServiceFault(_)), _) => asker.serving.failed(self.side),
            _ => {}
        }
    }

    /// The route of the request, unless it is settled already.
    fn route(&self) -> Option<CountedRoute> {
        let capturing = self.capturing.as_ref();
        let of_head = || self.ask.as_ref()?.pending().route();
        capturing.map_or_else(of_head, |(capturing, _)| capturing.route())
    }
}
