//! Tasks that hyper starts by itself: the streams of an HTTP/2 connection.

use std::cell::OnceCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::rt::Executor;
use tokio::task::AbortHandle;

use crate::turns::{self, Turns};
use crate::worker::Worker;

/// Runs tasks on the thread they come from, outside the count of the worker: those of connections to services, whose
/// end nobody waits for. Those of shadows run in slices.
#[derive(Clone)]
pub(crate) struct LocalExecutor(pub(crate) Option<Rc<Turns>>);

impl<F: Future<Output = ()> + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, task: F) {
        drop(match &self.0 {
            Some(turns) => {
                let turns = Rc::clone(turns);
                let mut task = Box::pin(task);
                tokio::task::spawn_local(async move { turns::sliced(&turns, task.as_mut()).await })
            }
            None => tokio::task::spawn_local(task),
        });
    }
}

/// Runs tasks that the end of the worker waits for: requests of clients.
#[derive(Clone)]
pub(crate) struct WorkerExecutor(pub(crate) Rc<Worker>);

impl<F: Future<Output = ()> + 'static> Executor<F> for WorkerExecutor {
    fn execute(&self, task: F) {
        let stream = StreamTask::default();
        let handle = self.0.spawn(Known {
            task: Box::pin(task),
            worker: Rc::clone(&self.0),
            stream: stream.clone(),
        });
        // Set once, here.
        let _first = stream.0.set(handle.abort_handle());
    }
}

/// The task of a client's stream. hyper has no other way to end a stream whose client does not take its answer: it waits
/// for the client's window and asks nobody meanwhile.
#[derive(Clone, Default)]
pub(crate) struct StreamTask(Rc<OnceCell<AbortHandle>>);

impl StreamTask {
    /// Resets the stream.
    pub(crate) fn abort(&self) {
        if let Some(handle) = self.0.get() {
            handle.abort();
        }
    }
}

/// A task that the worker knows while it is polled, so that the request in it can find its stream.
struct Known<F> {
    task: Pin<Box<F>>,
    worker: Rc<Worker>,
    stream: StreamTask,
}

impl<F: Future<Output = ()>> Future for Known<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        *self.worker.stream.borrow_mut() = Some(self.stream.clone());
        let polled = self.task.as_mut().poll(cx);
        *self.worker.stream.borrow_mut() = None;
        polled
    }
}
