//! Who is in, and what is made of what was seen.

use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;

use super::*;
use crate::exchange::fixture::head;
use crate::exchange::reached::DOWN_AFTER;

/// A route of which no answer is known.
const ROUTE: &str = "GET /other";

fn rollout(by: RolloutBy, key: &str) -> Rollout {
    Rollout {
        by,
        key: key.into(),
        unsafe_methods: false,
        head_timeout: Duration::from_secs(1),
    }
}

fn points(rollout: &Rollout, users: usize) -> Vec<u64> {
    let seed = rollout.seed();
    let point = |user: usize| {
        let mut head = head();
        let value = HeaderValue::from_str(&format!("user-{user}")).expect("a value");
        head.headers.insert("x-user", value);
        rollout.point(seed, &head).expect("it has a header")
    };
    (0..users).map(point).collect()
}

fn by_user() -> RolloutBy {
    RolloutBy::Header(HeaderName::from_static("x-user"))
}

#[test]
fn the_share_is_kept_and_who_is_in_stays_in_when_it_grows() {
    const USERS: usize = 20_000;
    let state = RolloutState::new();
    let points = points(&rollout(by_user(), "payments"), USERS);
    let mut before: Vec<bool> = vec![false; USERS];
    for percent in [0.0, 1.0, 10.0, 30.0, 50.0, 100.0] {
        state.set(percent);
        let now: Vec<bool> = points.iter().map(|point| state.is_in(*point)).collect();
        let stays = before.iter().zip(&now).all(|(before, now)| !before || *now);
        assert!(stays, "{percent}");
        let share = percent / 100.0;
        let expected = share * USERS as f64;
        // Four standard deviations of the binomial distribution.
        let bound = 4.0 * (expected * (1.0 - share)).sqrt();
        let count = now.iter().filter(|is_in| **is_in).count() as f64;
        assert!((count - expected).abs() <= bound, "{percent}: {count}");
        before = now;
    }
}

#[test]
fn the_hash_is_fixed_for_ever_and_another_key_takes_others() {
    let one = points(&rollout(by_user(), "payments"), 1_000);
    assert_eq!(one, points(&rollout(by_user(), "payments"), 1_000));
    // Another value here means that a rolling update of the instances would move users.
    assert_eq!(one[1], FIXED);
    let other = points(&rollout(by_user(), "orders"), 1_000);
    let half = 1_u64 << 31;
    let agree = one
        .iter()
        .zip(&other)
        .filter(|(a, b)| (**a < half) == (**b < half));
    assert!((400..600).contains(&agree.count()));
}

/// Where `user-1` of `payments` stands.
const FIXED: u64 = 3_745_144_402;

#[test]
fn what_is_absent_empty_or_hostile_still_has_one_place() {
    let rollout = rollout(RolloutBy::Cookie("session".into()), "k");
    let seed = rollout.seed();
    let with = |lines: &[&[u8]]| {
        let mut head = head();
        for line in lines {
            let value = HeaderValue::from_bytes(line).expect("a value");
            head.headers.append(http::header::COOKIE, value);
        }
        rollout.point(seed, &head)
    };
    let address = with(&[]);
    assert!(address.is_some());
    for nobody in [
        &b"session="[..],
        b"xsession=1",
        b"session",
        b"=;;=",
        b"\xff\xfe=1",
    ] {
        assert_eq!(with(&[nobody]), address, "{nobody:?}");
    }
    let hostile = with(&[b"a=1; session=\xff\x80\"<script>"]);
    assert_ne!(hostile, address);
    assert_eq!(hostile, with(&[b"b", b"session=\xff\x80\"<script>; a=2"]));
    let mut nobody = head();
    nobody.peer = None;
    assert_eq!(rollout.point(seed, &nobody), None);
}

#[test]
fn only_what_can_be_answered_twice_is_served_by_the_candidate() {
    let mut rollout = rollout(RolloutBy::Address, "k");
    let takes = |rollout: &Rollout| {
        [
            rollout.takes(&Method::GET, None, false),
            rollout.takes(&Method::GET, Some(Reason::SampledOut), false),
            rollout.takes(&Method::GET, None, true),
            rollout.takes(&Method::GET, Some(Reason::UnsafeMethod), false),
            rollout.takes(&Method::DELETE, None, false),
        ]
    };
    assert_eq!(takes(&rollout), [true, true, false, false, false]);
    rollout.unsafe_methods = true;
    assert_eq!(takes(&rollout), [true; 5]);
}

