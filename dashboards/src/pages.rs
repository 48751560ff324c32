//! The HTML pages: the screens of the admin port ([`screens`]), the whole report, one mismatch, decisions and an error; and
//! the report as a file ([`file`]).
//!
//! Drawn on the server by askama, which escapes every value; recorded text also has its invisible characters written as
//! escapes first, because HTML escaping does not show them. No script is needed: those in assets make a page live, and give it keys.

mod cells;
mod chart;
mod exchange;
mod group;
mod load_chart;
mod overview;
pub(crate) mod rerun;
mod route;
mod screens;
pub(crate) mod shell;
mod soak;
mod stress;
mod tables;
mod told;

use std::borrow::Cow;
use std::collections::HashSet;

use askama::Template;
use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, AuditPage};
use parity_schemas::decisions::DecisionPage;
use parity_schemas::evidence::{Decision, EvidenceSummary};
use parity_schemas::record::{Mismatch, RecordedMessage};
use parity_schemas::report::GroupReport;
use parity_schemas::terms::RuleText;
use parity_schemas::visible::visible;
use parity_sink::read::FoundTerms;
use rust_embed::RustEmbed;
use uuid::Uuid;

use crate::links::escaped;
use crate::view;
use crate::view::words::{grouped, percent as share, version};
use cells::{
    count, fields_compared, latency, lines, moment, most_frequent_share, number, percent, places,
    second, side, target_count, time,
};
use chart::Sparkline;
pub(crate) use exchange::{ExchangeFound, exchange};
pub(crate) use group::{GroupFound, group};
pub(crate) use overview::overview;
pub(crate) use route::{RouteFound, route, route_names};
pub(crate) use screens::{
    causes, causes_names, groups, health, history, noise, routes, rules, unknown_migration,
};
use shell::{Scope, Shell};
pub use soak::soak;
pub use stress::stress;
use told::told;

use crate::view::{
    Cause, CauseName, ClientsView, Completeness, Decided, DecisionView, Entry, GroupTimes,
    Headline, MismatchView, ReportView, Room, Status, Tone, Weight, Which, not_compared,
};

/// Bytes of a recorded body that stand open on its page: some screens. More can be unfolded.
const MAX_OPEN: usize = 4 << 10;
/// What is shown of two values on the page of a mismatch: all of them.
const ROOM: Room = Room {
    line: usize::MAX,
    wrap: 100,
    value_lines: usize::MAX,
    diff_lines: usize::MAX,
    elements: usize::MAX,
};

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    shell: &'a Shell,
    view: ReportView<'a>,
    headline: Headline,
    clients: ClientsView,
    examples: Examples<'a>,
    times: Option<&'a GroupTimes>,
}

/// The same as a file that stands alone.
#[derive(Template)]
#[template(path = "file.html")]
struct ReportFile<'a> {
    view: ReportView<'a>,
    headline: Headline,
    clients: ClientsView,
    decision: DecisionView<'a>,
    mismatches: &'a [Mismatch],
    examples: Examples<'a>,
    times: Option<&'a GroupTimes>,
    layout: Layout,
    /// It is ours, and the only text that is not escaped.
    style: &'a str,
}

/// Where the mismatches are that a report shows as examples.
enum Examples<'a> {
    /// Each has a page of its own, and so have groups and routes. Links keep this scope.
    Served(&'a Scope),
    /// Those that stand below, in the same file.
    Below(HashSet<Uuid>),
    /// They may be gone, as groups may; the page of a route says so itself.
    Gone(Scope),
}

impl Examples<'_> {
    /// The address of one; `None` where there is none.
    fn to(&self, id: &Uuid) -> Option<String> {
        match self {
            Self::Served(_) if id.is_nil() => None,
            Self::Served(scope) => Some(scope.to(&format!("/mismatches/{id}"))),
            Self::Below(ids) => ids.contains(id).then(|| format!("#{}", self.name(id))),
            Self::Gone(_) => None,
        }
    }

    /// The address of the page of a group; `None` in a file.
    fn group(&self, group: &GroupReport) -> Option<String> {
        self.group_named(&group.fingerprint, &group.route)
    }

    /// The same by its name and its route.
    fn group_named(&self, fingerprint: &str, route: &str) -> Option<String> {
        let Self::Served(scope) = self else {
            return None;
        };
        Some(scope.with(&group_path(fingerprint), &[("of_route", route)]))
    }

    /// The address of the most frequent group of a cause; `None` in a file.
    fn cause(&self, cause: &Cause<'_>) -> Option<String> {
        let members = cause.members.iter().map(|member| member.group);
        self.group(members.max_by_key(|group| group.count)?)
    }

    /// The address of the page of a route; `None` in a file.
    fn route(&self, route: &str) -> Option<String> {
        match self {
            Self::Served(scope) => Some(scope.route(route)),
            Self::Gone(scope) => Some(scope.route(route)),
            Self::Below(_) => None,
        }
    }

    /// What one is called in the file.
    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    fn name(&self, id: &Uuid) -> String {
        format!("mismatch-{id}")
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    fn view<'a>(&self, mismatch: &'a Mismatch) -> MismatchView<'a> {
        MismatchView { mismatch }
    }
}

/// How often a cause or a group was found over time.
fn spark(times: &GroupTimes, entry: &Entry<'_>) -> Sparkline {
    Sparkline::of(&times.bars(&entry.names()), entry.counted())
}

