//! The status of a mirror, and of a sink.

use parity_schemas::clients::Clients;
use parity_schemas::lately::{
    CandidateErrors, CandidateFailures, ClientFailures, ClientsNow, WaitedFor,
};
use parity_schemas::rollout::RolloutDocument;
use parity_schemas::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::{grouped, plural};

/// The status of a mirror.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a document: each says something else, and none depends on another"
)]
pub struct Status {
    /// The migration under which requests are recorded.
    pub migration: String,
    /// The version of the legacy; empty if none is given.
    pub legacy_version: String,
    /// The version of the candidate; empty if none is given.
    pub candidate_version: String,
    /// Hash of the rules in force.
    pub rules_hash: String,
    /// The name of the process in the record; empty of a mirror of an earlier program.
    #[serde(default)]
    pub instance: String,
    /// When the process began; `None` of a mirror of an earlier program.
    #[serde(default)]
    pub started: Option<Timestamp>,
    /// Clients since the process began, by outcome; outcomes without a count are absent.
    pub clients: Clients,
    /// When a client last got no whole answer although it had not gone away; `None` if that never happened.
    pub last_failed_client: Option<Timestamp>,
    /// What clients of this process got in the last seconds; `None` of a mirror of an earlier program.
    #[serde(default)]
    pub clients_now: Option<ClientsNow>,
    /// Requests are accepted; `false` while draining.
    pub ready: bool,
    /// Whether requests are shadowed.
    pub shadowing: bool,
    /// Whether the last request to the legacy was answered; `true` before the first, see `legacy_asked`. Several clients in a row that gave up
    /// before anything of their answer had come mean that it does not answer.
    pub legacy_reachable: bool,
    /// Whether a request of a client was sent to the legacy since the process began, or since the configuration names this
    /// one; during a rollout also a shadow of one. Until then nobody knows whether it answers.
    #[serde(default = "asked")]
    pub legacy_asked: bool,
    /// When it was noticed that the legacy does not answer, or when the first of the clients in a row left that gave up on it; `None` if it
    /// answered the last request.
    #[serde(default)]
    pub legacy_failing_since: Option<Timestamp>,
    /// Whether the candidate is used; `false` while the breaker is open, `true` before the first request, see `candidate_asked`.
    pub candidate_reachable: bool,
    /// The same as `legacy_asked` of the candidate, by whatever was sent to it.
    #[serde(default = "asked")]
    pub candidate_asked: bool,
    /// When the first failure of the candidate since its last answer was noticed; `None` if it answered the last request.
    #[serde(default)]
    pub candidate_failing_since: Option<Timestamp>,
    /// The latest stretches of time in which the candidate gave this process no answer, the earliest first. None is older than
    /// the process; the record has the last ones, too.
    #[serde(default)]
    pub candidate_failures: Vec<CandidateFailures>,
    /// The latest in which it answered with server errors (5xx) where the legacy did not; as `candidate_failures`.
    #[serde(default)]
    pub candidate_errors: Vec<CandidateErrors>,
    /// Shadow requests under way.
    pub shadows_in_flight: usize,
    /// Bytes held by shadows and queued exchanges.
    pub shadow_bytes: usize,
    /// The last error of the store; `None` while it works.
    pub store_error: Option<String>,
    /// When and how the store was last deleted, replaced or restored from a backup while the mirror ran. It stays when the store
    /// works again, because what the store held before may be lost.
    pub store_loss: Option<String>,
    /// Records that wait to be written.
    pub records_queued: u64,
    /// Records that never reached the store; their mismatches are counted all the same.
    pub records_dropped: u64,
    /// About the bytes of the records that wait on disk for a Kafka broker.
    pub spool_bytes: u64,
    /// The recording of live requests; `None` if there is none.
    pub recording: Option<RecordingStatus>,
    /// Which share of the clients the candidate serves; `None` without a rollout.
    #[serde(default)]
    pub rollout: Option<RolloutDocument>,
    /// What this process cannot do because it has few file descriptors; `None` if it has enough.
    pub descriptors_low: Option<String>,
    /// Why the last reload of the configuration was refused; `None` if it succeeded.
    pub config_error: Option<String>,
}

/// A mirror that does not say so is of an earlier program, which counted a service that was not asked as one that answers.
const fn asked() -> bool {
    true
}

