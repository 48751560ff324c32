//! The causes of the groups that count, with their counts, and what no cause covers.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use parity_comparator::causes::{self, Bounds, Exchanges, Shared};
use parity_schemas::report::{CauseReport, GroupReport, Member};
use parity_schemas::verdict::Part;

use super::folded::{Fold, Folded, entry, members};

/// A cause, and which groups it covers.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    pub(super) report: CauseReport,
    /// Positions in the list of entries and among the members there, the most frequent first.
    pub(super) members: Vec<(usize, usize)>,
}

impl Cause {
    fn of(
        found: causes::Cause<'_>,
        (counting, all): (&[Folded], &[Vec<Member<'_>>]),
        exchanges: &Exchanges<'_>,
    ) -> Self {
        let mut members = found.members;
        members.sort_by_cached_key(|(entry, place)| {
            let group = &counting[*entry].group;
            let severity = all[*entry][*place].severity();
            // Another status before what follows from it.
            (
                severity,
                Reverse(group.count),
                group.route.clone(),
                group.fingerprint.clone(),
                *place,
            )
        });
        let covered: Vec<(&Folded, &Fold)> = members
            .iter()
            .map(|(entry, place)| (&counting[*entry], &counting[*entry].folds[*place]))
            .collect();
        let folds = || covered.iter().map(|(_, fold)| fold);
        let counted = covered.iter().map(|(folded, fold)| folded.counted(fold));
        let Bounds { at_least, at_most } = exchanges.bounds(counted);
        let routes = covered.iter().map(|(folded, _)| &folded.group.route);
        let report = CauseReport {
            severity: found.severity,
            explanation: None,
            part: None,
            pattern: None,
            kind: None,
            legacy_status: None,
            candidate_status: None,
            routes: routes.collect::<BTreeSet<_>>().len() as u64,
            findings: folds().map(|fold| fold.findings()).sum(),
            at_least,
            at_most,
            consequences: found.consequences as u64,
            exceptions: found.exceptions as u64,
            fingerprints: folds().flat_map(|fold| fold.fingerprints.clone()).collect(),
        };
        let report = match found.shared {
            Shared::Status(legacy, candidate) => CauseReport {
                part: Some(Part::Status),
                legacy_status: Some(legacy),
                candidate_status: Some(candidate),
                ..report
            },
            Shared::Place {
                part,
                place,
                kind,
                explanation,
                ..
            } => CauseReport {
                part: Some(part),
                pattern: Some(place.to_string()),
                kind: Some(kind),
                explanation,
                ..report
            },
            Shared::Explanation(explanation, kind, _) => CauseReport {
                explanation: Some(explanation),
                kind: Some(kind),
                ..report
            },
        };
        Self { report, members }
    }
}

/// The causes of the groups that count, the gravest first.
pub(super) fn causes(counting: &[Folded], exchanges: &Exchanges<'_>) -> Vec<Cause> {
    let groups: Vec<&GroupReport> = counting.iter().map(|folded| &folded.group).collect();
    let all = members(counting);
    let found = causes::causes(&groups).into_iter();
    let mut causes: Vec<Cause> = found
        .map(|found| Cause::of(found, (counting, &all), exchanges))
        .collect();
    // Stable: causes that are alike stay as they were chosen.
    causes.sort_by_key(|Cause { report, .. }| {
        (report.severity, Reverse((report.at_least, report.findings)))
    });
    causes
}

/// The entries with what no cause covers of them; without those of which all is covered.
pub(super) fn rest(counting: &[Folded], causes: &[Cause]) -> Vec<Folded> {
    let covered = causes.iter().flat_map(|cause| &cause.members);
    let covered: HashSet<(usize, usize)> = covered.copied().collect();
    let entries = counting.iter().enumerate();
    let mut rest: Vec<Folded> = entries
        .filter_map(|(index, folded)| {
            let (members, folds): (Vec<_>, Vec<_>) = folded
                .group
                .members()
                .zip(&folded.folds)
                .enumerate()
                .filter(|(place, _)| !covered.contains(&(index, *place)))
                .map(|(_, (member, fold))| (member, fold.clone()))
                .unzip();
            Some(Folded {
                group: entry(&members)?,
                folds,
                is_least: folded.is_least,
            })
        })
        .collect();
    rest.sort_by(|one, other| one.group.order(&other.group));
    rest
}
