//! What the pages say while a night goes on: an outage of seconds while it lasts and behind it, a candidate that gave no answer and came
//! back, and questions of somebody who has mistyped a name.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Service, nobody};
use crate::support::{wait_for, wait_or_tell};

/// A service that can be switched off: then it hangs up without a word.
pub(crate) fn switched(body: &'static str) -> (Service, Arc<AtomicBool>) {
    let on = Arc::new(AtomicBool::new(true));
    let is_on = Arc::clone(&on);
    let service = Service::misbehaving(move |_, stream| {
        if is_on.load(Ordering::SeqCst) {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let length = body.len();
            drop(write!(
                stream,
                "{head}Content-Length: {length}\r\n\r\n{body}"
            ));
        }
    });
    (service, on)
}

pub(crate) fn says(of: &Mirror<'_>, path: &str, told: &[&str]) -> String {
    let page = || of.ask(path).text();
    wait_or_tell(
        || {
            let page = page();
            told.iter().all(|told| page.contains(told)).then_some(page)
        },
        || format!("{told:?} in {}", page()),
    )
}

#[test]
fn an_outage_is_now_while_it_lasts_and_has_an_end_behind_it() {
    let (legacy, is_on) = switched("{}");
    let candidate = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let ui = place.ui();
    for _ in 0..20 {
        assert_eq!(mirror.get("/x").status, 200);
    }
    says(
        &mirror,
        "/",
        &["Clients now: ", "none without a whole answer in the last "],
    );
    is_on.store(false, Ordering::SeqCst);
    for _ in 0..5 {
        assert_eq!(mirror.get("/x").status, 502);
    }
    let page = says(
        &mirror,
        "/",
        &[
            "<title>clients fail ",
            "Clients get errors now</strong>: 5 of ",
            " in the last ",
            ", 5 since ",
        ],
    );
    assert!(!page.contains("Clients got errors"), "{page}");
    // The record knows the minute, and says which.
    says(
        &ui,
        "/",
        &[
            "Clients got errors since ",
            " 5 of ",
            "the record counts by minutes",
        ],
    );
    is_on.store(true, Ordering::SeqCst);
    assert_eq!(mirror.get("/x").status, 200);
    let page = says(
        &mirror,
        "/",
        &[
            "<title>clients failed ",
            "Clients got errors until ",
            "5 requests got no whole answer",
            " seconds ago",
        ],
    );
    assert!(!page.contains("Clients get errors now"), "{page}");
    let status = mirror.ask("/api/v1/status").json();
    let failures = &status["clients_now"]["failures"];
    assert_eq!(failures["failed"], 5, "{status}");
    assert_eq!(failures["to"], status["last_failed_client"], "{status}");
    ui.stop();
    mirror.stop();
}

#[test]
fn requests_on_which_only_the_candidate_failed_stand_beside_an_empty_list() {
    let legacy = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &nobody(), &[]);
    for _ in 0..30 {
        mirror.get("/x");
    }
    mirror.settled(30);
    for path in ["/groups", "/causes"] {
        let page = says(
            &mirror,
            path,
            &[
                "candidate_refused 30 times on GET /x, first between ",
                ", last between ",
            ],
        );
        assert!(!page.contains("Nothing that counts differs"), "{page}");
    }
    says(&mirror, "/", &["candidate_refused 30 times on GET /x"]);
    let other = mirror.ask("/groups?of_route=GET+/y").text();
    assert!(!other.contains("candidate_refused 30 times"), "{other}");
    let top = place.run(&["top", "--once", "--admin", &mirror.admin.to_string()]);
    for told in [
        "the candidate failed, which counts as differing: candidate_refused 30 times on GET /x",
        "requests on which the candidate failed are in no group",
    ] {
        assert!(top.stdout.contains(told), "{told}: {}", top.stdout);
    }
    mirror.stop();
}

