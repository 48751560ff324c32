//! What the results of a load have in common: the first lines, and the last ones.

use std::fmt::Write;

use parity_schemas::metrics::MetricsOutcome;
use parity_schemas::soak::{SoakDocument, SoakSide};
use parity_schemas::stress::{
    LoadAnswers, LoadGenerator, LoadRequests, StressDocument, StressSide,
};
use parity_schemas::visible::visible_up_to;

use super::metrics::style;
use super::{BAD, OPEN, styled};
use crate::view::stress::{answers, generator, sent};

/// Longest text that is from elsewhere.
pub(super) const MAX_CHARS: usize = 400;

/// A result of a load, as far as both kinds have the same.
pub(super) trait Loaded {
    /// The service on one side.
    type Side;

    fn outcome(&self) -> (MetricsOutcome, &[String]);
    /// Whether the outcome says anything.
    fn is_judged(&self) -> bool;
    fn is_interrupted(&self) -> bool;
    /// Legacy and candidate: name, address and the rest.
    fn sides(&self) -> [(&'static str, String, &Self::Side); 2];
    fn answers(&self) -> Option<&LoadAnswers>;
    fn requests(&self) -> &LoadRequests;
    fn generator(&self) -> &LoadGenerator;
}

macro_rules! loaded {
    ($($document:ty, $side:ty, $judged:expr;)*) => {$(
        impl Loaded for $document {
            type Side = $side;

            fn outcome(&self) -> (MetricsOutcome, &[String]) {
                (self.outcome, &self.reasons)
            }

            fn is_judged(&self) -> bool {
                let judged: fn(&$document) -> bool = $judged;
                judged(self)
            }

            fn is_interrupted(&self) -> bool {
                self.interrupted
            }

            fn sides(&self) -> [(&'static str, String, &$side); 2] {
                [("legacy", &self.legacy), ("candidate", &self.candidate)]
                    .map(|(name, side)| (name, visible_up_to(&side.target, MAX_CHARS), side))
            }

            fn answers(&self) -> Option<&LoadAnswers> {
                self.answers.as_ref()
            }

            fn requests(&self) -> &LoadRequests {
                &self.requests
            }

            fn generator(&self) -> &LoadGenerator {
                &self.generator
            }
        }
    )*};
}
loaded! {
    SoakDocument, SoakSide, |_| true;
    StressDocument, StressSide, |document| document.judged || document.outcome != MetricsOutcome::Pass;
}

/// The outcome of what was done, and why.
pub(super) fn head(out: &mut String, document: &impl Loaded, done: &str) -> std::fmt::Result {
    let (outcome, reasons) = document.outcome();
    let ended = if document.is_interrupted() {
        ", not finished: it was ended before its time"
    } else {
        ""
    };
    let word = if document.is_judged() {
        styled(style(outcome), outcome.as_str().to_uppercase())
    } else {
        styled(OPEN, "NOT JUDGED".to_owned())
    };
    writeln!(out, "{word}  {done}{ended}")?;
    for reason in reasons {
        writeln!(out, "  {}", visible_up_to(reason, MAX_CHARS))?;
    }
    Ok(())
}

/// Whether both answered alike, what was sent, and what parity itself did.
pub(super) fn foot(out: &mut String, document: &impl Loaded) -> std::fmt::Result {
    writeln!(out)?;
    if let Some(found) = document.answers() {
        writeln!(out, "answers    {}", answers(found))?;
        for difference in &found.differences {
            let route = visible_up_to(&difference.route, MAX_CHARS);
            let place = visible_up_to(&difference.place, MAX_CHARS);
            let told = format!("{:>8} × {route}: {place}", difference.count);
            writeln!(out, "{}", styled(BAD, told))?;
        }
    }
    writeln!(out, "sent       {}", sent(document.requests()))?;
    writeln!(out, "generator  {}", generator(document.generator()))
}
