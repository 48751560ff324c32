//! What one worker thread owns: the policy at work, the tasks, the connections to services.
//!
//! Nothing in here is shared with another thread but what the process shares ([`ProcessState`]). Clients know the
//! worker, which does not know them.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinHandle;

use crate::counters::OfWorker;
use crate::exchange::{BySide, ExchangeResources};
use crate::proxy::generation::{Generation, PolicyUpdate, WorkerResources};
use crate::proxy::metrics::{ClientMeters, Metrics};
use crate::proxy::process::ProcessState;
use crate::proxy::streams::StreamTasks;
use crate::tasks::Tasks;
use crate::upstream::{Lookups, WorkerConnections};

/// A worker's own state.
pub(crate) struct Worker {
    /// Its number, from 0.
    index: usize,
    process: Arc<ProcessState>,
    meters: OfWorker<ClientMeters>,
    /// Set when the drain begins.
    draining: Cell<bool>,
    /// What every generation uses, too.
    resources: WorkerResources,
    /// `None` before the first policy, and after the end.
    current: RefCell<Option<Rc<Generation>>>,
    streams: Rc<StreamTasks>,
}

impl Worker {
    pub(crate) fn new(index: usize, process: Arc<ProcessState>, metrics: &Metrics) -> Self {
        let own = process.own_connections();
        let exchange = ExchangeResources {
            admission: Arc::clone(process.admission()),
            meters: metrics.of_exchanges(index),
            tasks: Rc::default(),
            turns: Rc::default(),
        };
        Self {
            index,
            meters: metrics.of_clients(index),
            draining: Cell::new(false),
            current: RefCell::new(None),
            streams: StreamTasks::new(&exchange.tasks),
            resources: WorkerResources {
                lookups: BySide::new(|_| Rc::new(Lookups::new(own))),
                all_connections: Rc::new(WorkerConnections::new(
                    Arc::clone(process.candidates()),
                    process.idle(),
                )),
                exchange,
            },
            process,
        }
    }

    /// What all workers share.
    pub(crate) fn process(&self) -> &Arc<ProcessState> {
        &self.process
    }

    /// What it counts of its clients.
    pub(crate) fn meters(&self) -> &ClientMeters {
        &self.meters
    }

    /// The tasks that its end waits for.
    pub(crate) fn tasks(&self) -> &Rc<Tasks> {
        &self.resources.exchange.tasks
    }

    /// The tasks of clients' streams.
    pub(crate) fn streams(&self) -> &Rc<StreamTasks> {
        &self.streams
    }

    /// Serves by another policy from now on.
    pub(crate) fn apply(&self, update: &PolicyUpdate) {
        let observer = (update.observers)(self.index);
        let generation = Generation::new(&self.resources, &update.loaded, observer);
        // Kept to the end: its observer may end with it.
        let _former = self.current.replace(Some(Rc::new(generation)));
        // Nobody waits for the first policy to be taken, and those who wait for another one may have given up.
        let _unheard = update.taken.send(());
    }

    /// What a request that begins now is served by.
    ///
    /// # Panics
    /// Before the first policy and after [`Self::retire`], when there are no requests.
    pub(crate) fn generation(&self) -> Rc<Generation> {
        let current = self.current.borrow();
        Rc::clone(current.as_ref().expect("workers serve under a policy"))
    }

    /// Lets go of the last generation.
    pub(crate) fn retire(&self) {
        self.current.take();
    }

    /// Runs a task that the end of the worker waits for, and cuts when the time to drain is over.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) -> JoinHandle<()> {
        self.tasks().spawn(task)
    }

    /// Closes connections to services that have been idle for too long, and gives back what the budget keeps to spare.
    pub(crate) fn sweep(&self, now: Instant) {
        self.resources.all_connections.sweep(now);
        // The budget is the process's: one worker does it for all.
        if self.index == 0 {
            self.process.admission().budget().trim();
        }
    }

    /// Descriptors are missing: idle connections to the candidate are closed, here now and at the other workers soon.
    pub(crate) fn yield_descriptors(&self) {
        self.resources.all_connections.yield_descriptors();
    }

    /// The drain begins: each answer from here on is the last one on its connection.
    pub(crate) fn begin_drain(&self) {
        self.draining.set(true);
    }

    /// Whether it has begun.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }
}
