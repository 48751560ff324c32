//! A check whose file never ends, hides what it should tell, or says what it lacks; and samples of which there are none.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use parity_schemas::check::CheckOutcome;
use serde_json::json;

use super::{answer, check, expects, line, service};
use crate::recording::recording;
use crate::support::client;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// What a check with a time-out of a second may take on a busy machine.
const IN_TIME: Duration = Duration::from_secs(15);

#[test]
fn a_file_that_never_ends_ends_the_check_in_time() {
    let service = service();
    let told = "the rest of the file, which did not come in time";
    let same = line("/users/2", &json!({"response": answer(200, "{}", &[])}));
    // More than its format is found out by, and less than a pipe takes.
    let begun = same.repeat((40 << 10) / same.len());
    for (is_open, written, code) in [(false, "", 2), (true, "", 2), (true, &*begun, 3)] {
        let place = Place::new();
        let pipe = place.path().join("samples.ndjson");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo can be run").success());
        // Both ends, so that neither waits, and the end is never seen.
        let open = is_open.then(|| OpenOptions::new().read(true).write(true).open(&pipe));
        let open = open.map(|open| open.expect("a pipe"));
        if let Some(mut open) = open.as_ref() {
            open.write_all(written.as_bytes()).expect("room");
        }
        let since = Instant::now();
        let (ended, document) = check(&place, &service.url(), &["--timeout", "1s"]);
        assert!(since.elapsed() < IN_TIME, "{:?}", since.elapsed());
        assert_eq!(ended.code, code, "{} {}", ended.stdout, ended.stderr);
        let Some(document) = document else {
            assert!(ended.stderr.contains(told), "{}", ended.stderr);
            continue;
        };
        assert_eq!(document.outcome, CheckOutcome::Undecided);
        assert_eq!(document.not_asked.get("not_read"), Some(&1));
        assert_eq!(document.as_expected, written.lines().count() as u64);
    }
    // Standard input of which no line is a request.
    for (text, format) in [("\n", "ndjson"), ("x\n", "ndjson"), (" \n", "curl")] {
        let place = Place::new();
        let url = service.url();
        let arguments = ["check", "-", "--format", format, "--target", &url];
        let mut command = place.command(&arguments);
        command.args(["--timeout", "1s"]);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let since = Instant::now();
        let mut child = command.spawn().expect("parity can be started");
        let mut input = child.stdin.take().expect("piped");
        let block = text.repeat(4_096);
        // Until nobody reads it.
        while input.write_all(block.as_bytes()).is_ok() {
            assert!(since.elapsed() < IN_TIME, "{text:?}");
        }
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text:?}: {stderr}");
        assert!(stderr.contains(told), "{text:?}: {stderr}");
    }
}

#[test]
fn an_answer_whose_whole_body_is_hidden_is_not_as_expected() {
    let place = Place::new();
    let service = service();
    let hash = "hmac:0123456789abcdef0123456789abcdef (12 bytes)";
    let hidden = |status| {
        line(
            "/users/2",
            &json!({"response": answer(status, hash, &["body"])}),
        )
    };
    let same = expects("/users/2", "{}");
    let accept: &[&str] = &["--accept-hidden"];
    for (file, more, code, numbers) in [
        (format!("{same}{}", hidden(200)), &[][..], 3, [2, 1, 0, 1]),
        (format!("{same}{}", hidden(200)), accept, 0, [2, 1, 0, 1]),
        // Whatever is accepted, a difference is one, and so is what nobody can read.
        (format!("{same}{}", hidden(404)), accept, 1, [2, 1, 1, 0]),
        (format!("{}x\n", hidden(200)), accept, 3, [1, 0, 0, 1]),
    ] {
        place.write("samples.ndjson", &file);
        let (ended, document) = check(&place, &service.url(), more);
        assert_eq!(ended.code, code, "{file}: {}", ended.stdout);
        let found = document.expect("a document");
        assert_eq!(
            [
                found.asked,
                found.as_expected,
                found.differing,
                found.not_compared
            ],
            numbers,
            "{file}"
        );
        if found.not_compared > 0 {
            let reason = found.requests[0].reason.as_deref();
            assert_eq!(reason, Some("legacy_hidden"));
        }
    }
}

#[test]
fn a_line_that_cannot_be_read_is_told_by_the_member_that_it_lacks() {
    let place = Place::new();
    let service = service();
    let expected = expects("/users/2", "{}");
    let without = |member: &str| {
        let mut line: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
        line.as_object_mut().expect("an object").remove(member);
        line.to_string()
    };
    let mut wrong: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
    wrong["response"]["status"] = json!("Secret1, expected Secret2");
    for (line, told) in [
        (without("url"), "the member `url` is missing"),
        (without("method"), "the member `method` is missing"),
        (without("time"), "the member `time` is missing"),
        (wrong.to_string(), "a member has another type"),
        (wrong.to_string(), "expected is u16"),
    ] {
        place.write("samples.ndjson", format!("{expected}{line}\n"));
        let (ended, document) = check(&place, &service.url(), &[]);
        assert_eq!(ended.code, 3, "{line}: {}", ended.stderr);
        assert_eq!(document.expect("a document").unreadable, 1);
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
        assert!(!ended.stderr.contains("Secret"), "{}", ended.stderr);
    }
}

#[test]
fn where_there_is_no_sample_the_reasons_are_told_and_the_next_try_may_begin() {
    let place = Place::new();
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(70_000));
    let legacy = Service::start(move |request| match &*request.target {
        "/broken" => Answer::new(503, "{}"),
        "/large" => Answer::json(large.clone()),
        "/bytes" => Answer::new(200, "\u{1}").header("content-type", "application/octet-stream"),
        _ => Answer::json("{}"),
    });
    let file = place.path().join("samples.ndjson");
    let proxy = recording(&place, &legacy.url(), &["samples.ndjson", "--samples"]);
    for path in ["/broken", "/large", "/bytes", "/x?q=1"] {
        client::get(proxy.address, path);
    }
    let credential = [("authorization", "Bearer x")];
    client::send(proxy.address, "GET", "/own", &credential, b"");
    client::send(proxy.address, "POST", "/items", &[], b"{}");
    let (code, log) = proxy.stop();
    assert_eq!(code, 2, "{log}");
    for told in [
        "recorded 0 requests; samples.ndjson was not written",
        "1 request is no sample: the status of its answer is none to be expected",
        "1 request is no sample: a body is over 64 KiB",
        "1 request is no sample: a body is hidden",
        "1 request is no sample: it needs what is hidden: header/authorization",
        "1 request is no sample: it needs what is hidden: query/q",
        "1 request is no sample: what it does may have effects",
        "there is no sample, so no file was written",
    ] {
        assert!(log.contains(told), "{told}: {log}");
    }
    assert!(!file.exists());
    let proxy = recording(&place, &legacy.url(), &["samples.ndjson", "--samples"]);
    client::get(proxy.address, "/items/1");
    // Somebody else writes one meanwhile, which stays.
    let other = recording(&place, &legacy.url(), &["other.ndjson", "--samples"]);
    place.write("other.ndjson", "mine\n");
    client::get(other.address, "/items/1");
    let (code, log) = other.stop();
    assert_eq!(code, 2, "{log}");
    let kept = std::fs::read_to_string(place.path().join("other.ndjson"));
    assert_eq!(kept.expect("a file"), "mine\n");
    let (code, log) = proxy.stop();
    assert_eq!(code, 0, "{log}");
    assert_eq!(check(&place, &legacy.url(), &[]).0.code, 0);
}
