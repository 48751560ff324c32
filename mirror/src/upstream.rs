//! Asks one service: where it is, connections to it, sending a request, and what its failures are called.
//!
//! It knows neither clients nor comparisons: who asks decides why, and what an answer or a failure means. The body of a
//! request is the asker's own type ([`RequestBody`]), that of an answer is [`AnswerBody`].
//!
//! Two kinds of askers are told apart, because the client must never pay for the other: whoever waits on behalf of a
//! client gets every connection and byte that there is to get; shadows work in slices, and what they are sent is
//! limited.

mod account;
mod body;
mod connect;
mod connections;
mod executor;
mod fault;
mod link;
mod lookups;
mod metered;
mod own_connections;
mod service;
mod target;
mod tls;
mod url;

pub use target::{PathRewrite, PathRewriteError, Protocol, Target};
pub use tls::TlsError;
pub use url::{HostPort, UpstreamUrl, UpstreamUrlError};

pub(crate) use body::{AnswerBody, RequestBody};
pub(crate) use connect::{ConnectError, Connector, tune};
pub(crate) use connections::WorkerConnections;
pub(crate) use fault::ServiceFault;
pub(crate) use link::Link;
pub(crate) use link::http1::Connected;
pub(crate) use lookups::Lookups;
pub(crate) use own_connections::OwnConnections;
pub(crate) use service::{SendError, Sent, Service};
pub(crate) use tls::client_config;
