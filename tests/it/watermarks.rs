//! A gate decides on everything that was received before it began, or says why it cannot.

mod clocks;
mod gone;
mod in_force;
mod servers;
mod unheard;
mod versions;
mod window;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parity_schemas::time::Timestamp;

use crate::support::client::Connection;
use crate::support::process::{Ended, Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

/// To prove 0.1 % at 95 % without a difference takes 3,787.
const ENOUGH: u32 = 3_800;

/// JSON whose members are in another order on the other side, so that comparing it takes a while.
fn large(first: u32, last: u32) -> String {
    let members: Vec<String> = (first..last)
        .map(|number| format!("\"key-{number:06}\":[{number},\"value of {number}\"]"))
        .collect();
    members.join(",")
}

/// A pair of services that agree on `/items/…`, slowly compared, and differ on `/wrong/…`.
fn pair() -> (Service, Service) {
    let (low, high) = (large(0, 1_000), large(1_000, 2_000));
    let bodies = [format!("{{{low},{high}}}"), format!("{{{high},{low}}}")];
    let [legacy, candidate] = bodies.map(|body| {
        let side = body.starts_with("{\"key-000000\"");
        Service::start(move |request| {
            if request.target.starts_with("/wrong/") {
                Answer::json(format!("{{\"side\":{side},\"rest\":{body}}}"))
            } else {
                Answer::json("{\"a\":1}")
            }
        })
    });
    (legacy, candidate)
}

fn send(mirror: &Mirror<'_>, path: &str, count: u32) {
    let mut connection = Connection::open(mirror.address);
    for number in 0..count {
        connection.send("GET", &format!("{path}/{number}"), &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, 200);
    }
}

fn gate(place: &Place, more: &[&str]) -> Ended {
    place.run(&[&["gate"], more].concat())
}

#[test]
fn wrong_answers_just_before_the_gate_are_counted() {
    for _ in 0..4 {
        let (legacy, candidate) = pair();
        let place = Place::new();
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
        send(&mirror, "/items", ENOUGH);
        mirror.settled(u64::from(ENOUGH));
        send(&mirror, "/wrong", 20);
        let ended = gate(&place, &["--wait", "5s"]);
        assert_eq!(ended.code, 1, "{}", ended.stdout);
        assert!(
            ended.stdout.contains("GET /wrong/{id}: at least"),
            "{}",
            ended.stdout
        );
    }
}

#[test]
fn wrong_answers_just_before_the_api_is_asked_are_counted() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    mirror.settled(u64::from(ENOUGH));
    send(&mirror, "/wrong", 20);
    let decision = mirror.ask("/api/v1/gate").json();
    assert_eq!(decision["outcome"], "fail", "{decision}");
    assert!(decision["evidence"]["watermarks"][0]["state"].is_string());
}

#[test]
fn a_gate_waits_for_one_heartbeat_of_a_mirror_and_not_at_all_for_one_that_ended() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    let live = gate(&place, &["--output", "json"]);
    assert_eq!(live.code, 0, "{}", live.stdout);
    let document = live.json();
    let watermark = &document["evidence"]["watermarks"][0];
    assert_eq!(
        (&watermark["instance"], &watermark["state"]),
        (&"test".into(), &"complete".into())
    );
    let time = |value: &serde_json::Value| value.as_str().expect("a time").to_owned();
    // The gate began after the last request, so its first watermarks cover all requests.
    assert!(time(&document["evidence"]["complete_until"]) >= time(&document["evidence"]["to"]));
    let report = place.run(&["report"]);
    assert!(
        report.stdout.contains("complete up to 20"),
        "{}",
        report.stdout
    );
    assert!(mirror.ask("/report").text().contains("complete up to 20"));
    assert_eq!(mirror.stop().0, 0);
    let ended = gate(&place, &["--output", "json"]);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
    // It read only once.
    assert_eq!(ended.json()["waited_ms"], 0, "{}", ended.stdout);
    assert_eq!(
        place.report().0["watermarks"][0]["state"],
        "ended",
        "{}",
        place.report().0
    );
}

#[test]
fn a_mirror_that_was_killed_makes_the_gate_undecided_until_its_time_is_left_out() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    mirror.settled(u64::from(ENOUGH));
    mirror.kill();
    let waiting = gate(&place, &["--output", "json"]).json();
    assert!(waiting["waited_ms"].as_u64() > Some(0), "{waiting}");
    let silent = gate(&place, &[]);
    assert_eq!(silent.code, 3, "{}", silent.stdout);
    for words in [
        "UNDECIDED  instance `test` was last heard of at 20",
        "--gone test",
    ] {
        assert!(silent.stdout.contains(words), "{words}: {}", silent.stdout);
    }
    let page = wait_for("the report to call it silent", || {
        let text = place.run(&["report"]).stdout;
        text.contains("test: silent, last heard of at 20")
            .then_some(text)
    });
    assert!(page.contains("\nUNDECIDED"), "{page}");
    // What it had not written is lost, and nobody knows how much that was, even if another mirror replaces it.
    let killed = Timestamp::now().to_string();
    let again = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let replaced = gate(&place, &[]);
    assert_eq!(replaced.code, 3, "{}", replaced.stdout);
    assert!(
        replaced
            .stdout
            .contains("another process of its name has begun since"),
        "{}",
        replaced.stdout
    );
    // The gate names the time that leaves it out, and nothing of what the next one counts.
    let (_, named) = replaced.stdout.split_once("--since ").expect("a time");
    let since = named.split_whitespace().next().expect("a time");
    send(&again, "/items", ENOUGH);
    // It may have received requests until the other one began.
    let within = gate(&place, &["--since", &killed]);
    assert_eq!(within.code, 3, "{}", within.stdout);
    let left_out = gate(&place, &["--since", since, "--wait", "1m"]);
    assert_eq!(left_out.code, 0, "{}", left_out.stdout);
    assert_eq!(again.stop().0, 0);
    // A mirror of another name does not replace it.
    let other = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "other"]);
    send(&other, "/items", 1);
    other.settled(2 * u64::from(ENOUGH) + 1);
    other.kill();
    let third = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "third"]);
    assert_eq!(gate(&place, &[]).code, 3);
    third.stop();
}

