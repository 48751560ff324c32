//! A report under other rules than those that it was counted under: what the gate says now, and what it would say.
//!
//! What becomes of a mismatch follows from the rules, or from its stored answers, or is not known. So there are two counts: as if
//! all that is not known were equal, and as if all of it still differed. The code of every decision decides on both. If they
//! agree, that is the outcome, whatever the unknown mismatches are; else it is undecided. What rules excused that are gone is in
//! no record: then there is no pass, whatever the counts say.

mod bounds;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parity_comparator::decision::{number, plural};
use parity_comparator::retrial::{Retrial, Told};
use parity_comparator::rules::{RuleConfig, Rules};
use parity_schemas::evidence::{Decision, Evidence, GroupEvidence, LeftOut, Outcome};
use parity_schemas::record::Mismatch;
use parity_schemas::report::Report;
use parity_schemas::severity::Severity;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;
use parity_schemas::trial::{
    Fate, GroupTrial, ReasonUntold, RulesTrial, TRIAL_SCHEMA, Tried, Untold,
};
use parity_sink::{AnsweredFilter, Examples, Reader, StoreError};
use uuid::Uuid;

use self::bounds::{Known, Seen};
use super::decided::{Decided, decide, standing};
use crate::question::Question;

/// Stored mismatches of one group that are compared again. With fewer mismatches nothing of a group stays unknown if all their
/// answers are stored; with more, some tens show whether its values behave alike.
const EXAMPLES: usize = 100;
/// Groups of which examples are read: some thousand answers a second are compared. The others are told by place and
/// explanation, or not at all.
const MAX_ASKED: usize = 500;

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
    let before = told(&decided.decision);
    let mut trial = RulesTrial {
        schema: TRIAL_SCHEMA.to_owned(),
        migration: report.migration.clone(),
        candidate_version: report.candidate_version.clone(),
        rules_hash_before: report.rules_hash.clone(),
        rules_hash_after: rules.hash().to_owned(),
        after: before.clone(),
        if_equal: before.clone(),
        if_different: before.clone(),
        before,
        untold: 0,
        reasons_untold: Vec::new(),
        known_differences: question.known.len() as u64,
        lost,
        groups: Vec::new(),
    };
    let Some(evidence) = report.evidence() else {
        return Ok(trial);
    };
    let configs: Option<Vec<RuleConfig>> =
        old_rules.map(|rules| rules.iter().map(RuleConfig::from).collect());
    let former = configs
        .and_then(|configs| Rules::compile(&configs, Timestamp::from_micros(i64::MIN)).ok())
        .map(Arc::new);
    // Without the former rules no stored answer can be shown to differ as it was found.
    let knows_former = former.is_some();
    let mut retrial = Retrial::new(former.unwrap_or_default(), Arc::clone(rules));
    let examples = Stored::of(reader, report, &evidence, &retrial)?;
    let is_unchanged = report.rules_hash == rules.hash();
    let mut seen = Seen::default();
    for counted in &evidence.groups {
        let mut tried = untried(counted);
        let told = if is_unchanged {
            Some(Told::Differs)
        } else {
            retrial.group(counted)
        };
        if let Some(told) = told {
            tried.is_certain = true;
            tried.fate = fate(told);
        } else {
            let fingerprint = &counted.group.fingerprint;
            let mut tell = |example: &Mismatch| match retrial.example(example, fingerprint) {
                _ if !knows_former => Told::CannotTell(Untold::FormerRules),
                told => told,
            };
            examples.compare(counted, &mut tried, &mut seen, &mut tell)?;
        }
        trial.groups.push(tried);
    }
    trial.groups.sort_by(|one, other| {
        let order = |group: &GroupTrial| (group.severity, std::cmp::Reverse(group.count));
        order(one)
            .cmp(&order(other))
            .then_with(|| one.route.cmp(&other.route))
            .then_with(|| one.fingerprint.cmp(&other.fingerprint))
    });
    let known = Known {
        groups: &trial.groups,
        seen: &seen,
        is_unchanged,
    };
    let (at_least, not_listed) = bounds::if_equal(&evidence, &known);
    let at_most = bounds::if_different(&evidence, &known);
    let standing = standing(question, report);
    let [if_equal, if_different] = [at_least, at_most].map(|evidence| {
        let (decision, _) = decide(question, (Some(&evidence), None), &standing);
        without_pass(told(&decision), &trial.lost)
    });
    trial.untold = if_different.differing.saturating_sub(if_equal.differing);
    trial.reasons_untold = reasons(&trial.groups, not_listed);
    trial.after = both(&if_equal, &if_different, &trial);
    (trial.if_equal, trial.if_different) = (if_equal, if_different);
    Ok(trial)
}

