//! How the rollout of a mirror stands: which share of the clients the candidate serves, why it is not more, and what took it
//! back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Outcome;
use crate::time::{Timestamp, elapsed};

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
    /// The percent with which a person begins again after the fall back; `None` without one. It is the lowest step, and not what had been
    /// reached.
    #[serde(default)]
    pub again: Option<f64>,
    /// The last percent that a person set; `None` if nobody did.
    pub set: Option<RolloutChange>,
    /// What the gate said last; `None` before it was asked.
    pub gate: Option<RolloutGate>,
    /// Why the state of the rollout is not on disk as it is here; `None` if it is. The percent does not rise meanwhile.
    pub state_error: Option<String>,
    /// Seconds that `legacy` and `candidate` are of, at the most.
    pub window_seconds: f64,
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

/// Routes that are named in a sentence.
const MOST_NAMED: usize = 3;

impl RolloutDocument {
    /// How it stands, in one line for people: what only changes when it does.
    pub fn told(&self) -> String {
        let Self {
            percent, target, ..
        } = self;
        match (&self.fell_back, &self.waits) {
            (Some(fall), _) => {
                let again = self.again.map_or_else(String::new, |again| {
                    let wanted = self.blocked.map_or_else(String::new, |wanted| {
                        format!("{wanted} % is wanted by the configuration; ")
                    });
                    format!("; {wanted}`parity rollout set {again}` begins again")
                });
                format!(
                    "fell back from {} % to 0 % at {} by {}: {}{again}",
                    fall.from, fall.at, fall.who, fall.reason
                )
            }
            (None, Some(why)) => {
                format!("{percent} % of clients served by the candidate; {target} % waits: {why}")
            }
            (None, None) => format!("{percent} % of clients served by the candidate"),
        }
    }

    /// The same with what it does not say: which share of the requests that is, and what stays at the legacy.
    pub fn told_whole(&self) -> String {
        let mut told = vec![self.told()];
        told.extend(self.share_told());
        told.extend(self.lost_told());
        told.extend(self.errors_alone_told());
        told.extend(self.kept_told(MOST_NAMED));
        told.join("; ")
    }

    /// Which share of all requests the candidate served; `None` before there are any, or while it serves nobody.
    pub fn share_told(&self) -> Option<String> {
        let share = self.requests_served as f64 / self.requests.max(1) as f64 * 100.0;
        (self.percent > 0.0 && self.requests > 0).then(|| {
            format!(
                "{share:.1} % of requests ({} of {}) since then",
                self.requests_served, self.requests
            )
        })
    }

    /// That the gate decides on a part of the record because a process was killed; `None` if it does not.
    pub fn lost_told(&self) -> Option<String> {
        let lost = self.gate.as_ref()?.lost.as_ref()?;
        Some(format!("the gate decides {lost}"))
    }

    /// A sentence for each route that stays at the legacy, the first of them.
    pub fn kept_told(&self, most: usize) -> Vec<String> {
        let mut told: Vec<String> = self.kept.iter().take(most).map(RolloutKept::told).collect();
        let more = self.kept.len().saturating_sub(most) as u64 + self.kept_more;
        if more > 0 {
            told.push(format!("{more} more routes stay at the legacy"));
        }
        told
    }

    /// That the candidate was found to be no worse by errors alone; `None` if its times were compared, or nothing was found yet.
    pub fn errors_alone_told(&self) -> Option<String> {
        let RolloutShown {
            good,
            by_errors_alone,
            ..
        } = &self.shown;
        (good.is_some() && *by_errors_alone).then(|| {
            "no worse than the legacy by errors alone: answers are not timed of both services, so whether it is slower is not known".to_owned()
        })
    }

