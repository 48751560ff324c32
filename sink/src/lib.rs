//! Writing records to a store, and reading reports from it.
//!
//! Three parts that meet in `parity-schemas` types only:
//! - [`tally`]: every request is counted, by route, interval and outcome, without a lock in the request path;
//! - [`mod@write`]: one thread takes records from a bounded queue and writes them, with the tallies, in batches;
//! - [`read`]: one query API; SQL fetches rows, and the same Rust code builds the report for every store.
//!
//! What this crate guarantees: a client never waits for it. A store that is full, locked or broken loses at most
//! mismatch records, which is counted and reported, and never a count. Writing a record twice changes nothing. It
//! accepts only redacted records: captured values cannot pass through it.

mod clickhouse;
mod consume;
mod error;
mod kafka;
pub mod read;
mod remembered;
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
pub use read::{
    AnsweredFilter, Examples, Found, Known, MAX_EXAMPLES, Mark, MismatchFilter, Reader, Selection,
};
pub use store::{
    ClickHouseAccess, KAFKA_TLS, KafkaAccess, KafkaSecurity, SaslMechanism, Secret, SpoolConfig,
    StoreConfig,
};
pub use tally::{Epoch, OutcomeRecorder, TallyBook, TallyConfig};
pub use url::{ClickHouseUrl, DEFAULT_TOPIC, KafkaUrl, StoreUrl, StoreUrlError};
pub use write::{RecordSender, Writer, WriterOptions, record_change, record_decision};