/// How two bodies are laid out.
struct Layout {
    /// Beside each other, or one under the other.
    is_split: bool,
    /// The address of the same in the other way; `None` in a file, which has no other page.
    other: Option<String>,
    /// The address of the page of the route; `None` in a file.
    route: Option<String>,
}

impl Layout {
    /// Where the stored body of a message is; `None` in a file, and where none is stored.
    fn download(
        &self,
        mismatch: &Mismatch,
        which: Which,
        message: &RecordedMessage,
    ) -> Option<String> {
        let is_there = self.other.is_some() && !message.body.is_empty();
        is_there.then(|| format!("/mismatches/{}/bodies/{}", mismatch.id, which.word()))
    }
}

#[derive(Template)]
#[template(path = "decisions.html")]
struct DecisionsPage<'a> {
    shell: &'a Shell,
    page: &'a DecisionPage,
    migration: &'a str,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct ChangesPage<'a> {
    shell: &'a Shell,
    page: &'a AuditPage,
}

/// What was changed, or asked for.
fn what(change: &Audit) -> String {
    view::changes::what(change)
}

/// Where what was changed has a page.
fn changed(change: &Audit) -> Option<String> {
    let list = match change.action {
        AuditAction::Rerun => "mismatches",
        // Of a rollout: the decision by which it was changed.
        AuditAction::Decision | AuditAction::RolloutSet | AuditAction::RolloutBack => "decisions",
        _ => return None,
    };
    let subject = escaped(&change.subject);
    (!subject.is_empty()).then(|| format!("/{list}/{subject}"))
}

/// Who asked for a change.
fn who(change: &Audit) -> String {
    visible(&view::changes::who(change))
}

#[derive(Template)]
#[template(path = "decision.html")]
struct DecisionPageOf<'a> {
    shell: &'a Shell,
    decision: &'a Decision,
    view: DecisionView<'a>,
    terms: &'a FoundTerms,
    examples: Examples<'a>,
}

/// How far the record was complete, in one line.
fn whole(evidence: &EvidenceSummary) -> String {
    Completeness::from(evidence).line(second)
}

/// To what a rule applies: a part of an answer, on a route if it names one.
fn applies(rule: &RuleText) -> String {
    let part = rule.part.as_deref().unwrap_or("body");
    let route = rule.route.as_deref().map(|route| format!(" of {route}"));
    format!("{part} {}{}", rule.path, route.unwrap_or_default())
}

/// The path of the page of a group.
fn group_path(fingerprint: &str) -> String {
    format!("/groups/{}", escaped(fingerprint))
}

/// The address of the page of a group, in the scope of a screen.
fn group_address(shell: &shell::Shell, fingerprint: &str, route: &str) -> String {
    let path = group_path(fingerprint);
    shell.scope.with(&path, &[("of_route", route)])
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    message: &'a str,
    /// For the buttons that control the mirror: they work even if its record cannot be read.
    status: Option<Status>,
    /// What the buttons carry; `None` for who may not press them.
    form: Option<String>,
}

/// The whole report with its decision.
pub(crate) fn report(shell: &Shell, decided: &Decided) -> askama::Result<String> {
    let view = ReportView::from(decided);
    let clients = view.clients();
    ReportPage {
        shell,
        headline: view.headline(),
        view,
        clients,
        examples: Examples::Served(&shell.scope),
        times: None,
    }
    .render()
}

/// The report with its decision as one file that needs no server: its style and these mismatches, the examples of what it
/// lists, are part of it. It has no script and asks for nothing, and its policy allows neither.
pub fn file(decided: &Decided, mismatches: &[Mismatch]) -> askama::Result<String> {
    let view = ReportView::from(decided);
    let clients = view.clients();
    let style = asset("style.css").unwrap_or_default();
    ReportFile {
        headline: view.headline(),
        view,
        clients,
        decision: DecisionView {
            decision: &decided.decision,
        },
        mismatches,
        examples: Examples::Below(mismatches.iter().map(|mismatch| mismatch.id).collect()),
        times: None,
        layout: Layout {
            is_split: false,
            other: None,
            route: None,
        },
        style: &String::from_utf8_lossy(&style),
    }
    .render()
}

/// Stored decisions, the newest first.
pub(crate) fn decisions(
    shell: &Shell,
    page: &DecisionPage,
    migration: &str,
) -> askama::Result<String> {
    DecisionsPage {
        shell,
        page,
        migration,
    }
    .render()
}

/// Who changed what, the newest first.
pub(crate) fn changes(shell: &Shell, page: &AuditPage) -> askama::Result<String> {
    ChangesPage { shell, page }.render()
}

/// One stored decision, and the terms under which was counted what it rests on.
pub(crate) fn decision(
    shell: &Shell,
    decision: &Decision,
    terms: &FoundTerms,
) -> askama::Result<String> {
    let view = DecisionView { decision };
    DecisionPageOf {
        shell,
        decision,
        view,
        terms,
        // What a stored decision names may be gone from the record by now.
        examples: Examples::Gone(shell.scope.clone()),
    }
    .render()
}

/// The page of an error.
pub(crate) fn sorry(
    message: &str,
    status: Option<Status>,
    form: Option<String>,
) -> askama::Result<String> {
    ErrorPage {
        message,
        status,
        form,
    }
    .render()
}

/// A file that pages refer to.
pub(crate) fn asset(name: &str) -> Option<Cow<'static, [u8]>> {
    Assets::get(name).map(|file| file.data)
}
