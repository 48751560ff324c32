//! The screens of the admin port: causes, groups, routes, noise, rules, health. Overview and group have files of their own.
//!
//! Each shows a part of what the whole report shows, from the same models, so that no two screens disagree.

use askama::Template;
use parity_schemas::audit::Audit;
use parity_schemas::browse::{Order, Tab};
use parity_schemas::history::History;
use parity_schemas::known::KnownEntry;
use parity_schemas::lists::ExcusedGroup;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;
use parity_schemas::watermark::InstanceWatermark;

use super::chart::Chart;
use super::shell::{Scope, Screen, Shell};
use super::tables::GroupTable;
use super::told::told;
use super::{
    Examples, count, fields_compared, group_address, latency, moment, most_frequent_share, number,
    percent, second, side, spark, target_count,
};
use crate::view::words::{grouped, shown};
use crate::view::{
    AllUnanswered, Browsed, Browsing, CauseName, Decided, DecisionView, Differing, Entry,
    ExcusedGroups, GroupTimes, ReportView, SinkStatus, Standing, UnusedEntry, history_sentences,
    not_compared, unused_known,
};

/// Causes and groups on the screen of causes; the list of groups has all of them.
const MAX_ENTRIES: usize = 100;
/// Groups that are listed with their cause on a screen.
pub(super) const MAX_MEMBERS: usize = 50;

#[derive(Template)]
#[template(path = "unknown_migration.html")]
struct UnknownMigrationPage<'a> {
    shell: &'a Shell,
    told: &'a str,
    /// Where those are that are recorded, with their names.
    recorded: Vec<(String, &'a str)>,
}

/// In place of any screen: nothing is recorded under the name of its migration, and something is under others.
pub(crate) fn unknown_migration(shell: &Shell, told: &str) -> askama::Result<String> {
    let path = shell.action();
    let recorded = shell.known.migrations.iter().map(|name| {
        let of = [("migration", name.as_str())];
        (Scope::default().with(path, &of), name.as_str())
    });
    UnknownMigrationPage {
        shell,
        told,
        recorded: recorded.collect(),
    }
    .render()
}

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage<'a> {
    shell: &'a Shell,
    chart: Option<Chart<'a>>,
}

/// How parity held over time.
pub(crate) fn history(
    shell: &Shell,
    decided: &Decided,
    history: &History,
) -> askama::Result<String> {
    HistoryPage {
        shell,
        chart: Chart::of(shell, history, history_sentences(history, decided)),
    }
    .render()
}

#[derive(Template)]
#[template(path = "causes.html")]
struct CausesPage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
    differing: Differing<'a>,
    examples: Examples<'a>,
    times: Option<&'a GroupTimes>,
    unanswered: &'a AllUnanswered,
}

/// What the screen of causes lists.
fn listed_causes(decided: &Decided) -> Differing<'_> {
    let differing = ReportView::from(decided).differing();
    differing.first(MAX_ENTRIES, MAX_MEMBERS)
}

/// The names by which the history of that is asked for.
pub(crate) fn causes_names(decided: &Decided) -> Vec<String> {
    let differing = listed_causes(decided);
    let entries = differing.entries.iter().chain(&differing.spelt);
    entries.flat_map(Entry::names).collect()
}

/// What differs, by cause.
pub(crate) fn causes(
    shell: &Shell,
    decided: &Decided,
    times: &GroupTimes,
    unanswered: &AllUnanswered,
) -> askama::Result<String> {
    CausesPage {
        shell,
        view: ReportView::from(decided),
        differing: listed_causes(decided),
        examples: Examples::Served(&shell.scope),
        times: Some(times),
        unanswered,
    }
    .render()
}

#[derive(Template)]
#[template(path = "routes.html")]
struct RoutesPage<'a> {
    shell: &'a Shell,
    examples: Examples<'a>,
    view: ReportView<'a>,
    decision: DecisionView<'a>,
}

/// All routes, and what is proven of each.
pub(crate) fn routes(shell: &Shell, decided: &Decided) -> askama::Result<String> {
    RoutesPage {
        shell,
        examples: Examples::Served(&shell.scope),
        view: ReportView::from(decided),
        decision: DecisionView {
            decision: &decided.decision,
        },
    }
    .render()
}

#[derive(Template)]
#[template(path = "noise.html")]
struct NoisePage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
    examples: Examples<'a>,
}

