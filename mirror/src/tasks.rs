//! The tasks of one worker that its shutdown waits for.
//!
//! Requests, shadows and tunnels run as tasks that are counted here, so that a drain knows when it is done. Code that
//! starts a task needs to know nothing else of the worker. Tasks that need not finish, such as those of idle
//! connections to a service, are not started here.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use parity_schemas::verdict::Reason;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Starts tasks and counts them.
#[derive(Default)]
pub(crate) struct Tasks {
    running: Cell<usize>,
    /// Notified when the last task has ended.
    none_left: Notify,
    /// Set when the time to drain is over.
    cutting: Cell<bool>,
}

impl Tasks {
    /// Runs a task that the worker's shutdown waits for, and aborts when the time to drain is over.
    pub(crate) fn spawn(
        self: &Rc<Self>,
        task: impl Future<Output = ()> + 'static,
    ) -> JoinHandle<()> {
        // Boxed once here, because tokio moves a task of several kilobytes about five times.
        tokio::task::spawn_local(Counted {
            task: Box::pin(task),
            _running: Running::new(self),
        })
    }

    /// Tasks that have not ended.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// Returns once no task is left.
    pub(crate) async fn ended(&self) {
        while self.running() > 0 {
            self.none_left.notified().await;
        }
    }

    /// The time to drain is over: requests dropped from now on count as aborted by the shutdown.
    pub(crate) fn cut(&self) {
        self.cutting.set(true);
    }

    /// The reason that is recorded for a request that was dropped before it was settled: a panic that is just
    /// unwinding, the end of the drain, or else `lost`.
    pub(crate) fn drop_reason(&self, lost: Reason) -> Reason {
        if std::thread::panicking() {
            Reason::InternalPanic
        } else if self.cutting.get() {
            Reason::Shutdown
        } else {
            lost
        }
    }
}

/// A task that counts for as long as it lives.
struct Counted<F> {
    task: Pin<Box<F>>,
    _running: Running,
}

impl<F: Future<Output = ()>> Future for Counted<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.task.as_mut().poll(cx)
    }
}

/// Counts a task from its start to its drop.
struct Running(Rc<Tasks>);

impl Running {
    fn new(tasks: &Rc<Tasks>) -> Self {
        tasks.running.set(tasks.running.get() + 1);
        Self(Rc::clone(tasks))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let left = self.0.running.get() - 1;
        self.0.running.set(left);
        if left == 0 {
            self.0.none_left.notify_one();
        }
    }
}
