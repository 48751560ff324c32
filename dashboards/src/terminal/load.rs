//! What the results of a load have in common: the first lines, and the last ones.

use std::fmt::Write;

use parity_schemas::metrics::MetricsOutcome;
use parity_schemas::stress::{LoadAnswers, LoadGenerator, LoadRequests};
use parity_schemas::visible::visible_up_to;

use super::metrics::style;
use super::{BAD, styled};
use crate::view::stress::{answers, generator, sent};

/// Longest text that is from elsewhere.
pub(super) const MAX_CHARS: usize = 400;

/// The outcome of what was done, and why.
pub(super) fn head(
    out: &mut String,
    outcome: MetricsOutcome,
    done: &str,
    interrupted: bool,
    reasons: &[String],
) -> std::fmt::Result {
    let ended = if interrupted {
        ", not finished: it was ended before its time"
    } else {
        ""
    };
    let word = styled(style(outcome), outcome.as_str().to_uppercase());
    writeln!(out, "{word}  {done}{ended}")?;
    for reason in reasons {
        writeln!(out, "  {}", visible_up_to(reason, MAX_CHARS))?;
    }
    Ok(())
}

/// Whether both answered alike, what was sent, and what parity itself did.
pub(super) fn foot(
    out: &mut String,
    found: Option<&LoadAnswers>,
    requests: &LoadRequests,
    own: &LoadGenerator,
) -> std::fmt::Result {
    writeln!(out)?;
    if let Some(found) = found {
        writeln!(out, "answers    {}", answers(found))?;
        for difference in &found.differences {
            let route = visible_up_to(&difference.route, MAX_CHARS);
            let place = visible_up_to(&difference.place, MAX_CHARS);
            let told = format!("{:>8} × {route}: {place}", difference.count);
            writeln!(out, "{}", styled(BAD, told))?;
        }
    }
    writeln!(out, "sent       {}", sent(requests))?;
    writeln!(out, "generator  {}", generator(own))
}