/// How a service stands, by what the mirror sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing was sent to it, so nobody knows.
    NotAsked,
    /// It answered the last request.
    Answers,
    /// It did, and is asked nothing now, so nobody knows any more.
    NotAskedNow,
    /// It is still asked, and failed on the last requests, since then.
    Fails(Timestamp),
    /// It is taken to be down; since when, if the mirror says so.
    Down(Option<Timestamp>),
}

impl Standing {
    fn of(asked: bool, reachable: bool, failing_since: Option<Timestamp>) -> Self {
        match (asked, reachable, failing_since) {
            (_, false, since) => Self::Down(since),
            (false, true, _) => Self::NotAsked,
            (true, true, Some(since)) => Self::Fails(since),
            (true, true, None) => Self::Answers,
        }
    }
}

impl Status {
    /// How many requests the candidate is asked now, in words.
    pub(crate) fn in_flight(&self) -> String {
        let shadows = self.shadows_in_flight as u64;
        format!("{} in flight", plural(shadows, "shadow", "shadows"))
    }

    /// How the legacy stands.
    pub(crate) fn legacy(&self) -> Standing {
        let since = self.legacy_failing_since;
        Standing::of(self.legacy_asked, self.legacy_reachable, since)
    }

    /// What the clients of a legacy that does not answer get: whatever came last to some of them.
    pub(crate) fn get_of_legacy(&self) -> &'static str {
        let now = self.clients_now.as_ref();
        let failed = now.and_then(|now| Some(now.failures?.to));
        let left = now.and_then(|now| Some(now.gave_up_on_legacy.last?.to));
        if left > failed {
            "clients leave without an answer"
        } else {
            "clients get errors"
        }
    }

    /// The services on which clients give up now: more than a few.
    pub(crate) fn given_up(&self) -> Vec<Leaving> {
        let Some(now) = &self.clients_now else {
            return Vec::new();
        };
        let each = now.given_up().map(|(service, gone)| Leaving {
            service: service.as_str(),
            left: gone.now,
            // Both are gathered one after the other.
            ended: now.ended().max(gone.now),
            stretch: gone.last,
        });
        each.collect()
    }

    /// Whether clients give up on this service now.
    pub(crate) fn is_given_up(&self, service: WaitedFor) -> bool {
        let now = self.clients_now.as_ref();
        now.is_some_and(|now| now.given_up().any(|(one, _)| one == service))
    }

    /// How the candidate stands.
    pub(crate) fn candidate(&self) -> Standing {
        let since = self.candidate_failing_since;
        let standing = Standing::of(self.candidate_asked, self.candidate_reachable, since);
        let serves = self.rollout.as_ref();
        let is_asked = self.shadowing || serves.is_some_and(|rollout| rollout.percent > 0.0);
        match standing {
            Standing::Answers if !is_asked => Standing::NotAskedNow,
            standing => standing,
        }
    }
}

/// Clients that give up on a service now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    /// `legacy` or `candidate`.
    pub(crate) service: &'static str,
    /// How many in the last seconds.
    pub(crate) left: u64,
    /// Of so many whose request ended in them.
    pub(crate) ended: u64,
    /// In how long a time, and how many in it.
    pub(crate) stretch: Option<ClientFailures>,
}

impl Leaving {
    /// How many, for which service they waited, and since when; `moment` writes a time, and `span` are the seconds.
    pub(crate) fn told(&self, span: &str, moment: impl Fn(&Timestamp) -> String) -> String {
        let since = self.stretch.map(|stretch| {
            format!(
                ", {} since {}",
                grouped(stretch.failed),
                moment(&stretch.from)
            )
        });
        format!(
            "{} of {} {span}, when they had waited for the {} for half a second or more{}",
            grouped(self.left),
            plural(self.ended, "request", "requests"),
            self.service,
            since.unwrap_or_default()
        )
    }
}

/// The recording of live requests.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecordingStatus {
    /// The file that it is written to.
    pub file: String,
    /// Requests that are in its files.
    pub written: u64,
    /// Requests that should be there, and are not.
    pub dropped: u64,
    /// Why it cannot be written to now; `None` while it can.
    pub error: Option<String>,
}

/// The status of a sink.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SinkStatus {
    /// Whether it is a member of its consumer group, and its last write succeeded.
    pub ready: bool,
    /// Partitions that are assigned to it now.
    pub partitions: usize,
    /// Records in its partitions that it has not committed.
    pub lag: u64,
    /// Bytes of records that are read but not yet written.
    pub buffered_bytes: u64,
    /// Records that went to the dead-letter topic.
    pub dead_letters: u64,
    /// The error since the last successful write; `None` while writes succeed.
    pub error: Option<String>,
}
