//! What a mirror says of itself.

use parity_schemas::clients::Clients;
use parity_schemas::time::Timestamp;
use serde::Serialize;

/// What a mirror says of itself.
#[derive(Clone, Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a document: each says something else, and none depends on another"
)]
pub struct Status {
    /// What became of the clients since the process began, by outcome; outcomes without a count are absent.
    pub clients: Clients,
    /// When last a client did not get a whole answer although it was there; `None` while there was none.
    pub last_failed_client: Option<Timestamp>,
    /// Requests are accepted; `false` while draining.
    pub ready: bool,
    /// Whether requests are shadowed.
    pub shadowing: bool,
    /// Whether the last request to the legacy was answered; `true` before the first.
    pub legacy_reachable: bool,
    /// Whether the candidate is in use; `false` while the breaker leaves it alone.
    pub candidate_reachable: bool,
    /// Shadow requests under way.
    pub shadows_in_flight: usize,
    /// Bytes held by shadows and queued exchanges.
    pub shadow_bytes: usize,
    /// The last error of the store; `None` while it works.
    pub store_error: Option<String>,
    /// When the store was last deleted, replaced or set back under the mirror, and how, since the mirror began. It stays
    /// when the store works again, because what it held before may be gone.
    pub store_loss: Option<String>,
    /// Records that wait to be written.
    pub records_queued: u64,
    /// Records that never reached the store; their mismatches are counted all the same.
    pub records_dropped: u64,
    /// Bytes of records that wait on disk for a Kafka broker.
    pub spool_bytes: u64,
    /// What few file descriptors keep this process from; `None` while there are enough.
    pub descriptors_low: Option<String>,
    /// Why the last reload of the configuration was refused; `None` while what was given last holds.
    pub config_error: Option<String>,
}
