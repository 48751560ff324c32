//! A stored decision, made once more from what its document holds.
//!
//! Nothing but the document is needed: it has the counts of each route, the thresholds, and how far the record was
//! complete. What follows from these is made again, up to the last sentence, and compared place by place, so that a field
//! that is added later is compared, too. What was counted itself is taken as it is ([`taken`]): only a store can tell.

use std::collections::HashMap;

use parity_schemas::differing::{Difference, differing};
use parity_schemas::evidence::{Decision, Evidence, RouteEvidence, Window};
use parity_schemas::noise::{Excused, NoiseState, NoiseUse};
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::Identity;
use parity_schemas::watermark::Standing;

use super::{Asked, Known, METHOD, decide_with};
use crate::known;
use crate::noise::excused::{self, Found};
use crate::noise::sums::of_class;
use crate::noise::untold;

/// What a document says without any proof in it: places, `*` for any name or number of one and `**` for all below, and what
/// they are in words. A change there is seen if anything follows from it, and otherwise only beside a store.
const TAKEN: &[(&str, &str)] = &[
    ("migration", "for which migration"),
    ("decision_id", "its id"),
    ("time", "when it was decided"),
    ("waited_ms", "how long it waited"),
    ("thresholds.**", "what was demanded"),
    ("routes[*].route", "the names of the routes"),
    ("routes[*].counts.**", "the counts of each route"),
    ("routes[*].excused.**", "how many mismatches are noise"),
    ("noise[*].**", "what was counted of noise"),
    ("known[*].entry.**", "the register of known differences"),
    (
        "known[*].routes[*].**",
        "what was counted of known differences",
    ),
    (
        "known[*].groups[*].**",
        "what was counted of known differences",
    ),
    ("news.**", "which differences are new"),
    ("targets.**", "the targets"),
    ("total.most_frequent_share", "the targets"),
    ("routes[*].distinct_targets", "the targets"),
    ("routes[*].most_frequent_share", "the targets"),
    ("latency[*].**", "the times of both services"),
    ("candidate_errors[*].**", "the failures of the candidate"),
    ("total.legacy_errors.**", "the errors of the legacy"),
    ("routes[*].legacy_errors.**", "the errors of the legacy"),
    ("evidence.**", "window, instances and watermarks"),
];

/// The same of a decision on nothing, which names what is recorded instead.
const TAKEN_OF_NOTHING: &[(&str, &str)] = &[("reasons[*]", "what is recorded instead")];

/// What only a store can tell of a decision: places, and words for them.
pub fn taken(stored: &Decision) -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_nothing = TAKEN_OF_NOTHING
        .iter()
        .filter(|_| stored.evidence.is_none());
    TAKEN.iter().chain(of_nothing).copied()
}

/// Weightier places, which are told first.
const FIRST: [&str; 5] = ["method", "outcome", "headline", "reasons", "total"];

/// The same decision, made again by this program; `None` if its document does not hold the counts, because an older
/// program wrote it.
pub fn again(stored: &Decision) -> Option<Decision> {
    let watermarks = stored.evidence.iter().flat_map(|told| &told.watermarks);
    let standing = Standing::shown(watermarks.cloned().collect());
    let evidence = match &stored.evidence {
        Some(_) => Some(evidence(stored)?),
        None => None,
    };
    let asked = Asked {
        migration: &stored.migration,
        evidence: evidence.as_ref(),
        standing: &standing,
        thresholds: &stored.thresholds,
    };
    let noise = noise(stored, evidence.as_ref());
    let mut uses = stored.known.clone();
    known::judge(&mut uses, &stored.thresholds, stored.time);
    let news = stored
        .news
        .clone()
        .filter(|_| stored.thresholds.nothing_new);
    let mut made = decide_with(
        &asked,
        (noise, Known { uses, news }),
        Some(stored),
        (stored.decision_id, stored.time),
    );
    if evidence.is_none() {
        keep_names(&mut made, stored);
    }
    made.waited_ms = stored.waited_ms;
    made.terms.clone_from(&stored.terms);
    made.terms_cut = stored.terms_cut;
    // Only what is stored can be read from a store; decisions of older programs do not say that they are.
    made.stored = stored.stored.map(|_| true);
    Some(made)
}

/// Who asks for what is not recorded is told what is recorded instead, which only the store knows.
fn keep_names(made: &mut Decision, stored: &Decision) {
    if let [told] = &stored.reasons[..]
        && told.starts_with("no traffic recorded for ")
    {
        made.reasons = vec![told.clone()];
    }
}

