//! Each request counts once while its second look is due: whatever ends the mirror, or changes, in the middle of it.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;

use super::{Counts, map};
use crate::support::client::Connection;
use crate::support::process::{Mirror, Place, limited};
use crate::support::report::Report;
use crate::support::service::{Answer, Service};
use crate::support::{length, wait_for};

/// Requests with large answers, of which 15 would take the whole byte budget.
const LARGE: u64 = 64;

/// Of ten requests one matches, three are confirmed, three differ by ids, three by what the candidate had first.
pub(crate) fn pair() -> (Service, Service) {
    let service = |is_legacy: bool| {
        Service::start(move |request| {
            let is_shadow = request.header("x-parity-shadow").is_some();
            let number = request.target.rsplit('/').next().unwrap_or_default();
            let own = u8::from(is_legacy);
            Answer::json(match number.bytes().last() {
                Some(b'0') => "{\"a\":1}".to_owned(),
                Some(b'1'..=b'3') => format!("{{\"a\":{own}}}"),
                Some(b'4'..=b'6') => format!("{{\"id\":\"{}\"}}", uuid::Uuid::new_v4()),
                // The legacy moves to what the candidate has.
                _ => format!("{{\"a\":{}}}", u8::from(is_shadow)),
            })
        })
    };
    (service(true), service(false))
}

fn sum(counts: &Value) -> u64 {
    let counts = counts.as_object().into_iter().flatten();
    counts.filter_map(|(_, count)| count.as_u64()).sum()
}

/// Checks the sums of classes: of all, of each route and of each group. The requests that are received and not settled are
/// returned.
pub(crate) fn open(report: &Report) -> u64 {
    let mismatch = report.count("mismatch");
    assert_eq!(sum(&report.0["classes"]), mismatch, "{}", report.0);
    let list = |name: &str| report.0[name].as_array().cloned().unwrap_or_default();
    let mut of_routes = 0;
    for route in list("routes") {
        let mismatch = route["mismatch"].as_u64().unwrap_or(0);
        assert_eq!(sum(&route["classes"]), mismatch, "{route}");
        of_routes += mismatch;
    }
    assert_eq!(of_routes, mismatch);
    for group in list("groups") {
        assert_eq!(
            sum(&group["classes"]),
            group["count"].as_u64().unwrap_or(0),
            "{group}"
        );
    }
    assert!(looks(report).1 <= mismatch, "{}", report.0);
    let (received, settled) = (report.count("received"), report.settled());
    assert!(settled <= received, "{}", report.0);
    received - settled
}

/// Mismatches whose second look showed something, and those of which it is known what became of the second look.
fn looks(report: &Report) -> (u64, u64) {
    let rechecks = map(report, "rechecks");
    let of = |name: &str| rechecks.get(name).copied().unwrap_or(0);
    // The others say more of one that was asked.
    let is_outcome = |name: &str| name == "asked" || name.starts_with("refused");
    let decided = rechecks.iter().filter(|(name, _)| is_outcome(name));
    let decided = decided.map(|(_, count)| count).sum();
    (of("asked") - of("failed"), decided)
}

/// A mirror whose mismatches wait for their second look for a while.
fn mirror<'a>(place: &'a Place, services: &(Service, Service), more: &[&str]) -> Mirror<'a> {
    let (legacy, candidate) = (services.0.url(), services.1.url());
    place.mirror_with(&legacy, &candidate, more, often)
}

pub(crate) fn often(command: &mut std::process::Command) -> &mut std::process::Command {
    command
        .env("PARITY_RECHECK_RATE", "10000")
        .env("PARITY_RECHECK_DELAY", "300ms")
        .env("PARITY_RECHECK_IN_FLIGHT", "10000")
        .env("PARITY_RECHECK_PER_GROUP", "10000")
}

/// Sends requests until it is told to stop; counts those that were answered.
pub(crate) fn traffic(address: SocketAddr, stop: &AtomicBool, sent: &AtomicU64) {
    let mut connection = Connection::open(address);
    let mut number = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let path = format!("/items/{number}");
        if let Err(error) = connection.try_send("GET", &path, &[], b"") {
            // The last connections of a drain wait unaccepted when nobody listens any more, and are reset.
            assert!(TcpStream::connect(address).is_err(), "cut off: {error}");
            return;
        }
        let Some(answer) = connection.answer("GET") else {
            return;
        };
        assert_eq!(answer.status, 200);
        sent.fetch_add(1, Ordering::Relaxed);
        if answer.header("connection") == Some("close") {
            // Nobody listens any more at the end of a drain.
            let Ok(stream) = TcpStream::connect(address) else {
                return;
            };
            connection = Connection::on(stream);
        }
    }
}

/// Requests that wait for their second look, as the mirror's own counts say.
pub(crate) fn waiting(mirror: &Mirror<'_>) -> u64 {
    let metrics = mirror.ask("/metrics").text();
    let of = |family: &str| -> u64 {
        let lines = metrics.lines().filter(|line| line.starts_with(family));
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum()
    };
    of("parity_requests_total").saturating_sub(of("parity_comparisons_total"))
}

