//! The screen of one route.

use askama::Template;
use parity_schemas::browse::Tab;
use parity_schemas::history::History;
use parity_schemas::lists::RouteRule;
use parity_schemas::record::Mismatch;
use parity_schemas::terms::RulesText;
use parity_schemas::visible::visible;

use super::chart::Chart;
use super::shell::{Scope, Screen, Shell};
use super::tables::{GroupTable, Stored};
use super::told::told;
use super::{applies, count, fields_compared, group_address, moment, number, second, side};
use crate::links::{Elsewhere, Known, escaped};
use crate::view::words::{grouped, of_received, targets_line, version};
use crate::view::{
    AllUnanswered, Browsed, Browsing, CauseHere, CauseName, Decided, ExcusedColumns, GroupTimes,
    LeftOut, RouteView, a_day_ago, sentences_of_route,
};

/// Groups on the page of a route, the gravest; the list of groups has all.
const MAX_GROUPS: usize = 20;
/// Causes on it.
const MAX_CAUSES: usize = 20;
/// Rules on it, those of the route alone first.
const MAX_RULES: usize = 50;

/// What the page of a route is made of.
pub(crate) struct RouteFound<'a> {
    /// The report that has it, or has not.
    pub(crate) decided: &'a Decided,
    /// What the list of what counts leaves out of it.
    pub(crate) left_out: &'a LeftOut,
    /// What it is called.
    pub(crate) name: &'a str,
    /// How often it differed over time.
    pub(crate) history: &'a History,
    /// When its groups were found that are listed.
    pub(crate) times: &'a GroupTimes,
    /// When the candidate failed on it.
    pub(crate) unanswered: &'a AllUnanswered,
    /// The text of the rules in force, where it is recorded.
    pub(crate) rules: Option<&'a RulesText>,
    /// Some of its stored mismatches, the newest first.
    pub(crate) mismatches: &'a [Mismatch],
    /// Whether these are not the newest.
    pub(crate) is_later: bool,
    /// Where older ones begin, if there are some.
    pub(crate) next: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "route.html")]
struct RoutePage<'a> {
    shell: &'a Shell,
    name: &'a str,
    decided: &'a Decided,
    view: Option<RouteView<'a>>,
    told: Vec<String>,
    excused: Vec<(String, String)>,
    chart: Option<Chart<'a>>,
    unanswered: &'a AllUnanswered,
    tabs: Vec<(Tab, usize)>,
    table: GroupTable<'a>,
    /// How many groups that count are not listed.
    more_groups: usize,
    causes: Vec<CauseHere<'a>>,
    more_causes: usize,
    rules: Option<Vec<RouteRule>>,
    more_rules: usize,
    stored: Stored<'a>,
    documents: Vec<(&'static str, String)>,
    elsewhere: Vec<Elsewhere>,
}

impl RoutePage<'_> {
    /// The list of its groups, on a tab.
    fn groups(&self, tab: Tab) -> String {
        let of = [("tab", tab.as_str()), ("of_route", self.name)];
        self.shell.scope.with(Screen::Groups.path(), &of)
    }

    fn cause(&self, here: &CauseHere<'_>) -> String {
        group_address(self.shell, &here.group.fingerprint, &here.group.route)
    }

    /// From when to when it is counted, and what was counted before by other rules with it.
    fn counted(&self) -> Option<String> {
        let window = self.decided.report.counted_window_of(self.name)?;
        Some(format!("{} to {}", second(window.from), second(window.to)))
    }
}

/// Which groups of the route are listed.
fn browsed<'a>(decided: &'a Decided, left_out: &'a LeftOut, name: &str) -> Browsed<'a> {
    let asked = Browsing {
        of_route: Some(name.to_owned()),
        ..Browsing::default()
    };
    let mut list = Browsed::of(decided, left_out, &asked);
    list.rows.truncate(MAX_GROUPS);
    list
}

/// The names by which the history of the groups is asked for that are listed.
pub(crate) fn route_names(decided: &Decided, left_out: &LeftOut, name: &str) -> Vec<String> {
    browsed(decided, left_out, name).names()
}

/// What is over the first of a list.
fn cut<T>(list: &mut Vec<T>, most: usize) -> usize {
    let more = list.len().saturating_sub(most);
    list.truncate(most);
    more
}

/// One route.
pub(crate) fn route(shell: &Shell, found: &RouteFound<'_>) -> askama::Result<String> {
    let RouteFound { decided, name, .. } = *found;
    let view = RouteView::find(decided, name);
    let list = browsed(decided, found.left_out, name);
    let mut causes = view.as_ref().map(RouteView::causes).unwrap_or_default();
    let more_causes = cut(&mut causes, MAX_CAUSES);
    let mut rules = view.as_ref().and_then(|view| view.rules(found.rules));
    let more_rules = rules.as_mut().map_or(0, |rules| cut(rules, MAX_RULES));
    let counted = view.as_ref().and_then(|view| view.counted);
    let excused = counted.map_or_else(Vec::new, |route| {
        let columns = ExcusedColumns::of(&route.excused);
        let titles = columns.titles().into_iter();
        titles.zip(columns.cells(&route.excused)).collect()
    });
    let history = found.history;
    let from = history.window.map_or_else(a_day_ago, |window| window.from);
    RoutePage {
        told: view.as_ref().map(RouteView::told).unwrap_or_default(),
        view,
        excused,
        chart: Chart::of(shell, history, sentences_of_route(history, decided, name)),
        unanswered: found.unanswered,
        more_groups: list.total.saturating_sub(list.rows.len()),
        tabs: list.tabs,
        table: GroupTable {
            shell,
            rows: list.rows,
            times: found.times,
            is_of_route: true,
        },
        causes,
        more_causes,
        rules,
        more_rules,
        stored: Stored {
            shell,
            rows: found.mismatches,
            group: None,
            is_later: found.is_later,
            older: found.next.map(|next| {
                let more = [("of_route", name), ("after", next)];
                shell.scope.with(Screen::Routes.path(), &more)
            }),
        },
        documents: documents(&shell.scope, name),
        elsewhere: shell.elsewhere(&Known {
            trace_id: None,
            from,
            to: history.window.map_or(from, |window| window.to),
            route: Some(name),
            group: None,
            migration: &shell.migration,
            candidate_version: &decided.report.candidate_version,
        }),
        shell,
        name,
        decided,
    }
    .render()
}

/// Where the API has the same.
fn documents(scope: &Scope, name: &str) -> Vec<(&'static str, String)> {
    let of = [("route", name)];
    let stored = scope.only(&["migration", "candidate_version", "since"]);
    vec![
        (
            "the route",
            scope.to(&format!("/api/v1/routes/{}", escaped(name))),
        ),
        ("its groups", scope.with("/api/v1/groups", &of)),
        ("over time", scope.with("/api/v1/history", &of)),
        ("stored mismatches", stored.with("/api/v1/mismatches", &of)),
    ]
}
