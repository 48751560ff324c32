//! The interface to the code that counts requests and compares exchanges.
//!
//! The tickets of a request make sure that each outcome is reported exactly once.

use std::rc::Rc;
use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::{ByteBudget, ByteHold, Capture, Exchange, Request};
use parity_schemas::lately::WaitedFor;
use parity_schemas::recording::LeftOut;
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;

use crate::exchange::rollout::Tried;
use parity_schemas::verdict::Reason;

/// A value that the observer attaches to a received request and gets back when the request ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt(pub u8);

/// Counts requests and compares exchanges. There is one for each worker and policy, called on the worker's thread. It
/// must never block: all clients of that worker would wait.
///
/// For each parsed request head there is one call of [`received`](Self::received), or one of [`begun`](Self::begun) and
/// then one of [`named`](Self::named), and then exactly one of either
/// [`not_compared`](Self::not_compared) or [`exchange`](Self::exchange), with the receipt that it gave, and exactly one
/// of [`client`](Self::client): conservation holds for verdicts and for client outcomes. The two calls come in any
/// order.
pub trait Observer {
    /// A request head was parsed.
    fn received(&self, route: &Arc<Route>) -> Receipt;

    /// A request head was parsed, of a request whose route depends on its body.
    fn begun(&self) -> Receipt;

    /// A request that had only begun is received by this route.
    fn named(&self, route: &Arc<Route>);

    /// The request ended without two captures.
    fn not_compared(&self, route: &Arc<Route>, reason: Reason, receipt: Receipt);

    /// The request ended with two captures, each with its body or the reason why that was not captured. From here on
    /// the observer is responsible for the outcome, also if its queue is full.
    fn exchange(&self, exchange: Exchange, receipt: Receipt);

    /// The same of a request that a rollout lets the candidate serve, or may: whoever compares it says so there.
    fn exchange_tried(&self, exchange: Exchange, receipt: Receipt, _tried: Tried) {
        self.exchange(exchange, receipt);
    }

    /// The status that the client got; our own status if the legacy gave no answer. Called with the head of the answer,
    /// not called if there was none.
    fn answered(&self, route: &Arc<Route>, status: u16);

    /// The client's outcome. Called when its answer is complete or will not come.
    fn client(&self, route: &Arc<Route>, outcome: ClientOutcome);

    /// The client left, and had waited for half a second or more for this service to begin its answer, or to go on with it. Called besides
    /// [`client`](Self::client).
    fn gave_up(&self, _waited_for: WaitedFor) {}

    /// Who takes live requests for a recording, if anybody does. Asked once, before the first request.
    fn recorder(&self) -> Option<Rc<dyn Recorder>> {
        None
    }
}

/// Takes live requests for a recording. Like an [`Observer`] it is called on the worker's thread, and must never block.
pub trait Recorder {
    /// Whether the legacy's answers are recorded, too.
    fn takes_answers(&self) -> bool;

    /// What requests under way hold, apart from the shadows: a recording takes nothing from the comparison.
    fn budget(&self) -> &ByteBudget;

    /// A request that has ended, or whose copy is complete.
    fn take(&self, live: LiveRequest);

    /// A request that is not recorded because the budget is used up.
    fn has_no_room(&self);
}

/// A request of a client, for a recording.
pub struct LiveRequest {
    /// When its head was parsed.
    pub time: Timestamp,
    /// The route that it was counted under.
    pub route: Arc<Route>,
    /// As the client sent it.
    pub request: Request,
    /// Why its body is not there although it had one.
    pub left_out: Option<LeftOut>,
    /// What the legacy answered, if that was asked for and is whole.
    pub answer: Option<Capture>,
    /// What it holds of the recorder's budget.
    pub hold: ByteHold,
}

/// Observes nothing: for a thread that receives no requests and gets each answer itself.
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    fn received(&self, _: &Arc<Route>) -> Receipt {
        Receipt::default()
    }
    fn begun(&self) -> Receipt {
        Receipt::default()
    }
    fn named(&self, _: &Arc<Route>) {}
    fn not_compared(&self, _: &Arc<Route>, _: Reason, _: Receipt) {}
    fn exchange(&self, _: Exchange, _: Receipt) {}
    fn answered(&self, _: &Arc<Route>, _: u16) {}
    fn client(&self, _: &Arc<Route>, _: ClientOutcome) {}
}
