//! Whether the tallies in a store still add up to what a decision counted.
//!
//! The decision was made while mirrors counted, so the tallies of the last minute may have grown since. Those that were
//! closed by then may not: per count, `closed ≤ decision ≤ all` must hold, and with nothing open all three are equal. With
//! counts that were carried over from earlier rules, only the first half is checked, and that is said.
//!
//! Not every instance had written all that it counted by then: one was silent or behind, and its rows came through a spool, a
//! broker or a replica later. Its watermark in the decision says so. Of such an instance there may be more than the decision
//! has, which is told and is no fault, and never less.

use parity_schemas::decisions::{Check, CheckName, CheckState};
use parity_schemas::evidence::{Decision, EvidenceSummary, RouteEvidence, Window};
use parity_schemas::tally::{Counts, Identity};
use parity_schemas::watermark::RunState;
use parity_sink::read::{Counted, CountedWindow};
use parity_sink::{Reader, StoreError};

/// A tally that ended this long before the decision was complete in the store: mirrors write several times a second, and
/// gather what is late for at most a second.
const SETTLED_AFTER_MICROS: i64 = 2_000_000;

/// Compares the counts of a decision with those in the store.
pub(super) fn recounted(reader: &Reader, decision: &Decision) -> Result<Check, StoreError> {
    let Some(summary) = &decision.evidence else {
        return Ok(Check::of(CheckName::Tallies, Vec::new()));
    };
    let identity = Identity {
        migration: decision.migration.clone(),
        legacy_version: summary.legacy_version.clone(),
        candidate_version: summary.candidate_version.clone(),
        rules_hash: summary.rules_hash.clone(),
    };
    let window = Window {
        from: summary.from,
        to: summary.to,
    };
    let count = |closed_by| {
        let left_out = summary.left_out.iter();
        let asked = CountedWindow {
            window,
            closed_by,
            left_out: left_out.map(|one| one.span.clone()).collect(),
        };
        reader.counted(&identity, &asked)
    };
    let all = count(parity_schemas::time::Timestamp::from_micros(i64::MAX))?;
    let closed = count(decision.time.saturating_add_micros(-SETTLED_AFTER_MICROS))?;
    let earlier = summary
        .carried
        .iter()
        .filter(|rules| rules.expired.is_empty());
    let carried: u64 = earlier.map(|rules| rules.requests).sum();
    let removed = match all.window {
        // What was decided again by other rules is no sum of tallies.
        _ if carried > 0 => Some(format!(
            "{carried} requests were carried over from earlier rules and are not counted again; it is only checked that \
             nothing is missing that was counted under the present rules"
        )),
        Some(left) => (left.from > window.from).then(|| {
            format!(
                "the store has no tallies before {}; retention removes the oldest first. What was counted from {} on is \
                 checked in part only",
                left.from, window.from
            )
        }),
        None => (decision.total.received > 0).then(|| {
            "the store has no tallies of this evidence any more; retention removes them after `retention.tallies`"
                .to_owned()
        }),
    };
    let mut told = Vec::new();
    let settled = closed.routes(|instance| is_settled(summary, instance));
    let all = all.routes(|_| true);
    for route in &decision.routes {
        if let Some(own) = &route.counts {
            let closed = of(&settled, &route.route);
            let all = of(&all, &route.route);
            compare(
                &mut told,
                &route.route,
                (&closed, &own.counts, &all),
                removed.is_some(),
            );
        }
    }
    let unknown = settled
        .iter()
        .filter(|found| found.counts.received > 0 && !is_taken_out(summary, &found.route))
        .filter(|found| {
            decision
                .routes
                .iter()
                .all(|route| route.route != found.route)
        });
    for found in unknown {
        told.push(format!(
            "{}: the store has {} requests, and the decision none",
            found.route, found.counts.received
        ));
    }
    let mut check = Check::of(CheckName::Tallies, told);
    let late = came_later(decision, summary, &closed);
    check.told.splice(0..0, late);
    if let Some(removed) = removed {
        if check.state == CheckState::Holds {
            check.state = CheckState::Unknown;
        }
        check.told.insert(0, removed);
    }
    Ok(check)
}

