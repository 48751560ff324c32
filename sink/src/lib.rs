//! Records into a store, and answers out of it.
//!
//! Three parts that meet in `parity-schemas` types only:
//! - [`tally`]: every request is counted, by route, interval and outcome, without a lock on the path of a client;
//! - [`mod@write`]: one thread takes records from a bounded queue and writes them, with the tallies, in batches;
//! - [`read`]: one query API; SQL fetches rows, and one Rust function makes the report of them, whatever the store.
//!
//! What this crate promises: a client never waits for it; a store that is full, locked or broken costs mismatch
//! records at most, which are counted and told of, and never a count; writing a record twice changes nothing.
//! It accepts records only: captured values cannot pass through here.

mod clickhouse;
mod consume;
mod error;
mod kafka;
pub mod read;
mod retention;
mod runtime;
mod sqlite;
mod store;
pub mod tally;
mod url;
mod word;
pub mod write;

pub use clickhouse::schema::{Applied, apply_schema};
pub use consume::{Sink, SinkError, SinkHandle, SinkHealth, SinkOptions, SinkReport, Stopper};
pub use error::StoreError;
pub use read::{Known, MismatchFilter, Reader, Selection};
pub use store::{
    ClickHouseAccess, KAFKA_TLS, KafkaAccess, KafkaSecurity, SaslMechanism, Secret, SpoolConfig,
    StoreConfig,
};
pub use tally::{Epoch, OutcomeRecorder, TallyBook, TallyConfig};
pub use url::{ClickHouseUrl, DEFAULT_TOPIC, KafkaUrl, StoreUrl, StoreUrlError};
pub use write::{RecordSender, Writer, WriterOptions, record_decision};
