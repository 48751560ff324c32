//! What `parity rules test` prints.

use std::fmt::Write;

use parity_schemas::trial::{Fate, GroupTrial, RulesTrial, Tried};
use parity_schemas::verdict::Part;

use super::{BOLD, style, styled};
use crate::view::words::{grouped, plural, sentence, sentences, shown};

/// Groups listed of each fate; the JSON document has all.
const MAX_GROUPS: usize = 40;

/// Before and after, and what becomes of each group.
pub fn tried(trial: &RulesTrial) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, trial);
    out
}

fn write(out: &mut String, trial: &RulesTrial) -> std::fmt::Result {
    writeln!(out, "before  {}", told(&trial.before))?;
    writeln!(out, "after   {}", after(trial))?;
    for reason in sentences(&trial.after.reasons) {
        writeln!(out, "        {reason}")?;
    }
    if trial.untold > 0 {
        writeln!(out)?;
        let unknown = plural(trial.untold, "mismatch", "mismatches");
        writeln!(out, "Of {unknown} it is not known whether they differ:")?;
        for one in &trial.reasons_untold {
            let (count, why) = (grouped(one.mismatches), one.why.meaning());
            let groups = plural(one.groups, "group", "groups");
            let of = if one.groups > 0 {
                format!(" in {groups}")
            } else {
                String::new()
            };
            writeln!(out, "  {count}{of}: {why}")?;
        }
        writeln!(out, "  if all of them are equal  {}", told(&trial.if_equal))?;
        writeln!(
            out,
            "  if all of them differ     {}",
            told(&trial.if_different)
        )?;
    }
    if trial.known_differences > 0 {
        let entries = plural(
            trial.known_differences,
            "known difference",
            "known differences",
        );
        writeln!(
            out,
            "\nBefore and after are decided with the {entries} of this configuration; the store does not say which were in force."
        )?;
    }
    if !trial.lost.is_empty() {
        let names: Vec<String> = trial.lost.iter().map(|id| shown(id)).collect();
        let told = format!(
            "gone or changed, though they excused something: {}",
            names.join(", ")
        );
        writeln!(out, "\n{}", sentence(&told))?;
    }
    for fate in Fate::ALL {
        let of_it: Vec<&GroupTrial> = trial
            .groups
            .iter()
            .filter(|one| one.fate == *fate)
            .collect();
        if of_it.is_empty() {
            continue;
        }
        let title = format!(
            "{} {}",
            plural(of_it.len() as u64, "group", "groups"),
            fate.meaning()
        );
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for group in of_it.iter().take(MAX_GROUPS) {
            writeln!(out, "  {}", line(group))?;
        }
        match of_it.len().saturating_sub(MAX_GROUPS) {
            0 => {}
            more => writeln!(out, "  … and {more} more; --output json has all")?,
        }
    }
    Ok(())
}

fn told(tried: &Tried) -> String {
    let word = styled(
        style(tried.outcome.into()),
        tried.outcome.as_str().to_uppercase(),
    );
    let (differing, compared) = (grouped(tried.differing), grouped(tried.compared));
    format!("{word}  {differing} of {compared} compared requests differ")
}

/// With the fewest that differ, too, where they are not known.
fn after(trial: &RulesTrial) -> String {
    if trial.untold == 0 {
        return told(&trial.after);
    }
    let fewest = grouped(trial.if_equal.differing);
    let word = styled(
        style(trial.after.outcome.into()),
        trial.after.outcome.as_str().to_uppercase(),
    );
    let (most, compared) = (
        grouped(trial.after.differing),
        grouped(trial.after.compared),
    );
    format!("{word}  between {fewest} and {most} of {compared} compared requests differ")
}

fn line(group: &GroupTrial) -> String {
    let place = match (group.part, group.pattern.as_str()) {
        (part, "") => part.to_string(),
        (Part::Body, path) => shown(path),
        (part, path) => format!("{part} {}", shown(path)),
    };
    let near = group.explanation;
    let near = near.map_or_else(String::new, |explanation| format!(" ({explanation})"));
    let examples = match (group.is_certain, group.cannot_tell()) {
        (true, _) => String::new(),
        (false, 0) => format!(
            "; all compared again: {} equal, {} differ",
            grouped(group.equal),
            grouped(group.differ)
        ),
        (false, others) => {
            let told = group.equal + group.differ;
            let why: Vec<&str> = group.untold.keys().map(|why| why.meaning()).collect();
            format!(
                "; {} of {} that were compared again are equal, {} not known ({})",
                grouped(group.equal),
                grouped(told),
                grouped(others),
                why.join("; ")
            )
        }
    };
    format!(
        "{}: {place} {}{near}, in {}{examples}",
        shown(&group.route),
        group.kind.meaning(),
        plural(group.count, "mismatch", "mismatches")
    )
}
