//! The screens of the admin port: overview, causes, groups, one group, routes, noise, rules, health.
//!
//! Each shows a part of what the whole report shows, from the same models, so that no two screens disagree.

use askama::Template;
use parity_comparator::RuleConfig;
use parity_schemas::browse::{Order, Tab};
use parity_schemas::evidence::{Outcome, RouteDecision};
use parity_schemas::history::History;
use parity_schemas::record::Mismatch;
use parity_schemas::suggested::{Effect, Suggestions};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;
use parity_schemas::watermark::InstanceWatermark;
use uuid::Uuid;

use super::chart::{Chart, Sparkline};
use super::shell::{Screen, Shell};
use super::{
    Examples, ROOM, count, fields_compared, group_path, latency, lines, moment,
    most_frequent_share, number, percent, second, side, spark, target_count,
};
use crate::links::{Elsewhere, Known};
use crate::view::words::{grouped, plural, sentence, version};
use crate::view::{
    Browsed, BrowsedGroup, Browsing, CauseName, ClientsView, DAY_MICROS, Decided, DecisionView,
    Differing, Entry, Group, GroupTimes, Headline, LeftOut, MismatchView, ReportView, SeenAt,
    SinkStatus, Tone, Weight, adoptable, history_sentences, left_out, not_compared,
};

/// Reasons of a decision that stand on the overview; the others can be unfolded.
const MAX_REASONS: usize = 4;
/// Causes and groups on the overview.
const MAX_TOP: usize = 5;
/// Causes and groups on the screen of causes; the list of groups has all of them.
const MAX_ENTRIES: usize = 100;
/// Groups that are listed with their cause on a screen.
const MAX_MEMBERS: usize = 50;
/// Undecided routes that are named on the overview, those with the most traffic first.
const MAX_UNDECIDED: usize = 10;

/// Sentences of which the first are shown at once.
struct Reasons {
    first: Vec<String>,
    rest: Vec<String>,
}

impl Reasons {
    fn more(&self) -> String {
        plural(self.rest.len() as u64, "more reason", "more reasons")
    }
}

/// The first of a list, and how long all of it is, in words.
struct Top<'a> {
    entries: Vec<Entry<'a>>,
    extent: String,
}

/// How many routes are decided in which way, and those that are not.
struct RoutesTold<'a> {
    told: String,
    undecided: Vec<&'a RouteDecision>,
}

impl<'a> RoutesTold<'a> {
    fn of(routes: &'a [RouteDecision]) -> Self {
        let of = |outcome| {
            let all = routes.iter();
            all.filter(move |route| !route.unserved && route.outcome == outcome)
        };
        let mut undecided: Vec<_> = of(Outcome::Undecided).collect();
        undecided.sort_by_key(|route| std::cmp::Reverse(route.received));
        let told = format!(
            "{}: {} pass, {} fail, {} not decided.",
            plural(routes.len() as u64, "route", "routes"),
            grouped(of(Outcome::Pass).count() as u64),
            grouped(of(Outcome::Fail).count() as u64),
            grouped(undecided.len() as u64),
        );
        undecided.truncate(MAX_UNDECIDED);
        Self { told, undecided }
    }
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
    headline: Headline,
    clients: ClientsView<'a>,
    reasons: Reasons,
    top: Top<'a>,
    news: Vec<(Tab, usize)>,
    routes: RoutesTold<'a>,
    chart: Option<Chart<'a>>,
    examples: Examples,
    elsewhere: Vec<Elsewhere>,
    times: Option<&'a GroupTimes>,
}

