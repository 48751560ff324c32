//! The sink against real files, real threads and real processes that are killed.

mod concurrency;
mod crash;
mod opening;
mod report;
mod retention;
mod support;
mod trouble;
