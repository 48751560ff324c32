//! One cause, group or route alone.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::panes::{BOLD, DIM, Pane, entries, left, name, undecided};
use super::seen::{Seen, clock};
use crate::view::words::{elapsed, grouped, plural, rate, sentence, shown};
use crate::view::{Decided, Difference, Entry, Group, Ink, Room, Row, Weight};

/// Groups of a cause that are listed.
const MAX_MEMBERS: usize = 100;
/// Room for two values: a screen.
const ROOM: Room = Room {
    line: 200,
    wrap: 200,
    value_lines: 40,
    diff_lines: 200,
    elements: 200,
};

/// A cause, a group or a route that is selected or open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// The groups of it, or the route.
    key: Vec<String>,
    /// What it is called.
    pub(super) name: String,
}

impl Opened {
    fn of(entry: &Entry<'_>) -> Self {
        let key = match entry {
            Entry::Cause(cause) => {
                let members = cause.members.iter();
                members
                    .map(|member| member.group.fingerprint.clone())
                    .collect()
            }
            Entry::Group(group) => {
                vec![group.report.fingerprint.clone(), group.report.route.clone()]
            }
        };
        Self {
            key,
            name: name(entry),
        }
    }

    /// Whether this is it. A cause stays what it is when groups join or leave it: no group is in two.
    fn is(&self, entry: &Entry<'_>) -> bool {
        match entry {
            Entry::Cause(cause) => {
                let mut members = cause.members.iter();
                members.any(|member| self.key.contains(&member.group.fingerprint))
            }
            Entry::Group(_) => Self::of(entry).key == self.key,
        }
    }
}

/// What can be opened in a pane, in the order of its lines: by what it is, because two may be called the same.
pub(super) fn names(pane: Pane, seen: &Seen) -> Vec<Opened> {
    let Some(decided) = &seen.decided else {
        return Vec::new();
    };
    match pane {
        Pane::Routes => undecided(decided)
            .map(|route| Opened {
                key: vec![route.route.clone()],
                name: shown(&route.route),
            })
            .collect(),
        _ => entries(decided).map(|entry| Opened::of(&entry)).collect(),
    }
}

/// What is shown of one of them; that it is gone, if it is.
pub(super) fn lines(opened: &Opened, pane: Pane, seen: &Seen) -> Vec<Line<'static>> {
    let found = seen.decided.as_ref().and_then(|decided| {
        if pane == Pane::Routes {
            return route(opened, decided);
        }
        let mut entries = entries(decided);
        let entry = entries.find(|entry| opened.is(entry))?;
        Some(match &entry {
            Entry::Cause(_) => cause(&entry),
            Entry::Group(found) => group(found, decided),
        })
    });
    found.unwrap_or_else(|| {
        vec![
            Line::styled(opened.name.clone(), BOLD),
            Line::styled("is not among what is counted now", DIM),
        ]
    })
}

