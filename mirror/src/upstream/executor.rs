//! Runs the tasks that hyper's HTTP/2 client starts for a connection to a service.
//!
//! The worker's shutdown does not wait for them: a connection lives as long as it is kept.

use std::future::Future;
use std::rc::Rc;

use hyper::rt::Executor;

use crate::turns::{self, Turns};

/// Runs tasks on the current thread; those of shadows run in slices.
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
