//! Groups that contain the same exchanges, which are listed as one entry.
//!
//! Groups of one route that contain exactly the same exchanges have one reason, or cannot be distinguished by the
//! recorded traffic; either way a person needs to look at them once. This is decided from tallies alone, by count,
//! digest of the exchanges, and first and last time, so neither retention nor sampling changes it. Groups with *nearly*
//! the same exchanges stay separate: a digest cannot measure similarity, and a sketch of each set would be many times
//! larger than its row.

use std::collections::HashMap;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::severity::Severity;
use parity_schemas::tally::Group;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Part};

use super::Sums;
use crate::read::hints::Hints;

/// Equal for groups of one route that contain the same exchanges. The times are free, and make an accidental equality
/// of digests even less likely.
#[derive(PartialEq, Eq, Hash)]
struct Exchanges {
    count: u64,
    digest: ExchangeDigest,
    first_seen: Timestamp,
    last_seen: Timestamp,
    legacy_status: u16,
    candidate_status: u16,
}

impl Sums {
    /// Identifies the exchanges; `None` without a digest.
    fn exchanges(&self) -> Option<Exchanges> {
        self.digest.is_known().then_some(Exchanges {
            count: self.count,
            digest: self.digest,
            first_seen: self.first_seen,
            last_seen: self.last_seen,
            legacy_status: self.group.legacy_status,
            candidate_status: self.group.candidate_status,
        })
    }
}

/// Groups of one route, each with those that contain the same exchanges; the one that tells most comes first.
pub(super) fn coinciding(
    groups: impl Iterator<Item = Sums>,
    hints: &Hints,
) -> Vec<(Sums, Vec<Sums>)> {
    let mut told = Vec::new();
    let mut known: HashMap<Exchanges, Vec<Sums>> = HashMap::new();
    for group in groups {
        match group.exchanges() {
            Some(exchanges) => known.entry(exchanges).or_default().push(group),
            None => told.push((group, Vec::new())),
        }
    }
    for mut same in known.into_values() {
        same.sort_unstable_by(|one, other| {
            telling(&one.group, hints).cmp(&telling(&other.group, hints))
        });
        let mut same = same.into_iter();
        if let Some(first) = same.next() {
            told.push((first, same.collect()));
        }
    }
    told
}

/// How grave the group is, if its explanation is believed.
pub(super) fn severity(group: &Group, hints: &Hints) -> Severity {
    let explanation = group.explanation.filter(|_| hints.against(group) == 0);
    let codes = (group.legacy_status, group.candidate_status);
    Severity::of(group.part, &group.pattern, group.kind, explanation, codes)
}

/// Sorts groups with the same exchanges: the gravest first, so that no explanation hides a wrong value, and a different status
/// explains all other differences. Then the most informative: a path further up contains those below it, and two different
/// values say more than a missing one.
fn telling<'a>(
    group: &'a Group,
    hints: &Hints,
) -> (Severity, usize, u8, u8, usize, &'a str, &'a str) {
    let depth = match group.part {
        Part::Body => group.pattern.matches('/').count(),
        Part::Status | Part::Header | Part::Trailer => 1,
    };
    let part = match group.part {
        Part::Status | Part::Body => 0,
        Part::Header => 1,
        Part::Trailer => 2,
    };
    let kind = match group.kind {
        Kind::Decode | Kind::Errors => 0,
        Kind::Type | Kind::Value | Kind::Order | Kind::DuplicateKey => 1,
        Kind::Missing => 2,
        Kind::Extra => 3,
    };
    (
        severity(group, hints),
        depth,
        part,
        kind,
        group.pattern.len(),
        &group.pattern,
        &group.fingerprint,
    )
}

#[cfg(test)]
mod tests {
    use parity_schemas::verdict::Explanation;

    use super::*;
    use crate::tally::other_group;

    #[test]
    fn the_group_that_tells_most_comes_first() {
        let order = [
            (Part::Status, "", Kind::Value, None),
            (Part::Body, "", Kind::Decode, None),
            (Part::Body, "/error", Kind::Value, None),
            (Part::Body, "/gone", Kind::Missing, None),
            (Part::Body, "/items/*", Kind::Value, None),
            (Part::Body, "/code", Kind::Extra, None),
            (Part::Body, "/reason", Kind::Extra, None),
            (Part::Header, "x", Kind::Value, None),
            (Part::Trailer, "x", Kind::Value, None),
            (Part::Body, "/a", Kind::Value, Some(Explanation::CaseOnly)),
        ];
        let groups: Vec<Group> = order
            .map(|(part, pattern, kind, explanation)| Group {
                part,
                pattern: pattern.to_owned(),
                kind,
                explanation,
                ..other_group()
            })
            .into();
        let mut sorted = groups.clone();
        sorted.reverse();
        let hints = Hints::default();
        sorted.sort_by(|one, other| telling(one, &hints).cmp(&telling(other, &hints)));
        assert_eq!(sorted, groups);
    }
}
