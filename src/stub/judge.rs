//! What is found: compares partners by the rules, counts, and keeps what may be shown of what differs.
//!
//! Only what the redactor gives is kept beyond a call.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parity_comparator::comparator::AnswerPair;
use parity_comparator::redact::{RecordContext, Redactor};
use parity_comparator::{Comparator, Comparison};
use parity_schemas::exchange::{ByteHold, Exchange, Request};
use parity_schemas::id::new_id;
use parity_schemas::route::{Route, RouteResolver};
use parity_schemas::stub::{
    STUB_SCHEMA, StubCall, StubCounts, StubDocument, StubGroup, StubOutcome, StubRoute,
};
use parity_schemas::tally::{Group, Identity};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Verdict;

use super::call::{Call, Side, path_of};
use super::kept::Kept;
use super::outcome::{Demands, lost, outcome, reasons};
use super::reached::Shadowed;

/// Routes that are told apart: paths can be invented.
const ROUTES: usize = 200;
/// Groups that are told apart.
const GROUPS: usize = 500;
/// The route of all others.
const OTHERS: &str = "_other";

/// Compares and counts.
pub(crate) struct Judge {
    comparator: Comparator,
    redactor: Redactor,
    identity: Identity,
    routes: RouteResolver,
    total: StubCounts,
    by_route: BTreeMap<String, StubCounts>,
    groups: HashMap<String, StubGroup>,
    kept: Kept,
    demands: Demands,
    unanswered: BTreeMap<String, u64>,
    other_order: u64,
    not_compared: BTreeMap<String, u64>,
    limits: BTreeMap<String, u64>,
    answered: BTreeMap<String, u64>,
}

impl Judge {
    pub(crate) fn new(
        comparator: Comparator,
        redactor: Redactor,
        identity: Identity,
        routes: RouteResolver,
        (kept, demands): (Kept, Demands),
    ) -> Self {
        Self {
            comparator,
            redactor,
            identity,
            routes,
            total: StubCounts::default(),
            by_route: BTreeMap::new(),
            groups: HashMap::new(),
            kept,
            demands,
            unanswered: BTreeMap::new(),
            other_order: 0,
            not_compared: BTreeMap::new(),
            limits: BTreeMap::new(),
            answered: BTreeMap::new(),
        }
    }

    /// The route of a call.
    pub(crate) fn route(&mut self, request: &Request) -> Arc<Route> {
        self.routes.resolve(&request.method, path_of(request))
    }

    /// Counts a call that has come.
    pub(crate) fn seen(&mut self, side: Side, route: &Route) {
        self.count(route.label(), |counts| match side {
            Side::Legacy => counts.legacy += 1,
            Side::Candidate => counts.candidate += 1,
        });
    }

    /// Whether two calls are the same by the rules.
    pub(crate) fn is_equal(&mut self, route: &Route, legacy: &Call, candidate: &Call) -> bool {
        self.compare(route, legacy, candidate).verdict == Verdict::Match
    }

    /// Counts a pair that is equal.
    pub(crate) fn equal(&mut self, request: &Request) {
        let route = self.route(request);
        self.count(route.label(), |counts| counts.equal += 1);
    }

    /// Compares and counts a pair that was put together because nothing equal came, by a guess or because they are the nearest.
    pub(crate) fn pair(&mut self, legacy: Call, candidate: Call, since: Instant, is_guess: bool) {
        let route = self.route(&legacy.request);
        let comparison = self.compare(&route, &legacy, &candidate);
        match comparison.verdict {
            Verdict::Match => self.count(route.label(), |counts| counts.equal += 1),
            Verdict::NotCompared(reason) if !reason.is_candidate_failure() => {
                add(&mut self.not_compared, reason.as_str(), 1);
                self.show((&legacy, since), "not_compared", Some(reason.as_str()));
            }
            Verdict::NotCompared(reason) => {
                self.count(route.label(), |counts| counts.differing += 1);
                self.show((&legacy, since), "differs", Some(reason.as_str()));
            }
            Verdict::Mismatch => {
                self.differs(route, (legacy, since), candidate, &comparison, is_guess);
            }
        }
    }

    /// Counts a pair of which nobody knows whether these two belong together.
    pub(crate) fn crowded(&mut self, call: &Call, since: Instant) {
        self.lose("crowded");
        self.show((call, since), "not_compared", Some("crowded"));
    }

    /// Counts a call without a partner; `is_known` if its request is known to have reached the other side.
    pub(crate) fn alone(&mut self, side: Side, call: &Call, since: Instant, is_known: bool) {
        let route = self.route(&call.request);
        let outcome = match side {
            Side::Legacy if is_known => {
                self.count(route.label(), |counts| counts.missing += 1);
                "missing"
            }
            Side::Legacy => {
                self.count(route.label(), |counts| counts.not_reached += 1);
                if self.demands.shadowed == Some(Shadowed::Some) {
                    // It does not count.
                    return;
                }
                "not_reached"
            }
            Side::Candidate => {
                self.count(route.label(), |counts| counts.extra += 1);
                "extra"
            }
        };
        self.show((call, since), outcome, None);
    }

    /// Counts a pair that the candidate makes before or after another one than the legacy does.
    pub(crate) fn other_order(&mut self, call: &Call, since: Instant) {
        self.other_order += 1;
        self.show((call, since), "other_order", None);
    }

