//! One request of a rollout, from who serves it until it is known how its answers compare, or that they never do.
//!
//! Shadows say what a candidate does for shadows. What it does for clients is told by the pairs of those requests that it served, and where
//! none is compared by the class of what it answered. So both are counted apart from everything else. A request is one or the other: one that
//! is sent to both services goes with their answers, and any other one with the client's.

use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;

use super::RolloutState;
use super::by_client::{ByClient, CELLS, ClientCounts, Share};
use crate::exchange::side::{BySide, Side};

/// A request that the candidate may serve, and who does.
pub struct Tried {
    state: Arc<RolloutState>,
    side: Side,
    cell: u8,
}

impl Tried {
    /// By this side, of a client at this point; 0 where that does not matter.
    pub(crate) fn by(state: &Arc<RolloutState>, side: Side, point: u64) -> Self {
        Self {
            state: Arc::clone(state),
            side,
            cell: u8::try_from(point % CELLS as u64).unwrap_or(0),
        }
    }

    /// The first answers of both services were compared by the rules: they differ or not, whatever is known of that or is noise.
    pub fn compared(self, differs: bool) {
        self.state.tried.pairs[self.side].saw(self.cell, differs);
    }

    /// Nothing of it is compared, and this is what the client got. What the legacy answered in the candidate's place says nothing of either.
    pub(crate) fn ended(self, outcome: ClientOutcome) {
        let is_its_own = outcome.is_by_candidate() == (self.side == Side::Candidate);
        if outcome.is_answered() && is_its_own {
            let is_refusal = matches!(
                outcome,
                ClientOutcome::ClientError | ClientOutcome::CandidateClientError
            );
            self.state.tried.alone[self.side].saw(self.cell, is_refusal);
        }
    }
}

/// Counters of all workers, by who served.
pub(super) struct Counters {
    pairs: BySide<ByClient>,
    alone: BySide<ByClient>,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self {
            pairs: BySide::new(|_| ByClient::new()),
            alone: BySide::new(|_| ByClient::new()),
        }
    }

    /// All so far.
    pub(super) fn seen(&self) -> RolloutTried {
        RolloutTried {
            shadows: self.pairs[Side::Legacy].counts().total(),
            served: self.pairs[Side::Candidate].counts(),
            alone_legacy: self.alone[Side::Legacy].counts().total(),
            alone: self.alone[Side::Candidate].counts(),
        }
    }
}

/// What is known of requests that the candidate may serve by comparison, or where there is none by the status.
#[derive(Clone, Debug, Default)]
pub struct RolloutTried {
    /// Compared pairs whose request the legacy served and the candidate got as a shadow, and those that differ.
    pub shadows: Share,
    /// Those whose request the candidate served, by client.
    pub served: ClientCounts,
    /// Whole answers of the legacy for clients to requests that are never compared, and those that are 4xx.
    pub alone_legacy: Share,
    /// The same of the candidate, by client.
    pub alone: ClientCounts,
}
