//! A decision as the cases of a test: one for each route, and one for what belongs to no route.
//!
//! The states follow from the decision alone, so whoever counts cases counts what the gate has counted. What differs on a route
//! comes from the report: the causes and groups of this route, the gravest first, each with an example as it is recorded. It is
//! composed when it is drawn, because ten thousand routes may have ten each.

use std::collections::HashMap;

use parity_comparator::decision::drops_too_much;
use parity_schemas::evidence::{Decision, Outcome, RouteDecision};
use parity_schemas::report::RouteReport;
use parity_schemas::tally::Counts;
use parity_schemas::visible::{visible_up_to, visible_value};
use parity_schemas::watermark::Standing;

use super::words::{grouped, percent, plural, sentence, sentences, shown};
use super::{Cause, CauseName, Decided, DecisionView, Difference, Differing, Entry, ReportView};

/// Longest name of a case: longer than that of any route that a person has named.
const MAX_NAME_CHARS: usize = 400;
/// Differences told of a route: who reads more looks at the report.
const MAX_DIFFERENCES: usize = 10;
/// Other differences of the same answers that are told with one.
const MAX_ALSO: usize = 5;
/// Longest value that is told.
const MAX_VALUE_CHARS: usize = 300;

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseState {
    /// It is within what is allowed, or what the gate demands is proven.
    Passed,
    /// The services differ more than is allowed.
    Differs,
    /// Nothing can be said of the answers because something failed: the candidate, or the record.
    Broken,
    /// It is open.
    Open,
}

/// One case.
pub(crate) struct Case<'a> {
    /// `None` for what belongs to no route.
    route: Option<&'a RouteDecision>,
    /// Its name; of one that has none, `decision`.
    pub(crate) name: String,
    /// What became of it.
    pub(crate) state: CaseState,
    /// In one sentence.
    pub(crate) told: String,
    /// The candidate's median time to the last byte of an answer, in microseconds.
    pub(crate) micros: Option<u64>,
}

impl Case<'_> {
    /// Whether it is of a route.
    pub(crate) fn is_of_route(&self) -> bool {
        self.route.is_some()
    }
}

/// All cases of a decision.
pub(crate) struct Cases<'a> {
    /// What is reported.
    pub(crate) view: ReportView<'a>,
    /// The decision itself, and then the routes, the worst first.
    pub(crate) all: Vec<Case<'a>>,
    differing: Differing<'a>,
    /// For each route the differences that are told of it: their place in the list, and among the groups of a cause.
    told: HashMap<String, Vec<(usize, usize)>>,
    /// What is said of each cause, by its place in the list. It takes a look at all groups of a cause, and is said with each.
    causes: HashMap<usize, String>,
}

/// The name of the case that is of no route. A route begins with a method and has a space.
const DECISION: &str = "decision";

impl<'a> Cases<'a> {
    /// Of a report with the decision on it.
    pub(crate) fn of(decided: &'a Decided) -> Self {
        let view = ReportView::from(decided);
        let decision = view.decision;
        let reported = view.report.routes.iter();
        let routes: HashMap<&str, &RouteReport> = reported
            .map(|route| (route.route.as_str(), route))
            .collect();
        let mut names = HashMap::new();
        let of_routes = decision.routes.iter().map(|route| Case {
            route: Some(route),
            name: name(route, &mut names),
            state: state(route),
            told: told(route, decision),
            micros: routes
                .get(route.route.as_str())
                .and_then(|route| route.candidate_us.get("p50").copied()),
        });
        let cases = std::iter::once(of_decision(decision)).chain(of_routes);
        let cases = cases.collect();
        let differing = view.differing();
        Self {
            told: places(&differing),
            causes: causes(&differing),
            view,
            all: cases,
            differing,
        }
    }

