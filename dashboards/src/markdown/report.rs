//! The report as Markdown: the verdict, the routes, the worst causes, and the rest folded away.

use parity_schemas::evidence::Outcome;

use super::lists::{known, noise};
use super::{Document, code_in_cell, folded, more, name, outcome, place, plain, values};
use crate::view::words::{
    grouped, plural, rate, sentence, sentences, shown, targets_line, version,
};
use crate::view::{
    Cause, CauseName, Decided, Entry, Group, Member, ReportView, extent, not_compared,
};

/// Routes in the table.
const MAX_ROUTES: usize = 20;
/// Causes and groups that are seen at once, about a screen.
const MAX_SEEN: usize = 10;
/// Further ones that are folded away.
const MAX_FOLDED: usize = 100;
/// Groups named of a cause, and other differences of the same answers.
const MAX_PLACES: usize = 5;

/// The whole report, with the decision on it.
pub fn report(decided: &Decided) -> String {
    let view = ReportView::from(decided);
    let mut out = Document::default();
    let headline = view.headline();
    let word = if headline.is_compared {
        outcome(view.decision.outcome)
    } else {
        headline.word.to_owned()
    };
    let rest = plain(&sentence(&headline.rest));
    out.line(&format!("## {word}: {rest}\n"));
    if view.report.window.is_none() {
        return out.text;
    }
    out.line(&format!("- clients: {}", plain(&view.clients().told())));
    let reasons = match view.decision.outcome {
        Outcome::Undecided => view.decision.reasons.as_slice(),
        Outcome::Pass | Outcome::Fail => &[],
    };
    let not_counted = view.not_counted(reasons);
    let told = sentences(reasons).chain(sentences(&not_counted));
    for told in told.chain(view.classes()) {
        out.line(&format!("- {}", plain(&told)));
    }
    routes(&mut out, &view);
    differences(&mut out, &view);
    known(&mut out, &view.known());
    noise(&mut out, &view.noise());
    outcomes(&mut out, &view);
    rules(&mut out, &view);
    about(&mut out, &view);
    out.text
}

fn routes(out: &mut Document, view: &ReportView<'_>) {
    out.line("\n| route | received | match | differ | rate | not compared |");
    out.line("|---|---:|---:|---:|---:|---:|");
    for route in view.report.routes.iter().take(MAX_ROUTES) {
        let rate = rate(route.differing, route.compared).unwrap_or_else(|| "-".to_owned());
        out.line(&format!(
            "| {} | {} | {} | {} | {rate} | {} |",
            code_in_cell(&shown(&route.route)),
            grouped(route.counts.received),
            grouped(route.counts.matched),
            grouped(route.differing),
            grouped(not_compared(&route.counts)),
        ));
    }
    if let Some(line) = more(view.report.routes.len(), MAX_ROUTES, "routes") {
        out.line(&format!("\n{line}"));
    }
    for told in view.fields_left() {
        out.line(&format!("\n{}", plain(&sentence(&told))));
    }
}

/// What differs.
pub(super) fn differences(out: &mut Document, view: &ReportView<'_>) {
    let differing = view.differing();
    let any_known = !view.report.known.is_empty();
    let line = |entry: &Entry<'_>| match entry {
        Entry::Cause(cause) => of_cause(cause),
        Entry::Group(group) => of_group(group, any_known),
    };
    let entries = &differing.entries;
    if !entries.is_empty() {
        let extent = extent(entries);
        out.line(&format!("\n### Differences ({extent}; worst first)\n"));
        let seen = entries.iter().take(MAX_SEEN);
        out.list(&seen.map(line).collect::<Vec<_>>(), MAX_SEEN, "");
        let rest = entries.iter().skip(MAX_SEEN).take(MAX_FOLDED);
        let mut rest: Vec<String> = rest.map(line).collect();
        let shown = MAX_SEEN + MAX_FOLDED;
        rest.extend(more(entries.len(), shown, "causes and groups"));
        folded(out, "further differences", &rest);
    }
    if let Some(hint) = differing
        .hint
        .as_deref()
        .or(differing.spelt_hint.as_deref())
    {
        out.line(&format!("\n{}", plain(hint)));
    }
    let spelt = &differing.spelt;
    if !spelt.is_empty() {
        let mut lines: Vec<String> = spelt.iter().take(MAX_FOLDED).map(line).collect();
        lines.extend(more(spelt.len(), MAX_FOLDED, "causes and groups"));
        let extent = extent(spelt);
        let title = format!("only spelt in another way ({extent}; they count as differing)");
        folded(out, &title, &lines);
    }
    let transient = &differing.transient;
    if !transient.is_empty() {
        let lines = transient.iter().take(MAX_SEEN);
        let mut lines: Vec<String> = lines.map(|group| of_group(group, any_known)).collect();
        lines.extend(more(transient.len(), MAX_SEEN, "groups"));
        folded(
            out,
            "transient: the data changed, they do not count",
            &lines,
        );
    }
}

