//! Who is in, and what is made of what was seen.

use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;

use super::*;
use crate::exchange::fixture::head;

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
        state.answered(Side::Legacy, 200, Some(Duration::from_millis(millis)));
    }
    let before = state.seen().legacy;
    state.answered(Side::Legacy, 503, Some(Duration::from_millis(1)));
    state.failed(Side::Legacy);
    state.answered(Side::Legacy, 200, Some(Duration::MAX));
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
        state.answered(side, 200, Some(millis(10)));
        state.answered(side, 503, None);
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
        state.answered(Side::Legacy, 200, Some(elapsed));
    }
    // Longer than 99 of 100 is an error, and longer than any is no slow route's.
    let mut errors = 0;
    for (waited, is_error, is_beyond) in [
        (100, false, false),
        (700, false, false),
        (1_500, true, false),
        (5_000, true, true),
    ] {
        let waited = Duration::from_millis(waited);
        assert_eq!(
            state.given_up(Side::Candidate, waited, true),
            is_beyond,
            "{waited:?}"
        );
        errors += u64::from(is_error);
        assert_eq!(state.seen().candidate.errors, errors, "{waited:?}");
    }
    state.given_up(Side::Legacy, Duration::from_secs(5), false);
    let seen = state.seen();
    assert_eq!((seen.legacy.errors, seen.candidate.errors), (1, 2));
    assert!(state.is_any_in());
    // So many in a row that got nothing, though for none of them that is long beside the legacy's slowest.
    for left in (0..DOWN_AFTER).rev() {
        assert!(!state.given_up(Side::Candidate, Duration::from_millis(700), false));
        assert_eq!(state.is_any_in(), left > 0);
    }
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
