//! Whether anything grows under a steady load: a table for each service and for parity itself, and what to know of it.

use std::fmt::Write;

use parity_comparator::metrics::shown;
use parity_schemas::metrics::Unit;
use parity_schemas::soak::{Grows, SoakDocument, SoakSlope, SoakTrend, SoakVerdict};
use parity_schemas::visible::visible_up_to;

use super::metrics::style;
use super::{BAD, BOLD, DIM, GOOD, OPEN, styled};
use crate::view::stress::{answers, generator, load, sent};

/// Longest text that is from elsewhere.
const MAX_CHARS: usize = 400;

/// The result with all that is below it.
pub fn soak(document: &SoakDocument) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, document);
    out
}

fn write(out: &mut String, document: &SoakDocument) -> std::fmt::Result {
    let word = document.outcome.as_str().to_uppercase();
    let ended = if document.interrupted {
        ", not finished: it was ended before its time"
    } else {
        ""
    };
    let word = styled(style(document.outcome), word);
    writeln!(
        out,
        "{word}  {}/s to both over {:.1} s{ended}",
        document.rate, document.seconds
    )?;
    for reason in &document.reasons {
        writeln!(out, "  {}", visible_up_to(reason, MAX_CHARS))?;
    }
    for (name, side) in [
        ("legacy", &document.legacy),
        ("candidate", &document.candidate),
    ] {
        let target = visible_up_to(&side.target, MAX_CHARS);
        writeln!(
            out,
            "\n{} {target}: {}",
            styled(BOLD, name),
            load(&side.load)
        )?;
        trends(out, &side.trends)?;
        for note in &side.notes {
            writeln!(out, "{}", styled(DIM, visible_up_to(note, MAX_CHARS)))?;
        }
    }
    if !document.own.is_empty() {
        writeln!(out, "\n{}", styled(BOLD, "parity itself"))?;
        trends(out, &document.own)?;
    }
    writeln!(out)?;
    if let Some(found) = &document.answers {
        writeln!(out, "answers    {}", answers(found))?;
    }
    writeln!(out, "sent       {}", sent(&document.requests))?;
    writeln!(out, "generator  {}", generator(&document.generator))?;
    let rule = format!(
        "Growing: by Mann-Kendall at {} % and by more than {} in all, after {:.1} s of warm-up; slopes by Theil-Sen.",
        document.confidence * 100.0,
        shown(document.allowed, Unit::Bytes),
        document.warm_up
    );
    writeln!(out, "{}", styled(DIM, rule))
}

fn trends(out: &mut String, trends: &[SoakTrend]) -> std::fmt::Result {
    for trend in trends {
        let unit = match trend.of {
            Grows::Rss => Unit::Bytes,
            Grows::Descriptors | Grows::Threads => Unit::Number,
        };
        let style = match trend.verdict {
            SoakVerdict::Flat => GOOD,
            SoakVerdict::Growing => BAD,
            SoakVerdict::Undecided => OPEN,
        };
        let word = styled(style, format!("{:9}", trend.verdict.as_str()));
        let mut told = String::new();
        if let (Some(first), Some(last)) = (trend.first, trend.last) {
            write!(told, "{} → {}", shown(first, unit), shown(last, unit))?;
        }
        if let Some(slope) = &trend.per_request {
            write!(told, "  {} a request", range(slope, unit))?;
        }
        if let Some(slope) = &trend.per_hour {
            write!(told, "  {} an hour", signed(slope.value, unit))?;
        }
        if let Some(why) = &trend.why {
            told.push_str(&visible_up_to(why, MAX_CHARS));
        }
        if trend.verdict == SoakVerdict::Flat && trend.jumps > 0.0 {
            write!(told, "  ({} at once)", signed(trend.jumps, unit))?;
        }
        writeln!(out, "  {word}  {:11}  {told}", trend.of.as_str())?;
    }
    Ok(())
}

fn range(slope: &SoakSlope, unit: Unit) -> String {
    format!(
        "{} ({} to {})",
        signed(slope.value, unit),
        signed(slope.low, unit),
        signed(slope.high, unit)
    )
}

/// With its sign; what is less than a thousandth of the unit is nothing.
fn signed(value: f64, unit: Unit) -> String {
    if value.abs() < 1e-3 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "+" };
    let size = value.abs();
    if unit == Unit::Bytes && size < 1.0 {
        return format!("{sign}{size:.3} B");
    }
    format!("{sign}{}", shown(size, unit))
}
