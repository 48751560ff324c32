//! Which versions of both services counted in the range of a history.
//!
//! A store knows which counted at all, and when last. Those of the range are told from that, without the rows of the range: so one that has
//! only rows behind an end that was asked for may be among them, and is then of no row.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use parity_schemas::time::Timestamp;

use super::HistoryFilter;
use super::grid::Grid;

/// The versions of both services: what evidence is told apart by, but for the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Versions {
    /// Of the legacy, as recorded; may be empty.
    pub legacy: String,
    /// Of the candidate, as recorded; may be empty.
    pub candidate: String,
}

impl Versions {
    /// Whether they are these.
    pub(in crate::read) fn are(&self, legacy: &str, candidate: &str) -> bool {
        self.legacy == legacy && self.candidate == candidate
    }
}

/// Those of the range of a history, the newest first. `counted` has when the last interval of each began, in microseconds, or a time in the
/// five minutes behind it; several where it counted by several rules.
pub(in crate::read) fn in_range(
    mut counted: Vec<(Versions, i64)>,
    filter: &HistoryFilter,
    now: Timestamp,
) -> Vec<Versions> {
    let asked = filter.asked();
    let (since, until) = asked.limits(now);
    let selection = &filter.selection;
    let allows =
        |asked: &Option<String>, found: &str| asked.as_deref().is_none_or(|asked| asked == found);
    counted.retain(|(versions, _)| {
        allows(&selection.legacy_version, &versions.legacy)
            && allows(&selection.candidate_version, &versions.candidate)
    });
    let before_end = |last: i64| last.min(until.saturating_sub(1));
    let Some(last) = counted.iter().map(|(_, last)| before_end(*last)).max() else {
        return Vec::new();
    };
    let from = if selection.since.is_some() {
        since
    } else {
        let ends = (
            Timestamp::from_micros(i64::MIN),
            Timestamp::from_micros(last),
        );
        Grid::of(asked, ends, now).window().from.as_micros()
    };
    let mut lasts: BTreeMap<Versions, i64> = BTreeMap::new();
    for (versions, last) in counted.into_iter().filter(|(_, last)| *last >= from) {
        let known = lasts.entry(versions).or_insert(last);
        *known = last.max(*known);
    }
    let mut found: Vec<(Versions, i64)> = lasts.into_iter().collect();
    found.sort_by_key(|(_, last)| Reverse(*last));
    found.into_iter().map(|(versions, _)| versions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Selection;

    const DAY: i64 = 24 * 3_600 * 1_000_000;
    const NOW: i64 = 20_000 * DAY + 7;

    fn versions(candidate: &str) -> Versions {
        Versions {
            legacy: "go".to_owned(),
            candidate: candidate.to_owned(),
        }
    }

    fn found(filter: &HistoryFilter, last: &[(&str, i64)]) -> Vec<String> {
        let counted = last.iter();
        let counted = counted.map(|(name, ago)| (versions(name), NOW - ago));
        let found = in_range(counted.collect(), filter, Timestamp::from_micros(NOW));
        found.into_iter().map(|found| found.candidate).collect()
    }

    #[test]
    fn versions_are_those_of_the_range_the_newest_first() {
        let usual = HistoryFilter::default();
        let all = [
            ("1", 30 * DAY),
            ("2", 9 * DAY),
            ("4", 0),
            ("3", DAY),
            ("4", 2 * DAY),
        ];
        assert_eq!(found(&usual, &all), ["4", "3", "2"]);
        assert!(found(&usual, &[]).is_empty());
        // Nothing was recorded lately: the range ends where something was.
        assert_eq!(found(&usual, &all[..2]), ["2"]);
        let since = |ago: i64| HistoryFilter {
            selection: Selection {
                since: Some(Timestamp::from_micros(NOW - ago)),
                ..Selection::default()
            },
            ..HistoryFilter::default()
        };
        assert_eq!(found(&since(2 * DAY), &all), ["4", "3"]);
        assert_eq!(found(&since(40 * DAY), &all), ["4", "3", "2", "1"]);
        let mut of_one = since(40 * DAY);
        of_one.selection.candidate_version = Some("2".to_owned());
        assert_eq!(found(&of_one, &all), ["2"]);
        // Before an end that is asked for: what went on behind it was there before, too, as far as is known.
        let until = HistoryFilter {
            until: Some(Timestamp::from_micros(NOW - 25 * DAY)),
            ..HistoryFilter::default()
        };
        assert_eq!(found(&until, &all), ["4", "3", "2", "1"]);
    }
}