/// What is noise by the sums that the document names. Which exchanges had only groups of noise is known from sets, which it does
/// not hold; so their number is taken from it, see [`noise_faults`].
fn noise<'a>(stored: &'a Decision, evidence: Option<&Evidence>) -> Found<'a> {
    let usage = stored.thresholds.noise;
    let compared: HashMap<&str, u64> = evidence
        .iter()
        .flat_map(|evidence| &evidence.routes)
        .map(|route| (route.route.as_str(), route.counts.compared()))
        .collect();
    let groups = stored.noise.iter().filter(|_| usage != NoiseUse::Off);
    let groups = excused::judged_again(groups, |route| compared.get(route).copied().unwrap_or(0));
    let own = stored.routes.iter().filter_map(|route| {
        let own = route.counts.as_ref()?;
        let name = route.route.as_str();
        let mut excused = match usage {
            NoiseUse::Use => own.excused,
            NoiseUse::Report | NoiseUse::Off => Excused {
                known: own.excused.known,
                open: own.excused.open,
                untold: own.excused.untold,
                ..Excused::default()
            },
        };
        excused.transient = of_class(&own.counts.classes, MismatchClass::Transient);
        let of_route = groups.iter().filter(|group| group.route == name);
        let of_route: Vec<_> = of_route.filter(|_| usage == NoiseUse::Use).collect();
        excused.hidden = excused::hidden_in(&own.counts, excused, &of_route);
        Some((name, excused))
    });
    let routes = own.collect();
    Found { groups, routes }
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
        recent: Vec::new(),
        other_rules: summary.other_rules.clone(),
        left_out: summary.left_out.clone(),
        only_left_out: summary.only_left_out.clone(),
    })
}

/// In what two decisions on the same evidence differ, a sentence for each place, the weightiest first; empty if they say the
/// same.
pub fn differences(stored: &Decision, again: &Decision) -> Vec<String> {
    let mut found = differing(stored, again);
    let weight = |found: &Difference| {
        let first = |name: &&str| found.place.starts_with(*name);
        FIRST.iter().position(first)
    };
    found.sort_by_key(|found| weight(found).unwrap_or(FIRST.len()));
    let told = found.iter();
    told.map(|found| found.told("in the decision", "when decided again"))
        .collect()
}

/// Why this program cannot decide again as another one decided; `None` if it can.
pub fn other_method(stored: &Decision) -> Option<String> {
    (![0, METHOD].contains(&stored.method)).then(|| {
        format!(
            "it was decided by version {} of how the gate decides, and this program has version {METHOD}: check it with the \
             program that decided",
            stored.method
        )
    })
}

/// What in a decision about noise cannot be by the sums that it names, a sentence each: which exchanges had only groups of
/// noise is not known here, but they are at most those of the groups.
pub fn noise_faults(stored: &Decision) -> Vec<String> {
    let mut told = Vec::new();
    for route in &stored.routes {
        let Some(own) = &route.counts else { continue };
        let name = &route.route;
        let transient = of_class(&own.counts.classes, MismatchClass::Transient);
        let of_route = stored.noise.iter().filter(|group| group.route == *name);
        let count = |state| {
            let groups = of_route.clone().filter(|group| group.state == state);
            groups.map(|group| group.count).sum::<u64>()
        };
        let proven = count(NoiseState::Proven);
        let left = own.counts.mismatch.saturating_sub(transient);
        if own.excused.noise > proven.min(left) {
            told.push(format!(
                "{name}: {} mismatches are taken for noise, and the groups that are proven to be noise have {proven}",
                own.excused.noise
            ));
        }
        let known: u64 = stored
            .known
            .iter()
            .flat_map(|known| known.groups.iter().filter(|group| known.excuses(group)))
            .filter(|group| group.route == *name)
            .map(|group| group.count)
            .sum();
        if own.excused.known > known.min(left) {
            told.push(format!(
                "{name}: {} mismatches are taken for known, and the groups that are known and do not block have {known}",
                own.excused.known
            ));
        }
        // What is not told yet is in no list; it is not confirmed.
        let untold = if untold::is_asked(&own.counts) {
            left.saturating_sub(of_class(&own.counts.classes, MismatchClass::Confirmed))
        } else {
            0
        };
        let may_be = proven
            .saturating_add(count(NoiseState::Open))
            .saturating_add(untold)
            .saturating_add(known)
            // What of these is known is in no list either.
            .saturating_add(if known > 0 { own.excused.untold } else { 0 });
        if own.excused.untold > own.excused.open {
            told.push(format!(
                "{name}: of {} mismatches not all that differs is kept, and only {} may not count",
                own.excused.untold, own.excused.open
            ));
        }
        if own.excused.open > may_be.min(left) {
            told.push(format!(
                "{name}: {} mismatches may be noise, which is more than the groups that may be have",
                own.excused.open
            ));
        }
    }
    for group in &stored.noise {
        let classes: u64 = group.classes.values().sum();
        if classes != group.count {
            told.push(format!(
                "{}: the noise at {} is counted {} times, and {classes} times by class",
                group.route, group.group.pattern, group.count
            ));
        }
    }
    told
}
