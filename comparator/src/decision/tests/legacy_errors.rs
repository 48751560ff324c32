//! What a fail says of a legacy that was ill.

use parity_schemas::evidence::GroupEvidence;
use parity_schemas::recheck::{EvidenceCounts, MismatchClass};
use parity_schemas::tally::Group;
use parity_schemas::verdict::Part;

use super::*;

const SECOND: i64 = 1_000_000;

/// Of a route with 1,000 compared requests, of which a hundred differ: so many of these because of these two statuses, the last one after 100
/// seconds; all counted up to this second.
fn decided(statuses: [u16; 2], count: u64, class: MismatchClass, end: i64) -> Decision {
    let [legacy_status, candidate_status] = statuses;
    let mut counts = counts(900, 100, &[]);
    counts.classes = [(class, count), (MismatchClass::Confirmed, 100 - count)].into();
    let mut evidence = evidence(vec![("GET /a", counts)]);
    evidence.window.to = Timestamp::from_micros(end * SECOND);
    evidence.groups = vec![GroupEvidence {
        route: "GET /a".to_owned(),
        group: Group {
            fingerprint: "s".to_owned(),
            part: Part::Status,
            legacy_status,
            candidate_status,
            ..Group::default()
        },
        count,
        classes: [(class, count)].into(),
        evidence: EvidenceCounts::new(),
        last_seen: Timestamp::from_micros(100 * SECOND),
    }];
    decided_on(&evidence, &Thresholds::default())
}

#[test]
fn a_fail_says_how_much_of_it_is_the_legacy_that_was_ill_and_what_leaves_that_out() {
    let fail = decided([500, 200], 90, MismatchClass::Unconfirmed, 600);
    assert_eq!(fail.outcome, Outcome::Fail);
    assert!(
        fail.reasons[0].ends_with(
            "; on 90 of the 100 that differ the legacy answered with a server error (5xx) and the candidate did not"
        ),
        "{:?}",
        fail.reasons
    );
    // Up to a minute later it is counted, and counts are of minutes.
    assert!(
        fail.reasons[1].contains("--since 1970-01-01T00:03:00")
            && fail.reasons[1].contains("the last time at 1970-01-01T00:01:40"),
        "{:?}",
        fail.reasons
    );
    assert!(
        fail.headline
            .contains("on 90 of 100 that differ the legacy alone answered 5xx"),
        "{}",
        fail.headline
    );
    let goes_on = decided([503, 200], 90, MismatchClass::Unconfirmed, 110);
    assert!(
        goes_on.reasons[1].ends_with("as soon as it is well again"),
        "{:?}",
        goes_on.reasons
    );
}

#[test]
fn a_small_part_of_it_or_what_is_the_candidates_is_not_told() {
    for (statuses, count, class) in [
        ([500, 200], 9, MismatchClass::Unconfirmed),
        ([200, 500], 90, MismatchClass::Unconfirmed),
        ([500, 503], 90, MismatchClass::Unconfirmed),
        ([404, 200], 90, MismatchClass::Unconfirmed),
    ] {
        let fail = decided(statuses, count, class, 600);
        assert_eq!(fail.outcome, Outcome::Fail);
        assert_eq!(fail.total.legacy_errors, None, "{statuses:?}");
        let told = fail.reasons.join("\n") + &fail.headline;
        assert!(!told.contains("5xx"), "{told}");
    }
    // Asked again, both agree: that does not count.
    let alike = decided([500, 200], 90, MismatchClass::Transient, 600);
    assert_eq!(alike.total.legacy_errors, None);
}
