//! The overview, in the order of a night: are clients hurt, does parity hold, can this be trusted, what is gravest.

use askama::Template;
use parity_schemas::browse::Tab;
use parity_schemas::evidence::{Outcome, RouteDecision};
use parity_schemas::history::History;
use parity_schemas::time::Timestamp;

use super::chart::Chart;
use super::screens::MAX_MEMBERS;
use super::shell::Shell;
use super::told::told;
use super::{Examples, count, moment, number, percent, second, side, spark};
use crate::links::{Elsewhere, Known};
use parity_schemas::visible::visible;

use crate::view::words::{grouped, plural, version};
use crate::view::{
    Alert, AllUnanswered, Browsed, Browsing, CauseName, ClientsView, Decided, Entry, GroupTimes,
    Headline, Lately, Now, ReportView, Tone, Values, a_day_ago, history_sentences, left_out,
};

/// Reasons of a decision that stand on the overview; the others can be unfolded.
const MAX_REASONS: usize = 4;
/// Causes and groups that are named with the verdict.
const MAX_WORST: usize = 3;
/// Causes and groups on the overview.
const MAX_TOP: usize = 5;
/// Routes of one outcome that are named on the overview, those with the most to say first.
const MAX_ROUTES: usize = 10;

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

impl<'a> Top<'a> {
    /// What the first screen names, for who has no time to scroll: the most frequent.
    fn worst(&self) -> Vec<&Entry<'a>> {
        let mut all: Vec<_> = self.entries.iter().collect();
        all.sort_by_key(|entry| std::cmp::Reverse(entry.at_least()));
        all.truncate(MAX_WORST);
        all
    }
}

/// The values of an example, but for those of a status, which its name says.
fn values<'a>(entry: &'a Entry<'a>) -> Option<&'a Values<'a>> {
    match entry {
        Entry::Cause(cause) if matches!(cause.name, CauseName::Status(..)) => None,
        Entry::Cause(cause) => {
            let mut members = cause.listed().iter();
            members.find_map(|member| member.difference.values.as_ref())
        }
        Entry::Group(group) => group.difference.values.as_ref(),
    }
}

/// How many routes are decided in which way, those that fail, and those that are not decided.
struct RoutesTold<'a> {
    told: String,
    failing: Vec<&'a RouteDecision>,
    undecided: Vec<&'a RouteDecision>,
}

impl<'a> RoutesTold<'a> {
    fn of(routes: &'a [RouteDecision]) -> Self {
        let of = |outcome| {
            let all = routes.iter();
            all.filter(move |route| !route.unserved && route.outcome == outcome)
        };
        let mut failing: Vec<_> = of(Outcome::Fail).collect();
        failing.sort_by_key(|route| std::cmp::Reverse(route.differing));
        let mut undecided: Vec<_> = of(Outcome::Undecided).collect();
        undecided.sort_by_key(|route| std::cmp::Reverse(route.received));
        let unserved = routes.iter().filter(|route| route.unserved).count() as u64;
        let unserved = match unserved {
            0 => String::new(),
            some => format!(", {} not served", grouped(some)),
        };
        let told = format!(
            "{}: {} pass, {} fail, {} not decided{unserved}.",
            plural(routes.len() as u64, "route", "routes"),
            grouped(of(Outcome::Pass).count() as u64),
            grouped(failing.len() as u64),
            grouped(undecided.len() as u64),
        );
        failing.truncate(MAX_ROUTES);
        undecided.truncate(MAX_ROUTES);
        Self {
            told,
            failing,
            undecided,
        }
    }
}

/// What clients get, now and in the time that is shown.
struct NowTold {
    /// Whether anything is recorded of them.
    is_there: bool,
    tone: Tone,
    /// What the title says of them.
    title: &'static str,
    /// Of which time `now` is.
    label: String,
    now: String,
    /// The time that is shown, in words.
    span: String,
    shown: ClientsView,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
    headline: Headline,
    /// How much is excused, if anything is.
    excused: Option<String>,
    /// What the headline and the chart are of.
    counted: Option<String>,
    alerts: Vec<Alert>,
    clients: NowTold,
    reasons: Reasons,
    top: Top<'a>,
    news: Vec<(Tab, usize)>,
    routes: RoutesTold<'a>,
    chart: Option<Chart<'a>>,
    examples: Examples<'a>,
    elsewhere: Vec<Elsewhere>,
    times: Option<&'a GroupTimes>,
    unanswered: AllUnanswered,
}

/// The overview: are users hurt, does parity hold, can this be trusted, what is gravest.
pub(crate) fn overview(
    shell: &Shell,
    decided: &Decided,
    history: &History,
    lately: &Lately,
) -> askama::Result<String> {
    let view = ReportView::from(decided);
    let mut first = view.decision.reasons.clone();
    first.extend(view.not_counted(&view.decision.reasons));
    let rest = first.split_off(first.len().min(MAX_REASONS));
    let differing = view.differing().first(MAX_TOP, MAX_MEMBERS);
    let left_out = left_out(decided);
    let browsed = Browsed::of(decided, &left_out, &Browsing::default());
    // The number of the list of groups, so that nobody looks for one that is told in other words.
    let mut extent = format!(
        "{} against the candidate: {}",
        plural(browsed.total as u64, "group counts", "groups count"),
        differing.extent
    );
    if !differing.spelt.is_empty() {
        extent.extend(["; only spelt in another way: ", &differing.spelt_extent]);
    }
    if differing.groups != browsed.total as u64 {
        // Else whoever adds up takes one of the numbers for wrong.
        extent.push_str(
            ". Groups that come together in each answer are one line in the list of groups",
        );
    }
    let entries = differing.entries;
    let at = Timestamp::now();
    let now = Now {
        watermarks: &decided.report.watermarks,
        counted: decided.report.window.map(|window| window.to),
        history,
        lately,
        status: shell.status.as_ref(),
        candidate_version: &decided.report.candidate_version,
        allowed: decided.decision.thresholds.max_mismatch_rate,
    };
    let counted = decided.report.counted_window();
    let begins = [history.window, counted].into_iter().flatten();
    let from = begins.map(|window| window.from).next();
    let is_news = |tab: Tab| matches!(tab, Tab::Regressed | Tab::Growing);
    let news = browsed.tabs.into_iter();
    let news = news.filter(|(tab, count)| is_news(*tab) && *count > 0);
    OverviewPage {
        shell,
        headline: view.headline(),
        excused: view.excused(),
        counted: view.counted_beside(history, &shell.span(), second),
        alerts: now.alerts(second),
        clients: NowTold {
            is_there: history.window.is_some() || view.report.window.is_some(),
            tone: now.tone(),
            title: now.title(),
            label: now.label(second),
            now: now.told(second),
            span: shell.span(),
            shown: view.clients_of(history),
        },
        reasons: Reasons { first, rest },
        top: Top { entries, extent },
        news: news.collect(),
        routes: RoutesTold::of(&decided.decision.routes),
        chart: Chart::of(shell, history, history_sentences(history, decided)),
        examples: Examples::Served(&shell.scope),
        times: None,
        unanswered: AllUnanswered::of(&decided.report),
        elsewhere: shell.elsewhere(&Known {
            trace_id: None,
            from: from.unwrap_or_else(a_day_ago),
            to: at,
            route: None,
            group: None,
            migration: &shell.migration,
            candidate_version: &decided.report.candidate_version,
        }),
        view,
    }
    .render()
}
