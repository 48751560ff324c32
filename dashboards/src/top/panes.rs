//! The panes of the screen, each as lines.

mod clients;
mod trust;

use parity_schemas::evidence::Outcome;
use parity_schemas::known::KnownState;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::seen::{Connection, Seen, clock};
use super::spark;
use crate::view::words::{grouped, percent, plural, sentence, shown};
use crate::view::{
    AllUnanswered, CauseName, ChartView, Decided, Entry, ReportView, Tone, history_sentences,
    not_compared,
};
use clients::clients;
use trust::trust;

/// Sentences of one kind that are shown.
const MAX_SENTENCES: usize = 4;
/// Entries of a list: some screens. The pages have all.
const MAX_ENTRIES: usize = 200;
/// Bars of the line of the rate: an hour by minute, or a day by quarters.
const MAX_BARS: usize = 96;

pub(super) const BAD: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
pub(super) const GOOD: Style = Style::new().fg(Color::Green).add_modifier(Modifier::BOLD);
pub(super) const OPEN: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// A part of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    /// What clients get.
    Clients,
    /// Whether parity holds.
    Verdict,
    /// Whether this can be believed.
    Trust,
    /// The rate over time.
    Rate,
    /// Causes and groups.
    #[default]
    Differences,
    /// Routes that are not decided.
    Routes,
}

impl Pane {
    /// From the top to the bottom.
    pub const ALL: [Self; 6] = [
        Self::Clients,
        Self::Verdict,
        Self::Trust,
        Self::Rate,
        Self::Differences,
        Self::Routes,
    ];

    /// Its title.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clients => "CLIENTS",
            Self::Verdict => "PARITY",
            Self::Trust => "TRUST",
            Self::Rate => "DIFFERING OVER TIME",
            Self::Differences => "DIFFERENCES",
            Self::Routes => "ROUTES WITHOUT A VERDICT",
        }
    }

    /// Whether its lines can be selected and opened.
    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Differences | Self::Routes)
    }
}

/// What a pane shows. Never empty.
pub(super) fn lines(pane: Pane, seen: &Seen) -> Vec<Line<'static>> {
    let lines = match (pane, &seen.decided) {
        (Pane::Clients, _) => clients(seen),
        (Pane::Rate, _) => over_time(seen),
        (Pane::Trust, _) => trust(seen),
        (_, None) => vec![waiting(seen)],
        (Pane::Verdict, Some(decided)) => verdict(decided),
        (Pane::Differences, Some(decided)) => differences(decided),
        (Pane::Routes, Some(decided)) => routes(decided),
    };
    if lines.is_empty() {
        return vec![Line::styled("nothing", DIM)];
    }
    lines
}

/// Of which moment a pane is: its parts are asked for one after the other, and the record rarer than the status. `None` before anything came.
pub(super) fn moment(pane: Pane, seen: &Seen) -> Option<String> {
    let record = seen.record_span();
    match pane {
        Pane::Clients | Pane::Trust => {
            let status = seen.status_read.map(|at| format!("asked {}", clock(at)));
            let both: Vec<String> = status.into_iter().chain(record).collect();
            Some(both.join(", ")).filter(|both| !both.is_empty())
        }
        Pane::Verdict | Pane::Rate | Pane::Differences | Pane::Routes => record,
    }
}

fn waiting(seen: &Seen) -> Line<'static> {
    match (&seen.trouble, &seen.connection) {
        (Some(trouble), _) => Line::styled(sentence(trouble), BAD),
        (None, Connection::Lost { why, .. }) => Line::styled(sentence(why), BAD),
        (None, _) => Line::styled("waiting for the report", DIM),
    }
}

pub(super) const fn style(tone: Tone) -> Style {
    match tone {
        Tone::Good => GOOD,
        Tone::Bad => BAD,
        Tone::Open => OPEN,
        Tone::Plain => Style::new(),
    }
}

fn text(style: Style, text: impl Into<String>) -> Span<'static> {
    Span::styled(text.into(), style)
}

fn plain(told: impl Into<String>) -> Span<'static> {
    Span::raw(told.into())
}

fn parted(spans: Vec<Span<'static>>) -> Line<'static> {
    let mut line = Line::default();
    for span in spans {
        if !line.spans.is_empty() {
            line.push_span(" · ");
        }
        line.push_span(span);
    }
    line
}

/// Does parity hold?
fn verdict(decided: &Decided) -> Vec<Line<'static>> {
    let view = ReportView::from(decided);
    let headline = view.headline();
    let mut lines = vec![Line::from(vec![
        text(style(headline.tone), headline.word.to_uppercase()),
        plain(format!(" {}", sentence(&headline.rest))),
    ])];
    let reasons = decided.decision.reasons.iter();
    for reason in reasons.clone().take(MAX_SENTENCES) {
        lines.push(Line::raw(sentence(reason)));
    }
    match reasons.len().saturating_sub(MAX_SENTENCES) {
        0 => {}
        more => lines.push(Line::styled(
            format!(
                "… and {}",
                plural(more as u64, "more reason", "more reasons")
            ),
            DIM,
        )),
    }
    let worst: Vec<String> = view.differing().entries.iter().take(2).map(name).collect();
    if decided.decision.outcome == Outcome::Fail && !worst.is_empty() {
        lines.push(Line::from(vec![
            text(BOLD, "worst: "),
            plain(worst.join(" · ")),
        ]));
    }
    lines
}

