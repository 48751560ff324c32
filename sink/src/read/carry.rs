//! What was counted under earlier rules, and what of it still holds under the present ones.
//!
//! Who can tell knows the rules, and is asked ([`Redecide`]). Here is what it is told: the counts under each of the last
//! rules, with the texts of these rules. Only what is complete is carried over: every run under those rules ended in order,
//! and all that it counted is in the store. Nothing of the rest is lost either; it only is not counted under these rules.
//!
//! The present rules are those that hold when the record is read. If one has expired since it was counted, what it excused is
//! not known to agree, and does not count either. When one expires is in the terms: those of the configuration with which a
//! mirror ran last, also if an earlier one came back; and the configuration of who asks may end it earlier.

use std::collections::BTreeMap;

use parity_schemas::evidence::carried::{Fate, Redecide, RulesCounted};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::assemble::Sums;
use super::runs::RunWatermarks;
use super::{FoundTerms, Selection, TermsFilter, others};
use crate::error::StoreError;

/// Earlier rules that are looked at, the newest first. Each costs as much as reading the present ones, and who changes
/// rules more often than this wants to see where they lead, and not yet to decide.
const MAX_EARLIER: usize = 8;

/// Why nothing is counted of other rules if that is asked for.
const STRICT: &str = "--strict-rules counts nothing of them";

/// What a store reads of one identity.
pub(super) struct Read {
    pub(super) sums: Sums,
    pub(super) runs_seen: RunWatermarks,
}

/// How a store reads it.
pub(super) trait ReadEarlier {
    /// The counts of an identity, with all details, and its runs.
    fn counted(&self, identity: &Identity, selection: &Selection) -> Result<Read, StoreError>;
    /// Only the counts, without details.
    fn sums_of(&self, identity: &Identity, selection: &Selection) -> Result<Sums, StoreError>;
    /// The terms that are selected.
    fn terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError>;
}

/// Takes out of the counts of an identity what does not hold any more because a rule has expired, and adds to them, which may
/// be without latencies, what still holds of those under earlier rules.
pub(super) fn carry_over(
    store: &impl ReadEarlier,
    redecide: Redecide,
    (identity, selection, with_latency): (&Identity, &Selection, bool),
    sums: &mut Sums,
    runs_seen: &mut RunWatermarks,
) -> Result<(), StoreError> {
    let earlier = others::by_rules(&runs_seen.others, identity);
    let rules = |hash: &str| -> Result<(RulesCounted, Option<Uuid>), StoreError> {
        let versions = (&identity.legacy_version, &identity.candidate_version);
        let found = store.terms(&TermsFilter {
            migration: identity.migration.clone(),
            rules_hash: hash.to_owned(),
            versions: Some((versions.0.clone(), versions.1.clone())),
            ids: Vec::new(),
        })?;
        let in_force = found.terms.first().map(|terms| terms.id);
        let in_force = in_force.filter(|_| !found.missing);
        let mut texts = Vec::new();
        for terms in found.terms {
            if !texts.contains(&terms.rules) {
                texts.push(terms.rules);
            }
        }
        let rules = RulesCounted {
            hash: hash.to_owned(),
            texts,
        };
        Ok((rules, in_force))
    };
    let (now, in_force) = rules(&identity.rules_hash)?;
    await_terms(runs_seen, in_force);
    let now = match (redecide.expired)(&now, &selection.dated, Timestamp::now()) {
        None => now,
        Some(expired) => {
            // What was read without details does not say what each rule excused.
            let counted = store.counted(identity, selection)?.sums.counted();
            let fates = (redecide.fates)(&now, &expired.left, &counted)
                .unwrap_or_else(|why| vec![Fate::Anew(why); counted.len()]);
            sums.expire(&identity.rules_hash, counted, fates, expired.expired);
            expired.left
        }
    };
    for (place, other) in earlier.into_iter().enumerate() {
        let hash = other.rules_hash;
        if place >= MAX_EARLIER {
            let why = format!("only the last {MAX_EARLIER} rules are looked at");
            sums.not_carried.insert(hash, why);
            continue;
        }
        let of = Identity {
            rules_hash: hash.clone(),
            ..identity.clone()
        };
        let open = selection
            .strict_rules
            .then(|| STRICT.to_owned())
            .or_else(|| goes_on(&of, selection, runs_seen));
        let mut read = store.counted(&of, selection)?;
        if !with_latency {
            read.sums.forget_latency();
        }
        if let Some(why) = open.or_else(|| is_incomplete(&read)) {
            sums.begin_anew(&hash, &read.sums, why);
            continue;
        }
        let counted = read.sums.counted();
        match (redecide.fates)(&rules(&hash)?.0, &now, &counted) {
            Ok(fates) => sums.carry(&hash, read.sums, counted, fates),
            Err(why) => sums.begin_anew(&hash, &read.sums, why),
        }
    }
    Ok(())
}

/// The run that counted last names the terms that hold now. If these are not in the store yet, the dates of the rules are not
/// known, so nothing may be decided: the record of that run is not complete.
fn await_terms(runs_seen: &mut RunWatermarks, in_force: Option<Uuid>) {
    let named = runs_seen
        .watermarks
        .iter_mut()
        .filter(|(run, _)| !run.terms.is_nil());
    let last = named.max_by_key(|(run, _)| (run.terms_since, run.id));
    if let Some((_, lacks)) = last.filter(|_| in_force.is_none()) {
        *lacks = true;
    }
}

/// Why it is not known what a run under these rules received: it has not said that it ended.
fn goes_on(of: &Identity, selection: &Selection, runs_seen: &RunWatermarks) -> Option<String> {
    let mut runs = runs_seen.others.iter().filter(|run| run.identity == *of);
    let is_before = |run: &others::OtherRun| {
        let since = selection.since;
        since.is_some_and(|since| runs_seen.starts.is_past(&run.instance, run.written, since))
    };
    let open = runs.find(|run| !run.ended && !is_before(run))?;
    Some(format!(
        "instance `{}` has not said that it ended under these rules",
        open.instance
    ))
}

/// Why not all that was counted is here.
fn is_incomplete(read: &Read) -> Option<String> {
    let known: BTreeMap<_, _> = read
        .runs_seen
        .watermarks
        .iter()
        .map(|(watermark, lacks)| ((watermark.instance.clone(), watermark.id), *lacks))
        .collect();
    let lacking = known.iter().find(|(_, lacks)| **lacks).map(|(run, _)| run);
    let unknown = || {
        read.sums
            .runs()
            .keys()
            .find(|run| !known.contains_key(*run))
    };
    let (instance, _) = lacking.or_else(unknown)?;
    Some(format!(
        "not all that instance `{instance}` counted under these rules is in the record"
    ))
}
