//! What the crates of `parity` say to each other, and nothing that they do.
//!
//! One definition of an exchange, a verdict, a record, a tally and the evidence of a decision, so that the proxy,
//! the comparator, every store and every screen mean the same thing by the same word.
//!
//! Two families live here and must not be confused:
//! - [`exchange`] and [`verdict`] hold captured values as they were seen. They implement neither `Serialize` nor
//!   `Debug`, so that a secret cannot leave the process through a log line or a store by accident.
//! - [`record`], [`tally`], [`evidence`] and [`report`] hold what may leave: redacted, bounded, serializable.
//!
//! This crate does no I/O. It reads the clock and the random source only in [`id`] and [`time`], when asked for a
//! new id or the present time.

pub mod attributes;
pub mod audit;
pub mod browse;
pub mod check;
pub mod clickhouse;
pub mod clients;
pub mod decisions;
pub mod differing;
pub mod digest;
pub mod documents;
pub mod edited;
pub mod evidence;
pub mod exchange;
mod explanation;
pub mod extent;
pub mod field_share;
pub mod fields;
pub mod framing;
pub mod graphql;
pub mod hidden;
pub mod histogram;
pub mod history;
pub mod id;
pub mod ident;
pub mod json_text;
pub mod known;
pub mod lately;
pub mod lists;
pub mod metrics;
pub mod noise;
mod reason;
pub mod recheck;
pub mod record;
pub mod recording;
pub mod report;
pub mod rerun;
pub mod rollout;
pub mod route;
pub mod sampling;
pub mod secret;
pub mod served;
pub mod severity;
pub mod side;
pub mod soak;
pub mod spelling;
pub mod sqlite;
pub mod stress;
pub mod stub;
pub mod suggested;
pub mod table;
pub mod tally;
pub mod targets;
pub mod terms;
mod text_diff;
pub mod time;
pub mod trial;
pub mod value;
pub mod verdict;
pub mod visible;
mod vocabulary;
pub mod watermark;
mod why;