#[test]
fn an_outage_of_the_candidate_that_is_over_is_marked_and_what_is_new_behind_it() {
    let legacy = Service::json("{\"a\":1}");
    let (candidate, is_on) = switched("{\"a\":2}");
    is_on.store(false, Ordering::SeqCst);
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    // After 50 failures the mirror leaves it alone.
    for _ in 0..70 {
        mirror.get("/x");
    }
    says(
        &mirror,
        "/history",
        &["gave no answer since ", "<rect class=\"outage\""],
    );
    is_on.store(true, Ordering::SeqCst);
    wait_for("the candidate to be asked again", || {
        mirror.get("/x");
        let report = mirror.ask("/api/v1/report").json();
        (report["mismatch"].as_u64() > Some(0)).then_some(())
    });
    let ui = place.ui();
    for of in [&mirror, &ui] {
        for path in ["/history", "/"] {
            let page = says(
                of,
                path,
                &[
                    "gave no answer from ",
                    "new difference: body /a value on GET /x",
                    "<rect class=\"outage\"",
                ],
            );
            assert!(page.contains("the candidate gave no answer</p>"), "{page}");
        }
    }
    let history = mirror.ask("/api/v1/history?since=1h").json();
    let outage = &history["outages"][0];
    assert!(outage["unanswered"].as_u64() >= Some(50), "{history}");
    assert_eq!(
        (&outage["ended"], &outage["step_seconds"]),
        (&true.into(), &1.into())
    );
    assert!(outage["answered"].is_string(), "{history}");
    // The mirror has written it into the record.
    let recorded = || ui.ask("/api/v1/history?since=1h").json();
    wait_or_tell(
        || {
            let recorded = recorded();
            (recorded["outages"] == history["outages"]).then_some(())
        },
        || format!("{} is not {}", recorded()["outages"], history["outages"]),
    );
    assert_eq!(history["news"][0]["route"], "GET /x", "{history}");
    assert_eq!(
        history["groups"].as_array().map(Vec::len),
        Some(0),
        "nobody asked for them"
    );
    let top = place.run(&["top", "--once", "--admin", &mirror.admin.to_string()]);
    assert!(top.stdout.contains("new difference: "), "{}", top.stdout);
    ui.stop();
    mirror.stop();
}

#[test]
fn who_switched_shadowing_off_is_told_in_a_terminal() {
    let service = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    let admin = mirror.admin.to_string();
    client::send(mirror.admin, "POST", "/api/v1/shadowing/off", &[], b"");
    let top = || place.run(&["top", "--once", "--admin", &admin]).stdout;
    let told = wait_or_tell(
        || {
            let top = top();
            top.contains("SHADOWING IS OFF since ").then_some(top)
        },
        top,
    );
    assert!(told.contains(": stopped by the admin port, "), "{told}");
    client::send(mirror.admin, "POST", "/api/v1/shadowing/on", &[], b"");
    let told = place.run(&["top", "--once", "--admin", &admin]).stdout;
    assert!(!told.contains("SHADOWING IS OFF"), "{told}");
    mirror.stop();
}

#[test]
fn a_migration_is_chosen_that_is_recorded_and_one_that_is_not_is_told_once() {
    let service = Service::json("{}");
    let place = Place::new();
    for name in ["payments", "orders"] {
        let mirror = place.mirror(&service.url(), &service.url(), &["--migration", name]);
        mirror.get("/x");
        mirror.ask("/healthz");
        mirror.stop();
        let ui = place.ui();
        let page = ui.ask("/").text();
        assert!(
            page.contains(&format!("· {name} · parity</title>")),
            "{page}"
        );
        ui.stop();
    }
    let ui = place.ui();
    let page = ui.ask("/").text();
    for name in ["payments", "orders"] {
        assert!(
            page.contains(&format!("<option value=\"{name}\"")),
            "{page}"
        );
    }
    for path in ["/", "/report", "/groups", "/history"] {
        let wrong = ui.ask(&format!("{path}?migration=nope")).text();
        let told = "no traffic recorded for migration <code>nope</code>; recorded are <code>orders</code>, \
                    <code>payments</code>";
        assert_eq!(wrong.matches("recorded for").count(), 1, "{wrong}");
        assert!(wrong.contains(told), "{wrong}");
        for name in ["payments", "orders"] {
            let link = format!("<a href=\"{path}?migration={name}\">{name}</a>");
            assert!(wrong.contains(&link), "{wrong}");
        }
    }
    ui.stop();
    for command in [&["report"][..], &["gate"], &["decisions", "list"]] {
        let command = [command, &["--migration", "nope"]].concat();
        let ended = place.run(&command);
        assert!(matches!(ended.code, 2 | 3), "{command:?}: {}", ended.code);
        let told = format!("{}{}", ended.stdout, ended.stderr);
        assert!(told.contains("`orders`, `payments`"), "{told}");
    }
}
