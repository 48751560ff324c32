//! Reloading the configuration of a running mirror.

use parity_schemas::time::Timestamp;

use crate::support::client::Connection;
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

const RULE: &str = r#"
[[rule]]
id = "stamp"
path = "/stamp"
action = "ignore"
reason = "set on read"
"#;

fn reload(mirror: &Mirror<'_>, said: &str) {
    let before = mirror.log().matches(said).count();
    mirror.signal("HUP");
    wait_for("the reload", || {
        (mirror.log().matches(said).count() > before).then_some(())
    });
}

#[test]
fn rules_and_sampling_change_under_an_open_connection_and_what_differed_is_decided_again() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":1,\"stamp\":1}");
    let candidate = Service::json("{\"a\":1,\"stamp\":2}");
    place.write("parity.toml", "");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut connection = Connection::open(mirror.address);
    let mut ask = |times: u64| {
        for _ in 0..times {
            connection.send("GET", "/items/1", &[], b"");
            assert_eq!(
                connection
                    .answer("GET")
                    .expect("the same connection")
                    .status,
                200
            );
        }
    };
    ask(5);
    let first = mirror.settled(5);
    assert_eq!(first.count("mismatch"), 5);

    place.write("parity.toml", RULE);
    reload(&mirror, "configuration reloaded");
    // The rule has not met a difference yet, and excuses five all the same.
    let told = wait_for("the five to be matches", || {
        let told = place.run(&["report"]).stdout;
        (told.contains("5 × (mismatches by earlier rules")).then_some(told)
    });
    assert!(!told.contains("RULES THAT EXCUSED NOTHING"), "{told}");
    let markdown = place.run(&["report", "--output", "markdown"]).stdout;
    assert!(
        markdown.contains("- 5 × (mismatches by earlier rules"),
        "{markdown}"
    );
    let page = mirror.ask("/report").text();
    assert!(
        page.contains("<p>5 mismatches by earlier rules, which the present ones excuse"),
        "{page}"
    );
    ask(7);
    // As soon as the five are settled under the old rules.
    let second = mirror.settled(12);
    assert_eq!((second.count("match"), second.count("mismatch")), (12, 0));
    assert_ne!(first.0["rules_hash"], second.0["rules_hash"]);

    place.write("parity.toml", format!("[mirror]\nsample = 0.0\n{RULE}"));
    reload(&mirror, "configuration reloaded");
    ask(3);
    let third = mirror.settled(15);
    assert_eq!(third.not_compared().get("sampled_out"), Some(&3));
    assert_eq!(third.0["rules_hash"], second.0["rules_hash"]);
    let metrics = mirror.ask("/metrics").text();
    assert!(
        metrics.contains("parity_config_last_reload_successful 1"),
        "{metrics}"
    );
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn targets_are_not_counted_anew_after_a_reload() {
    let place = Place::new();
    let service = Service::json("{}");
    place.write("parity.toml", "");
    // Without a key file the key by which targets are told apart is random.
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    let ask = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            mirror.get(&format!("/items/{number}"));
        }
    };
    ask(0..6);
    mirror.settled(6);
    place.write("parity.toml", "[limits]\ncandidate_deadline = \"4s\"\n");
    reload(&mirror, "configuration reloaded");
    // Half of them were asked for before.
    ask(3..9);
    mirror.settled(12);
    let gate = mirror.ask("/api/v1/gate?min_distinct=10").json();
    assert_eq!(gate["total"]["distinct_targets"], 9, "{gate}");
    let told = gate["reasons"].to_string();
    assert!(told.contains("had 9 distinct targets"), "{told}");
    assert!(!told.contains("by a key of its own"), "{told}");
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_bad_configuration_is_refused_with_its_reasons_and_the_old_one_holds() {
    let place = Place::new();
    let service = Service::json("{}");
    place.write("parity.toml", RULE);
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    let error = || mirror.ask("/api/v1/status").json()["config_error"].clone();
    assert!(error().is_null());
    for (text, reasons) in [
        (
            "[mirror]\nsample = 2.0\nfoo = 1\n".to_owned(),
            &["parity.toml:2:1", "parity.toml:3:1"][..],
        ),
        (
            "[mirror]\nstore = \"sqlite:other.db\"\n".to_owned(),
            &["only a restart can change mirror.store"],
        ),
        (
            "[mirror]\ntls_certificate_file = \"parity.toml\"\ntls_key_file = \"parity.toml\"\n"
                .to_owned(),
            &["holds no certificate"],
        ),
    ] {
        place.write("parity.toml", text);
        reload(
            &mirror,
            "configuration not reloaded, the old one stays in force",
        );
        // Until then it is the reason of the one before.
        let told = wait_for("the reason", || {
            let told = error().as_str().map(str::to_owned);
            told.filter(|told| told.contains(reasons[0]))
        });
        for reason in reasons {
            wait_for("the reason in the log", || {
                mirror.log().contains(reason).then_some(())
            });
            assert!(told.contains(reason), "{told}");
        }
        let metrics = mirror.ask("/metrics").text();
        assert!(
            metrics.contains("parity_config_last_reload_successful 0"),
            "{metrics}"
        );
        assert_eq!(mirror.get("/items/1").status, 200);
    }
    place.write("parity.toml", RULE);
    reload(&mirror, "configuration reloaded");
    assert!(error().is_null());
    mirror.settled(3);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn requests_during_reloads_are_all_answered_and_counted() {
    let place = Place::new();
    let service = Service::json("{\"a\":1}");
    place.write("parity.toml", "");
    let mirror = place.mirror(&service.url(), &service.url(), &["--workers", "2"]);
    let address = mirror.address;
    let sent = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(move || {
                    let mut connection = Connection::open(address);
                    for _ in 0..400 {
                        connection.send("GET", "/items/1", &[], b"");
                        let answer = connection.answer("GET").expect("the same connection");
                        assert_eq!(answer.status, 200);
                    }
                    400
                })
            })
            .collect();
        for number in 0..10 {
            // The deadline is not part of the evidence's identity, so all counts stay together.
            let text = format!("[limits]\ncandidate_deadline = \"{}s\"\n", number % 2 + 4);
            place.write("parity.toml", text);
            reload(&mirror, "configuration reloaded");
        }
        clients
            .into_iter()
            .map(|client| client.join().expect("no wrong answer"))
            .sum::<u64>()
    });
    let report = mirror.settled(sent);
    assert_eq!(report.count("match"), sent);
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(place.report().count("match"), sent);
}

