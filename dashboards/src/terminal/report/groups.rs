//! Differences: first the causes, then the groups without a common cause.

use std::fmt::Write;

use parity_schemas::visible::visible_value;

use super::more;
use crate::terminal::{
    BOLD, CANDIDATE, DIM, LEGACY, MAX_VALUE_CHARS, place, signed, styled, unsigned,
};
use crate::view::words::{grouped, plural, shown};
use crate::view::{Cause, CauseName, Group, Ink, ReportView, Room, Values};

/// Causes and groups listed, about a screen. Further ones are only counted.
const MAX_CAUSES: usize = 20;
const MAX_GROUPS: usize = 30;
/// Groups listed that do not count.
const MAX_TRANSIENT: usize = 10;
/// Groups shown of a cause: enough to see what they have in common, in fewer lines than two groups take.
const MAX_PLACES: usize = 5;
/// Groups shown that coincide with another one.
const MAX_ALSO: usize = 8;
/// What is shown of two values: each in one line, the JSON output and the store have them whole.
const ROOM: Room = Room {
    line: MAX_VALUE_CHARS,
    wrap: MAX_VALUE_CHARS,
    value_lines: 1,
    diff_lines: 12,
    elements: 0,
};
/// Longest value where both stand in one line with their place.
const SHORT_VALUE_CHARS: usize = 32;

pub(super) fn write(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    let differing = view.differing();
    let (causes, rest) = (&differing.causes, &differing.groups);
    if !causes.is_empty() {
        let groups = differing.of - rest.len() as u64;
        let groups = plural(groups, "group", "groups");
        let title = format!("CAUSES ({}, of {groups})", causes.len());
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for cause in causes.iter().take(MAX_CAUSES) {
            write_cause(out, cause)?;
        }
        more(out, causes.len(), MAX_CAUSES, "causes")?;
    }
    if !rest.is_empty() {
        let count = rest.len() as u64;
        let count = if causes.is_empty() {
            plural(count, "group", "groups")
        } else {
            plural(count, "other group", "other groups")
        };
        let title = format!("DIFFERENCES ({count})");
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for group in rest.iter().take(MAX_GROUPS) {
            write_group(out, group)?;
        }
        more(out, rest.len(), MAX_GROUPS, "groups")?;
    }
    let transient = &differing.transient;
    if !transient.is_empty() {
        let count = plural(transient.len() as u64, "group", "groups");
        let title = format!("TRANSIENT ({count}; the data changed, they do not count)");
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for group in transient.iter().take(MAX_TRANSIENT) {
            write_transient(out, group)?;
        }
        more(out, transient.len(), MAX_TRANSIENT, "groups")?;
    }
    if let Some(hint) = differing.hint {
        writeln!(out, "{}", styled(DIM, hint))?;
    }
    Ok(())
}

fn write_cause(out: &mut String, cause: &Cause<'_>) -> std::fmt::Result {
    let (report, members) = (cause.report, &cause.members);
    let name = match cause.name {
        CauseName::Field(field, kind) => {
            let name = styled(BOLD, place(field));
            format!("{name}  {}{}", kind.meaning(), values(cause.example()))
        }
        CauseName::Explanation(explanation) => {
            format!("{}: {}", styled(BOLD, explanation), explanation.meaning())
        }
    };
    let count = format!("{:>6}", grouped(report.findings));
    writeln!(out, "{} × {name}", styled(BOLD, count))?;
    let mut scope = plural(members.len() as u64, "group", "groups");
    match (report.routes, members.first()) {
        (1, Some(member)) => write!(scope, " of {}", shown(&member.group.route))?,
        (routes, _) => write!(scope, " on {} routes", grouped(routes))?,
    }
    if report.at_least < report.findings {
        let least = grouped(report.at_least);
        write!(scope, ", in {least} answers at least")?;
    }
    if let Some(classes) = cause.classes() {
        write!(scope, ", {classes}")?;
    }
    if let Some(target) = cause.example().and_then(|values| values.target) {
        write!(scope, ", for example {}", shown(target))?;
    }
    writeln!(out, "         {}", styled(DIM, scope))?;
    if matches!(cause.name, CauseName::Field(..)) {
        return write_routes(out, cause);
    }
    for member in members.iter().take(MAX_PLACES) {
        let route = if report.routes > 1 {
            format!("{}  ", shown(&member.group.route))
        } else {
            String::new()
        };
        writeln!(
            out,
            "         {:>6} × {route}{}{}",
            grouped(member.group.count),
            place(member.difference.place),
            values(member.difference.values.as_ref())
        )?;
    }
    if members.len() > MAX_PLACES {
        let hidden = (members.len() - MAX_PLACES) as u64;
        let hidden = plural(hidden, "more group", "more groups");
        let line = styled(DIM, format_args!("… and {hidden}; --output json has all"));
        writeln!(out, "         {line}")?;
    }
    Ok(())
}

