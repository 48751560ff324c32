//! What the mirror tells whoever counts and compares.
//!
//! The tickets of a request make sure that it is told exactly once.

use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

/// The observer's own mark of a received request, kept for it until the request ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt(pub u8);

/// Who counts and compares. There is one for each worker and policy, called on the worker's thread; it must never
/// block, for then that worker's clients wait.
///
/// For each parsed request head there is one call of [`received`](Self::received), and then exactly one of either
/// [`not_compared`](Self::not_compared) or [`exchange`](Self::exchange), with the receipt that it gave, and exactly one
/// of [`client`](Self::client): conservation, once for the verdict and once for what the client got. The two come in
/// any order.
pub trait Observer {
    /// A request head was parsed.
    fn received(&self, route: &Arc<Route>) -> Receipt;

    /// The request ended without two captures.
    fn not_compared(&self, route: &Arc<Route>, reason: Reason, receipt: Receipt);

    /// Both captures are there, each with its body or why that was not kept. The observer settles what follows, a full
    /// queue included.
    fn exchange(&self, exchange: Exchange, receipt: Receipt);

    /// The status that the client was answered with, ours for a legacy that is down. Told with the head of the answer;
    /// not told where there was none.
    fn answered(&self, route: &Arc<Route>, status: u16);

    /// What became of the client, told when its answer is over, or will not come.
    fn client(&self, route: &Arc<Route>, outcome: ClientOutcome);
}
