//! How much a decision rests on few targets: requests to the same one are not independent, as if one of them were counted
//! many times.
//!
//! The bounds count requests. Nothing is proven of targets that nobody asked for, so a decision says how many distinct ones
//! it rests on and how large the share of the most frequent one can be; `min_distinct` keeps the gate open as long as there
//! are fewer. It holds for all requests together and not for a route: some routes have one target only. A difference is a
//! fact wherever it was seen, so few targets do not prevent a fail.

use std::collections::HashMap;
use std::fmt::Write as _;

use parity_schemas::evidence::{
    DecidedTargets, Decision, Evidence, Outcome, RouteDecision, Thresholds,
};
use parity_schemas::targets::TargetEvidence;

use super::judged::Judged;
use super::operations::Parts;
use super::sentences::listed;
use super::words::{TOTAL, number, percent};

/// Routes that are named.
const MAX_NAMED: usize = 3;
/// A target with more than this share of all requests is told, so that nobody takes a pass for more than it is.
const MOSTLY: f64 = 0.5;

/// The targets of what a decision rests on.
pub(super) struct Spread(pub(super) DecidedTargets);

impl Spread {
    /// Writes what is known of targets into the decision on all together, and on each route.
    pub(super) fn fill(
        evidence: Option<&Evidence>,
        thresholds: &Thresholds,
        total: &mut RouteDecision,
        routes: &mut [Judged<'_>],
    ) -> Self {
        let seen = evidence.map_or(&[][..], |evidence| &evidence.routes);
        let parts = Parts::of(&thresholds.operations, seen);
        let all = evidence.map(Evidence::targets).unwrap_or_default();
        write(total, &all);
        for route in routes.iter_mut().map(|route| &mut route.decision) {
            let parts = parts.get(&route.route);
            if parts.is_empty() {
                continue;
            }
            let mut targets = TargetEvidence::default();
            for part in parts {
                targets.merge(&part.targets);
            }
            write(route, &targets);
        }
        let requests = all.known() + all.unknown();
        Self(DecidedTargets {
            distinct: all.distinct(),
            unknown: all.unknown(),
            keys: all.keys() as u64,
            single: all.is_single(),
            at_least: all.most_frequent().at_least as f64 / requests.max(1) as f64,
        })
    }

    /// Takes over what a decision says of them.
    pub(super) fn stored(
        stored: &Decision,
        total: &mut RouteDecision,
        routes: &mut [Judged<'_>],
    ) -> Self {
        let by_name: HashMap<&str, &RouteDecision> = stored
            .routes
            .iter()
            .map(|route| (route.route.as_str(), route))
            .collect();
        let take = |decision: &mut RouteDecision, from: &RouteDecision| {
            decision.distinct_targets = from.distinct_targets;
            decision.most_frequent_share = from.most_frequent_share;
        };
        take(total, &stored.total);
        for route in routes.iter_mut().map(|route| &mut route.decision) {
            if let Some(from) = by_name.get(route.route.as_str()) {
                take(route, from);
            }
        }
        let older = || DecidedTargets {
            distinct: stored.total.distinct_targets,
            keys: 1,
            ..DecidedTargets::default()
        };
        let told = match stored.evidence {
            Some(_) => stored.targets.unwrap_or_else(older),
            None => DecidedTargets::default(),
        };
        total.distinct_targets = told.distinct;
        Self(told)
    }

    /// Why there are too few.
    pub(super) fn too_few(&self, thresholds: &Thresholds) -> Option<String> {
        let (distinct, wanted) = (self.0.distinct, thresholds.min_distinct);
        if distinct >= wanted {
            return None;
        }
        let mut sentence = format!(
            "{TOTAL}: what was compared had {} distinct {} (method, path and query), at least {} wanted",
            number(distinct),
            if distinct == 1 { "target" } else { "targets" },
            number(wanted)
        );
        if self.0.unknown > 0 {
            // Writing to a String cannot fail.
            let _infallible = write!(
                sentence,
                "; those of {} requests are not known, which a parity counted that did not count targets",
                number(self.0.unknown)
            );
        }
        if self.0.keys > 1 {
            let _infallible = write!(
                sentence,
                "; {} processes told targets apart, each by a key of its own, so only those of one count: give all the same \
                 --redaction-key-file",
                number(self.0.keys)
            );
        }
        Some(sentence)
    }

    /// What a reader of a pass must know.
    pub(super) fn told(&self, routes: &[Judged<'_>]) -> Vec<String> {
        let mut told = Vec::new();
        if self.0.single {
            told.push(
                "all of it is one target (method, path and query): of any other it says nothing"
                    .to_owned(),
            );
        } else if self.0.at_least > MOSTLY {
            told.push(format!(
                "at least {} % of it is one target (method, path and query)",
                percent((self.0.at_least * 1e3).floor() / 1e3)
            ));
        }
        // A route without a placeholder has one target, or several by their queries; nothing is wrong with either.
        let single = routes.iter().map(|route| &route.decision).filter(|route| {
            let is_single = route.distinct_targets == 1 && route.outcome == Outcome::Pass;
            is_single && route.route.contains('{')
        });
        let names: Vec<&str> = single.map(|route| route.route.as_str()).collect();
        if !names.is_empty() && !self.0.single {
            told.push(format!(
                "each rests on a single target: {}",
                listed(&names, MAX_NAMED)
            ));
        }
        told
    }
}

fn write(decision: &mut RouteDecision, targets: &TargetEvidence) {
    decision.distinct_targets = targets.distinct();
    decision.most_frequent_share = targets.most_frequent_share();
}
