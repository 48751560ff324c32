//! The tasks that hyper's HTTP/2 server starts: one for each client request.
//!
//! The worker's shutdown waits for them. A request can find its own task and abort it: hyper has no other way to reset
//! a stream whose client does not read its answer.

use std::cell::{OnceCell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::rt::Executor;
use tokio::task::AbortHandle;

use crate::tasks::Tasks;

/// The tasks of clients' streams, of one worker.
pub(crate) struct StreamTasks {
    tasks: Rc<Tasks>,
    /// The task that is being polled.
    current: RefCell<Option<StreamTask>>,
}

impl StreamTasks {
    pub(crate) fn new(tasks: &Rc<Tasks>) -> Rc<Self> {
        Rc::new(Self {
            tasks: Rc::clone(tasks),
            current: RefCell::new(None),
        })
    }

    /// The HTTP/2 stream whose task is being polled, if there is one.
    pub(crate) fn current(&self) -> Option<StreamTask> {
        self.current.borrow().clone()
    }
}

/// Runs client requests as tasks that the worker's shutdown waits for.
#[derive(Clone)]
pub(crate) struct StreamExecutor(pub(crate) Rc<StreamTasks>);

impl<F: Future<Output = ()> + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, task: F) {
        let Self(streams) = self;
        let stream = StreamTask::default();
        let handle = streams.tasks.spawn(TrackedTask {
            task: Box::pin(task),
            streams: Rc::clone(streams),
            stream: stream.clone(),
        });
        // It is set only here.
        let _first = stream.0.set(handle.abort_handle());
    }
}

/// The task of a client's stream. If the client does not read its answer, hyper waits for flow-control window and polls
/// nothing meanwhile.
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

/// A task that registers itself while it is polled, so that the request in it can find its stream.
struct TrackedTask<F> {
    task: Pin<Box<F>>,
    streams: Rc<StreamTasks>,
    stream: StreamTask,
}

impl<F: Future<Output = ()>> Future for TrackedTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        *self.streams.current.borrow_mut() = Some(self.stream.clone());
        let polled = self.task.as_mut().poll(cx);
        *self.streams.current.borrow_mut() = None;
        polled
    }
}
