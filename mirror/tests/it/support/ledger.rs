//! An observer that records every call.

use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex};

use parity_mirror::{Observer, Receipt};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use super::PATIENCE;

#[derive(Default)]
struct Entries {
    received: usize,
    /// Requests that began and have no route yet.
    unnamed: usize,
    named: Vec<String>,
    not_compared: Vec<(String, Reason)>,
    exchanges: Vec<Exchange>,
    exchanged: usize,
    answered: Vec<(String, u16)>,
    clients: Vec<ClientOutcome>,
}

impl Entries {
    fn settled(&self) -> usize {
        self.not_compared.len() + self.exchanged
    }
}

/// What a request is marked with: whatever comes back must be this.
const MARK: Receipt = Receipt(7);

/// What all workers told.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    inner: Arc<(Mutex<Entries>, Condvar)>,
}

impl Ledger {
    fn write(&self, entry: impl FnOnce(&mut Entries)) {
        entry(&mut self.inner.0.lock().expect("no panic"));
        self.inner.1.notify_all();
    }

    fn wait<T>(&self, until: impl Fn(&Entries) -> bool, read: impl FnOnce(&mut Entries) -> T) -> T {
        let entries = self.inner.0.lock().expect("no panic");
        let (mut entries, late) = self
            .inner
            .1
            .wait_timeout_while(entries, PATIENCE, |entries| !until(entries))
            .expect("no panic");
        assert!(
            !late.timed_out(),
            "received {}, exchanges {}, not compared {:?}",
            entries.received,
            entries.exchanged,
            entries.not_compared
        );
        read(&mut entries)
    }

    pub(crate) fn observer(&self) -> Rc<dyn Observer> {
        Rc::new(self.clone())
    }

    /// Waits for `count` requests to be settled and returns the reasons, in the order of settling.
    pub(crate) fn reasons(&self, count: usize) -> Vec<Reason> {
        self.wait(
            |entries| entries.settled() >= count,
            |entries| {
                assert_eq!((entries.received, entries.settled()), (count, count));
                entries
                    .not_compared
                    .iter()
                    .map(|(_, reason)| *reason)
                    .collect()
            },
        )
    }

    /// Waits for `count` requests to be settled, of more that were received, and returns the reasons.
    pub(crate) fn reasons_so_far(&self, count: usize) -> Vec<Reason> {
        self.wait(
            |entries| entries.settled() >= count,
            |entries| {
                let reasons = entries.not_compared.iter();
                reasons.map(|(_, reason)| *reason).collect()
            },
        )
    }

    /// Waits for the only request to be settled without a verdict.
    pub(crate) fn reason(&self) -> Reason {
        let reasons = self.reasons(1);
        assert_eq!(reasons.len(), 1, "it became an exchange");
        reasons[0]
    }

    /// Waits for `count` exchanges and takes them.
    pub(crate) fn exchanges(&self, count: usize) -> Vec<Exchange> {
        self.wait(
            |entries| entries.exchanges.len() >= count,
            |entries| std::mem::take(&mut entries.exchanges),
        )
    }

    pub(crate) fn exchange(&self) -> Exchange {
        self.exchanges(1).pop().expect("one exchange")
    }

    pub(crate) fn wait_received(&self, count: usize) {
        self.wait(|entries| entries.received >= count, |_| ());
    }

    /// Received and settled so far.
    pub(crate) fn balance(&self) -> (usize, usize) {
        let entries = self.inner.0.lock().expect("no panic");
        (entries.received, entries.settled())
    }

    /// Waits for the clients of `count` requests and returns what became of them, in the order of settling.
    pub(crate) fn clients(&self, count: usize) -> Vec<ClientOutcome> {
        self.wait(
            |entries| entries.clients.len() >= count,
            |entries| {
                assert_eq!((entries.received, entries.clients.len()), (count, count));
                entries.clients.clone()
            },
        )
    }

    /// What became of the client of the only request.
    pub(crate) fn client(&self) -> ClientOutcome {
        self.clients(1)[0]
    }

    /// Clients that have an outcome.
    pub(crate) fn clients_settled(&self) -> usize {
        self.inner.0.lock().expect("no panic").clients.len()
    }

    /// The routes that were known later than the head, in the order of becoming known.
    pub(crate) fn named(&self) -> Vec<String> {
        let entries = self.inner.0.lock().expect("no panic");
        assert_eq!(entries.unnamed, 0, "a request without a route");
        entries.named.clone()
    }

    /// The routes and reasons of requests without a verdict, in the order of settling.
    pub(crate) fn not_compared(&self) -> Vec<(String, Reason)> {
        self.inner.0.lock().expect("no panic").not_compared.clone()
    }

    pub(crate) fn answered(&self) -> Vec<(String, u16)> {
        self.inner.0.lock().expect("no panic").answered.clone()
    }
}

impl Observer for Ledger {
    fn received(&self, _: &Arc<Route>) -> Receipt {
        self.write(|entries| entries.received += 1);
        MARK
    }

    fn begun(&self) -> Receipt {
        self.write(|entries| {
            entries.received += 1;
            entries.unnamed += 1;
        });
        MARK
    }

    fn named(&self, route: &Arc<Route>) {
        self.write(|entries| {
            let left = entries.unnamed.checked_sub(1);
            entries.unnamed = left.expect("a request is named once");
            entries.named.push(route.to_string());
        });
    }

    fn not_compared(&self, route: &Arc<Route>, reason: Reason, receipt: Receipt) {
        assert_eq!(receipt, MARK);
        self.write(|entries| entries.not_compared.push((route.to_string(), reason)));
    }

    fn exchange(&self, exchange: Exchange, receipt: Receipt) {
        assert_eq!(receipt, MARK);
        self.write(|entries| {
            entries.exchanged += 1;
            entries.exchanges.push(exchange);
        });
    }

    fn answered(&self, route: &Arc<Route>, status: u16) {
        self.write(|entries| entries.answered.push((route.to_string(), status)));
    }

    fn client(&self, _: &Arc<Route>, outcome: ClientOutcome) {
        self.write(|entries| entries.clients.push(outcome));
    }
}
