//! What the candidate must have shown before it serves more: requests that it served, and shadows that were no worse.

use std::time::Duration;

use super::{
    BODY, ENOUGH, Switch, becomes, change, falls_back, get_as, logs, named, on_the_way, post,
    rollout, settings, under_way, who,
};
use crate::support::client;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

fn waits(now: &serde_json::Value) -> &str {
    now["waits"].as_str().unwrap_or_default()
}

/// Case 1: it rose to the step at which every client was in at once, and none had been served before.
#[test]
fn a_schedule_does_not_rise_while_the_candidate_serves_nobody() {
    let place = Place::new();
    let lines = settings(
        "schedule = [\"0.0001 after 0s\", \"0.0002 after 1ms\", \"100 after 2ms\"]",
        "min_requests = 20",
    );
    place.write("parity.toml", lines.replace("by = \"header:x-user\"\n", ""));
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    logs(&mirror, "behind a load balancer");
    for number in 0..ENOUGH {
        let answer = client::send(mirror.address, "GET", &format!("/items/{number}"), &[], b"");
        assert_eq!(who(&answer), "legacy");
    }
    // All steps are due, and the lowest comes first.
    let now = becomes(&mirror, "why it waits", |now| {
        waits(now).contains("serves nobody")
    });
    assert_eq!(
        (&now["percent"], &now["target"]),
        (&0.0001.into(), &100.0.into())
    );
    let why = waits(&now);
    for words in [
        "0 of 20 requests",
        "by = \"address\" sees 1 client address",
        "use a header or a cookie",
    ] {
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(
        (&now["clients"], &now["shown"]["needed"]),
        (&1.into(), &20.into())
    );
    let admin = mirror.admin.to_string();
    let status = place.run(&["rollout", "status", "--admin", &admin]);
    assert_eq!(status.code, 3, "{}", status.stdout);
    assert!(
        status.stdout.contains("not judged: 0 of 20"),
        "{}",
        status.stdout
    );
    // A person is told the same, and what it takes.
    let refused = post(&mirror, "60");
    assert_eq!(refused.status, 409, "{}", refused.text());
    for words in ["serves nobody", "--insist"] {
        assert!(refused.text().contains(words), "{}", refused.text());
    }
    let command = ["rollout", "set", "60", "--admin", &admin, "--insist"];
    let insisted = place.run(&command);
    assert_eq!(insisted.code, 0, "{}", insisted.stderr);
    let set = rollout(&mirror)["set"].clone();
    assert!(
        set["insisted"]
            .as_str()
            .is_some_and(|why| why.contains("serves nobody")),
        "{set}"
    );
    assert_eq!(set["who"], "127.0.0.1", "a port says nothing of a person");
    change(&mirror, "rollout_set", |line| {
        let detail = line["detail"].as_str().unwrap_or_default();
        detail.contains("60 %: insisted although") && line["time"] == set["at"]
    });
}

#[test]
fn who_has_served_nobody_begins_low_and_rises_when_it_has_served_enough() {
    let place = Place::new();
    place.write(
        "parity.toml",
        settings(
            "candidate_percent = 0",
            "min_requests = 20\nmax_latency_ratio = 10000",
        ),
    );
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 0..ENOUGH {
        get_as(&mirror, "anna", &format!("/items/{number}"));
    }
    let refused = wait_for("the gate passes", || {
        let answer = post(&mirror, "100");
        answer
            .text()
            .contains("serves nobody yet")
            .then_some(answer)
    });
    assert_eq!(refused.status, 409);
    assert!(
        refused.text().contains("begins with 10 % at the most"),
        "{}",
        refused.text()
    );
    wait_for("the first step", || {
        (post(&mirror, "10").status == 200).then_some(())
    });
    let user = (0..1_000)
        .map(|number| format!("user-{number}"))
        .find(|user| who(&get_as(&mirror, user, "/items/1")) == "candidate")
        .expect("one of ten is in");
    for _ in 0..10 {
        get_as(&mirror, &user, "/items/1");
    }
    let refused = post(&mirror, "60");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(
        refused.text().contains("of the 20 requests under 10 %"),
        "{}",
        refused.text()
    );
    becomes(&mirror, "it is judged", |now| {
        get_as(&mirror, &user, "/items/1");
        !now["shown"]["good"].is_null()
    });
    // Answers are compared a moment after they were sent.
    wait_for("the next step", || {
        (post(&mirror, "60").status == 200).then_some(())
    });
    // What it has shown at 10 % is not shown at 60 %.
    assert!(rollout(&mirror)["shown"]["good"].is_null());
}

/// Thousands of shadows showed it, and the first clients were its test.
#[test]
fn a_candidate_whose_shadows_are_slow_does_not_begin() {
    let place = Place::new();
    place.write(
        "parity.toml",
        settings("candidate_percent = 10", "min_requests = 20"),
    );
    let legacy = named("legacy");
    let candidate = Service::start(|_| {
        // Long beside what a busy machine adds to the legacy.
        std::thread::sleep(Duration::from_secs(1));
        Answer::json(BODY)
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 0..ENOUGH {
        get_as(&mirror, "anna", &format!("/items/{number}"));
    }
    let now = becomes(&mirror, "why it waits", |now| {
        waits(now).contains("as a shadow")
    });
    assert_eq!(now["percent"], 0.0);
    assert!(
        waits(&now).contains("95 % of the candidate's answers"),
        "{now}"
    );
    assert!(now["shadow"]["requests"].as_u64() >= Some(20), "{now}");
    assert_eq!(now["gate"]["outcome"], "pass", "{now}");
}

/// All of its few answers were slow, but never a hundred of them within a minute.
#[test]
fn few_requests_in_each_window_are_judged_together() {
    let place = under_way(100.0, "window = \"1s\"\nmin_requests = 6");
    let legacy = named("legacy");
    let slow = Switch::default();
    let is_slow = slow.clone();
    let candidate = Service::start(move |_| {
        if is_slow.is_on() {
            std::thread::sleep(Duration::from_millis(400));
        }
        Answer::json(BODY).header("server", "candidate")
    });
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    slow.on();
    wait_for("the fall back", || {
        get_as(&mirror, "anna", "/items/1");
        (!rollout(&mirror)["fell_back"].is_null()).then_some(())
    });
    let why = falls_back(&mirror)["fell_back"]["reason"].to_string();
    assert!(why.contains("answers came within"), "{why}");
}

/// It said `100 % served by the candidate`, which had never got a write.
#[test]
fn what_stays_at_the_legacy_is_said_where_all_clients_are_in() {
    let place = under_way(100.0, "min_requests = 100000");
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    for number in 0..5 {
        assert_eq!(
            who(&get_as(&mirror, "anna", &format!("/items/{number}"))),
            "candidate"
        );
        let written = client::send(
            mirror.address,
            "POST",
            "/orders",
            &[("x-user", "anna")],
            b"a",
        );
        assert_eq!(who(&written), "legacy");
    }
    let now = becomes(&mirror, "all are counted", |now| now["requests"] == 10);
    assert_eq!(now["requests_served"], 5, "{now}");
    let kept = serde_json::json!([{"route": "POST /orders", "requests": 5, "compared": 0}]);
    assert_eq!(now["kept"], kept);
    let told = [
        "50.0 % of requests",
        "POST /orders: never served nor compared (5 requests)",
    ];
    let admin = mirror.admin.to_string();
    let status = place.run(&["rollout", "status", "--admin", &admin]);
    assert_eq!(status.code, 0, "{}", status.stderr);
    let top = place.run(&["top", "--once", "--admin", &admin]).stdout;
    let page = mirror.ask("/").text();
    for words in told {
        assert!(status.stdout.contains(words), "{}", status.stdout);
        assert!(page.contains(words), "{page}");
    }
    assert!(top.contains("50.0 % of requests"), "{top}");
}
