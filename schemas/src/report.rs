//! The report document, the same whatever store it was read from.

mod cause;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::attributes::{AttributeCounts, SpecialAttribute};
use crate::evidence::carried::CarriedRules;
use crate::evidence::{
    Decision, Evidence, GroupEvidence, LeftOut, OtherRules, RecentCounts, RouteDecision,
    RouteEvidence, SetEvidence, Window,
};
use crate::known::{KnownState, KnownUse};
use crate::noise::{Excused, NoiseGroup};
use crate::recheck::{ClassCounts, EvidenceCounts};
use crate::severity::Severity;
use crate::tally::{Counts, Group, Identity};
use crate::targets::TargetEvidence;
use crate::time::Timestamp;
use crate::verdict::{Explanation, Kind, Part};
use crate::watermark::InstanceWatermark;

pub use self::cause::CauseReport;

/// Name and version of the report document.
pub const REPORT_SCHEMA: &str = "parity.report/v1";

/// Everything that a person or a program needs to know of one body of evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: String,
    /// All routes together. First, since what became of the clients is what matters first.
    #[serde(flatten)]
    pub counts: Counts,
    /// What the gate counts: `match`, `mismatch`, and the times that the candidate failed. 0 in documents of older programs.
    #[serde(default)]
    pub compared: u64,
    /// What the gate counts against the candidate: `mismatch` without what `excused` says of transient mismatches, noise and known
    /// differences,
    /// and the times that the candidate failed. 0 in documents of older programs.
    #[serde(default)]
    pub differing: u64,
    /// How many distinct targets (method, path and query) the requests with a verdict had, about; of several processes with
    /// keys of their own, the largest number of one. 0 where it is not known, as in documents of older programs.
    #[serde(default)]
    pub distinct_targets: u64,
    /// At most this share of them had the same target, 0..=1; `None` where it is not known.
    #[serde(default)]
    pub most_frequent_share: Option<f64>,
    /// Mismatches that do not count, or may not. Absent in documents of older programs.
    #[serde(default)]
    pub excused: Excused,
    /// The name of the effort.
    pub migration: String,
    /// As recorded.
    pub legacy_version: String,
    /// As recorded.
    pub candidate_version: String,
    /// As recorded.
    pub rules_hash: String,
    /// `None` when nothing was recorded.
    pub window: Option<Window>,
    /// Who counted.
    pub instances: Vec<String>,
    /// Everything received before is settled and counted, but for what `watermarks` says otherwise; `None` when that is
    /// not known. Absent in documents of older programs.
    #[serde(default)]
    pub complete_until: Option<Timestamp>,
    /// How far the record of each process is complete. Absent in documents of older programs.
    #[serde(default)]
    pub watermarks: Vec<InstanceWatermark>,
    /// What was counted under earlier rules and still holds, the newest first; it is counted here, and not part of the
    /// window above. Absent in documents of older programs.
    #[serde(default)]
    pub carried: Vec<CarriedRules>,
    /// What there is of the same versions under other rules, the newest first; none of it is counted here. Absent in
    /// documents of older programs.
    #[serde(default)]
    pub other_rules: Vec<OtherRules>,
    /// What was left out on demand; none of it is counted here. Absent in documents of older programs.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Routes that were compared in what was left out, or in the day before the begin that was asked for, and not in what is counted
    /// here; a hundred at most, by name. Absent in documents of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_left_out: Vec<String>,
    /// By route: most differing first, then most received, then by name.
    pub routes: Vec<RouteReport>,
    /// What several of the groups that count share: the gravest first, then the most frequent. Absent in documents of older
    /// programs.
    #[serde(default)]
    pub causes: Vec<CauseReport>,
    /// The gravest first, then the most frequent. Those with the very same exchanges are one.
    pub groups: Vec<GroupReport>,
    /// How many mismatches had exactly the same groups, by route and groups. Not all mismatches are in a set. Absent in
    /// documents of older programs.
    #[serde(default)]
    pub sets: Vec<SetEvidence>,
    /// Groups that are noise or may be: first those that are proven, the most frequent first. Absent in documents of older
    /// programs.
    #[serde(default)]
    pub noise: Vec<NoiseGroup>,
    /// Entries of the register of known differences that mean groups of this report. Absent in documents of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownUse>,
    /// Rules that excused a difference, most hits first.
    pub rules: Vec<RuleHits>,
    /// Rules in force that excused none although requests were compared where they apply, in their order. Absent in documents of
    /// older programs, and empty where the text of the rules is not recorded.
    #[serde(default)]
    pub idle_rules: Vec<IdleRule>,
    /// What was counted last, for whoever decides on the same counts; it is not part of the document.
    #[serde(skip)]
    pub recent: Vec<RecentCounts>,
}

