//! Both services are asked again when their answers differ: what class it gives, and that each request counts once.

pub(crate) mod conserved;
mod flaky;
mod hostile;
mod older;
mod unspoken;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::{Answer, Request, Service};
use crate::support::wait_for;

type Counts = BTreeMap<String, u64>;

fn map(report: &Report, key: &str) -> Counts {
    serde_json::from_value(report.0[key].clone()).expect("a map of counts")
}

/// Mismatches by class, which are all mismatches.
pub(crate) fn classes(report: &Report) -> Counts {
    let classes = map(report, "classes");
    let sum: u64 = classes.values().sum();
    assert_eq!(sum, report.count("mismatch"), "{}", report.0);
    classes
}

fn counts(of: &[(&str, u64)]) -> Counts {
    of.iter()
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

/// A mirror that asks again soon, as often as it likes, and asks no controls.
pub(crate) fn mirror<'a>(
    place: &'a Place,
    legacy: &Service,
    candidate: &Service,
    more: &[(&str, &str)],
) -> Mirror<'a> {
    let (legacy, candidate) = (legacy.url(), candidate.url());
    place.mirror_with(&legacy, &candidate, &[], |command| {
        command
            .env("PARITY_RECHECK_RATE", "10000")
            .env("PARITY_RECHECK_DELAY", "1ms")
            .env("PARITY_RECHECK_IN_FLIGHT", "10000")
            .env("PARITY_RECHECK_PER_GROUP", "10000")
            .env("PARITY_RECHECK_CONTROL", "0")
            .envs(more.iter().copied())
    })
}

/// A service whose answer is made from the target and how often that was asked for, this time included.
pub(crate) fn by_turn(
    answer: impl Fn(&Request, usize) -> String + Send + Sync + 'static,
) -> Service {
    let seen = Mutex::<HashMap<String, usize>>::default();
    Service::start(move |request| {
        let turn = {
            let mut seen = seen.lock().expect("no panic");
            let turn = seen.entry(request.target.clone()).or_default();
            *turn += 1;
            *turn
        };
        Answer::json(answer(request, turn))
    })
}

pub(crate) fn gets(address: SocketAddr, path: &str, count: usize) {
    for number in 0..count {
        assert_eq!(client::get(address, &format!("{path}{number}")).status, 200);
    }
}

