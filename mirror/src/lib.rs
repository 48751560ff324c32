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
//! Three rooms, each of which knows only those before it: `upstream` asks one service, `exchange` has one request asked
//! of both, `proxy` serves live clients. What all of them use stands beside them and knows none.
//!
//! The parts: [`Mirror`] binds and runs, [`Config`] says where and [`Policy`] how, [`MirrorHandle`] is the handle of the
//! running process (it also applies another policy), [`Metrics`] is what Prometheus reads.

mod counters;
mod descriptors;
mod exchange;
mod forwarding;
mod frames;
mod framing;
mod headers;
mod limits;
mod proxy;
mod spelling;
mod tasks;
mod turns;
mod upstream;

pub use descriptors::ConnectionLimits;
pub use exchange::{Observer, Receipt, SampleBy, Sampling};
pub use forwarding::Forwarding;
pub use limits::Limits;
pub use proxy::{
    BindError, Config, Drained, LoadedPolicy, Metrics, Mirror, MirrorHandle, Mode, Policy,
    RunError, ServerTls,
};
pub use upstream::{
    HostPort, PathRewrite, PathRewriteError, Protocol, Target, TlsError, UpstreamUrl,
    UpstreamUrlError,
};
