//! What is judged by how many requests, and what is not.

use super::*;

fn bounds() -> Bounds {
    Bounds {
        window: Duration::from_mins(1),
        min_requests: 100,
        max_error_excess: 0.01,
        max_latency_ratio: 2.0,
    }
}

/// So many whole answers of this time, and so many errors.
fn counts(requests: u64, millis: u64, errors: u64) -> ServedCounts {
    let bucket = parity_schemas::histogram::bucket(millis * 1_000);
    ServedCounts {
        requests,
        errors,
        times: [(bucket, requests)].into_iter().collect(),
    }
}

fn seen(legacy: ServedCounts, candidate: ServedCounts, shadow: ServedCounts) -> RolloutSeen {
    RolloutSeen {
        legacy,
        candidate,
        shadow,
        ..RolloutSeen::default()
    }
}

/// Looks at the second `at`, of a process that began with 0.
fn look(
    watch: &mut Watch,
    start: Instant,
    at: u64,
    seen: RolloutSeen,
    role: Role,
) -> Option<String> {
    watch.look(seen, role, start + Duration::from_secs(at), &bounds())
}

/// It had 58 in each window of a minute, and nobody was ever taken back.
#[test]
fn a_slow_candidate_that_few_clients_ask_is_found_by_requests_of_more_than_a_window() {
    let (mut watch, start) = (Watch::default(), Instant::now());
    let at = |second: u64| {
        seen(
            counts(10 * second, 4, 0),
            counts(second, 41, 0),
            counts(0, 1, 0),
        )
    };
    for second in 0..100 {
        assert_eq!(
            look(&mut watch, start, second, at(second), Role::Serves),
            None,
            "{second}"
        );
        let standing = watch.standing(&at(second), Role::Serves);
        assert_eq!((standing.unjudged, standing.good), (second, None));
    }
    let why = look(&mut watch, start, 100, at(100), Role::Serves).expect("it is slow");
    assert!(why.contains("within 4") && why.contains(" ms"), "{why}");
    assert!(watch.standing(&at(100), Role::Serves).good.is_none());
}

#[test]
fn enough_good_requests_at_this_percent_are_needed_and_those_before_do_not_count() {
    let (mut watch, start) = (Watch::default(), Instant::now());
    let at = |served: u64| {
        seen(
            counts(9 * served, 4, 0),
            counts(served, 4, 0),
            counts(0, 1, 0),
        )
    };
    assert_eq!(look(&mut watch, start, 0, at(0), Role::Serves), None);
    assert_eq!(look(&mut watch, start, 1, at(100), Role::Serves), None);
    assert!(watch.standing(&at(100), Role::Serves).good.is_some());
    watch.begin(&at(100), start);
    assert!(watch.standing(&at(100), Role::Serves).good.is_none());
    look(&mut watch, start, 2, at(100), Role::Serves);
    look(&mut watch, start, 3, at(199), Role::Serves);
    let standing = watch.standing(&at(199), Role::Serves);
    assert_eq!(
        (standing.served, standing.unjudged, standing.good),
        (99, 99, None)
    );
    look(&mut watch, start, 4, at(200), Role::Serves);
    let standing = watch.standing(&at(250), Role::Serves);
    assert_eq!((standing.served, standing.unjudged), (150, 50));
    assert!(standing.good.is_some());
}

#[test]
fn shadows_show_what_clients_would_get_and_say_nothing_once_it_serves() {
    let (mut watch, start) = (Watch::default(), Instant::now());
    let at = |number: u64| seen(counts(number, 4, 0), counts(0, 1, 0), counts(number, 41, 0));
    assert_eq!(look(&mut watch, start, 0, at(0), Role::Shadows), None);
    assert_eq!(look(&mut watch, start, 1, at(99), Role::Shadows), None);
    assert!(look(&mut watch, start, 2, at(5_000), Role::Shadows).is_some());
    assert!(watch.standing(&at(5_000), Role::Shadows).worse.is_some());
    watch.begin(&at(5_000), start);
    assert_eq!(look(&mut watch, start, 3, at(9_000), Role::Serves), None);
    // Errors, too.
    let failing = |number| {
        seen(
            counts(number, 4, 0),
            counts(0, 1, 0),
            counts(number, 4, number / 20),
        )
    };
    let mut watch = Watch::default();
    look(&mut watch, start, 0, failing(0), Role::Shadows);
    let why = look(&mut watch, start, 1, failing(1_000), Role::Shadows);
    assert!(why.is_some_and(|why| why.contains("5.00 % errors")));
}

