//! Groups that are new: what somebody who looks at a chart asks of a night, beside versions and configuration.
//!
//! In the first minutes of what is counted every group is new, and none is news, unless the candidate came back from an outage in
//! them. A group that another version had before is none either, which a history knows, because it is of all versions.

use std::cmp::Reverse;

use parity_schemas::history::{History, NewGroup};
use parity_schemas::time::Timestamp;

use crate::view::Decided;
use crate::view::difference::Place;
use crate::view::listing::Folded;

/// In this time from its begin, a version shows what it does differently in all that clients ask often.
const FIRST_MICROS: i64 = 10 * 60 * 1_000_000;
/// Groups that are told, the latest.
const MAX_NEWS: usize = 8;

/// Those of a report that may be news, the latest first: a history must be asked for them, by these names.
pub(super) fn names(decided: &Decided, route: Option<&str>) -> Vec<String> {
    let found = latest(decided, route).into_iter();
    found.map(|group| group.group.fingerprint.clone()).collect()
}

/// Takes over those that are news into a history that was asked for them, whose outages are known.
pub(super) fn tell(history: &mut History, decided: &Decided) {
    let Some(window) = decided.report.window else {
        return;
    };
    let version = &decided.report.candidate_version;
    let outages = history.outages.iter();
    let outages = outages.filter(|outage| outage.candidate_version == *version);
    let recovered = outages.map(|outage| outage.from).min();
    let usual = window.from.saturating_add_micros(FIRST_MICROS);
    let begin = recovered.map_or(usual, |recovered| recovered.min(usual));
    let is_first = |group: &Folded| {
        let mut known = history.groups.iter();
        let known = known.find(|known| known.fingerprint == group.group.fingerprint);
        let first = known.and_then(|known| known.first_seen);
        first.is_none_or(|first| first >= group.group.first_seen)
    };
    let is_in_range = |time: Timestamp| {
        let range = history.window;
        range.is_some_and(|range| range.from <= time && time < range.to)
    };
    let found = latest(decided, history.route.as_deref()).into_iter();
    let found = found.filter(|group| {
        let first = group.group.first_seen;
        first >= begin && is_in_range(first) && is_first(group)
    });
    let mut news: Vec<NewGroup> = found
        .map(|Folded { group, .. }| {
            let place = Place {
                part: group.part,
                path: &group.pattern,
            };
            NewGroup {
                fingerprint: group.fingerprint.clone(),
                route: group.route.clone(),
                what: format!("{} {}", place.shown(), group.kind),
                first_seen: group.first_seen,
                count: group.count,
            }
        })
        .collect();
    news.reverse();
    history.news = news;
}

/// The groups that count against the candidate and were first seen last, of one route if it is named.
fn latest<'a>(decided: &'a Decided, route: Option<&str>) -> Vec<&'a Folded> {
    let all = decided.listing.counting.iter();
    let here = all.filter(|one| route.is_none_or(|route| one.group.route == route));
    let mut found: Vec<&Folded> = here.collect();
    found.sort_by_key(|one| Reverse((one.group.first_seen, one.group.fingerprint.clone())));
    found.truncate(MAX_NEWS);
    found
}
