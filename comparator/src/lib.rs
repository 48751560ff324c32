//! Decides whether two captured answers are the same, and says how they differ.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no randomness, no async, no global state.
//! The same exchange with the same rules always gets the same verdict, on every machine and under every load; limits
//! count work, never time.
//!
//! - [`comparator`] judges one exchange by the defaults of what is equal and by the operator's [`rules`].
//! - [`fingerprint`] names the group that a finding belongs to.
//! - [`redact`] is the only way by which captured values leave the process.
//! - [`noise`] distinguishes what differs by chance from what differs, by asking both services once more.
//! - [`seal`] makes a changed byte of a document visible.
//! - [`decision`] derives pass, fail or undecided from the counts and [`noise`], by the [`bounds`] that follow from them.
//! - [`groups`] counts findings by what they have in common; [`causes`] are what many groups have in common.
//! - [`suggest`] makes rules of what has an explanation, and says what they excuse.
//! - [`metrics`] sets two services beside each other by what they export of themselves.
//! - [`retrial`] tells what becomes of recorded mismatches under other rules.
//! - [`rerun`] sets what a recorded request differed in beside what it differs in now.
//! - [`document`] is what `parity diff` prints; [`message`] reads a stored HTTP answer for it, [`decode`] undoes what a
//!   file was compressed with, and [`text`] shows two texts line by line.

pub mod bounds;
pub mod causes;
mod charset;
mod collect;
pub mod comparator;
mod csv;
pub mod decision;
pub mod decode;
pub mod document;
mod events;
mod explain;
pub mod fingerprint;
mod form;
mod graphql;
pub mod groups;
mod grpc;
mod headers;
mod hex;
mod instant;
mod json;
pub mod known;
pub mod limits;
mod media;
pub mod message;
pub mod metrics;
mod multipart;
pub mod noise;
mod notation;
mod part_keys;
pub mod redact;
pub mod rerun;
pub mod retrial;
pub mod rules;
pub mod seal;
pub mod suggest;
pub mod text;
pub mod trend;
mod xml;
mod yaml;

pub use comparator::{AnswerPair, Comparator, Comparison, DocumentKind};
pub use limits::Limits;
pub use rules::{RuleConfig, RuleError, Rules};
