//! Asks a third time and more, about a legacy that fails now and then.
//!
//! A legacy that fails for one of twenty requests fails for one of four hundred both times, and by two looks that is a
//! difference that stands. So while the legacy has only failed, and the candidate never did, both are asked once more,
//! within the same budgets. If the legacy then answers as the candidate does, its failure was its own. One that always fails
//! there is confirmed as before. What a candidate fails to answer is never asked about more often.

use std::sync::Arc;

use parity_comparator::noise::class;
use parity_schemas::exchange::Exchange;

use super::super::pledge::Pledge;
use super::super::waiting::SecondCaptures;
use super::SecondLooks;
use super::suspended::FAILED;

/// How often both services are asked again about one mismatch at the most. A legacy that fails for a fifth of the requests
/// fails for one of fifteen thousand each time, which is far below what a gate allows by default.
const MOST_LOOKS: u32 = 5;

impl SecondLooks {
    /// Whether only the legacy failed so far, and may be asked once more.
    pub(in crate::pipeline) fn is_only_failed(
        exchange: &Exchange,
        second: &SecondCaptures,
    ) -> bool {
        second.looks < MOST_LOOKS
            && [&exchange.legacy, &second.legacy]
                .into_iter()
                .all(class::refuses)
            && ![&exchange.candidate, &second.candidate]
                .into_iter()
                .any(class::refuses)
    }

    /// Asks both once more after so many looks; gives back what cannot be asked about.
    pub(in crate::pipeline) fn look_further(
        self: &Arc<Self>,
        exchange: Exchange,
        pledge: Pledge,
        looks: u32,
    ) -> Result<(), Box<(Exchange, Pledge)>> {
        match self.admit(&exchange, pledge.groups()) {
            Ok(admitted) => {
                // Both were asked, whatever happens now.
                self.send(admitted, exchange, pledge.otherwise(FAILED), looks + 1);
                Ok(())
            }
            Err(_) => Err(Box::new((exchange, pledge))),
        }
    }

    /// The same where the legacy did not answer at all at the last look.
    pub(super) fn look_beyond_silence(
        self: &Arc<Self>,
        exchange: Exchange,
        pledge: Pledge,
        looks: u32,
    ) -> Result<(), Box<(Exchange, Pledge)>> {
        let is_only_failed = looks < MOST_LOOKS
            && class::refuses(&exchange.legacy)
            && !class::refuses(&exchange.candidate);
        if is_only_failed {
            self.look_further(exchange, pledge, looks)
        } else {
            Err(Box::new((exchange, pledge)))
        }
    }
}