#[test]
fn each_kind_of_mismatch_gets_its_class() {
    type Body = fn(&Request, usize) -> String;
    // Its events besides that they were asked about.
    type Case = (
        &'static str,
        Body,
        Body,
        &'static str,
        &'static [(&'static str, u64)],
    );
    let unique: Body = |_, _| format!(r#"{{"id":"{}"}}"#, uuid::Uuid::new_v4());
    let cases: [Case; 5] = [
        (
            "a systematic difference",
            |_, _| r#"{"a":1}"#.into(),
            |_, _| r#"{"a":2}"#.into(),
            "confirmed",
            &[],
        ),
        ("ids", unique, unique, "noise", &[]),
        // The data changes after the candidate was asked the first time.
        (
            "a race",
            |_, turn| format!(r#"{{"a":{}}}"#, turn.min(2)),
            |_, _| r#"{"a":2}"#.into(),
            "transient",
            &[("legacy_alone", 5)],
        ),
        (
            "a candidate that fills a cache",
            |_, _| r#"{"a":2}"#.into(),
            |_, turn| format!(r#"{{"a":{}}}"#, turn.min(2)),
            "unstable",
            &[("candidate_alone", 5)],
        ),
        (
            "a value that is missing",
            unique,
            |_, _| "{}".into(),
            "confirmed",
            &[],
        ),
    ];
    for (what, legacy, candidate, class, more) in cases {
        let (legacy, candidate) = (by_turn(legacy), by_turn(candidate));
        let place = Place::new();
        let mirror = mirror(&place, &legacy, &candidate, &[]);
        gets(mirror.address, "/items/", 5);
        let report = mirror.settled(5);
        assert_eq!(
            classes(&report),
            counts(&[(class, 5)]),
            "{what}: {}",
            report.0
        );
        let events = [&[("asked", 5)], more].concat();
        assert_eq!(map(&report, "rechecks"), counts(&events), "{what}");
        assert_eq!((legacy.seen(), candidate.seen()), (10, 10), "{what}");
        let metrics = mirror.ask("/metrics").text();
        let line = "parity_rechecks_total{outcome=\"asked\"} 5";
        assert!(metrics.lines().any(|it| it == line), "{metrics}");
        assert_eq!(mirror.stop().0, 0);
    }
}

#[test]
fn what_is_not_safe_to_repeat_is_never_asked_again_unless_its_route_says_so() {
    let place = Place::new();
    place.write(
        "parity.toml",
        r#"
[[route]]
match = "POST /charge"
shadow = true
[[route]]
match = "POST /search"
shadow = true
recheck = true
[[route]]
match = "GET /never"
recheck = false
"#,
    );
    let (legacy, candidate) = (by_turn(|_, _| "1".into()), by_turn(|_, _| "2".into()));
    let mirror = mirror(&place, &legacy, &candidate, &[]);
    let post = |path: &str| {
        let answer = client::send(mirror.address, "POST", path, &[], br#"{"a":1}"#);
        assert_eq!(answer.status, 200);
    };
    for _ in 0..5 {
        post("/charge");
        assert_eq!(mirror.get("/never").status, 200);
    }
    let report = mirror.settled(10);
    assert_eq!(classes(&report), counts(&[("unconfirmed", 10)]));
    assert_eq!(map(&report, "rechecks"), counts(&[("refused_method", 10)]));
    let groups = report.0["groups"].as_array().expect("groups");
    let never = groups.iter().map(|group| &group["evidence"]["never_asked"]);
    assert_eq!(never.collect::<Vec<_>>(), [5, 5], "no proof covers them");
    assert_eq!((legacy.seen(), candidate.seen()), (10, 10));
    post("/search");
    let report = mirror.settled(11);
    assert_eq!(
        classes(&report),
        counts(&[("unconfirmed", 10), ("confirmed", 1)])
    );
    assert_eq!((legacy.seen(), candidate.seen()), (12, 12));
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn one_switch_turns_it_off() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("2"));
    let mirror = mirror(
        &place,
        &legacy,
        &candidate,
        &[
            ("PARITY_RECHECK_RATE", "0"),
            ("PARITY_RECHECK_CONTROL", "1"),
        ],
    );
    gets(mirror.address, "/", 20);
    let report = mirror.settled(20);
    assert_eq!(classes(&report), counts(&[("unconfirmed", 20)]));
    assert_eq!(map(&report, "rechecks"), Counts::new());
    assert_eq!((legacy.seen(), candidate.seen()), (20, 20));
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_flood_of_mismatches_is_asked_again_only_within_the_budget() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("2"));
    let settings = [
        ("PARITY_RECHECK_RATE", "5"),
        ("PARITY_RECHECK_PER_GROUP", "3"),
    ];
    let mirror = mirror(&place, &legacy, &candidate, &settings);
    let begin = Instant::now();
    gets(mirror.address, "/items/", 500);
    let report = mirror.settled(500);
    let seconds = begin.elapsed().as_secs() + 2;
    let rechecks = map(&report, "rechecks");
    let asked = rechecks["asked"];
    assert!((1..=5 * seconds).contains(&asked), "{rechecks:?}");
    assert_eq!(rechecks.values().sum::<u64>(), 500, "{rechecks:?}");
    assert_eq!(legacy.seen() as u64, 500 + asked);
    let classes = classes(&report);
    assert_eq!(classes["confirmed"], asked);
    assert_eq!(classes["unconfirmed"], 500 - asked);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_second_look_that_fails_leaves_the_mismatch_unconfirmed() {
    // The candidate is down from its first answer on.
    let legacy = Service::json("1");
    for side_fails in ["candidate", "legacy"] {
        let first = AtomicUsize::new(0);
        let flaky = Service::raw(move |stream, seen| {
            use std::io::{BufReader, Write as _};
            let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
            while Request::read(&mut reader).is_some() {
                seen.fetch_add(1, Ordering::SeqCst);
                if first.fetch_add(1, Ordering::SeqCst) > 0 {
                    return;
                }
                let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n2";
                if stream.write_all(answer.as_bytes()).is_err() {
                    return;
                }
            }
        });
        let place = Place::new();
        let mirror = if side_fails == "candidate" {
            mirror(&place, &legacy, &flaky, &[])
        } else {
            mirror(&place, &flaky, &legacy, &[])
        };
        gets(mirror.address, "/", 1);
        let report = mirror.settled(1);
        assert_eq!(
            classes(&report),
            counts(&[("unconfirmed", 1)]),
            "{side_fails}"
        );
        assert_eq!(
            map(&report, "rechecks"),
            counts(&[("asked", 1), ("failed", 1)])
        );
        assert_eq!(mirror.stop().0, 0);
    }
}

#[test]
fn a_drain_and_a_reload_settle_what_waits_to_be_asked_again() {
    let place = Place::new();
    place.write("parity.toml", "");
    let (legacy, candidate) = (Service::json("1"), Service::json("2"));
    let mirror = mirror(
        &place,
        &legacy,
        &candidate,
        &[("PARITY_RECHECK_DELAY", "1h")],
    );
    gets(mirror.address, "/", 30);
    let report = wait_for("the requests", || {
        let report = place.report();
        (report.count("received") == 30).then_some(report)
    });
    assert_eq!(report.settled(), 0, "{}", report.0);
    // What waits is neither lost nor asked under other rules.
    mirror.signal("HUP");
    wait_for("the reload", || {
        mirror
            .log()
            .contains("configuration reloaded")
            .then_some(())
    });
    gets(mirror.address, "/", 10);
    let begin = Instant::now();
    assert_eq!(mirror.stop().0, 0);
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "it waited for an hour"
    );
    let report = place.report();
    assert_eq!(
        (report.count("received"), report.settled()),
        (40, 40),
        "{}",
        report.0
    );
    assert_eq!(classes(&report), counts(&[("unconfirmed", 40)]));
    assert_eq!(
        map(&report, "rechecks"),
        counts(&[("refused_shutdown", 40)])
    );
    assert_eq!((legacy.seen(), candidate.seen()), (40, 40));
}

#[test]
fn too_many_at_once_are_refused_and_counted() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("2"));
    let settings = [
        ("PARITY_RECHECK_DELAY", "1h"),
        ("PARITY_RECHECK_IN_FLIGHT", "7"),
    ];
    let mirror = mirror(&place, &legacy, &candidate, &settings);
    gets(mirror.address, "/", 50);
    wait_for("those beyond the places", || {
        (place.report().settled() == 43).then_some(())
    });
    assert_eq!(mirror.stop().0, 0);
    let report = place.report();
    assert_eq!(report.settled(), 50);
    assert_eq!(
        map(&report, "rechecks"),
        counts(&[("refused_waiting", 43), ("refused_shutdown", 7)])
    );
}