impl Report {
    /// Takes over from the decision on the same counts what of them does not count, so that both say the same numbers.
    pub fn without_noise(&mut self, decision: &Decision) {
        self.noise.clone_from(&decision.noise);
        self.known.clone_from(&decision.known);
        self.state_groups();
        let members = self.groups.iter().flat_map(GroupReport::members);
        let examples: HashMap<(&str, &str), Uuid> = members
            .map(|member| {
                let name = (member.group.route.as_str(), member.fingerprint);
                (name, member.group.example_id)
            })
            .collect();
        for group in &mut self.noise {
            let name = (group.route.as_str(), group.group.fingerprint.as_str());
            group.example_id = examples.get(&name).copied().filter(|id| !id.is_nil());
        }
        self.differing = decision.total.differing;
        self.excused = decision.total.excused;
        let routes: HashMap<&str, &RouteDecision> = decision
            .routes
            .iter()
            .map(|route| (route.route.as_str(), route))
            .collect();
        for route in &mut self.routes {
            if let Some(decided) = routes.get(route.route.as_str()) {
                route.excused = decided.excused;
                route.differing = decided.differing;
            }
        }
        // Of those that differ alike the order stays.
        self.routes
            .sort_by_key(|route| std::cmp::Reverse((route.differing, route.counts.received)));
    }
}

impl Report {
    /// The time that all counts are of: `window` is that of the present rules alone, and what is carried over from earlier rules was
    /// counted before it.
    pub fn counted_window(&self) -> Option<Window> {
        let carried = self.carried.iter();
        let carried = carried.filter(|rules| rules.routes > 0 && rules.expired.is_empty());
        self.since(carried.map(|rules| rules.from))
    }

    /// The same of one route, whose count may have begun anew with the present rules.
    pub fn counted_window_of(&self, route: &str) -> Option<Window> {
        let carried = self.carried.iter().filter(|rules| rules.keeps(route));
        self.since(carried.map(|rules| rules.from))
    }

    fn since(&self, begins: impl Iterator<Item = Timestamp>) -> Option<Window> {
        let window = self.window?;
        Some(Window {
            from: begins.fold(window.from, Timestamp::min),
            ..window
        })
    }

    /// Says of each group whether it is known.
    fn state_groups(&mut self) {
        let known = self.known.iter().flat_map(|known| &known.groups);
        let states: HashMap<(&str, &str), KnownState> = known
            .map(|one| {
                let name = (one.route.as_str(), one.group.fingerprint.as_str());
                (name, one.state)
            })
            .collect();
        for group in &mut self.groups {
            let of = |name: &str| states.get(&(group.route.as_str(), name)).copied();
            group.state = of(&group.fingerprint).unwrap_or_default();
            for other in &mut group.also {
                other.state = of(&other.fingerprint).unwrap_or_default();
            }
        }
    }
}

/// One route of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteReport {
    /// `METHOD /template`.
    pub route: String,
    /// Its outcomes.
    #[serde(flatten)]
    pub counts: Counts,
    /// As in the whole report.
    #[serde(default)]
    pub compared: u64,
    /// As in the whole report.
    #[serde(default)]
    pub differing: u64,
    /// As in the whole report.
    #[serde(default)]
    pub distinct_targets: u64,
    /// As in the whole report.
    #[serde(default)]
    pub most_frequent_share: Option<f64>,
    /// The share of the fields of its answers, or of its bodies if that is less, that rules leave to compare, 0..=1, by the sample
    /// in `fields`; `None` where that is not known, as in what older programs counted.
    #[serde(default)]
    pub fields_left: Option<f64>,
    /// What these are made of, for a decision on the same evidence.
    #[serde(skip)]
    pub targets: TargetEvidence,
    /// As in the whole report.
    #[serde(default)]
    pub excused: Excused,
    /// Microseconds to the last byte of the answer, by quantile name (`p50`, `p95`, `p99`), of compared requests. Measured
    /// at the service: without the time in which we waited for the client.
    pub legacy_us: BTreeMap<String, u64>,
    /// Likewise.
    pub candidate_us: BTreeMap<String, u64>,
    /// Microseconds to the head of the answer. Absent in documents of older programs.
    #[serde(default)]
    pub legacy_head_us: BTreeMap<String, u64>,
    /// Likewise.
    #[serde(default)]
    pub candidate_head_us: BTreeMap<String, u64>,
    /// Compared requests by attribute, as `NAME=VALUE`, and under `counted` the number of those whose attributes were counted.
    /// Absent in documents of older programs.
    #[serde(default)]
    pub attributes: AttributeCounts,
}

