//! Buckets of a few minutes, and since when they differ.

use parity_schemas::evidence::Thresholds;
use parity_schemas::history::{Compared, History, Onset, OnsetState};
use parity_schemas::time::Timestamp;

use super::super::hour::Hour;
use super::found::{Step, onset};
use super::{Of, sentence};

const MINUTE: i64 = 60_000_000;

/// Each bucket: its minute, what differs, of how many.
fn found(buckets: &[(i64, u64, u64)]) -> Found {
    let thresholds = Thresholds {
        max_mismatch_rate: 0.01,
        ..Thresholds::default()
    };
    found_with(buckets, &thresholds)
}

fn steps(buckets: &[(i64, u64, u64)]) -> Vec<Step> {
    let steps = buckets.iter().map(|(minute, differing, compared)| Step {
        from: Timestamp::from_micros(minute * MINUTE),
        to: Timestamp::from_micros((minute + 1) * MINUTE),
        compared: Compared {
            compared: *compared,
            differing: *differing,
        },
    });
    steps.collect()
}

/// State, begin, end, and the end of what was before.
type Found = (OnsetState, Option<i64>, Option<i64>, Option<i64>);

fn found_with(buckets: &[(i64, u64, u64)], thresholds: &Thresholds) -> Found {
    let found = onset(&steps(buckets), thresholds);
    let minute = |time: Option<Timestamp>| time.map(|time| time.as_micros() / MINUTE);
    (
        found.state,
        minute(found.from),
        minute(found.to),
        minute(found.after),
    )
}

#[test]
fn it_differs_since_the_first_high_bucket_up_to_the_end() {
    use OnsetState::{Differs, Holds, Nothing};
    for (buckets, expected) in [
        (vec![], (Nothing, None, None, None)),
        (vec![(0, 0, 0)], (Nothing, None, None, None)),
        (
            vec![(0, 0, 5_000), (1, 5, 5_000)],
            (Holds, None, None, None),
        ),
        (
            vec![(0, 0, 5_000), (1, 500, 5_000), (2, 500, 5_000)],
            (Differs, Some(1), Some(3), Some(1)),
        ),
        // Nothing was compared in between: it may be older than the first bucket that shows it.
        (
            vec![(0, 0, 5_000), (1, 0, 0), (7, 500, 5_000), (8, 0, 0)],
            (Differs, Some(7), Some(8), Some(1)),
        ),
        (vec![(3, 500, 5_000)], (Differs, Some(3), Some(4), None)),
    ] {
        assert_eq!(found(&buckets), expected, "{buckets:?}");
    }
}

#[test]
fn calm_buckets_end_it_only_if_they_prove_that_it_holds() {
    use OnsetState::{Differed, Differs};
    // Once in twenty requests, with little traffic.
    let thin: Vec<(i64, u64, u64)> = (0..200)
        .map(|minute| (minute, u64::from(minute >= 100 && minute % 2 == 0), 10))
        .collect();
    let (state, from, ..) = found(&thin);
    assert_eq!((state, from), (Differs, Some(100)));
    assert_eq!(
        found(&[(0, 0, 5_000), (1, 500, 5_000), (2, 0, 5_000)]),
        (Differed, Some(1), Some(2), Some(1))
    );
    // The second is what it is about, the first one ended.
    assert_eq!(
        found(&[(0, 500, 5_000), (1, 0, 5_000), (2, 500, 5_000), (3, 0, 3)]),
        (Differs, Some(2), Some(4), Some(2))
    );
}

#[test]
fn a_stretch_that_proves_nothing_hides_none_that_does() {
    use OnsetState::{Differed, Holds, Open};
    assert_eq!(
        found(&[(0, 500, 5_000), (1, 0, 5_000), (2, 1, 10), (3, 0, 5_000)]),
        (Differed, Some(0), Some(1), None)
    );
    // One of ten is too many, but one of ten thousand is not.
    assert_eq!(
        found(&[(0, 0, 5_000), (1, 1, 10), (2, 0, 5_000)]),
        (Holds, None, None, None)
    );
    assert_eq!(
        found(&[(0, 0, 10), (1, 1, 10)]),
        (Open, Some(1), Some(2), Some(1))
    );
}

