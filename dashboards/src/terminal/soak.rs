//! Whether anything grows under a steady load: a table for each service and for parity itself, and what to know of it.

use std::fmt::Write;

use parity_schemas::soak::{SoakDocument, SoakTrend, SoakVerdict};
use parity_schemas::visible::visible_up_to;

use super::load::{Loaded as _, MAX_CHARS, foot, head};
use super::{BAD, BOLD, DIM, GOOD, OPEN, styled};
use crate::view::growth::{rule, told};
use crate::view::stress::load;

/// The result with all that is below it.
pub fn soak(document: &SoakDocument) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, document);
    out
}

fn write(out: &mut String, document: &SoakDocument) -> std::fmt::Result {
    let done = format!("{}/s to both over {:.1} s", document.rate, document.seconds);
    head(out, document, &done)?;
    for (name, target, side) in document.sides() {
        writeln!(
            out,
            "\n{} {target}: {}",
            styled(BOLD, name),
            load(&side.load)
        )?;
        trends(out, &side.trends, document.allowed)?;
        for note in &side.notes {
            writeln!(out, "{}", styled(DIM, visible_up_to(note, MAX_CHARS)))?;
        }
    }
    if !document.own.is_empty() {
        writeln!(out, "\n{}", styled(BOLD, "parity itself"))?;
        trends(out, &document.own, document.allowed)?;
    }
    foot(out, document)?;
    writeln!(out, "{}", styled(DIM, rule(document)))
}

fn trends(out: &mut String, trends: &[SoakTrend], allowed: f64) -> std::fmt::Result {
    for trend in trends {
        let style = match trend.verdict {
            SoakVerdict::Flat => GOOD,
            SoakVerdict::Growing => BAD,
            SoakVerdict::BelowLimit | SoakVerdict::Undecided => OPEN,
        };
        let told = told(trend, allowed);
        let word = styled(style, format!("{:9}", told.word));
        let mut parts = vec![told.ends];
        if !told.per_request.is_empty() {
            parts.push(format!("{} a request", told.per_request));
        }
        if !told.per_hour.is_empty() {
            parts.push(format!("{} an hour", told.per_hour));
        }
        parts.push(match trend.verdict {
            SoakVerdict::Flat if !told.more.is_empty() => format!("({})", told.more),
            _ => told.more,
        });
        parts.retain(|part| !part.is_empty());
        let parts = parts.join("  ");
        writeln!(out, "  {word}  {:11}  {parts}", trend.of.as_str())?;
    }
    Ok(())
}