/// Sends so many requests.
pub(crate) fn ask(mirror: &Mirror<'_>, count: u32) {
    let mut connection = Connection::open(mirror.address);
    for number in 0..count {
        connection.send("GET", &format!("/items/{number}"), &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, 200);
    }
}

#[test]
fn a_drain_with_hundreds_of_second_looks_due_counts_each_request_once() {
    let place = Place::new();
    let services = pair();
    let mirror = mirror(&place, &services, &[]);
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let address = mirror.address;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| traffic(address, &stop, &sent));
        }
        wait_for("some to have been asked again", || {
            (sent.load(Ordering::Relaxed) > 500).then_some(())
        });
        // While there is traffic.
        wait_for("hundreds to be due", || {
            (waiting(&mirror) > 150).then_some(())
        });
        let (code, log) = mirror.stop();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(code, 0, "{log}");
    });
    let report = place.report();
    assert_eq!(open(&report), 0, "{}", report.0);
    assert!(report.count("received") >= sent.load(Ordering::Relaxed));
    let rechecks = map(&report, "rechecks");
    assert!(rechecks["refused_shutdown"] > 0, "{rechecks:?}");
    assert_eq!(looks(&report).1, report.count("mismatch"), "{rechecks:?}");
    assert_eq!(report.0["watermarks"][0]["state"], "ended");
}

#[test]
fn a_kill_with_second_looks_due_loses_what_was_due_alone_and_the_gate_knows() {
    let place = Place::new();
    let services = pair();
    let mirror_once = || mirror(&place, &services, &[]);
    let mut before = Counts::new();
    for _ in 0..length(2, 20) {
        let running = mirror_once();
        ask(&running, 300);
        wait_for("some to be due", || (waiting(&running) > 0).then_some(()));
        let stored = place.report();
        running.kill();
        let killed = place.report();
        // What was counted stays, and is not counted again by the next one.
        for key in ["received", "match", "mismatch"] {
            assert!(killed.count(key) >= stored.count(key), "{key}");
            assert!(killed.count(key) >= before.get(key).copied().unwrap_or(0));
        }
        let lost = open(&killed);
        // Two thirds differ, which what was counted proves. Were it fewer, it could not pass: nobody knows what is lost.
        let more = ["gate", "--max-mismatch-rate", "0.9", "--output", "json"];
        let gate = place.run(&more);
        assert_eq!(gate.code, 3, "{lost} lost: {}", gate.stdout);
        assert!(
            gate.stdout.contains("was last heard of at"),
            "{}",
            gate.stdout
        );
        let next = mirror_once();
        ask(&next, 100);
        let received = wait_for("the next one to settle", || {
            let status = waiting(&next);
            let report = place.report();
            (status == 0 && open(&report) == lost).then_some(report)
        });
        assert_eq!(next.stop().0, 0);
        let after = place.report();
        assert_eq!(open(&after), lost, "{}", after.0);
        assert!(received.count("received") >= killed.count("received") + 100);
        // Nobody knows what the killed one had received last.
        let gate = place.run(&more);
        assert_eq!(gate.code, 3, "{}", gate.stdout);
        for key in ["received", "match", "mismatch"] {
            before.insert(key.to_owned(), after.count(key));
        }
    }
}

