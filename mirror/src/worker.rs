//! What one worker thread owns. Nothing in here is shared with another thread but [`Shared`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use parity_schemas::route::RouteResolver;
use parity_schemas::verdict::Reason;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::control::Shared;
use crate::metrics::WorkerHandle;
use crate::observer::Observer;
use crate::service::Service;

/// A worker's own state.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) observer: Rc<dyn Observer>,
    pub(crate) metrics: WorkerHandle,
    pub(crate) routes: RefCell<RouteResolver>,
    pub(crate) sampler: Sampler,
    pub(crate) legacy: Service,
    pub(crate) candidate: Service,
    /// Set when the time to drain is over: what is dropped from then on was cut by us.
    pub(crate) cutting: Cell<bool>,
    clients: RefCell<HashMap<u64, Rc<Client>>>,
    next_client: Cell<u64>,
    tasks: Cell<usize>,
    idle: Notify,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        observer: Rc<dyn Observer>,
        metrics: WorkerHandle,
        routes: RouteResolver,
        sampler: Sampler,
        [legacy, candidate]: [Service; 2],
    ) -> Self {
        Self {
            shared,
            observer,
            metrics,
            routes: RefCell::new(routes),
            sampler,
            legacy,
            candidate,
            cutting: Cell::new(false),
            clients: RefCell::default(),
            next_client: Cell::new(0),
            tasks: Cell::new(0),
            idle: Notify::new(),
        }
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
        self.legacy.pool.sweep(now);
        self.candidate.pool.sweep(now);
        for client in self.clients.borrow().values() {
            client.sweep(now);
        }
    }

    /// Asks every client connection to end after its request at hand.
    pub(crate) fn finish_clients(&self) {
        for client in self.clients.borrow().values() {
            client.finish();
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

/// Decides which requests are shadowed. A linear generator is random enough to take a share of requests, and costs
/// a multiplication.
pub(crate) struct Sampler {
    state: Cell<u64>,
    /// Takes where the upper half of the state is below this; `None` takes all.
    threshold: Option<u64>,
}

impl Sampler {
    /// `share` in 0..=1.
    pub(crate) fn new(share: f64) -> Self {
        const HALF: f64 = 4_294_967_296.0;
        Self {
            state: Cell::new(RandomState::new().hash_one(0_u8)),
            threshold: (share < 1.0).then(|| (share.max(0.0) * HALF) as u64),
        }
    }

    /// Whether the next request is among the share.
    pub(crate) fn takes(&self) -> bool {
        let Some(threshold) = self.threshold else {
            return true;
        };
        // Knuth's MMIX constants; the upper half of the state is the good one.
        let state = self
            .state
            .get()
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.state.set(state);
        state >> 32 < threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_kept_and_its_ends_are_exact() {
        let taken = |share| {
            let sampler = Sampler::new(share);
            (0..100_000).filter(|_| sampler.takes()).count()
        };
        assert_eq!((taken(0.0), taken(1.0)), (0, 100_000));
        let tenth = taken(0.1);
        assert!((9_500..10_500).contains(&tenth), "{tenth}");
    }
}
