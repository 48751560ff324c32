//! What sums take from those under other rules, and what they lose when a rule has expired.

use std::collections::BTreeSet;

use parity_schemas::evidence::Window;
use parity_schemas::evidence::carried::{CarriedRules, ExpiredRule, Fate, MAX_NAMED, RouteCounted};

use super::Sums;

impl Sums {
    /// Takes out what is not known to hold without the rules that have expired. These are the present rules, of this hash.
    pub(in crate::read) fn expire(
        &mut self,
        rules_hash: &str,
        counted: Vec<RouteCounted>,
        fates: Vec<Fate>,
        expired: Vec<ExpiredRule>,
    ) {
        let Some(window) = self.window else {
            return;
        };
        let mut carried = CarriedRules {
            rules_hash: rules_hash.to_owned(),
            from: window.from,
            to: window.to,
            expired,
            ..CarriedRules::default()
        };
        for (counted, fate) in counted.into_iter().zip(fates) {
            if let Fate::Anew(why) = fate {
                self.routes.remove(&counted.route);
                self.groups.remove(&counted.route);
                self.sets.remove(&counted.route);
                carried.begin_anew(counted.route, &counted.counts, why);
            } else {
                carried.keep(&counted.counts, None);
            }
        }
        if carried.routes_anew > 0 {
            self.carried.push(carried);
        }
    }

    /// What they have from earlier rules. Of the routes that begin anew those are named first of which nothing is here.
    pub(super) fn take_carried(&mut self) -> Vec<CarriedRules> {
        let mut all = std::mem::take(&mut self.carried);
        for carried in &mut all {
            carried.name(|route| {
                let sums = self.routes.get(route);
                sums.is_some_and(|sums| sums.counts.compared() > 0)
            });
        }
        all
    }

    /// Routes that were compared outside, and not in what is counted.
    pub(super) fn take_only_left_out(&mut self) -> Vec<String> {
        let is_compared = |route: &str| {
            let sums = self.routes.get(route);
            sums.is_some_and(|sums| sums.counts.compared() > 0)
        };
        let mut outside = std::mem::take(&mut self.outside);
        outside.retain(|route| !is_compared(route));
        outside.truncate(MAX_NAMED);
        outside
    }

    /// Adds nothing of what `earlier` has, counted under the rules of this hash, and keeps which routes begin anew by that.
    pub(in crate::read) fn begin_anew(&mut self, rules_hash: &str, earlier: &Self, why: String) {
        if let Some(window) = earlier.window {
            let mut carried = CarriedRules {
                rules_hash: rules_hash.to_owned(),
                from: window.from,
                to: window.to,
                ..CarriedRules::default()
            };
            for (route, sums) in &earlier.routes {
                carried.begin_anew(route.clone(), &sums.counts, why.clone());
            }
            self.carried.push(carried);
        }
        self.not_carried.insert(rules_hash.to_owned(), why);
    }

    /// Adds what `earlier`, counted under the rules of this hash, has of the routes that do not start anew. If all do,
    /// nothing is added but that.
    pub(in crate::read) fn carry(
        &mut self,
        rules_hash: &str,
        mut earlier: Self,
        counted: Vec<RouteCounted>,
        fates: Vec<Fate>,
    ) {
        let Some(window) = earlier.window else {
            return;
        };
        self.are_contradicted |= earlier.are_contradicted;
        let mut carried = CarriedRules {
            rules_hash: rules_hash.to_owned(),
            from: window.from,
            to: window.to,
            ..CarriedRules::default()
        };
        for (mut counted, fate) in counted.into_iter().zip(fates) {
            let excused = match fate {
                Fate::Anew(why) => {
                    carried.begin_anew(counted.route, &counted.counts, why);
                    continue;
                }
                Fate::Untouched => BTreeSet::new(),
                Fate::Excused(excused) => excused,
            };
            let again = counted.decide_again(excused.clone());
            carried.keep(&counted.counts, again);
            let sums = self.routes.entry(counted.route.clone()).or_default();
            sums.add(earlier.routes.remove(&counted.route).unwrap_or_default());
            // Of these counts some may have been decided again.
            sums.counts.merge(&counted.counts);
            for set in counted.sets {
                self.sets.carry(set);
            }
            let still = |name: &str| !excused.contains(name);
            self.groups
                .carry(&counted.route, &mut earlier.groups, still);
        }
        if carried.routes == 0 {
            let why = carried.anew.first();
            let why = why.map_or_else(String::new, |first| {
                format!("{}: {}", first.route, first.why)
            });
            self.not_carried.insert(rules_hash.to_owned(), why);
            self.carried.push(carried);
            return;
        }
        // The window stays that of the present rules: a decision may demand a duration, and not all routes have more.
        self.window.get_or_insert(Window {
            from: window.to,
            to: window.to,
        });
        self.instances.extend(earlier.instances);
        for (own, more) in self.left_out.iter_mut().zip(&earlier.left_out) {
            own.received += more.received;
            own.compared += more.compared;
            own.differing += more.differing;
        }
        self.carried.push(carried);
    }
}
