//! What the candidate does for clients is judged by itself, however well its shadows did: by pairs of requests that it served, and where none is
//! compared by the class of its answers.

use super::{BODY, Switch, becomes, falls_back, get_as, named, post, rollout, set, settings, who};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Request, Service};
use crate::support::wait_for;

/// A place where the gate is asked by steps alone, so that nobody goes back because of it.
fn place(more: &str) -> Place {
    let place = Place::new();
    let lines = settings(
        "candidate_percent = 0",
        &format!("min_requests = 30\nmax_latency_ratio = 10000\n{more}"),
    );
    let lines = lines.replace("gate_interval = \"100ms\"", "gate_interval = \"1h\"");
    place.write(
        "parity.toml",
        lines.replace("max_mismatch_rate = 0.5", "max_mismatch_rate = 0.1"),
    );
    place
}

/// A candidate that is as the legacy is, until the switch is on: then it refuses what `refuses` says.
fn turning(switch: &Switch, refuses: fn(&Request) -> bool) -> Service {
    let switch = switch.clone();
    Service::start(move |request: &Request| {
        let is_gone = request.body == b"gone" || (switch.is_on() && refuses(request));
        let answer = if is_gone {
            Answer::new(404, "")
        } else {
            Answer::json(BODY)
        };
        answer.header("server", "candidate")
    })
}

/// Sets a percent after many shadows that are equal.
fn begins(mirror: &Mirror<'_>, percent: f64) {
    for number in 0..1_000 {
        get_as(mirror, "nobody", &format!("/items/{}", number % 10));
    }
    set(mirror, percent);
}

fn is_for_a_client(request: &Request) -> bool {
    request.header("x-parity-shadow").is_none()
}

/// The first clients that the candidate serves, or the legacy.
fn served_by(mirror: &Mirror<'_>, name: &str, number: usize) -> Vec<String> {
    let users = (0..10_000).map(|number| format!("user-{number}"));
    let users = users.filter(|user| who(&get_as(mirror, user, "/items/1")) == name);
    users.take(number).collect()
}

fn write_as(mirror: &Mirror<'_>, user: &str, body: &[u8]) -> client::Answer {
    client::send(mirror.address, "POST", "/orders", &[("x-user", user)], body)
}

/// Asks for a step until it is refused in these words.
fn is_refused(mirror: &Mirror<'_>, percent: u32, words: &str) -> String {
    wait_for(&format!("refused because: {words}"), || {
        let answer = post(mirror, &percent.to_string());
        assert_eq!(answer.status, 409, "{}", answer.text());
        answer.text().contains(words).then(|| answer.text())
    })
}

/// Many thousand shadows were equal, and the gate passed on them while each client got a 404.
#[test]
fn a_candidate_that_fails_clients_alone_takes_nobody_with_it() {
    let place = place("");
    let switch = Switch::default();
    let (legacy, candidate) = (named("legacy"), turning(&switch, is_for_a_client));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    begins(&mirror, 10.0);
    let users = served_by(&mirror, "candidate", 5);
    switch.on();
    wait_for("the fall back", || {
        for user in &users {
            get_as(&mirror, user, "/items/1");
        }
        (!rollout(&mirror)["fell_back"].is_null()).then_some(())
    });
    let why = falls_back(&mirror)["fell_back"]["reason"].to_string();
    assert!(
        why.contains("compared requests that the candidate served differ"),
        "{why}"
    );
    let admin = mirror.admin.to_string();
    let status = place.run(&["rollout", "status", "--admin", &admin]);
    assert!(status.stdout.contains("as its shadow"), "{}", status.stdout);
    assert!(mirror.ask("/").text().contains("as its shadow"));
}

/// At 100 % nothing is a shadow of the legacy any more, and a process that begins then has seen none.
#[test]
fn what_shadows_were_is_known_after_a_restart_at_100_percent() {
    let place = place("");
    let switch = Switch::default();
    let (legacy, candidate) = (named("legacy"), turning(&switch, is_for_a_client));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    begins(&mirror, 100.0);
    assert_eq!(mirror.stop().0, 0);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(rollout(&mirror)["percent"], 100.0);
    switch.on();
    wait_for("the fall back", || {
        for number in 0..10 {
            get_as(&mirror, &format!("user-{number}"), "/items/1");
        }
        (!rollout(&mirror)["fell_back"].is_null()).then_some(())
    });
    let why = falls_back(&mirror)["fell_back"]["reason"].to_string();
    assert!(why.contains("as its shadow (0.00 %)"), "{why}");
}

