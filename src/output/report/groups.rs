//! What differs: first what many groups share, in one entry each; then the groups that share nothing.
//!
//! A group is told once. A cause is counted by its findings; that is more than the answers they are in, since one may be
//! in several of its groups, and then the text says in how many at least.

use std::fmt::Write;

use parity_schemas::report::{CauseReport, GroupExample, GroupReport, Member, Report};
use parity_schemas::verdict::{Kind, Part};
use parity_schemas::visible::visible_value;

use super::more;
use crate::output::{
    BOLD, CANDIDATE, DIM, LEGACY, diff_lines, explained, grouped, shown, shown_value, styled,
};

/// More causes and groups than a screen holds are counted, not listed.
const MAX_CAUSES: usize = 20;
const MAX_GROUPS: usize = 30;
/// Groups shown of a cause: enough to see what they are, in less than the lines of two groups.
const MAX_PLACES: usize = 5;
/// Groups shown that coincide with another one.
const MAX_ALSO: usize = 8;
/// Lines shown of a text diff.
const MAX_DIFF_LINES: usize = 12;
/// Longest value where both stand in one line with their place.
const SHORT_VALUE_CHARS: usize = 32;

pub(super) fn write(out: &mut String, report: &Report) -> std::fmt::Result {
    let (causes, rest) = report.by_cause();
    if !causes.is_empty() {
        let groups = count_of(report.groups.len() - rest.len(), "group");
        let title = format!("CAUSES ({}, of {groups})", causes.len());
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for (cause, members) in causes.iter().take(MAX_CAUSES) {
            write_cause(out, cause, members)?;
        }
        more(out, causes.len(), MAX_CAUSES, "causes")?;
    }
    if !rest.is_empty() {
        let group = if causes.is_empty() {
            "group"
        } else {
            "other group"
        };
        let title = format!("DIFFERENCES ({})", count_of(rest.len(), group));
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for group in rest.iter().take(MAX_GROUPS) {
            write_group(out, group)?;
        }
        more(out, rest.len(), MAX_GROUPS, "groups")?;
    }
    let mut members = report.groups.iter().flat_map(GroupReport::members);
    let hint = members.find_map(|member| member.hint());
    if let Some(explanation) = hint {
        let line = format!(
            "What is meant to differ like that: a [[rule]] with action = \"accept\" and explanations = \
             [\"{explanation}\"], or a profile (`parity rules`)"
        );
        writeln!(out, "{}", styled(DIM, line))?;
    }
    Ok(())
}

fn count_of(count: usize, what: &str) -> String {
    format!(
        "{} {what}{}",
        grouped(count as u64),
        if count == 1 { "" } else { "s" }
    )
}

