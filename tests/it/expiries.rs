//! By which date a rule has expired: the one of the configuration with which a mirror ran last, or an earlier one of whoever
//! decides.

use parity_schemas::time::Timestamp;

use crate::support::process::{Ended, Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

/// In no test does it come.
const NEVER: &str = "2999-01-01";
const GATE: [&str; 5] = ["gate", "--max-mismatch-rate", "0.1", "--confidence", "0.9"];
/// Nobody reads the file of the mirror here.
const NO_FILE: [&str; 4] = ["--config", "/dev/null", "--store", "sqlite:parity.db"];

fn rule(expires: &str) -> String {
    format!(
        "[[rule]]\nid = \"stamp\"\npath = \"/stamp\"\naction = \"ignore\"\nreason = \"set on read\"\nexpires = \"{expires}\"\n"
    )
}

/// A service whose `/stamped/{id}` has this stamp.
fn service(stamp: u32) -> Service {
    Service::start(move |request| {
        Answer::json(if request.target.starts_with("/stamped") {
            format!("{{\"a\":1,\"stamp\":{stamp}}}")
        } else {
            "{\"a\":1}".to_owned()
        })
    })
}

fn ask(mirror: &Mirror<'_>) {
    for number in 0..60 {
        mirror.get(&format!("/stamped/{number}"));
        mirror.get(&format!("/plain/{number}"));
    }
}

fn gate(place: &Place, more: &[&str]) -> Ended {
    place.run(&[&GATE[..], more].concat())
}

/// What a mirror counted first under one date, which then changed to another one and back.
fn there_and_back(date: &str, other: &str, over_a_restart: bool) -> Place {
    let place = Place::new();
    let (legacy, candidate) = (service(1), service(2));
    place.write("parity.toml", rule(date));
    let mut mirror = Some(place.mirror(&legacy.url(), &candidate.url(), &[]));
    let first = mirror.as_ref().expect("it runs");
    ask(first);
    assert_eq!(first.settled(120).count("match"), 120);
    for (times, date) in [other, date].into_iter().enumerate() {
        place.write("parity.toml", rule(date));
        if over_a_restart {
            assert_eq!(mirror.take().expect("it runs").stop().0, 0);
            mirror = Some(place.mirror(&legacy.url(), &candidate.url(), &[]));
        } else {
            let mirror = mirror.as_ref().expect("it runs");
            mirror.signal("HUP");
            wait_for("the reload", || {
                (mirror.log().matches("configuration reloaded").count() > times).then_some(())
            });
        }
    }
    assert_eq!(mirror.expect("it runs").stop().0, 0);
    place
}

#[test]
fn the_date_of_the_configuration_that_ran_last_holds_also_if_it_came_back() {
    let soon = Timestamp::now().saturating_add_micros(25_000_000);
    let date = soon.to_string();
    let cases: Vec<(bool, bool, Place)> = std::thread::scope(|scope| {
        let cases = [(true, true), (true, false), (false, true), (false, false)];
        let running: Vec<_> = cases
            .into_iter()
            .map(|(expires, over_a_restart)| {
                let (date, other) = if expires {
                    (date.as_str(), NEVER)
                } else {
                    (NEVER, date.as_str())
                };
                scope.spawn(move || {
                    let place = there_and_back(date, other, over_a_restart);
                    (expires, over_a_restart, place)
                })
            })
            .collect();
        let running = running.into_iter();
        running
            .map(|one| one.join().expect("it is recorded"))
            .collect()
    });
    assert!(Timestamp::now() < soon, "the test was held up for seconds");
    for (_, _, place) in &cases {
        let before = gate(place, &NO_FILE);
        assert_eq!(before.code, 0, "{}", before.stdout);
    }
    wait_for("the end of the rule", || {
        (Timestamp::now() >= soon).then_some(())
    });
    for (expires, over_a_restart, place) in cases {
        let decided = gate(&place, &NO_FILE);
        let case = format!("{expires} {over_a_restart}: {}", decided.stdout);
        assert_eq!(decided.code, if expires { 3 } else { 0 }, "{case}");
        assert_eq!(
            decided.stdout.contains("`stamp` expired on "),
            expires,
            "{case}"
        );
        assert!(!decided.stdout.contains("that was read here"), "{case}");
        let report = place.run(&[&["report"][..], &NO_FILE].concat()).stdout;
        assert_eq!(report.contains("`stamp` expired on "), expires, "{report}");
    }
}

#[test]
fn what_has_expired_by_the_file_of_who_decides_is_not_excused_though_the_mirror_had_another_date() {
    let place = Place::new();
    let (legacy, candidate) = (service(1), service(2));
    place.write("parity.toml", rule(NEVER));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    ask(&mirror);
    assert_eq!(mirror.settled(120).count("match"), 120);
    place.write("expired.toml", rule("2026-01-01"));
    place.write(
        "renamed.toml",
        rule("2026-01-01").replace("\"stamp\"", "\"other\""),
    );
    place.write("later.toml", rule("2998-01-01"));
    place.write(
        "another.toml",
        rule("2026-01-01").replace("stamp\"", "elsewhere\""),
    );
    // Under a mirror that runs, and of one that was stopped.
    for ended in [None, Some(mirror)] {
        if let Some(mirror) = ended {
            assert_eq!(mirror.stop().0, 0);
        }
        for (file, code) in [
            ("expired.toml", 3),
            ("renamed.toml", 3),
            ("later.toml", 0),
            ("another.toml", 0),
            ("parity.toml", 0),
        ] {
            let read = ["--config", file, "--store", "sqlite:parity.db"];
            let decided = gate(&place, &read);
            assert_eq!(decided.code, code, "{file}: {}", decided.stdout);
            let words = "`stamp` expired on 2026-01-01T00:00:00.000000Z, by the configuration that was read here";
            let report = place.run(&[&["report"][..], &read].concat()).stdout;
            for said in [&decided.stdout, &report] {
                assert_eq!(said.contains(words), code == 3, "{file}: {said}");
            }
        }
    }
    let read = [
        "--config",
        "expired.toml",
        "--store",
        "sqlite:parity.db",
        "--output",
        "json",
    ];
    let decided = gate(&place, &read).json();
    let id = decided["decision_id"].as_str().expect("an id");
    place.write("file.json", place.run(&["decisions", "export", id]).stdout);
    let verify = [
        "decisions",
        "verify",
        "file.json",
        "--store",
        "sqlite:parity.db",
    ];
    let verified = place.run(&verify);
    assert_eq!(verified.code, 0, "{}", verified.stdout);
}