fn cause(entry: &Entry<'_>) -> Vec<Line<'static>> {
    let Entry::Cause(found) = entry else {
        return Vec::new();
    };
    let mut lines = vec![
        Line::styled(name(entry), BOLD),
        Line::raw(format!("{} × {}", found.count(), found.scope())),
    ];
    lines.extend(found.near().map(|near| Line::raw(sentence(&near))));
    lines.extend(found.special().map(|special| Line::raw(sentence(&special))));
    if let Some(values) = found.examples().next() {
        lines.extend(values.target.map(|target| Line::styled(shown(target), DIM)));
    }
    lines.extend(
        found
            .members
            .first()
            .into_iter()
            .flat_map(|member| drawn(&member.difference)),
    );
    lines.push(Line::default());
    for member in found.members.iter().take(MAX_MEMBERS) {
        lines.push(Line::raw(format!(
            "{:>8} × {} {} on {}",
            grouped(member.group.count),
            member.difference.place.shown(),
            member.difference.kind,
            shown(&member.group.route)
        )));
    }
    if found.members.len() > MAX_MEMBERS {
        let more = (found.members.len() - MAX_MEMBERS) as u64;
        lines.push(Line::styled(
            format!("… and {}", plural(more, "more group", "more groups")),
            DIM,
        ));
    }
    lines
}

fn group(found: &Group<'_>, decided: &Decided) -> Vec<Line<'static>> {
    let report = found.report;
    let mut routes = decided.report.routes.iter();
    let compared = routes
        .find(|route| route.route == report.route)
        .map_or(0, |route| route.compared);
    let share = rate(report.count, compared).unwrap_or_else(|| "–".to_owned());
    let mut lines = vec![
        Line::styled(shown(&report.route), BOLD),
        Line::raw(format!(
            "{}: {}",
            found.difference.place.shown(),
            found.difference.kind.meaning()
        )),
        Line::raw(format!(
            "{} × ({share} of what was compared of the route) · first {} · last {}",
            found.count(),
            clock(report.first_seen),
            clock(report.last_seen)
        )),
        Line::raw(format!(
            "{} → {} · {} · {}",
            report.legacy_status,
            report.candidate_status,
            report.state,
            found
                .classes()
                .unwrap_or_else(|| "no mismatch of it was asked again".to_owned())
        )),
    ];
    lines.extend(
        found
            .difference
            .near()
            .map(|near| Line::raw(sentence(&near))),
    );
    lines.extend(found.shapes().map(|shapes| Line::raw(sentence(&shapes))));
    let special = found.special();
    lines.extend(special.map(|special| {
        Line::raw(format!(
            "different about these requests: {}",
            sentence(&special)
        ))
    }));
    let target = found
        .difference
        .values
        .as_ref()
        .and_then(|values| values.target);
    lines.extend(target.map(|target| Line::styled(shown(target), DIM)));
    lines.extend(drawn(&found.difference));
    for also in &found.also {
        lines.push(Line::raw(format!(
            "also {}: {}",
            also.place.shown(),
            also.kind.meaning()
        )));
        lines.extend(drawn(also));
    }
    lines.push(Line::styled(
        format!(
            "group {} · example {}",
            shown(&report.fingerprint),
            report.example_id
        ),
        DIM,
    ));
    lines
}

/// The two values of a difference.
fn drawn(difference: &Difference<'_>) -> Vec<Line<'static>> {
    let Some(drawing) = difference.draw(ROOM) else {
        return vec![Line::styled("its example is no longer stored", DIM)];
    };
    drawing.rows.iter().map(row).collect()
}

fn route(opened: &Opened, decided: &Decided) -> Option<Vec<Line<'static>>> {
    let mut routes = decided.decision.routes.iter();
    let route = routes.find(|route| opened.key.first() == Some(&route.route))?;
    let mut lines = vec![
        Line::styled(opened.name.clone(), BOLD),
        Line::raw(format!(
            "{} received · {} compared · {} differ",
            grouped(route.received),
            grouped(route.compared),
            grouped(route.differing)
        )),
    ];
    if route.needed > 0 {
        lines.push(Line::raw(format!(
            "{} more equal requests would prove that it is within what is allowed",
            grouped(route.needed)
        )));
    }
    let mut reports = decided.report.routes.iter();
    if let Some(report) = reports.find(|report| report.route == route.route) {
        lines.push(Line::raw(format!(
            "{} not compared",
            grouped(left(&report.counts))
        )));
        for (reason, count) in &report.counts.not_compared {
            lines.push(Line::raw(format!(
                "  {:>8} {reason}: {}",
                grouped(*count),
                reason.meaning()
            )));
        }
        let time = |quantiles: &std::collections::BTreeMap<String, u64>| {
            let of = |name: &str| {
                quantiles
                    .get(name)
                    .map_or_else(|| "–".to_owned(), |us| elapsed(*us))
            };
            format!("p50 {}, p99 {}", of("p50"), of("p99"))
        };
        lines.push(Line::raw(format!(
            "time to the head of the answer: legacy {} · candidate {}",
            time(&report.legacy_head_us),
            time(&report.candidate_head_us)
        )));
    }
    Some(lines)
}

/// A line of the drawing of two values, with the sign of its side.
fn row(row: &Row) -> Line<'static> {
    let plain = match row.ink {
        Ink::Legacy => Style::new().fg(Color::Red),
        Ink::Candidate => Style::new().fg(Color::Green),
        Ink::Place => Style::new().fg(Color::Cyan),
        Ink::Faint => DIM,
    };
    let mut line = Line::from(Span::styled(row.sign, plain));
    for piece in &row.pieces {
        let style = match piece.weight {
            Weight::Plain => plain,
            Weight::Changed => plain.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Weight::Remark => DIM,
        };
        line.push_span(Span::styled(piece.text.clone(), style));
    }
    line
}