/// Since when not?
fn over_time(seen: &Seen) -> Vec<Line<'static>> {
    let Some(history) = &seen.history else {
        return vec![waiting(seen)];
    };
    let (Some(bars), Some(view)) = (spark::line(history, MAX_BARS), ChartView::of(history)) else {
        return vec![Line::styled("nothing is recorded in this time", DIM)];
    };
    let is_high = view.bars.iter().any(|bar| bar.is_high);
    let mut lines = vec![Line::from(vec![
        text(if is_high { BAD } else { GOOD }, bars),
        text(
            DIM,
            format!(
                "  up to {}, {} allowed",
                percent(view.scale),
                percent(view.allowed)
            ),
        ),
    ])];
    if let Some(decided) = &seen.decided {
        let told = history_sentences(history, decided);
        let all = told.sentences.iter().map(|(told, _)| sentence(told));
        lines.extend(all.chain(told.others()).map(Line::raw));
    }
    for change in view.changes.iter().rev().take(2) {
        lines.push(Line::styled(
            format!("{}: {}", change.time, sentence(&change.told)),
            OPEN,
        ));
    }
    lines
}

/// What a cause or a group is called, visible.
pub(super) fn name(entry: &Entry<'_>) -> String {
    match entry {
        Entry::Cause(cause) => {
            let what = match &cause.name {
                CauseName::Status(legacy, candidate) => format!("status {legacy} → {candidate}"),
                CauseName::Place(place, kind) => format!("{} {kind}", place.shown()),
                CauseName::Explanation(explanation, kind) => format!("{explanation} {kind}"),
            };
            format!("{what} on {}", cause.routes())
        }
        Entry::Group(group) => format!(
            "{} {} on {}",
            group.difference.place.shown(),
            group.difference.kind,
            shown(&group.report.route)
        ),
    }
}

/// All that differs, what is only spelt in another way last.
pub(super) fn entries(decided: &Decided) -> impl Iterator<Item = Entry<'_>> {
    let differing = ReportView::from(decided).differing();
    differing.entries.into_iter().chain(differing.spelt)
}

fn differences(decided: &Decided) -> Vec<Line<'static>> {
    let any_known = !decided.report.known.is_empty();
    let entries = entries(decided).take(MAX_ENTRIES);
    let lines = entries.map(|entry| {
        let (count, state) = match &entry {
            Entry::Cause(cause) => (cause.count(), None),
            Entry::Group(group) => (group.count(), group.state(any_known)),
        };
        let state = state.map(|state| match state {
            KnownState::Regressed | KnownState::Growing => text(BAD, format!("{state} ")),
            _ => text(OPEN, format!("{state} ")),
        });
        let mut line = Line::from(text(BAD, format!("{count:>8} × ")));
        line.spans.extend(state);
        line.push_span(name(&entry));
        if let Entry::Group(group) = &entry {
            line.push_span(text(
                DIM,
                format!(" · last {}", clock(group.report.last_seen)),
            ));
        }
        line
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() && !AllUnanswered::of(&decided.report).is_empty() {
        let told =
            "nothing that was compared; requests on which the candidate failed are in no group";
        return vec![Line::styled(told, OPEN)];
    }
    lines
}

fn routes(decided: &Decided) -> Vec<Line<'static>> {
    let mut lines = vec![];
    for route in undecided(decided).take(MAX_ENTRIES) {
        let needed = match route.needed {
            0 => String::new(),
            needed => format!(", {} more would prove it", grouped(needed)),
        };
        lines.push(Line::from(vec![
            text(OPEN, format!("{:>8} compared ", grouped(route.compared))),
            plain(shown(&route.route)),
            text(
                DIM,
                format!(" · {} differ{needed}", grouped(route.differing)),
            ),
        ]));
    }
    if lines.is_empty() {
        lines.push(Line::styled("none: each is decided", GOOD));
    }
    lines
}

/// Routes that are served and not decided, those with the most traffic first.
pub(super) fn undecided(
    decided: &Decided,
) -> impl Iterator<Item = &parity_schemas::evidence::RouteDecision> {
    let routes = decided.decision.routes.iter();
    let mut routes: Vec<_> = routes
        .filter(|route| !route.unserved && route.outcome == Outcome::Undecided)
        .collect();
    routes.sort_by_key(|route| std::cmp::Reverse(route.received));
    routes.into_iter()
}

/// How many requests of a route were not compared, for its detail.
pub(super) fn left(counts: &parity_schemas::tally::Counts) -> u64 {
    not_compared(counts)
}