fn told(decision: &Decision) -> Tried {
    Tried {
        outcome: decision.outcome,
        compared: decision.total.compared,
        differing: decision.total.differing,
        reasons: decision.reasons.clone(),
    }
}

/// No pass where excuses were lost.
fn without_pass(mut tried: Tried, lost: &[String]) -> Tried {
    if !lost.is_empty() && tried.outcome == Outcome::Pass {
        tried.outcome = Outcome::Undecided;
        let lost = lost.join(", ");
        let reason = format!("what {lost} excused is in no record, and may differ now");
        tried.reasons.insert(0, reason);
    }
    tried
}

/// What holds whatever the mismatches are that cannot be told.
fn both(if_equal: &Tried, if_different: &Tried, trial: &RulesTrial) -> Tried {
    let mut both = if_different.clone();
    if if_equal.outcome == if_different.outcome {
        if if_equal.outcome == Outcome::Fail {
            // What is proven, and not what would be if all the others differed, too.
            both.reasons.clone_from(&if_equal.reasons);
        }
        return both;
    }
    let whys: Vec<String> = trial
        .reasons_untold
        .iter()
        .map(|one| format!("of {} {}", number(one.mismatches), one.why.meaning()))
        .collect();
    let unknown = trial.groups.iter().filter(|group| group.cannot_tell() > 0);
    both.outcome = Outcome::Undecided;
    both.reasons = vec![
        format!(
            "{} in {} cannot be told: {}. The outcome is {} if all of them are equal now, and {} if none is",
            plural(trial.untold, "mismatch", "mismatches"),
            plural(unknown.count() as u64, "group", "groups"),
            whys.join("; "),
            if_equal.outcome,
            if_different.outcome,
        ),
        "to know, run the mirror with these rules for a while: it compares the answers of every request, and not only what is stored of them"
            .to_owned(),
    ];
    let own = if_equal.reasons.iter().chain(&if_different.reasons);
    let mut more: Vec<String> = Vec::new();
    for reason in own.filter(|_| !trial.lost.is_empty()) {
        if reason.contains("is in no record") && !more.contains(reason) {
            more.push(reason.clone());
        }
    }
    both.reasons.extend(more);
    both
}

/// Why mismatches cannot be told, the most frequent reason first.
fn reasons(groups: &[GroupTrial], not_listed: u64) -> Vec<ReasonUntold> {
    let mut by_why: BTreeMap<Untold, (u64, u64)> = BTreeMap::new();
    for (why, count) in groups.iter().flat_map(|group| &group.untold) {
        let sum = by_why.entry(*why).or_default();
        *sum = (sum.0 + count, sum.1 + 1);
    }
    if not_listed > 0 {
        by_why.insert(Untold::NotListed, (not_listed, 0));
    }
    let mut reasons: Vec<ReasonUntold> = by_why
        .into_iter()
        .map(|(why, (mismatches, groups))| ReasonUntold {
            why,
            mismatches,
            groups,
        })
        .collect();
    reasons.sort_by_key(|one| std::cmp::Reverse(one.mismatches));
    reasons
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

fn fate(told: Told) -> Fate {
    match told {
        Told::Equal => Fate::Excused,
        Told::Differs => Fate::Stays,
        Told::CannotTell(_) => Fate::CannotTell,
    }
}

fn untried(counted: &GroupEvidence) -> GroupTrial {
    let group = &counted.group;
    GroupTrial {
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
        fate: Fate::CannotTell,
        is_certain: false,
        equal: 0,
        differ: 0,
        untold: BTreeMap::new(),
    }
}

/// The stored examples of groups.
struct Stored<'a> {
    reader: &'a Reader,
    filter: AnsweredFilter,
    left_out: &'a [LeftOut],
    examples: Examples,
}

