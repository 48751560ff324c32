//! Whether both services answer the requests of a route alike, by the class of the status, where few of them are compared.
//!
//! It is a part of what a comparison would see, and so it only holds a step. The counts are those of the process, by route, which are kept anyway: nothing
//! on the way of a request is counted for this.

use std::collections::BTreeMap;

use parity_comparator::bounds::{self, Seen};
use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::evidence::{Bound, RouteEvidence};

/// A share of a class that is higher by no more than this is alike: who asks is not the same at both services.
const ALIKE: f64 = 0.05;
/// Of a route of which so much is compared the comparison says more than classes do.
const COMPARED: f64 = 0.5;
/// The classes that a step is held by, as each service has them. A share of 2xx is lower where one of them is higher.
const CLASSES: [(&str, ClientOutcome, ClientOutcome); 3] = [
    (
        "3xx",
        ClientOutcome::Redirection,
        ClientOutcome::CandidateRedirection,
    ),
    (
        "4xx",
        ClientOutcome::ClientError,
        ClientOutcome::CandidateClientError,
    ),
    (
        "5xx",
        ClientOutcome::ServerError,
        ClientOutcome::CandidateServerError,
    ),
];

/// What clients got, by route.
pub(in crate::rollout) type Routes = BTreeMap<String, Answers>;

/// What clients got at one route.
#[derive(Clone, Debug, Default)]
pub(in crate::rollout) struct Answers {
    clients: Clients,
    compared: u64,
}

impl Answers {
    fn count(&self, outcome: ClientOutcome) -> u64 {
        self.clients.get(&outcome).copied().unwrap_or(0)
    }

    fn since(&self, before: &Self) -> Self {
        let left = |(outcome, count): (&ClientOutcome, &u64)| {
            (*outcome, count.saturating_sub(before.count(*outcome)))
        };
        Self {
            clients: self.clients.iter().map(left).collect(),
            compared: self.compared.saturating_sub(before.compared),
        }
    }

    /// Whole answers of the candidate, or of the legacy.
    fn answered(&self, by_candidate: bool) -> u64 {
        let wanted = |outcome: &ClientOutcome| {
            outcome.is_answered()
                && outcome.is_by_candidate() == by_candidate
                && *outcome != ClientOutcome::Informational
        };
        let wanted = self.clients.iter().filter(|(outcome, _)| wanted(outcome));
        wanted.map(|(_, count)| count).sum()
    }
}

/// What clients got by now.
pub(in crate::rollout) fn of(routes: &[RouteEvidence]) -> Routes {
    let answers = |one: &RouteEvidence| {
        let answers = Answers {
            clients: one.counts.clients.clone(),
            compared: one.counts.matched + one.counts.mismatch,
        };
        (one.route.clone(), answers)
    };
    routes.iter().map(answers).collect()
}

/// The route at which the candidate surely answers most of some class more often than the legacy since a percent `began`; with a chance of `unsure` to be
/// wrong over all routes. Where the legacy has fewer than `needed` since then, all of the process are taken.
pub(super) fn unlike(now: &Routes, began: &Routes, needed: u64, unsure: f64) -> Option<String> {
    let nothing = Answers::default();
    let since = now.iter().map(|(route, all)| {
        let since = all.since(began.get(route).unwrap_or(&nothing));
        (route, all, since)
    });
    let judged: Vec<_> = since
        .filter(|(_, _, since)| {
            let (candidate, legacy) = (since.answered(true), since.answered(false));
            let few = COMPARED * (candidate + legacy) as f64;
            candidate > 0 && (since.compared as f64) < few
        })
        .collect();
    let unsure = unsure / (judged.len().max(1) * CLASSES.len()) as f64;
    let found = judged.iter().flat_map(|(route, all, since)| {
        let legacy = if since.answered(false) < needed {
            *all
        } else {
            since
        };
        CLASSES.iter().filter_map(move |(class, of_legacy, of_candidate)| {
            let legacy = Seen::new(legacy.count(*of_legacy), legacy.answered(false));
            let candidate = Seen::new(since.count(*of_candidate), since.answered(true));
            let most = bounds::upper(Bound::OneLook, legacy, unsure);
            let least = bounds::lower(Bound::AnyTime, candidate, unsure);
            let told = || {
                format!(
                    "{route}, of which too little is compared: {} of {} answers of the candidate are {class}, {} of {} of the legacy",
                    candidate.differing, candidate.compared, legacy.differing, legacy.compared
                )
            };
            let excess = least - most;
            (excess > ALIKE).then(|| (excess, told()))
        })
    });
    let worst = found.max_by(|(one, _), (other, _)| one.total_cmp(other));
    worst.map(|(_, told)| told)
}