    /// How far the candidate is judged at this percent.
    pub fn judged_told(&self) -> String {
        let RolloutShown {
            served,
            needed,
            unjudged,
            good,
            by_errors_alone,
        } = &self.shown;
        let alone = if *by_errors_alone {
            " by errors alone"
        } else {
            ""
        };
        let of = if self.percent > 0.0 {
            "requests that it served"
        } else {
            "requests that it got as a shadow"
        };
        match good {
            Some(at) if self.percent > 0.0 => format!(
                "no worse than the legacy{alone} at {} %: judged at {at}, {served} {of}",
                self.percent
            ),
            Some(at) => format!("no worse than the legacy{alone} as its shadow: judged at {at}"),
            None if unjudged < needed => format!("not judged: {unjudged} of {needed} {of}"),
            None => format!(
                "not judged: of {unjudged} {of}, too few answers of both services are timed"
            ),
        }
    }
}

impl RolloutKept {
    /// In words.
    pub fn told(&self) -> String {
        let Self {
            route, requests, ..
        } = self;
        match self.compared {
            0 => format!("{route}: never served nor compared ({requests} requests)"),
            compared => format!("{route}: never served ({requests} requests, {compared} compared)"),
        }
    }
}

impl RolloutGate {
    /// Whether it was a pass.
    pub fn is_pass(&self) -> bool {
        self.outcome == Outcome::Pass
    }

    /// In words.
    pub fn told(&self) -> String {
        let reason = self.reason.as_ref();
        let reason = reason.map_or_else(String::new, |why| format!(": {why}"));
        let lost = self.lost.as_ref();
        let lost = lost.map_or_else(String::new, |lost| format!(", {lost}"));
        format!("{} at {}{lost}{reason}", self.outcome, self.at)
    }
}

impl RolloutSide {
    /// In words.
    pub fn told(&self) -> String {
        let time = self.p95_us.map_or_else(String::new, |micros| {
            format!(", 95 % within {}", elapsed(micros))
        });
        format!("{} requests, {} errors{time}", self.requests, self.errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> RolloutDocument {
        RolloutDocument {
            percent: 100.0,
            target: 100.0,
            requests: 200,
            requests_served: 100,
            kept: vec![RolloutKept {
                route: "POST /orders".to_owned(),
                requests: 100,
                compared: 0,
            }],
            ..RolloutDocument::default()
        }
    }

    #[test]
    fn all_clients_are_not_all_requests() {
        let mut document = full();
        assert_eq!(
            document.told_whole(),
            "100 % of clients served by the candidate; 50.0 % of requests (100 of 200) since then; \
             POST /orders: never served nor compared (100 requests)"
        );
        document.kept[0].compared = 7;
        document.kept_more = 2;
        assert_eq!(
            document.kept_told(1),
            [
                "POST /orders: never served (100 requests, 7 compared)",
                "2 more routes stay at the legacy"
            ]
        );
    }

    #[test]
    fn a_fall_back_says_what_was_reached_and_begins_again_from_below() {
        let document = RolloutDocument {
            fell_back: Some(RolloutFall {
                at: Timestamp::from_micros(0),
                who: "parity".to_owned(),
                reason: "errors".to_owned(),
                from: 60.0,
            }),
            blocked: Some(100.0),
            again: Some(1.0),
            ..RolloutDocument::default()
        };
        let told = document.told();
        assert!(told.starts_with("fell back from 60 % to 0 % at "), "{told}");
        assert!(
            told.ends_with("`parity rollout set 1` begins again"),
            "{told}"
        );
        assert!(!told.contains("set 100"), "{told}");
    }

    #[test]
    fn who_served_too_little_is_not_judged() {
        let mut document = full();
        document.shown = RolloutShown {
            served: 58,
            needed: 100,
            unjudged: 58,
            good: None,
            by_errors_alone: false,
        };
        assert_eq!(
            document.judged_told(),
            "not judged: 58 of 100 requests that it served"
        );
        document.shown.good = Some(Timestamp::from_micros(0));
        assert!(
            document
                .judged_told()
                .contains("58 requests that it served")
        );
        assert_eq!(document.errors_alone_told(), None);
        document.shown.by_errors_alone = true;
        assert!(
            document
                .judged_told()
                .starts_with("no worse than the legacy by errors alone at 100 %"),
        );
        assert!(
            document
                .told_whole()
                .contains("so whether it is slower is not known")
        );
        document.shown.good = None;
        assert_eq!(document.errors_alone_told(), None, "nothing was found yet");
    }
}
