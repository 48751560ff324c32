//! From what is proven of each route to one outcome: what prevents a pass, in the order that the parent module gives.

use parity_schemas::evidence::{
    ErrorDecision, Evidence, EvidenceSummary, LatencyDecision, Outcome, RouteDecision, Thresholds,
};
use parity_schemas::known::{KnownUse, NewDifferences};
use parity_schemas::noise::{NoiseGroup, NoiseState};
use parity_schemas::route::OTHER;
use parity_schemas::tally::Counts;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Standing;

use super::caps::{self, Answers};
use super::carried;
use super::judged::{Judged, hides_too_much};
use super::not_asked::not_asked;
use super::spread::Spread;
use super::words::{TOTAL, number, percent, percents};
use super::{errors, fields, known_differences, latency, legacy_errors, sentences, standing};

/// What a decision is based on, besides the bounds.
pub(super) struct Question<'a> {
    pub(super) migration: &'a str,
    pub(super) evidence: Option<&'a Evidence>,
    pub(super) summary: Option<&'a EvidenceSummary>,
    pub(super) counts: &'a Counts,
    pub(super) standing: &'a Standing,
    pub(super) thresholds: &'a Thresholds,
    pub(super) spread: &'a Spread,
    pub(super) latency: &'a [LatencyDecision],
    pub(super) errors: &'a [ErrorDecision],
    /// What is noise, and what may be.
    pub(super) noise: &'a [NoiseGroup],
    /// Entries of the register that mean some of it.
    pub(super) known: &'a [KnownUse],
    /// What is new, if nothing may be.
    pub(super) news: Option<&'a NewDifferences>,
    /// When it is decided.
    pub(super) time: Timestamp,
}

impl Question<'_> {
    /// Reasons why the evidence is not complete.
    fn doubts(&self) -> Vec<String> {
        standing::doubts(self.standing, self.summary)
    }

    /// Facts that do not prevent a decision but that its reader must know.
    fn told(&self) -> Vec<String> {
        let mut told = known_differences::told(self.known, self.time);
        told.extend(standing::told(self.standing));
        let carried = self.summary.map_or(&[][..], |told| &told.carried);
        told.extend(carried::carried(carried, |time| time.to_string()));
        told.extend(self.summary.and_then(standing::other_rules));
        told.extend(self.summary.into_iter().flat_map(standing::left_out));
        told.extend(self.summary.and_then(standing::only_left_out));
        told
    }
}

