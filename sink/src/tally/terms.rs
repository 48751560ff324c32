//! The terms under which this process counts, until a store has them.
//!
//! They are offered like counts, in every snapshot until one is acknowledged, and again when a store was lost.

use std::collections::VecDeque;

use parity_schemas::terms::Terms;

/// Terms that are remembered. A process that is reloaded more often before its store can be written forgets the oldest.
const KEPT: usize = 32;

/// The latest terms, oldest first, each with the first snapshot that offered it.
#[derive(Default)]
pub(super) struct OfferedTerms(VecDeque<(Terms, Option<u32>)>);

impl OfferedTerms {
    /// From now on these are in force. Terms that were in force before are not offered twice, but are again the last that are
    /// forgotten.
    pub(super) fn add(&mut self, terms: Terms) {
        let mut offered = self.0.iter();
        if let Some(place) = offered.position(|(known, _)| known.id == terms.id) {
            let again = self.0.remove(place);
            self.0.extend(again);
            return;
        }
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((terms, None));
    }

    /// What the store lacks, if it has everything up to snapshot `acknowledged`; offered in snapshot `number`.
    pub(super) fn offer(&mut self, number: u32, acknowledged: u32) -> Vec<Terms> {
        let mut due = Vec::new();
        for (terms, offered) in &mut self.0 {
            if *offered.get_or_insert(number) > acknowledged {
                due.push(terms.clone());
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parity_schemas::id::new_id;

    fn terms() -> Terms {
        Terms {
            id: new_id(),
            ..Terms::default()
        }
    }

    #[test]
    fn terms_are_offered_until_acknowledged_and_again_when_the_store_is_lost() {
        let mut offered = OfferedTerms::default();
        let (first, second) = (terms(), terms());
        offered.add(first.clone());
        assert_eq!(offered.offer(1, 0), std::slice::from_ref(&first));
        assert_eq!(offered.offer(2, 0), std::slice::from_ref(&first));
        assert_eq!(offered.offer(3, 2), []);
        offered.add(first.clone());
        offered.add(second.clone());
        assert_eq!(offered.offer(4, 3), std::slice::from_ref(&second));
        assert_eq!(offered.offer(5, 4), []);
        assert_eq!(offered.offer(6, 0), [first.clone(), second.clone()]);
        offered.add(first.clone());
        assert_eq!(offered.offer(7, 6), []);
        assert_eq!(offered.offer(8, 0), [second, first]);
    }

    #[test]
    fn a_process_that_is_reloaded_for_ever_keeps_a_bounded_number() {
        let mut offered = OfferedTerms::default();
        for _ in 0..=KEPT {
            offered.add(terms());
        }
        assert_eq!(offered.offer(1, 0).len(), KEPT);
    }
}
