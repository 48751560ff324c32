//! The list of groups as a person works through it: a tab, an order, a filter, a page of it.
//!
//! It is what the report lists, and only cut and ordered in another way, so no number differs between the two.

use std::cmp::Reverse;
use std::collections::HashMap;

use parity_schemas::browse::{Order, Tab};
use parity_schemas::known::KnownState;
use parity_schemas::report::GroupReport;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Kind;
use parity_schemas::visible::{meant, names};
use parity_sink::read::history::MAX_GROUPS;

use super::Decided;
use super::excusing::may_excuse;
use super::listing::{Folded, LeftOut, Shelf};
use super::report::Group;
use super::words::{percent, plural, rate};

/// Groups on one page: some screens, which a browser draws at once. Ten thousand groups are a hundred pages.
pub(crate) const PER_PAGE: usize = 100;
/// The number of standard errors of a 95 % interval.
const Z: f64 = 1.96;

/// What is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Browsing {
    /// Which groups.
    pub(crate) tab: Tab,
    /// In which order.
    pub(crate) order: Order,
    /// Only of this route.
    pub(crate) of_route: Option<String>,
    /// Only those whose route, place, kind or explanation contains this text.
    pub(crate) find: Option<String>,
    /// Only of this kind.
    pub(crate) kind: Option<Kind>,
    /// Which page, from 1; 0 is the first, too.
    pub(crate) page: usize,
}

/// A page of the list.
pub(crate) struct Browsed<'a> {
    /// How many groups each tab has, under the same filter.
    pub(crate) tabs: Vec<(Tab, usize)>,
    /// The groups of the page.
    pub(crate) rows: Vec<BrowsedGroup<'a>>,
    /// Groups of the tab.
    pub(crate) total: usize,
    /// The page that is shown, from 1.
    pub(crate) page: usize,
    /// How many pages there are; 1 at least.
    pub(crate) pages: usize,
    /// Up to when they are counted, by which they are in their order; `None` if nothing is.
    pub(crate) counted: Option<Timestamp>,
    /// Whether other rules counted before, so that one of now may excuse a group that is not here.
    pub(crate) has_earlier_rules: bool,
}

/// A group in the list.
pub(crate) struct BrowsedGroup<'a> {
    /// What differs.
    pub(crate) group: Group<'a>,
    /// Compared requests of its route.
    pub(crate) compared: u64,
    /// The names of what was folded into it, the most frequent first.
    names: &'a [String],
}

/// Names of a row that are asked for when it was found: no page asks for more than a history has of groups.
const NAMES_OF_A_ROW: usize = MAX_GROUPS / PER_PAGE;

impl<'a> BrowsedGroup<'a> {
    fn of(folded: &'a Folded, compared: u64) -> Self {
        Self {
            group: Group::from(folded),
            compared,
            names: folded.folds.first().map_or(&[], |fold| &fold.fingerprints),
        }
    }

    /// The names by which its history is asked for.
    pub(crate) fn names(&self) -> &'a [String] {
        self.names.get(..NAMES_OF_A_ROW).unwrap_or(self.names)
    }

    /// What its history counts.
    pub(crate) fn counted(&self) -> &'static str {
        if self.names.len() > NAMES_OF_A_ROW {
            "mismatches of its most frequent shapes"
        } else {
            "mismatches"
        }
    }
}

impl BrowsedGroup<'_> {
    /// The share of the compared requests of its route; `None` where none was compared.
    pub(crate) fn rate(&self) -> Option<String> {
        rate(self.group.report.count, self.compared)
    }

    /// Where the true share is, with 95 % confidence; `None` where none was compared.
    pub(crate) fn bounds(&self) -> Option<(f64, f64)> {
        interval(self.group.report.count, self.compared)
    }

    /// The same in words.
    pub(crate) fn interval(&self) -> Option<String> {
        let (lower, upper) = self.bounds()?;
        Some(format!("{} – {}", percent(lower), percent(upper)))
    }
}

/// The interval of Wilson (1927) for a share, at 95 %: for people who read a list. What a decision rests on is computed where
/// decisions are made.
fn interval(part: u64, whole: u64) -> Option<(f64, f64)> {
    if whole == 0 {
        return None;
    }
    let n = whole as f64;
    let share = (part as f64 / n).min(1.0);
    let scale = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

/// Whether a group is on a tab.
fn is_on(tab: Tab, (shelf, folded): &(Shelf, &Folded)) -> bool {
    let state = folded.group.state;
    match tab {
        Tab::Counting => *shelf == Shelf::Counting,
        Tab::New => *shelf == Shelf::Counting && state == KnownState::New,
        Tab::Known => state != KnownState::New,
        Tab::Regressed => state == KnownState::Regressed,
        Tab::Growing => state == KnownState::Growing,
        Tab::Noise => *shelf == Shelf::Noise,
        Tab::Transient => *shelf == Shelf::Transient,
        Tab::All => true,
    }
}

/// Whether a group contains a text: in its route, at its place, in the words for how it differs, or as its name.
fn has(group: &GroupReport, text: &str) -> bool {
    let text = text.to_lowercase();
    let is_in = |of: &str| of.to_lowercase().contains(&text);
    is_in(&group.route)
        || group.members().any(|member| {
            is_in(member.fingerprint)
                || is_in(member.pattern)
                || is_in(member.part.as_str())
                || is_in(member.kind.as_str())
                || is_in(member.kind.meaning())
                || member
                    .explanation
                    .is_some_and(|explanation| is_in(explanation.as_str()))
        })
}

/// What the list of what counts leaves out.
pub(crate) fn left_out(decided: &Decided) -> LeftOut {
    LeftOut::of(&decided.report, decided.decision.thresholds.noise)
}

impl Browsed<'_> {
    /// The names by which the history of its rows is asked for.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.rows.iter().flat_map(BrowsedGroup::names);
        names.cloned().collect()
    }

    /// How many groups the tab has, in words.
    pub(crate) fn extent(&self) -> String {
        plural(self.total as u64, "group", "groups")
    }
}

