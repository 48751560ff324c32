//! Serves live clients: accepts connections, forwards requests to the legacy and its answers back, and shadows
//! requests.
//!
//! A worker is one thread with one runtime: it accepts ([`listen`]), serves connections ([`serve`]) and forwards
//! requests ([`forward`]). A loaded policy with everything that serves under it is a [`generation`].
//! [`crate::exchange`] captures requests and answers for the comparison, [`crate::upstream`] sends requests to
//! services; neither depends on this module.

mod answer;
mod client;
mod config;
mod forward;
mod generation;
mod handle;
mod host;
mod listen;
mod metrics;
mod mirror;
mod outbound;
mod overdue;
mod own_answers;
mod passing;
mod process;
mod rechecking;
mod relay;
mod replaying;
mod serve;
mod serving;
mod socket_state;
mod streams;
mod tap;
mod tape;
mod ticket;
mod tls;
mod tunnel;
mod unread;
mod upload;
mod waiting;
mod worker;

pub use config::{Config, Mode, Policy, ServerTls};
pub use generation::LoadedPolicy;
pub use handle::MirrorHandle;
pub use metrics::Metrics;
pub use mirror::{BindError, Drained, Mirror, RunError};
pub use replaying::{Progress, Replaying};