#[test]
fn a_rule_that_expires_under_a_running_mirror_begins_other_evidence() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":1,\"stamp\":1}");
    let candidate = Service::json("{\"a\":1,\"stamp\":2}");
    let expires = Timestamp::now().saturating_add_micros(4_000_000);
    place.write("parity.toml", format!("{RULE}expires = \"{expires}\"\n"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for _ in 0..5 {
        mirror.get("/items/1");
    }
    let first = mirror.settled(5);
    assert_eq!(first.count("match"), 5, "the test was held up for seconds");

    wait_for("the end of the rule", || {
        mirror
            .log()
            .contains("the rule stamp has expired")
            .then_some(())
    });
    for _ in 0..3 {
        mirror.get("/items/1");
    }
    let second = mirror.settled(3);
    assert_eq!(second.count("mismatch"), 3);
    let hash = |report: &Report| report.0["rules_hash"].as_str().map(str::to_owned);
    assert_ne!(hash(&first), hash(&second));
    assert_eq!(mirror.stop().0, 0);

    // After a restart the rules are the same, so the evidence is, too.
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/items/1");
    let third = mirror.settled(4);
    assert_eq!((hash(&third), third.count("mismatch")), (hash(&second), 4));
    // And as if the rule had never been there.
    place.write("parity.toml", "");
    reload(&mirror, "configuration reloaded");
    mirror.get("/items/1");
    assert_eq!(hash(&mirror.settled(5)), hash(&second));
}

#[test]
fn what_a_flag_or_a_variable_overrides_is_named_and_the_status_shows_what_is_in_force() {
    let place = Place::new();
    let service = Service::json("{}");
    place.write("parity.toml", "[mirror]\ncandidate_version = \"0.9.0\"\n");
    let flags = ["--candidate-version", "0.9.0"];
    let mirror = place.mirror(&service.url(), &service.url(), &flags);
    let status = || mirror.ask("/api/v1/status").json();
    let before = status();
    assert_eq!(before["candidate_version"], "0.9.0");
    assert_eq!(before["migration"], "default");
    place.write(
        "parity.toml",
        format!("[mirror]\ncandidate_version = \"0.10.0\"\nlegacy_version = \"7\"\n{RULE}"),
    );
    reload(
        &mirror,
        "mirror.candidate_version of the file does not apply: --candidate-version is stronger",
    );
    assert!(!mirror.log().contains("mirror.legacy_version of the file"));
    let after = wait_for("the new rules", || {
        let after = status();
        (after["rules_hash"] != before["rules_hash"]).then_some(after)
    });
    assert_eq!(after["candidate_version"], "0.9.0");
    assert_eq!(after["legacy_version"], "7");
    // The file now says what the flag says, so nothing is lost.
    place.write("parity.toml", "[mirror]\ncandidate_version = \"0.9.0\"\n");
    reload(&mirror, "configuration reloaded");
    assert_eq!(mirror.log().matches("does not apply").count(), 1);
    assert_eq!(mirror.stop().0, 0);
}

/// Asks two routes, of which `/stamped/{id}` has the stamp.
fn ask_both(mirror: &Mirror<'_>) {
    for number in 0..60 {
        mirror.get(&format!("/stamped/{number}"));
        mirror.get(&format!("/plain/{number}"));
    }
}

fn both(stamp: u32) -> Service {
    Service::start(move |request| {
        Answer::json(if request.target.starts_with("/stamped") {
            format!("{{\"a\":1,\"stamp\":{stamp}}}")
        } else {
            "{\"a\":1}".to_owned()
        })
    })
}

const GATE: [&str; 5] = ["gate", "--max-mismatch-rate", "0.1", "--confidence", "0.9"];

#[test]
fn a_route_whose_count_began_anew_is_required_before_anybody_asks_for_it() {
    // Removed, with its hits; and added, where it may excuse a part of what differs.
    let tolerance = "[[rule]]\nid = \"near\"\nroute = \"GET /stamped/{id}\"\npath = \"/stamp\"\naction = \"tolerance\"\nabsolute = \"0.1\"\n";
    for (before, after) in [(RULE, ""), ("", tolerance)] {
        let place = Place::new();
        let (legacy, candidate) = (both(1), both(2));
        place.write("parity.toml", before);
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
        ask_both(&mirror);
        mirror.settled(120);
        place.write("parity.toml", after);
        reload(&mirror, "configuration reloaded");
        mirror.settled(60);
        for more in [
            &[][..],
            &["--require-all-routes"],
            &["--nothing-new"],
            &["--require-route", "GET /stamped/{id}"],
        ] {
            let gate = place.run(&[&GATE[..], more].concat());
            assert_eq!(gate.code, 3, "{more:?}: {}", gate.stdout);
            assert!(
                gate.stdout
                    .contains("GET /stamped/{id}: no request since its count began anew"),
                "{}",
                gate.stdout
            );
            assert!(!gate.stdout.contains("never seen"), "{}", gate.stdout);
        }
        assert_eq!(mirror.stop().0, 0);
        assert_eq!(place.run(&GATE).code, 3);
    }
}

#[test]
fn what_a_rule_excused_that_has_expired_since_passes_no_more_though_the_mirror_was_stopped() {
    let place = Place::new();
    let (legacy, candidate) = (both(1), both(2));
    let expires = Timestamp::now().saturating_add_micros(12_000_000);
    place.write("parity.toml", format!("{RULE}expires = \"{expires}\"\n"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    ask_both(&mirror);
    assert_eq!(mirror.settled(120).count("match"), 120);
    assert_eq!(mirror.stop().0, 0);
    let before = place.run(&[&GATE[..], &["--output", "json"]].concat());
    assert_eq!(
        before.code, 0,
        "the test was held up for seconds: {}",
        before.stdout
    );
    let id = before.json()["decision_id"]
        .as_str()
        .expect("an id")
        .to_owned();

    wait_for("the end of the rule", || {
        (Timestamp::now() >= expires).then_some(())
    });
    // Also for who has no file, and counts nothing of other rules.
    for more in [
        &[][..],
        &["--config", "/dev/null", "--store", "sqlite:parity.db"],
        &["--strict-rules"],
    ] {
        let gate = place.run(&[&GATE[..], more].concat());
        assert_eq!(gate.code, 3, "{more:?}: {}", gate.stdout);
        for words in [
            "GET /stamped/{id}: no request since its count began anew (`stamp` was removed, which excused 60 differences here)",
            "`stamp` expired on ",
        ] {
            assert!(gate.stdout.contains(words), "{words}: {}", gate.stdout);
        }
    }
    let report = place.run(&["report"]).stdout;
    assert!(report.contains("`stamp` expired on "), "{report}");
    // What was decided before still verifies, and so does what is decided now.
    let after = place
        .run(&[&GATE[..], &["--output", "json"]].concat())
        .json();
    for id in [id.as_str(), after["decision_id"].as_str().expect("an id")] {
        let file = place.run(&["decisions", "export", id]).stdout;
        place.write("file.json", file);
        let verified = place.run(&[
            "decisions",
            "verify",
            "file.json",
            "--store",
            "sqlite:parity.db",
        ]);
        assert_eq!(verified.code, 0, "{}", verified.stdout);
    }
    // Who decides anew until when it holds has the same rules, and their counts.
    place.write("parity.toml", format!("{RULE}expires = \"2999-01-01\"\n"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(mirror.stop().0, 0);
    let renewed = place.run(&GATE);
    assert_eq!(renewed.code, 0, "{}", renewed.stdout);
}
