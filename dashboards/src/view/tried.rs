//! A report under other rules than those that it was counted under: what the gate says now, and what it would say.
//!
//! The decision after is made by the code of every decision, on the same counts without the mismatches of which each group is
//! excused. So what cannot be told counts against the pass. What rules excused that are gone is in no record: then there is no
//! pass, whatever the counts say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parity_comparator::retrial::{Retrial, Told};
use parity_comparator::rules::{RuleConfig, Rules};
use parity_schemas::evidence::carried::RouteCounted;
use parity_schemas::evidence::{Decision, Evidence, GroupEvidence, Outcome};
use parity_schemas::report::Report;
use parity_schemas::severity::Severity;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;
use parity_schemas::trial::{Fate, GroupTrial, RulesTrial, TRIAL_SCHEMA, Tried};
use parity_sink::{Reader, StoreError};

use super::decided::{Decided, decide, standing};
use super::stored::Stored;
use crate::question::Question;

/// Stored mismatches of one group that are compared again: enough to see whether its values behave alike.
const EXAMPLES: usize = 50;

/// Tries rules on what a report counts.
pub fn tried(
    reader: &Reader,
    question: &Question,
    decided: &Decided,
    rules: &Arc<Rules>,
) -> Result<RulesTrial, StoreError> {
    let report = &decided.report;
    let old = reader.rule_text(&report.migration, &report.rules_hash)?;
    let old_rules: Option<Vec<RuleText>> = old.filter(|text| !text.cut).map(|text| text.rules);
    let lost = lost(report, old_rules.as_deref(), rules);
    let configs: Option<Vec<RuleConfig>> =
        old_rules.map(|rules| rules.iter().map(RuleConfig::from).collect());
    let before = configs
        .and_then(|configs| Rules::compile(&configs, Timestamp::from_micros(i64::MIN)).ok())
        .map(Arc::new);
    let mut examples = Examples {
        stored: Stored::new(reader, report),
        // Without the former rules no stored answer can be shown to differ as it was found.
        knows_before: before.is_some(),
        retrial: Retrial::new(before.unwrap_or_default(), Arc::clone(rules)),
    };
    let Some(mut evidence) = report.evidence() else {
        let same = told(&decided.decision);
        return Ok(trial(decided, rules, same, lost, Vec::new()));
    };
    let mut groups = Vec::new();
    for group in &evidence.groups {
        groups.push(examples.group(group)?);
    }
    groups.sort_by(|one, other| {
        let order = |group: &GroupTrial| (group.severity, std::cmp::Reverse(group.count));
        order(one)
            .cmp(&order(other))
            .then_with(|| one.route.cmp(&other.route))
            .then_with(|| one.fingerprint.cmp(&other.fingerprint))
    });
    excuse(&mut evidence, &groups);
    let standing = standing(question, report);
    let (mut after, _) = decide(question, (Some(&evidence), None), &standing);
    if !lost.is_empty() && after.outcome == Outcome::Pass {
        after.outcome = Outcome::Undecided;
        after.reasons.insert(
            0,
            format!(
                "what {} excused is in no record, and may differ now",
                lost.join(", ")
            ),
        );
    }
    Ok(trial(decided, rules, told(&after), lost, groups))
}

fn trial(
    decided: &Decided,
    rules: &Rules,
    after: Tried,
    lost: Vec<String>,
    groups: Vec<GroupTrial>,
) -> RulesTrial {
    let report = &decided.report;
    RulesTrial {
        schema: TRIAL_SCHEMA.to_owned(),
        migration: report.migration.clone(),
        candidate_version: report.candidate_version.clone(),
        rules_hash_before: report.rules_hash.clone(),
        rules_hash_after: rules.hash().to_owned(),
        before: told(&decided.decision),
        after,
        lost,
        groups,
    }
}

fn told(decision: &Decision) -> Tried {
    Tried {
        outcome: decision.outcome,
        compared: decision.total.compared,
        differing: decision.total.differing,
        reasons: decision.reasons.clone(),
    }
}

/// The rules with hits that the others do not have.
fn lost(report: &Report, old: Option<&[RuleText]>, rules: &Rules) -> Vec<String> {
    let decides = |rule: &RuleText| RuleText {
        id: String::new(),
        part: rule.part.clone().filter(|part| part != "body"),
        reason: None,
        owner: None,
        expires: None,
        ..rule.clone()
    };
    let kept: Vec<RuleText> = rules.texts().map(decides).collect();
    let is_kept = |id: &str| {
        let mut old = old.unwrap_or_default().iter();
        old.any(|rule| rule.id == id && kept.contains(&decides(rule)))
    };
    let hits = report.rules.iter().filter(|rule| rule.hits > 0);
    let ids = hits.map(|rule| rule.id.clone());
    ids.filter(|id| !is_kept(id)).collect()
}

/// Takes out what is excused, as an edit of the rules would.
fn excuse(evidence: &mut Evidence, groups: &[GroupTrial]) {
    let excused: BTreeSet<String> = groups
        .iter()
        .filter(|group| group.fate == Fate::Excused)
        .map(|group| group.fingerprint.clone())
        .collect();
    let mut by_route: BTreeMap<String, RouteCounted> = BTreeMap::new();
    for group in std::mem::take(&mut evidence.groups) {
        let of = by_route.entry(group.route.clone()).or_default();
        of.groups.push(group);
    }
    for set in std::mem::take(&mut evidence.sets) {
        by_route
            .entry(set.route.clone())
            .or_default()
            .sets
            .push(set);
    }
    for route in &mut evidence.routes {
        if let Some(of) = by_route.get_mut(&route.route) {
            of.counts = route.counts.clone();
            of.excuse(&excused);
            route.counts = of.counts.clone();
        }
    }
    for of in by_route.into_values() {
        evidence.groups.extend(of.groups);
        evidence.sets.extend(of.sets);
    }
    evidence.groups.sort_unstable_by(GroupEvidence::order);
}

/// The stored examples of groups.
struct Examples<'a> {
    stored: Stored<'a>,
    knows_before: bool,
    retrial: Retrial,
}

impl Examples<'_> {
    fn group(&mut self, counted: &GroupEvidence) -> Result<GroupTrial, StoreError> {
        let group = &counted.group;
        let whole = self.retrial.group(counted);
        let mut tried = GroupTrial {
            fingerprint: group.fingerprint.clone(),
            route: counted.route.clone(),
            part: group.part,
            pattern: group.pattern.clone(),
            kind: group.kind,
            severity: Severity::of(
                group.part,
                &group.pattern,
                group.kind,
                group.explanation,
                (group.legacy_status, group.candidate_status),
            ),
            explanation: group.explanation,
            count: counted.count,
            fate: match whole {
                Told::Equal => Fate::Excused,
                Told::Differs => Fate::Stays,
                Told::CannotTell => Fate::CannotTell,
            },
            is_certain: whole != Told::CannotTell,
            equal: 0,
            differ: 0,
            cannot_tell: 0,
        };
        if tried.is_certain {
            return Ok(tried);
        }
        for example in self.stored.of(&group.fingerprint, EXAMPLES)? {
            match self.retrial.example(&example, &group.fingerprint) {
                Told::Equal if self.knows_before => tried.equal += 1,
                Told::Differs if self.knows_before => tried.differ += 1,
                _ => tried.cannot_tell += 1,
            }
        }
        tried.fate = match (tried.differ, tried.equal) {
            (0, 0) => Fate::CannotTell,
            (0, _) => Fate::Excused,
            _ => Fate::Stays,
        };
        Ok(tried)
    }
}
