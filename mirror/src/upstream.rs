//! Sends requests to one service: its address, connections to it, and the classification of its failures.
//!
//! It knows neither clients nor comparisons: the caller decides what an answer or a failure means. The caller chooses
//! the type of request bodies ([`RequestBody`]); the body of an answer is an [`AnswerBody`].
//!
//! There are two kinds of callers. Requests that a client waits for have no limits here. Shadows work in slices, and
//! how much a service may send them is limited, so that they cost clients nothing.

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
pub(crate) use connect::{Connector, tune};
pub(crate) use connections::WorkerConnections;
pub(crate) use fault::ServiceFault;
pub(crate) use link::Link;
pub(crate) use link::http1::Connected;
pub(crate) use lookups::Lookups;
pub(crate) use own_connections::OwnConnections;
pub(crate) use service::{NoAnswer, SendError, Sent, Service, Shadows};
pub(crate) use tls::client_config;
