//! The connections of one worker's clients: whom the sweep and the drain look at.
//!
//! It keeps a connection in the list for as long as that is served, and lets the connection decide what a sweep means
//! for it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use super::Client;
use crate::limits::Limits;

/// The clients that are connected.
#[derive(Default)]
pub(crate) struct Clients {
    all: RefCell<HashMap<u64, Rc<Client>>>,
    next: Cell<u64>,
}

impl Clients {
    /// Makes a connection known to the sweep and the drain, until the guard is dropped.
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

    /// Closes connections that have waited for their clients for too long.
    pub(crate) fn sweep(&self, now: Instant, limits: &Limits) {
        for client in self.all.borrow().values() {
            client.sweep(now, limits);
        }
    }

    /// Ends the connection that has waited for its client longest, if one has for long: another client has no place.
    pub(crate) fn make_place(&self) {
        let now = Instant::now();
        let clients = self.all.borrow();
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
