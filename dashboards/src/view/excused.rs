//! What differs and counts as equal, by the reason: of two files, or of a recorded mismatch.

use std::collections::BTreeMap;

use parity_schemas::verdict::{Tolerated, Why};

use super::Place;
use super::words::{grouped, shown};

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
    /// Rules that were not applied, because each is for one route.
    pub(crate) of_one_route: Vec<&'a str>,
}

impl<'a> Excused<'a> {
    /// Of a comparison, whose `hits` of every rule are counted in full even if the list is cut.
    pub(crate) fn by_hits(
        listed: &'a [Tolerated],
        is_cut: bool,
        hits: impl Iterator<Item = (&'a str, u64)>,
    ) -> Self {
        let (mut excused, mut by_rule) = Self::by_default(listed, is_cut);
        for (id, hits) in hits {
            if hits == 0 {
                excused.unused.push(id);
                continue;
            }
            let places = by_rule.remove(id).unwrap_or_default();
            excused.equal.push(Equal::by_rule(id, hits, false, places));
        }
        excused
    }

    /// Of two files, to which no rule for one route applies.
    pub(crate) fn without_route(mut self, of_one_route: impl Iterator<Item = &'a str>) -> Self {
        self.of_one_route = of_one_route.collect();
        self.unused.retain(|id| !self.of_one_route.contains(id));
        self
    }

    /// Of a record, of which only the list is known.
    pub(crate) fn recorded(listed: &'a [Tolerated], is_cut: bool) -> Self {
        let (mut excused, by_rule) = Self::by_default(listed, is_cut);
        for (id, places) in by_rule {
            let hits = places.len() as u64;
            excused.equal.push(Equal::by_rule(id, hits, is_cut, places));
        }
        excused
    }

    /// What is equal without a rule, and the places that each rule excuses.
    fn by_default(
        listed: &'a [Tolerated],
        is_cut: bool,
    ) -> (Self, BTreeMap<&'a str, Vec<Place<'a>>>) {
        let mut reasons: BTreeMap<&Why, Vec<Place<'a>>> = BTreeMap::new();
        let mut by_rule: BTreeMap<&str, Vec<Place<'a>>> = BTreeMap::new();
        let mut headers = Vec::new();
        for tolerated in listed {
            let place = Place::from(tolerated);
            match &tolerated.why {
                Why::Field(_) => headers.push(place.path),
                Why::Rule(id) => by_rule.entry(id).or_default().push(place),
                // Nothing is known to be equal there.
                Why::NotCompared(_) | Why::NotComparedBy(_) => {}
                why => reasons.entry(why).or_default().push(place),
            }
        }
        let equal = reasons.into_iter().map(|(why, places)| Equal {
            count: places.len() as u64,
            at_least: is_cut,
            why: match why {
                Why::Default(default) => default.meaning().to_owned(),
                why => shown(&why.to_string()),
            },
            places,
        });
        let excused = Self {
            equal: equal.collect(),
            headers,
            unused: Vec::new(),
            of_one_route: Vec::new(),
        };
        (excused, by_rule)
    }

    /// Whether nothing differs that counts as equal.
    pub(crate) fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.headers.is_empty()
    }
}

impl<'a> Equal<'a> {
    fn by_rule(id: &str, count: u64, at_least: bool, places: Vec<Place<'a>>) -> Self {
        Self {
            count,
            at_least,
            why: format!("by rule {}", shown(id)),
            places,
        }
    }

    /// How often, and why.
    pub(crate) fn summary(&self) -> String {
        let least = if self.at_least { "at least " } else { "" };
        format!("{least}{} × {}", grouped(self.count), self.why)
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

#[cfg(test)]
mod tests {
    use parity_schemas::verdict::{EqualByDefault, Part, Reason};

    use super::*;

    fn tolerated(path: &str, why: Why) -> Tolerated {
        Tolerated {
            part: Part::Body,
            path: path.to_owned(),
            why,
        }
    }

    #[test]
    fn a_record_counts_what_it_lists_and_a_comparison_the_hits() {
        let rule = || Why::Rule("times".to_owned());
        let listed = [
            tolerated("", Why::NotCompared(Reason::Stream)),
            tolerated("/n", Why::Default(EqualByDefault::EqualDecimal)),
            tolerated("/t", rule()),
            tolerated("date", Why::Field("date".to_owned())),
            tolerated("/u", rule()),
        ];
        let summaries = |excused: &Excused<'_>| -> Vec<String> {
            excused.equal.iter().map(Equal::summary).collect()
        };
        let recorded = Excused::recorded(&listed, true);
        assert_eq!(
            summaries(&recorded),
            [
                "at least 1 × the same number in other digits",
                "at least 2 × by rule times"
            ]
        );
        assert_eq!(recorded.headers, ["date"]);
        let hits = [("times", 7), ("unused", 0)].into_iter();
        let compared = Excused::by_hits(&listed, false, hits);
        assert_eq!(
            summaries(&compared),
            ["1 × the same number in other digits", "7 × by rule times"]
        );
        assert_eq!(compared.unused, ["unused"]);
        let of_files = compared.without_route(["unused"].into_iter());
        assert!(of_files.unused.is_empty());
        assert_eq!(of_files.of_one_route, ["unused"]);
        assert!(Excused::recorded(&listed[..1], false).is_empty());
    }
}
