//! What a request asks of one service. It ends once, and nobody can forget to end it: that is why it is a value of its own.

use std::rc::Rc;

use parity_schemas::exchange::Capture;
use parity_schemas::verdict::Reason;
use tokio::task::JoinHandle;

use super::Pending;
use crate::exchange::side::Side;

/// One ask, which must end. Dropping it ends it with the reason that the request's terms have for that, unless [`Pending::dropped_for`] told another.
pub(crate) struct Ask {
    pending: Rc<Pending>,
    side: Side,
    open: bool,
}

impl Ask {
    pub(super) fn of(pending: &Rc<Pending>, side: Side) -> Self {
        Self {
            pending: Rc::clone(pending),
            side,
            open: true,
        }
    }

    /// The request that it is for.
    pub(crate) fn pending(&self) -> &Rc<Pending> {
        &self.pending
    }

    /// The side that it asks.
    pub(in crate::exchange) fn side(&self) -> Side {
        self.side
    }

    /// Has `run` start a task for it. The task is aborted once the request is settled without an exchange.
    pub(in crate::exchange) fn run(self, run: impl FnOnce(Self) -> JoinHandle<()>) {
        let (pending, side) = (Rc::clone(&self.pending), self.side);
        pending.asks.own(side, run(self));
    }

    /// The body of its answer is too large to be captured. If this is the legacy's ask, the candidate's body is dropped
    /// too.
    pub(in crate::exchange) fn let_other_go(&self) {
        self.pending.let_other_go(self.side);
    }

    /// Ends with a capture.
    pub(in crate::exchange) fn complete(mut self, capture: Capture) {
        self.open = false;
        if let Some(own) = &self.pending.own {
            own.hear(self.side, &capture);
        }
        self.pending.keep(self.side, capture);
        self.pending.end(self.side, None);
    }

    /// Ends with the reason why there is no capture.
    pub(crate) fn fail(mut self, reason: Reason) {
        self.open = false;
        self.pending.end(self.side, Some(reason));
    }

    /// Ends without a capture, for this reason unless the other ask has one.
    pub(in crate::exchange) fn abandon_for(self, reason: Reason) {
        self.pending.at_least.set(Some(reason));
        self.abandon();
    }

    /// Ends with neither: a reason is already recorded.
    pub(crate) fn abandon(mut self) {
        self.open = false;
        self.pending.end(self.side, None);
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        if self.open {
            let reason = self.pending.drop_reason();
            self.pending.end(self.side, Some(reason));
        }
    }
}
