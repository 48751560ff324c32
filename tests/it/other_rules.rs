//! Evidence is bound to its rules: a mirror under other rules is noticed, and reports say what a change of rules hides.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use crate::support::client::Connection;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

/// To prove 0.1 % at 95 % without a difference takes 3,787.
const ENOUGH: u32 = 3_800;

const RULE: &str = r#"
[[rule]]
id = "stamp"
path = "/stamp"
action = "ignore"
reason = "set on read"
"#;

fn send(mirror: &Mirror<'_>, count: u32) {
    send_to(mirror, "/items/1", count);
}

fn send_to(mirror: &Mirror<'_>, path: &str, count: u32) {
    let mut connection = Connection::open(mirror.address);
    for _ in 0..count {
        connection.send("GET", path, &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, 200);
    }
}

fn reload(mirror: &Mirror<'_>, said: &str) {
    let before = mirror.log().matches(said).count();
    mirror.signal("HUP");
    wait_for("the reload", || {
        (mirror.log().matches(said).count() > before).then_some(())
    });
}

/// How many runs have not recorded their end in the store.
fn open_runs(place: &Place) -> u32 {
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let open = "SELECT count(*) FROM watermarks WHERE NOT ended";
    store
        .query_row(open, (), |row| row.get(0))
        .expect("counted")
}

#[test]
fn a_mirror_that_was_not_reloaded_keeps_the_gate_open_and_hidden_evidence_is_told() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":1}"));
    place.write("parity.toml", "");
    let one = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "one"]);
    let two = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "two"]);
    send(&one, ENOUGH);
    send(&two, 1);
    let before = one.settled(u64::from(ENOUGH) + 1);
    assert_eq!(before.0["other_rules"], serde_json::json!([]));
    let old = before.0["rules_hash"].as_str().expect("a hash").to_owned();

    place.write("parity.toml", RULE);
    reload(&one, "configuration reloaded");
    send(&one, ENOUGH);
    send(&two, 10);
    // Either of the two may be the latest evidence; the other one is named, with its rules.
    let split = place.run(&["gate", "--output", "json"]);
    assert_eq!(split.code, 3, "{}", split.stdout);
    let document = split.json();
    let asked = document["evidence"]["rules_hash"].as_str().expect("a hash");
    let apart = document["evidence"]["watermarks"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|run| run["state"] == "other_rules")
        .expect("one goes on under other rules");
    let other = apart["rules_hash"].as_str().expect("a hash");
    assert!(asked == old || other == old, "{document}");
    assert_ne!(asked, other);
    let reason = document["reasons"][0].as_str().expect("a sentence");
    for words in [apart["instance"].as_str().expect("a name"), asked, other] {
        assert!(reason.contains(words), "{words}: {reason}");
    }

    reload(&two, "configuration reloaded");
    send(&two, 1);
    // Those of both under the new rules.
    wait_for("the end under the old rules", || {
        (open_runs(&place) == 2).then_some(())
    });
    let whole = place.run(&["gate", "--wait", "1m"]);
    assert_eq!(whole.code, 0, "{}", whole.stdout);
    let carried = format!(
        "requests on 1 route are counted that were received under earlier rules `{old}` (20"
    );
    assert!(whole.stdout.contains(&carried), "{}", whole.stdout);
    let report = place.run(&["report"]);
    assert!(report.stdout.contains(&carried), "{}", report.stdout);
    let shown = carried.replace(&format!("`{old}`"), &format!("<code>{old}</code>"));
    assert!(one.ask("/").text().contains(&shown));
    let document = place.report().0;
    assert_eq!(document["carried"][0]["rules_hash"], *old);
    assert_eq!(document["other_rules"], serde_json::json!([]));
    assert_eq!(document["received"], 2 * ENOUGH + 12);

    let strict = place.run(&["gate", "--wait", "1m", "--strict-rules"]);
    assert_eq!(strict.code, 0, "{}", strict.stdout);
    let hidden = format!("what was recorded under other rules is not counted: `{old}` (20");
    assert!(strict.stdout.contains(&hidden), "{}", strict.stdout);
    let report = place.run(&["report", "--strict-rules"]);
    let hidden = format!("recorded under other rules, and not counted here: {old} (20");
    assert!(report.stdout.contains(&hidden), "{}", report.stdout);
    assert_eq!(one.stop().0, 0);
    assert_eq!(two.stop().0, 0);
}