#[test]
fn a_candidate_that_fails_in_a_row_is_down_and_told_once() {
    let state = RolloutState::new();
    state.set(30.0);
    for _ in 0..2 {
        for _ in 1..DOWN_AFTER {
            state.candidate_began(false);
        }
        state.candidate_began(true);
    }
    assert!(state.is_any_in() && !state.take_down());
    for _ in 0..DOWN_AFTER {
        state.candidate_began(false);
    }
    assert!(!state.is_any_in());
    assert!(state.take_down() && !state.take_down());
    // What was under way when it was found down tells nothing new.
    state.candidate_began(false);
    assert!(!state.take_down());
}

#[test]
fn times_are_kept_in_buckets_of_three_percent_and_errors_have_none() {
    let state = RolloutState::new();
    assert_eq!(state.seen().legacy.times.quantile(0.95), None);
    for millis in 1..=100 {
        state.answered(Side::Legacy, None, 200, Some(Duration::from_millis(millis)));
    }
    let before = state.seen().legacy;
    state.answered(Side::Legacy, None, 503, Some(Duration::from_millis(1)));
    state.failed(Side::Legacy);
    state.answered(Side::Legacy, None, 200, Some(Duration::MAX));
    let seen = state.seen().legacy;
    assert_eq!((seen.requests, seen.errors), (103, 2));
    let since = seen.since(&before);
    assert_eq!((since.requests, since.errors, since.timed()), (3, 2, 2));
    let p95 = before.times.quantile(0.95).expect("answers");
    assert!((95_000..=97_900).contains(&p95), "{p95}");
}

#[test]
fn what_the_candidate_does_as_a_shadow_is_apart_from_what_it_serves() {
    let state = RolloutState::new();
    state.shadowed(Some((200, Some(Duration::from_millis(3)))));
    state.shadowed(Some((503, None)));
    state.shadowed(None);
    let seen = state.seen();
    let counts = |counts: &ServedCounts| (counts.requests, counts.errors, counts.timed());
    assert_eq!(counts(&seen.shadow), (3, 2, 1));
    assert_eq!(counts(&seen.candidate), (0, 0, 0));
}

#[test]
fn a_stream_is_an_answer_and_has_no_time() {
    let state = RolloutState::new();
    let millis = Duration::from_millis;
    for side in Side::ALL {
        state.answered(side, None, 200, Some(millis(10)));
        state.answered(side, None, 503, None);
    }
    let seen = state.seen();
    for counts in [&seen.legacy, &seen.candidate] {
        assert_eq!((counts.requests, counts.errors, counts.timed()), (2, 1, 1));
        assert!(counts.times.quantile(1.0).is_some_and(|time| time < 10_400));
    }
}

#[test]
fn the_legacy_is_reachable_by_its_last_answer_whoever_asked() {
    let state = RolloutState::new();
    assert!(state.legacy_reachable() && !state.legacy_seen().asked);
    assert!(!state.legacy_answers(true));
    assert!(state.legacy_seen().asked);
    assert!(state.legacy_answers(false) && !state.legacy_reachable());
    assert!(!state.legacy_answers(false));
    assert!(state.legacy_answers(true) && state.legacy_reachable());
}

/// A client that waited so long until now.
fn left(route: &str, millis: u64, came: Came) -> Left<'_> {
    let waited = Duration::from_millis(millis);
    Left {
        route,
        client: 7,
        asked: Instant::now().checked_sub(waited).expect("a time"),
        waited,
        came,
        waits: false,
    }
}

/// Many clients are known, so that one is not the only one.
fn with_clients() -> RolloutState {
    let state = RolloutState::new();
    state.set(100.0);
    (0..20).for_each(|point| state.saw_client(point));
    state
}

