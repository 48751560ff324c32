//! Decisions that controllers have stored: only where they ask for it, once a minute at most, and told with the answer.

use serde_json::Value;

use super::argo::Phase;
use super::{TOKEN, arguments, place, send, template};
use crate::support::client;
use crate::support::process::Mirror;
use crate::support::service::Service;
use crate::support::wait_for;

fn ask(mirror: &Mirror<'_>, method: &str, target: &str, body: &str) -> client::Answer {
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", bearer.as_str())];
    client::send(mirror.admin, method, target, &headers, body.as_bytes())
}

/// The ids of the stored decisions, the newest first.
fn stored(mirror: &Mirror<'_>) -> Vec<String> {
    let page = ask(mirror, "GET", "/api/v1/decisions", "").json();
    let decisions = page["decisions"].as_array().expect("a list");
    let ids = decisions.iter().map(|decision| decision["id"].as_str());
    ids.map(|id| id.expect("an id").to_owned()).collect()
}

#[test]
fn a_decision_is_stored_when_that_is_asked_for_and_not_too_often() {
    let place = place();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &arguments());
    send(&mirror, 40);
    wait_for("a store", || {
        (template().measure(mirror.admin).1 != Phase::Error).then_some(())
    });
    // Argo's question, which the template above asked, was stored.
    let first = stored(&mirror);
    assert_eq!(first.len(), 1, "{first:?}");
    let document = ask(
        &mirror,
        "GET",
        &format!("/api/v1/decisions/{}", first[0]),
        "",
    )
    .json();
    assert_eq!(document["outcome"], "fail");
    assert_eq!(document["stored"], true);

    // A question by GET is not.
    let asked = ask(&mirror, "GET", "/api/v1/gate?max_mismatch_rate=0.5", "").json();
    assert_eq!(asked["gate"]["verdict"], "fail");
    assert_eq!(asked["gate"]["decision"], Value::Null);
    assert_eq!(asked["schema"], "parity.gate/v1");
    let why = ask(&mirror, "GET", "/api/v1/gate?store=true", "");
    assert_eq!(why.status, 400);
    assert!(why.text().contains("POST does"), "{}", why.text());
    assert_eq!(stored(&mirror), first);

    // By POST it is, once for the same outcome of the same question.
    let target = "/api/v1/gate?brief=true&max_mismatch_rate=0.5";
    let posted = ask(&mirror, "POST", target, "").json();
    assert_eq!(posted["schema"], "parity.gate_brief/v1");
    let id = posted["gate"]["decision"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(stored(&mirror), [id.clone(), first[0].clone()]);
    let told = wait_for("a later decision", || {
        let again = ask(&mirror, "POST", &target.replace("brief=true&", ""), "").json();
        (again["decision_id"] != id.as_str()).then_some(again)
    });
    assert_eq!(told["gate"]["decision"], Value::Null);
    assert_eq!(told["stored"], false);
    let why = told["not_stored"].as_str().expect("a reason");
    assert!(why.contains(&id), "{why}");
    assert_eq!(stored(&mirror).len(), 2);

    // A webhook stores what it is told to, and says under which id.
    let call = |more: &str| {
        let body = format!("{{\"metadata\":{{\"max_mismatch_rate\":\"0.25\"{more}}}}}");
        ask(&mirror, "POST", "/gate/flagger/rollback", &body)
    };
    assert!(!call("").text().contains("(decision "));
    assert_eq!(stored(&mirror).len(), 2);
    let kept = call(",\"store\":\"true\"").text();
    let ids = stored(&mirror);
    assert_eq!(ids.len(), 3);
    assert!(
        kept.ends_with(&format!("(decision {})\n", ids[0])),
        "{kept}"
    );

    // What rests on nothing is not stored.
    let nothing = ask(&mirror, "POST", "/api/v1/gate?candidate_version=none", "").json();
    assert_eq!(nothing["gate"]["verdict"], "undecided");
    assert_eq!(nothing["stored"], false);
    assert_eq!(stored(&mirror).len(), 3);
    mirror.stop();
}
