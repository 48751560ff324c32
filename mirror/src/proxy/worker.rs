//! What one worker thread owns: the current generation, the tasks, the connections to services.
//!
//! Only [`ProcessState`] is shared with other threads. Clients refer to the worker, never the other way.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use parity_schemas::verdict::Reason;
use tokio::task::JoinHandle;

use crate::counters::OfWorker;
use crate::exchange::WorkerResources;
use crate::proxy::generation::{Generation, PolicyUpdate};
use crate::proxy::metrics::{ClientMeters, Metrics};
use crate::proxy::outbound::Outbound;
use crate::proxy::process::ProcessState;
use crate::proxy::streams::StreamTasks;
use crate::tasks::Tasks;

/// A worker's own state.
pub(crate) struct Worker {
    /// Its number, from 0.
    index: usize,
    process: Arc<ProcessState>,
    meters: OfWorker<ClientMeters>,
    /// Set when the drain begins.
    draining: Cell<bool>,
    /// What all generations share.
    resources: WorkerResources<Outbound>,
    /// `None` before the first policy, and after the end.
    current: RefCell<Option<Rc<Generation>>>,
    streams: Rc<StreamTasks>,
}

impl Worker {
    pub(crate) fn new(index: usize, process: Arc<ProcessState>, metrics: &Metrics) -> Self {
        let meters = metrics.of_exchanges(index);
        let resources = WorkerResources::new(process.exchange(), meters, Reason::ClientAborted);
        Self {
            index,
            meters: metrics.of_clients(index),
            draining: Cell::new(false),
            current: RefCell::new(None),
            streams: StreamTasks::new(&resources.exchange().tasks),
            resources,
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

    /// The tasks that its shutdown waits for.
    pub(crate) fn tasks(&self) -> &Rc<Tasks> {
        &self.resources.exchange().tasks
    }

    /// The tasks of clients' streams.
    pub(crate) fn streams(&self) -> &Rc<StreamTasks> {
        &self.streams
    }

    /// Switches to another policy.
    pub(crate) fn apply(&self, update: &PolicyUpdate) {
        let observer = (update.observers)(self.index);
        let generation = Generation::new(&self.resources, &update.loaded, observer);
        // Dropped at the end of this function, because its observer may be dropped with it.
        let _former = self.current.replace(Some(Rc::new(generation)));
        // Nobody waits for the first policy, and a caller that waits for another one may have given up.
        let _unheard = update.taken.send(());
    }

    /// The generation that serves a request that begins now.
    ///
    /// # Panics
    /// Before the first policy and after [`Self::retire`], when there are no requests.
    pub(crate) fn generation(&self) -> Rc<Generation> {
        let current = self.current.borrow();
        Rc::clone(current.as_ref().expect("workers serve under a policy"))
    }

    /// Drops the last generation.
    pub(crate) fn retire(&self) {
        self.current.take();
    }

    /// Runs a task that the worker's shutdown waits for, and aborts when the time to drain is over.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) -> JoinHandle<()> {
        self.tasks().spawn(task)
    }

    /// Closes connections to services that have been idle for too long, and frees spare memory of the byte budget.
    pub(crate) fn sweep(&self, now: Instant) {
        self.resources.sweep(now);
        // The budget belongs to the process, so only one worker does it.
        if self.index == 0 {
            self.process.admission().budget().trim();
        }
    }

    /// Whether another shadow would find room for its bodies, and would not have to wait long for its turn. Half of the byte
    /// budget is left to those in flight.
    pub(crate) fn has_room_for_shadows(&self) -> bool {
        let held = self.process.admission().budget().held();
        let has_bytes = held <= self.generation().limits().shadow_bytes / 2;
        has_bytes && !self.resources.exchange().turns.are_crowded()
    }

    /// A client lacks a descriptor: closes idle connections to the candidate, now in this worker and soon in the others.
    pub(crate) fn yield_to_clients(&self) {
        self.resources.yield_to_clients();
    }

    /// Whether clients have lacked a slot or a descriptor lately.
    pub(crate) fn clients_lack(&self) -> bool {
        self.process.lacks_place() || self.resources.clients_lack()
    }

    /// The drain begins: each answer from here on is the last one on its connection.
    pub(crate) fn begin_drain(&self) {
        self.draining.set(true);
    }

    /// Whether the drain has begun.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }
}
