//! Mismatches that no recheck speaks for: they are counted apart, to the unit, and nothing is proven by the others.

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::conserved::{ask, open, traffic};
use super::{classes, map, mirror};
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

fn id() -> String {
    format!(r#"{{"id":"{}"}}"#, uuid::Uuid::new_v4())
}

fn ids() -> Service {
    Service::start(|_| Answer::json(id()))
}

fn of(counts: &Value, name: &str) -> u64 {
    counts[name].as_u64().unwrap_or(0)
}

/// The sum of the mirror's own counters whose lines begin so.
fn metric(mirror: &Mirror<'_>, begin: &str) -> u64 {
    let metrics = mirror.ask("/metrics").text();
    let lines = metrics.lines().filter(|line| line.starts_with(begin));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// Waits until all is settled; what of the second looks of one kind of noise was counted, and the sums that must hold.
fn counted(place: &Place, mirror: &Mirror<'_>) -> (Report, Value) {
    let received = metric(mirror, "parity_requests_total");
    let report = wait_for("all to be settled", || {
        let report = place.report();
        (report.count("received") == received && report.settled() == received).then_some(report)
    });
    assert_eq!(open(&report), 0);
    let groups = report.0["groups"].as_array().expect("groups");
    let [group] = &groups[..] else {
        panic!("{groups:?}")
    };
    let mismatches = report.count("mismatch");
    assert_eq!(of(group, "count"), mismatches);
    let rechecks = map(&report, "rechecks");
    let event = |name: &str| rechecks.get(name).copied().unwrap_or(0);
    // What second answers came for is told by them, and nothing else is.
    let told = event("asked") - event("failed");
    let unconfirmed = classes(&report).get("unconfirmed").copied().unwrap_or(0);
    assert_eq!(unconfirmed, mismatches - told, "{}", report.0);
    let decided = ["asked", "refused_rate", "refused_paused"].map(event);
    assert_eq!(decided.iter().sum::<u64>(), mismatches, "{rechecks:?}");
    let evidence = group["evidence"].clone();
    (report, evidence)
}

/// What the gate says once the mirror has ended: the outcome, and the state of the only noise.
fn decided(place: &Place, mirror: Mirror<'_>) -> (String, String) {
    assert_eq!(mirror.stop().0, 0);
    let decided = place.run(&["gate", "--output", "json"]).json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let noise = decided["noise"].as_array().expect("a list");
    assert_eq!(noise.len(), 1, "{decided:#}");
    if noise[0]["state"] != "proven" {
        assert_eq!(of(&decided["total"]["excused"], "noise"), 0, "{decided:#}");
    }
    (text(&decided["outcome"]), text(&noise[0]["state"]))
}

#[test]
fn noise_of_a_candidate_that_fails_when_it_is_asked_again_is_not_proven() {
    const REQUESTS: u64 = 1_000;
    for fails in [false, true] {
        let seen = Mutex::<HashSet<String>>::default();
        let candidate = Service::misbehaving(move |request, stream| {
            let is_first = seen
                .lock()
                .expect("no panic")
                .insert(request.target.clone());
            if fails && !is_first && request.target.ends_with('7') {
                return;
            }
            let id = id();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{id}",
                id.len()
            );
            // The mirror may have gone.
            let _gone = stream.write_all(answer.as_bytes());
        });
        let place = Place::new();
        let legacy = ids();
        let mirror = mirror(&place, &legacy, &candidate, &[]);
        ask(&mirror, REQUESTS.try_into().expect("it is small"));
        let (report, evidence) = counted(&place, &mirror);
        assert_eq!(report.count("received"), REQUESTS);
        // Each tenth request.
        let silent = if fails { REQUESTS / 10 } else { 0 };
        assert_eq!(of(&evidence, "silent"), silent, "{evidence}");
        let failed = map(&report, "rechecks").get("failed").copied();
        assert_eq!(failed.unwrap_or(0), silent);
        let (outcome, state) = decided(&place, mirror);
        assert_eq!(state == "proven", !fails, "{outcome} {state}");
        assert_ne!(outcome, "fail");
        assert!(!fails || outcome == "undecided", "{outcome}");
    }
}

#[test]
fn what_comes_while_the_legacy_is_slower_than_usual_is_unheard_and_proves_nothing() {
    // A mirror compares windows of five seconds.
    const WINDOW: Duration = Duration::from_secs(5);
    const UNHEARD: u64 = 60;
    let slow = Arc::new(AtomicBool::new(false));
    let is_slow = Arc::clone(&slow);
    let legacy = Service::start(move |request| {
        if request.header("x-parity-shadow").is_none() {
            let millis = if is_slow.load(Ordering::Relaxed) {
                40
            } else {
                4
            };
            std::thread::park_timeout(Duration::from_millis(millis));
        }
        Answer::json(id())
    });
    let (candidate, place) = (ids(), Place::new());
    let mirror = mirror(&place, &legacy, &candidate, &[]);
    let begun = Instant::now();
    while begun.elapsed() < WINDOW {
        ask(&mirror, 20);
    }
    // One more, by which the window ends.
    ask(&mirror, 1);
    slow.store(true, Ordering::Relaxed);
    wait_for("rechecks to pause", || {
        ask(&mirror, 20);
        let paused = metric(&mirror, "parity_rechecks_total{outcome=\"refused_paused\"}");
        (paused >= UNHEARD).then_some(())
    });
    let (report, evidence) = counted(&place, &mirror);
    let paused = map(&report, "rechecks")["refused_paused"];
    assert!(paused >= UNHEARD);
    assert_eq!(of(&evidence, "unheard"), paused, "{evidence}");
    let (outcome, state) = decided(&place, mirror);
    assert_ne!(state, "proven");
    assert_eq!(outcome, "undecided");
    // They are asked about never, so nobody is told to wait for it.
    for command in ["report", "gate"] {
        let told = place.run(&[command]).stdout;
        assert!(
            told.contains("not asked about again, and will not be: ")
                && told.contains("while rechecks were paused")
                && told.contains("takes more traffic, not time"),
            "{told}"
        );
    }
}

/// Ends traffic, also if a test fails meanwhile.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How many come between two looks is a matter of the machine, so there is only one look a second in the burst: it takes a few dozen
/// requests a second, which is far below what a busy one makes.
#[test]
fn a_burst_is_unheard_where_hardly_any_of_it_is_asked_about() {
    // Looks after which it is known what is usual.
    const USUAL: u64 = 20;
    let (legacy, candidate, place) = (ids(), ids(), Place::new());
    let set = |rate: u32| {
        let text = format!(
            "[recheck]\nrate = {rate}\nper_group = 10000\nin_flight = 10000\ndelay = \"1ms\"\ncontrol = 0.0\n"
        );
        place.write("parity.toml", text);
    };
    set(10_000);
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
        command.env_remove("PARITY_RECHECK_RATE")
    });
    wait_for("what is usual to be known", || {
        ask(&mirror, 1);
        let asked = metric(&mirror, "parity_rechecks_total{outcome=\"asked\"}");
        (asked >= USUAL).then_some(())
    });
    set(1);
    mirror.signal("HUP");
    wait_for("the reload", || {
        let is_done = mirror.log().contains("configuration reloaded");
        is_done.then_some(())
    });
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let end = Ending(&stop);
        for _ in 0..4 {
            scope.spawn(|| traffic(mirror.address, &stop, &sent));
        }
        // Of the process itself, which takes less of the machine than a command that reads the file.
        wait_for("a burst", || {
            let report = mirror.ask("/api/v1/report").json();
            let groups = &report["groups"];
            (of(&groups[0]["evidence"], "unheard") > 10).then_some(())
        });
        drop(end);
    });
    let (report, evidence) = counted(&place, &mirror);
    let rechecks = map(&report, "rechecks");
    let refused = |name: &str| rechecks.get(name).copied().unwrap_or(0);
    let refused = refused("refused_rate") + refused("refused_paused");
    assert!(of(&evidence, "unheard") <= refused, "{evidence}");
    let (outcome, state) = decided(&place, mirror);
    assert_ne!(state, "proven");
    assert_eq!(outcome, "undecided");
}
