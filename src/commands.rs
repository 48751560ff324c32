//! One file per command. A command reads its settings, calls the crates, prints the result, and returns its exit code.

pub(crate) mod check;
pub(crate) mod ci;
pub(crate) mod config;
pub(crate) mod decisions;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod gate;
pub(crate) mod known;
pub(crate) mod metrics;
pub(crate) mod mirror;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod rerun;
pub(crate) mod rollout;
pub(crate) mod rules;
pub(crate) mod schema;
pub(crate) mod selection;
pub(crate) mod sink;
pub(crate) mod soak;
pub(crate) mod stress;
pub(crate) mod stub;
pub(crate) mod top;
pub(crate) mod ui;
pub(crate) mod written;
