//! What a wait is beside the answers of a route, and which routes are known.

use super::*;

const MILLIS: fn(u64) -> Duration = Duration::from_millis;

/// So many answers that took this long.
fn answers(times: &ByRoute, route: &str, (count, millis): (u32, u64)) {
    (0..count).for_each(|_| times.answered(route, MILLIS(millis)));
}

fn beside(times: &ByRoute, route: &str, millis: u64) -> Beside {
    times.beside(route, MILLIS(millis))
}

#[test]
fn buckets_begin_below_the_shortest_wait_and_end_with_an_hour() {
    assert_eq!(bucket(Duration::from_micros((1 << 14) - 1)), 0);
    assert_eq!(bucket(Duration::from_micros(1 << 14)), 1);
    assert!(bucket(leaving::surely(leaving::LEAST_WAIT)) > 0);
    assert_eq!(bucket(Duration::from_hours(2)), ENDLESS - 1);
    assert_eq!(bucket(Duration::MAX), ENDLESS - 1);
    let mut last = 0;
    for time in (0..4_000_000).map(MILLIS) {
        let at = bucket(time);
        assert!((last..=last + 1).contains(&at), "{time:?}");
        assert!(
            time < end(at) && (at == 0 || time >= end(at - 1)),
            "{time:?}"
        );
        last = at;
    }
    assert_eq!(end(ENDLESS), Duration::MAX);
}

#[test]
fn a_route_is_judged_by_its_own_answers_if_it_has_enough() {
    let times = ByRoute::new();
    answers(&times, "GET /report", (LEAST, 2_000));
    answers(&times, "GET /items", (LEAST, 1));
    for (route, millis, is_longer) in [
        ("GET /report", 1_500, false),
        ("GET /report", 2_450, false),
        ("GET /report", 2_800, true),
        ("GET /items", 60, true),
    ] {
        let beside = beside(&times, route, millis);
        assert!(beside.is_clear(), "{route}");
        assert_eq!(
            beside.is_longer(0.99, || !is_longer),
            is_longer,
            "{route} {millis}"
        );
    }
    assert_eq!(beside(&times, "GET /other", 1_500), Beside::NONE);
}

#[test]
fn few_answers_speak_for_the_candidate_and_not_against_it() {
    let times = ByRoute::new();
    answers(&times, "GET /report", (1, 2_000));
    assert!(!beside(&times, "GET /report", 2_400).is_longer(0.99, || true));
    let longer = beside(&times, "GET /report", 2_501);
    assert!(longer.is_longer(0.99, || true) && !longer.is_longer(0.99, || false));
    assert!(!longer.is_clear() && !longer.is_longest(|| true));
    let far = beside(&times, "GET /report", 20_000);
    assert!(far.is_clear() && far.is_longest(|| true) && !far.is_longest(|| false));
    answers(&times, "GET /report", (9, 1));
    // One in ten is known of ten, and one in a hundred is not.
    let shorter = beside(&times, "GET /report", 1_500);
    assert!(shorter.is_longer(0.9, || false) && !shorter.is_longer(0.99, || true));
    answers(&times, "GET /report", (MANY, 2_000));
    assert!(beside(&times, "GET /report", 2_501).is_longest(|| false));
    assert!(!beside(&times, "GET /report", 2_500).is_longest(|| true));
}

#[test]
fn one_quick_answer_leaves_no_doubt_of_who_waits_for_half_a_second() {
    let times = ByRoute::new();
    answers(&times, "GET /items", (1, 3));
    assert!(!beside(&times, "GET /items", 499).is_clear());
    assert!(beside(&times, "GET /items", 500).is_clear());
    assert!(!beside(&times, "GET /other", 60_000).is_clear());
}

#[test]
fn who_leaves_the_legacy_after_the_same_time_speaks_for_the_candidate() {
    let times = ByRoute::new();
    (0..LEAST).for_each(|_| times.left("GET /report", MILLIS(1_500)));
    for millis in [1_490, 1_500, 1_515, 2_000] {
        let beside = beside(&times, "GET /report", millis);
        assert!(!beside.is_longer(0.99, || true), "{millis}");
        assert!(!beside.is_longest(|| true), "{millis}");
    }
    assert!(beside(&times, "GET /report", 3_000).is_longer(0.99, || false));
}

#[test]
fn who_changes_his_mind_at_once_hides_no_slow_route() {
    let times = ByRoute::new();
    answers(&times, "GET /report", (10, 1_500));
    (0..LEAST).for_each(|_| times.left("GET /report", MILLIS(60)));
    assert_eq!(beside(&times, "GET /report", 900).answers, 10);
    // Where none is known, or no longer ones, it is all that is known.
    (0..3).for_each(|_| times.left("GET /other", MILLIS(300)));
    let other = beside(&times, "GET /other", 310);
    assert!(other.is_known() && !other.is_longer(0.9, || true));
}

#[test]
fn what_nobody_knows_the_length_of_is_longer_than_any_time() {
    let times = ByRoute::new();
    answers(&times, "GET /events", (9, 1));
    times.endless("GET /events");
    let beside_it = beside(&times, "GET /events", 3_600_000);
    assert!(!beside_it.is_longer(0.99, || true) && !beside_it.is_longest(|| true));
    // Until it has been so once in many.
    answers(&times, "GET /events", (2 * MOST, 1));
    let later = beside(&times, "GET /events", 600);
    assert!(later.is_longer(0.99, || false) && later.is_longest(|| false));
}

#[test]
fn what_was_long_ago_fades_and_counts_stay_small() {
    let times = ByRoute::new();
    answers(&times, "GET /report", (MOST, 9_000));
    answers(&times, "GET /report", (20 * MOST, 1));
    let beside = beside(&times, "GET /report", 600);
    assert!(beside.answers <= MOST, "{beside:?}");
    assert!(beside.is_longer(0.99, || false), "{beside:?}");
}

#[test]
fn random_paths_displace_no_route_that_is_asked_for() {
    let times = ByRoute::new();
    let real: Vec<String> = (0..PARTS * 2).map(|at| format!("GET /real/{at}")).collect();
    for _ in 0..LEAST {
        for route in &real {
            times.answered(route, MILLIS(1));
        }
    }
    for path in 0..PARTS * ROUTES * 4 {
        times.answered(&format!("GET /scan/{path}"), MILLIS(1));
    }
    for route in &real {
        assert_eq!(beside(&times, route, 600).answers, LEAST, "{route}");
    }
    let kept: usize = times
        .0
        .iter()
        .map(|part| part.lock().unwrap().times.len())
        .sum();
    assert_eq!(kept, PARTS * ROUTES);
    // A new one finds a place, and keeps it.
    answers(&times, "GET /new", (LEAST, 1));
    assert_eq!(beside(&times, "GET /new", 600).answers, LEAST);
}

#[test]
fn of_another_legacy_nothing_is_known() {
    let times = ByRoute::new();
    answers(&times, "GET /items", (LEAST, 1));
    assert!(beside(&times, "GET /items", 500).is_known());
    times.forget();
    assert!(!beside(&times, "GET /items", 500).is_known());
}
