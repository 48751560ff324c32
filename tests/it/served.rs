//! A legacy that is ill and answers all the same: with server errors, or slowly. Nobody is without a whole answer, and whoever is on call is
//! told on every page; and a fail of the candidate says what of it is the legacy's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::nights::says;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::wait_or_tell;

/// So many requests, one after the other, each settled.
fn send(mirror: &Mirror<'_>, sent: &mut u64, count: u64) {
    for _ in 0..count {
        mirror.get("/x");
    }
    *sent += count;
    mirror.settled(*sent);
}

fn top(place: &Place, of: &Mirror<'_>) -> String {
    let admin = of.admin.to_string();
    place.run(&["top", "--once", "--admin", &admin]).stdout
}

fn top_says(place: &Place, of: &Mirror<'_>, told: &str) {
    wait_or_tell(
        || top(place, of).contains(told).then_some(()),
        || format!("{told} in {}", top(place, of)),
    );
}

#[test]
fn clients_that_are_answered_with_errors_are_told_while_it_lasts_and_behind_it() {
    let ill = Arc::new(AtomicBool::new(false));
    let is_ill = Arc::clone(&ill);
    let legacy = Service::start(move |_| {
        let status = if is_ill.load(Ordering::SeqCst) {
            500
        } else {
            200
        };
        Answer::new(status, "{}").header("content-type", "application/json")
    });
    let candidate = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--legacy-version", "4"]);
    let ui = place.ui();
    let mut sent = 0;
    send(&mirror, &mut sent, 5);
    let page = says(&mirror, "/", &["none without a whole answer in the last "]);
    assert!(!page.contains("answered 5xx"), "{page}");
    ill.store(true, Ordering::SeqCst);
    send(&mirror, &mut sent, 60);
    for of in [&mirror, &ui] {
        let told = [
            "Clients are answered 5xx</strong>: 60 of ",
            " whole answers of the legacy 4 since ",
            "; 5xx since ",
            "<title>clients get 5xx",
        ];
        let page = says(of, "/", &told);
        // Each has a whole answer: it is no failure.
        assert!(page.contains("none without a whole answer"), "{page}");
        top_says(&place, of, "clients ARE answered 5xx: 60 of ");
    }
    let status = mirror.ask("/api/v1/status").json();
    let errors = &status["client_errors"][0];
    assert_eq!(
        (&errors["service"], &errors["errors"]),
        (&"legacy".into(), &60.into())
    );
    assert!(errors["ended"].is_null(), "{errors}");
    // It counts, and is not told as the candidate's alone.
    let of_legacy = "on 60 of the 60 that differ the legacy answered with a server error (5xx) and the candidate did not";
    let gate = place.run(&["gate", "--max-mismatch-rate", "0.01"]);
    assert_eq!(gate.code, 1, "{}{}", gate.stdout, gate.stderr);
    let told = &gate.stdout;
    assert!(
        told.contains(of_legacy) && told.contains("--since"),
        "{told}"
    );
    says(&mirror, "/", &[of_legacy, "--since"]);

    ill.store(false, Ordering::SeqCst);
    send(&mirror, &mut sent, 100);
    for of in [&mirror, &ui] {
        let told = ["Clients were answered 5xx</strong>: 60 of ", ", the last "];
        let page = says(of, "/", &told);
        assert!(!page.contains("Clients are answered 5xx"), "{page}");
        // In the chart as what hurt clients, and in the table apart from who got no whole answer.
        let told = [
            "clients were answered 5xx from ",
            "<rect class=\"hurt\"",
            "60 answered 5xx",
        ];
        says(of, "/history", &told);
        top_says(&place, of, "clients were answered 5xx: 60 of ");
    }
    ui.stop();
    mirror.stop();
}

#[test]
fn a_few_errors_among_many_answers_are_not_told() {
    let service = |errors: u64| {
        let asked = std::sync::atomic::AtomicU64::new(0);
        Service::start(move |_| {
            let number = asked.fetch_add(1, Ordering::SeqCst);
            let status = if number % 40 < errors { 500 } else { 200 };
            Answer::new(status, "{}").header("content-type", "application/json")
        })
    };
    let legacy = service(1);
    let candidate = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, &mut 0, 200);
    let page = says(&mirror, "/", &[" % answered 5xx in the last "]);
    assert!(!page.contains("Clients are answered"), "{page}");
    assert_eq!(
        mirror.ask("/api/v1/status").json()["client_errors"],
        serde_json::json!([])
    );
    mirror.stop();
}

#[test]
fn a_legacy_that_is_slow_is_told_with_what_was_usual_and_how_long_clients_wait_stands_there_at_any_time()
 {
    let ill = Arc::new(AtomicBool::new(false));
    let is_ill = Arc::clone(&ill);
    let legacy = Service::start(move |_| {
        if is_ill.load(Ordering::SeqCst) {
            // A service that takes its time.
            std::thread::sleep(Duration::from_millis(700));
        }
        Answer::json("{}")
    });
    let candidate = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let ui = place.ui();
    let mut sent = 0;
    send(&mirror, &mut sent, 320);
    let waits = [
        "the legacy took p50 ",
        " compared answers in the last 10 seconds; the mirror added p50 ≤ ",
    ];
    let page = says(&mirror, "/", &waits);
    assert!(!page.contains("The legacy is slow"), "{page}");
    says(
        &ui,
        "/",
        &[
            "to the head of an answer",
            "only the page of the mirror knows",
        ],
    );
    ill.store(true, Ordering::SeqCst);
    send(&mirror, &mut sent, 8);
    for of in [&mirror, &ui] {
        let told = [
            "The legacy is slow</strong>: since ",
            " took longer than ",
            " times that of before, ",
        ];
        says(of, "/", &told);
        top_says(&place, of, "legacy IS slow since ");
    }
    let slow = mirror.ask("/api/v1/status").json()["slow"][0].clone();
    assert!(slow["p99_us"].as_u64() >= Some(700_000), "{slow}");
    ill.store(false, Ordering::SeqCst);
    send(&mirror, &mut sent, 120);
    for of in [&mirror, &ui] {
        says(of, "/", &["The legacy was slow</strong>: from "]);
        says(
            of,
            "/history",
            &["the legacy was slow from ", "<rect class=\"hurt\""],
        );
    }
    ui.stop();
    mirror.stop();
}
