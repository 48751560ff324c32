//! What runs recorded requests again for this port, and how many at a time: each has a thread, and connections of its own.

use std::sync::Arc;

use parity_schemas::record::Mismatch;
use parity_schemas::rerun::RerunDocument;
use tokio::sync::Semaphore;

use crate::view::Allowed;

/// Requests that are run again at a time: a person looks at one, and a script must not make a load of it.
pub(super) const AT_ONCE: usize = 2;

/// Asks both services again.
pub trait RunAgain: Send + Sync {
    /// Runs the request of a mismatch again, and waits for the answers. An error is a sentence that says what to do.
    fn run_again(&self, mismatch: &Mismatch, allowed: Allowed) -> Result<RerunDocument, String>;
}

/// The reruns of a site.
#[derive(Clone)]
pub struct Reruns {
    pub(super) runs: Arc<dyn RunAgain>,
    pub(super) places: Arc<Semaphore>,
}

impl Reruns {
    /// By what the program has for it.
    pub fn new(runs: Arc<dyn RunAgain>) -> Self {
        Self {
            runs,
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}
