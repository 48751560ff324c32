//! How the rollout of a mirror stands: which share of the clients the candidate serves, why it is not more, and what took it
//! back. [`moved`] is what lines of the audit record say of it, which is all that a process without the mirror knows.

pub mod moved;
mod told;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Outcome;
use crate::time::Timestamp;

/// Name and version of the document.
pub const ROLLOUT_SCHEMA: &str = "parity.rollout/v1";

/// How the rollout of one mirror stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutDocument {
    /// [`ROLLOUT_SCHEMA`].
    pub schema: String,
    /// Percent of the clients that the candidate serves now, 0 to 100.
    pub percent: f64,
    /// Since when that percent is in force; `None` if nobody knows, as after an update of the program.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Percent that the configuration, its schedule or a person wants. It is above `percent` while the gate does not allow it, and 0 after
    /// a fall back: what is kept back then is `blocked`.
    pub target: f64,
    /// Why `percent` is below `target`; `None` if it is not.
    pub waits: Option<String>,
    /// The next step of the schedule; `None` without one.
    pub next: Option<RolloutStep>,
    /// Why it went back to the legacy, if it did; then it stays at 0 until a person sets another percent.
    pub fell_back: Option<RolloutFall>,
    /// The percent that the configuration wants, or a person set, and that the fall back keeps back; `None` if there is none.
    #[serde(default)]
    pub blocked: Option<f64>,
    /// The percent with which a person begins again after the fall back; `None` without one. It is the lowest step, and not what had been
    /// reached.
    #[serde(default)]
    pub again: Option<f64>,
    /// The last percent that a person set; `None` if nobody did.
    pub set: Option<RolloutChange>,
    /// What the gate said last; `None` before it was asked. After a fall back it is not asked, so one whose `at` is before that of `fell_back` is
    /// of the time before.
    pub gate: Option<RolloutGate>,
    /// The rate of differing requests that the gate of the rollout allows (`rollout.max_mismatch_rate`), 0..=1; `None` of an earlier program.
    #[serde(default)]
    pub max_mismatch_rate: Option<f64>,
    /// Why the state of the rollout is not on disk as it is here; `None` if it is. The percent does not rise meanwhile.
    pub state_error: Option<String>,
    /// Seconds that `legacy`, `candidate` and `shadow` are of, at the most (`rollout.window`).
    pub window_seconds: f64,
    /// Since when they count: with each other percent they begin anew. `None` before anything was looked at, and of an earlier program.
    #[serde(default)]
    pub window_since: Option<Timestamp>,
    /// The legacy in the last window, for clients and as the shadow of the candidate: of the requests that the candidate may
    /// serve.
    pub legacy: RolloutSide,
    /// The candidate in the last window, for clients.
    pub candidate: RolloutSide,
    /// The candidate in the last window, as the shadow of the legacy: of the requests that it may serve.
    #[serde(default)]
    pub shadow: RolloutSide,
    /// Requests that the legacy answered since the process began because the candidate could not.
    pub repaired: u64,
    /// What the candidate has shown at this percent: a step up needs it.
    #[serde(default)]
    pub shown: RolloutShown,
    /// How many clients can be told apart by `rollout.by`, as far as it matters: 10 are ten or more.
    #[serde(default)]
    pub clients: u64,
    /// What `rollout.by` is.
    #[serde(default)]
    pub by: String,
    /// All requests since this percent is in force that have ended for their clients, whichever service may serve them.
    #[serde(default)]
    pub requests: u64,
    /// Those of `requests` that the candidate served.
    #[serde(default)]
    pub requests_served: u64,
    /// Routes whose requests all stay at the legacy, of those that this process has seen: the most requested first, 20 at the most.
    #[serde(default)]
    pub kept: Vec<RolloutKept>,
    /// How many such routes are not listed.
    #[serde(default)]
    pub kept_more: u64,
}

/// What the gate said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutGate {
    /// The answer.
    pub outcome: Outcome,
    /// When.
    pub at: Timestamp,
    /// Why, in words; `None` for a pass.
    pub reason: Option<String>,
    /// What was lost with a process that was killed, and since when the gate decided because of that, in words; `None` if it decided on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// What the candidate has shown since a percent is in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutShown {
    /// Requests that it served for clients.
    pub served: u64,
    /// So many are judged together (`rollout.min_requests`).
    pub needed: u64,
    /// Requests since it was judged last; at 0 % those that it got as a shadow.
    pub unjudged: u64,
    /// When it was last judged, and did no worse than the legacy; `None` before that.
    pub good: Option<Timestamp>,
    /// Whether `good` rests on errors alone: of the legacy or of the candidate no answer is timed (streams, nothing shadowed), so whether the candidate
    /// is slower is not known.
    #[serde(default)]
    pub by_errors_alone: bool,
}

/// A route whose requests all stay at the legacy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutKept {
    /// Its name.
    pub route: String,
    /// Its requests since the process began.
    pub requests: u64,
    /// Those that the candidate got as a shadow and that were compared, or that it failed to answer.
    pub compared: u64,
}

/// A step of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutStep {
    /// Its percent.
    pub percent: f64,
    /// When it falls due.
    pub at: Timestamp,
}

/// That it went back to the legacy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutFall {
    /// When.
    pub at: Timestamp,
    /// Who did it: `parity`, or the name or the address of a person.
    pub who: String,
    /// Why, in words.
    pub reason: String,
    /// The percent before.
    pub from: f64,
}

/// A percent that a person set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutChange {
    /// The percent.
    pub percent: f64,
    /// When.
    pub at: Timestamp,
    /// The name or the address of the person.
    pub who: String,
    /// What was not shown of the candidate, and the person insisted on the step all the same; `None` if all was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insisted: Option<String>,
}

/// What one service did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutSide {
    /// Requests.
    pub requests: u64,
    /// Those that it did not answer whole, or answered 5xx.
    pub errors: u64,
    /// Time within which 95 % of the whole answers came, in microseconds; `None` without any.
    pub p95_us: Option<u64>,
}

/// How the rollout of one process stood, by the last line that the record has of it: what is known where the mirror is not asked. What waits,
/// how both services do, and what comes next only the mirror knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutRecorded {
    /// Which process.
    pub instance: String,
    /// Percent of the clients that the candidate serves, by the last line.
    pub percent: f64,
    /// When it became that, as far as the lines say it.
    pub since: Timestamp,
    /// Who made it that: `parity`, or the name or the address of a person; empty where it was so when the process began.
    pub who: String,
    /// Why, in words; empty if nobody said.
    pub why: String,
    /// What took the clients back, unless somebody has set a percent since.
    pub fell_back: Option<RolloutFall>,
    /// When the last line was written.
    pub told: Timestamp,
    /// When the process was last heard of; `None` if the record does not say.
    pub heard: Option<Timestamp>,
    /// Whether it was heard of in the last seconds: otherwise nobody knows whether it serves.
    pub at_work: bool,
    /// When a process of this name began that said nothing of a rollout, behind the last line.
    pub began_without: Option<Timestamp>,
}