/// Few requests more of a busy candidate are no sample of their own: the window has all of them.
#[test]
fn two_errors_in_a_hundred_of_many_thousand_are_no_breach() {
    let (mut watch, start) = (Watch::default(), Instant::now());
    let at = |number: u64, errors| {
        seen(
            counts(number, 4, 0),
            counts(number, 4, errors),
            counts(0, 1, 0),
        )
    };
    look(&mut watch, start, 0, at(0, 0), Role::Serves);
    assert_eq!(look(&mut watch, start, 1, at(5_000, 2), Role::Serves), None);
    assert_eq!(look(&mut watch, start, 2, at(5_100, 6), Role::Serves), None);
}

/// Only a third of what the candidate serves is asked of the legacy, too, or its answers are large: its times come later.
#[test]
fn a_slow_candidate_is_found_though_few_answers_of_the_legacy_are_timed() {
    for (millis, is_slow) in [(41, true), (4, false)] {
        let (mut watch, start) = (Watch::default(), Instant::now());
        let at = |second: u64| {
            seen(
                counts(second / 3, 4, 0),
                counts(second, millis, 0),
                counts(0, 1, 0),
            )
        };
        let mut found = None;
        for second in 0..=330 {
            found = found.or(look(&mut watch, start, second, at(second), Role::Serves));
            let standing = watch.standing(&at(second), Role::Serves);
            let is_known = second >= 300;
            assert_eq!(standing.untimed.is_none(), is_known, "{second}");
            assert_eq!(standing.good.is_some(), is_known && !is_slow, "{second}");
            assert!(!standing.by_errors_alone, "{second}");
        }
        assert_eq!(found.is_some(), is_slow);
    }
    // Where the legacy is never asked, errors are what there is.
    let (mut watch, start) = (Watch::default(), Instant::now());
    let at = |served: u64| seen(counts(0, 1, 0), counts(served, 41, 0), counts(0, 1, 0));
    for second in 0..=200 {
        assert_eq!(
            look(&mut watch, start, second, at(second), Role::Serves),
            None
        );
        let standing = watch.standing(&at(second), Role::Serves);
        assert_eq!(standing.good.is_some(), second >= 200, "{second}");
        assert_eq!(standing.by_errors_alone, second >= 200, "{second}");
    }
    // Until it is.
    let timed = |served: u64| {
        seen(
            counts(served, 41, 0),
            counts(served, 41, 0),
            counts(0, 1, 0),
        )
    };
    for second in 201..=402 {
        look(&mut watch, start, second, timed(second), Role::Serves);
    }
    let standing = watch.standing(&timed(402), Role::Serves);
    assert!(standing.good.is_some() && !standing.by_errors_alone);
}

/// Good requests of the percent before made the first bad ones of the next too few to see.
#[test]
fn a_percent_is_judged_by_its_own_requests() {
    let (mut watch, start) = (Watch::default(), Instant::now());
    let at = |served: u64, errors| {
        seen(
            counts(served, 4, 0),
            counts(served, 4, errors),
            counts(0, 1, 0),
        )
    };
    look(&mut watch, start, 0, at(0, 0), Role::Serves);
    assert_eq!(
        look(&mut watch, start, 30, at(1_500, 0), Role::Serves),
        None
    );
    watch.begin(&at(1_500, 0), start);
    look(&mut watch, start, 31, at(1_500, 0), Role::Serves);
    assert!(look(&mut watch, start, 32, at(1_600, 14), Role::Serves).is_some());
    assert!(watch.standing(&at(1_600, 14), Role::Serves).good.is_none());
}

/// A bucket has a width, by which twice as long could be more than that.
#[test]
fn a_time_of_twice_as_long_is_never_slower_by_the_width_of_a_bucket() {
    for millis in 11..500 {
        let [legacy, candidate] = [millis, 2 * millis].map(|millis| counts(1_000, millis, 0));
        assert_eq!(slower(&[legacy, candidate], &bounds()), None, "{millis} ms");
        let [legacy, candidate] = [10 * millis, 22 * millis].map(|millis| counts(1_000, millis, 0));
        assert!(
            slower(&[legacy, candidate], &bounds()).is_some(),
            "{millis}0 ms"
        );
    }
}
