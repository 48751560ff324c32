//! Live clients: accepting them, passing their requests to the legacy and its answers back, and what both services are
//! asked besides.
//!
//! A worker is one thread with one runtime: it accepts ([`listen`]), serves connections ([`serve`]) and forwards
//! requests ([`forward`]). A policy at work is a [`generation`]. What is kept of a request for the comparison is
//! [`crate::exchange`]'s, how a service is asked [`crate::upstream`]'s; neither knows this room.

mod answer;
mod client;
mod config;
mod forward;
mod generation;
mod handle;
mod host;
mod legacy;
mod listen;
mod metrics;
mod mirror;
mod outbound;
mod own_answers;
mod passing;
mod process;
mod relay;
mod serve;
mod socket_state;
mod streams;
mod tap;
mod ticket;
mod tls;
mod tunnel;
mod unread;
mod upload;
mod worker;

pub use config::{Config, Mode, Policy, ServerTls};
pub use generation::LoadedPolicy;
pub use handle::MirrorHandle;
pub use metrics::Metrics;
pub use mirror::{BindError, Drained, Mirror, RunError};
