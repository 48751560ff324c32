//! How often groups were found over time: of all versions and rules, so that a group that an earlier version had is no news.

use parity_schemas::history::{GroupHistory, History};
use parity_schemas::tally::{INTERVAL_MICROS, minute};
use parity_schemas::time::Timestamp;
use parity_sink::read::history::{Buckets, HistoryFilter};
use parity_sink::{Reader, Selection, StoreError};

use super::shared::share;
use crate::question::Question;

/// The time that is shown unless somebody asks for another: a night and what was before, and little to read from any store.
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
/// Bars of a group in a list: with more, a page of a hundred groups would be mostly bars.
const BARS: usize = 48;

/// When that began: with a minute, as counts do. So who loads a page again within it asks the same.
pub(crate) fn a_day_ago() -> Timestamp {
    let day_ago = Timestamp::now().saturating_add_micros(-DAY_MICROS);
    Timestamp::from_micros(minute(day_ago).saturating_mul(INTERVAL_MICROS))
}

/// Groups over time.
pub(crate) struct GroupTimes {
    history: History,
    /// The same of one version of the candidate in the same buckets, where several counted side by side and rates are drawn.
    own: Option<(String, History)>,
}

/// When a group was first or last seen, and under which version of the candidate, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenAt {
    /// When.
    pub(crate) time: Timestamp,
    /// `None` if it is not known, or several counted then.
    pub(crate) version: Option<String>,
}

impl GroupTimes {
    /// Reads those of these names, over the time that was asked for or else the last day.
    pub(crate) fn read(
        reader: &Reader,
        question: &Question,
        names: Vec<String>,
        route: Option<&str>,
    ) -> Result<Self, StoreError> {
        let selection = &question.selection;
        let filter = HistoryFilter {
            selection: Selection {
                migration: selection.migration.clone(),
                since: Some(selection.since.unwrap_or_else(a_day_ago)),
                ..Selection::default()
            },
            fingerprints: names,
            route: route.map(str::to_owned),
            without_latency: true,
            ..HistoryFilter::default()
        };
        let history = reader.history(&filter)?;
        let are_beside = history
            .buckets
            .iter()
            .any(|bucket| !bucket.candidates.is_empty());
        let newest = history.identities.iter().max_by_key(|one| one.last);
        let newest = newest.map(|newest| newest.candidate_version.clone());
        let version = selection.candidate_version.clone().or(newest);
        // Only one route has a chart, with a rate.
        let version = version.filter(|_| are_beside && route.is_some());
        let own = match version {
            Some(version) => {
                let own = reader.history(&HistoryFilter {
                    selection: Selection {
                        candidate_version: Some(version.clone()),
                        ..filter.selection
                    },
                    buckets: Buckets::of(&history),
                    ..filter
                })?;
                Some((version, own))
            }
            None => None,
        };
        Ok(Self { history, own })
    }

    fn of<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a GroupHistory> {
        of(&self.history, names)
    }

    /// Mismatches in each bucket, together.
    fn by_bucket(history: &History, names: &[String]) -> Vec<u64> {
        let mut sums = vec![0_u64; history.places()];
        for group in of(history, names) {
            for (sum, count) in sums.iter_mut().zip(&group.count_by_bucket) {
                *sum = sum.saturating_add(*count);
            }
        }
        sums
    }

    /// Them in as few bars as a list has room for.
    pub(crate) fn bars(&self, names: &[String]) -> Vec<u64> {
        let counts = Self::by_bucket(&self.history, names);
        let each = counts.len().div_ceil(BARS).max(1);
        let bars = counts.chunks(each);
        bars.map(|bar| bar.iter().fold(0, |sum: u64, one| sum.saturating_add(*one)))
            .collect()
    }

    /// When it was first seen: at the time that a report has of its version, or earlier in this range.
    pub(crate) fn first(&self, names: &[String], reported: Timestamp) -> SeenAt {
        let seen = self.of(names).filter_map(|group| group.first_seen).min();
        self.at(seen.map_or(reported, |seen| seen.min(reported)))
    }

    /// When it was last seen.
    pub(crate) fn last(&self, names: &[String], reported: Timestamp) -> SeenAt {
        let seen = self.of(names).filter_map(|group| group.last_seen).max();
        self.at(seen.map_or(reported, |seen| seen.max(reported)))
    }

    fn at(&self, time: Timestamp) -> SeenAt {
        let step = i64::try_from(self.history.bucket_seconds.saturating_mul(1_000_000));
        let step = step.unwrap_or(i64::MAX);
        let mut buckets = self.history.buckets.iter();
        let bucket = buckets
            .find(|bucket| bucket.from <= time && time < bucket.from.saturating_add_micros(step));
        let identities = bucket.map_or(&[][..], |bucket| &bucket.identities);
        let versions = identities.iter().filter_map(|number| {
            let identity = self.history.identities.get(*number as usize)?;
            Some(identity.candidate_version.as_str())
        });
        let mut versions: Vec<&str> = versions.collect();
        versions.sort_unstable();
        versions.dedup();
        let version = match versions.as_slice() {
            [only] if !only.is_empty() => Some((*only).to_owned()),
            _ => None,
        };
        SeenAt { time, version }
    }

