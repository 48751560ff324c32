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
    writeln!(out, "after   {}", told(&trial.after))?;
    for reason in sentences(&trial.after.reasons) {
        writeln!(out, "        {reason}")?;
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

fn line(group: &GroupTrial) -> String {
    let place = match (group.part, group.pattern.as_str()) {
        (part, "") => part.to_string(),
        (Part::Body, path) => shown(path),
        (part, path) => format!("{part} {}", shown(path)),
    };
    let near = group.explanation;
    let near = near.map_or_else(String::new, |explanation| format!(" ({explanation})"));
    let examples = if group.is_certain {
        String::new()
    } else {
        format!(
            "; of its examples {} equal, {} differ, {} cannot be told",
            group.equal, group.differ, group.cannot_tell
        )
    };
    format!(
        "{}: {place} {}{near}, in {}{examples}",
        shown(&group.route),
        group.kind.meaning(),
        plural(group.count, "mismatch", "mismatches")
    )
}
