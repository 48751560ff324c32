//! Test fixtures of this module: terms with default limits, and a request.

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
use crate::exchange::admission::Admission;
use crate::exchange::head::RequestHead;
use crate::exchange::meters::Meters;
use crate::exchange::observer::{Observer, Receipt};
use crate::exchange::pending::Pending;
use crate::exchange::sampling::Sampling;
use crate::exchange::terms::{ExchangeResources, Terms};
use crate::exchange::ticket::Ticket;
use crate::forwarding::Peer;
use crate::limits::Limits;

/// Remembers how requests were settled: with a reason, or as an exchange.
#[derive(Default)]
pub(super) struct Log(RefCell<Vec<Option<Reason>>>);

impl Log {
    pub(super) fn outcomes(&self) -> Vec<Option<Reason>> {
        self.0.borrow().clone()
    }
}

impl Observer for Log {
    fn received(&self, _: &Arc<Route>) -> Receipt {
        Receipt::default()
    }
    fn not_compared(&self, _: &Arc<Route>, reason: Reason, _: Receipt) {
        self.0.borrow_mut().push(Some(reason));
    }
    fn exchange(&self, _: Exchange, _: Receipt) {
        self.0.borrow_mut().push(None);
    }
    fn answered(&self, _: &Arc<Route>, _: u16) {}
    fn client(&self, _: &Arc<Route>, _: ClientOutcome) {}
}

pub(super) fn terms(log: &Rc<Log>) -> Rc<Terms> {
    let limits = Limits::default();
    let resources = ExchangeResources {
        admission: Arc::new(Admission::new(true, limits.shadow_bytes)),
        meters: OfWorker::new(&Arc::from([Meters::new()]), 0),
        tasks: Rc::default(),
        turns: Rc::default(),
    };
    let observer = Rc::clone(log) as Rc<dyn Observer>;
    Terms::new(resources, limits, Sampling::default(), observer)
}

pub(super) fn pending(terms: &Rc<Terms>) -> Rc<Pending> {
    let ticket = Ticket::receive(terms, Arc::new(Route::new("GET /")));
    let head = RequestHead {
        method: Method::GET,
        uri: Uri::from_static("/"),
        spelling: None,
        headers: HeaderMap::new(),
        keeps_buffer: true,
        version: Version::HTTP_11,
        peer: Rc::new(Peer::new(Ipv4Addr::LOCALHOST.into(), false)),
    };
    Pending::open(ticket, head, Timestamp::now())
}
