//! Incidents as somebody on call reads of them: a candidate that fails and is still asked, outages of seconds of either service, a restart,
//! a reload. Each is told where and when it was, and how exactly that is known.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::nights::{says, switched};
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::{wait_for, wait_or_tell};

/// Too few to be left alone for.
const FAILURES: u64 = 4;

fn status(mirror: &Mirror<'_>) -> Value {
    mirror.ask("/api/v1/status").json()
}

/// The last stretch of failures that the mirror knows, once this holds of it.
fn stretch(mirror: &Mirror<'_>, holds: impl Fn(&Value) -> bool) -> Value {
    let last = || {
        let status = status(mirror);
        let all = status["candidate_failures"].as_array().cloned();
        all.unwrap_or_default().pop().unwrap_or_default()
    };
    wait_or_tell(
        || Some(last()).filter(|last| holds(last)),
        || last().to_string(),
    )
}

/// Each page says it of an outage that is under way, in a minute that has good requests, too.
fn told_while_it_lasts(place: &Place, mirror: &Mirror<'_>, ui: &Mirror<'_>, incident: usize) {
    let told = status(mirror)["candidate_failing_since"].clone();
    let told = told.as_str().and_then(|told| told.get(11..19));
    let told = told.unwrap_or_else(|| panic!("incident {incident}"));
    let page = says(
        mirror,
        "/",
        &["Candidate fails</strong>: since ", "; it is still asked"],
    );
    assert!(!page.contains("Candidate failed</strong>"), "{page}");
    // Whoever has the record alone knows it, too, although the minute has good requests. Each outage has its own numbers.
    let counted = match incident {
        1 => ": 4 requests failed; it is still asked",
        _ => ": 4 requests failed; 1 outage before it in the time that is shown; it is still asked",
    };
    for of in [mirror, ui] {
        says(of, "/", &["Candidate fails</strong>: since ", counted]);
    }
    says(
        mirror,
        "/health",
        &["failed on the last requests, since ", told],
    );
    let top = place.run(&["top", "--once", "--admin", &mirror.admin.to_string()]);
    assert!(
        top.stdout.contains("candidate fails since ") && top.stdout.contains("and is still asked"),
        "{}",
        top.stdout
    );
}

#[test]
fn a_candidate_that_fails_is_told_at_once_and_each_of_its_outages_to_the_second() {
    let legacy = Service::json("{}");
    let (candidate, is_on) = switched("{}");
    let place = Place::new();
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--candidate-version", "2"],
    );
    let ui = place.ui();
    let sent = Cell::new(0);
    let send = || {
        sent.set(sent.get() + 1);
        mirror.get("/x");
    };
    let answered = || {
        wait_for("the candidate to answer", || {
            send();
            status(&mirror)["candidate_failing_since"]
                .is_null()
                .then_some(())
        });
        // None is under way that may fail when it is switched off.
        mirror.settled(sent.get());
    };
    answered();
    for incident in 1..=2 {
        is_on.store(false, Ordering::SeqCst);
        for _ in 0..FAILURES {
            send();
        }
        let open = stretch(&mirror, |last| {
            last["failed"] == FAILURES && last["answered"].is_null()
        });
        assert_eq!(open["candidate_version"], "2");
        told_while_it_lasts(&place, &mirror, &ui, incident);
        is_on.store(true, Ordering::SeqCst);
        answered();
        stretch(&mirror, |last| last["answered"].is_string());
    }
    let history = || mirror.ask("/api/v1/history?since=1h").json();
    let outages = wait_or_tell(
        || {
            let outages = history()["outages"].as_array().cloned()?;
            (outages.len() == 2).then_some(outages)
        },
        || history().to_string(),
    );
    for outage in &outages {
        assert_eq!(
            (
                &outage["step_seconds"],
                &outage["sent"],
                &outage["unanswered"]
            ),
            (&1.into(), &FAILURES.into(), &FAILURES.into()),
            "{outage}"
        );
    }
    // What it answers from then on makes none of them larger.
    for _ in 0..20 {
        mirror.get("/x");
    }
    let page = says(
        &mirror,
        "/history",
        &[", and answered again at ", ": 4 requests failed<"],
    );
    assert_eq!(
        page.matches("candidate 2 gave no answer from ").count() % 2,
        0,
        "{page}"
    );
    for of in [&mirror, &ui] {
        let told = [
            "Candidate failed</strong>: from ",
            " and answered again at ",
            ": 4 requests failed; 1 outage before it in the time that is shown",
        ];
        let page = says(of, "/", &told);
        assert!(!page.contains("Candidate fails"), "{page}");
    }
    ui.stop();
    mirror.stop();
}