/// Where one field differs. Its place and values have been printed already.
fn write_routes(out: &mut String, cause: &Cause<'_>) -> std::fmt::Result {
    let mut routes: Vec<&str> = Vec::new();
    for member in &cause.members {
        if !routes.contains(&member.group.route.as_str()) {
            routes.push(&member.group.route);
        }
    }
    let hidden = routes.len().saturating_sub(MAX_PLACES);
    routes.truncate(MAX_PLACES);
    let mut line = routes.iter().map(|route| shown(route)).collect::<Vec<_>>();
    if hidden > 0 {
        line.push(format!("… and {hidden} more"));
    }
    writeln!(out, "         {}", line.join(" · "))
}

fn write_group(out: &mut String, group: &Group<'_>) -> std::fmt::Result {
    let difference = &group.difference;
    writeln!(
        out,
        "{} × {}  {}  {}",
        styled(BOLD, format_args!("{:>6}", group.count())),
        shown(&group.report.route),
        styled(BOLD, place(difference.place)),
        difference.kind.meaning(),
    )?;
    let mut about = Vec::new();
    if let Some(values) = &difference.values {
        let mut at = format!("for example {}", shown(values.target.unwrap_or_default()));
        if !values.path.is_empty() && values.path != difference.place.path {
            write!(at, " at {}", shown(values.path))?;
        }
        about.push(at);
    }
    about.extend(group.classes());
    if !about.is_empty() {
        writeln!(out, "         {}", styled(DIM, about.join(" · ")))?;
    }
    if let Some(shapes) = group.shapes() {
        writeln!(out, "         {}", styled(DIM, shapes))?;
    }
    if let Some(drawing) = difference.draw(ROOM) {
        for row in &drawing.rows {
            let line = match row.ink {
                _ if drawing.by_line => format!("| {}", signed(row)),
                Ink::Legacy => format!("legacy    {}", unsigned(row)),
                Ink::Candidate => format!("candidate {}", unsigned(row)),
                Ink::Place | Ink::Faint => format!("          {}", unsigned(row)),
            };
            writeln!(out, "         {line}")?;
        }
    }
    if let Some(near) = difference.near() {
        writeln!(out, "         {near}")?;
    }
    for other in group.also.iter().take(MAX_ALSO) {
        let how = other.kind.meaning();
        let near = other
            .near()
            .map_or(String::new(), |near| format!("  {near}"));
        writeln!(
            out,
            "         also {}  {how}{}{near}",
            place(other.place),
            values(other.values.as_ref())
        )?;
    }
    if group.also.len() > MAX_ALSO {
        let hidden = group.also.len() - MAX_ALSO;
        let line = styled(
            DIM,
            format_args!("… and {hidden} more in the same answers; --output json has all"),
        );
        writeln!(out, "         {line}")?;
    }
    Ok(())
}

/// A group that does not count, in one line.
fn write_transient(out: &mut String, group: &Group<'_>) -> std::fmt::Result {
    let difference = &group.difference;
    writeln!(
        out,
        "{:>6} × {}  {}  {}{}",
        group.count(),
        shown(&group.report.route),
        place(difference.place),
        difference.kind.meaning(),
        values(difference.values.as_ref()),
    )
}

/// Both values, to follow their place; empty once retention has removed them.
pub(super) fn values(values: Option<&Values<'_>>) -> String {
    let short = |style, value: Option<&str>| {
        value.map_or_else(
            || styled(DIM, "(absent)"),
            |value| styled(style, visible_value(value, SHORT_VALUE_CHARS)),
        )
    };
    values.map_or(String::new(), |values| {
        format!(
            "  {} → {}",
            short(LEGACY, values.sides.legacy.as_deref()),
            short(CANDIDATE, values.sides.candidate.as_deref())
        )
    })
}