/// What is noise, or looks like it.
pub(crate) fn noise(shell: &Shell, decided: &Decided) -> askama::Result<String> {
    NoisePage {
        shell,
        view: ReportView::from(decided),
        examples: Examples::Served(&shell.scope),
    }
    .render()
}

#[derive(Template)]
#[template(path = "rules.html")]
struct RulesPage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
    examples: Examples<'a>,
    excused: &'a ExcusedGroups,
    /// Entries of the register that mean nothing of what was counted.
    unused: Vec<UnusedEntry>,
}

impl RulesPage<'_> {
    /// Whether there is nothing to tell of any rule.
    fn has_nothing(&self) -> bool {
        let report = self.view.report;
        report.rules.is_empty()
            && report.idle_rules.is_empty()
            && self.view.excused_since().is_none()
            && self.excused.listed.is_empty()
    }

    fn group(&self, one: &ExcusedGroup) -> String {
        group_address(self.shell, &one.group.fingerprint, &one.route)
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of the page")]
    fn rules(&self, one: &ExcusedGroup) -> String {
        let rules: Vec<String> = one.rules.iter().map(|rule| shown(rule)).collect();
        rules.join(", ")
    }
}

/// What rules excuse, which of them are idle, and what is known: of the register also what nothing hit.
pub(crate) fn rules(
    shell: &Shell,
    decided: &Decided,
    excused: &ExcusedGroups,
    register: &[KnownEntry],
) -> askama::Result<String> {
    let view = ReportView::from(decided);
    RulesPage {
        shell,
        unused: unused_known(register, &decided.report.known, decided.decision.time),
        view,
        examples: Examples::Served(&shell.scope),
        excused,
    }
    .render()
}

#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage<'a> {
    shell: &'a Shell,
    sink: Option<&'a SinkStatus>,
    watermarks: &'a [InstanceWatermark],
    starts: &'a [Audit],
}

/// How much later than the first run of a process its start may be recorded.
const START_MICROS: i64 = 10_000_000;

impl HealthPage<'_> {
    /// When the process of a run began, which may have been long before the run: a run begins anew with other rules or versions. `None`
    /// where the record does not say it.
    fn process(&self, run: &InstanceWatermark) -> Option<Timestamp> {
        let begun = run.started?;
        let starts = self.starts.iter();
        let own = starts.filter(|start| {
            start.instance == run.instance
                && start.time <= begun.saturating_add_micros(START_MICROS)
        });
        own.map(|start| start.time.min(begun)).max()
    }
}

/// How the processes do. `starts` are those of processes, as the record has them.
pub(crate) fn health(
    shell: &Shell,
    sink: Option<&SinkStatus>,
    decided: &Decided,
    starts: &[Audit],
) -> askama::Result<String> {
    HealthPage {
        shell,
        sink,
        watermarks: &decided.report.watermarks,
        starts,
    }
    .render()
}

#[derive(Template)]
#[template(path = "groups.html")]
struct GroupsPage<'a> {
    shell: &'a Shell,
    asked: &'a Browsing,
    list: Browsed<'a>,
    table: GroupTable<'a>,
    unanswered: &'a AllUnanswered,
}

impl GroupsPage<'_> {
    /// Up to when the groups are counted that the order is of.
    fn counted(&self) -> Option<Timestamp> {
        self.list.counted
    }

    fn find(&self) -> &str {
        self.asked.find.as_deref().unwrap_or_default()
    }

    fn of_route(&self) -> &str {
        self.asked.of_route.as_deref().unwrap_or_default()
    }

    fn to(&self, tab: Tab, page: &str) -> String {
        let more = [
            ("tab", tab.as_str()),
            ("order", self.asked.order.as_str()),
            ("of_route", self.of_route()),
            ("find", self.find()),
            ("page", page),
        ];
        self.shell.scope.with(Screen::Groups.path(), &more)
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "askama passes what it loops over by reference"
    )]
    fn tab(&self, tab: &Tab) -> String {
        self.to(*tab, "")
    }

    fn page(&self, page: usize) -> String {
        self.to(self.asked.tab, &page.to_string())
    }
}

/// A page of the list of groups.
pub(crate) fn groups(
    shell: &Shell,
    asked: &Browsing,
    mut list: Browsed<'_>,
    times: &GroupTimes,
    unanswered: &AllUnanswered,
) -> askama::Result<String> {
    GroupsPage {
        shell,
        asked,
        table: GroupTable {
            shell,
            rows: std::mem::take(&mut list.rows),
            times,
            is_of_route: false,
        },
        list,
        unanswered,
    }
    .render()
}