fn of_cause(cause: &Cause<'_>) -> String {
    let what = match cause.name {
        CauseName::Status(legacy, candidate) => format!("status {legacy} → {candidate}"),
        CauseName::Place(field, kind) => {
            let values = values(cause.only_values());
            format!("{} {}{values}", place(field), kind.meaning())
        }
        CauseName::Explanation(explanation, kind) => {
            let explained = plain(&format!("{explanation}: {}", explanation.meaning()));
            format!("{explained}; {}", kind.meaning())
        }
    };
    let mut text = format!("- **{} ×** {what}", cause.count());
    let mut push = |line: &str| text.extend(["  \n  ", line]);
    push(&format!("<sub>{}</sub>", plain(&cause.scope())));
    if let Some(near) = cause.near() {
        push(&plain(&near));
    }
    if let Some(special) = cause.special() {
        push(&format!("special: {}", plain(&special)));
    }
    if cause.is_of_routes() {
        let mut routes: Vec<String> = Vec::new();
        for member in &cause.members {
            let route = name(&member.group.route);
            if !routes.contains(&route) {
                routes.push(route);
            }
        }
        let hidden = routes.len().saturating_sub(MAX_PLACES);
        routes.truncate(MAX_PLACES);
        if hidden > 0 {
            routes.push(format!("… and {hidden} more"));
        }
        push(&routes.join(" · "));
        special_members(&mut text, cause, 0);
        return text;
    }
    for one in cause.members.iter().take(MAX_PLACES) {
        member(&mut text, one, cause.special_of(one).as_deref());
    }
    if let Some(line) = more(cause.members.len(), MAX_PLACES, "groups") {
        text.extend(["\n  ", &line]);
    }
    special_members(&mut text, cause, MAX_PLACES);
    text
}

fn member(text: &mut String, member: &Member<'_>, special: Option<&str>) {
    let difference = &member.difference;
    let (count, route) = (grouped(member.group.count), name(&member.group.route));
    let values = values(difference.values.as_ref());
    let place = place(difference.place);
    text.extend(["\n  - ", &count, " × ", &route, " ", &place, &values]);
    if let Some(special) = special {
        text.extend(["  \n    special: ", &plain(special)]);
    }
}

/// Groups that were not listed and about whose requests something is special.
fn special_members(text: &mut String, cause: &Cause<'_>, listed: usize) {
    let found = cause.special_beyond(listed);
    for (one, special) in &found.members {
        member(text, one, Some(special));
    }
    if found.more > 0 {
        let more = plural(found.more as u64, "more group", "more groups");
        text.extend(["\n  - … and ", &more, " with something special"]);
    }
}

fn of_group(group: &Group<'_>, any_known: bool) -> String {
    let difference = &group.difference;
    let mut text = format!(
        "- **{} ×** {} {} {}{}",
        group.count(),
        name(&group.report.route),
        place(difference.place),
        difference.kind.meaning(),
        values(difference.values.as_ref()),
    );
    let mut push = |line: &str| text.extend(["  \n  ", line]);
    let state = group.state(any_known).map(|state| state.to_string());
    let about: Vec<String> = state.into_iter().chain(group.classes()).collect();
    if !about.is_empty() {
        push(&format!("<sub>{}</sub>", plain(&about.join(" · "))));
    }
    if let Some(special) = group.special() {
        push(&format!("special: {}", plain(&special)));
    }
    if let Some(near) = difference.near() {
        push(&plain(&near));
    }
    for other in group.also.iter().take(MAX_PLACES) {
        let how = other.kind.meaning();
        let values = values(other.values.as_ref());
        push(&format!("also {} {how}{values}", place(other.place)));
    }
    if group.also.len() > MAX_PLACES {
        let hidden = group.also.len() - MAX_PLACES;
        push(&format!("… and {hidden} more in the same answers"));
    }
    text
}

/// Requests without a verdict.
fn outcomes(out: &mut Document, view: &ReportView<'_>) {
    for part in view.without_verdict() {
        let reasons = part.reasons.iter();
        let lines = reasons.map(|(reason, count)| {
            let told = plain(&format!("{reason}: {}", reason.meaning()));
            format!("- {} × {told}", grouped(*count))
        });
        let not_sent = part.not_sent.iter();
        let not_sent = not_sent.map(|told| format!("- {}", plain(&sentence(told))));
        let lines: Vec<String> = lines.chain(not_sent).collect();
        folded(
            out,
            &format!("{} ({})", part.title, grouped(part.total)),
            &lines,
        );
    }
    if let Some(unsettled) = view.unsettled() {
        out.line(&format!("\n{}", plain(&unsettled.sentence())));
    }
}

fn rules(out: &mut Document, view: &ReportView<'_>) {
    let rules = view.report.rules.iter().take(MAX_FOLDED);
    let mut lines: Vec<String> = rules
        .map(|rule| format!("- {} × {}", grouped(rule.hits), name(&rule.id)))
        .collect();
    lines.extend(more(view.report.rules.len(), MAX_FOLDED, "rules"));
    let since = view.excused_since();
    lines.extend(since.map(|(count, what)| format!("- {} × ({what})", grouped(count))));
    folded(out, "excused by rules", &lines);
    let idle = view.report.idle_rules.iter().take(MAX_FOLDED);
    let lines: Vec<String> = idle.map(|rule| format!("- {}", name(&rule.id))).collect();
    folded(out, "rules that excused nothing", &lines);
}

/// What it is of.
fn about(out: &mut Document, view: &ReportView<'_>) {
    let report = view.report;
    let Some(window) = &report.window else {
        return;
    };
    let of = format!(
        "migration {} · legacy {} · candidate {} · rules {} · {} to {} · {}",
        shown(&report.migration),
        version(&report.legacy_version),
        version(&report.candidate_version),
        shown(&report.rules_hash),
        window.from,
        window.to,
        shown(&report.instances.join(", ")),
    );
    let completeness = view.completeness();
    let targets = targets_line(report.distinct_targets, report.most_frequent_share);
    let lines = targets.into_iter().chain([of]);
    let lines = lines.chain([completeness.line(|time| time.to_string())]);
    let carried = completeness.carried_lines(|time| time.to_string());
    let other = completeness.other_rules_line(|time| time.to_string());
    for line in lines.chain(carried).chain(other) {
        out.line(&format!("\n<sub>{}</sub>", plain(&line)));
    }
}