/// The outcome and its reasons, the weightiest first.
pub(super) fn conclude(
    question: &Question<'_>,
    total: &RouteDecision,
    routes: &[Judged<'_>],
) -> (Outcome, Vec<String>) {
    let Question {
        counts, thresholds, ..
    } = question;
    if counts.received == 0 && total.compared == 0 {
        let mut reasons = vec![sentences::nothing(question.migration, question.summary)];
        reasons.extend(question.doubts());
        reasons.extend(question.told());
        return (Outcome::Undecided, reasons);
    }
    if total.compared < thresholds.min_requests {
        let reason = format!(
            "{TOTAL}: {} compared, at least {} wanted",
            number(total.compared),
            number(thresholds.min_requests)
        );
        let mut reasons = vec![reason];
        // A name that is written wrong stays so however many requests come, so it is told with each outcome.
        reasons.extend(never_received(question, routes));
        reasons.extend(question.doubts());
        reasons.extend(question.told());
        return (Outcome::Undecided, reasons);
    }
    let allowed = thresholds.max_mismatch_rate;
    let mut reasons: Vec<String> = routes
        .iter()
        .filter(|route| route.decision.outcome == Outcome::Fail)
        .map(|route| {
            // One that fails was received.
            let counts = route.counts.as_deref().unwrap_or(counts);
            sentences::proven(&route.decision, counts, allowed)
        })
        .collect();
    if total.outcome == Outcome::Fail && (reasons.is_empty() || routes.len() > 1) {
        reasons.push(sentences::proven(total, counts, allowed));
    }
    let decisions = routes.iter().map(|route| &route.decision);
    if let Some(left_out) = legacy_errors::left_out(decisions.chain([total])) {
        // Behind the weightiest, so that it is read wherever only the first ones are.
        reasons.insert(reasons.len().min(1), left_out);
    }
    reasons.extend(errors::failed(question.errors, thresholds));
    reasons.extend(latency::failed(question.latency));
    reasons.extend(question.news.and_then(known_differences::failed));
    if !reasons.is_empty() {
        reasons.extend(never_received(question, routes));
        let decisions = routes.iter().map(|route| &route.decision);
        reasons.extend(sentences::never_asked_again(decisions));
        reasons.extend(sentences::candidate_failures(counts));
        reasons.extend(question.doubts());
        reasons.extend(sentences::excused(total));
        reasons.extend(fields::little(&counted(routes), thresholds, true));
        reasons.extend(question.told());
        return (Outcome::Fail, reasons);
    }
    let mut reasons = open(question, total, routes);
    if reasons.is_empty() {
        return (Outcome::Pass, passed(question, total, routes));
    }
    reasons.extend(sentences::candidate_failures(counts));
    reasons.extend(sentences::excused(total));
    let waits = |route: &RouteDecision| {
        let excused = route.excused;
        excused.open > excused.never_asked + excused.untold || hides_too_much(excused, thresholds)
    };
    if waits(total) || routes.iter().any(|route| waits(&route.decision)) {
        reasons.extend(not_asked(counts));
    }
    if total.excused.open > 0 {
        reasons.extend(sentences::not_proven(question.noise));
    }
    reasons.extend(fields::little(&counted(routes), thresholds, false));
    reasons.extend(question.told());
    (Outcome::Undecided, reasons)
}

/// Why nothing is proven yet; none if it is.
fn open(question: &Question<'_>, total: &RouteDecision, routes: &[Judged<'_>]) -> Vec<String> {
    let Question {
        counts,
        standing,
        thresholds,
        ..
    } = question;
    let mut reasons = question.doubts();
    let missing = |route: &RouteDecision| missing_rechecks(route, question.noise, thresholds);
    let other = routes.iter().find(|route| route.decision.route == OTHER);
    reasons.extend(other.and_then(|route| {
        let differing = route.decision.differing;
        caps::hidden_routes(differing, route.counts.as_deref()?, thresholds)
    }));
    let answers = Answers::of(question.evidence);
    reasons.extend(caps::too_short(question.evidence, standing, thresholds));
    reasons.extend(question.spread.too_few(thresholds));
    reasons.extend(fields::open(&counted(routes), thresholds));
    reasons.extend(errors::open(question.errors, thresholds));
    reasons.extend(latency::open(question.latency));
    reasons.extend(question.news.into_iter().flat_map(known_differences::open));
    reasons.extend(beyond_caps(TOTAL, counts, (&answers, standing), thresholds));
    reasons.extend(caps::too_many_transient(TOTAL, total, thresholds));
    if total.outcome == Outcome::Pass {
        let unknown = standing::unknown(TOTAL, total, counts, standing, thresholds);
        reasons.extend(unknown);
    } else {
        let each = routes.iter().filter_map(|route| missing(&route.decision));
        let rechecks = each.reduce(u64::saturating_add);
        let names: Vec<&str> = routes
            .iter()
            .map(|route| route.decision.route.as_str())
            .collect();
        reasons.extend(sentences::unproven(
            (TOTAL, &names),
            (total, counts),
            thresholds,
            rechecks,
        ));
    }
    reasons.extend(never_received(question, routes));
    reasons.extend(begun_anew(question, routes));
    let required = routes.iter().filter(|route| route.decision.required);
    for (route, counts) in
        required.filter_map(|route| Some((&route.decision, route.counts.as_deref()?)))
    {
        let name = route.route.as_str();
        reasons.extend(beyond_caps(
            name,
            counts,
            (&Answers::on(counts), standing),
            thresholds,
        ));
        reasons.extend(caps::too_many_transient(name, route, thresholds));
        if route.outcome == Outcome::Pass {
            let unknown = standing::unknown(name, route, counts, standing, thresholds);
            reasons.extend(unknown);
        } else {
            let rechecks = missing(route);
            reasons.extend(sentences::unproven(
                (name, &[name]),
                (route, counts),
                thresholds,
                rechecks,
            ));
        }
    }
    reasons
}

