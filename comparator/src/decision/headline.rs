//! One sentence that says what was decided and for how much of the traffic. It claims no more than was proven: a pass is
//! drawn from all requests together, so it names how many routes are proven on their own, and what was never compared.

use std::collections::HashSet;

use parity_schemas::evidence::{Bound, Evidence, Outcome, RouteDecision, Scope, Thresholds};
use parity_schemas::known::KnownUse;

use super::fields::{is_little, is_roughly};
use super::judged::hides_too_much;
use super::known_differences;
use super::legacy_errors;
use super::sentences::listed;
use super::words::{hidden, number, percent};

/// Names of routes in a headline; more are counted.
const MAX_NAMED: usize = 2;

/// How many routes say what.
pub(super) fn scope(routes: &[RouteDecision]) -> Scope {
    let mut scope = Scope::default();
    for route in routes {
        if route.unserved {
            scope.unserved += 1;
            continue;
        }
        scope.routes += 1;
        match route.outcome {
            Outcome::Pass => scope.proven += 1,
            Outcome::Fail => scope.failed += 1,
            Outcome::Undecided if route.compared == 0 => {
                scope.never_compared.push(route.route.clone());
            }
            Outcome::Undecided => scope.open += 1,
        }
    }
    scope
}

/// Whether something may hide in what does not count.
fn may_hide(total: &RouteDecision) -> bool {
    total.excused.noise > 0 || (total.excused.transient > 0 && total.excused.hidden > 0.0)
}

/// The headline of a decision. Of the routes that are `gone` nothing came since their counts began anew.
pub(super) fn headline(
    outcome: Outcome,
    total: &RouteDecision,
    routes: &[RouteDecision],
    scope: &Scope,
    (thresholds, known): (&Thresholds, &[KnownUse]),
    gone: &HashSet<String>,
) -> String {
    let word = outcome.as_str().to_uppercase();
    if total.received == 0 && total.compared == 0 {
        return format!("{word}: nothing was received");
    }
    let mut claimed = claim(&word, outcome, routes, scope);
    if outcome == Outcome::Pass {
        claimed.extend(known_differences::but(total, known));
    }
    let mut parts = vec![claimed];
    if outcome == Outcome::Fail {
        parts.extend(legacy_errors::of_all(total));
    }
    let of = |wanted: fn(&RouteDecision) -> bool| {
        routes
            .iter()
            .filter(move |route| !route.unserved && wanted(route))
    };
    if outcome != Outcome::Fail && scope.open > 0 {
        let open = of(|route| route.outcome == Outcome::Undecided && route.compared > 0);
        let (which, are) = told(open.collect());
        parts.push(format!(
            "{which} {are} not proven on {} own",
            if scope.open == 1 { "its" } else { "their" }
        ));
    }
    if !scope.never_compared.is_empty() {
        let never = of(|route| route.compared == 0);
        let (began, never): (Vec<_>, Vec<_>) = never.partition(|route| gone.contains(&route.route));
        if !never.is_empty() {
            let were = if never.len() == 1 { "was" } else { "were" };
            parts.push(format!("{} {were} never compared", told(never).0));
        }
        if !began.is_empty() {
            let (were, count) = match began.len() {
                1 => ("was", "its count"),
                _ => ("were", "their counts"),
            };
            let which = told(began).0;
            parts.push(format!(
                "{which} {were} not compared since {count} began anew"
            ));
        }
    }
    if outcome == Outcome::Pass && may_hide(total) {
        let taken = if total.excused.noise > 0 {
            "noise"
        } else {
            "a change of the data"
        };
        parts.push(format!(
            "what is taken for {taken} may hide up to {} % of the requests",
            hidden(total)
        ));
        // The routes that are proven together with the others, but not by themselves.
        let much = |route: &RouteDecision| hides_too_much(route.excused, thresholds);
        let most = routes.iter().filter(|route| much(route));
        if let Some(most) = most.max_by(|a, b| a.excused.hidden.total_cmp(&b.excused.hidden)) {
            parts.push(format!(
                "up to {} % of those of {}",
                hidden(most),
                most.route
            ));
        }
    }
    let little: Vec<&RouteDecision> = routes.iter().filter(|route| is_little(route)).collect();
    if outcome == Outcome::Pass && !little.is_empty() {
        let is_rough = little.iter().any(|route| is_roughly(route));
        let (which, _) = told(little);
        let how = if is_rough { " exactly" } else { "" };
        parts.push(format!(
            "rules leave less than half of the fields of {which} to compare{how}"
        ));
    }
    let sure = percent(thresholds.confidence);
    parts.push(match thresholds.bound {
        Bound::AnyTime => format!("{sure} % confidence, however often it is asked"),
        Bound::OneLook => format!("{sure} % confidence, if it is asked once"),
    });
    parts.join("; ")
}

/// What a headline says of requests that were left out on demand.
pub(super) fn left_out(evidence: Option<&Evidence>) -> String {
    let spans = evidence.iter().flat_map(|evidence| &evidence.left_out);
    match spans.map(|span| span.received).sum() {
        0 => String::new(),
        received => format!("; {} requests are left out", number(received)),
    }
}

/// What is claimed, before what is left open.
fn claim(word: &str, outcome: Outcome, routes: &[RouteDecision], scope: &Scope) -> String {
    let (all, proven) = (number(scope.routes), number(scope.proven));
    let some = if scope.proven == scope.routes {
        match scope.routes {
            1 => "the only route".to_owned(),
            _ => format!("all {all} routes"),
        }
    } else {
        format!("{proven} of {all} routes")
    };
    match outcome {
        Outcome::Pass if scope.proven == 0 => {
            format!(
                "{word} for all requests that were compared, together; for none of {all} routes on its own"
            )
        }
        Outcome::Pass => format!("{word} for {some}"),
        Outcome::Fail if scope.failed == 0 => format!("{word} for all requests together"),
        Outcome::Fail => {
            let failed = routes.iter().filter(|route| route.outcome == Outcome::Fail);
            let names: Vec<&str> = failed.map(|route| route.route.as_str()).collect();
            let failed = number(scope.failed);
            format!(
                "{word} for {failed} of {all} routes: {}",
                listed(&names, MAX_NAMED)
            )
        }
        Outcome::Undecided if scope.proven == 0 => {
            format!("{word}: none of {all} routes is proven")
        }
        Outcome::Undecided if scope.proven == 1 => format!("{word}: {some} is proven"),
        Outcome::Undecided => format!("{word}: {some} are proven"),
    }
}

/// Routes with their share of the traffic, those with the most first: one by name, several by number. With the verb.
fn told(mut routes: Vec<&RouteDecision>) -> (String, &'static str) {
    routes.sort_by(|one, two| {
        two.received
            .cmp(&one.received)
            .then_with(|| one.route.cmp(&two.route))
    });
    let share = |traffic: f64| format!("{} of traffic", share(traffic));
    if let [one] = routes[..] {
        return (format!("{} ({})", one.route, share(one.traffic)), "is");
    }
    let names: Vec<&str> = routes.iter().map(|route| route.route.as_str()).collect();
    let traffic = routes.iter().map(|route| route.traffic).sum();
    let count = number(routes.len() as u64);
    (
        format!(
            "{count} routes ({}; {})",
            share(traffic),
            listed(&names, MAX_NAMED)
        ),
        "are",
    )
}

/// A share of the traffic as a percentage, as exact as a reader needs it.
fn share(traffic: f64) -> String {
    match traffic * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.1 => "under 0.1 %".to_owned(),
        percent if percent < 1.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}
