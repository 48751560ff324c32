//! Stored decisions in words: a list, and what checking one showed.

use std::fmt::Write;

use parity_schemas::decisions::{CheckState, DecisionLine, DecisionPage, Verification};

use super::{BAD, DIM, GOOD, OPEN, style, styled};
use crate::view::words::{sentence, shown};

/// A line for each decision: time, outcome, id, the migration if there are several, of which versions, and what was decided.
pub fn decisions(page: &DecisionPage) -> String {
    let mut out = String::new();
    let names = || page.decisions.iter().map(|line| shown(&line.migration));
    let first = page.decisions.first().map(|line| line.migration.as_str());
    let are_several = page
        .decisions
        .iter()
        .any(|line| Some(line.migration.as_str()) != first);
    let width = names().map(|name| name.chars().count()).max().unwrap_or(0);
    let of_versions = page.decisions.iter().map(versions);
    let wide = of_versions.map(|told| told.chars().count()).max();
    let wide = wide.unwrap_or(0);
    for line in &page.decisions {
        let word = format!("{:9}", line.outcome.as_str().to_uppercase());
        let migration = if are_several {
            format!("{:width$}  ", shown(&line.migration))
        } else {
            String::new()
        };
        let versions = match wide {
            0 => String::new(),
            _ => format!("{:wide$}  ", versions(line)),
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
            "{second}Z  {}  {}  {migration}{versions}{told}",
            styled(style(line.outcome.into()), word),
            styled(DIM, line.id)
        );
    }
    out
}

/// Which candidate was set beside which legacy; empty where nobody said a version.
fn versions(line: &DecisionLine) -> String {
    match (&*line.legacy_version, &*line.candidate_version) {
        ("", "") => String::new(),
        ("", candidate) => shown(candidate),
        (legacy, "") => format!("{} → (no version)", shown(legacy)),
        (legacy, candidate) => format!("{} → {}", shown(legacy), shown(candidate)),
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(versions: &[(&str, &str)]) -> String {
        let lines = versions.iter().map(|(legacy, candidate)| {
            json!({
                "id": uuid::Uuid::nil(), "time": "2026-01-01T00:00:00.000000Z", "migration": "m", "outcome": "pass",
                "legacy_version": legacy, "candidate_version": candidate, "rules_hash": "", "headline": "PASS for all"
            })
        });
        let lines: Vec<_> = lines.collect();
        let page = json!({"schema": "parity.decisions/v1", "decisions": lines, "next": null});
        let page = serde_json::from_value(page).expect("a page");
        anstream::adapter::strip_str(&decisions(&page)).to_string()
    }

    #[test]
    fn each_decision_says_of_which_versions_it_is() {
        let text = listed(&[("go-1", "rust-0.9.1"), ("", "rust-0.9.0"), ("go-1", "")]);
        let columns: Vec<&str> = text
            .lines()
            .map(|line| {
                let begin = line.find("00000000-").expect("an id");
                line.get(begin + 38..).expect("columns behind it")
            })
            .collect();
        assert_eq!(
            columns,
            [
                "go-1 → rust-0.9.1    PASS for all",
                "rust-0.9.0           PASS for all",
                "go-1 → (no version)  PASS for all",
            ]
        );
        // Without versions there is no column.
        let text = listed(&[("", "")]);
        assert!(text.ends_with("000000000000  PASS for all\n"), "{text}");
    }
}
