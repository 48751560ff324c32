//! Why mismatches were not asked about again, where that stands in the way of a decision.
//!
//! A mismatch is asked about when it comes, or never: what was refused then is refused for good. So time alone settles nothing
//! of it; that takes further mismatches that are asked about. Whoever reads only that rechecks would settle it waits in vain.

use parity_schemas::recheck::RecheckEvent;
use parity_schemas::tally::Counts;

use super::words::{number, plural};

/// What keeps rechecks back, in the order in which it is told. Requests that must not be repeated have a sentence of their own.
const BRAKES: [(RecheckEvent, &str); 4] = [
    (
        RecheckEvent::RefusedPaused,
        "while rechecks were paused to spare the services (the breaker was open, shadowing was off, or the legacy was slower than \
         usual)",
    ),
    (
        RecheckEvent::RefusedGroupRate,
        "beyond `recheck.per_group`, the looks in a minute at a group that was confirmed or in which the candidate alone changed",
    ),
    (RecheckEvent::RefusedRate, "beyond `recheck.rate`"),
    (
        RecheckEvent::RefusedWaiting,
        "while too many rechecks waited (`recheck.in_flight`, or large answers)",
    ),
];

/// Mismatches that came while rechecks were paused.
pub fn paused(counts: &Counts) -> u64 {
    of(counts, RecheckEvent::RefusedPaused)
}

/// How many mismatches were not asked about again, by what kept rechecks back; `None` if nothing did.
pub fn not_asked(counts: &Counts) -> Option<String> {
    let braked = || {
        let brakes = BRAKES.iter();
        brakes
            .map(|(event, why)| (of(counts, *event), *why))
            .filter(|(count, _)| *count > 0)
    };
    let all: u64 = braked().map(|(count, _)| count).sum();
    let why = match braked().collect::<Vec<_>>().as_slice() {
        [] => return None,
        [(_, why)] => (*why).to_owned(),
        several => {
            let each = several.iter();
            let each: Vec<_> = each
                .map(|(count, why)| format!("{} {why}", number(*count)))
                .collect();
            each.join("; ")
        }
    };
    let were = plural(all, "mismatch was", "mismatches were");
    Some(format!(
        "{were} not asked about again, and will not be: {why}. What waits for rechecks takes more traffic, not time"
    ))
}

fn of(counts: &Counts, event: RecheckEvent) -> u64 {
    counts.rechecks.get(&event).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_brake_is_named_with_its_count_and_what_is_never_repeated_is_not() {
        use RecheckEvent::{
            Asked, RefusedGroupRate, RefusedMethod, RefusedPaused, RefusedRate, RefusedWaiting,
        };
        let told = |events: &[(RecheckEvent, u64)]| {
            not_asked(&Counts {
                rechecks: events.iter().copied().collect(),
                ..Counts::default()
            })
        };
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[(Asked, 9), (RefusedMethod, 9)]), None);
        let one = told(&[(Asked, 9), (RefusedPaused, 1)]).expect("it was paused");
        assert!(
            one.starts_with(
                "1 mismatch was not asked about again, and will not be: while rechecks were paused"
            ),
            "{one}"
        );
        assert!(one.ends_with("takes more traffic, not time"), "{one}");
        let all = told(&[
            (RefusedRate, 3_000),
            (RefusedPaused, 1_200),
            (RefusedWaiting, 4),
            (RefusedGroupRate, 50),
        ]);
        let all = all.expect("they were refused");
        let mut from = 0;
        for words in [
            "4,254 mismatches were",
            "1,200 while rechecks were paused",
            "; 50 beyond `recheck.per_group`",
            "; 3,000 beyond `recheck.rate`",
            "; 4 while too many rechecks waited",
        ] {
            let at = all.get(from..).and_then(|rest| rest.find(words));
            from += at.unwrap_or_else(|| panic!("{words}: {all}"));
        }
    }
}
