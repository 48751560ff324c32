//! The rollout by degrees: the candidate serves a share of the clients, which grows by a person, the API or a schedule, and goes
//! back to nothing when it should. All over real sockets, with candidates that misbehave.

mod begins;
mod broken;
mod falls;
mod grows;
mod killed;
mod leaving;
mod proves;
mod refused;
mod served;
mod serves;
mod told;
mod waits;
mod writes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::client::{self, Answer as Got};
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

/// What both services answer.
const BODY: &str = "{\"balance\":\"12.50\"}";
/// Requests with which the gate passes by [`settings`].
const ENOUGH: usize = 60;

/// How long a candidate has for a head: longer than a busy machine makes it wait, so that nothing is late that does not hang.
const HEAD_TIMEOUT: &str = "\"20s\"";

/// Settings for a test: of one percent or a schedule (`plan`), with further lines.
fn settings(plan: &str, more: &str) -> String {
    format!(
        "[rollout]\n{plan}\nby = \"header:x-user\"\nhead_timeout = {HEAD_TIMEOUT}\ngate_interval = \"100ms\"\n\
         max_mismatch_rate = 0.5\n{more}\n"
    )
}

/// A place with settings, in which a rollout of this percent is under way: for [`on_the_way`], because of a candidate at an address that
/// nobody knows nothing is proven.
fn under_way(percent: f64, more: &str) -> Place {
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 100", more));
    place.write("parity-rollout.json", state(percent).to_string());
    place
}

/// The same for a candidate that hangs, for which nobody waits long.
fn hanging(more: &str) -> Place {
    let place = under_way(100.0, more);
    let lines = settings("candidate_percent = 100", more);
    place.write("parity.toml", lines.replace(HEAD_TIMEOUT, "\"400ms\""));
    place
}

/// The mirror of such a place. What the state must say of the services is from a mirror that served nobody, and of which nothing else is left.
fn on_the_way<'a>(place: &'a Place, legacy: &str, candidate: &str, more: &[&str]) -> Mirror<'a> {
    let file = place.path().join("parity-rollout.json");
    let read = || -> Value {
        let text = std::fs::read_to_string(&file).expect("there is a state");
        serde_json::from_str(&text).expect("it is JSON")
    };
    let wanted = read();
    let before = place.mirror(legacy, candidate, more);
    assert_eq!(post(&before, "0").status, 200);
    assert_eq!(before.stop().0, 0);
    let mut known = read();
    for key in ["plan", "began", "percent", "set", "counts_from"] {
        known[key] = wanted[key].clone();
    }
    place.write("parity-rollout.json", known.to_string());
    for end in ["", "-wal", "-shm"] {
        let _may_be_none = std::fs::remove_file(place.path().join(format!("parity.db{end}")));
    }
    place.mirror(legacy, candidate, more)
}

/// The state that a mirror left that did not say of which services it was.
fn state(percent: f64) -> Value {
    json!({
        "schema": "parity.rollout_state/v1", "migration": "default", "legacy_version": "", "candidate_version": "",
        "plan": "Percent(100.0)", "began": "2026-01-01T00:00:00.000000Z", "percent": percent,
        "set": {"percent": percent, "at": "2026-01-01T00:00:00.000000Z", "who": "anna"}, "fell_back": null
    })
}

/// A service that says in a header that is not compared who it is.
fn named(name: &'static str) -> Service {
    Service::start(move |_| Answer::json(BODY).header("server", name))
}

fn who(answer: &Got) -> String {
    answer.header("server").unwrap_or("nobody").to_owned()
}

fn get_as(mirror: &Mirror<'_>, user: &str, path: &str) -> Got {
    client::send(mirror.address, "GET", path, &[("x-user", user)], b"")
}

fn rollout(mirror: &Mirror<'_>) -> Value {
    mirror.ask("/api/v1/rollout").json()
}

fn post(mirror: &Mirror<'_>, to: &str) -> Got {
    client::send(
        mirror.admin,
        "POST",
        &format!("/api/v1/rollout/{to}"),
        &[],
        b"",
    )
}

/// Waits until the rollout is as expected.
fn becomes(mirror: &Mirror<'_>, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    wait_for(what, || {
        let now = rollout(mirror);
        is_it(&now).then_some(now)
    })
}

fn falls_back(mirror: &Mirror<'_>) -> Value {
    becomes(mirror, "the fall back", |now| !now["fell_back"].is_null())
}

/// Sets a percent once the gate passes, for which it sends what is needed, whatever the candidate has served.
fn set(mirror: &Mirror<'_>, percent: f64) {
    for number in 0..ENOUGH {
        assert_eq!(
            get_as(mirror, "nobody", &format!("/items/{number}")).status,
            200
        );
    }
    wait_for("the gate passes", || {
        let answer = post(mirror, &format!("{percent}?insist=true"));
        (answer.status == 200).then_some(())
    });
    assert_eq!(rollout(mirror)["percent"], percent);
}

/// The lines of changes of this kind that are stored.
fn changes(mirror: &Mirror<'_>, action: &str) -> Vec<Value> {
    let page = mirror.ask(&format!("/api/v1/audit?action={action}")).json();
    page["changes"].as_array().cloned().unwrap_or_default()
}

/// One of them, once it is stored: a change does not wait for the store.
fn change(mirror: &Mirror<'_>, action: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    wait_for("a line of the record", || {
        changes(mirror, action).into_iter().find(|line| is_it(line))
    })
}

/// Waits until the log has these words: it is read beside what is answered.
fn logs(mirror: &Mirror<'_>, words: &str) {
    wait_for(words, || mirror.log().contains(words).then_some(()));
}

/// A switch for services that begin to misbehave.
#[derive(Clone, Default)]
struct Switch(Arc<AtomicUsize>);

impl Switch {
    fn on(&self) {
        self.0.store(1, Ordering::SeqCst);
    }

    fn off(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 1
    }
}