impl<'a> Stored<'a> {
    /// Lists those of the groups that values decide, found under the same rules for the same versions.
    fn of(
        reader: &'a Reader,
        report: &'a Report,
        evidence: &Evidence,
        retrial: &Retrial,
    ) -> Result<Self, StoreError> {
        let mut asked: Vec<&GroupEvidence> = evidence.groups.iter().collect();
        asked.retain(|group| retrial.group(group).is_none());
        asked.sort_by_key(|group| std::cmp::Reverse(group.count));
        let names = asked.into_iter().take(MAX_ASKED);
        let names: Vec<String> = names.map(|group| group.group.fingerprint.clone()).collect();
        let filter = AnsweredFilter {
            identity: evidence.identity.clone(),
            from: evidence.window.from,
            to: evidence.window.to,
        };
        let examples = reader.examples(&filter, &names, EXAMPLES)?;
        Ok(Self {
            reader,
            filter,
            left_out: &report.left_out,
            examples,
        })
    }

    /// Compares the examples of a group again.
    fn compare(
        &self,
        counted: &GroupEvidence,
        tried: &mut GroupTrial,
        seen: &mut Seen,
        tell: &mut dyn FnMut(&Mismatch) -> Told,
    ) -> Result<(), StoreError> {
        let fingerprint = &counted.group.fingerprint;
        let ids: Option<&Vec<Uuid>> = self.examples.ids.get(fingerprint);
        let is_of_more = match ids {
            Some(ids) => ids.len() >= EXAMPLES || !self.examples.of_all,
            None => true,
        };
        let mut found = self
            .reader
            .answered(&self.filter, ids.map_or(&[], Vec::as_slice))?;
        found.retain(|example| self.is_counted(example, counted));
        let mut untold: HashMap<Untold, u64> = HashMap::new();
        for example in &found {
            match tell(example) {
                Told::Equal => {
                    tried.equal += 1;
                    seen.add(example, fingerprint, true);
                }
                Told::Differs => {
                    tried.differ += 1;
                    seen.add(example, fingerprint, false);
                }
                Told::CannotTell(why) => *untold.entry(why).or_default() += 1,
            }
        }
        let others = tried.count.saturating_sub(found.len() as u64);
        if others > 0 {
            let why = if is_of_more {
                Untold::NotLookedAt
            } else {
                Untold::NotStored
            };
            *untold.entry(why).or_default() += others;
        }
        tried.untold = untold.into_iter().collect();
        let is_whole = tried.cannot_tell() == 0;
        tried.fate = match (tried.equal, tried.differ) {
            (0, 0) => Fate::CannotTell,
            (_, 0) if is_whole => Fate::Excused,
            (_, 0) => Fate::EqualExamples,
            (0, _) => Fate::Stays,
            _ => Fate::Partly,
        };
        Ok(())
    }

    /// Whether a stored mismatch is surely among those that were counted. A mirror may write while the store is read, and an
    /// interval that is left out ends where the next one begins.
    fn is_counted(&self, example: &Mismatch, counted: &GroupEvidence) -> bool {
        /// A request may have come in the interval before the one in which it was counted.
        const INTERVAL_MICROS: i64 = 60_000_000;
        let is_out = |left_out: &LeftOut| {
            let minutes = left_out.span.minutes();
            minutes.from.saturating_add_micros(-INTERVAL_MICROS) <= example.time
                && example.time <= minutes.to.saturating_add_micros(INTERVAL_MICROS)
        };
        example.route == counted.route
            && example.time <= counted.last_seen
            && !self.left_out.iter().any(is_out)
    }
}