#[test]
fn who_leaves_late_is_an_error_of_a_service_that_is_slower_than_the_legacy() {
    let state = RolloutState::new();
    state.set(100.0);
    for number in 0..200 {
        let elapsed = Duration::from_millis(match number {
            0 => 3_000,
            1..4 => 1_000,
            _ => 5,
        });
        state.answered(Side::Legacy, None, 200, Some(elapsed));
    }
    // Longer than 99 of 100 by half a second is an error.
    let mut errors = 0;
    for (waited, is_error) in [(40, false), (700, false), (1_600, true), (5_000, true)] {
        let judged = state.given_up(Side::Candidate, &left(ROUTE, waited, Came::Part));
        assert_eq!(judged.is_error, is_error, "{waited:?}");
        // Longer than any at the route is nothing where none is known.
        assert!(!judged.is_longest);
        errors += u64::from(is_error);
        assert_eq!(state.seen().candidate.errors, errors, "{waited:?}");
    }
    state.given_up(Side::Legacy, &left("GET /left", 5_000, Came::Nothing));
    let seen = state.seen();
    assert_eq!((seen.legacy.errors, seen.candidate.errors), (1, 2));
    assert!(state.is_any_in());
    // So many in a row that got nothing, though for none of them that is long beside the legacy's slowest.
    for left_yet in (0..DOWN_AFTER).rev() {
        let judged = state.given_up(Side::Candidate, &left(ROUTE, 700, Came::Nothing));
        assert!(judged.is_unanswered && !judged.is_error);
        assert_eq!(state.is_any_in(), left_yet > 0);
    }
}

#[test]
fn at_a_route_that_is_slow_on_both_sides_who_leaves_says_nothing() {
    let (report, items) = ("GET /report", "GET /items");
    let millis = Duration::from_millis;
    let state = with_clients();
    for _ in 0..1_000 {
        state.answered(Side::Legacy, Some(items), 200, Some(millis(1)));
    }
    // Also by its first answer, among many others.
    for answers in [1, 200] {
        for _ in 0..answers {
            state.answered(Side::Legacy, Some(report), 200, Some(millis(2_000)));
        }
        for _ in 0..2 * DOWN_AFTER {
            let gone = state.given_up(Side::Candidate, &left(report, 1_500, Came::Nothing));
            assert_eq!(gone, Judged::default());
        }
        assert_eq!(state.seen().candidate.errors, 0, "{answers}");
        assert!(state.is_any_in());
    }
    // The report makes no candidate's route fast that hangs, as it would if one in a hundred of all answers decided.
    let hangs = |route, waited| state.given_up(Side::Candidate, &left(route, waited, Came::Part));
    assert!(hangs(items, 1_500).is_longest);
    assert!(
        hangs(report, 2_600).is_longest,
        "longer than any answer of the legacy"
    );
    assert_eq!(state.seen().candidate.errors, 2);
}

#[test]
fn a_short_deadline_is_set_beside_what_the_legacy_takes() {
    let state = with_clients();
    let millis = Duration::from_millis;
    for number in 0..200 {
        let elapsed = millis(if number % 50 == 0 { 60 } else { 2 });
        state.answered(Side::Legacy, Some("GET /items"), 200, Some(elapsed));
    }
    let gone = |waited, came| state.given_up(Side::Candidate, &left("GET /items", waited, came));
    // As long as two in a hundred of the legacy's answers take, or sooner than machines are sure of.
    assert_eq!(gone(110, Came::Part), Judged::default());
    assert_eq!(gone(45, Came::Part), Judged::default());
    assert!(gone(200, Came::Part).is_error);
    // Of a route that is not known the same, by all of them, once for each client.
    let unknown = |waited| state.given_up(Side::Candidate, &left(ROUTE, waited, Came::Part));
    assert!(!unknown(110).is_error && unknown(200).is_error && !unknown(200).is_error);
    assert_eq!(state.seen().candidate.errors, 2);
}

#[test]
fn one_client_that_leaves_a_route_of_which_nothing_is_known_takes_nobody_back() {
    let state = with_clients();
    for _ in 0..1_000 {
        let quick = Some(Duration::from_millis(1));
        state.answered(Side::Legacy, Some("GET /items"), 200, quick);
    }
    for _ in 0..40 {
        let gone = state.given_up(Side::Candidate, &left("GET /slow", 700, Came::Nothing));
        assert!(!gone.is_longest);
    }
    assert!(state.is_any_in());
    assert_eq!(state.seen().candidate.errors, 1);
    // Others, too, and nobody is answered.
    for client in 8..10 {
        let other = left("GET /slow", 700, Came::Nothing);
        state.given_up(Side::Candidate, &Left { client, ..other });
    }
    assert!(!state.is_any_in());
}

