//! One file per command. A command reads its settings, asks the crates, prints, and says its exit code.

pub mod config;
pub mod demo;
pub mod diff;
pub mod gate;
pub mod mirror;
pub mod report;
pub mod selection;
pub mod ui;
