//! What a decision says of known differences, and of new ones if nothing may be new.

use parity_schemas::evidence::RouteDecision;
use parity_schemas::known::{KnownRoute, KnownState, KnownUse, NewDifferences, NewGroup};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Part;

use super::words::{number, percent, plural};
use crate::known::ends_soon;

/// Groups or entries named in a sentence; the document has more.
const MAX_NAMED: usize = 3;

/// What the claim of a pass must not leave out.
pub(super) fn but(total: &RouteDecision, known: &[KnownUse]) -> Option<String> {
    let mismatches = total.excused.known;
    let excused = known
        .iter()
        .filter(|one| one.groups.iter().any(|group| one.excuses(group)));
    let differences = excused.count() as u64;
    (mismatches > 0).then(|| {
        format!(
            ", but {} ({}) {} not count",
            plural(differences, "known difference", "known differences"),
            plural(mismatches, "mismatch", "mismatches"),
            if differences == 1 { "does" } else { "do" },
        )
    })
}

/// Entries of which a reader must know that they no longer hold, or soon will not.
pub(super) fn told(known: &[KnownUse], time: Timestamp) -> Vec<String> {
    let mut told = Vec::new();
    for one in known {
        let entry = &one.entry;
        let count = || plural(one.mismatches(), "mismatch", "mismatches");
        let of = |wanted| one.groups.iter().filter(move |group| group.state == wanted);
        if of(KnownState::Regressed).next().is_some() {
            told.push(format!(
                "known difference {} is back: it was mended on {}, and it counts",
                entry.id,
                entry.mended.unwrap_or_default()
            ));
        }
        if let Some(group) = of(KnownState::Growing).next() {
            let counted = one.routes.iter().find(|route| route.route == group.route);
            let (mismatches, compared, since) = match counted {
                Some(KnownRoute {
                    grown: Some(slice), ..
                }) => (
                    slice.mismatches,
                    slice.compared,
                    format!(" since {}", slice.from),
                ),
                Some(one) => (one.mismatches, one.compared, String::new()),
                None => (0, 0, String::new()),
            };
            told.push(format!(
                "known difference {} grows: {} of {} on {}{since}, which is more than twice {} %, and it counts",
                entry.id,
                number(mismatches),
                number(compared),
                group.route,
                percent(entry.rate.unwrap_or_default())
            ));
        }
        if of(KnownState::Expired).next().is_some() {
            told.push(format!(
                "the entry of known difference {} expired on {}, so its {} count",
                entry.id,
                entry.expires.unwrap_or_default(),
                count()
            ));
        }
        if ends_soon(entry.expires, time) && entry.mended.is_none() && !entry.blocks {
            told.push(format!(
                "the entry of known difference {} expires on {}: from then on its {} count",
                entry.id,
                entry.expires.unwrap_or_default(),
                count()
            ));
        }
    }
    told
}

/// Why a demand that nothing is new fails.
pub(super) fn failed(news: &NewDifferences) -> Option<String> {
    (news.confirmed > 0).then(|| {
        format!(
            "{} not known, and confirmed: {}",
            plural(news.confirmed, "difference is", "differences are"),
            listed(
                news.groups.iter().filter(|group| group.confirmed),
                news.confirmed
            )
        )
    })
}

/// Why it is open whether nothing is new.
pub(super) fn open(news: &NewDifferences) -> Vec<String> {
    let untold = (news.untold > 0).then(|| {
        format!(
            "{} more that differs than is recorded of one answer, or than combinations are kept: whether all of it is known, nobody \
             can say. Ignore what is known there by a rule",
            plural(news.untold, "mismatch has", "mismatches have")
        )
    });
    let open = (news.open > 0).then(|| {
        format!(
            "{} not known, and no recheck has confirmed that yet: {}. Rechecks settle that, or `parity known add`",
            plural(news.open, "difference is", "differences are"),
            listed(news.groups.iter().filter(|group| !group.confirmed), news.open)
        )
    });
    open.into_iter().chain(untold).collect()
}

fn listed<'a>(groups: impl Iterator<Item = &'a NewGroup>, all: u64) -> String {
    let named: Vec<String> = groups.take(MAX_NAMED).map(name).collect();
    let more = all.saturating_sub(named.len() as u64);
    let mut text = named.join("; ");
    if more > 0 {
        text.extend(["; and ", &number(more), " more"]);
    }
    text
}

fn name(new: &NewGroup) -> String {
    let group = &new.group;
    let place = match (group.part, group.pattern.as_str()) {
        (Part::Status, _) => format!(
            "status {} → {}",
            group.legacy_status, group.candidate_status
        ),
        (part, "") => format!("{part} as a whole"),
        (part, pattern) => format!("{part} {pattern}"),
    };
    format!(
        "{} {place} ({}, {} times, {})",
        new.route,
        new.state,
        number(new.count),
        group.fingerprint
    )
}
