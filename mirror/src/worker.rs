//! What one worker thread owns. Nothing in here is shared with another thread but [`Shared`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Instant;

use parity_schemas::verdict::Reason;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::config::Mode;
use crate::connect::Lookups;
use crate::control::Shared;
use crate::generation::{Applied, Generation};
use crate::local::StreamTask;
use crate::metrics::WorkerHandle;
use crate::turns::Turns;

/// A worker's own state.
pub(crate) struct Worker {
    /// Its number, from 0.
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: WorkerHandle,
    /// Set when the time to drain is over: what is dropped from then on was cut by us.
    pub(crate) cutting: Cell<bool>,
    /// Set when the drain begins.
    pub(crate) draining: Cell<bool>,
    /// By which shadows let clients go first.
    pub(crate) turns: Rc<Turns>,
    /// Of the legacy's name and of the candidate's: they share the threads, whatever the generation.
    pub(crate) lookups: [Rc<Lookups>; 2],
    /// `None` before the first policy, and after the end.
    current: RefCell<Option<Rc<Generation>>>,
    /// Those before it that requests still hold.
    former: RefCell<Vec<Weak<Generation>>>,
    /// The HTTP/2 stream whose task is being polled.
    pub(crate) stream: RefCell<Option<StreamTask>>,
    clients: RefCell<HashMap<u64, Rc<Client>>>,
    next_client: Cell<u64>,
    tasks: Cell<usize>,
    idle: Notify,
}

impl Worker {
    pub(crate) fn new(index: usize, shared: Arc<Shared>, metrics: WorkerHandle) -> Self {
        let lookups = [(), ()].map(|()| Rc::new(Lookups::new(&shared.own)));
        Self {
            index,
            shared,
            metrics,
            cutting: Cell::new(false),
            draining: Cell::new(false),
            turns: Rc::default(),
            lookups,
            current: RefCell::new(None),
            former: RefCell::default(),
            stream: RefCell::new(None),
            clients: RefCell::default(),
            next_client: Cell::new(0),
            tasks: Cell::new(0),
            idle: Notify::new(),
        }
    }

    /// Serves by another policy from now on.
    pub(crate) fn apply(self: &Rc<Self>, applied: &Applied) {
        let observer = (applied.observers)(self.index);
        let generation = Rc::new(Generation::new(self, &applied.loaded, observer));
        let former = self.current.replace(Some(generation));
        self.former
            .borrow_mut()
            .extend(former.as_ref().map(Rc::downgrade));
        // Nobody waits for the first one, and not for ever for another.
        let _unheard = applied.taken.send(());
    }

    /// What a request that begins now is served by.
    ///
    /// # Panics
    /// Before the first policy and after [`Self::retire`], when there are no requests.
    pub(crate) fn generation(&self) -> Rc<Generation> {
        let current = self.current.borrow();
        Rc::clone(current.as_ref().expect("workers serve under a policy"))
    }

    /// Lets go of the last generation, which holds the worker in turn.
    pub(crate) fn retire(&self) {
        *self.current.borrow_mut() = None;
    }

    /// Runs a task that the end of the worker waits for, and cuts when the time to drain is over.
    pub(crate) fn spawn(
        self: &Rc<Self>,
        task: impl Future<Output = ()> + 'static,
    ) -> JoinHandle<()> {
        // Boxed once here, because tokio moves a task of several kilobytes about five times.
        tokio::task::spawn_local(Owned {
            task: Box::pin(task),
            _running: Running::new(self),
        })
    }

    /// Why something that nobody ended is gone.
    pub(crate) fn loss(&self) -> Reason {
        if std::thread::panicking() {
            Reason::InternalPanic
        } else if self.cutting.get() {
            Reason::Shutdown
        } else {
            Reason::ClientAborted
        }
    }

    /// Makes a connection known to the sweep and the drain, until the guard is dropped.
    pub(crate) fn register(self: &Rc<Self>, client: &Rc<Client>) -> Registered {
        let id = self.next_client.get();
        self.next_client.set(id + 1);
        self.clients.borrow_mut().insert(id, Rc::clone(client));
        self.metrics.accepted();
        Registered {
            worker: Rc::clone(self),
            id,
        }
    }

    /// Ends what has waited for too long.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let generation = self.generation();
        let mut former = self.former.borrow_mut();
        former.retain(|generation| generation.strong_count() > 0);
        let kept = former.iter().filter_map(Weak::upgrade);
        for generation in kept.chain([Rc::clone(&generation)]) {
            generation.legacy.sweep(now);
            generation.candidate.sweep(now);
        }
        drop(former);
        // Once for all workers.
        if self.index == 0 {
            self.shared.budget.trim();
        }
        if self.shared.candidates.are_scarce() {
            self.close_idle_candidates();
        }
        for client in self.clients.borrow().values() {
            client.sweep(now, &generation.limits);
        }
        if self.shared.without_place.load(Ordering::Relaxed) > 0 {
            self.make_place();
        }
    }

    /// Ends the connection that has waited for its client longest, if one has for long: another client has no place.
    pub(crate) fn make_place(&self) {
        let now = Instant::now();
        let clients = self.clients.borrow();
        let waiting = clients
            .values()
            .filter_map(|client| Some((client.gives_way(now)?, client)));
        if let Some((_, longest)) = waiting.min_by_key(|(since, _)| *since) {
            longest.give_way();
        }
    }

    /// Descriptors are missing: idle connections to the candidate are closed, here now and at the other workers soon.
    pub(crate) fn yield_descriptors(&self) {
        self.shared.candidates.miss();
        self.close_idle_candidates();
    }

    fn close_idle_candidates(&self) {
        let former = self.former.borrow();
        let current = self.current.borrow();
        let former = former.iter().filter_map(Weak::upgrade);
        for generation in former.chain(current.clone()) {
            generation.candidate.clear();
            if generation.mode == Mode::Tap {
                generation.legacy.clear();
            }
        }
    }

    /// One round of the drain: see [`Client::drain`].
    pub(crate) fn drain_clients(&self) {
        self.draining.set(true);
        for client in self.clients.borrow().values() {
            client.drain();
        }
    }

    /// Tasks that have not ended.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.get()
    }

    /// Returns once no task is left.
    pub(crate) async fn drained(&self) {
        while self.tasks.get() > 0 {
            self.idle.notified().await;
        }
    }
}

/// A task that counts for as long as it lives.
struct Owned<F> {
    task: Pin<Box<F>>,
    _running: Running,
}

impl<F: Future<Output = ()>> Future for Owned<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.task.as_mut().poll(cx)
    }
}

/// Counts a task for as long as it lives.
struct Running(Rc<Worker>);

impl Running {
    fn new(worker: &Rc<Worker>) -> Self {
        worker.tasks.set(worker.tasks.get() + 1);
        Self(Rc::clone(worker))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let left = self.0.tasks.get() - 1;
        self.0.tasks.set(left);
        if left == 0 {
            self.0.idle.notify_one();
        }
    }
}

/// A connection that the worker knows of.
pub(crate) struct Registered {
    worker: Rc<Worker>,
    id: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.worker.clients.borrow_mut().remove(&self.id);
        self.worker.metrics.closed();
    }
}
