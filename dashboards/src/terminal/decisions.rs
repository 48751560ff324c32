//! Stored decisions in words: a list, and what checking one showed.

use std::fmt::Write;

use parity_schemas::decisions::{CheckState, DecisionPage, Verification};

use super::{BAD, DIM, GOOD, OPEN, style, styled};
use crate::view::words::{sentence, shown};

/// A line for each decision: time, outcome, id, the migration if there are several, and what was decided.
pub fn decisions(page: &DecisionPage) -> String {
    let mut out = String::new();
    let names = || page.decisions.iter().map(|line| shown(&line.migration));
    let first = page.decisions.first().map(|line| line.migration.as_str());
    let are_several = page
        .decisions
        .iter()
        .any(|line| Some(line.migration.as_str()) != first);
    let width = names().map(|name| name.chars().count()).max().unwrap_or(0);
    for line in &page.decisions {
        let word = format!("{:9}", line.outcome.as_str().to_uppercase());
        let migration = if are_several {
            format!("{:width$}  ", shown(&line.migration))
        } else {
            String::new()
        };
        let told = match line.headline.as_str() {
            "" if are_several => String::new(),
            "" => format!("migration {}", shown(&line.migration)),
            headline => sentence(headline),
        };
        let time = line.time.to_string();
        let second = time.split('.').next().unwrap_or(&time);
        let _infallible = writeln!(
            out,
            "{second}Z  {}  {}  {migration}{told}",
            styled(style(line.outcome.into()), word),
            styled(DIM, line.id)
        );
    }
    out
}

/// A line for each check.
pub fn verification(verification: &Verification) -> String {
    let mut out = String::new();
    let (style, word) = if verification.holds {
        (GOOD, "HOLDS")
    } else {
        (BAD, "DOES NOT HOLD")
    };
    let id = verification
        .decision_id
        .map_or_else(String::new, |id| format!("  decision {id}"));
    let _infallible = writeln!(out, "{}{id}", styled(style, word));
    for check in &verification.checks {
        let style = match check.state {
            CheckState::Holds => GOOD,
            CheckState::Fails => BAD,
            CheckState::Unknown => OPEN,
        };
        let _infallible = writeln!(
            out,
            "  {}  {}",
            styled(style, format_args!("{:7}", check.state.as_str())),
            check.name.meaning()
        );
        for told in &check.told {
            let _infallible = writeln!(out, "           {}", sentence(told));
        }
    }
    out
}