/// Ignores the field on one route.
const OF_ITEMS: &str = r#"
[[rule]]
id = "stamp-of-items"
route = "GET /items/{id}"
path = "/stamp"
action = "ignore"
"#;

/// Rules change while traffic goes on, and the mirror has ended under the last ones.
fn reloaded_to(place: &Place, mirror: &Mirror<'_>, rules: &str) {
    place.write("parity.toml", rules);
    reload(mirror, "configuration reloaded");
    wait_for("the end under the last rules", || {
        (open_runs(place) == 1).then_some(())
    });
}

#[test]
fn a_change_of_rules_restarts_only_what_it_can_touch() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":1,\"stamp\":1}");
    let candidate = Service::json("{\"a\":1,\"stamp\":2}");
    place.write("parity.toml", OF_ITEMS);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send_to(&mirror, "/items/1", 300);
    send_to(&mirror, "/other", 20);
    let first = mirror.settled(320);
    assert_eq!((first.count("match"), first.count("mismatch")), (300, 20));
    let gate = |code: i32| {
        let decided = place.run(&[
            "gate",
            "--wait",
            "1m",
            "--max-mismatch-rate",
            "0.05",
            "--output",
            "json",
        ]);
        assert_eq!(decided.code, code, "{}", decided.stdout);
        decided.json()
    };

    // A rule for what differs on the other route: that is decided again, and nothing else is touched.
    reloaded_to(&place, &mirror, &format!("{OF_ITEMS}{RULE}"));
    send_to(&mirror, "/items/1", 1);
    send_to(&mirror, "/other", 1);
    let second = mirror.settled(322);
    assert_eq!((second.count("match"), second.count("mismatch")), (322, 0));
    let decision = gate(0);
    assert_eq!(decision["total"]["compared"], 322);
    let carried = &decision["evidence"]["carried"][0];
    assert_eq!(
        (carried["routes"].as_u64(), carried["requests"].as_u64()),
        (Some(2), Some(320))
    );
    assert_eq!(carried["matches"], 20);
    assert_eq!(carried["decided_again"][0]["route"], "GET /other");

    // Both rules are removed. What they excused is unknown now; what differed before there was a rule still differs.
    reloaded_to(&place, &mirror, "");
    send_to(&mirror, "/items/1", 1);
    send_to(&mirror, "/other", 1);
    let third = mirror.settled(22);
    assert_eq!((third.count("match"), third.count("mismatch")), (0, 22));
    let document = third.0;
    // Under the rules between, all began anew.
    assert_eq!(document["carried"][0]["routes"], 0);
    let carried = &document["carried"][1];
    assert_eq!(carried["requests"], 20);
    assert_eq!(carried["anew"][0]["route"], "GET /items/{id}");
    let why = carried["anew"][0]["why"].as_str().expect("a sentence");
    assert!(
        why.contains("`stamp-of-items` was removed, which excused 300 differences here"),
        "{why}"
    );
    let why = document["other_rules"][0]["why"]
        .as_str()
        .expect("a sentence");
    assert!(
        why.contains("was removed, which excused 1 differences here"),
        "{why}"
    );
    let told = place.run(&["report"]);
    assert!(
        told.stdout
            .contains("300 requests of 1 route are not: GET /items/{id}: "),
        "{}",
        told.stdout
    );
    let decision = gate(1);
    assert_eq!(decision["total"]["differing"], 22);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_mirror_that_is_idle_under_other_rules_keeps_the_gate_open_until_it_has_ended() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":1}"));
    place.write("parity.toml", RULE);
    let idle = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "idle"]);
    place.write("parity.toml", "");
    let busy = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "busy"]);
    wait_for("both to be heard of", || {
        (open_runs(&place) == 2).then_some(())
    });
    send(&busy, ENOUGH);
    let open = place.run(&["gate"]);
    assert_eq!(open.code, 3, "{}", open.stdout);
    let told = "UNDECIDED  instance `idle` goes on under other rules (`";
    assert!(open.stdout.contains(told), "{}", open.stdout);
    assert_eq!(idle.stop().0, 0);
    // It has counted nothing, so no evidence is left out either.
    let whole = place.run(&["gate"]);
    assert_eq!(whole.code, 0, "{}", whole.stdout);
    assert!(!whole.stdout.contains("other rules"), "{}", whole.stdout);
    assert_eq!(busy.stop().0, 0);
}

