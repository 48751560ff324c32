//! What takes the clients back, and that they stay back.

use std::time::Duration;

use serde_json::json;

use super::{
    BODY, Switch, becomes, change, falls_back, get_as, logs, named, on_the_way, post, rollout, set,
    settings, state, under_way, who,
};
use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// Answers as [`named`] until the switch is on, then as `act` says.
fn turning(switch: &Switch, act: impl Fn() -> Answer + Send + Sync + 'static) -> Service {
    let switch = switch.clone();
    Service::start(move |_| {
        if switch.is_on() {
            act()
        } else {
            Answer::json(BODY).header("server", "candidate")
        }
    })
}

#[test]
fn more_errors_or_longer_times_than_the_legacys_take_the_clients_back() {
    type Act = fn() -> Answer;
    // Long beside what a busy machine adds.
    let slow: Act = || {
        std::thread::sleep(Duration::from_millis(350));
        Answer::json(BODY)
    };
    let failing: Act = || Answer::new(500, "no");
    for (act, word) in [(failing, "errors"), (slow, "answers came within")] {
        let bounds = "min_requests = 10\nwindow = \"1h\"\nmax_latency_ratio = 5";
        let place = under_way(100.0, bounds);
        let legacy = Service::start(|_| {
            std::thread::sleep(Duration::from_millis(20));
            Answer::json(BODY).header("server", "legacy")
        });
        let switch = Switch::default();
        let candidate = turning(&switch, act);
        let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
        // Too few to be judged: on a busy machine one of them may be late.
        for _ in 0..9 {
            assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "candidate");
        }
        assert!(rollout(&mirror)["fell_back"].is_null());
        switch.on();
        crate::support::wait_for("the fall back", || {
            get_as(&mirror, "a", "/items/1");
            (!rollout(&mirror)["fell_back"].is_null()).then_some(())
        });
        let why = rollout(&mirror)["fell_back"]["reason"].to_string();
        assert!(why.contains(word), "{why}");
        assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "legacy");
        let line = change(&mirror, "rollout_back", |_| true);
        assert_eq!(line["source"], "clock");
        let metrics = mirror.ask("/metrics").text();
        assert!(metrics.contains("parity_rollout_fell_back 1"), "{metrics}");
        logs(&mirror, "falls back to the legacy");
        assert!(
            mirror
                .ask("/")
                .text()
                .contains("The rollout is back at the legacy")
        );
    }
}

#[test]
fn the_gate_that_fails_takes_the_clients_back_and_then_refuses_a_step_up() {
    let place = Place::new();
    let lines = settings("candidate_percent = 0", "min_requests = 100000");
    place.write(
        "parity.toml",
        lines.replace("max_mismatch_rate = 0.5", "max_mismatch_rate = 0.2"),
    );
    let legacy = named("legacy");
    let switch = Switch::default();
    let candidate = turning(&switch, || Answer::json("{\"balance\":\"0\"}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    set(&mirror, 50.0);
    switch.on();
    crate::support::wait_for("the fall back", || {
        for _ in 0..20 {
            get_as(&mirror, "a", "/items/1");
        }
        (!rollout(&mirror)["fell_back"].is_null()).then_some(())
    });
    let fell = rollout(&mirror);
    assert_eq!(fell["fell_back"]["from"], 50.0);
    let why = fell["fell_back"]["reason"].as_str().expect("words");
    assert!(why.starts_with("the gate fails"), "{why}");
    let refused = post(&mirror, "10");
    assert_eq!(refused.status, 409, "{}", refused.text());
    let admin = mirror.admin.to_string();
    let command = place.run(&["rollout", "set", "10", "--admin", &admin]);
    assert_eq!(command.code, 1, "{}", command.stderr);
    assert!(
        command.stderr.contains("not done: the gate fails"),
        "{}",
        command.stderr
    );
    change(&mirror, "rollout_set", |line| line["outcome"] == "refused");
}

#[test]
fn a_restart_after_a_fall_back_stays_at_nothing_until_a_person_says_otherwise() {
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 100", ""));
    let mut fallen = state(0.0);
    // Of services that nobody knows nothing counts that was received before the next minute.
    fallen["legacy"] = json!(legacy.url());
    fallen["candidate"] = json!(candidate.url());
    fallen["fell_back"] = json!({
        "at": "2026-01-01T00:00:00.000000Z", "who": "parity", "reason": "the candidate is down", "from": 30.0
    });
    place.write("parity-rollout.json", fallen.to_string());
    for _ in 0..2 {
        let mirror = place.mirror(
            &legacy.url(),
            &candidate.url(),
            &["--candidate-version", "2"],
        );
        for number in 0..super::ENOUGH {
            assert_eq!(
                who(&get_as(&mirror, "a", &format!("/items/{number}"))),
                "legacy"
            );
        }
        let now = rollout(&mirror);
        assert_eq!(
            (&now["percent"], &now["target"]),
            (&0.0.into(), &0.0.into())
        );
        assert_eq!(now["fell_back"]["from"], 30.0);
        assert_eq!(mirror.stop().0, 0);
    }
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--candidate-version", "2"],
    );
    set(&mirror, 5.0);
    assert!(rollout(&mirror)["fell_back"].is_null());
    assert_eq!(mirror.stop().0, 0);
    // And a restart goes on where it was.
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--candidate-version", "2"],
    );
    assert_eq!(rollout(&mirror)["percent"], 5.0);
    assert_eq!(mirror.stop().0, 0);
    // Of another version nothing is proven.
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--candidate-version", "3"],
    );
    assert_eq!(rollout(&mirror)["percent"], 0.0);
}

/// Case 1: the state from before the fall back was there when the next process began, and all clients were the candidate's again.
#[test]
fn a_fall_back_that_found_no_room_on_the_disk_is_known_to_the_next_process() {
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let place = under_way(100.0, "");
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "candidate");
    mirror.take_room();
    assert_eq!(post(&mirror, "back").status, 200);
    let now = falls_back(&mirror);
    assert!(now["state_error"].is_string(), "{now}");
    mirror.kill();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let now = falls_back(&mirror);
    assert_eq!(now["percent"], 0.0, "{now}");
    assert_eq!(who(&get_as(&mirror, "a", "/items/1")), "legacy");
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_state_that_cannot_be_read_or_kept_never_lets_the_share_rise() {
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 100", ""));
    place.write("parity-rollout.json", "{\"percent\": 100");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let fell = falls_back(&mirror);
    let why = fell["fell_back"]["reason"].as_str().expect("words");
    assert!(why.contains("parity-rollout.json"), "{why}");
    assert_eq!(mirror.stop().0, 0);

    let place = Place::new();
    let nowhere = settings(
        "candidate_percent = 100",
        "state_file = \"missing/state.json\"",
    );
    place.write("parity.toml", nowhere);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 0..super::ENOUGH {
        get_as(&mirror, "a", &format!("/items/{number}"));
    }
    let waits = becomes(&mirror, "the words", |now| {
        now["waits"]
            .as_str()
            .is_some_and(|why| why.contains("missing/state.json"))
    });
    assert_eq!(waits["percent"], 0.0);
}