/// The overview: are users hurt, does parity hold, can this be trusted, what is gravest.
pub(crate) fn overview(
    shell: &Shell,
    decided: &Decided,
    history: &History,
) -> askama::Result<String> {
    let view = ReportView::from(decided);
    let mut first = view.decision.reasons.clone();
    first.extend(view.not_counted(&view.decision.reasons));
    let rest = first.split_off(first.len().min(MAX_REASONS));
    let differing = view.differing().first(MAX_TOP, MAX_MEMBERS);
    let (entries, extent) = (differing.entries, differing.extent);
    let left_out = left_out(decided);
    let browsed = Browsed::of(decided, &left_out, &Browsing::default());
    let now = Timestamp::now();
    let begins = [history.window, decided.report.window]
        .into_iter()
        .flatten();
    let from = begins.map(|window| window.from).next();
    let is_news = |tab: Tab| matches!(tab, Tab::Regressed | Tab::Growing);
    let news = browsed.tabs.into_iter();
    let news = news.filter(|(tab, count)| is_news(*tab) && *count > 0);
    OverviewPage {
        shell,
        headline: view.headline(),
        clients: view.clients(),
        reasons: Reasons { first, rest },
        top: Top { entries, extent },
        news: news.collect(),
        routes: RoutesTold::of(&decided.decision.routes),
        chart: Chart::of(history, history_sentences(history, decided)),
        examples: Examples::Served,
        times: None,
        elsewhere: shell.elsewhere(&Known {
            trace_id: None,
            from: from.unwrap_or_else(|| now.saturating_add_micros(-DAY_MICROS)),
            to: now,
            route: None,
            group: None,
            migration: &shell.migration,
            candidate_version: &decided.report.candidate_version,
        }),
        view,
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
        chart: Chart::of(history, history_sentences(history, decided)),
    }
    .render()
}

#[derive(Template)]
#[template(path = "causes.html")]
struct CausesPage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
    differing: Differing<'a>,
    examples: Examples,
    times: Option<&'a GroupTimes>,
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
) -> askama::Result<String> {
    CausesPage {
        shell,
        view: ReportView::from(decided),
        differing: listed_causes(decided),
        examples: Examples::Served,
        times: Some(times),
    }
    .render()
}

#[derive(Template)]
#[template(path = "routes.html")]
struct RoutesPage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
    decision: DecisionView<'a>,
}

/// All routes, and what is proven of each.
pub(crate) fn routes(shell: &Shell, decided: &Decided) -> askama::Result<String> {
    RoutesPage {
        shell,
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
    examples: Examples,
}

/// What is noise, or looks like it.
pub(crate) fn noise(shell: &Shell, decided: &Decided) -> askama::Result<String> {
    NoisePage {
        shell,
        view: ReportView::from(decided),
        examples: Examples::Served,
    }
    .render()
}

#[derive(Template)]
#[template(path = "rules.html")]
struct RulesPage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
}

/// What rules excuse, which of them are idle, and what is known.
pub(crate) fn rules(shell: &Shell, decided: &Decided) -> askama::Result<String> {
    RulesPage {
        shell,
        view: ReportView::from(decided),
    }
    .render()
}

#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage<'a> {
    shell: &'a Shell,
    sink: Option<&'a SinkStatus>,
    watermarks: &'a [InstanceWatermark],
}

/// How the processes do.
pub(crate) fn health(
    shell: &Shell,
    sink: Option<&SinkStatus>,
    decided: &Decided,
) -> askama::Result<String> {
    HealthPage {
        shell,
        sink,
        watermarks: &decided.report.watermarks,
    }
    .render()
}

#[derive(Template)]
#[template(path = "groups.html")]
struct GroupsPage<'a> {
    shell: &'a Shell,
    asked: &'a Browsing,
    list: Browsed<'a>,
    times: &'a GroupTimes,
}

impl GroupsPage<'_> {
    fn spark(&self, row: &BrowsedGroup<'_>) -> Sparkline {
        Sparkline::of(&self.times.bars(row.names()), row.counted())
    }

    fn first(&self, row: &BrowsedGroup<'_>) -> SeenAt {
        self.times.first(row.names(), row.group.report.first_seen)
    }

    fn last(&self, row: &BrowsedGroup<'_>) -> SeenAt {
        self.times.last(row.names(), row.group.report.last_seen)
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

    fn group(&self, row: &BrowsedGroup<'_>) -> String {
        let report = row.group.report;
        group_address(self.shell, &report.fingerprint, &report.route)
    }
}

/// The address of the page of a group.
fn group_address(shell: &Shell, fingerprint: &str, route: &str) -> String {
    let path = group_path(fingerprint);
    shell.scope.with(&path, &[("of_route", route)])
}

/// A page of the list of groups.
pub(crate) fn groups(
    shell: &Shell,
    asked: &Browsing,
    list: Browsed<'_>,
    times: &GroupTimes,
) -> askama::Result<String> {
    GroupsPage {
        shell,
        asked,
        list,
        times,
    }
    .render()
}

/// A rule that would excuse a group.
struct RuleShown {
    toml: String,
    is_lossy: bool,
}

