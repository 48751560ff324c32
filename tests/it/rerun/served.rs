//! The same by the API, and by the button on the page of a mismatch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::{Stage, states};
use crate::admin::form;
use crate::support::client::{self, Answer as Got};
use crate::support::process::Mirror;
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

fn post(mirror: &Mirror<'_>, path: &str, headers: &[(&str, &str)]) -> Got {
    client::send(mirror.admin, "POST", path, headers, b"")
}

/// Presses the button of a page, as a browser does.
fn press(mirror: &Mirror<'_>, path: &str, page: &str) -> Got {
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let body = format!("form={}", form(page).expect("a page with a form"));
    client::send(mirror.admin, "POST", path, &headers, body.as_bytes())
}

#[test]
fn the_api_runs_it_again_for_those_who_may() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let (mirror, id) = stage.mirror(("GET", "/items/1", &[], b""));
    let path = format!("/api/v1/mismatches/{id}/rerun");
    let before = stage.candidate.seen();
    let foreign = [("origin", "http://evil.example")];
    for (path, headers, status) in [
        (&*path, &foreign[..], 403),
        (&path, &[("host", "evil.example")], 421),
        ("/api/v1/mismatches/x/rerun", &[], 400),
        (
            "/api/v1/mismatches/00000000-0000-7000-8000-000000000000/rerun",
            &[],
            404,
        ),
        (&format!("{path}?allow_unsafe=perhaps"), &[], 400),
        (&format!("{path}?allow=true"), &[], 400),
        (&format!("/mismatches/{id}/rerun"), &foreign, 403),
    ] {
        assert_eq!(
            post(&mirror, path, headers).status,
            status,
            "{path} {headers:?}"
        );
    }
    assert_eq!(mirror.ask(&path).status, 405);
    assert_eq!(stage.candidate.seen(), before, "nothing was sent");
    stage.candidate.answers(Answer::json(r#"{"a":1}"#));
    let document = post(&mirror, &path, &[]).json();
    assert_eq!(
        (&document["outcome"], &document["reason"]),
        (&json!("undecided"), &json!("left_out"))
    );
    let answer = post(&mirror, &format!("{path}?accept_left_out=true"), &[]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let document = answer.json();
    assert_eq!(
        (&document["outcome"], states(&document)),
        (&json!("equal"), vec!["gone /a".to_owned()])
    );
    // It was no request of a client.
    assert_eq!(mirror.settled(1).count("received"), 1);
    assert!(
        mirror.log().contains("a recorded request is run again"),
        "{}",
        mirror.log()
    );
    mirror.stop();
}

#[test]
fn a_post_is_refused_by_the_api_and_asked_about_by_the_page() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    stage.place.write(
        "parity.toml",
        "[[route]]\nmatch = \"POST /orders\"\nshadow = true\n",
    );
    let id = stage.recorded((
        "POST",
        "/orders",
        &[("content-type", "application/json")],
        b"{}",
    ));
    stage.place.write("parity.toml", "");
    let mirror = stage
        .place
        .mirror(&stage.legacy.url(), &stage.candidate.url(), &[]);
    let before = stage.candidate.seen();
    let path = format!("/api/v1/mismatches/{id}/rerun");
    let refused = post(&mirror, &path, &[]);
    assert_eq!(refused.status, 409, "{}", refused.text());
    let error = refused.json()["error"].clone();
    assert!(
        error
            .as_str()
            .is_some_and(|error| error.contains("allow_unsafe=true")),
        "{error}"
    );
    let page = mirror.ask(&format!("/mismatches/{id}")).text();
    let page = press(&mirror, &format!("/mismatches/{id}/rerun"), &page);
    assert_eq!(page.status, 200);
    let again = format!("/mismatches/{id}/rerun?allow_unsafe=true");
    let page = page.text();
    assert!(
        page.contains(&again) && page.contains("Send it all the same"),
        "{page}"
    );
    assert_eq!(stage.candidate.seen(), before, "nothing was sent");
    assert_eq!(
        post(&mirror, &format!("{path}?allow_unsafe=true"), &[]).status,
        200
    );
    let page = press(&mirror, &again, &page).text();
    assert!(page.contains("still</strong>"), "{page}");
    assert_eq!(stage.candidate.seen(), before + 2);
    // Whoever stops shadowing wants the candidate to get nothing.
    assert_eq!(post(&mirror, "/api/v1/shadowing/off", &[]).status, 200);
    let stopped = post(&mirror, &format!("{path}?allow_unsafe=true"), &[]);
    assert_eq!(stopped.status, 409, "{}", stopped.text());
    assert!(
        stopped.text().contains("shadowing is off"),
        "{}",
        stopped.text()
    );
    assert_eq!(stage.candidate.seen(), before + 2);
    mirror.stop();
}

#[test]
fn the_button_works_without_a_script_and_hostile_answers_stay_text() {
    let hostile = "<script>alert(1)</script>\\u001b]0;owned\\u0007\\u202e";
    let stage = Stage::new(r#"{"a":1,"b":1}"#, r#"{"a":2,"b":1}"#);
    let (mirror, id) = stage.mirror(("GET", "/items/%3Cb%3E?page=%1b", &[], b""));
    let page = mirror.ask(&format!("/mismatches/{id}")).text();
    let action =
        format!("<form class=\"rerun\" method=\"post\" action=\"/mismatches/{id}/rerun\">");
    assert!(
        page.contains(&action) && page.contains("Run again"),
        "{page}"
    );
    stage.candidate.answers(
        Answer::json(format!(r#"{{"a":1,"<i>k":"{hostile}","b":"{hostile}"}}"#))
            .header("server", "<img src=x>"),
    );
    let answer = press(&mirror, &format!("/mismatches/{id}/rerun"), &page);
    assert_eq!(answer.status, 200);
    let policy = answer.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    let page = answer.text();
    for told in [
        "unseen</strong>",
        "new</strong>",
        "Legacy now",
        &format!("href=\"/mismatches/{id}\""),
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    for raw in ["<script>", "<img src=x", "<i>k", "\u{1b}", "\u{202e}"] {
        assert!(!page.contains(raw), "{raw:?}: {page}");
    }
    let document = post(&mirror, &format!("/api/v1/mismatches/{id}/rerun"), &[]).text();
    assert!(!document.contains(['\u{1b}', '\u{202e}']), "{document}");
    mirror.stop();
    for output in ["text", "json"] {
        let ended = stage.rerun(&id, &["--output", output, "--all"]);
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(
            !ended.stdout.contains(['\u{1b}', '\u{202e}', '\u{7}']),
            "{:?}",
            ended.stdout
        );
    }
}

#[test]
fn only_so_many_run_at_a_time_and_each_ends() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let id = stage.get();
    let hangs = Arc::new(AtomicBool::new(true));
    let held = Arc::clone(&hangs);
    let hung = Service::start(move |_| {
        while held.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Answer::json(r#"{"a":1}"#)
    });
    stage
        .place
        .write("parity.toml", "[limits]\ncandidate_deadline = \"60s\"\n");
    let mirror = stage.place.mirror(&stage.legacy.url(), &hung.url(), &[]);
    let path = format!("/api/v1/mismatches/{id}/rerun");
    std::thread::scope(|scope| {
        let running = [(); 2].map(|()| scope.spawn(|| post(&mirror, &path, &[])));
        wait_for("both to be asked", || (hung.seen() == 2).then_some(()));
        let refused = post(&mirror, &path, &[]);
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert!(refused.text().contains("try again"), "{}", refused.text());
        // The mirror serves meanwhile.
        assert_eq!(mirror.ask("/readyz").status, 200);
        assert_eq!(mirror.get("/items/2").status, 200);
        hangs.store(false, Ordering::SeqCst);
        for running in running {
            let answer = running.join().expect("no panic");
            assert_eq!(answer.json()["reason"], "left_out", "{}", answer.text());
        }
    });
    assert_eq!(
        post(&mirror, &path, &[]).status,
        200,
        "the places are free again"
    );
    mirror.stop();
}

#[test]
fn parity_ui_runs_it_again_where_both_services_are_named() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let id = stage.get();
    let path = format!("/api/v1/mismatches/{id}/rerun");
    let ui = stage.place.ui();
    let refused = post(&ui, &path, &[]);
    assert_eq!(refused.status, 404);
    assert!(refused.text().contains("--legacy"), "{}", refused.text());
    let page = ui.ask(&format!("/mismatches/{id}")).text();
    assert!(
        page.contains("Findings") && !page.contains("Run again"),
        "{page}"
    );
    assert_eq!(ui.stop().0, 0);

    let (legacy, candidate) = (stage.legacy.url(), stage.candidate.url());
    let start = |more: &[&str]| {
        let arguments = [&["ui", "--admin", "127.0.0.1:0"], more].concat();
        let mut ui = stage.place.start(&mut stage.place.command(&arguments));
        ui.admin = ui.announced("serving http://");
        ui
    };
    let ui = start(&["--legacy", &legacy, "--candidate", &candidate]);
    assert_eq!(states(&post(&ui, &path, &[]).json()), ["still /a"]);
    assert!(
        ui.ask(&format!("/mismatches/{id}"))
            .text()
            .contains("Run again")
    );
    assert_eq!(ui.stop().0, 0);
    // A file that names both, and has a mistake elsewhere, can be read all the same.
    let services = format!("[mirror]\nlegacy = \"{legacy}\"\ncandidate = \"{candidate}\"\n");
    stage
        .place
        .write("parity.toml", format!("{services}mode = \"sideways\"\n"));
    let ui = start(&[]);
    assert_eq!(post(&ui, &path, &[]).status, 404);
    assert!(
        ui.log().contains("no request can be run again here"),
        "{}",
        ui.log()
    );
    assert_eq!(ui.stop().0, 0);
    stage.place.write("parity.toml", services);
    let ui = start(&[]);
    assert_eq!(post(&ui, &path, &[]).status, 200);
    assert_eq!(ui.stop().0, 0);
}

#[test]
fn a_mirror_runs_it_again_by_the_configuration_that_was_loaded_last() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    stage.place.write("parity.toml", "");
    let (mirror, id) = stage.mirror(("GET", "/items/1", &[], b""));
    let path = format!("/api/v1/mismatches/{id}/rerun");
    assert_eq!(post(&mirror, &path, &[]).json()["outcome"], "differs");
    stage.place.write(
        "parity.toml",
        "[[rule]]\nid = \"a\"\npath = \"/a\"\naction = \"ignore\"\n",
    );
    mirror.signal("HUP");
    wait_for("the reload", || {
        mirror
            .log()
            .contains("configuration reloaded")
            .then_some(())
    });
    assert_eq!(post(&mirror, &path, &[]).json()["outcome"], "equal");
    mirror.stop();
}

#[test]
fn the_page_asks_whether_what_was_sent_is_enough() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let (mirror, id) = stage.mirror(("GET", "/items/1", &[("user-agent", "okhttp")], b""));
    stage.candidate.answers(Answer::json(r#"{"a":1}"#));
    let page = mirror.ask(&format!("/mismatches/{id}")).text();
    // So does the command that can be copied.
    assert!(
        page.contains("Where they do not, nothing is proven: 2 parts are left out"),
        "{page}"
    );
    let page = press(&mirror, &format!("/mismatches/{id}/rerun"), &page).text();
    for told in [
        "undecided</strong> not shown again, but 2 parts of the request were left out",
        "header/host, header/user-agent",
        "take it for the whole request",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let again = format!("/mismatches/{id}/rerun?accept_left_out=true");
    let page = press(&mirror, &again, &page).text();
    assert!(page.contains("equal</strong>"), "{page}");
    mirror.stop();
}
