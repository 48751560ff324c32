//! Differences that count as equal, by the reason.

use std::collections::BTreeMap;

use parity_comparator::document::hits;
use parity_schemas::verdict::{EqualByDefault, Tolerated};

use super::Diff;
use crate::view::Place;
use crate::view::words::shown;

/// The differences that one reason excuses.
pub(crate) struct Equal<'a> {
    /// How often.
    pub(crate) count: u64,
    /// Whether there may be more, because the list of places was cut.
    pub(crate) at_least: bool,
    /// The reason, in words.
    pub(crate) why: String,
    /// The places that were listed.
    pub(crate) places: Vec<Place<'a>>,
}

/// All differences that count as equal.
pub(crate) struct Excused<'a> {
    /// By reason: first what is equal by default, then what rules excuse.
    pub(crate) equal: Vec<Equal<'a>>,
    /// Headers that always differ, such as `date`.
    pub(crate) headers: Vec<&'a str>,
    /// Rules that excused nothing.
    pub(crate) unused: Vec<&'a str>,
}

impl<'a> Excused<'a> {
    pub(super) fn of(diff: &Diff<'a>) -> Self {
        let listed = &diff.comparison.tolerated;
        let mut reasons: BTreeMap<&str, Vec<Place<'a>>> = BTreeMap::new();
        let mut headers = Vec::new();
        for tolerated in listed {
            if tolerated.why.starts_with("default:") {
                headers.push(tolerated.path.as_str());
            } else {
                let places = reasons.entry(&tolerated.why).or_default();
                places.push(Place::from(tolerated));
            }
        }
        // The list may have been cut, but the hits of rules are counted in full.
        let cut = listed.len() >= diff.limits.tolerated;
        let by_default = reasons.iter().filter(|(why, _)| !why.starts_with("rule:"));
        let mut equal: Vec<Equal<'a>> = by_default
            .map(|(why, places)| Equal {
                count: places.len() as u64,
                at_least: cut,
                why: why
                    .parse::<EqualByDefault>()
                    .map_or_else(|_| shown(why), |default| default.meaning().to_owned()),
                places: places.clone(),
            })
            .collect();
        let mut unused = Vec::new();
        for (id, hits) in hits(diff.comparison, diff.rules) {
            if hits == 0 {
                unused.push(id);
                continue;
            }
            let places = reasons.remove(format!("rule:{id}").as_str());
            equal.push(Equal {
                count: hits,
                at_least: false,
                why: format!("by rule {}", shown(id)),
                places: places.unwrap_or_default(),
            });
        }
        Self {
            equal,
            headers,
            unused,
        }
    }
}

impl<'a> From<&'a Tolerated> for Place<'a> {
    fn from(tolerated: &'a Tolerated) -> Self {
        Self {
            part: tolerated.part,
            path: &tolerated.path,
        }
    }
}