#[test]
fn errors_of_the_candidate_alone_are_told_on_top_while_they_last_and_behind_them() {
    let legacy = Service::json("{}");
    let fails = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&fails);
    let candidate = Service::start(move |_| {
        let is_error = failing.load(Ordering::SeqCst);
        Answer::new(if is_error { 500 } else { 200 }, "{}")
            .header("content-type", "application/json")
    });
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let ui = place.ui();
    let mut sent = 0;
    let mut send = |count| {
        for _ in 0..count {
            mirror.get("/x");
        }
        sent += count;
        mirror.settled(sent);
    };
    send(5);
    fails.store(true, Ordering::SeqCst);
    send(10);
    for of in [&mirror, &ui] {
        let told = [
            "Candidate answers with errors</strong>: 10 of ",
            " requests since ",
            "(legacy: 0)",
        ];
        says(of, "/", &told);
    }
    let top = || {
        let admin = ui.admin.to_string();
        place.run(&["top", "--once", "--admin", &admin]).stdout
    };
    wait_or_tell(
        || {
            let told = top();
            told.contains("candidate answers with errors: 10 of ")
                .then_some(())
        },
        top,
    );
    fails.store(false, Ordering::SeqCst);
    send(60);
    for of in [&mirror, &ui] {
        says(
            of,
            "/",
            &["Candidate answered with errors</strong>: 10 of "],
        );
        says(of, "/history", &[": candidate answered with errors from "]);
    }
    ui.stop();
    mirror.stop();
}

#[test]
fn an_outage_of_the_legacy_stands_in_the_chart_because_clients_were_hurt() {
    let (legacy, is_on) = switched("{}");
    let candidate = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let ui = place.ui();
    mirror.get("/x");
    is_on.store(false, Ordering::SeqCst);
    for _ in 0..5 {
        assert_eq!(mirror.get("/x").status, 502);
    }
    is_on.store(true, Ordering::SeqCst);
    assert_eq!(mirror.get("/x").status, 200);
    for path in ["/history", "/"] {
        let told = [
            "the legacy gave clients no whole answer ",
            ": 5 requests (5 legacy_unreachable)",
            "<rect class=\"hurt\"",
            "clients got no whole answer</p>",
        ];
        says(&mirror, path, &told);
        says(
            &ui,
            path,
            &[&told[..], &[", to within 1 minute: 5 requests"]].concat(),
        );
    }
    let history = mirror.ask("/api/v1/history?since=1h").json();
    let outage = &history["client_outages"][0];
    assert_eq!(
        (&outage["step_seconds"], &outage["failed"]),
        (&1.into(), &5.into()),
        "{history}"
    );
    ui.stop();
    mirror.stop();
}

#[test]
fn a_time_in_which_no_process_recorded_is_told_as_that() {
    let service = Service::json("{}");
    let place = Place::new();
    let first = place.mirror(&service.url(), &service.url(), &[]);
    first.get("/x");
    first.settled(1);
    first.stop();
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    store
        .execute_batch(
            "UPDATE tallies SET interval_start = interval_start - 3600000000; \
             UPDATE watermarks SET started = started - 3600000000, written = written - 3600000000",
        )
        .expect("an hour ago");
    drop(store);
    let second = place.mirror(&service.url(), &service.url(), &[]);
    second.get("/x");
    second.settled(2);
    says(
        &second,
        "/history?since=2h",
        &[
            ": no process recorded from ",
            ": test was last heard of then, and it began again",
            "<title>no process recorded</title>",
            "</svg> no process recorded</p>",
        ],
    );
    second.stop();
    let ui = place.ui();
    let page = ui.ask("/history?since=2h").text();
    assert_eq!(
        page.matches("no process recorded from ").count(),
        1,
        "{page}"
    );
    ui.stop();
}

#[test]
fn a_reload_is_not_told_as_the_begin_of_the_process() {
    let service = Service::json("{}");
    let place = Place::new();
    place.write("parity.toml", "");
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    mirror.get("/x");
    mirror.settled(1);
    let started = status(&mirror)["started"].clone();
    let began = |document: &Value| {
        document["watermarks"][0]["started"]
            .as_str()
            .map(str::to_owned)
    };
    let report = || mirror.ask("/api/v1/report").json();
    let first = began(&report());
    // A second later, so that the two can be told apart on the page.
    let second = |time: &str| time.get(..19).map(|time| time.replace('T', " "));
    let start = started.as_str().and_then(second).expect("a time");
    wait_for("another second", || {
        let now = parity_schemas::time::Timestamp::now().to_string();
        (second(&now).as_deref() > Some(start.as_str())).then_some(())
    });
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"a\"\npath = \"/a\"\naction = \"ignore\"\nreason = \"set on read\"\n",
    );
    mirror.signal("HUP");
    let next = wait_or_tell(
        || began(&report()).filter(|next| Some(next) != first.as_ref()),
        || report().to_string(),
    );
    let next = second(&next).expect("a time");
    let page = says(
        &mirror,
        "/health",
        &["Rules and versions since", "Process began", &next],
    );
    let cell = |time: &str| format!("<td class=\"time\">{time}Z</td>");
    assert!(
        page.contains(&format!("{}{}", cell(&start), cell(&next)))
            && page.contains(&format!("<dt>Process</dt><dd>runs since {start}Z</dd>")),
        "{start} and {next} in {page}"
    );
    mirror.stop();
}
