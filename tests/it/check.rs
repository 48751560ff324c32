//! `parity check`: one service against the answers of a file, and files of samples made from traffic.

mod substituted;
mod trouble;

use std::time::{Duration, Instant};

use parity_schemas::check::{CheckDocument, CheckOutcome};
use serde_json::{Value, json};

use crate::recording::recording;
use crate::support::client;
use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Service, nobody};
use crate::support::wait_for;

/// A line of a file of requests.
fn line(url: &str, more: &Value) -> String {
    let mut line = json!({
        "schema": "parity.exchange/v1",
        "time": "2026-11-24T03:00:00.000000Z",
        "method": "GET",
        "url": url,
    });
    let members = line.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    format!("{line}\n")
}

fn expects(url: &str, body: &str) -> String {
    line(url, &json!({"response": answer(200, body, &[])}))
}

fn answer(status: u16, body: &str, hidden: &[&str]) -> Value {
    json!({
        "status": status,
        "headers": [["content-type", "application/json"]],
        "body": body,
        "hidden": hidden,
    })
}

fn check(place: &Place, target: &str, more: &[&str]) -> (Ended, Option<CheckDocument>) {
    let mut arguments = vec![
        "check",
        "samples.ndjson",
        "--target",
        target,
        "--output",
        "json",
    ];
    arguments.extend(more);
    let ended = place.run(&arguments);
    let document = (!ended.stdout.is_empty()).then(|| serde_json::from_value(ended.json()));
    (
        ended,
        document.map(|document| document.expect("of this type")),
    )
}