/// Each route with what was counted of it.
fn counted<'a>(routes: &'a [Judged<'_>]) -> Vec<fields::Route<'a>> {
    let counted = routes.iter();
    counted
        .map(|route| (&route.decision, route.counts.as_deref()))
        .collect()
}

/// What a pass rests on.
fn passed(question: &Question<'_>, total: &RouteDecision, routes: &[Judged<'_>]) -> Vec<String> {
    let Question {
        counts, thresholds, ..
    } = question;
    let answers = Answers::of(question.evidence);
    let (upper, allowed) = percents(total.upper, thresholds.max_mismatch_rate);
    let reason = format!(
        "{TOTAL}: at most {upper} % differ, {allowed} % allowed ({} compared, {} % confidence)",
        number(total.compared),
        percent(thresholds.confidence)
    );
    let mut reasons = vec![reason];
    reasons.extend(latency::kept(question.latency));
    reasons.extend(question.spread.told(routes));
    reasons.extend(fields::little(&counted(routes), thresholds, true));
    reasons.extend(caps::never_compared(counts));
    reasons.extend(sentences::excused(total));
    reasons.extend(answers.mostly_errors());
    reasons.extend(question.told());
    reasons
}

/// About how many more rechecks a route needs so that no more may hide in its noise than is allowed; `None` if it needs none,
/// or if it is not known of which groups it consists. What may hide falls as rechecks rise, and one recheck asks about all
/// groups of an exchange.
pub(super) fn missing_rechecks(
    route: &RouteDecision,
    noise: &[NoiseGroup],
    thresholds: &Thresholds,
) -> Option<u64> {
    let groups = noise
        .iter()
        .filter(|group| group.route == route.route && group.state == NoiseState::Proven);
    let rechecks = groups.map(|group| group.rechecks).max()?;
    let factor = route.excused.hidden / thresholds.max_hidden;
    let more = (rechecks as f64 * (factor - 1.0)).ceil();
    (more > 0.0 && more.is_finite()).then_some(more as u64)
}

/// What there is too much of, on one route or on all together, to prove anything.
fn beyond_caps(
    name: &str,
    counts: &Counts,
    (answers, standing): (&Answers, &Standing),
    thresholds: &Thresholds,
) -> Vec<String> {
    let mut reasons = Vec::new();
    reasons.extend(caps::too_many_dropped(name, counts, standing, thresholds));
    reasons.extend(caps::too_many_uncomparable(name, counts, thresholds));
    reasons.extend(caps::too_many_not_compared(name, counts, thresholds));
    reasons.extend(answers.too_many_errors(name, thresholds));
    reasons
}

/// Which routes nothing was received of since their counts began anew. They are not proven by what others show.
fn begun_anew(question: &Question<'_>, routes: &[Judged<'_>]) -> Vec<String> {
    let gone = routes
        .iter()
        .filter_map(|route| Some((&route.decision, route.anew?)));
    let named = gone.clone().take(carried::MAX_GONE);
    let mut reasons: Vec<String> = named
        .map(|(route, why)| carried::gone(route, why))
        .collect();
    let carried = question.evidence.map_or(&[][..], |one| &one.carried);
    let is_gone = |name: &str| gone.clone().any(|(route, _)| route.route == name);
    let more = gone.clone().count().saturating_sub(carried::MAX_GONE) as u64
        + carried::not_named(carried, is_gone);
    reasons.extend(carried::more_gone(more));
    reasons
}

/// Which required routes and operations were never received.
fn never_received(question: &Question<'_>, routes: &[Judged<'_>]) -> Vec<String> {
    let thresholds = question.thresholds;
    let outside = question.summary.map_or(&[][..], |told| &told.only_left_out);
    let missing = routes
        .iter()
        .filter(|route| route.counts.is_none() && route.anew.is_none());
    let (operations, named): (Vec<_>, Vec<_>) = missing.partition(|route| route.is_operation);
    let seen = || {
        let seen = routes.iter().filter(|route| route.counts.is_some());
        seen.map(|route| route.decision.route.as_str())
    };
    let mut reasons: Vec<String> = named
        .into_iter()
        .map(|route| match &route.decision.route {
            name if outside.contains(name) => sentences::left_out(name),
            name => sentences::never_seen(name, seen()),
        })
        .collect();
    let mut names: Vec<&str> = operations
        .into_iter()
        .map(|route| route.decision.route.as_str())
        .collect();
    names.sort_unstable();
    reasons.extend(sentences::never_exercised(
        &names,
        thresholds.operations.len(),
    ));
    reasons
}
