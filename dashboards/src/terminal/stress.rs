//! What two services hold under load: a line for each, tables beside each other, what it is worth, and what to know of it.

use std::fmt::Write;

use parity_schemas::stress::StressDocument;
use parity_schemas::visible::visible_up_to;

use super::metrics::{judged, style, table};
use super::{BAD, BOLD, DIM, styled};
use crate::view::stress::{answers, cost, demands, generator, limit, sent, title};

/// Longest text that is from elsewhere.
const MAX_CHARS: usize = 400;

/// The result with all that is below it.
pub fn stress(document: &StressDocument) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, document);
    out
}

fn write(out: &mut String, document: &StressDocument) -> std::fmt::Result {
    let word = document.outcome.as_str().to_uppercase();
    let ended = if document.interrupted {
        ", not finished: it was ended before its time"
    } else {
        ""
    };
    let word = styled(style(document.outcome), word);
    writeln!(out, "{word}  over {:.1} s{ended}", document.seconds)?;
    for reason in &document.reasons {
        writeln!(out, "  {}", visible_up_to(reason, MAX_CHARS))?;
    }
    for (name, side) in [
        ("legacy", &document.legacy),
        ("candidate", &document.candidate),
    ] {
        let target = visible_up_to(&side.target, MAX_CHARS);
        writeln!(out, "{name:9}  {target}: {}", limit(side))?;
    }
    for shown in &document.tables {
        writeln!(out, "\n{}", styled(BOLD, title(shown)))?;
        table(out, &shown.measures)?;
    }
    if let Some(found) = &document.cost {
        let [saving, used] = cost(found);
        writeln!(out, "\n{saving}\n{}", styled(DIM, used))?;
    }
    if !document.thresholds.is_empty() {
        writeln!(out)?;
        judged(out, &document.thresholds)?;
    }
    writeln!(out)?;
    if let Some(found) = &document.answers {
        writeln!(out, "answers    {}", answers(found))?;
        for difference in &found.differences {
            let route = visible_up_to(&difference.route, MAX_CHARS);
            let place = visible_up_to(&difference.place, MAX_CHARS);
            let told = format!("{:>8} × {route}: {place}", difference.count);
            writeln!(out, "{}", styled(BAD, told))?;
        }
    }
    writeln!(out, "sent       {}", sent(&document.requests))?;
    writeln!(out, "generator  {}", generator(&document.generator))?;
    writeln!(out, "{}", styled(DIM, demands(&document.demands)))?;
    for (name, side) in [
        ("legacy", &document.legacy),
        ("candidate", &document.candidate),
    ] {
        for note in &side.notes {
            let note = visible_up_to(note, MAX_CHARS);
            writeln!(out, "{}", styled(DIM, format!("{name}: {note}")))?;
        }
    }
    Ok(())
}
