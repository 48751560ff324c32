//! Which mismatches keep their full exchange: the first few of each fingerprint and interval.
//!
//! Decided before the record is built, so that bodies are only redacted and rendered when they will be kept.

use parity_schemas::tally::Group;

use super::fast_map::FastMap;

/// Full exchanges kept per fingerprint and interval: enough to see a pattern, few enough that a candidate which
/// differs on every request cannot fill the store with bodies.
pub const SAMPLES_PER_GROUP: u32 = 20;
/// Fingerprints that are tracked per interval; further ones keep no samples. This bounds memory when every mismatch has
/// another fingerprint.
const MAX_WATCHED: usize = 10_000;

#[derive(Default)]
pub(super) struct SampleQuota {
    kept: FastMap<String, u32>,
}

impl SampleQuota {
    pub(super) fn keep(&mut self, groups: &[Group]) -> bool {
        let wanted = groups
            .iter()
            .any(|group| match self.kept.get(&group.fingerprint) {
                Some(kept) => *kept < SAMPLES_PER_GROUP,
                None => self.kept.len() < MAX_WATCHED,
            });
        if !wanted {
            return false;
        }
        for (index, group) in groups.iter().enumerate() {
            let repeated = groups
                .iter()
                .take(index)
                .any(|earlier| earlier.fingerprint == group.fingerprint);
            if repeated {
                continue;
            }
            if let Some(kept) = self.kept.get_mut(&group.fingerprint) {
                *kept += 1;
            } else if self.kept.len() < MAX_WATCHED {
                self.kept.insert(group.fingerprint.clone(), 1);
            }
        }
        true
    }

    /// A new interval began.
    pub(super) fn reset(&mut self) {
        self.kept = FastMap::default();
    }
}
