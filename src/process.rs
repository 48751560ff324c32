//! What a running process is besides the flow of requests: its admin port, its log, its signals, the file descriptors that
//! it may open, the sockets that it takes over and hands on, and the instance of a mirror, which owns all of that.
//!
//! Commands use it, and an instance starts the pipeline; the pipeline knows nothing of it.

pub(crate) mod admin;
pub(crate) mod auditing;
pub(crate) mod descendants;
pub(crate) mod descriptors;
pub(crate) mod guard;
pub(crate) mod handover;
pub(crate) mod instance;
pub(crate) mod register;
pub(crate) mod signals;
pub(crate) mod supervised;
pub(crate) mod telemetry;
