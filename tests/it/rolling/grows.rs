//! A schedule: it waits for the gate, grows step by step, and ends when the candidate fails.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{BODY, Switch, becomes, change, get_as, named, post, rollout, settings};
use crate::support::process::Place;
use crate::support::service::{Request, Service};
use crate::support::wait_for;

#[test]
fn a_step_that_is_due_waits_while_the_gate_is_undecided() {
    let place = Place::new();
    place.write(
        "parity.toml",
        settings("schedule = [\"10 after 0s\", \"30 after 14d\"]", ""),
    );
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let waits = becomes(&mirror, "the gate was asked", |now| !now["gate"].is_null());
    assert_eq!(
        (&waits["percent"], &waits["target"]),
        (&0.0.into(), &10.0.into())
    );
    let why = waits["waits"].as_str().expect("words");
    assert!(why.contains("gate"), "{why}");
    assert_eq!(waits["next"]["percent"], 30.0);
    assert_eq!(post(&mirror, "10").status, 409);
    assert_eq!(post(&mirror, "0").status, 200);
    // A person has said otherwise, and the next step is far away.
    assert_eq!(rollout(&mirror)["target"], 0.0);
}

/// A candidate that answers until the switch is on, and then resets every connection before it answers.
fn fragile(switch: &Switch) -> Service {
    let switch = switch.clone();
    Service::misbehaving(move |_: &Request, stream: &mut TcpStream| {
        if switch.is_on() {
            let _linger = socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO));
            return;
        }
        let answer = super::Answer::json(BODY).header("server", "candidate");
        let _sent = answer.header("connection", "close").write(stream, false);
    })
}

/// Ends the clients, also when the test fails.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_failure_at_thirty_percent_costs_no_client_an_answer_and_ends_the_schedule() {
    let place = Place::new();
    let plan = "schedule = [\"10 after 0s\", \"30 after 1s\", \"100 after 14d\"]";
    place.write(
        "parity.toml",
        settings(plan, "min_requests = 20\nmax_latency_ratio = 10000"),
    );
    let legacy = named("legacy");
    let switch = Switch::default();
    let candidate = fragile(&switch);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let over = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let end = EndOnDrop(&over);
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (mirror, over) = (&mirror, &over);
                scope.spawn(move || {
                    let mut sent = 0_u64;
                    while !over.load(Ordering::SeqCst) {
                        let user = format!("user-{client}-{}", sent % 50);
                        let answer = get_as(mirror, &user, "/items/1");
                        assert_eq!((answer.status, answer.text().as_str()), (200, BODY));
                        sent += 1;
                    }
                    sent
                })
            })
            .collect();
        // On a busy machine the gate passes only when the second step is due, too.
        becomes(&mirror, "30 %", |now| now["percent"] == 30.0);
        switch.on();
        let fell = becomes(&mirror, "the fall back", |now| !now["fell_back"].is_null());
        assert_eq!(
            (&fell["percent"], &fell["fell_back"]["from"]),
            (&0.0.into(), &30.0.into())
        );
        drop(end);
        clients
            .into_iter()
            .map(|client| client.join().expect("every answer is whole"))
            .sum::<u64>()
    });
    let now = rollout(&mirror);
    assert_eq!(
        (&now["percent"], &now["target"]),
        (&0.0.into(), &0.0.into())
    );
    let report = mirror.answered_in("sqlite:parity.db", sent);
    let of = |outcome: &str| report.0["clients"][outcome].as_u64().unwrap_or(0);
    assert_eq!(of("2xx") + of("candidate_2xx"), sent, "{}", report.0);
    assert_eq!(mirror.stop().0, 0);
    // All steps are due, and nothing happens.
    let plan = "schedule = [\"10 after 0s\", \"100 after 1ms\"]";
    place.write("parity.toml", settings(plan, ""));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let again = rollout(&mirror);
    assert!(again["next"].is_null(), "{again}");
    assert_eq!(
        (&again["percent"], &again["target"]),
        (&0.0.into(), &0.0.into())
    );
    assert_eq!(again["fell_back"]["from"], 30.0);
}

/// They were lines of changes alone, and no decision could be looked at or made again.
#[test]
fn each_step_up_hold_and_fall_back_is_a_decision_in_the_record() {
    let place = Place::new();
    let bounds = "max_error_excess = 1\nmax_latency_ratio = 10000";
    place.write("parity.toml", settings("candidate_percent = 10", bounds));
    let differs = Switch::default();
    let turning = differs.clone();
    let legacy = named("legacy");
    let candidate = Service::start(move |_| {
        let body = if turning.is_on() { "{}" } else { BODY };
        super::Answer::json(body)
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let stored = || {
        let page = mirror.ask("/api/v1/decisions").json();
        page["decisions"].as_array().cloned().expect("a list")
    };
    let outcomes = || -> Vec<String> {
        let of = |one: &serde_json::Value| one["outcome"].as_str().expect("a word").to_owned();
        stored().iter().map(of).collect()
    };
    // Held, and asked again and again: once in the record.
    assert_eq!(get_as(&mirror, "anna", "/items/1").status, 200);
    wait_for("a step that is held", || {
        (outcomes() == ["undecided"]).then_some(())
    });
    let seen = rollout(&mirror)["gate"].clone();
    becomes(&mirror, "asked again", |now| now["gate"] != seen);
    assert_eq!(outcomes(), ["undecided"]);
    for number in 0..super::ENOUGH {
        get_as(&mirror, "anna", &format!("/items/{number}"));
    }
    becomes(&mirror, "the step up", |now| now["percent"] == 10.0);
    let line = |action| change(&mirror, action, |_| true);
    let up = line("rollout_set");
    assert_eq!(outcomes(), ["pass", "undecided"]);
    assert_eq!(up["subject"], stored()[0]["id"], "{up}");
    differs.on();
    wait_for("the gate fails", || {
        get_as(&mirror, "anna", "/items/1");
        (!rollout(&mirror)["fell_back"].is_null()).then_some(())
    });
    let back = line("rollout_back");
    assert_eq!(outcomes(), ["fail", "pass", "undecided"]);
    assert_eq!(back["subject"], stored()[0]["id"], "{back}");
    // What a person is refused by has its line alone: whoever asks again and again would fill the record.
    let refused = post(&mirror, "20");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert_eq!(outcomes().len(), 3);
}
