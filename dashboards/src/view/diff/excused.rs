//! Differences that count as equal, by the reason.

use std::collections::BTreeMap;

use parity_comparator::document::hits;
use parity_schemas::verdict::{Tolerated, Why};

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
        let mut reasons: BTreeMap<&Why, Vec<Place<'a>>> = BTreeMap::new();
        let mut by_rule: BTreeMap<&str, Vec<Place<'a>>> = BTreeMap::new();
        let mut headers = Vec::new();
        for tolerated in listed {
            let place = Place::from(tolerated);
            match &tolerated.why {
                Why::Field(_) => headers.push(place.path),
                Why::Rule(id) => by_rule.entry(id).or_default().push(place),
                why => reasons.entry(why).or_default().push(place),
            }
        }
        // The list may have been cut, but the hits of rules are counted in full.
        let cut = listed.len() >= diff.limits.tolerated;
        let mut equal: Vec<Equal<'a>> = reasons
            .into_iter()
            .map(|(why, places)| Equal {
                count: places.len() as u64,
                at_least: cut,
                why: match why {
                    Why::Default(default) => default.meaning().to_owned(),
                    why => shown(&why.to_string()),
                },
                places,
            })
            .collect();
        let mut unused = Vec::new();
        for (id, hits) in hits(diff.comparison, diff.rules) {
            if hits == 0 {
                unused.push(id);
                continue;
            }
            let places = by_rule.remove(id);
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
