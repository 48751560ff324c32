//! Test fixtures of this module: resources and terms with default limits, and a request.

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;

use http::{HeaderMap, Method, Uri, Version};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use crate::counters::OfWorker;
use crate::descriptors::ConnectionLimits;
use crate::exchange::copied::Copied;
use crate::exchange::head::RequestHead;
use crate::exchange::meters::Meters;
use crate::exchange::observer::{Observer, Receipt};
use crate::exchange::pending::{Ask, Pending};
use crate::exchange::resources::{ProcessResources, WorkerResources};
use crate::exchange::sampling::Sampling;
use crate::exchange::terms::Terms;
use crate::exchange::ticket::Ticket;
use crate::forwarding::Peer;
use crate::limits::Limits;

/// Remembers how requests were settled: with a reason, or as an exchange.
#[derive(Default)]
pub(super) struct Log {
    outcomes: RefCell<Vec<Option<Reason>>>,
    exchanges: RefCell<Vec<Exchange>>,
}

impl Log {
    pub(super) fn outcomes(&self) -> Vec<Option<Reason>> {
        self.outcomes.borrow().clone()
    }

    /// Takes the last exchange.
    pub(super) fn exchange(&self) -> Exchange {
        let last = self.exchanges.borrow_mut().pop();
        last.expect("it became an exchange")
    }
}

impl Observer for Log {
    fn received(&self, _: &Arc<Route>) -> Receipt {
        Receipt::default()
    }
    fn begun(&self) -> Receipt {
        Receipt::default()
    }
    fn named(&self, _: &Arc<Route>) {}
    fn not_compared(&self, _: &Arc<Route>, reason: Reason, _: Receipt) {
        self.outcomes.borrow_mut().push(Some(reason));
    }
    fn exchange(&self, exchange: Exchange, _: Receipt) {
        self.outcomes.borrow_mut().push(None);
        self.exchanges.borrow_mut().push(exchange);
    }
    fn answered(&self, _: &Arc<Route>, _: u16) {}
    fn client(&self, _: &Arc<Route>, _: ClientOutcome) {}
}

/// What a thread of a process with default limits has.
pub(super) fn resources() -> WorkerResources<Copied> {
    let limits = Limits::default();
    let process = ProcessResources::new(true, &limits, ConnectionLimits::default());
    let meters = OfWorker::new(&Arc::from([Meters::new()]), 0);
    WorkerResources::new(&process, meters, Reason::ClientAborted)
}

pub(super) fn terms_with(resources: &WorkerResources<Copied>, log: &Rc<Log>) -> Rc<Terms> {
    let observer = Rc::clone(log) as Rc<dyn Observer>;
    let sampling = Sampling::default();
    Terms::new(
        resources.exchange().clone(),
        Limits::default(),
        sampling,
        observer,
    )
}

pub(super) fn terms(log: &Rc<Log>) -> Rc<Terms> {
    terms_with(&resources(), log)
}

/// The head of a request for `/`.
pub(super) fn head() -> RequestHead {
    RequestHead {
        method: Method::GET,
        uri: Uri::from_static("/"),
        spelling: None,
        headers: HeaderMap::new(),
        keeps_buffer: true,
        version: Version::HTTP_11,
        has_effect: false,
        peer: Some(Rc::new(Peer::new(Ipv4Addr::LOCALHOST.into(), false))),
    }
}

/// The asks of a received request.
pub(super) fn asks(terms: &Rc<Terms>, head: RequestHead) -> (Ask, Ask) {
    let ticket = Ticket::receive(terms, Arc::new(Route::new("GET /")));
    Pending::for_both(ticket, head, Timestamp::now())
}