    /// What a reader of a case wants to know further, line by line; each begins with a sign of ours.
    pub(crate) fn lines(&self, case: &Case<'_>) -> Vec<String> {
        let Some(route) = case.route else {
            let decision = self.view.decision;
            let reasons = sentences(&decision.reasons).map(|reason| format!("- {reason}"));
            let later = self.view.later().into_iter();
            return reasons
                .chain(later.map(|told| format!("- {}", sentence(&told))))
                .collect();
        };
        let mut lines = failures(route);
        let places = self.told.get(&route.route).map_or(&[][..], Vec::as_slice);
        for place in places.iter().take(MAX_DIFFERENCES) {
            self.difference(*place, &mut lines);
        }
        if places.len() > MAX_DIFFERENCES {
            let more = places.len() - MAX_DIFFERENCES;
            lines.push(format!("- … and {more} more differences of this route"));
        }
        lines
    }

    fn entry(&self, at: usize) -> Option<&Entry<'a>> {
        let (entries, spelt) = (&self.differing.entries, &self.differing.spelt);
        entries.get(at).or_else(|| spelt.get(at - entries.len()))
    }

    fn difference(&self, (at, member): (usize, usize), lines: &mut Vec<String>) {
        match self.entry(at) {
            Some(Entry::Cause(cause)) => {
                let Some(member) = cause.members.get(member) else {
                    return;
                };
                tell(&grouped(member.group.count), &member.difference, lines);
                lines.extend(self.causes.get(&at).cloned());
                let special = cause.special().into_iter().chain(cause.special_of(member));
                lines.extend(special.map(|told| format!("  special: {told}")));
            }
            Some(Entry::Group(group)) => {
                tell(&group.count(), &group.difference, lines);
                lines.extend(group.special().map(|told| format!("  special: {told}")));
                for other in group.also.iter().take(MAX_ALSO) {
                    let how = other.kind.meaning();
                    lines.push(format!("  also {} {how}", other.place.shown()));
                }
                if group.also.len() > MAX_ALSO {
                    let more = group.also.len() - MAX_ALSO;
                    lines.push(format!("  … and {more} more in the same answers"));
                }
            }
            None => {}
        }
    }
}

/// Where what differs on each route stands in the list, in its order.
fn places(differing: &Differing<'_>) -> HashMap<String, Vec<(usize, usize)>> {
    let mut told: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
    let entries = differing.entries.iter().chain(&differing.spelt);
    for (at, entry) in entries.enumerate() {
        match entry {
            Entry::Cause(cause) => {
                for (number, member) in cause.members.iter().enumerate() {
                    let of_route = told.entry(member.group.route.clone()).or_default();
                    of_route.push((at, number));
                }
            }
            Entry::Group(group) => {
                let of_route = told.entry(group.report.route.clone()).or_default();
                of_route.push((at, 0));
            }
        }
    }
    told
}

/// What is said of each cause with each of its groups.
fn causes(differing: &Differing<'_>) -> HashMap<usize, String> {
    let entries = differing.entries.iter().chain(&differing.spelt);
    let causes = entries.enumerate().filter_map(|(at, entry)| match entry {
        Entry::Cause(cause) => Some((
            at,
            format!("  one of {}: {}", name_of(cause), cause.scope()),
        )),
        Entry::Group(_) => None,
    });
    causes.collect()
}

/// The case of the whole decision.
fn of_decision(decision: &Decision) -> Case<'_> {
    let view = DecisionView { decision };
    let counts = view.counts(&decision.total);
    let evidence = decision.evidence.as_ref();
    let state = match decision.outcome {
        Outcome::Pass => CaseState::Passed,
        // What is slow or new fails although nothing differs.
        Outcome::Fail if (1..=counts.candidate_failures()).contains(&decision.total.differing) => {
            CaseState::Broken
        }
        Outcome::Fail => CaseState::Differs,
        Outcome::Undecided => {
            let is_whole = evidence.is_some_and(|evidence| {
                let standing = Standing {
                    complete_until: evidence.complete_until,
                    watermarks: evidence.watermarks.clone(),
                };
                standing.doubtful().next().is_none()
            });
            if is_whole && !drops_too_much(&counts, &decision.thresholds) {
                CaseState::Open
            } else {
                CaseState::Broken
            }
        }
    };
    let told = match decision.headline.as_str() {
        "" => decision.reasons.first().map_or("", String::as_str),
        headline => headline,
    };
    Case {
        route: None,
        name: DECISION.to_owned(),
        state,
        told: sentence(told),
        micros: None,
    }
}