/// One group of mismatches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupReport {
    /// Sixteen hex digits.
    pub fingerprint: String,
    /// Whether it is known. Absent in documents of older programs.
    #[serde(default)]
    pub state: KnownState,
    /// `METHOD /template`.
    pub route: String,
    /// Which part of the answer.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How grave that is. Of those in `also` none is graver. Absent in documents of older programs.
    #[serde(default)]
    pub severity: Severity,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// What kind of values both sides have, such as `uuid→uuid`. Empty in documents of older programs.
    #[serde(default)]
    pub shape: String,
    /// Mismatches at the same place, with the same codes, that speak against the explanation: it may be near by chance. 0
    /// without an explanation, and in documents of older programs.
    #[serde(default)]
    pub against: u64,
    /// The legacy's status code.
    pub legacy_status: u16,
    /// The candidate's status code.
    pub candidate_status: u16,
    /// Mismatches with a finding of this group.
    pub count: u64,
    /// Them by the class of this group in them.
    #[serde(default)]
    pub classes: ClassCounts,
    /// What was counted of the second answers; of targets, the largest number of a single process.
    #[serde(default)]
    pub evidence: EvidenceCounts,
    /// The first of them.
    pub first_seen: Timestamp,
    /// The last of them.
    pub last_seen: Timestamp,
    /// Id of a mismatch that shows it.
    pub example_id: Uuid,
    /// That mismatch's finding; `None` once retention has removed it.
    pub example: Option<GroupExample>,
    /// Groups with the very same mismatches: what else differs whenever this does. Absent in documents of older
    /// programs.
    #[serde(default)]
    pub also: Vec<CoincidingGroup>,
    /// Its mismatches by attribute, as those of its route. Absent in documents of older programs.
    #[serde(default)]
    pub attributes: AttributeCounts,
    /// What is special about them, beside all other compared requests of the route: the most special first. Absent in
    /// documents of older programs.
    #[serde(default)]
    pub special: Vec<SpecialAttribute>,
}

/// A group that was found in the very same exchanges as the one that it is listed with, and so has its route, its codes,
/// its count and its times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoincidingGroup {
    /// Sixteen hex digits.
    pub fingerprint: String,
    /// Whether it is known.
    #[serde(default)]
    pub state: KnownState,
    /// Which part of the answer.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// How near they are.
    pub explanation: Option<Explanation>,
    /// What kind of values both sides have.
    #[serde(default)]
    pub shape: String,
    /// The mismatches by the class of this group in them.
    #[serde(default)]
    pub classes: ClassCounts,
    /// What was counted of the second answers.
    #[serde(default)]
    pub evidence: EvidenceCounts,
    /// Mismatches at its place that speak against the explanation.
    #[serde(default)]
    pub against: u64,
    /// Its finding in the mismatch that is the example of both.
    pub example: Option<GroupExample>,
}

/// One of the groups that an entry of the report stands for.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The entry.
    pub group: &'a GroupReport,
    /// Its own.
    pub fingerprint: &'a str,
    /// Its own.
    pub state: KnownState,
    /// Its own.
    pub part: Part,
    /// Its own.
    pub pattern: &'a str,
    /// Its own.
    pub kind: Kind,
    /// Its own.
    pub explanation: Option<Explanation>,
    /// Its own.
    pub shape: &'a str,
    /// Its own.
    pub classes: &'a ClassCounts,
    /// Its own.
    pub evidence: &'a EvidenceCounts,
    /// Its own.
    pub against: u64,
    /// Its own.
    pub example: Option<&'a GroupExample>,
}