/// Whether an instance had written all that it counted when it was decided. Where no watermarks are known, it is taken for
/// one that had.
fn is_settled(summary: &EvidenceSummary, instance: &str) -> bool {
    let mut runs = summary.watermarks.iter();
    let is_known = summary.instances.iter().any(|name| name == instance);
    (is_known || summary.watermarks.is_empty())
        && runs.all(|run| {
            run.instance != instance || matches!(run.state, RunState::Complete | RunState::Ended)
        })
}

/// Whether the counts of a route were taken out because a rule had expired. Not all of them are named.
fn is_taken_out(summary: &EvidenceSummary, route: &str) -> bool {
    let mut expired = summary
        .carried
        .iter()
        .filter(|rules| !rules.expired.is_empty());
    expired.any(|rules| {
        rules.anew.iter().any(|anew| anew.route == route)
            || rules.routes_anew > rules.anew.len() as u64
    })
}

/// A sentence for each instance of which more was counted than the decision has, although its intervals were over by then.
fn came_later(decision: &Decision, summary: &EvidenceSummary, closed: &Counted) -> Vec<String> {
    let has_more = closed.routes(|_| true).iter().any(|found| {
        let decided = decision
            .routes
            .iter()
            .find(|route| route.route == found.route);
        let own = decided.and_then(|route| route.counts.as_ref());
        !is_taken_out(summary, &found.route)
            && own.is_none_or(|own| own.counts.received < found.counts.received)
    });
    let late = closed
        .instances
        .iter()
        .filter(|(instance, _)| has_more && !is_settled(summary, instance));
    let told = late.map(|(instance, routes)| {
        let received: u64 = routes.iter().map(|route| route.counts.received).sum();
        let runs = summary.watermarks.iter().filter(|run| run.instance == *instance);
        let doubtful = runs.clone().find(|run| !matches!(run.state, RunState::Complete | RunState::Ended));
        let then = match doubtful {
            None => "nothing of it was known then".to_owned(),
            Some(run) => {
                let until = run.complete_until.map_or_else(|| "nobody knows when".to_owned(), |time| time.to_string());
                format!("it was {} then, and complete until {until}", run.state.as_str())
            }
        };
        format!(
            "more was counted since the decision: `{instance}` has {received} requests in intervals that were over by then; {then}"
        )
    });
    told.collect()
}

fn of(counted: &[RouteEvidence], route: &str) -> Counts {
    let found: Option<&RouteEvidence> = counted.iter().find(|found| found.route == route);
    found.map(|found| found.counts.clone()).unwrap_or_default()
}

/// Tells each count that does not fit. Where rows were removed, there may be fewer.
fn compare(
    told: &mut Vec<String>,
    route: &str,
    (closed, decided, all): (&Counts, &Counts, &Counts),
    removed: bool,
) {
    for (name, of) in numbers(decided, closed) {
        let (closed, decided, all) = (of(closed), of(decided), of(all));
        if decided < closed {
            told.push(format!(
                "{route}: {name} is {decided} in the decision, and {closed} in tallies that were closed by then: counts came \
                 to the store later, or it was changed"
            ));
        } else if decided > all && !removed {
            told.push(format!(
                "{route}: {name} is {decided} in the decision, and {all} in the store"
            ));
        }
    }
}

type Number = Box<dyn Fn(&Counts) -> u64>;

/// Every count that either of two has, by name.
fn numbers(one: &Counts, other: &Counts) -> Vec<(String, Number)> {
    let mut all: Vec<(String, Number)> = vec![
        ("received".to_owned(), Box::new(|counts| counts.received)),
        ("match".to_owned(), Box::new(|counts| counts.matched)),
        ("mismatch".to_owned(), Box::new(|counts| counts.mismatch)),
    ];
    macro_rules! words {
        ($field:ident) => {
            let mut words: Vec<_> = one
                .$field
                .keys()
                .chain(other.$field.keys())
                .copied()
                .collect();
            words.sort_unstable();
            words.dedup();
            for word in words {
                let of = move |counts: &Counts| counts.$field.get(&word).copied().unwrap_or(0);
                all.push((format!("{} {word}", stringify!($field)), Box::new(of)));
            }
        };
    }
    words!(clients);
    words!(classes);
    words!(rechecks);
    words!(not_compared);
    words!(legacy_answers);
    words!(fields);
    all
}
