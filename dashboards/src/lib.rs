//! What a person looks at.
//!
//! - [`view`] is what is shown, without markup and colour: the report, the decision, a comparison of two files, a
//!   mismatch. It reads from a store and decides with the comparator's `decision`; report and decision come from one read.
//! - [`question`] is what somebody asks of the record, by flags or by parameters.
//! - [`terminal`], [`markdown`], [`junit`] and the pages draw it.
//! - [`top`] draws the overview, live, in a terminal.
//! - [`server`] is the admin port: health, metrics, control, the API and the pages.
//!
//! Of captured values this crate sees only what the record holds, which is redacted already, and what `parity diff`
//! compares, which are the user's own files. Each surface treats every such string as hostile.

pub mod junit;
pub mod links;
pub mod markdown;
pub mod pages;
pub mod question;
pub mod server;
pub mod terminal;
pub mod top;
pub mod view;