#[test]
fn an_incident_ends_with_minutes_that_are_clearly_better_and_no_later_one_joins_it() {
    use OnsetState::{Differed, Differs};
    // A third of 300 requests a minute, then a fix, and far too few requests to prove the allowed rate.
    let thresholds = Thresholds {
        max_mismatch_rate: 0.0001,
        ..Thresholds::default()
    };
    let state = |buckets: &[(i64, u64, u64)]| {
        let found = found_with(buckets, &thresholds);
        (found.0, found.1, found.2)
    };
    let bad = |minute| (minute, 100, 300);
    let calm = |minute| (minute, 0, 300);
    assert_eq!(
        state(&[calm(0), bad(1), bad(2), calm(3)]),
        (Differed, Some(1), Some(3))
    );
    // A second incident begins when it begins.
    assert_eq!(
        state(&[bad(0), bad(1), calm(2), calm(3), bad(4), bad(5)]),
        (Differs, Some(4), Some(6))
    );
    // Too few requests say nothing.
    assert_eq!(
        state(&[bad(1), bad(2), (3, 0, 3)]),
        (Differs, Some(1), Some(4))
    );
    // A few of many that still differ are no end.
    assert_eq!(state(&[bad(1), (2, 60, 300)]), (Differs, Some(1), Some(3)));
}

/// Three requests of ten differ, three times in a night with hours between in which none does.
#[test]
fn of_several_incidents_the_present_one_is_named() {
    let thresholds = Thresholds {
        max_mismatch_rate: 0.0001,
        ..Thresholds::default()
    };
    let onset_of = |night: &[(i64, u64, u64)]| onset(&steps(night), &thresholds);
    let minute = |time: Option<Timestamp>| time.map(|time| time.as_micros() / MINUTE);
    // Too few to prove that it was calm, and enough to see it.
    let bad = [20, 120, 220];
    let night: Vec<_> = (0..=220)
        .map(|minute| {
            (
                minute,
                3 * u64::from(bad.contains(&minute)),
                if bad.contains(&minute) { 60 } else { 1 },
            )
        })
        .collect();
    let found = onset_of(&night);
    assert_eq!(found.state, OnsetState::Differs);
    assert_eq!(minute(found.from), Some(220));
    let before = found.earlier.map(|earlier| {
        (
            earlier.times,
            minute(Some(earlier.from)),
            minute(Some(earlier.to)),
        )
    });
    assert_eq!(before, Some((2, Some(20), Some(121))));
    assert_eq!((found.stretch.differing, found.before.compared), (3, 99));
    let history: History = serde_json::from_value(serde_json::json!({
        "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
        "window": null, "bucket_seconds": 60, "buckets": [], "without_excused": true, "with_latency": false,
        "identities": [], "marks": [], "routes": [], "routes_left_out": 0, "groups": []
    }))
    .expect("a history");
    let about = Of {
        route: None,
        version: None,
    };
    let told = |found: &Onset| {
        sentence(found, &about, &history, &Hour::of(&history)).expect("there is something to say")
    };
    let several = told(&found);
    assert_eq!(
        several,
        "Differs since 1970-01-01 03:40 UTC: 5.00 % of 60 compared requests since then, 0.01 % allowed. Before that, 0 % of 99 \
         differed, so it began about then, to within 1 minute. It differed 2 times before, first from 1970-01-01 00:20 UTC, last until \
         1970-01-01 02:01 UTC"
    );
    // One time before, which ended so that it is proven.
    let twice = told(&onset_of(&[
        (0, 0, 60),
        (1, 30, 60),
        (2, 0, 600),
        (3, 30, 60),
    ]));
    assert!(
        twice.ends_with("so it began about then, to within 1 minute. It differed before, too, from 1970-01-01 00:01 UTC to 1970-01-01 00:02 UTC"),
        "{twice}"
    );
    // Without requests in between nobody knows.
    let quiet: Vec<_> = night
        .iter()
        .filter(|(_, differing, _)| *differing > 0)
        .copied()
        .collect();
    assert_eq!(onset_of(&quiet).earlier, None);
    // One request before proves nothing.
    let one = told(&onset_of(&[(0, 0, 1), (1, 30, 60), (2, 30, 60)]));
    assert!(
        one.ends_with("; only 1 request was compared before that, too few to tell whether it differed then, too"),
        "{one}"
    );
    let enough = told(&onset_of(&[(0, 0, 60), (1, 30, 60), (2, 30, 60)]));
    assert!(enough.contains("so it began about then"), "{enough}");
}