/// The state of a route. One that only differs because the candidate failed says nothing of its answers.
fn state(route: &RouteDecision) -> CaseState {
    let failures = |counts: &Counts| counts.candidate_failures();
    let failures = route.counts.as_ref().map(|own| failures(&own.counts));
    match route.outcome {
        Outcome::Pass => CaseState::Passed,
        Outcome::Undecided => CaseState::Open,
        Outcome::Fail if failures.is_some_and(|failures| failures >= route.differing) => {
            CaseState::Broken
        }
        Outcome::Fail => CaseState::Differs,
    }
}

/// The name of a route as that of a case. Readers drop a second case of one name, so two that are cut alike get a number.
fn name(route: &RouteDecision, names: &mut HashMap<String, u64>) -> String {
    let name = visible_up_to(&route.route, MAX_NAME_CHARS);
    let same = names.entry(name.clone()).or_default();
    *same += 1;
    match *same {
        1 => name,
        number => format!("{name} ({number})"),
    }
}

/// What is proven of a route, and what would settle it.
fn told(route: &RouteDecision, decision: &Decision) -> String {
    if route.counts.is_none() && route.received == 0 && route.compared == 0 {
        return "never received".to_owned();
    }
    if route.unserved {
        return "not served: clients only ever got client errors, so nothing is decided by it"
            .to_owned();
    }
    let needed = DecisionView { decision }.needed(route);
    let settled = match needed.as_str() {
        "-" => String::new(),
        words if words.starts_with(|sign: char| sign.is_ascii_digit()) => {
            format!("; {words} more requests, if all match, would settle it")
        }
        words => format!("; needed: {words}"),
    };
    if route.compared == 0 {
        let received = plural(route.received, "request", "requests");
        return format!("none of {received} was compared{settled}");
    }
    let own = route.counts.as_ref();
    let what = own
        .and_then(|own| own.counts.lacking(route.differing))
        .map_or_else(|| "differ".to_owned(), |what| format!("got no {what}"));
    format!(
        "{} of {} compared requests {what} ({}, proven between {} and {}){settled}",
        grouped(route.differing),
        grouped(route.compared),
        percent(route.rate),
        percent(route.lower),
        percent(route.upper),
    )
}

/// How often the candidate failed on a route, and how.
fn failures(route: &RouteDecision) -> Vec<String> {
    let Some(own) = &route.counts else {
        return Vec::new();
    };
    let told = own.counts.failures_by_reason().into_iter();
    told.map(|(reason, count)| format!("- {} × {reason}: {}", grouped(count), reason.meaning()))
        .collect()
}

/// One difference with its example.
fn tell(count: &str, difference: &Difference<'_>, lines: &mut Vec<String>) {
    let (place, how) = (difference.place.shown(), difference.kind.meaning());
    lines.push(format!("- {count} × {place} {how}"));
    if let Some(values) = &difference.values {
        let short = |value: Option<&str>| {
            value.map_or_else(
                || "(absent)".to_owned(),
                |value| visible_value(value, MAX_VALUE_CHARS),
            )
        };
        let sides = &values.sides;
        lines.push(format!("  legacy    {}", short(sides.legacy.as_deref())));
        lines.push(format!("  candidate {}", short(sides.candidate.as_deref())));
        let target = values
            .target
            .map(|target| format!("  request   {}", shown(target)));
        lines.extend(target);
    }
    lines.extend(difference.near().map(|near| format!("  {near}")));
}

fn name_of(cause: &Cause<'_>) -> String {
    match cause.name {
        CauseName::Status(legacy, candidate) => format!("status {legacy} → {candidate}"),
        CauseName::Place(place, kind) => format!("{} {}", place.shown(), kind.meaning()),
        CauseName::Explanation(explanation, _) => explanation.to_string(),
    }
}