#[test]
fn what_may_be_a_stream_counts_where_the_legacy_ends_its_answers() {
    let state = with_clients();
    let gone = |route, came| {
        let judged = state.given_up(Side::Candidate, &left(route, 3_000, came));
        judged.is_error
    };
    // Nothing is known of the legacy.
    assert!(!gone(ROUTE, Came::Open) && !gone(ROUTE, Came::Stream));
    for _ in 0..200 {
        let quick = Some(Duration::from_millis(1));
        state.answered(Side::Legacy, Some("GET /items"), 200, quick);
        state.answered(Side::Legacy, Some("GET /events"), 200, None);
    }
    assert!(gone("GET /items", Came::Open) && gone("GET /items", Came::Stream));
    assert!(!gone("GET /events", Came::Open) && !gone("GET /events", Came::Stream));
    assert!(!gone(ROUTE, Came::Stream) && gone(ROUTE, Came::Open));
    // A shadow of the legacy that was cut in the middle may have been one.
    state.legacy_cut("GET /tail", Duration::from_secs(5), true);
    assert!(!gone("GET /tail", Came::Open));
}

#[test]
fn clients_that_get_nothing_whole_find_it_down_although_heads_come() {
    let state = with_clients();
    for _ in 0..200 {
        let quick = Some(Duration::from_millis(1));
        state.answered(Side::Legacy, Some("GET /items"), 200, quick);
    }
    let gone = || {
        state.candidate_began(true);
        state.given_up(Side::Candidate, &left("GET /items", 700, Came::Open));
    };
    (1..DOWN_AFTER).for_each(|_| gone());
    let whole = Some(Duration::from_millis(1));
    state.answered(Side::Candidate, None, 200, whole);
    assert!(state.is_any_in());
    // Three of one client, and others.
    (0..DOWN_AFTER).for_each(|_| gone());
    assert!(state.is_any_in(), "somebody was answered meanwhile");
    for client in 8..10 {
        let other = left("GET /items", 700, Came::Open);
        state.given_up(Side::Candidate, &Left { client, ..other });
    }
    assert!(state.is_any_in(), "it was half a second ago at the most");
}

#[test]
fn who_still_waits_counts_only_beside_answers_at_the_route() {
    let state = with_clients();
    for _ in 0..200 {
        let quick = Some(Duration::from_millis(1));
        state.answered(Side::Legacy, Some("GET /items"), 200, quick);
    }
    let waits = |route| {
        let wait = left(route, 3_000, Came::Open);
        state.given_up(
            Side::Candidate,
            &Left {
                waits: true,
                ..wait
            },
        )
    };
    assert_eq!(waits(ROUTE), Judged::default());
    assert!(waits("GET /items").is_error);
    assert_eq!(state.seen().candidate.errors, 1);
}

#[test]
fn a_request_is_counted_as_compared_or_by_what_its_client_got_of_the_service_that_serves() {
    use ClientOutcome::{CandidateClientError, CandidateSuccess, ClientAborted, ClientError};
    let state = Arc::new(RolloutState::new());
    let by = |side, point| Tried::by(&state, side, point);
    by(Side::Legacy, 0).compared(false);
    by(Side::Candidate, 3).compared(true);
    by(Side::Candidate, 3).ended(CandidateClientError);
    by(Side::Candidate, 3 + 64).ended(CandidateSuccess);
    by(Side::Legacy, 0).ended(ClientError);
    // The legacy answered in the candidate's place, or nobody did.
    by(Side::Candidate, 4).ended(ClientError);
    by(Side::Candidate, 4).ended(ClientAborted);
    drop(by(Side::Candidate, 4));
    let seen = state.seen().tried;
    let share = |of_kind, all| Share { of_kind, all };
    assert_eq!(
        (seen.shadows, seen.alone_legacy),
        (share(0, 1), share(1, 1))
    );
    assert_eq!(
        (seen.served.total(), seen.served.clients()),
        (share(1, 1), 1)
    );
    assert_eq!((seen.alone.total(), seen.alone.clients()), (share(1, 2), 1));
}
