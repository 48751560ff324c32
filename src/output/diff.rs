//! The result of `parity diff` in words: every finding with its place and both values, then what was excused.

use std::fmt::Write;

use parity_comparator::Comparison;
use parity_schemas::verdict::{Finding, Part, Verdict};

use super::{
    BAD, BOLD, CANDIDATE, DIM, GOOD, LEGACY, OPEN, diff_lines, explained, shown, shown_value,
    styled,
};

/// The whole result. The inputs are the user's own files, so values are shown clear.
pub(crate) fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, comparison);
    out
}

fn write(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    for finding in &comparison.findings {
        write_finding(out, finding)?;
    }
    if comparison.findings_cut {
        writeln!(
            out,
            "{}",
            styled(DIM, "… and more findings than are listed")
        )?;
    }
    for tolerated in &comparison.tolerated {
        let place = place(tolerated.part, &tolerated.path);
        writeln!(
            out,
            "{}",
            styled(
                DIM,
                format_args!("  equal: {place} ({})", shown(&tolerated.why))
            )
        )?;
    }
    match comparison.verdict {
        Verdict::Match => writeln!(out, "{}", styled(GOOD, "match")),
        Verdict::Mismatch => {
            let count = comparison.findings.len();
            let least = if comparison.findings_cut {
                "at least "
            } else {
                ""
            };
            let plural = if count == 1 { "" } else { "s" };
            writeln!(
                out,
                "{}: {least}{count} difference{plural}",
                styled(BAD, "mismatch")
            )
        }
        Verdict::NotCompared(reason) => writeln!(out, "{}: {reason}", styled(OPEN, "not compared")),
    }
}

fn place(part: Part, path: &str) -> String {
    match (part, path) {
        (Part::Status, _) => "status".to_owned(),
        (part, "") => format!("{part}, as a whole"),
        (part, path) => format!("{part} {}", shown(path)),
    }
}

fn write_finding(out: &mut String, finding: &Finding) -> std::fmt::Result {
    let moved = finding
        .candidate_path
        .as_ref()
        .map(|path| format!(" (candidate: {})", shown(path)))
        .unwrap_or_default();
    let kind = super::report::kind(finding.kind);
    writeln!(
        out,
        "{}{moved}  {kind}",
        styled(BOLD, place(finding.part, &finding.path))
    )?;
    if let Some(diff) = &finding.text_diff {
        for line in diff_lines(diff) {
            writeln!(out, "  | {line}")?;
        }
    } else {
        if let Some(value) = &finding.legacy {
            writeln!(
                out,
                "  {}",
                styled(LEGACY, format_args!("- {}", shown_value(value)))
            )?;
        }
        if let Some(value) = &finding.candidate {
            writeln!(
                out,
                "  {}",
                styled(CANDIDATE, format_args!("+ {}", shown_value(value)))
            )?;
        }
    }
    if let Some(explanation) = finding.explanation {
        writeln!(out, "  {explanation}: {}", explained(explanation))?;
    }
    Ok(())
}
