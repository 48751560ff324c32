//! What a decision says of one route alone, in sentences: first what is proven of it, then what else bears on that.
//!
//! A decision names the routes that settle it, and of the others only how many there are. Who looks at one route wants to know of that
//! one, also where it settles nothing. Everything here follows from a decision, so it holds for a stored one, too.

use parity_schemas::evidence::{Decision, Outcome, RouteDecision};
use parity_schemas::tally::Counts;

use super::conclude::missing_rechecks;
use super::words::{number, percent, percents};
use super::{errors, fields, latency, sentences};

/// Sentences without the name of the route, which is that of what they stand under. The first one is the verdict.
pub fn of_route(decision: &Decision, route: &RouteDecision) -> Vec<String> {
    let thresholds = &decision.thresholds;
    let none = Counts::default();
    let counts = route.counts.as_ref().map_or(&none, |own| &own.counts);
    let name = route.route.as_str();
    let counted = [(route, Some(counts))];
    let allowed = thresholds.max_mismatch_rate;
    let mut told = Vec::new();
    if route.unserved {
        told.push(
            "clients asked for it a few times and never got more than a client error (4xx), as of a path that is not served: nothing is \
             decided by it alone"
                .to_owned(),
        );
    }
    match route.outcome {
        Outcome::Fail => told.push(sentences::proven(route, counts, allowed)),
        Outcome::Pass => {
            let (upper, allowed) = percents(route.upper, allowed);
            told.push(format!(
                "at most {upper} % differ, {allowed} % allowed ({} compared, {} % confidence)",
                number(route.compared),
                percent(thresholds.confidence)
            ));
        }
        Outcome::Undecided if route.received == 0 && route.compared == 0 => {
            told.push("nothing of it is counted, so nothing is known of it".to_owned());
        }
        Outcome::Undecided => {
            let rechecks = missing_rechecks(route, &decision.noise, thresholds);
            let of = (name, &[name][..]);
            let unproven = sentences::unproven(of, (route, counts), thresholds, rechecks);
            told.extend(unproven);
            told.extend(fields::open(&counted, thresholds));
        }
    }
    let own = decision.candidate_errors.iter();
    let own: Vec<_> = own.filter(|one| one.route == name).cloned().collect();
    told.extend(errors::failed(&own, thresholds));
    told.extend(errors::open(&own, thresholds));
    let own = decision.latency.iter();
    let own: Vec<_> = own.filter(|one| one.route == name).cloned().collect();
    told.extend(latency::failed(&own));
    told.extend(latency::open(&own));
    told.extend(latency::kept(&own));
    told.extend(sentences::candidate_failures(counts));
    told.extend(sentences::excused(route));
    if route.outcome == Outcome::Fail {
        told.extend(sentences::never_asked_again(std::iter::once(route)));
    }
    let with_wanting = route.outcome != Outcome::Undecided;
    told.extend(fields::little(&counted, thresholds, with_wanting));
    told.iter().map(|text| nameless(name, text)).collect()
}

/// A sentence without the name that it begins with.
fn nameless(name: &str, text: &str) -> String {
    let rest = text.strip_prefix(name);
    let rest = rest.and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(text).to_owned()
}
