//! Tasks that hyper starts by itself: the streams of an HTTP/2 connection.

use std::future::Future;
use std::rc::Rc;

use hyper::rt::Executor;

use crate::worker::Worker;

/// Runs tasks on the thread they come from, outside the count of the worker: those of connections to services, whose
/// end nobody waits for.
#[derive(Clone, Copy)]
pub(crate) struct LocalExecutor;

impl<F: Future<Output = ()> + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, task: F) {
        drop(tokio::task::spawn_local(task));
    }
}

/// Runs tasks that the end of the worker waits for: requests of clients.
#[derive(Clone)]
pub(crate) struct WorkerExecutor(pub(crate) Rc<Worker>);

impl<F: Future<Output = ()> + 'static> Executor<F> for WorkerExecutor {
    fn execute(&self, task: F) {
        drop(self.0.spawn(task));
    }
}
