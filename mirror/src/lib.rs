//! The shadowing reverse proxy: a client's request becomes the legacy's answer for the client, and an
//! [`Exchange`](parity_schemas::exchange::Exchange) for whoever compares.
//!
//! What this crate owns, and why this way:
//! - **The client never pays.** The legacy's answer is streamed through while it is read; nothing in this crate makes
//!   it wait for the candidate, for a copy, or for an observer.
//! - **One current-thread runtime per core.** Every worker accepts for itself and keeps its own connections to both
//!   services, so the path of a request takes no lock and crosses no thread. A connection to the legacy is driven
//!   *inside* the task of the client that uses it: one wake-up per event, and dropping the task closes the connection.
//! - **Conservation.** Every parsed head becomes a ticket that settles exactly once (see [`Observer`]).
//!
//! What it refuses: to compare, to store, to buffer a body whole on the client's path, to follow redirects, to choose
//! an upstream by anything that a client sends, to open tunnels by `CONNECT`.
//!
//! The parts: [`Mirror`] binds and runs, [`Config`] says where and [`Policy`] how, [`Control`] is the handle of the running
//! process (it also applies another policy), [`Metrics`] is what Prometheus reads.

mod account;
mod body;
mod breaker;
mod capture;
mod client;
mod config;
mod connect;
mod control;
mod descriptors;
mod detach;
mod failure;
mod forward;
mod forwarding;
mod generation;
mod grpc;
mod headers;
mod host;
mod link;
mod listen;
mod local;
mod metered;
mod metrics;
mod mirror;
mod observer;
mod ourselves;
mod pending;
mod rate;
mod relay;
mod sampling;
mod service;
mod shadow;
mod spelling;
mod tap;
mod target;
mod tls;
mod tunnel;
mod turns;
mod unread;
mod upload;
mod upstream;
mod words;
mod worker;

pub use config::{Config, Limits, Mode, Policy, ServerTls};
pub use control::{CheckedPolicy, Control};
pub use descriptors::Connections;
pub use forwarding::Forwarding;
pub use metrics::Metrics;
pub use mirror::{BindError, Drained, Mirror, RunError};
pub use observer::{Observer, Receipt};
pub use sampling::{SampleBy, Sampling};
pub use target::{PathRewrite, PathRewriteError, Protocol, Target};
pub use tls::TlsError;
pub use upstream::{HostPort, UpstreamUrl, UpstreamUrlError};