    /// Counts what a limit has hit.
    pub(crate) fn lose(&mut self, limit: &str) {
        add(&mut self.limits, limit, 1);
    }

    /// Counts requests whose order is not known.
    pub(crate) fn lost_order(&mut self, requests: u64) {
        if requests > 0 {
            add(&mut self.limits, "order", requests);
        }
    }

    /// Counts how a call was answered.
    pub(crate) fn answered(&mut self, how: &str) {
        add(&mut self.answered, how, 1);
    }

    /// Counts a call for which there is no answer.
    pub(crate) fn unanswered(&mut self, request: &Request) {
        self.answered("no_answer");
        let route = self.route(request);
        let is_known =
            self.unanswered.contains_key(route.label()) || self.unanswered.len() < ROUTES;
        let route = if is_known { route.label() } else { OTHERS };
        add(&mut self.unanswered, route, 1);
    }

    /// All that was found; nothing of it is left behind.
    pub(crate) fn document(&mut self, elapsed: Duration) -> StubDocument {
        let mut groups: Vec<StubGroup> = take(&mut self.groups).into_values().collect();
        groups.sort_by(|one, other| {
            let place = |group: &StubGroup| {
                (
                    group.route.clone(),
                    group.part,
                    group.pattern.clone(),
                    group.kind,
                )
            };
            other
                .count
                .cmp(&one.count)
                .then_with(|| place(one).cmp(&place(other)))
        });
        let routes = take(&mut self.by_route)
            .into_iter()
            .map(|(route, counts)| StubRoute { route, counts });
        let mut document = StubDocument {
            schema: STUB_SCHEMA.to_owned(),
            outcome: StubOutcome::Undecided,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            counts: self.total,
            other_order: self.other_order,
            not_compared: take(&mut self.not_compared),
            limits: take(&mut self.limits),
            answered: take(&mut self.answered),
            routes: routes.collect(),
            groups,
            not_equal: self.kept.all,
            calls: take(&mut self.kept.calls),
            unanswered: take(&mut self.unanswered),
            min_calls: self.demands.min_calls,
            reasons: Vec::new(),
        };
        let lost = lost(&document);
        if lost > 0 {
            add(&mut document.limits, "internal", lost);
        }
        document.outcome = outcome(&document, self.demands);
        document.reasons = reasons(&document, self.demands);
        document
    }

    fn compare(&mut self, route: &Route, legacy: &Call, candidate: &Call) -> Comparison {
        self.comparator.compare_answers(AnswerPair {
            route: route.label(),
            // What is compared are bodies, whatever the calls ask for: an answer to HEAD would have none.
            method: &http::Method::POST,
            request: None,
            time: Timestamp::now(),
            legacy: &legacy.content,
            candidate: &candidate.content,
            asked_together: true,
        })
    }

    fn differs(
        &mut self,
        route: Arc<Route>,
        (legacy, since): (Call, Instant),
        candidate: Call,
        comparison: &Comparison,
        is_guess: bool,
    ) {
        self.count(route.label(), |counts| counts.differing += 1);
        let told = (self.kept).told(&self.redactor, &route, (&legacy, since), "differs");
        let exchange = Exchange {
            time: Timestamp::now(),
            route,
            request: legacy.request,
            legacy: legacy.content,
            candidate: candidate.content,
            hold: ByteHold::default(),
        };
        let context = RecordContext {
            id: new_id(),
            identity: &self.identity,
            instance: "stub",
        };
        let (groups, record) = self
            .redactor
            .mismatch(&exchange, comparison, &context, |_| false);
        let mut counted: Vec<&str> = Vec::new();
        for group in &groups {
            if !counted.contains(&&*group.fingerprint) {
                counted.push(&group.fingerprint);
                self.group(exchange.route.label(), group, is_guess);
            }
        }
        if let Some(told) = told {
            self.kept.calls.push(StubCall {
                is_guess,
                findings: record.findings,
                findings_cut: record.findings_cut,
                ..told
            });
        }
    }

    fn group(&mut self, route: &str, group: &Group, is_guess: bool) {
        if let Some(known) = self.groups.get_mut(&group.fingerprint) {
            known.count += 1;
            known.guessed += u64::from(is_guess);
        } else if self.groups.len() < GROUPS {
            let first = StubGroup {
                route: route.to_owned(),
                part: group.part,
                pattern: group.pattern.clone(),
                kind: group.kind,
                explanation: group.explanation,
                count: 1,
                guessed: u64::from(is_guess),
            };
            self.groups.insert(group.fingerprint.clone(), first);
        }
    }

    fn show(&mut self, call: (&Call, Instant), outcome: &str, reason: Option<&str>) {
        let route = self.route(&call.0.request);
        if let Some(told) = self.kept.told(&self.redactor, &route, call, outcome) {
            self.kept.calls.push(StubCall {
                reason: reason.map(str::to_owned),
                ..told
            });
        }
    }

    fn count(&mut self, route: &str, change: impl Fn(&mut StubCounts)) {
        change(&mut self.total);
        let is_known = self.by_route.contains_key(route) || self.by_route.len() < ROUTES;
        let route = if is_known { route } else { OTHERS };
        change(self.by_route.entry(route.to_owned()).or_default());
    }
}

fn add(counts: &mut BTreeMap<String, u64>, name: &str, more: u64) {
    *counts.entry(name.to_owned()).or_default() += more;
}
