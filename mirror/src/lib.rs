//! The shadowing reverse proxy. It answers each client request with the legacy's answer, and turns the request and both
//! services' answers into an [`Exchange`](parity_schemas::exchange::Exchange) for the comparator.
//!
//! What this crate owns, and why this way:
//! - **The client never pays.** The legacy's answer is streamed through while it is read; nothing in this crate makes
//!   it wait for the candidate, for a copy, or for an observer.
//! - **One current-thread runtime per core.** Every worker accepts for itself and keeps its own connections to both
//!   services, so the path of a request takes no lock and crosses no thread. A connection to the legacy is driven
//!   *inside* the task of the client that uses it: one wake-up per event, and dropping the task closes the connection.
//! - **Conservation.** Every parsed head becomes a ticket that settles exactly once (see [`Observer`]).
//!
//! What it refuses: to compare, to store, to buffer a whole body before it forwards it to a client or the legacy, to
//! follow redirects, to let a client choose the upstream, to open `CONNECT` tunnels.
//!
//! Six layers, each of which uses only those before it: `upstream` sends requests to one service, `exchange` sends
//! one request to both and collects the answers, `recheck` sends requests again whose answers differed, `replay` reads
//! recorded requests, `load` sends many to one service at a rate and measures it, `proxy` serves live clients or sends a recording in their place. The other modules are helpers that all layers use and that use none of them.
//!
//! The parts: [`Mirror`] binds and runs, [`Config`] says where and [`Policy`] how, [`MirrorHandle`] controls the
//! running mirror (it also applies another policy), [`Metrics`] is what Prometheus reads.

mod counters;
mod descriptors;
mod exchange;
mod forwarding;
mod frames;
mod framing;
mod headers;
mod limits;
pub mod load;
mod proxy;
mod recheck;
pub mod replay;
mod spelling;
mod tasks;
mod turns;
mod upstream;

pub use descriptors::ConnectionLimits;
pub use exchange::{
    ClientCounts, LiveRequest, MANY_CLIENTS, Observer, Receipt, Recorder, Rollout, RolloutBy,
    RolloutSeen, RolloutTried, SampleBy, Sampling, ServedCounts, ServiceSeen, Share, Tried,
};
pub use forwarding::Forwarding;
pub use headers::strip_hop_by_hop;
pub use limits::Limits;
pub use proxy::{
    BindError, Config, Drained, LoadedPolicy, Metrics, Mirror, MirrorHandle, Mode, Policy,
    Progress, Replaying, RunError, ServerTls,
};
pub use recheck::{
    NotAnswered, Recheck, RecheckDone, RecheckPlace, RecheckReceiver, RecheckSender, Rechecked,
    SecondLook, rechecks,
};
pub use upstream::{
    HostPort, PathRewrite, PathRewriteError, Protocol, Target, TlsError, UpstreamUrl,
    UpstreamUrlError,
};