impl<'a> Browsed<'a> {
    /// A page of what was counted.
    pub(crate) fn of(decided: &'a Decided, left_out: &'a LeftOut, asked: &Browsing) -> Self {
        let mut all = Self::whole(decided, left_out, asked);
        all.pages = all.total.div_ceil(PER_PAGE).max(1);
        all.page = asked.page.clamp(1, all.pages);
        let rows = all.rows.into_iter();
        all.rows = rows
            .skip((all.page - 1) * PER_PAGE)
            .take(PER_PAGE)
            .collect();
        all
    }

    /// All of it as one page.
    pub(crate) fn whole(decided: &'a Decided, left_out: &'a LeftOut, asked: &Browsing) -> Self {
        let compared: HashMap<&str, u64> = decided
            .report
            .routes
            .iter()
            .map(|route| (route.route.as_str(), route.compared))
            .collect();
        let compared = |folded: &Folded| {
            let route = compared.get(folded.group.route.as_str());
            route.copied().unwrap_or(0)
        };
        let of_route = |group: &GroupReport| {
            let route = asked.of_route.as_ref();
            route.is_none_or(|route| names(route, &group.route))
        };
        let is_found = |group: &GroupReport| {
            asked
                .find
                .as_ref()
                .is_none_or(|text| has(group, text) || has(group, &meant(text)))
        };
        let all = decided.listing.all(left_out);
        let of_kind = |group: &GroupReport| {
            let kind = asked.kind;
            kind.is_none_or(|kind| group.members().any(|member| member.kind == kind))
        };
        let is_asked = |group: &GroupReport| of_route(group) && of_kind(group) && is_found(group);
        let all: Vec<(Shelf, &Folded)> =
            all.filter(|(_, folded)| is_asked(&folded.group)).collect();
        let tabs = Tab::ALL.iter().map(|tab| {
            let here = all.iter().filter(|one| is_on(*tab, one));
            (*tab, here.count())
        });
        let tabs = tabs.collect();
        let here = all.iter().filter(|one| is_on(asked.tab, one));
        let mut here: Vec<&Folded> = here.map(|(_, folded)| *folded).collect();
        here.sort_by(|one, other| one.group.order(&other.group));
        let share = |folded: &Folded| folded.group.count as f64 / compared(folded).max(1) as f64;
        match asked.order {
            Order::Severity => {}
            Order::Count => here.sort_by_key(|folded| Reverse(folded.group.count)),
            Order::Rate => here.sort_by(|one, other| share(other).total_cmp(&share(one))),
            Order::LastSeen => here.sort_by_key(|folded| Reverse(folded.group.last_seen)),
            Order::FirstSeen => here.sort_by_key(|folded| Reverse(folded.group.first_seen)),
            Order::Route => here.sort_by(|one, other| one.group.route.cmp(&other.group.route)),
        }
        let window = decided.report.window;
        let rows = here.iter();
        Self {
            tabs,
            rows: rows
                .map(|folded| BrowsedGroup::of(folded, compared(folded)))
                .collect(),
            total: here.len(),
            page: 1,
            pages: 1,
            counted: window.map(|window| window.to.min(Timestamp::now())),
            has_earlier_rules: may_excuse(&decided.report),
        }
    }
}

impl<'a> Browsed<'a> {
    /// The group of this name, or the one that it is folded into.
    pub(crate) fn find(
        decided: &'a Decided,
        left_out: &'a LeftOut,
        fingerprint: &str,
        route: Option<&str>,
    ) -> Option<BrowsedGroup<'a>> {
        let is_it = |folded: &Folded| {
            route.is_none_or(|route| names(route, &folded.group.route))
                && (folded.folds.iter()).any(|fold| {
                    let mut names = fold.fingerprints.iter();
                    names.any(|name| name == fingerprint)
                })
        };
        let mut all = decided.listing.all(left_out);
        let (_, folded) = all.find(|(_, folded)| is_it(folded))?;
        let mut routes = decided.report.routes.iter();
        let compared = routes.find(|route| route.route == folded.group.route);
        let compared = compared.map_or(0, |route| route.compared);
        Some(BrowsedGroup::of(folded, compared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        assert_eq!(interval(0, 0), None);
        // By the formula in Newcombe (1998), table I: 81 of 263 and 0 of 20.
        for (part, whole, expected) in [
            (81, 263, (0.2553, 0.3662)),
            (0, 20, (0.0, 0.1611)),
            (1, 29, (0.0061, 0.1718)),
        ] {
            let (lower, upper) = interval(part, whole).expect("known");
            assert!(
                (lower - expected.0).abs() < 5e-5,
                "{part} of {whole}: {lower}"
            );
            assert!(
                (upper - expected.1).abs() < 5e-5,
                "{part} of {whole}: {upper}"
            );
        }
    }
}
