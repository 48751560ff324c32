//! How a service is asked by a load.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::forwarding::Forwarding;
use crate::upstream::Target;

/// How a service is asked.
#[derive(Clone)]
pub struct LoadConfig {
    /// The service.
    pub target: Target,
    /// Certificates that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// Which headers tell it where the requests come from.
    pub forwarding: Forwarding,
    /// Threads that send.
    pub threads: NonZeroUsize,
    /// Requests that may be unanswered at once; each may need a connection.
    pub places: usize,
    /// For one request, from sending to the last byte of the answer.
    pub deadline: Duration,
}
