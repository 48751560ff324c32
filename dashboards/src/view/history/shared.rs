//! Buckets in which several versions of the candidate counted: a rate of all of them would be that of none.

use parity_schemas::history::{Compared, History};

/// Says in each bucket in which several versions counted what one of them has there, by its own history of the same buckets.
pub(super) fn share(history: &mut History, alone: &History) {
    let shared = history.buckets.iter_mut();
    for bucket in shared.filter(|bucket| !bucket.candidates.is_empty()) {
        let mut own = alone.buckets.iter();
        let own = own.find(|own| own.from == bucket.from);
        bucket.of_candidate = own.map(|own| Compared {
            compared: own.compared,
            differing: own.differing,
        });
    }
}
