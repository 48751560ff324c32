//! Documents that are answers to a question and nothing that is stored: a page of mismatches, and the settings that hold.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::evidence::{Decision, Outcome};
use crate::known::{KnownEntry, KnownState, NewGroup};
use crate::record::Mismatch;
use crate::time::Timestamp;
use crate::visible::visible_up_to;
use crate::vocabulary::{UnknownWord, vocabulary};

/// Name and version of a page of mismatches.
pub const MISMATCHES_SCHEMA: &str = "parity.mismatches/v1";
/// Name and version of the settings that hold.
pub const CONFIG_SCHEMA: &str = "parity.config/v1";

/// Name and version of the register of known differences.
pub const KNOWN_SCHEMA: &str = "parity.known/v1";

/// Name and version of the gate's answer in a few members.
pub const GATE_BRIEF_SCHEMA: &str = "parity.gate_brief/v1";

/// Why a request to the API is not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDocument {
    /// In one sentence: what was wrong, and what to do.
    pub error: String,
    /// In one word, for programs.
    pub code: ErrorCode,
}

vocabulary! {
    /// Why a request to the API is not answered, in one word.
    ErrorCode as "code of an error" {
        /// 400.
        BadRequest = "bad_request" => "a parameter, the address or the body is wrong",
        /// 401.
        TokenNeeded = "token_needed" => "the port needs a token",
        /// 401.
        TokenWrong = "token_wrong" => "the token that was shown is none of this port",
        /// 403.
        LookOnly = "look_only" => "the token may only look",
        /// 403.
        ForeignPage = "foreign_page" => "a page of another origin wants to change something",
        /// 403.
        NoForm = "no_form" => "a browser wants to change something without a form of this process",
        /// 404.
        NotFound = "not_found" => "there is no such thing",
        /// 405.
        MethodNotAllowed = "method_not_allowed" => "the address is asked by another method",
        /// 409.
        Conflict = "conflict" => "it is not done unless somebody says that it shall be",
        /// 421.
        WrongHost = "wrong_host" => "the Host is not a name of this machine",
        /// 500.
        Internal = "internal" => "a bug",
        /// 503.
        Unavailable = "unavailable" => "it cannot be answered now",
    }
}

/// The gate's answer in a few members, for a rollout controller, which keeps what it measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateBriefDocument {
    /// [`GATE_BRIEF_SCHEMA`].
    pub schema: String,
    /// The answer.
    pub gate: GateBrief,
}

/// What a controller needs of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateBrief {
    /// The outcome of the decision.
    pub verdict: Outcome,
    /// Requests that were compared, of all routes together.
    pub compared: u64,
    /// Those of them that differ and count.
    pub differing: u64,
    /// differing / compared; null before anything was compared, because 0 would look like a pass.
    pub rate: Option<f64>,
    /// One-sided lower bound of the rate.
    pub lower: f64,
    /// One-sided upper bound; 1 where nothing was compared.
    pub upper: f64,
    /// The weightiest reason in one line of bounded length.
    pub reason: String,
    /// The candidate that it is about, as recorded; null when nothing was recorded.
    pub candidate_version: Option<String>,
    /// When it was decided.
    pub time: Timestamp,
    /// The id under which it is stored; null when it is not.
    pub decision: Option<Uuid>,
}

impl GateBrief {
    /// Characters of the reason: a controller writes it into an event or a status, which are small.
    pub const REASON: usize = 300;

    /// What is told of a decision.
    pub fn of(decision: &Decision) -> Self {
        let total = &decision.total;
        let reason = decision.reasons.first().unwrap_or(&decision.headline);
        let evidence = decision.evidence.as_ref();
        Self {
            verdict: decision.outcome,
            compared: total.compared,
            differing: total.differing,
            rate: (total.compared > 0).then_some(total.rate),
            lower: total.lower,
            upper: total.upper,
            reason: visible_up_to(reason, Self::REASON),
            candidate_version: evidence.map(|evidence| evidence.candidate_version.clone()),
            time: decision.time,
            decision: (decision.stored == Some(true)).then_some(decision.decision_id),
        }
    }
}

/// The register of known differences, and what is not in it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KnownList {
    /// [`KNOWN_SCHEMA`].
    pub schema: String,
    /// Of which record the counts are.
    pub migration: String,
    /// In the order of the configuration.
    pub entries: Vec<KnownListed>,
    /// Differences that count and that no entry means, the most frequent first. Groups that differ only in their shape are one.
    pub not_known: Vec<NewGroup>,
    /// Mismatches that do not count because all that differs in them is known.
    pub excused: u64,
    /// How many entries and differences that are not known there are in all.
    #[serde(default)]
    pub total: u64,
    /// What `after` takes to get the next page; `None` on the last one.
    #[serde(default)]
    pub next: Option<String>,
}

/// An entry of the register.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KnownListed {
    /// Its text; of one that was seen without what looks like a secret.
    pub entry: KnownEntry,
    /// How it stands.
    pub state: KnownState,
    /// Mismatches with one of its groups.
    pub mismatches: u64,
    /// Groups that it means.
    pub groups: u64,
    /// Whether it expires within a week.
    pub ends_soon: bool,
}

/// Recorded mismatches, the newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MismatchPage {
    /// [`MISMATCHES_SCHEMA`].
    pub schema: String,
    /// Those of this page.
    pub mismatches: Vec<Mismatch>,
    /// The parameter `after` of the next page; `None` on the last one.
    pub next: Option<String>,
}

/// Every setting with its value.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigDocument {
    /// [`CONFIG_SCHEMA`].
    pub schema: String,
    /// By key.
    pub settings: BTreeMap<String, ShownSetting>,
}

/// A setting as it holds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShownSetting {
    /// As a variable would give it, without what is secret in it; `None` when nobody gives it and it has no default.
    pub value: Option<String>,
    /// Which layer it comes from.
    pub from: Layer,
    /// The same for a person: `default`, line and column of the file, the variable or the flag.
    pub origin: String,
}

/// What a setting can be given by, from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Nobody gives it.
    Default,
    /// The configuration file.
    File,
    /// An environment variable.
    Environment,
    /// A flag of the command line.
    Flag,
}
