//! Tasks that the library for HTTP/2 starts by itself for a connection to a service.
//!
//! They are not counted among the tasks that a worker waits for at its end: a connection lives as long as it is kept.

use std::future::Future;
use std::rc::Rc;

use hyper::rt::Executor;

use crate::turns::{self, Turns};

/// Runs tasks on the thread that they come from; those of shadows run in slices.
#[derive(Clone)]
pub(super) struct LocalExecutor(pub(super) Option<Rc<Turns>>);

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
