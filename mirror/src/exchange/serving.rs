//! Whose answers the clients of an [`Asker`](super::Asker) get: one value, which goes wherever the two services are not
//! alike.

use std::sync::Arc;
use std::time::Duration;

use crate::exchange::naming::CountedRoute;
use crate::exchange::rollout::{Judged, Left, RolloutState};
use crate::exchange::side::Side;

/// Which service clients wait for; the other one is only asked by shadows.
#[derive(Clone)]
pub(crate) struct Serving {
    side: Option<Side>,
    /// What is seen of both services during a rollout; `None` without one.
    rollout: Option<Arc<RolloutState>>,
    /// Whether the candidate may serve requests with an effect, too.
    takes_writes: bool,
}

impl Serving {
    /// No client waits: both services are asked by shadows.
    pub(crate) const NOBODY: Self = Self {
        side: None,
        rollout: None,
        takes_writes: false,
    };

    /// Clients get this side's answers.
    pub(crate) fn by(side: Side, rollout: Option<Arc<RolloutState>>) -> Self {
        Self {
            side: Some(side),
            rollout,
            takes_writes: false,
        }
    }

    /// The candidate may also serve requests with an effect.
    pub(crate) fn with_writes(self, takes_writes: bool) -> Self {
        Self {
            takes_writes,
            ..self
        }
    }

    /// The side that clients wait for; the legacy where nobody does.
    pub(crate) fn side(&self) -> Side {
        self.side.unwrap_or(Side::Legacy)
    }

    /// Whether this side is asked only by shadows.
    pub(super) fn is_shadowed(&self, side: Side) -> bool {
        self.side != Some(side)
    }

    /// During a rollout: a service answered a request of this route, if it is known, whole, in this time if it says something of the service.
    pub(crate) fn answered(
        &self,
        side: Side,
        route: Option<&CountedRoute>,
        status: u16,
        elapsed: Option<Duration>,
    ) {
        if let Some(rollout) = &self.rollout {
            let route = route.map(|route| route.get().label());
            rollout.answered(side, route, status, elapsed);
        }
    }

    /// Whether there is a rollout in which clients wait for the legacy, and the candidate may serve such a request: then what it does as its
    /// shadow is what clients would get.
    pub(super) fn tries_candidate(&self, side: Side, is_read: impl FnOnce() -> bool) -> bool {
        side == Side::Candidate
            && self.side == Some(Side::Legacy)
            && self.rollout.is_some()
            && (self.takes_writes || is_read())
    }

    /// During a rollout: the candidate answered whole as a shadow, or did not (`None`).
    pub(super) fn shadowed(&self, answer: Option<(u16, Option<Duration>)>) {
        if let Some(rollout) = &self.rollout {
            rollout.shadowed(answer);
        }
    }

    /// During a rollout: the legacy answered as the shadow of the candidate, or did not.
    pub(super) fn legacy_answers(&self, answers: bool) {
        let changed = |rollout: &Arc<RolloutState>| rollout.legacy_answers(answers);
        if self.rollout.as_ref().is_some_and(changed) && !answers {
            tracing::warn!(
                "the legacy does not answer the shadows of the rollout; a fall back would go to it"
            );
        }
    }

    /// During a rollout: a service did not answer, or not whole.
    pub(crate) fn failed(&self, side: Side) {
        if let Some(rollout) = &self.rollout {
            rollout.failed(side);
        }
    }

    /// During a rollout: a client left a service, or waits for it for longer than anybody should.
    pub(crate) fn given_up(&self, left: &Left<'_>) -> Judged {
        let rollout = self.rollout.as_ref();
        rollout.map_or_else(Judged::default, |rollout| {
            rollout.given_up(self.side(), left)
        })
    }

    /// During a rollout: the legacy as the shadow of the candidate had not ended by this deadline, and had `begun` to answer or not.
    pub(super) fn legacy_cut(&self, route: &CountedRoute, deadline: Duration, begun: bool) {
        if let Some(rollout) = &self.rollout {
            rollout.legacy_cut(route.get().label(), deadline, begun);
        }
    }

    /// Whether the candidate serves, so that what the legacy does as its shadow is counted.
    pub(super) fn is_by_candidate(&self) -> bool {
        self.side == Some(Side::Candidate)
    }
}