#[test]
fn a_run_that_a_reload_has_put_an_end_to_ends_with_its_last_request() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":1}"));
    place.write("parity.toml", "");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, 5);
    mirror.settled(5);
    assert_eq!(open_runs(&place), 1);
    place.write("parity.toml", RULE);
    reload(&mirror, "configuration reloaded");
    // Nothing is recorded under the new rules, and the evidence under the old ones is mentioned.
    wait_for("the report under the new rules", || {
        let report = place.run(&["report", "--strict-rules"]).stdout;
        (report.contains("NOTHING RECORDED") && report.contains("other rules")).then_some(())
    });
    send(&mirror, ENOUGH);
    mirror.settled(u64::from(ENOUGH) + 5);
    wait_for("the end of the first run", || {
        (open_runs(&place) == 1).then_some(())
    });
    let gate = place.run(&["gate"]);
    assert_eq!(gate.code, 0, "{}", gate.stdout);
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(open_runs(&place), 0);
}

#[test]
fn a_reload_that_fails_changes_nothing() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":1,\"stamp\":1}");
    let candidate = Service::json("{\"a\":1,\"stamp\":2}");
    place.write("parity.toml", "");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--workers", "1"]);
    send(&mirror, 5);
    let first = mirror.settled(5);
    // No room for the stack of another thread, and enough for everything else.
    let pid = i32::try_from(mirror.pid()).ok().and_then(Pid::from_raw);
    let status = std::fs::read_to_string(format!("/proc/{}/statm", mirror.pid())).expect("it runs");
    let pages: u64 = status
        .split(' ')
        .next()
        .and_then(|pages| pages.parse().ok())
        .expect("a number");
    let limit = |current| {
        let limit = Rlimit {
            current,
            maximum: getrlimit(Resource::As).maximum,
        };
        prlimit(pid, Resource::As, limit).expect("it is set");
    };
    limit(Some(pages * 4096 + (1 << 20)));
    place.write("parity.toml", RULE);
    reload(
        &mirror,
        "configuration not reloaded, the old one stays in force",
    );
    limit(getrlimit(Resource::As).current);
    send(&mirror, 5);
    let second = mirror.settled(10);
    assert_eq!(second.0["rules_hash"], first.0["rules_hash"]);
    assert_eq!(second.count("mismatch"), 10);
    assert_eq!(open_runs(&place), 1);
    assert_eq!(mirror.stop().0, 0);
}

/// What it touches is not known of any route.
const OF_ALL: &str = r#"
[[rule]]
id = "any-order"
path = "/**"
action = "unordered"
"#;

#[test]
fn after_a_change_that_touches_every_route_each_one_that_was_compared_is_missed_until_it_comes() {
    let place = Place::new();
    let service = || Service::json("{\"a\":1}");
    let (legacy, candidate) = (service(), service());
    place.write("parity.toml", "");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send_to(&mirror, "/items/1", 300);
    send_to(&mirror, "/other", 3);
    mirror.settled(303);
    reloaded_to(&place, &mirror, OF_ALL);
    send_to(&mirror, "/items/1", 300);
    mirror.settled(300);
    let gate = |code: i32, more: &[&str]| {
        let asked = [&["gate", "--max-mismatch-rate", "0.05"], more];
        let decided = place.run(&asked.concat());
        assert_eq!(decided.code, code, "{}", decided.stdout);
        decided
    };
    for more in [&[][..], &["--strict-rules"]] {
        let open = gate(3, more).stdout;
        let missed = "GET /other: no request since its count began anew (";
        assert!(open.contains(missed), "{open}");
        assert!(open.contains("one that is compared would do"), "{open}");
        assert!(!open.contains("GET /items/{id}: no request"), "{open}");
    }
    let decision = gate(3, &["--output", "json"]).json();
    let carried = &decision["evidence"]["carried"][0];
    assert_eq!(
        (&carried["routes"], &carried["routes_anew"]),
        (&0.into(), &2.into())
    );
    assert_eq!(carried["anew"][0]["route"], "GET /other", "{carried:#}");
    let report = place.run(&["report"]).stdout;
    assert!(report.contains("must be compared again"), "{report}");
    send_to(&mirror, "/other", 1);
    mirror.settled(301);
    gate(0, &[]);
    assert_eq!(mirror.stop().0, 0);
}