#[test]
fn a_handover_with_second_looks_due_counts_each_request_once() {
    let place = Place::new();
    let services = pair();
    let start = || mirror(&place, &services, &["--handover", "handover.sock"]);
    let mut running = start();
    let address = running.address;
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| traffic(address, &stop, &sent));
        }
        for _ in 0..length(2, 20) {
            let before = sent.load(Ordering::Relaxed);
            wait_for("traffic", || {
                let more = sent.load(Ordering::Relaxed) > before + 200;
                (more && waiting(&running) > 0).then_some(())
            });
            let next = start();
            let (code, log) = std::mem::replace(&mut running, next).ended();
            assert_eq!(code, 0, "{log}");
            assert!(!log.contains("the drain was over before"), "{log}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(running.stop().0, 0);
    let report = place.report();
    assert_eq!(open(&report), 0, "{}", report.0);
    assert_eq!(report.count("received"), sent.load(Ordering::Relaxed));
    let shutdown = report.not_compared().get("shutdown").copied();
    assert_eq!(shutdown, None, "{}", report.0);
}

#[test]
fn a_rate_that_is_changed_while_it_runs_leaves_no_request_without_an_outcome() {
    let place = Place::new();
    let services = pair();
    let set = |rate: u32| {
        let text = format!(
            "[recheck]\nrate = {rate}\nper_group = 10000\nin_flight = 1000\ndelay = \"300ms\"\ncontrol = 0.0\n"
        );
        place.write("parity.toml", text);
    };
    set(10_000);
    let mirror = place.mirror_with(&services.0.url(), &services.1.url(), &[], |command| {
        command.env_remove("PARITY_RECHECK_RATE")
    });
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let address = mirror.address;
    let reloads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| traffic(address, &stop, &sent));
        for rate in [0, 10_000, 0, 10_000] {
            let before = sent.load(Ordering::Relaxed);
            wait_for("traffic", || {
                (sent.load(Ordering::Relaxed) > before + 100).then_some(())
            });
            set(rate);
            mirror.signal("HUP");
            let expected = reloads.fetch_add(1, Ordering::Relaxed) as usize + 1;
            wait_for("the reload", || {
                let reloaded = mirror.log().matches("configuration reloaded").count();
                (reloaded == expected).then_some(())
            });
        }
        stop.store(true, Ordering::Relaxed);
    });
    let sent = sent.load(Ordering::Relaxed);
    let report = mirror.settled(sent);
    assert_eq!(open(&report), 0);
    let rechecks = map(&report, "rechecks");
    let asked = rechecks["asked"];
    let mismatch = report.count("mismatch");
    assert!(asked > 0 && asked < mismatch, "{rechecks:?} of {mismatch}");
    let classes = super::classes(&report);
    // Nothing was asked that came while it was off, and what waited at a reload was asked all the same.
    let known = looks(&report).0;
    assert_eq!(classes["unconfirmed"], mismatch - known, "{rechecks:?}");
    assert!(!rechecks.contains_key("refused_shutdown"), "{rechecks:?}");
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_disk_that_fills_up_takes_no_class_away() {
    let place = Place::new();
    let services = pair();
    let (legacy, candidate) = (services.0.url(), services.1.url());
    let mirror = place.mirror_with(&legacy, &candidate, &[], |command| {
        limited(&place, often(command), 100)
    });
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| traffic(mirror.address, &stop, &sent));
        wait_for("the disk to be full", || {
            let full = mirror.status()["store_error"].is_string();
            (full && sent.load(Ordering::Relaxed) > 300).then_some(())
        });
        stop.store(true, Ordering::Relaxed);
    });
    wait_for("all second looks", || (waiting(&mirror) == 0).then_some(()));
    mirror.make_room();
    let report = mirror.settled(sent.load(Ordering::Relaxed));
    assert_eq!(open(&report), 0);
    let (classes, mismatch) = (super::classes(&report), report.count("mismatch"));
    let known = classes["confirmed"] + classes["noise"] + classes["transient"];
    // On a busy machine the legacy may have been too slow to be asked again.
    assert_eq!(known, looks(&report).0, "{classes:?} of {mismatch}");
    assert!(known > mismatch / 2, "{classes:?} of {mismatch}");
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(place.integrity(), "ok");
}

#[test]
fn what_waits_holds_no_more_memory_than_shadows_may() {
    // All that wait would hold four times the budget.
    let body = |value: u8| format!("[{value},\"{}\"]", "x".repeat((64 << 10) - 64));
    let service = |value: u8| {
        let body = body(value);
        Service::start(move |request| {
            Answer::json(if request.target.starts_with("/large") {
                body.clone()
            } else {
                "1".to_owned()
            })
        })
    };
    let (legacy, candidate) = (service(1), service(2));
    let place = Place::new();
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
        often(command)
            .env("PARITY_RECHECK_DELAY", "1h")
            .env("PARITY_RECHECK_IN_FLIGHT", "64")
            .env("PARITY_LIMITS_SHADOW_BYTES", "2MiB")
    });
    for number in 0..5 {
        mirror.get(&format!("/small/{number}"));
    }
    mirror.settled(5);
    let (baseline, _) = mirror.memory();
    for number in 0..LARGE {
        assert_eq!(mirror.get(&format!("/large/{number}")).status, 200);
        // A quarter of it waits, of the others the first look is all there is.
        wait_for("the others to be counted", || {
            (waiting(&mirror) <= 4).then_some(())
        });
    }
    // What waits leaves room for the traffic: it is compared all the same.
    for number in 0..5 {
        mirror.get(&format!("/large/{number}?again"));
        wait_for("it to be counted", || (waiting(&mirror) <= 4).then_some(()));
    }
    let report = wait_for("the record", || {
        let report = place.report();
        (report.count("received") == 5 + LARGE + 5).then_some(report)
    });
    let (now, highest) = mirror.memory();
    let budget = (2 + 16) << 20;
    assert!(highest <= baseline + budget, "{baseline} {now} {highest}");
    assert_eq!(report.not_compared(), Counts::new(), "{}", report.0);
    assert_eq!(mirror.stop().0, 0);
    let report = place.report();
    assert_eq!(open(&report), 0, "{}", report.0);
    assert_eq!(super::classes(&report)["unconfirmed"], LARGE + 5);
    let rechecks = map(&report, "rechecks");
    assert!(rechecks["refused_waiting"] > 0, "{rechecks:?}");
    assert!(rechecks["refused_shutdown"] >= 2, "{rechecks:?}");
}
