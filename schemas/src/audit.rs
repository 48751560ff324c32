//! Who changed what: a line for each change of a running process, for each that a process tried and did not make, and for each that
//! somebody asked for who may not.
//!
//! A mirror sends it with its other records, so it comes to every store in the same way. It is for people who ask afterwards;
//! no decision rests on it, and no change waits for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::rollout::moved::RolloutBegin;
use crate::time::Timestamp;
use crate::vocabulary::{UnknownWord, vocabulary};

/// Name and version of a page of changes.
pub const AUDIT_SCHEMA: &str = "parity.audit/v1";

vocabulary! {
    /// What was changed, or asked for.
    #[derive(Default)]
    AuditAction as "kind of change" {
        /// Shadowing was stopped.
        #[default]
        ShadowingOff = "shadowing_off" => "shadowing was stopped",
        /// Shadowing was started.
        ShadowingOn = "shadowing_on" => "shadowing was started",
        /// The configuration was read again.
        Reload = "reload" => "the configuration was read again",
        /// The register of known differences was changed, by a configuration that was read again. The detail names the entries.
        KnownChanged = "known_changed" => "the known differences were changed",
        /// A rule has expired, and the configuration holds without it.
        RuleExpired = "rule_expired" => "a rule has expired and no longer applies",
        /// A recorded request was sent to both services again.
        Rerun = "rerun" => "a recorded request was sent to both services again",
        /// A decision was made and stored because somebody asked for it.
        Decision = "decision" => "a decision was stored",
        /// The percent of the clients that the candidate serves was changed.
        RolloutSet = "rollout_set" => "the share that the candidate serves was changed",
        /// All clients went back to the legacy.
        RolloutBack = "rollout_back" => "all clients went back to the legacy",
        /// A process began, and shadows or not, whatever somebody had switched in the one before.
        Started = "started" => "the process began",
    }
}

vocabulary! {
    /// What came of it.
    #[derive(Default)]
    AuditOutcome as "outcome of a change" {
        /// It was done.
        #[default]
        Done = "done" => "it was done",
        /// It was not done, because something speaks against it.
        Refused = "refused" => "it was not done",
        /// It could not be done, or not wholly.
        Failed = "failed" => "it could not be done",
    }
}

vocabulary! {
    /// By which way it was asked for.
    #[derive(Default)]
    AuditSource as "source of a change" {
        /// By the admin port: a page, the API or a webhook.
        #[default]
        AdminPort = "admin_port" => "by the admin port",
        /// By a signal.
        Signal = "signal" => "by a signal",
        /// By a command of this program.
        Command = "command" => "by a command",
        /// By nobody outside: a time had come, or something that parity counted spoke for it.
        Clock = "clock" => "by parity itself",
    }
}

impl AuditAction {
    /// The same as what somebody wanted: what was refused, or failed, was not done.
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::ShadowingOff => "to stop shadowing",
            Self::ShadowingOn => "to start shadowing",
            Self::Reload => "to have the configuration read again",
            Self::KnownChanged => "to change the known differences",
            Self::RuleExpired => "to leave out a rule that has expired",
            Self::Rerun => "to send a recorded request to both services again",
            Self::Decision => "to have a decision stored",
            Self::RolloutSet => "to change the share that the candidate serves",
            Self::RolloutBack => "to take all clients back to the legacy",
            Self::Started => "to begin",
        }
    }
}

/// What a process says of itself when it begins: the detail of a [`AuditAction::Started`], before what it says of a rollout.
pub const fn begins(shadowing: bool) -> &'static str {
    if shadowing {
        "shadowing is on"
    } else {
        "shadowing is off"
    }
}

/// What stands between the parts of that detail.
const AND: &str = "; ";

/// The whole detail of a process that begins, with how its rollout stands, if it has one.
pub fn began(shadowing: bool, rollout: Option<&RolloutBegin>) -> String {
    let rollout = rollout.map(|rollout| format!("{AND}{rollout}"));
    format!("{}{}", begins(shadowing), rollout.unwrap_or_default())
}

/// Whether a process shadowed when it began, by that detail; `None` if it does not say.
pub fn shadows(detail: &str) -> Option<bool> {
    let told = detail.split(AND).next()?;
    [true, false].into_iter().find(|on| told == begins(*on))
}

/// One change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Audit {
    /// Made with it.
    pub id: Uuid,
    /// Of which migration the process is.
    pub migration: String,
    /// When it was done.
    pub time: Timestamp,
    /// The process in which it was done.
    pub instance: String,
    /// What it was.
    pub action: AuditAction,
    /// What came of it.
    pub outcome: AuditOutcome,
    /// By which way it was asked for.
    pub source: AuditSource,
    /// Which token was shown: `change`, `look`, `wrong` for one that is neither, or nothing where none is demanded or none was shown.
    pub token: String,
    /// The name that was given with the token, or of who ran the command, which proves nothing; empty without one.
    pub user: String,
    /// From where it was asked for: an address and port; empty unless by the admin port.
    pub address: String,
    /// The id of what it was done to: a mismatch, a decision, a rule; empty if that is the process. Of a rollout, the decision that
    /// it was changed by, if the record has it.
    pub subject: String,
    /// The rest, in words.
    pub detail: String,
}

/// What stands for a token that was shown and is none of the port.
pub const WRONG_TOKEN: &str = "wrong";

/// Longest detail in characters: what a person reads, and little beside the other records.
pub const MAX_DETAIL: usize = 1_000;

/// Gives the columns of `audit` to a macro, see [`crate::table`].
#[macro_export]
macro_rules! audit_columns {
    ($with:ident $($given:tt)*) => {
        $with! {
            [$($given)*]
            Key id: Id = id;
            Fixed migration: Label = migration;
            Fixed time: Time = time;
            Fixed instance: Label = instance;
            Fixed action: Word = action;
            Fixed outcome: Word = outcome;
            Fixed source: Word = source;
            Fixed token: Label = token;
            Fixed user: Text = user;
            Fixed address: Text = address;
            Fixed subject: Text = subject;
            Fixed detail: Text = detail;
        }
    };
}

/// Changes, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// [`AUDIT_SCHEMA`].
    pub schema: String,
    /// Those of this page.
    pub changes: Vec<Audit>,
    /// What `after` takes to get the next page; `None` on the last one.
    pub next: Option<String>,
}
