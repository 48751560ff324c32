//! A legacy that fails now and then beside a clean candidate, and the other way round: whose failures count.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Mutex;

use super::{classes, counts, mirror};
use crate::support::client;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// Looks at one request at the most: that of the client, and five more.
const LOOKS: usize = 6;

/// Whether a service fails when this is asked for the so-manieth time: one time of so many, the same ones in each run.
fn fails(target: &str, turn: usize, one_of: u64) -> bool {
    let mut hasher = DefaultHasher::new();
    (target, turn).hash(&mut hasher);
    hasher.finish().is_multiple_of(one_of)
}

fn ok() -> Answer {
    Answer::json("{\"item\":1}")
}

/// A service that fails for some of its answers, by target and turn.
fn failing(status: u16, fails: impl Fn(&str, usize) -> bool + Send + Sync + 'static) -> Service {
    let seen = Mutex::<HashMap<String, usize>>::default();
    Service::start(move |request| {
        let turn = {
            let mut seen = seen.lock().expect("no panic");
            let turn = seen.entry(request.target.clone()).or_default();
            *turn += 1;
            *turn
        };
        if fails(&request.target, turn) {
            Answer::new(status, "oops")
        } else {
            ok()
        }
    })
}

#[test]
fn a_legacy_that_fails_again_when_it_is_asked_again_is_asked_once_more() {
    const REQUESTS: usize = 600;
    for one_of in [20, 5] {
        let legacy = failing(503, move |target, turn| fails(target, turn, one_of));
        let candidate = Service::start(|_| ok());
        let place = Place::new();
        let mirror = mirror(&place, &legacy, &candidate, &[]);
        let targets: Vec<String> = (0..REQUESTS).map(|item| format!("/items/{item}")).collect();
        for target in &targets {
            client::get(mirror.address, target);
        }
        let report = mirror.settled(REQUESTS as u64);
        let looks = |target: &String| {
            let mut turns = 1..=LOOKS;
            turns.find(|turn| !fails(target, *turn, one_of))
        };
        let of = |wanted: fn(usize) -> bool| {
            let looks = targets.iter().filter_map(looks);
            looks.filter(|looks| wanted(*looks)).count() as u64
        };
        assert!(of(|looks| looks > 2) > 0, "two looks would do");
        assert_eq!(of(|_| true), REQUESTS as u64, "one fails each time");
        let transient = of(|looks| looks > 1);
        assert_eq!(
            classes(&report),
            counts(&[("transient", transient)]),
            "{}",
            report.0
        );
        let asked: usize = targets.iter().filter_map(looks).sum();
        assert_eq!(legacy.seen(), asked);
        assert_eq!(candidate.seen(), asked);
        assert_eq!(mirror.stop().0, 0);
        let decided = place.run(&["gate", "--output", "json"]).json();
        assert_ne!(decided["outcome"], "fail", "{decided:#}");
    }
}

#[test]
fn a_legacy_that_always_fails_there_is_confirmed_and_asked_only_so_often() {
    for (status, what) in [(500, "fails"), (429, "refuses"), (408, "waits")] {
        let legacy = failing(status, |target, _| target.ends_with('7'));
        let candidate = Service::start(|_| ok());
        let place = Place::new();
        let mirror = mirror(&place, &legacy, &candidate, &[]);
        for item in 0..20 {
            client::get(mirror.address, &format!("/items/{item}"));
        }
        let report = mirror.settled(20);
        assert_eq!(classes(&report), counts(&[("confirmed", 2)]), "{what}");
        assert_eq!(legacy.seen(), 18 + 2 * LOOKS, "{what}");
        assert_eq!(mirror.stop().0, 0);
    }
}

#[test]
fn a_candidate_that_fails_is_never_asked_more_often_and_gains_nothing_by_a_legacy_that_does() {
    // Alone; beside a legacy that failed at first; wrong beside a legacy that failed twice.
    let candidate_fails = |_: &str, turn: usize| turn < 3;
    let (legacy, candidate) = (Service::start(|_| ok()), failing(500, candidate_fails));
    let place = Place::new();
    let mirror_of_candidate = mirror(&place, &legacy, &candidate, &[]);
    for item in 0..10 {
        client::get(mirror_of_candidate.address, &format!("/items/{item}"));
    }
    let report = mirror_of_candidate.settled(10);
    assert_eq!(classes(&report), counts(&[("confirmed", 10)]));
    assert_eq!((legacy.seen(), candidate.seen()), (20, 20));
    assert_eq!(mirror_of_candidate.stop().0, 0);

    let legacy = failing(500, |_, turn| turn < 3);
    let wrong = Service::json("{\"item\":2}");
    let place = Place::new();
    let mirror_of_both = mirror(&place, &legacy, &wrong, &[]);
    for item in 0..10 {
        client::get(mirror_of_both.address, &format!("/items/{item}"));
    }
    let report = mirror_of_both.settled(10);
    assert_eq!(classes(&report), counts(&[("confirmed", 10)]));
    assert_eq!((legacy.seen(), wrong.seen()), (30, 30));
    assert_eq!(mirror_of_both.stop().0, 0);
}