impl Member<'_> {
    /// What was counted of it.
    pub fn counted(&self) -> GroupEvidence {
        GroupEvidence {
            route: self.group.route.clone(),
            group: Group {
                fingerprint: self.fingerprint.to_owned(),
                part: self.part,
                pattern: self.pattern.to_owned(),
                kind: self.kind,
                explanation: self.explanation,
                shape: self.shape.to_owned(),
                legacy_status: self.group.legacy_status,
                candidate_status: self.group.candidate_status,
            },
            count: self.group.count,
            classes: self.classes.clone(),
            evidence: self.evidence.clone(),
            last_seen: self.group.last_seen,
        }
    }

    /// The explanation, where nothing speaks against it.
    pub fn hint(&self) -> Option<Explanation> {
        self.explanation.filter(|_| self.against == 0)
    }

    /// The status codes of legacy and candidate.
    pub fn codes(&self) -> (u16, u16) {
        (self.group.legacy_status, self.group.candidate_status)
    }

    /// How grave it is.
    pub fn severity(&self) -> Severity {
        Severity::of(
            self.part,
            self.pattern,
            self.kind,
            self.hint(),
            self.codes(),
        )
    }
}

impl GroupReport {
    /// The order of every list of groups: the gravest first, then the most frequent.
    pub fn order(&self, other: &Self) -> Ordering {
        let by_count = other.count.cmp(&self.count);
        self.severity
            .cmp(&other.severity)
            .then(by_count)
            .then_with(|| self.route.cmp(&other.route))
            .then_with(|| self.fingerprint.cmp(&other.fingerprint))
    }

    /// Itself and those with the same exchanges.
    pub fn members(&self) -> impl Iterator<Item = Member<'_>> {
        let itself = Member {
            group: self,
            fingerprint: &self.fingerprint,
            state: self.state,
            part: self.part,
            pattern: &self.pattern,
            kind: self.kind,
            explanation: self.explanation,
            shape: &self.shape,
            classes: &self.classes,
            evidence: &self.evidence,
            against: self.against,
            example: self.example.as_ref(),
        };
        std::iter::once(itself).chain(self.also.iter().map(|other| Member {
            group: self,
            fingerprint: &other.fingerprint,
            state: other.state,
            part: other.part,
            pattern: &other.pattern,
            kind: other.kind,
            explanation: other.explanation,
            shape: &other.shape,
            classes: &other.classes,
            evidence: &other.evidence,
            against: other.against,
            example: other.example.as_ref(),
        }))
    }
}

impl Report {
    /// The evidence that it was made of, but for what its runs said; `None` when nothing was recorded. Of a run that has
    /// counted nothing yet, it is empty. Who shows a report and a decision takes both from here: read one after the other
    /// they could be of two moments.
    pub fn evidence(&self) -> Option<Evidence> {
        let began = self.watermarks.iter().filter_map(|run| run.started).min();
        let empty = began.map(|began| Window {
            from: began,
            to: began,
        });
        let members = self.groups.iter().flat_map(GroupReport::members);
        let mut groups: Vec<GroupEvidence> = members.map(|member| member.counted()).collect();
        groups.sort_unstable_by(GroupEvidence::order);
        Some(Evidence {
            identity: Identity {
                migration: self.migration.clone(),
                legacy_version: self.legacy_version.clone(),
                candidate_version: self.candidate_version.clone(),
                rules_hash: self.rules_hash.clone(),
            },
            window: self.window.or(empty).or(LeftOut::window(&self.left_out))?,
            instances: self.instances.clone(),
            runs: Vec::new(),
            carried: self.carried.clone(),
            other_rules: self.other_rules.clone(),
            left_out: self.left_out.clone(),
            only_left_out: self.only_left_out.clone(),
            recent: self.recent.clone(),
            routes: self
                .routes
                .iter()
                .map(|route| RouteEvidence {
                    route: route.route.clone(),
                    counts: route.counts.clone(),
                    targets: route.targets.clone(),
                    ..RouteEvidence::default()
                })
                .collect(),
            groups,
            sets: self.sets.clone(),
        })
    }
}

/// The two values of one finding, redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupExample {
    /// The request's path and query, redacted; behind them the operation, if it is GraphQL.
    pub target: String,
    /// Where the values are.
    pub path: String,
    /// The candidate's path, where it differs.
    pub candidate_path: Option<String>,
    /// The legacy's value.
    pub legacy: Option<String>,
    /// The candidate's value.
    pub candidate: Option<String>,
    /// For text bodies.
    pub text_diff: Option<String>,
}

/// A rule that excused no difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleRule {
    /// The rule.
    pub id: String,
    /// Since when it has had the chance: the beginning of what was counted, or of the rules, whichever came later.
    pub since: Timestamp,
    /// How many requests were compared where it applies.
    pub compared: u64,
}

/// How often a rule excused a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleHits {
    /// The rule.
    pub id: String,
    /// Differences that it excused.
    pub hits: u64,
}
