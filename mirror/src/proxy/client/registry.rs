//! The list of one worker's client connections, for the sweep and the drain.
//!
//! A connection is in the list as long as it is served, and decides itself what a sweep does to it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use super::Client;
use crate::limits::Limits;

/// The connected clients.
#[derive(Default)]
pub(crate) struct Clients {
    all: RefCell<HashMap<u64, Rc<Client>>>,
    next: Cell<u64>,
}

impl Clients {
    /// Adds a connection to the list, until the guard is dropped.
    pub(crate) fn register(self: &Rc<Self>, client: &Rc<Client>) -> Registered {
        let id = self.next.get();
        self.next.set(id + 1);
        self.all.borrow_mut().insert(id, Rc::clone(client));
        client.worker.meters().accepted();
        Registered {
            clients: Rc::clone(self),
            id,
        }
    }

    /// Closes connections that are over a time-out, which for some is shorter if slots or descriptors are `scarce`.
    pub(crate) fn sweep(&self, now: Instant, limits: &Limits, scarce: bool) {
        for client in self.all.borrow().values() {
            client.sweep(now, limits, scarce);
        }
    }

    /// Frees a slot or descriptors for another client: ends the connection whose client has closed its side longest, or
    /// else the one that has waited for its client longest, if that is long enough.
    pub(crate) fn make_place(&self) {
        let now = Instant::now();
        let clients = self.all.borrow();
        let leaving = clients
            .values()
            .filter_map(|client| Some((client.waits_half_closed(now, true)?, client)));
        if let Some((_, longest)) = leaving.min_by_key(|(since, _)| *since) {
            return longest.give_way();
        }
        let waiting = clients
            .values()
            .filter_map(|client| Some((client.gives_way(now)?, client)));
        if let Some((_, longest)) = waiting.min_by_key(|(since, _)| *since) {
            longest.give_way();
        }
    }

    /// One round of the drain: see [`Client::drain`].
    pub(crate) fn drain(&self) {
        for client in self.all.borrow().values() {
            client.drain();
        }
    }
}

/// The entry of a connection; dropping it removes the connection from the list.
pub(crate) struct Registered {
    clients: Rc<Clients>,
    id: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let client = self.clients.all.borrow_mut().remove(&self.id);
        if let Some(client) = client {
            client.worker.meters().closed();
        }
    }
}
