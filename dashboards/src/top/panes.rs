//! The panes of the screen, each as lines.

use parity_schemas::evidence::Outcome;
use parity_schemas::known::KnownState;
use parity_schemas::verdict::Reason;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::seen::{Connection, Process, Seen, clock};
use super::spark;
use crate::view::words::{elapsed, grouped, percent, plural, rate, sentence, shown, version};
use crate::view::{
    Candidate, CauseName, ChartView, Decided, Entry, ReportView, Status, Tone, history_sentences,
    not_compared,
};

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

/// Do users get their answers?
fn clients(seen: &Seen) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Connection::Lost { why, last, again } = &seen.connection {
        let last = last.map_or_else(
            || "nothing was answered yet".to_owned(),
            |last| format!("what is here is of {}", clock(last)),
        );
        let told = format!(
            "NO CONNECTION: {}; {last}; asked again at {}",
            sentence(why),
            clock(*again)
        );
        lines.push(Line::styled(told, BAD));
    }
    if let Process::Mirror(status) = &seen.process {
        lines.extend(now(status, seen));
    } else if let Some(line) = lately(seen) {
        lines.push(line);
    }
    if let Some(decided) = &seen.decided {
        let view = ReportView::from(&**decided);
        // Clients do not care which candidate was beside them, so they are counted over all versions if that is known.
        let window = seen.history.as_ref().and_then(|history| history.window);
        let (clients, of) = match (&seen.history, window) {
            (Some(history), Some(window)) => (
                view.clients_of(history),
                format!(" since {}, all versions", clock(window.from)),
            ),
            _ => (view.clients(), " in all that is counted".to_owned()),
        };
        lines.push(Line::from(vec![
            text(style(clients.tone()), sentence(&clients.told())),
            text(DIM, of),
        ]));
        for (failed, route) in view.failing_routes().into_iter().take(MAX_SENTENCES) {
            let told = format!("{} failed on {}", grouped(failed), shown(route));
            lines.push(Line::styled(told, BAD));
        }
    }
    lines
}

/// What a mirror says of this moment.
fn now(status: &Status, seen: &Seen) -> Vec<Line<'static>> {
    let mut now = vec![];
    if let Some(live) = &seen.live {
        let failed = if live.failed > 0.0 { BAD } else { GOOD };
        now.extend([
            text(BOLD, format!("{:.1} requests/s", live.rate)),
            plain(" · "),
            text(
                failed,
                format!("{} without a whole answer", percent(live.failed)),
            ),
            plain(format!(" · {} errors of the legacy", percent(live.errors))),
        ]);
    } else {
        now.push(text(DIM, "measuring requests a second"));
    }
    if let Some(added) = seen.overhead.as_ref().filter(|added| added.count > 0) {
        let told = |share| {
            added.quantile(share).map_or_else(
                || "over the last bound".to_owned(),
                |micros| format!("≤ {}", elapsed(micros)),
            )
        };
        now.push(plain(format!(
            " · added p50 {}, p99 {}",
            told(0.5),
            told(0.99)
        )));
    }
    let mut lines = vec![Line::from(now)];
    let mut services = Vec::new();
    if !status.ready {
        services.push(text(BAD, "draining: accepts no requests"));
    }
    services.push(if status.legacy_reachable {
        text(GOOD, "legacy answers")
    } else {
        text(BAD, "LEGACY DOWN")
    });
    services.push(candidate(seen).unwrap_or_else(|| text(GOOD, "candidate answers")));
    services.push(if status.shadowing {
        plain("shadowing is on")
    } else {
        text(OPEN, "SHADOWING IS OFF")
    });
    if let Some(last) = status.last_failed_client {
        services.push(text(
            OPEN,
            format!("last client without an answer at {}", clock(last)),
        ));
    }
    lines.push(parted(services));
    if let Some(rollout) = &status.rollout {
        let style = match (&rollout.fell_back, &rollout.waits) {
            (Some(_), _) => BAD,
            (None, Some(_)) => OPEN,
            (None, None) => DIM,
        };
        let told = format!("rollout: {}", rollout.told());
        lines.push(Line::from(text(style, sentence(&told))));
    }
    lines
}

/// The same where no mirror tells it: of the latest minutes of the record.
fn lately(seen: &Seen) -> Option<Line<'static>> {
    let history = seen.history.as_ref()?;
    // The last one has just begun, unless it is the only one: what it has by now is no rate of its whole length.
    let bucket = history
        .buckets
        .iter()
        .rev()
        .nth(1)
        .or(history.buckets.last())?;
    let per_second = bucket.received as f64 / history.bucket_seconds.max(1) as f64;
    let failed = rate(bucket.clients_failed, bucket.received).unwrap_or_else(|| "–".to_owned());
    let mut spans = vec![
        text(BOLD, format!("{per_second:.1} requests/s")),
        text(
            if bucket.clients_failed > 0 { BAD } else { GOOD },
            format!("{failed} without a whole answer"),
        ),
        text(
            DIM,
            format!(
                "in the {} from {}",
                plural(history.bucket_seconds / 60, "minute", "minutes"),
                clock(bucket.from)
            ),
        ),
    ];
    spans.extend(candidate(seen));
    Some(parted(spans))
}

