//! How the rollout of a mirror stands: which share of the clients the candidate serves, why it is not more, and what took it
//! back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Percent that the configuration, its schedule or a person wants. It is above `percent` while the gate does not allow it.
    pub target: f64,
    /// Why `percent` is below `target`; `None` if it is not.
    pub waits: Option<String>,
    /// The next step of the schedule; `None` without one.
    pub next: Option<RolloutStep>,
    /// Why it went back to the legacy, if it did; then it stays at 0 until a person sets another percent.
    pub fell_back: Option<RolloutFall>,
    /// The percent that the configuration wants and that the fall back keeps back; `None` if there is none.
    #[serde(default)]
    pub blocked: Option<f64>,
    /// The last percent that a person set; `None` if nobody did.
    pub set: Option<RolloutChange>,
    /// What the gate said last; `None` before it was asked.
    pub gate: Option<String>,
    /// Why the state of the rollout is not on disk as it is here; `None` if it is. The percent does not rise meanwhile.
    pub state_error: Option<String>,
    /// Seconds that `legacy` and `candidate` are of, at the most.
    pub window_seconds: f64,
    /// The legacy in the last window, for clients and as the shadow of the candidate: of the requests that the candidate may
    /// serve.
    pub legacy: RolloutSide,
    /// The candidate in the last window, for clients.
    pub candidate: RolloutSide,
    /// Requests that the legacy answered since the process began because the candidate could not.
    pub repaired: u64,
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

impl RolloutDocument {
    /// In one line, for people.
    pub fn told(&self) -> String {
        let Self {
            percent, target, ..
        } = self;
        match (&self.fell_back, &self.waits) {
            (Some(fall), _) => {
                let kept_back = self.blocked.map_or_else(String::new, |wanted| {
                    format!("; {wanted} % is wanted and waits for `parity rollout set {wanted}`")
                });
                format!(
                    "fell back from {} % to 0 % at {} by {}: {}{kept_back}",
                    fall.from, fall.at, fall.who, fall.reason
                )
            }
            (None, Some(why)) => {
                format!("{percent} % served by the candidate; {target} % waits: {why}")
            }
            (None, None) => format!("{percent} % served by the candidate"),
        }
    }
}
