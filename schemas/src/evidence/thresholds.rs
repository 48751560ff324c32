//! What a decision demands. It is stored with the decision, so that it can be checked later what was asked.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::latency::LatencyLimit;
use crate::noise::NoiseUse;
use crate::verdict::Reason;
use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What makes a bound.
    Bound as "kind of bound" {
        /// It holds for any number of decisions together.
        AnyTime = "any_time" => "holds however often the gate is asked",
        /// Exact for a single decision. If the gate is asked again, it is wrong more often than the confidence says.
        OneLook = "one_look" => "exact, and right only if the gate is asked once",
    }
}

/// What is allowed, and how sure we must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thresholds {
    /// Highest allowed share of differing requests, 0..=1.
    pub max_mismatch_rate: f64,
    /// Of each one-sided bound, 0.5..1.
    pub confidence: f64,
    /// What the bounds are. Absent in decisions of older programs, which were exact for one look.
    #[serde(default = "one_look")]
    pub bound: Bound,
    /// Fewer compared requests than this are undecided.
    pub min_requests: u64,
    /// Highest allowed share of our own drops, 0..=1.
    pub max_dropped: f64,
    /// Highest allowed share of pairs that cannot be compared because of the client, the legacy or both services, 0..=1: of
    /// all requests, and of each required route. Absent in decisions of older programs, which had no such cap.
    #[serde(default = "no_cap")]
    pub max_uncomparable: f64,
    /// Highest allowed share of server errors (5xx) among the legacy's answers on the routes that were compared, 0..=1: in
    /// all, and on each required route. Absent in decisions of older programs, which had no such cap.
    #[serde(default = "no_cap")]
    pub max_errors: f64,
    /// Routes that must be proven one by one.
    pub required_routes: Vec<String>,
    /// Whether every route that was received must be proven on its own, except those that are not served.
    #[serde(default)]
    pub require_all_routes: bool,
    /// Operations of an API description, as METHOD /template. Each must be proven on its own, on all routes that it covers
    /// together.
    #[serde(default)]
    pub operations: Vec<String>,
    /// Evidence of a shorter time than this is undecided, in milliseconds.
    #[serde(default)]
    pub min_duration_ms: u64,
    /// Highest allowed share of received requests that were not compared for this reason, 0..=1: of all requests, and of each
    /// required route.
    #[serde(default)]
    pub max_not_compared: BTreeMap<Reason, f64>,
    /// A pass that rests on fewer distinct targets (method, path and query) than this is undecided.
    #[serde(default)]
    pub min_distinct: u64,
    /// A pass is undecided as long as rules leave less than this share of the fields of a compared route, or of those of its
    /// bodies, to compare exactly, 0..=1. Absent in decisions of older programs, which did not demand any.
    #[serde(default)]
    pub min_fields: f64,
    /// Highest allowed share of requests at which the candidate fails and the legacy does not, 0..=1: of all requests, and of
    /// each required route. `None` is no cap besides that of differences.
    #[serde(default)]
    pub max_candidate_errors: Option<f64>,
    /// How slow the candidate may be: for all requests, and on each required route.
    #[serde(default)]
    pub max_latency: Vec<LatencyLimit>,
    /// Whether what is proven to be noise counts. Absent in decisions of older programs, which counted it.
    #[serde(default = "no_noise")]
    pub noise: NoiseUse,
    /// Highest allowed share of transient mismatches among the compared requests, 0..=1: of all, and of each required route.
    /// Absent in decisions of older programs, which had no such cap.
    #[serde(default = "no_cap")]
    pub max_transient: f64,
    /// Highest share of the compared requests that may hide in what is taken for noise, 0..=1: of all, and of each route.
    /// Absent in decisions of older programs, which had no such cap.
    #[serde(default = "no_cap")]
    pub max_hidden: f64,
    /// Whether a difference that counts must be known. Absent in decisions of older programs.
    #[serde(default)]
    pub nothing_new: bool,
}

const fn one_look() -> Bound {
    Bound::OneLook
}

const fn no_noise() -> NoiseUse {
    NoiseUse::Off
}

const fn no_cap() -> f64 {
    1.0
}

impl Thresholds {
    /// What the confidence can be: nothing is certain, and below one half a bound bounds nothing.
    pub const CONFIDENCE: Range<f64> = 0.5..1.0;
}

/// What the command, the API, the page and the report have in common: each of them begins with these.
impl Default for Thresholds {
    fn default() -> Self {
        Self {
            max_mismatch_rate: 0.001,
            confidence: 0.95,
            // A rollout asks again and again, and anybody may load a page again.
            bound: Bound::AnyTime,
            min_requests: 0,
            max_dropped: 0.05,
            // As for our own drops: what cannot be compared proves nothing, whoever caused it.
            max_uncomparable: 0.05,
            // More errors than answers: that both services fail alike does not show that they answer alike.
            max_errors: 0.5,
            required_routes: Vec::new(),
            require_all_routes: false,
            operations: Vec::new(),
            min_duration_ms: 0,
            max_not_compared: BTreeMap::new(),
            min_distinct: 0,
            // Which fields matter is up to those who write the rules.
            min_fields: 0.0,
            max_candidate_errors: None,
            max_latency: Vec::new(),
            noise: NoiseUse::Use,
            // How often data changes is a property of the service, which nobody knows beforehand.
            max_transient: 1.0,
            // What a single group may hide.
            max_hidden: 0.01,
            nothing_new: false,
        }
    }
}
