//! How often both services may be asked again, as a mirror bounds it: so often for each request, and groups that were confirmed so
//! often in a minute.

use std::collections::BTreeMap;

use parity_schemas::record::MismatchClass;

use crate::service::SECOND;
use crate::simulation::RATE;

/// Rechecks of a group that was confirmed, in a minute.
const PER_GROUP: u64 = 20;
const MINUTE: i64 = 60 * SECOND;

/// The rechecks that may still be made.
pub(super) struct Budget {
    of_each: f64,
    left: f64,
    /// Groups that were confirmed, with the begin of their minute and the rechecks in it.
    confirmed: BTreeMap<String, (i64, u64)>,
}

impl Budget {
    /// So many rechecks for each request.
    pub(super) fn of(of_each: f64) -> Self {
        Self {
            of_each,
            left: 1.0,
            confirmed: BTreeMap::new(),
        }
    }

    /// A request has come.
    pub(super) fn grow(&mut self) {
        // What is not used up is kept for a second.
        let most = self.of_each * RATE as f64 + 1.0;
        self.left = (self.left + self.of_each).min(most);
    }

    pub(super) fn takes(&mut self, groups: &[String], time: i64) -> bool {
        let is_spent = |name: &String| {
            let known = self.confirmed.get(name);
            known.is_some_and(|(begun, looks)| {
                let gone = time - begun;
                // Half of them at once, and the others spread over the minute.
                let due = (PER_GROUP.cast_signed() / 2 + 1) * gone / MINUTE;
                gone < MINUTE && *looks >= PER_GROUP / 2 + due.unsigned_abs()
            })
        };
        if self.left < 1.0 || groups.iter().all(is_spent) {
            return false;
        }
        self.left -= 1.0;
        for name in groups {
            if let Some(known) = self.confirmed.get_mut(name) {
                let is_over = known.1 == 0 || time - known.0 >= MINUTE;
                *known = if is_over {
                    (time, 1)
                } else {
                    (known.0, known.1 + 1)
                };
            }
        }
        true
    }

    pub(super) fn learn(&mut self, name: &str, class: MismatchClass) {
        match class {
            MismatchClass::Confirmed | MismatchClass::Unstable => {
                self.confirmed.entry(name.to_owned()).or_default();
            }
            _ => drop(self.confirmed.remove(name)),
        }
    }
}