#[derive(Template)]
#[template(path = "group.html")]
struct GroupPage<'a> {
    shell: &'a Shell,
    group: Group<'a>,
    rate: Option<String>,
    interval: Option<String>,
    mismatches: &'a [Mismatch],
    /// Whether these are not the newest.
    is_later: bool,
    next: Option<String>,
    rule: Option<RuleShown>,
    /// Why none is suggested, if that is known.
    unruled: Option<&'a str>,
    known_command: String,
    /// The entry that this command writes; `None` for what is known, is noise or does not count.
    known_entry: Option<String>,
    chart: Option<Chart<'a>>,
    first: SeenAt,
    last: SeenAt,
    elsewhere: Vec<Elsewhere>,
}

impl GroupPage<'_> {
    fn mismatch(&self, id: &Uuid) -> String {
        let of = [("group", self.group.report.fingerprint.as_str())];
        self.shell.scope.with(&format!("/mismatches/{id}"), &of)
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of the page")]
    fn request(&self, mismatch: &Mismatch) -> String {
        MismatchView { mismatch }.request()
    }

    fn after(&self, next: &str) -> String {
        let report = self.group.report;
        let path = group_path(&report.fingerprint);
        let more = [("of_route", report.route.as_str()), ("after", next)];
        self.shell.scope.with(&path, &more)
    }
}

/// What the page of a group is made of.
pub(crate) struct GroupFound<'a> {
    /// The report that has it.
    pub(crate) decided: &'a Decided,
    /// What the list of what counts leaves out of it.
    pub(crate) left_out: &'a LeftOut,
    /// When it was found.
    pub(crate) times: &'a GroupTimes,
    /// Its name.
    pub(crate) fingerprint: &'a str,
    /// Which of the groups of this name; any if `None`.
    pub(crate) route: Option<&'a str>,
    /// Some of its mismatches, the newest first.
    pub(crate) mismatches: &'a [Mismatch],
    /// Whether these are not the newest.
    pub(crate) is_later: bool,
    /// Where older ones begin, if there are some.
    pub(crate) next: Option<String>,
    /// Rules that are suggested, and what gets none.
    pub(crate) suggestions: &'a Suggestions,
    /// The date on which what is entered now expires.
    pub(crate) expires: &'a str,
}

/// One group; `None` if the report has none of this name.
pub(crate) fn group(shell: &Shell, found: &GroupFound<'_>) -> Option<askama::Result<String>> {
    let row = Browsed::find(
        found.decided,
        found.left_out,
        found.fingerprint,
        found.route,
    )?;
    let fingerprint = row.group.report.fingerprint.as_str();
    let mut unruled = found.suggestions.unruled.iter();
    let unruled = unruled.find(|one| one.fingerprints.iter().any(|name| name == fingerprint));
    let mut rules = found.suggestions.rules.iter();
    let rule = rules.find(|rule| rule.fingerprints.iter().any(|name| name == fingerprint));
    let entered = adoptable(found.decided).into_iter();
    let mut entered = entered.filter(|one| one.fingerprints.iter().any(|name| name == fingerprint));
    let thresholds = &found.decided.decision.thresholds;
    let known_entry = entered
        .next()
        .map(|one| one.to_toml(fingerprint, found.expires, thresholds));
    let report = row.group.report;
    let alone = found.times.alone(row.names());
    let first = found.times.first(row.names(), report.first_seen);
    let last = found.times.last(row.names(), report.last_seen);
    let page = GroupPage {
        shell,
        chart: Chart::of_group(&alone),
        elsewhere: shell.elsewhere(&Known {
            trace_id: None,
            from: first.time,
            to: last.time.saturating_add_micros(INTERVAL_MICROS),
            route: Some(&report.route),
            group: Some(&report.fingerprint),
            migration: &shell.migration,
            candidate_version: &found.decided.report.candidate_version,
        }),
        first,
        last,
        known_entry,
        unruled: unruled.map(|one| one.why.as_str()),
        rate: row.rate(),
        interval: row.interval(),
        mismatches: found.mismatches,
        is_later: found.is_later,
        next: found.next.clone(),
        rule: rule.map(|rule| RuleShown {
            toml: format!("[[rule]]\n{}", RuleConfig::from(&rule.rule).to_toml()),
            is_lossy: rule.effect == Effect::Lossy,
        }),
        known_command: format!(
            "parity known add {fingerprint} --owner NAME --reason TEXT --expires {}",
            found.expires
        ),
        group: row.group,
    };
    Some(page.render())
}
