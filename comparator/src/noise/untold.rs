//! Groups of which nothing is known yet, although the services are asked again.
//!
//! Rechecks have a budget, and what differs in every answer takes most of it. A race that happens now and then beside it is
//! seen some times before it is asked about once. To count it as proven to differ would make a service fail against
//! itself; so until it is told, it proves no fail. It proves no pass either.
//!
//! *When it is told.* One confirmed recheck says that the candidate differs where the legacy stands still. Where only the
//! candidate moved (`unstable`), it may be either: of two services that behave alike, one that moved between two looks is as
//! likely the legacy. So after [`TOLD`] rechecks without any move of the legacy, with a chance of 2⁻⁷ for such services, it
//! is told.
//!
//! *What stays certain*: values that no service changes by chance (a status, what cannot be read), and routes on which nobody asks again, or never gets
//! an answer: there nothing would be told, however long one waits.

use std::collections::HashSet;

use parity_schemas::evidence::{Evidence, GroupEvidence};
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::Counts;

use super::shape::Shape;
use super::sums::of_class;

/// Rechecks in which the candidate alone moved: by chance so many come once in 128 times. One more for each doubling of the
/// number of groups, so that among many none is told by chance more often than among few.
const TOLD: u64 = 7;

/// The groups of which nothing is told, by route and fingerprint.
pub(super) fn groups(evidence: &Evidence) -> HashSet<(&str, &str)> {
    let asked: HashSet<&str> = evidence
        .routes
        .iter()
        .filter(|route| is_asked(&route.counts))
        .map(|route| route.route.as_str())
        .collect();
    let groups = evidence.groups.iter();
    let groups = groups.filter(|group| asked.contains(group.route.as_str()));
    let count = groups.clone().count() as u64;
    let told = TOLD + u64::from(count.max(1).next_power_of_two().ilog2());
    groups
        .filter(|group| is_untold(group, told))
        .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()))
        .collect()
}

/// Whether the services are asked again about mismatches of a route, and answer, or will be when the budget allows it.
pub(crate) fn is_asked(counts: &Counts) -> bool {
    let of = |event| counts.rechecks.get(&event).copied().unwrap_or(0);
    let (asked, failed) = (of(RecheckEvent::Asked), of(RecheckEvent::Failed));
    if asked > 0 {
        return asked > failed;
    }
    let waits = [
        RecheckEvent::RefusedRate,
        RecheckEvent::RefusedGroupRate,
        RecheckEvent::RefusedWaiting,
        RecheckEvent::RefusedPaused,
    ];
    waits.into_iter().any(|event| of(event) > 0)
}

fn is_untold(group: &GroupEvidence, told: u64) -> bool {
    let may_move = (group.group.shape.parse::<Shape>()).is_ok_and(Shape::may_move);
    let of = |class| of_class(&group.classes, class);
    may_move
        && of(MismatchClass::Confirmed) == 0
        && of(MismatchClass::Unstable) < told
        // Then it is told that the legacy moves, and a proof is asked for.
        && of(MismatchClass::Noise) == 0
}

#[cfg(test)]
mod tests {
    use parity_schemas::evidence::{RouteEvidence, Window};
    use parity_schemas::recheck::EvidenceCounts;
    use parity_schemas::tally::{Group, Identity};
    use parity_schemas::time::Timestamp;

    use super::*;

    fn is_told(
        shape: &str,
        classes: &[(MismatchClass, u64)],
        events: &[(RecheckEvent, u64)],
    ) -> bool {
        let evidence = Evidence {
            identity: Identity::default(),
            window: Window {
                from: Timestamp::from_micros(0),
                to: Timestamp::from_micros(1),
            },
            instances: Vec::new(),
            routes: vec![RouteEvidence {
                route: "GET /a".to_owned(),
                counts: Counts {
                    rechecks: events.iter().copied().collect(),
                    ..Counts::default()
                },
                ..RouteEvidence::default()
            }],
            groups: vec![GroupEvidence {
                last_seen: parity_schemas::time::Timestamp::default(),
                route: "GET /a".to_owned(),
                group: Group {
                    fingerprint: "f".to_owned(),
                    shape: shape.to_owned(),
                    ..Group::default()
                },
                count: classes.iter().map(|(_, count)| count).sum(),
                classes: classes.iter().copied().collect(),
                evidence: EvidenceCounts::new(),
            }],
            sets: Vec::new(),
            runs: Vec::new(),
            carried: Vec::new(),
            recent: Vec::new(),
            other_rules: Vec::new(),
            left_out: Vec::new(),
            only_left_out: Vec::new(),
        };
        groups(&evidence).is_empty()
    }

    #[test]
    fn what_was_not_asked_about_is_not_told_while_the_services_are_asked() {
        use MismatchClass::{Confirmed, Noise, Unconfirmed, Unstable};
        use RecheckEvent::{Asked, Failed, RefusedMethod, RefusedRate};
        let alike = "uuid→uuid";
        let some = [(Asked, 5), (RefusedRate, 90)];
        assert!(!is_told(alike, &[(Unconfirmed, 40)], &some));
        assert!(!is_told(alike, &[(Unconfirmed, 40)], &[(RefusedRate, 90)]));
        assert!(!is_told(alike, &[(Unconfirmed, 40), (Unstable, 6)], &some));
        assert!(is_told(alike, &[(Unconfirmed, 40), (Unstable, 7)], &some));
        assert!(is_told(alike, &[(Unconfirmed, 40), (Confirmed, 1)], &some));
        assert!(is_told(alike, &[(Unconfirmed, 40), (Noise, 1)], &some));
        // Nothing would be told.
        assert!(is_told(alike, &[(Unconfirmed, 40)], &[]));
        assert!(is_told(alike, &[(Unconfirmed, 40)], &[(RefusedMethod, 40)]));
        assert!(is_told(
            alike,
            &[(Unconfirmed, 40)],
            &[(Asked, 4), (Failed, 4)]
        ));
        // An older program did not say what the values are.
        assert!(is_told("", &[(Unconfirmed, 40)], &some));
    }
}
