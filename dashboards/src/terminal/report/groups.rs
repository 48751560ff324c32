//! Differences: causes and groups in one list, then what is only spelt in another way, and what does not count.

use std::fmt::Write;

use parity_schemas::verdict::Explanation;
use parity_schemas::visible::visible_value;

use super::more;
use crate::terminal::{
    BOLD, CANDIDATE, DIM, LEGACY, MAX_VALUE_CHARS, place, signed, styled, unsigned,
};
use crate::view::words::{grouped, plural, shown};
use crate::view::{Cause, CauseName, Entry, Group, Ink, Member, ReportView, Room, Values, extent};

/// Causes and groups listed, about two screens. Further ones are only counted.
const MAX_ENTRIES: usize = 40;
/// Entries listed in one line each: what is only spelt in another way, and what does not count.
const MAX_SHORT: usize = 10;
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
    let any_known = !view.report.known.is_empty();
    let entries = &differing.entries;
    if !entries.is_empty() {
        let title = format!("DIFFERENCES ({}; worst first)", extent(entries));
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for entry in entries.iter().take(MAX_ENTRIES) {
            match entry {
                Entry::Cause(cause) => write_cause(out, cause)?,
                Entry::Group(group) => write_group(out, group, any_known)?,
            }
        }
        more(out, entries.len(), MAX_ENTRIES, "causes and groups")?;
        advise(out, differing.hint.as_deref())?;
    }
    let spelt = &differing.spelt;
    if !spelt.is_empty() {
        let title = format!(
            "ONLY SPELT IN ANOTHER WAY ({}; they count as differing)",
            extent(spelt)
        );
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for entry in spelt.iter().take(MAX_SHORT) {
            match entry {
                Entry::Cause(cause) => write_short_cause(out, cause)?,
                Entry::Group(group) => write_short_group(out, group)?,
            }
        }
        more(out, spelt.len(), MAX_SHORT, "causes and groups")?;
        advise(out, differing.spelt_hint.as_deref())?;
    }
    let transient = &differing.transient;
    if !transient.is_empty() {
        let count = plural(transient.len() as u64, "group", "groups");
        let title = format!("TRANSIENT ({count}; the data changed, they do not count)");
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for group in transient.iter().take(MAX_SHORT) {
            write_short_group(out, group)?;
        }
        more(out, transient.len(), MAX_SHORT, "groups")?;
    }
    Ok(())
}

/// How to accept what a list has, under that list.
fn advise(out: &mut String, hint: Option<&str>) -> std::fmt::Result {
    match hint {
        Some(hint) => writeln!(out, "{}", styled(DIM, hint)),
        None => Ok(()),
    }
}

/// What the groups of a cause share, in one line.
fn name(cause: &Cause<'_>) -> String {
    match cause.name {
        CauseName::Status(legacy, candidate) => {
            let codes = format!(
                "{} → {}",
                styled(LEGACY, legacy),
                styled(CANDIDATE, candidate)
            );
            format!("{}  {codes}", styled(BOLD, "status"))
        }
        CauseName::Place(field, kind) => {
            let name = styled(BOLD, place(field));
            let values = values(cause.only_values());
            format!("{name}  {}{values}", kind.meaning())
        }
        CauseName::Explanation(explanation, kind) => {
            let name = styled(BOLD, explanation);
            format!("{name}: {}; {}", explanation.meaning(), kind.meaning())
        }
    }
}

fn write_cause(out: &mut String, cause: &Cause<'_>) -> std::fmt::Result {
    let count = styled(BOLD, format_args!("{:>6}", cause.count()));
    writeln!(out, "{count} × {}", name(cause))?;
    let mut scope = cause.scope();
    if let Some(target) = cause.examples().next().and_then(|values| values.target) {
        write!(scope, ", for example {}", shown(target))?;
    }
    writeln!(out, "         {}", styled(DIM, scope))?;
    if let Some(near) = cause.near() {
        writeln!(out, "         {near}")?;
    }
    if let Some(special) = cause.special() {
        writeln!(out, "         special: {special}")?;
    }
    if cause.is_of_routes() {
        write_routes(out, cause)?;
        return write_special(out, cause, 0);
    }
    for member in cause.members.iter().take(MAX_PLACES) {
        write_member(out, member, cause.special_of(member).as_deref())?;
    }
    if cause.members.len() > MAX_PLACES {
        let hidden = (cause.members.len() - MAX_PLACES) as u64;
        let hidden = plural(hidden, "more group", "more groups");
        let line = styled(DIM, format_args!("… and {hidden}; --output json has all"));
        writeln!(out, "         {line}")?;
    }
    write_special(out, cause, MAX_PLACES)
}

fn write_member(out: &mut String, member: &Member<'_>, special: Option<&str>) -> std::fmt::Result {
    let difference = &member.difference;
    let route = shown(&member.group.route);
    writeln!(
        out,
        "         {:>6} × {route}  {}{}",
        grouped(member.group.count),
        place(difference.place),
        values(difference.values.as_ref())
    )?;
    match special {
        Some(special) => writeln!(out, "                  special: {special}"),
        None => Ok(()),
    }
}

/// Groups that were not listed and about whose requests something is special.
fn write_special(out: &mut String, cause: &Cause<'_>, listed: usize) -> std::fmt::Result {
    let found = cause.special_beyond(listed);
    for (member, special) in &found.members {
        write_member(out, member, Some(special))?;
    }
    if found.more > 0 {
        let more = plural(found.more as u64, "more group", "more groups");
        let line = styled(DIM, format_args!("… and {more} with something special"));
        writeln!(out, "         {line}")?;
    }
    Ok(())
}

/// Where a field differs. Its place and values have been printed already.
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

/// A cause in one line: its name and where it is.
fn write_short_cause(out: &mut String, cause: &Cause<'_>) -> std::fmt::Result {
    let count = cause.count();
    let near = word(cause.explanation());
    let scope = styled(DIM, cause.scope());
    writeln!(out, "{count:>6} × {}{near}  {scope}", name(cause))
}

fn write_group(out: &mut String, group: &Group<'_>, any_known: bool) -> std::fmt::Result {
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
    about.extend(group.state(any_known).map(|state| state.to_string()));
    about.extend(group.classes());
    if !about.is_empty() {
        writeln!(out, "         {}", styled(DIM, about.join(" · ")))?;
    }
    if let Some(special) = group.special() {
        writeln!(out, "         special: {special}")?;
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

/// An explanation without its meaning, to follow something.
fn word(explanation: Option<Explanation>) -> String {
    explanation.map_or(String::new(), |explanation| format!("  {explanation}"))
}

/// A group in one line.
fn write_short_group(out: &mut String, group: &Group<'_>) -> std::fmt::Result {
    let difference = &group.difference;
    let near = word(difference.explanation.filter(|_| difference.against == 0));
    let also = match group.also.len() {
        0 => String::new(),
        more => styled(DIM, format_args!("  and {more} more in the same answers")),
    };
    writeln!(
        out,
        "{:>6} × {}  {}  {}{}{near}{also}",
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