    /// The history of its route with these groups alone as what differs: to be drawn as that of all that differs is.
    pub(crate) fn alone(&self, names: &[String]) -> History {
        let mut history = self.history.clone();
        only(&mut history, names);
        if let Some((version, own)) = &self.own {
            let mut own = own.clone();
            only(&mut own, names);
            share(&mut history, &own);
            history.of_candidate = Some(version.clone());
        }
        history.routes.clear();
        history.groups.clear();
        history
    }
}

/// Those of a history that have one of these names.
fn of<'a>(history: &'a History, names: &'a [String]) -> impl Iterator<Item = &'a GroupHistory> {
    let all = history.groups.iter();
    all.filter(|group| names.contains(&group.fingerprint))
}

/// Leaves only what these groups count of what differs.
fn only(history: &mut History, names: &[String]) {
    let counts = GroupTimes::by_bucket(history, names);
    let places = history.buckets.iter().map(|bucket| history.place(bucket));
    let places: Vec<Option<usize>> = places.collect();
    for (bucket, place) in history.buckets.iter_mut().zip(places) {
        let count = place.and_then(|place| counts.get(place).copied());
        bucket.differing = count.unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::evidence::Window;
    use parity_schemas::history::{HistoryBucket, HistoryIdentity};

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_micros(minute * 60_000_000)
    }

    /// A hundred minutes: version 1 in the first fifty, both in the next one, version 2 from then on.
    fn times() -> GroupTimes {
        let mut filter = parity_schemas::history::History {
            schema: String::new(),
            migration: String::new(),
            legacy_version: None,
            candidate_version: None,
            route: None,
            window: Some(Window {
                from: at(0),
                to: at(100),
            }),
            bucket_seconds: 60,
            buckets: Vec::new(),
            onset: None,
            without_excused: false,
            as_recorded: Vec::new(),
            with_latency: false,
            of_candidate: None,
            identities: Vec::new(),
            marks: Vec::new(),
            candidate_errors: Vec::new(),
            client_outages: Vec::new(),
            client_errors: Vec::new(),
            slow: Vec::new(),
            unrecorded: None,
            outages: Vec::new(),
            news: Vec::new(),
            routes: Vec::new(),
            routes_left_out: 0,
            groups: Vec::new(),
        };
        for version in ["1", "2"] {
            filter.identities.push(HistoryIdentity {
                legacy_version: String::new(),
                candidate_version: version.to_owned(),
                rules_hash: String::new(),
                first: at(0),
                last: at(99),
            });
        }
        filter.buckets.extend((0..100).map(|minute| HistoryBucket {
            from: at(minute),
            compared: 10,
            differing: 9,
            identities: match minute {
                ..50 => vec![0],
                50 => vec![0, 1],
                _ => vec![1],
            },
            ..HistoryBucket::default()
        }));
        for (name, first) in [("a", 10), ("b", 60)] {
            let mut count_by_bucket = vec![0; 100];
            count_by_bucket[first..].fill(1);
            filter.groups.push(GroupHistory {
                fingerprint: name.to_owned(),
                first_seen: Some(at(i64::try_from(first).expect("small"))),
                last_seen: Some(at(99)),
                count: 100,
                count_by_bucket,
                ..GroupHistory::default()
            });
        }
        GroupTimes {
            history: filter,
            own: None,
        }
    }

    #[test]
    fn bars_are_few_and_add_up() {
        let times = times();
        let both = ["a".to_owned(), "b".to_owned()];
        let bars = times.bars(&both);
        assert!(bars.len() <= BARS, "{}", bars.len());
        assert_eq!(bars.iter().sum::<u64>(), 90 + 40);
        assert_eq!(times.bars(&["c".to_owned()]).iter().sum::<u64>(), 0);
        let alone = times.alone(&both[1..]);
        let differing = alone.buckets.iter().map(|bucket| bucket.differing);
        assert_eq!(differing.sum::<u64>(), 40);
    }

    #[test]
    fn a_group_is_seen_since_an_earlier_version_if_that_had_it() {
        let times = times();
        let seen = |time, version: Option<&str>| SeenAt {
            time,
            version: version.map(str::to_owned),
        };
        let [a, b] = ["a", "b"].map(|name| [name.to_owned()]);
        assert_eq!(times.first(&a, at(60)), seen(at(10), Some("1")));
        assert_eq!(times.first(&b, at(60)), seen(at(60), Some("2")));
        // A report may reach further back than the range.
        assert_eq!(times.first(&b, at(-5)), seen(at(-5), None));
        // Two versions at once.
        assert_eq!(times.first(&b, at(50)), seen(at(50), None));
        assert_eq!(times.last(&a, at(20)), seen(at(99), Some("2")));
    }
}