#[test]
fn requests_under_way_are_counted_as_if_they_differed() {
    let release = Arc::new(AtomicBool::new(false));
    let held = Arc::clone(&release);
    let legacy = Service::start(move |request| {
        if request.target == "/slow" {
            let _released = wait_until(&held);
        }
        Answer::json("1")
    });
    let candidate = Service::json("1");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    let mut slow = std::net::TcpStream::connect(mirror.address).expect("it listens");
    slow.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n")
        .expect("sent");
    wait_for("the slow request to arrive", || {
        (legacy.seen() > ENOUGH as usize).then_some(())
    });
    let open = gate(&place, &[]);
    assert_eq!(open.code, 3, "{}", open.stdout);
    assert!(
        open.stdout
            .contains("1 requests received before have no outcome yet; if all of them differed"),
        "{}",
        open.stdout
    );
    // With one that differs, 6,655 are enough.
    send(&mirror, "/items", 3_000);
    let worst = gate(&place, &["--wait", "1m"]);
    assert_eq!(worst.code, 0, "{}", worst.stdout);
    assert!(
        worst.stdout.contains("counted as if it differed"),
        "{}",
        worst.stdout
    );
    // While it is in progress, later requests get their outcomes all the same.
    let report = place.report();
    assert_eq!(report.0["watermarks"][0]["state"], "under_way");
    assert_eq!(report.0["watermarks"][0]["under_way"], 1);
    release.store(true, Ordering::SeqCst);
    wait_for("the last to be settled", || {
        (place.report().0["watermarks"][0]["state"] == "complete").then_some(())
    });
    drop(slow);
}

fn wait_until(released: &AtomicBool) -> bool {
    while !released.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn a_mirror_that_was_restarted_with_another_version_is_the_latest_evidence_before_its_first_request()
 {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let first = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--candidate-version", "1"],
    );
    send(&first, "/items", ENOUGH);
    assert_eq!(first.stop().0, 0);
    let second = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--candidate-version", "2"],
    );
    let latest = wait_for("the second to be known", || {
        let latest = gate(&place, &[]);
        (latest.code == 3).then_some(latest)
    });
    assert!(
        latest
            .stdout
            .contains("no traffic recorded yet for candidate version `2`"),
        "{}",
        latest.stdout
    );
    assert_eq!(gate(&place, &["--candidate-version", "1"]).code, 0);
    assert_eq!(second.stop().0, 0);
    // That it ended does not bring back the evidence of the first.
    assert_eq!(gate(&place, &[]).code, 3);
    assert_eq!(gate(&place, &["--candidate-version", "1"]).code, 0);
}

#[test]
fn a_record_of_an_older_program_is_not_known_to_be_complete() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    assert_eq!(mirror.stop().0, 0);
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    store
        .execute_batch(
            "DROP INDEX decisions_by_migration; DROP INDEX tallies_by_identity; DROP TABLE set_tallies; DROP TABLE terms; ALTER TABLE tallies DROP COLUMN attributes; \
             ALTER TABLE tallies DROP COLUMN fields; \
             ALTER TABLE group_tallies DROP COLUMN attributes; ALTER TABLE tallies DROP COLUMN classes; ALTER TABLE tallies DROP COLUMN rechecks; \
             ALTER TABLE tallies DROP COLUMN target_key; ALTER TABLE tallies DROP COLUMN targets; \
             ALTER TABLE tallies DROP COLUMN frequent_targets; \
             ALTER TABLE group_tallies DROP COLUMN run; ALTER TABLE group_tallies DROP COLUMN shape; \
             ALTER TABLE group_tallies DROP COLUMN classes; ALTER TABLE group_tallies DROP COLUMN evidence; \
             ALTER TABLE tallies DROP COLUMN run; ALTER TABLE tallies DROP COLUMN legacy_answers; DROP TABLE watermarks; \
             ALTER TABLE tallies DROP COLUMN clients; ALTER TABLE tallies DROP COLUMN legacy_head_latency; \
             ALTER TABLE tallies DROP COLUMN candidate_head_latency; PRAGMA user_version = 3;",
        )
        .expect("as it was before");
    drop(store);
    let other = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "new"]);
    let unknown = gate(&place, &[]);
    assert_eq!(unknown.code, 3, "{}{}", unknown.stdout, unknown.stderr);
    assert!(
        unknown
            .stdout
            .contains("instance `test` was recorded until 20")
            && unknown.stdout.contains("by a parity without watermarks"),
        "{}",
        unknown.stdout
    );
    assert_eq!(other.stop().0, 0);
    // Nor by a new mirror of its name: the old program could not record how it ended.
    let since = Timestamp::now().to_string();
    let same = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(gate(&place, &[]).code, 3);
    send(&same, "/items", ENOUGH);
    let known = gate(&place, &["--since", &since, "--wait", "1m"]);
    assert_eq!(known.code, 0, "{}", known.stdout);
    assert_eq!(same.stop().0, 0);
}
