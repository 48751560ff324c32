//! What the admin port serves, and for which process: handles that the program gives.

use std::sync::Arc;

use parity_sink::StoreConfig;
use prometheus_client::registry::Registry;
use serde::Serialize;

use crate::view::Status;

/// What the admin port may ask of a running mirror, and change in it.
pub trait MirrorAdmin: Send + Sync {
    /// Stops or starts shadowing; clients do not notice either.
    fn set_shadowing(&self, on: bool);
    /// How the mirror is doing now.
    fn status(&self) -> Status;
}

/// What a sink says of itself.
#[derive(Clone, Debug, Serialize)]
pub struct SinkStatus {
    /// It is a member of its group, and the last thing it wrote was taken.
    pub ready: bool,
    /// Partitions that are its own now.
    pub partitions: usize,
    /// Records in its partitions that it has not committed.
    pub lag: u64,
    /// Bytes of records in hand.
    pub buffered_bytes: u64,
    /// Records that went to the dead-letter topic.
    pub dead_letters: u64,
    /// What is wrong since the last good write; `None` while it works.
    pub error: Option<String>,
}

/// Which process the admin port belongs to.
#[derive(Clone)]
pub enum Process {
    /// `parity ui`: it reads, and nothing else.
    Reader,
    /// `parity mirror`.
    Mirror(Arc<dyn MirrorAdmin>),
    /// `parity sink`.
    Sink(Arc<dyn Fn() -> SinkStatus + Send + Sync>),
}

impl Process {
    pub(super) fn mirror(&self) -> Option<&Arc<dyn MirrorAdmin>> {
        match self {
            Self::Mirror(mirror) => Some(mirror),
            Self::Reader | Self::Sink(_) => None,
        }
    }

    pub(super) fn mirror_status(&self) -> Option<Status> {
        self.mirror().map(|mirror| mirror.status())
    }

    /// A store that fails does not make a proxy unready: its clients are served. A sink does nothing else.
    pub(super) fn is_ready(&self) -> bool {
        match self {
            Self::Reader => true,
            Self::Mirror(mirror) => mirror.status().ready,
            Self::Sink(status) => status().ready,
        }
    }
}

/// What the admin port serves.
pub struct Site {
    /// Where the record is read from.
    pub store: StoreConfig,
    /// Which effort.
    pub migration: String,
    /// Whose admin port it is.
    pub process: Process,
    /// What /metrics shows.
    pub registry: Registry,
    /// What callers must present; `None` only on loopback.
    pub token: Option<String>,
}