fn write_cause(out: &mut String, cause: &CauseReport, members: &[Member<'_>]) -> std::fmt::Result {
    let name = match (cause.part, &cause.pattern, cause.kind, cause.explanation) {
        (Some(part), Some(name), Some(how), _) => {
            let name = styled(BOLD, place(part, name));
            let example = members.iter().find_map(|member| member.example);
            format!("{name}  {}{}", kind(how), values(example))
        }
        (_, _, _, Some(explanation)) => {
            format!("{}: {}", styled(BOLD, explanation), explained(explanation))
        }
        // No document of ours has one.
        (_, _, _, None) => String::new(),
    };
    let count = format!("{:>6}", grouped(cause.findings));
    writeln!(out, "{} × {name}", styled(BOLD, count))?;
    let mut scope = count_of(members.len(), "group");
    match (cause.routes, members.first()) {
        (1, Some(member)) => write!(scope, " of {}", shown(&member.group.route))?,
        (routes, _) => write!(scope, " on {} routes", grouped(routes))?,
    }
    if cause.at_least < cause.findings {
        write!(scope, ", in {} answers at least", grouped(cause.at_least))?;
    }
    if let Some(example) = members.iter().find_map(|member| member.example) {
        write!(scope, ", for example {}", shown(&example.target))?;
    }
    writeln!(out, "         {}", styled(DIM, scope))?;
    if cause.part.is_some() {
        return write_routes(out, members);
    }
    for member in members.iter().take(MAX_PLACES) {
        let route = if cause.routes > 1 {
            format!("{}  ", shown(&member.group.route))
        } else {
            String::new()
        };
        writeln!(
            out,
            "         {:>6} × {route}{}{}",
            grouped(member.group.count),
            place(member.part, member.pattern),
            values(member.example)
        )?;
    }
    if members.len() > MAX_PLACES {
        let hidden = count_of(members.len() - MAX_PLACES, "more group");
        let line = styled(DIM, format_args!("… and {hidden}; --output json has all"));
        writeln!(out, "         {line}")?;
    }
    Ok(())
}

/// Where one field differs: its place and its values have been told.
fn write_routes(out: &mut String, members: &[Member<'_>]) -> std::fmt::Result {
    let mut routes: Vec<&str> = Vec::new();
    for member in members {
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

fn write_group(out: &mut String, group: &GroupReport) -> std::fmt::Result {
    writeln!(
        out,
        "{} × {}  {}  {}",
        styled(BOLD, format_args!("{:>6}", grouped(group.count))),
        shown(&group.route),
        styled(BOLD, place(group.part, &group.pattern)),
        kind(group.kind),
    )?;
    if let Some(example) = &group.example {
        let mut place = shown(&example.target);
        if !example.path.is_empty() && example.path != group.pattern {
            let _infallible = write!(place, " at {}", shown(&example.path));
        }
        writeln!(
            out,
            "         {}",
            styled(DIM, format_args!("for example {place}"))
        )?;
        if let Some(diff) = &example.text_diff {
            for line in diff_lines(diff).take(MAX_DIFF_LINES) {
                writeln!(out, "         | {line}")?;
            }
        } else {
            let (legacy, candidate) = (example.legacy.as_deref(), example.candidate.as_deref());
            writeln!(out, "         legacy     {}", side(LEGACY, legacy))?;
            writeln!(out, "         candidate  {}", side(CANDIDATE, candidate))?;
        }
    }
    if let Some(explanation) = group.explanation {
        let words = explained(explanation);
        writeln!(
            out,
            "         {explanation}: {words}{}",
            contradicted(group.against)
        )?;
    }
    for other in group.also.iter().take(MAX_ALSO) {
        let how = kind(other.kind);
        let near = other.explanation.map_or(String::new(), |explanation| {
            let words = explained(explanation);
            format!("  {explanation}: {words}{}", contradicted(other.against))
        });
        writeln!(
            out,
            "         also {}  {how}{}{near}",
            place(other.part, &other.pattern),
            values(other.example.as_ref())
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

/// What speaks against an explanation.
fn contradicted(against: u64) -> String {
    if against == 0 {
        return String::new();
    }
    let count = grouped(against);
    format!("; perhaps by chance, for {count} at the same place have no such explanation")
}

fn place(part: Part, pattern: &str) -> String {
    match (part, pattern) {
        (Part::Status, _) => "status".to_owned(),
        (part, "") => format!("{part}, as a whole"),
        (part, pattern) => format!("{part} {}", shown(pattern)),
    }
}

/// Both values, to be put behind their place; nothing once retention has removed them.
fn values(example: Option<&GroupExample>) -> String {
    let short = |style, value: Option<&str>| {
        value.map_or_else(
            || styled(DIM, "(absent)"),
            |value| styled(style, visible_value(value, SHORT_VALUE_CHARS)),
        )
    };
    example.map_or(String::new(), |example| {
        format!(
            "  {} → {}",
            short(LEGACY, example.legacy.as_deref()),
            short(CANDIDATE, example.candidate.as_deref())
        )
    })
}

fn side(style: anstyle::Style, value: Option<&str>) -> String {
    value.map_or_else(
        || styled(DIM, "(absent)"),
        |value| styled(style, shown_value(value)),
    )
}

pub(in crate::output) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Missing => "is missing in the candidate",
        Kind::Extra => "is only in the candidate",
        Kind::Type => "has another type",
        Kind::Value => "has another value",
        Kind::Order => "is in another order",
        Kind::DuplicateKey => "has a key twice",
        Kind::Decode => "is not what it claims to be",
    }
}
