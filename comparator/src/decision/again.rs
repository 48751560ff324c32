//! A stored decision, made once more from what its document holds.
//!
//! Nothing but the document is needed: it has the counts of each route, the thresholds, and how far the record was
//! complete. What it says of targets, times and failures of the candidate is taken as it is. Words may change between versions of the program; numbers and outcomes may not.

use parity_schemas::evidence::{Decision, Evidence, RouteDecision, RouteEvidence, Window};
use parity_schemas::noise::{NoiseState, NoiseUse};
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::Identity;
use parity_schemas::watermark::Standing;

use super::{Asked, decide_with};
use crate::noise::excused::{self, Found, of_class};
use crate::noise::hidden;

/// Numbers that a document rounds differ by less.
const ROUNDED: f64 = 1e-9;

/// The same decision, made again by this program; `None` if its document does not hold the counts, because an older
/// program wrote it.
pub fn again(stored: &Decision) -> Option<Decision> {
    let standing = stored
        .evidence
        .as_ref()
        .map_or_else(Standing::default, |summary| Standing {
            complete_until: summary.complete_until,
            watermarks: summary.watermarks.clone(),
        });
    let evidence = match &stored.evidence {
        Some(_) => Some(evidence(stored)?),
        None => None,
    };
    let own = stored.routes.iter().filter_map(|route| {
        let own = route.counts.as_ref()?;
        Some((route.route.as_str(), own.excused))
    });
    let noise = Found {
        groups: stored.noise.clone(),
        routes: own.collect(),
    };
    let asked = Asked {
        migration: &stored.migration,
        evidence: evidence.as_ref(),
        standing: &standing,
        thresholds: &stored.thresholds,
    };
    let name = (stored.decision_id, stored.time);
    Some(decide_with(&asked, noise, Some(stored), name))
}

/// The evidence that a document holds.
fn evidence(stored: &Decision) -> Option<Evidence> {
    let summary = stored.evidence.as_ref()?;
    let mut routes: Vec<RouteEvidence> = stored
        .routes
        .iter()
        .filter_map(|route| {
            Some(RouteEvidence {
                route: route.route.clone(),
                counts: route.counts.as_ref()?.counts.clone(),
                ..RouteEvidence::default()
            })
        })
        .collect();
    routes.sort_by(|one, other| one.route.cmp(&other.route));
    // A route that was received has counts, unless the program did not keep them.
    let kept = routes.iter().any(|route| route.counts.received > 0);
    if stored.total.received > 0 && !kept {
        return None;
    }
    Some(Evidence {
        identity: Identity {
            migration: stored.migration.clone(),
            legacy_version: summary.legacy_version.clone(),
            candidate_version: summary.candidate_version.clone(),
            rules_hash: summary.rules_hash.clone(),
        },
        window: Window {
            from: summary.from,
            to: summary.to,
        },
        instances: summary.instances.clone(),
        routes,
        groups: Vec::new(),
        sets: Vec::new(),
        runs: Vec::new(),
        carried: summary.carried.clone(),
        other_rules: summary.other_rules.clone(),
        left_out: summary.left_out.clone(),
    })
}

/// In what two decisions on the same evidence differ, a sentence for each number; empty if they say the same.
pub fn differences(stored: &Decision, again: &Decision) -> Vec<String> {
    let mut told = Vec::new();
    differ(&mut told, "outcome", &stored.outcome, &again.outcome);
    if stored.scope != again.scope {
        told.push("the counts of routes that are proven, open or never compared differ".to_owned());
    }
    if stored.clients != again.clients {
        told.push("the outcomes of clients differ".to_owned());
    }
    of_route(
        &mut told,
        "all routes together",
        &stored.total,
        &again.total,
    );
    for route in &stored.routes {
        match again.routes.iter().find(|other| other.route == route.route) {
            Some(other) => of_route(&mut told, &route.route, route, other),
            None => told.push(format!("{}: this route does not come again", route.route)),
        }
    }
    for route in &again.routes {
        if stored.routes.iter().all(|other| other.route != route.route) {
            told.push(format!("{}: this route was not there", route.route));
        }
    }
    told
}