/// What is known to differ differs for whoever asks for it.
#[test]
fn one_client_that_asks_for_what_differs_holds_a_step_and_takes_nobody_back() {
    let place = place("");
    let switch = Switch::default();
    switch.on();
    let legacy = named("legacy");
    let candidate = turning(&switch, |request| request.target == "/items/77");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    begins(&mirror, 10.0);
    let users = served_by(&mirror, "candidate", 5);
    let (hostile, others) = users.split_first().expect("five");
    for _ in 0..10 {
        for user in others {
            get_as(&mirror, user, "/items/1");
        }
    }
    for _ in 0..60 {
        assert_eq!(get_as(&mirror, hostile, "/items/77").status, 404);
    }
    is_refused(
        &mirror,
        20,
        "compared requests that the candidate served differ",
    );
    // Judged, with all that it did.
    becomes(&mirror, "it is judged", |now| {
        !now["shown"]["good"].is_null()
    });
    let now = rollout(&mirror);
    assert_eq!(
        (&now["fell_back"], &now["percent"]),
        (&().into(), &10.0.into())
    );
    let insisted = post(&mirror, "20?insist=true");
    assert_eq!(insisted.status, 200, "{}", insisted.text());
    let set = rollout(&mirror)["set"]["insisted"].to_string();
    assert!(set.contains("that the candidate served differ"), "{set}");
}

/// The gate passed on what was compared before, and so it went up to 100 %.
#[test]
fn nothing_rises_while_nothing_of_what_is_served_is_compared() {
    let place = place("");
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    begins(&mirror, 10.0);
    let off = client::send(mirror.admin, "POST", "/api/v1/shadowing/off", &[], b"");
    assert_eq!(off.status, 200, "{}", off.text());
    // The legacy is what its times are set beside.
    let mut users = served_by(&mirror, "candidate", 3);
    users.extend(served_by(&mirror, "legacy", 1));
    let ask = || {
        for user in &users {
            get_as(&mirror, user, "/items/1");
        }
    };
    becomes(&mirror, "it is judged", |now| {
        ask();
        !now["shown"]["good"].is_null()
    });
    let why = is_refused(&mirror, 20, "of the 30 requests that it served under 10 %");
    assert!(
        why.contains("were compared") && why.contains("--insist"),
        "{why}"
    );
    let on = client::send(mirror.admin, "POST", "/api/v1/shadowing/on", &[], b"");
    assert_eq!(on.status, 200, "{}", on.text());
    wait_for("the step", || {
        ask();
        (post(&mirror, "20").status == 200).then_some(())
    });
}

/// Writes have no shadow: each client that was served got a 404, up to 100 %.
#[test]
fn writes_that_nobody_compares_are_judged_by_their_status() {
    let place = place("unsafe_methods = true");
    let switch = Switch::default();
    let legacy = Service::start(|request: &Request| {
        let answer = if request.body == b"gone" {
            Answer::new(404, "")
        } else {
            Answer::json(BODY)
        };
        answer.header("server", "legacy")
    });
    let candidate = turning(&switch, |request| request.method == "POST");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    begins(&mirror, 30.0);
    for user in served_by(&mirror, "legacy", 20) {
        for _ in 0..3 {
            assert_eq!(write_as(&mirror, &user, b"an order").status, 200);
        }
    }
    let users = served_by(&mirror, "candidate", 20);
    for user in &users {
        for _ in 0..3 {
            get_as(&mirror, user, "/items/1");
            assert_eq!(write_as(&mirror, user, b"an order").status, 200);
        }
    }
    // What neither has, from one client: that may be one's purpose.
    for _ in 0..200 {
        assert_eq!(write_as(&mirror, &users[0], b"gone").status, 404);
    }
    let why = is_refused(&mirror, 60, "POST /orders, of which too little is compared");
    assert!(why.contains("answers of the candidate are 4xx"), "{why}");
    becomes(&mirror, "it is judged", |now| {
        !now["shown"]["good"].is_null()
    });
    let now = rollout(&mirror);
    assert_eq!(
        (&now["fell_back"], &now["percent"]),
        (&().into(), &30.0.into())
    );
    switch.on();
    wait_for("the fall back", || {
        for user in &users {
            write_as(&mirror, user, b"an order");
        }
        (!rollout(&mirror)["fell_back"].is_null()).then_some(())
    });
    let why = falls_back(&mirror)["fell_back"]["reason"].to_string();
    assert!(why.contains("that nobody compares are 4xx"), "{why}");
}
