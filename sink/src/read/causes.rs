//! Causes: what many groups have in common, which is the explanation of their differences, or a header that differs in
//! the same way on many routes.
//!
//! A rewrite that prints `[]` where the legacy printed `null` does so in thirty fields of five routes. Those are 150
//! groups, and one cause. A group belongs to at most one cause, and only together with all groups that coincide with
//! it. If one of those has no cause, the entry is listed by itself, because the shared explanation may be only a
//! consequence. So causes and the groups without a cause cover everything, and nothing twice.
//!
//! An explanation that other mismatches at the same place contradict is not a cause.
//!
//! Equal paths in the bodies of different routes are not a cause: `/id` need not mean the same.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use parity_schemas::report::{CauseReport, GroupReport, Member};
use parity_schemas::verdict::{Explanation, Kind, Part};

/// Fewer groups than this are listed one by one.
const MIN_GROUPS: usize = 2;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Name<'a> {
    /// One header or trailer field that differs in one way.
    Field {
        part: Part,
        name: &'a str,
        kind: Kind,
        explanation: Option<Explanation>,
        /// The two values of the example, if both sides have the field.
        values: Option<(Option<&'a str>, Option<&'a str>)>,
    },
    Explanation(Explanation),
}

impl<'a> Name<'a> {
    fn of_field(member: &Member<'a>) -> Option<Self> {
        let one_sided = matches!(member.kind, Kind::Missing | Kind::Extra);
        matches!(member.part, Part::Header | Part::Trailer).then(|| Self::Field {
            part: member.part,
            name: member.pattern,
            kind: member.kind,
            explanation: member.hint(),
            values: member
                .example
                .filter(|_| !one_sided)
                .map(|example| (example.legacy.as_deref(), example.candidate.as_deref())),
        })
    }

    fn of_explanation(member: &Member<'a>) -> Option<Self> {
        member.hint().map(Self::Explanation)
    }
}

/// The causes of `groups`, the most frequent first.
pub fn causes<'a>(groups: impl IntoIterator<Item = &'a GroupReport>) -> Vec<CauseReport> {
    let mut entries: Vec<&GroupReport> = groups.into_iter().collect();
    loop {
        let causes = shared(&entries);
        let explained: HashSet<&str> = causes
            .values()
            .flatten()
            .map(|member| member.fingerprint)
            .collect();
        let before = entries.len();
        entries.retain(|group| {
            group
                .members()
                .all(|member| explained.contains(member.fingerprint))
        });
        // Removing an entry may leave a cause with too few groups, so start again.
        if entries.len() == before {
            let mut causes: Vec<CauseReport> = causes
                .into_iter()
                .map(|(name, members)| report(&name, members))
                .collect();
            // Stable, and sorted by name before.
            causes.sort_by_key(|cause| std::cmp::Reverse((cause.findings, cause.at_least)));
            return causes;
        }
    }
}

/// The members of each cause, which at least [`MIN_GROUPS`] entries share. A common field comes before a common
/// explanation, because it is more specific.
fn shared<'a>(entries: &[&'a GroupReport]) -> BTreeMap<Name<'a>, Vec<Member<'a>>> {
    let mut all: Vec<Member<'a>> = entries.iter().flat_map(|group| group.members()).collect();
    let mut causes = BTreeMap::new();
    for name_of in [Name::of_field, Name::of_explanation] {
        let mut named: BTreeMap<Name<'a>, Vec<Member<'a>>> = BTreeMap::new();
        let mut rest = Vec::new();
        for member in all {
            match name_of(&member) {
                Some(name) => named.entry(name).or_default().push(member),
                None => rest.push(member),
            }
        }
        for (name, members) in named {
            let groups: BTreeSet<&str> = members
                .iter()
                .map(|member| member.group.fingerprint.as_str())
                .collect();
            if groups.len() < MIN_GROUPS {
                rest.extend(members);
            } else {
                causes.insert(name, members);
            }
        }
        all = rest;
    }
    causes
}

fn report(name: &Name<'_>, mut members: Vec<Member<'_>>) -> CauseReport {
    members.sort_by(|one, other| {
        (other.group.count, &one.group.route, one.fingerprint).cmp(&(
            one.group.count,
            &other.group.route,
            other.fingerprint,
        ))
    });
    // An exchange has one route and one pair of status codes, but may be in several groups. So for each route and pair,
    // the largest group is a lower bound of the exchanges; only these bounds may be added up.
    let mut largest: BTreeMap<(&str, u16, u16), u64> = BTreeMap::new();
    for Member { group, .. } in &members {
        let codes = (
            group.route.as_str(),
            group.legacy_status,
            group.candidate_status,
        );
        let count = largest.entry(codes).or_default();
        *count = (*count).max(group.count);
    }
    let routes: BTreeSet<&str> = largest.keys().map(|(route, _, _)| *route).collect();
    let (field, explanation) = match name {
        Name::Field {
            part,
            name,
            kind,
            explanation,
            ..
        } => (Some((*part, *name, *kind)), *explanation),
        Name::Explanation(explanation) => (None, Some(*explanation)),
    };
    CauseReport {
        explanation,
        part: field.map(|(part, _, _)| part),
        pattern: field.map(|(_, name, _)| name.to_owned()),
        kind: field.map(|(_, _, kind)| kind),
        routes: routes.len() as u64,
        findings: members.iter().map(|member| member.group.count).sum(),
        at_least: largest.values().sum(),
        fingerprints: members
            .iter()
            .map(|member| member.fingerprint.to_owned())
            .collect(),
    }
}

#[cfg(test)]
mod tests;
