//! What the admin port serves, and for which process. The program fills it in.

use std::sync::Arc;
use std::time::Duration;

use parity_schemas::audit::Audit;
use parity_schemas::known::KnownEntry;
use parity_schemas::rollout::RolloutDocument;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;
use parity_sink::StoreConfig;
use prometheus_client::registry::Registry;
use uuid::Uuid;

use super::access::Access;
use super::reruns::Reruns;
use crate::links::Links;
use crate::view::{SinkStatus, Status};

/// Brings the lines of changes to the record.
pub trait Auditor: Send + Sync {
    /// Keeps a line, of which the process fills in who it is. An error says why it is not in the record now.
    fn keep(&self, change: &mut Audit) -> Result<(), String>;
}

/// What the admin port may ask of a running mirror, and change in it.
pub trait MirrorAdmin: Send + Sync {
    /// Stops or starts shadowing; clients do not notice either.
    fn set_shadowing(&self, on: bool);
    /// How the mirror is doing now.
    fn status(&self) -> Status;
    /// Its rollout; `None` without one.
    fn rollout(&self) -> Option<Arc<dyn RolloutAdmin>>;
}

/// What the admin port may ask of a rollout, and change in it.
pub trait RolloutAdmin: Send + Sync {
    /// How it stands.
    fn document(&self) -> RolloutDocument;
    /// The candidate serves this percent of the clients from now on, 0 to 100. A step up needs the gate, so this may take as
    /// long as a decision.
    fn set(&self, wish: RolloutWish, who: &str) -> RolloutSet;
    /// All clients go back to the legacy, and stay there until somebody sets another percent.
    fn back(&self, who: &str) -> RolloutDone;
}

/// What somebody wants of a rollout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RolloutWish {
    /// Percent of the clients.
    pub percent: f64,
    /// Whether a step up is wanted although the candidate has not shown enough for it. The gate must pass all the same.
    pub insists: bool,
}

/// What was done to a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutDone {
    /// The percent before.
    pub from: f64,
    /// When, as the status of the rollout says it.
    pub at: Timestamp,
    /// What was not shown of the candidate where somebody insisted.
    pub lacked: Option<String>,
}

/// What came of setting a percent.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutSet {
    /// What was done; an error says why it is not.
    pub done: Result<RolloutDone, String>,
    /// The stored decision of the gate by which it was done or not, if it needed one.
    pub decision: Option<Uuid>,
    /// What was lost with a process that was killed, if the gate decided only on what came after it; in words.
    pub lost: Option<String>,
}

/// Which process the admin port belongs to.
#[derive(Clone)]
pub enum Process {
    /// `parity ui`, which only reads.
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

    /// A failing store does not make a mirror unready, because it still serves clients. It makes a sink unready, because
    /// writing is all that a sink does.
    pub(super) fn is_ready(&self) -> bool {
        match self {
            Self::Reader => true,
            Self::Mirror(mirror) => mirror.status().ready,
            Self::Sink(status) => status().ready,
        }
    }
}

/// What the configuration of a process says of differences that somebody has decided on, as it was read last.
#[derive(Clone, Debug, Default)]
pub struct Register {
    /// The known differences.
    pub known: Arc<[KnownEntry]>,
    /// Rules that have a date. None of a mirror, which counts under other rules when one expires.
    pub dated: Arc<[RuleText]>,
    /// When it was read.
    pub read: Timestamp,
    /// Why it was not read again although it changed since: what was read before stays. A sentence without a full stop, which is not
    /// made visible.
    pub refused: Option<String>,
}

/// What the admin port serves.
pub struct Site {
    /// Where the record is read from.
    pub store: StoreConfig,
    /// The migration that is shown by default.
    pub migration: String,
    /// Whose admin port it is.
    pub process: Process,
    /// What /metrics shows.
    pub registry: Registry,
    /// Who may look and who may change something; everybody, if it is on loopback.
    pub access: Access,
    /// Keeps who changed what.
    pub auditor: Arc<dyn Auditor>,
    /// Runs recorded requests again; `None` where the services are not known.
    pub reruns: Option<Reruns>,
    /// What the configuration says of differences, as it is now. Pages ask it on the threads that serve all of them, so it must not wait for a file.
    pub register: Arc<dyn Fn() -> Register + Send + Sync>,
    /// How long a mirror that leaves serving to another one of its name may write beside it, by the settings of the start.
    pub handover: Duration,
    /// Where pages lead to elsewhere.
    pub links: Links,
}

impl Site {
    /// Whether a migration is that of a process which counts or stores. That is no slip although nothing of it is recorded: nothing
    /// came yet.
    pub(super) fn is_own(&self, migration: &str) -> bool {
        !matches!(self.process, Process::Reader) && migration == self.migration
    }
}
