//! Fakes and waiting. Everything blocks on a condition with a generous limit; nothing sleeps.

pub(crate) mod authority;
pub(crate) mod client;
pub(crate) mod h2;
pub(crate) mod h2_client;
pub(crate) mod ledger;
pub(crate) mod rig;
pub(crate) mod service;
pub(crate) mod sockets;
pub(crate) mod wire;

use std::time::Duration;

pub(crate) use client::Client;
pub(crate) use rig::{Rig, Running};
pub(crate) use service::{Next, Service};

/// Longer than anything here takes; reaching it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A head and a body with its `Content-Length`.
pub(crate) fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
