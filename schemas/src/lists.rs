//! Documents of the API that are parts of a report, a page at a time.
//!
//! They are made of the types of the report, so a part says what the whole says. What each page has in common: `migration` says
//! of which effort it is, `total` how long the whole list is, and `next` what `after` takes to get the next page.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::RouteDecision;
use crate::noise::NoiseGroup;
use crate::report::{CauseReport, GroupReport, IdleRule, RouteReport, RuleHits};
use crate::rollout::RolloutRecorded;
use crate::suggested::SuggestedRule;
use crate::tally::Group;
use crate::terms::RulesText;
use crate::time::Timestamp;
use crate::watermark::InstanceWatermark;

/// Name and version of a page of causes.
pub const CAUSES_SCHEMA: &str = "parity.causes/v1";
/// Name and version of a page of groups.
pub const GROUPS_SCHEMA: &str = "parity.groups/v1";
/// Name and version of one group.
pub const GROUP_SCHEMA: &str = "parity.group/v1";
/// Name and version of a page of routes.
pub const ROUTES_SCHEMA: &str = "parity.routes/v1";
/// Name and version of a page of noise.
pub const NOISE_SCHEMA: &str = "parity.noise/v1";
/// Name and version of the rules and what they excused.
pub const RULES_SCHEMA: &str = "parity.rules/v1";
/// Name and version of how far the record is complete.
pub const HEALTH_SCHEMA: &str = "parity.health/v1";

/// What several groups share, the gravest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CausePage {
    /// [`CAUSES_SCHEMA`].
    pub schema: String,
    /// Of which effort.
    pub migration: String,
    /// How many there are in all.
    pub total: u64,
    /// Those of this page.
    pub causes: Vec<CauseReport>,
    /// What `after` takes to get the next page; `None` on the last one.
    pub next: Option<String>,
}

/// Groups of a tab, in an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupPage {
    /// [`GROUPS_SCHEMA`].
    pub schema: String,
    /// Of which effort.
    pub migration: String,
    /// How many groups each tab has, under the same filter.
    pub tabs: BTreeMap<String, u64>,
    /// How many the tab has that was asked for.
    pub total: u64,
    /// Those of this page.
    pub groups: Vec<GroupLine>,
    /// What `after` takes to get the next page; `None` on the last one.
    pub next: Option<String>,
}

/// A group with its share of the route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupLine {
    /// As the report has it.
    pub group: GroupReport,
    /// Compared requests of its route.
    pub compared: u64,
    /// Mismatches of the group by compared requests; `None` before anything was compared.
    pub rate: Option<f64>,
    /// Where the true share begins, with 95 % confidence.
    pub lower: Option<f64>,
    /// Where it ends.
    pub upper: Option<f64>,
}

/// One group; its mismatches are in the list of mismatches, by its fingerprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupDocument {
    /// [`GROUP_SCHEMA`].
    pub schema: String,
    /// Of which effort.
    pub migration: String,
    /// The group.
    pub group: GroupLine,
    /// Rules that would excuse it; none if it does not count any more.
    pub suggested: Vec<SuggestedRule>,
    /// The version of the candidate under which it was counted: that which was asked for, or the last one that had it.
    #[serde(default)]
    pub candidate_version: String,
    /// The rules by which it was counted: those in force, or the last ones that counted it.
    #[serde(default)]
    pub rules_hash: String,
    /// Why it does not count any more; `None` if it does.
    #[serde(default)]
    pub uncounted: Option<UncountedGroup>,
}

/// Why a group that was counted does not count any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncountedGroup {
    /// In words.
    pub told: String,
    /// Since when, as far as the record has that.
    pub since: Option<Timestamp>,
    /// Rules in force, by id, each of which excuses all of it.
    pub rules: Vec<String>,
    /// Rules in force, by id, which came since and may excuse it.
    pub perhaps: Vec<String>,
    /// The entry of the register that excuses it.
    pub known: Option<String>,
}

/// A group that was counted by earlier rules and is not any more: a rule in force excuses it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExcusedGroup {
    /// `METHOD /template`.
    pub route: String,
    /// What differed.
    pub group: Group,
    /// How often it was counted.
    pub count: u64,
    /// When it was last counted.
    pub last_seen: Timestamp,
    /// By which rules it was counted.
    pub rules_hash: String,
    /// The rules in force, by id, each of which excuses all of it.
    pub rules: Vec<String>,
}

/// Routes: most differing first, then most received.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoutePage {
    /// [`ROUTES_SCHEMA`].
    pub schema: String,
    /// Of which effort.
    pub migration: String,
    /// How many there are in all.
    pub total: u64,
    /// Those of this page.
    pub routes: Vec<RouteLine>,
    /// What `after` takes to get the next page; `None` on the last one.
    pub next: Option<String>,
}

/// A route, and what is proven of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteLine {
    /// What was counted.
    pub counted: RouteReport,
    /// What the gate says of it; `None` where it says nothing.
    pub decision: Option<RouteDecision>,
}

/// Groups that are noise or may be, the proven ones first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoisePage {
    /// [`NOISE_SCHEMA`].
    pub schema: String,
    /// Of which effort.
    pub migration: String,
    /// How many there are in all.
    pub total: u64,
    /// Those of this page.
    pub noise: Vec<NoiseGroup>,
    /// What `after` takes to get the next page; `None` on the last one.
    pub next: Option<String>,
}

/// The rules in force, and what they excused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulesDocument {
    /// [`RULES_SCHEMA`].
    pub schema: String,
    /// Of which effort.
    pub migration: String,
    /// Under which hash they count.
    pub rules_hash: String,
    /// Their text; `None` where it is not recorded.
    pub text: Option<RulesText>,
    /// Rules that excused a difference, most hits first.
    pub hits: Vec<RuleHits>,
    /// Rules that excused none although requests were compared where they apply.
    pub idle: Vec<IdleRule>,
    /// Groups that earlier rules counted and these excuse, the most frequent first; a hundred at most.
    #[serde(default)]
    pub excused: Vec<ExcusedGroup>,
    /// How many more there are.
    #[serde(default)]
    pub excused_left_out: u64,
}

/// How far the record of each process is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthDocument {
    /// [`HEALTH_SCHEMA`].
    pub schema: String,
    /// Of which effort.
    pub migration: String,
    /// Everything received before is settled and counted, but for what `watermarks` says otherwise; `None` when that is not known.
    pub complete_until: Option<Timestamp>,
    /// Of each process that recorded.
    pub watermarks: Vec<InstanceWatermark>,
    /// How the rollout of each process stood that has one, by the audit record: those at work, or else the last one. It is of all versions.
    #[serde(default)]
    pub rollouts: Vec<RolloutRecorded>,
}