/// How the candidate stands, if something speaks against it.
fn candidate(seen: &Seen) -> Option<Span<'static>> {
    Some(match seen.candidate() {
        Candidate::Answers => return None,
        Candidate::Down(Some(silence)) => text(
            BAD,
            format!("CANDIDATE DOWN since {}", clock(silence.since)),
        ),
        Candidate::Down(None) => text(BAD, "CANDIDATE DOWN"),
        Candidate::Failed(silence) => text(
            OPEN,
            format!(
                "candidate failed from {} to {}",
                clock(silence.since),
                clock(silence.until)
            ),
        ),
    })
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

/// Can this be believed?
fn trust(seen: &Seen) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(decided) = &seen.decided {
        let view = ReportView::from(&**decided);
        let (report, counts) = (view.report, &view.report.counts);
        let mut told = vec![plain(view.completeness().line(clock))];
        let share = |part: u64| rate(part, counts.received).unwrap_or_else(|| "–".to_owned());
        told.push(plain(format!("compared {}", share(report.compared))));
        let of = |reason: Reason| counts.not_compared.get(&reason).copied().unwrap_or(0);
        let sampled_out = of(Reason::SampledOut);
        if sampled_out > 0 {
            told.push(plain(format!("{} sampled out", share(sampled_out))));
        }
        let dropped = counts.our_drops();
        if dropped > 0 {
            told.push(text(OPEN, format!("{} dropped by parity", share(dropped))));
        }
        lines.push(parted(told));
        let mut how = vec![plain(
            view.classes()
                .unwrap_or_else(|| "no mismatch was asked again".to_owned()),
        )];
        if report.excused.total() > 0 {
            how.push(plain(format!(
                "{} do not count (noise, known, transient)",
                grouped(report.excused.total())
            )));
        }
        how.push(text(
            DIM,
            format!(
                "legacy {} · candidate {} · rules {}",
                version(&report.legacy_version),
                version(&report.candidate_version),
                shown(&report.rules_hash)
            ),
        ));
        lines.push(parted(how));
        if let Some(unsettled) = view.unsettled() {
            lines.push(Line::styled(unsettled.sentence(), style(unsettled.tone())));
        }
    }
    lines.extend(process(&seen.process).map(|text| Line::styled(sentence(&text), BAD)));
    if let Process::Mirror(status) = &seen.process {
        lines.push(Line::styled(
            format!(
                "{} in flight · {} waiting to be written · {} dropped · spool {} bytes",
                plural(status.shadows_in_flight as u64, "shadow", "shadows"),
                plural(status.records_queued, "record", "records"),
                grouped(status.records_dropped),
                grouped(status.spool_bytes)
            ),
            if status.records_dropped > 0 {
                OPEN
            } else {
                DIM
            },
        ));
    }
    if let Process::Sink(status) = &seen.process {
        lines.push(Line::styled(
            format!(
                "lag {} in {} · {} bytes buffered · {}",
                plural(status.lag, "record", "records"),
                plural(status.partitions as u64, "partition", "partitions"),
                grouped(status.buffered_bytes),
                plural(status.dead_letters, "dead letter", "dead letters")
            ),
            if status.ready { DIM } else { BAD },
        ));
    }
    if let (Some(trouble), true) = (&seen.trouble, seen.decided.is_some()) {
        let told = format!("the report is older than this: {}", sentence(trouble));
        lines.push(Line::styled(told, BAD));
    }
    lines
}

/// What a process says that is wrong with it.
fn process(process: &Process) -> impl Iterator<Item = String> {
    let troubles: [Option<String>; 5] = match process {
        Process::Mirror(status) => [
            status
                .store_error
                .clone()
                .map(|error| format!("the store: {error}")),
            status.store_loss.clone(),
            status
                .config_error
                .clone()
                .map(|error| format!("the configuration: {error}")),
            status.descriptors_low.clone(),
            status.recording.as_ref().and_then(|recording| {
                recording
                    .error
                    .clone()
                    .map(|error| format!("the recording: {error}"))
            }),
        ],
        Process::Sink(status) => [status.error.clone(), None, None, None, None],
        Process::Unknown | Process::Reader => [None, None, None, None, None],
    };
    troubles.into_iter().flatten()
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
    lines.collect()
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
