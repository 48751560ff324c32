//! What is new of the differences that count: demanded by `--nothing-new`.
//!
//! A group is news if it counts and no entry says that it is known: it is new, growing, back again, or its entry has expired.
//! One that is proven noise or was only ever transient does not count. It is *confirmed* if a recheck found it again while the
//! legacy stood still, or if the counts prove that it grows. One that nobody confirmed may be a race or noise, so it proves no
//! fail; but then nobody can say that nothing is new.

use std::collections::{HashMap, HashSet};

use parity_schemas::evidence::{Decision, Evidence, Thresholds};
use parity_schemas::known::{KnownState, KnownUse, NewDifferences, NewGroup};
use parity_schemas::noise::{NoiseGroup, NoiseState, NoiseUse};
use parity_schemas::record::MismatchClass;

use crate::noise::sums::of_class;

/// Groups listed; further ones are only counted. A decision is stored whole.
const MAX_LISTED: usize = 100;

/// How many mismatches there are, on routes on which something is known, of which not all groups are. Elsewhere each of their
/// groups is news.
fn untold(evidence: &Evidence, known: &[KnownUse]) -> u64 {
    let routes: HashSet<&str> = known
        .iter()
        .flat_map(|one| &one.routes)
        .map(|route| route.route.as_str())
        .collect();
    let each = evidence
        .routes
        .iter()
        .filter(|one| routes.contains(one.route.as_str()));
    let counts = each.map(|one| {
        let sets = evidence.sets.iter().filter(|set| set.route == one.route);
        let told: u64 = sets.flat_map(|set| set.classes.values()).sum();
        let transient = of_class(&one.counts.classes, MismatchClass::Transient);
        one.counts.mismatch.saturating_sub(told + transient)
    });
    counts.sum()
}

/// What is new in the evidence of a decision, also if it was not demanded that nothing is.
pub fn news_beside(decision: &Decision, evidence: &Evidence) -> NewDifferences {
    news(
        evidence,
        &decision.known,
        &decision.noise,
        &decision.thresholds,
    )
}

/// What is new in the evidence.
pub(crate) fn news(
    evidence: &Evidence,
    known: &[KnownUse],
    noise: &[NoiseGroup],
    thresholds: &Thresholds,
) -> NewDifferences {
    let states: HashMap<(&str, &str), KnownState> = known
        .iter()
        .flat_map(|one| &one.groups)
        .map(|group| {
            (
                (group.route.as_str(), group.group.fingerprint.as_str()),
                group.state,
            )
        })
        .collect();
    let proven: HashSet<(&str, &str)> = noise
        .iter()
        .filter(|group| thresholds.noise == NoiseUse::Use && group.state == NoiseState::Proven)
        .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()))
        .collect();
    let mut news = NewDifferences {
        untold: untold(evidence, known),
        ..NewDifferences::default()
    };
    for group in &evidence.groups {
        let name = (group.route.as_str(), group.group.fingerprint.as_str());
        let state = states.get(&name).copied().unwrap_or_default();
        let transient = of_class(&group.classes, MismatchClass::Transient);
        if proven.contains(&name) || transient >= group.count || !state.is_news() {
            continue;
        }
        let confirmed =
            state == KnownState::Growing || of_class(&group.classes, MismatchClass::Confirmed) > 0;
        if confirmed {
            news.confirmed += 1;
        } else {
            news.open += 1;
        }
        news.groups.push(NewGroup {
            route: group.route.clone(),
            group: group.group.clone(),
            state,
            count: group.count,
            confirmed,
            likely_noise: None,
        });
    }
    news.groups.sort_by(|one, two| {
        let order = two
            .confirmed
            .cmp(&one.confirmed)
            .then(two.count.cmp(&one.count));
        order
            .then_with(|| one.route.cmp(&two.route))
            .then_with(|| one.group.fingerprint.cmp(&two.group.fingerprint))
    });
    news.groups.truncate(MAX_LISTED);
    news
}
