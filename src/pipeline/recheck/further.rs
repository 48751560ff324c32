//! Asks a third time and more, about a legacy that fails now and then.
//!
//! A legacy that fails for one of twenty requests fails for one of four hundred both times, and by two looks that is a
//! difference that stands. So while the legacy has only failed, and the candidate never did, both are asked once more,
//! within the same budgets. If the legacy then answers as the candidate does, its failure was its own. One that always fails
//! there is confirmed as before. A first answer of the candidate that failed is never asked about more often.
//!
//! The same where both answered first and one of them fails then: that says nothing of what differed, and who asks no further
//! would know nothing of a service that fails now and then.

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
    /// Whether only the legacy failed so far, or only a second answer of either service, and both may be asked once more.
    pub(in crate::pipeline) fn is_only_failed(
        exchange: &Exchange,
        second: &SecondCaptures,
    ) -> bool {
        let (legacy, candidate) = (&exchange.legacy, &exchange.candidate);
        let has_only_legacy_failed = [legacy, &second.legacy].into_iter().all(class::refuses)
            && ![candidate, &second.candidate]
                .into_iter()
                .any(class::refuses);
        let has_only_second_failed = ![legacy, candidate].into_iter().any(class::refuses)
            && [&second.legacy, &second.candidate]
                .into_iter()
                .any(class::refuses);
        second.looks < MOST_LOOKS && (has_only_legacy_failed || has_only_second_failed)
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