#[test]
fn a_legacy_that_fails_now_and_then_is_not_held_against_the_candidate() {
    // One of a hundred requests fails, and is answered when it is asked again.
    let failed = Mutex::<HashSet<String>>::default();
    let legacy = Service::start(move |request| {
        let mut failed = failed.lock().expect("no panic");
        if request.target.ends_with("17") && failed.insert(request.target.clone()) {
            Answer::new(500, "oops")
        } else {
            Answer::json("1")
        }
    });
    let candidate = Service::json("1");
    let place = Place::new();
    let mirror = mirror(&place, &legacy, &candidate, &[]);
    for number in 0..200 {
        client::get(mirror.address, &format!("/{number}"));
    }
    let report = mirror.settled(200);
    assert_eq!(report.count("match"), 198, "{}", report.0);
    assert_eq!(classes(&report), counts(&[("transient", 2)]));
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn controls_ask_the_legacy_alone_and_say_how_often_it_differs_from_itself() {
    let place = Place::new();
    // The header is not compared, the body of the third time is.
    let legacy = by_turn(|_, turn| format!(r#"{{"a":{}}}"#, usize::from(turn > 1)));
    let candidate = Service::json(r#"{"a":0}"#);
    let mirror = mirror(
        &place,
        &legacy,
        &candidate,
        &[("PARITY_RECHECK_CONTROL", "1")],
    );
    gets(mirror.address, "/items/", 20);
    let asked = wait_for("the controls", || {
        let report = mirror.settled(20);
        let rechecks = map(&report, "rechecks");
        let asked = rechecks.get("control_asked").copied()?;
        (rechecks.get("control_moved") == Some(&asked) && asked == 20).then_some(asked)
    });
    assert_eq!((legacy.seen() as u64, candidate.seen()), (20 + asked, 20));
    let report = mirror.settled(20);
    assert_eq!(report.count("match"), 20);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_tap_asks_again_too_and_its_mode_changes_no_class() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("2"));
    let mirror = mirror(&place, &legacy, &candidate, &[("PARITY_MODE", "tap")]);
    for number in 0..5 {
        assert_eq!(mirror.get(&format!("/items/{number}")).status, 204);
    }
    let report = mirror.settled(5);
    assert_eq!(classes(&report), counts(&[("confirmed", 5)]));
    assert_eq!((legacy.seen(), candidate.seen()), (10, 10));
    assert_eq!(mirror.stop().0, 0);
}
