//! What of a history does not count: of each versions of the services what the report on them excuses now.
//!
//! Noise is proven of one version of both services, a known difference may grow in one and not in another, and rules were carried over
//! within one. So what is excused of the version of a page is not what is excused of those before it, and each is decided by its own
//! evidence, as `parity report --candidate-version` does. Each version has rows of its own, so that all of them take as long to
//! read as all that is in the store; yet only so many are looked at, and whoever shows a history says of which not.

use std::collections::{BTreeSet, HashSet};

use parity_schemas::evidence::SetEvidence;
use parity_schemas::evidence::carried::CarriedRules;
use parity_schemas::known::KnownUse;
use parity_schemas::noise::{NoiseGroup, NoiseState, NoiseUse};
use parity_schemas::watermark::Standing;
use parity_sink::read::history::{ExcusedOf, ExcusedSet, HistoryFilter, MAX_EXCUSED, Versions};
use parity_sink::{Reader, Selection, StoreError};

use crate::question::Question;
use crate::view::decided::{Decided, decide};

/// Versions besides that of the page of which is decided what they excuse, the newest first: what somebody who looks at a night knows of.
/// A store is asked about a dozen questions for each, whatever it has of it.
pub(super) const MAX_OTHERS: usize = 8;

/// What of a history does not count.
#[derive(Debug, Default)]
pub(super) struct Excused {
    /// By versions.
    pub(super) of: Vec<ExcusedOf>,
    /// Of these versions of the candidate all counts, because so many others are newer; the newest first.
    pub(super) as_recorded: Vec<String>,
}

impl Excused {
    /// What the history excuses that is read by this filter: of the versions of a report, and of all others in its range.
    pub(super) fn read(
        reader: &Reader,
        question: &Question,
        filter: &HistoryFilter,
        decided: &Decided,
    ) -> Result<Self, StoreError> {
        let report = &decided.report;
        let usage = question.thresholds.noise;
        let own = Versions {
            legacy: report.legacy_version.clone(),
            candidate: report.candidate_version.clone(),
        };
        let counted = reader.counted_versions(filter)?;
        let mut excused = Self::default();
        if report.window.is_some() {
            let found = Found {
                sets: &report.sets,
                carried: &report.carried,
                known: &report.known,
                noise: &report.noise,
            };
            excused.add(own.clone(), found.sets(usage));
        }
        let others = counted.into_iter();
        let mut others = others.filter(|versions| report.window.is_none() || *versions != own);
        for versions in others.by_ref().take(MAX_OTHERS) {
            let asked = of_versions(question, &versions);
            let evidence = reader.find_evidence(&asked.selected())?.value;
            let Some(evidence) = evidence else {
                continue;
            };
            // Whether it is complete does not change what it excuses.
            let standing = Standing::default();
            let (decision, _) = decide(&asked, (Some(&evidence), None), &standing);
            let found = Found {
                sets: &evidence.sets,
                carried: &evidence.carried,
                known: &decision.known,
                noise: &decision.noise,
            };
            excused.add(versions, found.sets(usage));
        }
        for versions in others {
            if !excused.as_recorded.contains(&versions.candidate) {
                excused.as_recorded.push(versions.candidate);
            }
        }
        Ok(excused)
    }

    fn add(&mut self, versions: Versions, sets: Vec<ExcusedSet>) {
        if !sets.is_empty() {
            self.of.push(ExcusedOf { versions, sets });
        }
    }
}

/// The same question about these versions.
fn of_versions(question: &Question, versions: &Versions) -> Question {
    Question {
        selection: Selection {
            legacy_version: Some(versions.legacy.clone()),
            candidate_version: Some(versions.candidate.clone()),
            // Nobody looks at its times.
            with_latency: false,
            ..question.selection.clone()
        },
        ..question.clone()
    }
}

/// What was found of one versions.
struct Found<'a> {
    sets: &'a [SetEvidence],
    carried: &'a [CarriedRules],
    known: &'a [KnownUse],
    noise: &'a [NoiseGroup],
}

impl Found<'_> {
    /// The sets of groups whose mismatches do not count, the most frequent first. What the rules in force excuse of earlier ones is in the
    /// tallies as it was counted then.
    fn sets(&self, usage: NoiseUse) -> Vec<ExcusedSet> {
        let known: HashSet<(&str, &str)> = self
            .known
            .iter()
            .flat_map(|entry| entry.groups.iter().filter(|group| entry.excuses(group)))
            .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()))
            .collect();
        let proven = self
            .noise
            .iter()
            .filter(|group| usage == NoiseUse::Use && group.state == NoiseState::Proven);
        let noise: HashSet<(&str, &str)> = proven
            .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()))
            .collect();
        let none = BTreeSet::new();
        let counted = self.sets.iter().map(|set| (set, &none));
        let again = self.carried.iter().flat_map(|rules| &rules.decided_again);
        let again = again.flat_map(|route| route.sets.iter().map(|set| (set, &route.fingerprints)));
        let mut sets: Vec<(u64, ExcusedSet)> = counted
            .chain(again)
            .filter(|(set, _)| !set.fingerprints.is_empty())
            .filter_map(|(set, by_rules)| {
                let left = set.fingerprints.iter();
                let mut names = left
                    .filter(|name| !by_rules.contains(*name))
                    .map(|name| (set.route.as_str(), name.as_str()));
                let is_known = names.clone().all(|name| known.contains(&name));
                let is_excused = names.all(|name| known.contains(&name) || noise.contains(&name));
                is_excused.then(|| {
                    let excused = ExcusedSet {
                        route: set.route.clone(),
                        fingerprints: set.fingerprints.clone(),
                        with_never_asked: is_known,
                    };
                    (set.classes.values().sum(), excused)
                })
            })
            .collect();
        sets.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        sets.truncate(MAX_EXCUSED);
        sets.into_iter().map(|(_, set)| set).collect()
    }
}
