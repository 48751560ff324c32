//! A mirror that was killed: what it had not written is in no count, and the rollout goes on by what came after it, if that is enough by itself and
//! nothing that is known speaks against it.

use serde_json::Value;

use super::{BODY, ENOUGH, Switch, becomes, change, get_as, named, post, rollout, settings};
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

/// A candidate that answers something else once it is switched on.
fn differing(switch: &Switch) -> Service {
    let switch = switch.clone();
    Service::start(move |_| {
        let body = if switch.is_on() {
            "{\"balance\":\"0\"}"
        } else {
            BODY
        };
        Answer::json(body).header("server", "candidate")
    })
}

fn send(mirror: &Mirror<'_>, path: &str, count: usize) {
    for number in 0..count {
        let answer = get_as(mirror, "nobody", &format!("{path}/{number}"));
        assert_eq!(answer.status, 200);
    }
}

/// Ends a mirror by `kill -9` when what it had counted by then is in the store, and starts the next one.
fn kill_and_start<'a>(
    place: &'a Place,
    mirror: Mirror<'a>,
    (legacy, candidate): (&Service, &Service),
    received: usize,
) -> Mirror<'a> {
    wait_for("the counts", || {
        let report = place.report();
        (report.settled() == received as u64).then_some(())
    });
    mirror.kill();
    place.mirror(&legacy.url(), &candidate.url(), &[])
}

/// What a refused step says, once it says this.
fn refused(mirror: &Mirror<'_>, words: &str) -> String {
    wait_for(words, || {
        let answer = post(mirror, "10");
        assert_eq!(answer.status, 409, "{}", answer.text());
        let text = answer.text();
        text.contains(words).then_some(text)
    })
}

/// What the gate would say of that which came after the kill, as `parity gate --since` is asked.
fn passes_since(place: &Place) {
    wait_for("what came later passes", || {
        let decided = place.run(&["gate", "--dry-run", "--output", "json"]);
        let decided = decided.json();
        let watermarks = decided["evidence"]["watermarks"].as_array().cloned();
        let since = watermarks.unwrap_or_default().iter().find_map(|one| {
            let since = one["succeeded"].as_str()?;
            Some(since.to_owned())
        });
        let since = since.expect("one was killed");
        let flags = ["gate", "--dry-run", "--max-mismatch-rate", "0.5", "--since"];
        let later = place.run(&[&flags[..], &[&*since]].concat());
        (later.code == 0).then_some(())
    });
}

#[test]
fn a_rollout_goes_on_after_a_kill_when_what_came_later_is_enough() {
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    super::set(&mirror, 5.0);
    send(&mirror, "/rare", 1);
    let mirror = kill_and_start(&place, mirror, (&legacy, &candidate), ENOUGH + 1);
    assert_eq!(rollout(&mirror)["percent"], 5.0, "it stays where it was");
    // What was enough before the kill is not enough any more.
    let why = refused(&mirror, "a process that was killed");
    assert!(why.contains("undecided"), "{why}");
    send(&mirror, "/items", ENOUGH);
    // Enough of the one route, and nothing of the other one.
    let why = refused(&mirror, "nothing of GET /rare/{id} was compared yet");
    assert!(why.contains("a process that was killed"), "{why}");
    send(&mirror, "/rare", 1);
    wait_for("the step", || {
        (post(&mirror, "10?insist=true").status == 200).then_some(())
    });
    let now = rollout(&mirror);
    assert_eq!(now["percent"], 10.0);
    let lost = now["gate"]["lost"].as_str().unwrap_or_default();
    for words in ["on what was received since", "instance `", "is in no count"] {
        assert!(lost.contains(words), "{now}");
    }
    // It is told wherever somebody looks, and its decision is in the record.
    let admin = mirror.admin.to_string();
    let told = place.run(&["rollout", "status", "--admin", &admin]).stdout;
    assert!(told.contains(lost), "{told}");
    let page = mirror.ask("/").text();
    assert!(page.contains("a process that was killed"), "{page}");
    // Clients were refused until the next one began.
    let top = place.run(&["top", "--once", "--admin", &admin]).stdout;
    for words in ["A PROCESS WAS KILLED: ", "clients were refused in between"] {
        assert!(top.contains(words), "{words}: {top}");
    }
    let line = change(&mirror, "rollout_set", |line| {
        // A step that was refused meanwhile has a line, too, and no decision.
        let is_of_the_step = line["subject"] != "";
        let detail = line["detail"].as_str().unwrap_or_default();
        is_of_the_step && detail.contains(lost)
    });
    let decision = line["subject"].as_str().expect("an id");
    let kept = place
        .run(&["decisions", "show", decision, "--output", "json"])
        .json();
    assert_eq!(kept["outcome"], "pass", "{kept}");
    assert_eq!(kept["total"]["received"], ENOUGH + 1, "{kept}");
    let exported = place.run(&["decisions", "export", decision]).stdout;
    let store = ["decisions", "verify", "-", "--store", "sqlite:parity.db"];
    let verified = place.run_with(&store, &[], &exported);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
}

/// A rollout that rises by itself does so, too, and an orderly restart afterwards changes nothing.
#[test]
fn a_step_that_is_due_waits_for_new_evidence_after_a_kill() {
    let place = Place::new();
    // It must not rise before it is killed.
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    wait_for("the counts", || {
        (place.report().settled() == ENOUGH as u64).then_some(())
    });
    mirror.kill();
    let lines = settings("candidate_percent = 10", "min_requests = 100000");
    place.write("parity.toml", lines);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let now = becomes(&mirror, "what it waits for", |now| {
        now["waits"]
            .as_str()
            .is_some_and(|why| why.contains("a process that was killed"))
    });
    assert_eq!(now["percent"], 0.0, "{now}");
    assert_eq!(now["gate"]["outcome"], "undecided", "{now}");
    assert_eq!(mirror.stop().0, 0);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    let now = becomes(&mirror, "the step", |now| now["percent"] == 10.0);
    assert!(now["gate"]["lost"].is_string(), "{now}");
}

/// What is known of the time before the kill counts as ever.
#[test]
fn what_differed_before_a_kill_holds_a_step_whatever_came_later() {
    let switch = Switch::default();
    switch.on();
    let (legacy, candidate) = (named("legacy"), differing(&switch));
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    refused(&mirror, "the gate fails");
    let mirror = kill_and_start(&place, mirror, (&legacy, &candidate), ENOUGH);
    // The known counts alone prove the fail.
    refused(&mirror, "the gate fails");
    switch.off();
    send(&mirror, "/items", ENOUGH);
    passes_since(&place);
    // Half of all that is known differs: that proves no fail any more, and no pass either.
    let why = refused(&mirror, "was last heard of at");
    assert!(why.contains("undecided"), "{why}");
    assert_eq!(rollout(&mirror)["gate"]["lost"], Value::Null);
}

#[test]
fn what_differs_after_a_kill_takes_the_clients_back() {
    let switch = Switch::default();
    let (legacy, candidate) = (named("legacy"), differing(&switch));
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    super::set(&mirror, 5.0);
    send(&mirror, "/items", ENOUGH * 2);
    let mirror = kill_and_start(&place, mirror, (&legacy, &candidate), ENOUGH * 3);
    assert_eq!(rollout(&mirror)["percent"], 5.0);
    switch.on();
    // Too few to be half of all that is known, and all of what is known since.
    send(&mirror, "/items", ENOUGH / 2);
    let now = super::falls_back(&mirror);
    let why = now["fell_back"]["reason"].as_str().unwrap_or_default();
    assert!(
        why.contains("the gate fails") && why.contains("alone"),
        "{why}"
    );
}
