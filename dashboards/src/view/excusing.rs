//! Groups that were counted by earlier rules and that a rule in force excuses: each has a page, and nothing else leads to it.
//!
//! What the rules in force say is read from their recorded text, and what was counted by the ones before is read once more, for each of the last
//! few. So only who asks for it waits for that.

use std::cmp::Reverse;
use std::collections::HashSet;

use parity_comparator::rules::excusing_each;
use parity_schemas::evidence::GroupEvidence;
use parity_schemas::lists::ExcusedGroup;
use parity_schemas::report::{GroupReport, Report};
use parity_schemas::route::OTHER;
use parity_sink::{Reader, StoreError};

use crate::question::Question;

/// Earlier rules that are looked at, the newest first: as many as a report looks at to carry something over.
const MAX_EARLIER: usize = 8;
/// Groups that are listed. Who excuses more of them wrote a rule for a kind of difference, and looks for that.
const MAX_LISTED: usize = 100;

/// Groups that rules in force excuse, the most frequent first.
#[derive(Debug, Default)]
pub(crate) struct ExcusedGroups {
    /// Some of them.
    pub(crate) listed: Vec<ExcusedGroup>,
    /// How many others there are.
    pub(crate) more: u64,
}

impl ExcusedGroups {
    /// Of what a report counts.
    pub(crate) fn read(
        reader: &Reader,
        question: &Question,
        report: &Report,
    ) -> Result<Self, StoreError> {
        let earlier = earlier(report);
        if earlier.is_empty() {
            return Ok(Self::default());
        }
        let Some(text) = reader.rule_text(&report.migration, &report.rules_hash)? else {
            return Ok(Self::default());
        };
        let mut seen: HashSet<(String, String)> = named(report);
        let mut all = Vec::new();
        for rules_hash in earlier {
            let mut selection = question.selection.clone();
            selection.legacy_version = Some(report.legacy_version.clone());
            selection.candidate_version = Some(report.candidate_version.clone());
            selection.rules_hash = Some(rules_hash.to_owned());
            let counted = reader.report(&selection)?;
            let members = counted.groups.iter().flat_map(GroupReport::members);
            let groups = members.map(|member| member.counted());
            // What was counted by several rules is told as it was counted last.
            let groups = groups.filter(|group| {
                let name = (group.route.clone(), group.group.fingerprint.clone());
                group.group.fingerprint != OTHER && seen.insert(name)
            });
            let groups: Vec<GroupEvidence> = groups.collect();
            let excusing = excusing_each(&text, &groups).unwrap_or_default();
            let found = groups.into_iter().zip(excusing);
            let found = found.filter(|(_, excusing)| !excusing.surely.is_empty());
            all.extend(found.map(|(group, excusing)| ExcusedGroup {
                route: group.route,
                group: group.group,
                count: group.count,
                last_seen: group.last_seen,
                rules_hash: rules_hash.to_owned(),
                rules: excusing.surely,
            }));
        }
        all.sort_by(|one, other| {
            let name =
                |group: &ExcusedGroup| (group.route.clone(), group.group.fingerprint.clone());
            let order = Reverse(one.count).cmp(&Reverse(other.count));
            order.then_with(|| name(one).cmp(&name(other)))
        });
        let more = all.len().saturating_sub(MAX_LISTED) as u64;
        all.truncate(MAX_LISTED);
        Ok(Self { listed: all, more })
    }
}

/// Whether a report knows of rules before those that it is of, so that there may be such groups.
pub(crate) fn may_excuse(report: &Report) -> bool {
    !earlier(report).is_empty()
}

/// The hashes of the rules before those of a report, the newest first.
fn earlier(report: &Report) -> Vec<&str> {
    let carried = report.carried.iter();
    let carried = carried.map(|rules| (rules.to, rules.rules_hash.as_str()));
    let others = report.other_rules.iter();
    let others = others.map(|rules| (rules.to, rules.rules_hash.as_str()));
    let mut all: Vec<_> = carried.chain(others).collect();
    all.sort_by_key(|(to, _)| Reverse(*to));
    let mut seen = HashSet::from([report.rules_hash.as_str()]);
    let new = all.into_iter().filter(|(_, hash)| seen.insert(*hash));
    new.map(|(_, hash)| hash).take(MAX_EARLIER).collect()
}

/// The groups that a report has.
fn named(report: &Report) -> HashSet<(String, String)> {
    let members = report.groups.iter().flat_map(GroupReport::members);
    let names = members.map(|member| (member.group.route.clone(), member.fingerprint.to_owned()));
    names.collect()
}