fn of_route(told: &mut Vec<String>, name: &str, stored: &RouteDecision, again: &RouteDecision) {
    let counts = [
        ("received", stored.received, again.received),
        ("compared", stored.compared, again.compared),
        ("differing", stored.differing, again.differing),
        (
            "transient",
            stored.excused.transient,
            again.excused.transient,
        ),
        ("noise", stored.excused.noise, again.excused.noise),
        ("uncomparable", stored.uncomparable, again.uncomparable),
        ("needed", stored.needed, again.needed),
    ];
    for (what, stored, again) in counts {
        differ(told, &format!("{name}: {what}"), &stored, &again);
    }
    let shares = [
        ("hidden", stored.excused.hidden, again.excused.hidden),
        ("traffic", stored.traffic, again.traffic),
        ("rate", stored.rate, again.rate),
        ("lower", stored.lower, again.lower),
        ("upper", stored.upper, again.upper),
    ];
    for (what, stored, again) in shares {
        if (stored - again).abs() > ROUNDED || stored.is_nan() != again.is_nan() {
            differ(told, &format!("{name}: {what}"), &stored, &again);
        }
    }
    // Of a thousand routes each has a millionth.
    let [stored_alpha, alpha] = [stored, again].map(|route| route.alpha.unwrap_or(0.0));
    if (stored_alpha - alpha).abs() > ROUNDED * alpha {
        differ(told, &format!("{name}: alpha"), &stored_alpha, &alpha);
    }
    let words = [
        ("required", stored.required, again.required),
        ("unserved", stored.unserved, again.unserved),
    ];
    for (what, stored, again) in words {
        differ(told, &format!("{name}: {what}"), &stored, &again);
    }
    differ(
        told,
        &format!("{name}: outcome"),
        &stored.outcome,
        &again.outcome,
    );
}

fn differ<T: PartialEq + std::fmt::Display>(
    told: &mut Vec<String>,
    what: &str,
    stored: &T,
    again: &T,
) {
    if stored != again {
        told.push(format!(
            "{what} is {stored} in the decision, and {again} when decided again"
        ));
    }
}

/// What in a decision about noise does not follow from the sums that it names, a sentence each.
///
/// Which exchanges had only groups of noise is known from sets, which the document does not hold; so their number is only
/// known to be at most that of the groups.
pub fn noise_faults(stored: &Decision) -> Vec<String> {
    let mut told = Vec::new();
    for group in &stored.noise {
        let name = format!("{}: noise at {}", group.route, group.group.pattern);
        match excused::state(group) {
            Some((state, proof)) if state == group.state => {
                // A document rounds.
                if (proof.hidden - group.hidden).abs() > ROUNDED {
                    let name = format!("{name}: hidden");
                    differ(&mut told, &name, &group.hidden, &proof.hidden);
                }
            }
            Some((state, _)) => differ(&mut told, &name, &group.state, &state),
            None => told.push(format!("{name} is not shown by its own sums")),
        }
    }
    for route in &stored.routes {
        let Some(own) = &route.counts else { continue };
        let name = &route.route;
        let transient = of_class(&own.counts.classes, MismatchClass::Transient);
        differ(
            &mut told,
            &format!("{name}: transient"),
            &own.excused.transient,
            &transient,
        );
        let of_route = stored.noise.iter().filter(|group| group.route == *name);
        let count = |state| {
            let groups = of_route.clone().filter(|group| group.state == state);
            groups.map(|group| group.count).sum::<u64>()
        };
        let hidden = hidden::of_route(of_route.clone(), own.excused.noise);
        if stored.thresholds.noise == NoiseUse::Use && (hidden - own.excused.hidden).abs() > ROUNDED
        {
            let name = format!("{name}: hidden");
            differ(&mut told, &name, &own.excused.hidden, &hidden);
        }
        let proven = count(NoiseState::Proven);
        let left = own.counts.mismatch.saturating_sub(transient);
        if own.excused.noise > proven.min(left) {
            told.push(format!(
                "{name}: {} mismatches are taken for noise, and the groups that are proven to be noise have {proven}",
                own.excused.noise
            ));
        }
        if own.excused.open > proven.saturating_add(count(NoiseState::Open)).min(left) {
            told.push(format!(
                "{name}: {} mismatches may be noise, which is more than the groups that may be have",
                own.excused.open
            ));
        }
    }
    told
}