/// A service whose answers follow from the path.
fn service() -> Service {
    Service::start(|request| match &*request.target {
        "/users/1" => Answer::json(r#"{"name":"Ann","token":"fresh","items":[1,2]}"#),
        "/gone" => Answer::new(404, "{}").header("content-type", "application/json"),
        "/sets" => Answer::json("{}").header("set-cookie", "sid=other; Path=/"),
        _ => Answer::json("{}"),
    })
}

#[test]
fn an_exit_code_says_whether_a_service_answers_as_expected() {
    let place = Place::new();
    let service = service();
    let same = expects(
        "/users/1",
        r#"{"items":[1,2], "token":"fresh","name":"Ann"}"#,
    );
    let other = expects(
        "/users/1",
        r#"{"name":"Bob","token":"fresh","items":[1,2]}"#,
    );
    let gone = expects("/gone", "{}");
    let post = line(
        "/users",
        &json!({"method": "POST", "response": answer(200, "{}", &[])}),
    );
    let without = line("/users/1", &json!({}));
    for (file, code, outcome, numbers, left) in [
        (same.clone(), 0, CheckOutcome::Pass, [1, 1, 0], json!({})),
        (
            format!("{same}{other}"),
            1,
            CheckOutcome::Fail,
            [2, 1, 1],
            json!({}),
        ),
        (
            format!("{gone}{same}"),
            1,
            CheckOutcome::Fail,
            [2, 1, 1],
            json!({}),
        ),
        (
            format!("{same}{post}{without}"),
            0,
            CheckOutcome::Pass,
            [1, 1, 0],
            json!({"unsafe_method": 1, "no_answer": 1}),
        ),
        (
            format!("{same}{{\n"),
            3,
            CheckOutcome::Undecided,
            [1, 1, 0],
            json!({}),
        ),
    ] {
        place.write("samples.ndjson", &file);
        let (ended, document) = check(&place, &service.url(), &[]);
        assert_eq!(
            ended.code, code,
            "{file}: {} {}",
            ended.stdout, ended.stderr
        );
        let document = document.expect("a document");
        assert_eq!(document.schema, "parity.check/v1");
        assert_eq!(document.outcome, outcome);
        assert_eq!(
            [document.asked, document.as_expected, document.differing],
            numbers,
            "{file}"
        );
        assert_eq!(
            serde_json::to_value(&document.not_asked).expect("JSON"),
            left
        );
    }
    assert!(!place.path().join("parity.db").exists());
    // For people, in lines that no text of an answer can forge.
    place.write("samples.ndjson", &other);
    let text = place.run(&["check", "samples.ndjson", "--target", &service.url()]);
    assert_eq!(text.code, 1);
    for told in [
        "FAIL ",
        "GET /users/1 (samples.ndjson:1): differs",
        r#"body /name: expected "Bob", got "Ann""#,
    ] {
        assert!(text.stdout.contains(told), "{told}: {}", text.stdout);
    }
    // What may be sent is sent.
    place.write("samples.ndjson", &post);
    assert_eq!(check(&place, &service.url(), &["--allow-unsafe"]).0.code, 0);
    // By the rules of the configuration.
    place.write("samples.ndjson", &other);
    place.write("parity.toml", "[[rule]]\nid = \"name\"\npath = \"/name\"\naction = \"ignore\"\n[[route]]\nmatch = \"GET /users/{id}\"\nsample = 0.0\n");
    let (ended, _) = check(&place, &service.url(), &[]);
    assert_eq!(ended.code, 0, "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn what_the_file_hides_must_be_there_and_is_named() {
    let place = Place::new();
    let service = service();
    let hidden = |body: &str, parts: &[&str]| {
        line("/users/1", &json!({"response": answer(200, body, parts)}))
    };
    let hash = "hmac:0123456789abcdef0123456789abcdef";
    for (file, code, named) in [
        (
            hidden(
                &format!(r#"{{"name":"Ann","token":"{hash}","items":[1,2]}}"#),
                &["body/token"],
            ),
            0,
            json!({"body/token": 1}),
        ),
        (
            hidden(
                &format!(r#"{{"name":"Bob","token":"{hash}","items":[1,2]}}"#),
                &["body/token"],
            ),
            1,
            json!({"body/token": 1}),
        ),
        (
            hidden(
                &format!(r#"{{"name":"Ann","token":"fresh","items":[1,"{hash}"]}}"#),
                &["body/items/1"],
            ),
            0,
            json!({"body/items/1": 1}),
        ),
        (
            hidden(
                &format!(r#"{{"name":"Ann","token":"fresh","items":[1,2],"pin":"{hash}"}}"#),
                &["body/pin"],
            ),
            1,
            json!({"body/pin": 1}),
        ),
        (
            hidden(&format!("{hash} (12 bytes)"), &["body"]),
            3,
            json!({"body": 1}),
        ),
        (
            line(
                "/sets",
                &json!({"response": {"status": 200, "headers": [["content-type", "application/json"], ["set-cookie", format!("sid={hash}")]], "body": "{}", "hidden": ["header/set-cookie/sid"]}}),
            ),
            0,
            json!({"header/set-cookie/sid": 1}),
        ),
        (
            line(
                "/users/2",
                &json!({"response": {"status": 200, "headers": [["content-type", "application/json"], ["set-cookie", format!("sid={hash}")]], "body": "{}", "hidden": ["header/set-cookie/sid"]}}),
            ),
            1,
            json!({"header/set-cookie/sid": 1}),
        ),
        (
            line(
                "/users/2",
                &json!({"headers": [["x-trace", hash], ["host", hash]], "hidden": ["header/x-trace", "header/host"], "response": answer(200, "{}", &[])}),
            ),
            0,
            json!({}),
        ),
    ] {
        place.write("samples.ndjson", &file);
        let (ended, document) = check(&place, &service.url(), &[]);
        assert_eq!(
            ended.code, code,
            "{file}: {} {}",
            ended.stdout, ended.stderr
        );
        let document = document.expect("a document");
        assert_eq!(
            serde_json::to_value(&document.hidden).expect("JSON"),
            named,
            "{file}"
        );
    }
}

#[test]
fn what_is_hidden_is_told_in_words_and_what_needs_it_is_not_asked() {
    let place = Place::new();
    let service = service();
    let hash = "hmac:0123456789abcdef0123456789abcdef";
    let hidden = |body: &str, parts: &[&str]| {
        line("/users/1", &json!({"response": answer(200, body, parts)}))
    };
    let traced = json!({"headers": [["x-trace", hash]], "hidden": ["header/x-trace"], "response": answer(200, "{}", &[])});
    place.write("samples.ndjson", line("/users/2", &traced));
    let text = place.run(&["check", "samples.ndjson", "--target", &service.url()]);
    assert!(!text.stdout.contains("not compared"), "{}", text.stdout);
    place.write(
        "samples.ndjson",
        hidden(&format!("{hash} (12 bytes)"), &["body"]),
    );
    let text = place.run(&["check", "samples.ndjson", "--target", &service.url()]);
    assert!(
        text.stdout
            .contains("present, not compared, because the file does not show them: body (1)"),
        "{}",
        text.stdout
    );
    // A request that needs what is hidden is not asked.
    let needs = line(
        &format!("/users/1?token={hash}"),
        &json!({"hidden": ["query/token"], "response": answer(200, "{}", &[])}),
    );
    place.write("samples.ndjson", needs);
    let (ended, _) = check(&place, &service.url(), &[]);
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .stderr
            .contains("1 request with a value that the file hides (query/token (1))"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_service_that_is_away_hangs_or_dies_ends_the_check_in_time() {
    let place = Place::new();
    place.write("samples.ndjson", expects("/users/1", "{}").repeat(20));
    let begun = Instant::now();
    let (ended, _) = check(&place, &nobody(), &[]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("does not answer (candidate_refused)"),
        "{}",
        ended.stderr
    );
    // Accepts and says nothing.
    let hung = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", hung.local_addr().expect("an address"));
    let (ended, _) = check(&place, &url, &["--deadline", "200ms"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("does not answer (candidate_timeout)"),
        "{}",
        ended.stderr
    );
    // Answers one, and then no more: what differs is told, and the end comes in time.
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let tired = Service::start(move |_| {
        if asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0 {
            std::thread::park_timeout(Duration::from_secs(20));
        }
        Answer::json("{}")
    });
    let (ended, document) = check(
        &place,
        &tired.url(),
        &["--deadline", "100ms", "--timeout", "1s"],
    );
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let document = document.expect("a document");
    assert_eq!(document.as_expected, 1);
    assert!(
        document
            .requests
            .iter()
            .all(|request| request.reason.as_deref() == Some("candidate_timeout"))
    );
    assert_eq!(document.not_asked.get("timeout"), Some(&1));
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    for (file, message) in [
        ("", "is empty"),
        ("\n", "is empty"),
        (&*"\n".repeat(20_000), "name the format by --format"),
        (
            "{\"schema\":\"parity.exchange/v9\"}\n",
            "nothing could be asked",
        ),
    ] {
        place.write("samples.ndjson", file);
        let (ended, _) = check(&place, &tired.url(), &[]);
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
    }
}

#[test]
fn samples_are_few_whole_and_can_be_asked_again() {
    let place = Place::new();
    let legacy = Service::start(|request| match &*request.target {
        "/broken" => Answer::new(500, "{}"),
        "/missing" => Answer::new(404, "{}").header("content-type", "application/json"),
        "/login" => Answer::json(r#"{"token":"secretvalue"}"#),
        target => Answer::json(json!({"path": target}).to_string()).header("x-request-id", target),
    });
    let proxy = recording(&place, &legacy.url(), &["samples.ndjson", "--samples=2"]);
    for _ in 0..3 {
        for number in 0..5 {
            client::get(proxy.address, &format!("/items/{number}"));
        }
        client::get(proxy.address, "/broken");
        client::get(proxy.address, "/missing");
        client::get(proxy.address, "/login");
        client::get(proxy.address, "/items/1?q=hidden");
        client::send(
            proxy.address,
            "GET",
            "/own",
            &[("authorization", "Bearer x")],
            b"",
        );
        client::send(proxy.address, "POST", "/items", &[], b"{}");
    }
    wait_for("the samples", || {
        place.path().join("samples.ndjson").exists().then_some(())
    });
    let (code, log) = proxy.stop();
    assert_eq!(code, 0, "{log}");
    let text = std::fs::read_to_string(place.path().join("samples.ndjson")).expect("samples");
    let urls: Vec<String> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["url"]
                .as_str()
                .expect("a URL")
                .to_owned()
        })
        .collect();
    assert_eq!(urls, ["/items/0", "/items/1", "/login", "/missing"]);
    assert!(
        !text.contains("secretvalue") && !text.contains("\"host\""),
        "{text}"
    );
    let (ended, document) = check(&place, &legacy.url(), &[]);
    assert_eq!(ended.code, 0, "{} {}", ended.stdout, ended.stderr);
    let hidden = document.expect("a document").hidden;
    assert_eq!(hidden.get("body/token"), Some(&1), "{hidden:?}");
    let other = Service::json(r#"{"path":"/"}"#);
    assert_eq!(check(&place, &other.url(), &[]).0.code, 1);
    // Never over a file that is there.
    let again = place.run(&[
        "record",
        "--legacy",
        &legacy.url(),
        "--listen",
        "127.0.0.1:0",
        "--samples",
        "samples.ndjson",
    ]);
    assert_eq!(again.code, 2);
    assert!(
        again.stderr.contains("is there already"),
        "{}",
        again.stderr
    );
}
