//! Recordings of live traffic: what is in the file, that a replay of it is the same traffic, and what a recording costs a client
//! when the disk is full or the process is killed.

mod hidden;
mod trouble;
mod two_writers;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::client;
use crate::support::process::{Ended, Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

/// The lines of a file that is packed or not.
fn lines(place: &Place, file: &str) -> Vec<Value> {
    let bytes = std::fs::read(place.path().join(file)).expect("a recording");
    let text = if file.strip_suffix(".zst").is_some() {
        zstd::decode_all(&*bytes).expect("whole frames")
    } else {
        bytes
    };
    let text = String::from_utf8(text).expect("UTF-8");
    let read =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(read).collect()
}

/// The files of a recording, the oldest first.
fn files(place: &Place, begin: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.path()).expect("readable");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(begin))
        })
        .collect();
    files.sort();
    files
}

/// A service that tells what it was asked.
fn echo() -> Service {
    Service::start(|request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let told = json!({"method": request.method, "target": request.target, "body": body});
        Answer::json(told.to_string()).header("x-request-id", "7")
    })
}

fn replay(place: &Place, more: &[&str]) -> Ended {
    let mut arguments = vec!["replay"];
    arguments.extend(more);
    arguments.extend(["--output", "json"]);
    place.run(&arguments)
}

/// Received, match, mismatch.
fn counts(ended: &Ended) -> [u64; 3] {
    let report = ended.json();
    ["received", "match", "mismatch"].map(|name| report[name].as_u64().expect("a number"))
}

fn written(mirror: &Mirror<'_>, expected: u64) {
    wait_for("the recording", || {
        let recording = &mirror.status()["recording"];
        (recording["written"].as_u64()? >= expected).then_some(())
    });
}

/// Text that must not act on whoever looks into the file.
const HOSTILE: &str = "\u{1b}[31m\u{202e}::error::\r\n\u{9b}1m";

/// Method, path, headers and body.
type Sent<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [u8]);

/// Sends what is recorded; in the last one is no text.
fn drive(mirror: &Mirror<'_>) {
    let json = [("content-type", "application/json")];
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let text = [("content-type", "text/plain")];
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1_000_000));
    let named = [
        ("authorization", "Bearer abc"),
        ("cookie", "sid=1; theme=dark"),
        ("accept", "text/html, \t*/*;q=0.1"),
    ];
    let sent: [Sent<'_>; 8] = [
        ("GET", "/items/1?page=2", &named, b""),
        ("GET", "/items/1?q=cats", &[], b""),
        ("POST", "/items", &json, br#"{"name":"x","n":1.0}"#),
        ("POST", "/login", &json, br#"{"a":1,"password":"x"}"#),
        ("PUT", "/form", &form, b"a=%7e&b=+"),
        ("POST", "/large", &json, large.as_bytes()),
        ("POST", "/text", &text, HOSTILE.as_bytes()),
        ("POST", "/bytes", &text, b"\xff\xfe\0"),
    ];
    for (method, path, headers, body) in sent {
        let answer = client::send(mirror.address, method, path, headers, body);
        assert_eq!(answer.status, 200, "{path}");
    }
}

/// Looks at the lines of what [`drive`] sent.
fn look_at(recorded: &[Value]) {
    let hidden = |line: &Value| -> BTreeSet<String> {
        let names = line["hidden"].as_array().into_iter().flatten();
        let names = names.map(|name| name.as_str().expect("a name").to_owned());
        names.collect()
    };
    let expected: [&[&str]; 8] = [
        &[
            "header/authorization",
            "header/cookie/sid",
            "header/cookie/theme",
        ],
        &["query/q"],
        &[],
        &["body/password"],
        &[],
        &[],
        &[],
        &["body"],
    ];
    assert_eq!(recorded.len(), expected.len());
    for (line, expected) in recorded.iter().zip(expected) {
        let expected = expected.iter().chain(&["header/host"]);
        let expected: BTreeSet<String> = expected.map(|name| (*name).to_owned()).collect();
        assert_eq!(hidden(line), expected, "{}", line["url"]);
    }
    assert_eq!(recorded[2]["body"], r#"{"name":"x","n":1.0}"#);
    assert_eq!(recorded[6]["body"], HOSTILE);
    let large = recorded[5]["body"].as_str().map(str::len);
    assert_eq!(large, Some(1_000_008));
    let sessions = recorded.iter().filter_map(|line| line["session"].as_str());
    let sessions: BTreeSet<&str> = sessions.collect();
    assert_eq!(sessions.len(), 1);
    assert!(!sessions.iter().any(|name| name.contains("127.0.0.1")));
    let mut statuses = recorded.iter().map(|line| &line["response"]["status"]);
    assert!(statuses.all(|status| *status == 200));
}

#[test]
fn what_was_recorded_is_the_traffic_once_more() {
    for file in ["live.ndjson", "live.ndjson.zst"] {
        let place = Place::new();
        let (legacy, candidate) = (echo(), echo());
        let more = ["--record", file, "--record-answers", "on"];
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &more);
        drive(&mirror);
        let (code, log) = mirror.stop();
        assert_eq!(code, 0, "{log}");
        let told = format!("recorded 8 requests in {file}");
        assert!(log.contains(&told), "{log}");
        let raw = std::fs::read(place.path().join(file)).expect("a recording");
        let is_control = |byte: &u8| *byte < b' ' && *byte != b'\n';
        assert!(file.ends_with("zst") || !raw.iter().any(is_control));
        look_at(&lines(&place, file));

        // To two services: each gets what clients sent, but for what is hidden.
        let (legacy, candidate) = (echo(), echo());
        let urls = [legacy.url(), candidate.url()];
        let unsafe_too = ["--allow-unsafe", "--migration", "live"];
        let both = [file, "--legacy", &urls[0], "--candidate", &urls[1]];
        let live = replay(&place, &[&both[..], &unsafe_too].concat());
        assert_eq!(counts(&live), [8, 8, 0], "{}", live.stderr);
        for told in [
            "sent without what the recording hides",
            "header/host (8)",
            "header/authorization (1)",
            "query/q (1)",
            "body/password (1)",
            "body (1)",
        ] {
            assert!(live.stderr.contains(told), "{told}: {}", live.stderr);
        }
        // Against the answers. An answer that tells what is hidden of the request is another one.
        let alone = [file, "--recorded-answers", "--candidate", &urls[1]];
        let safe = replay(&place, &[&alone[..], &["--migration", "safe"]].concat());
        assert_eq!(counts(&safe), [8, 1, 1], "{}", safe.stderr);
        let told = "hidden in its answers, and not compared: ";
        assert!(safe.stderr.contains(told), "{}", safe.stderr);
        let unsafe_too = ["--allow-unsafe", "--migration", "all"];
        let all = replay(&place, &[&alone[..], &unsafe_too].concat());
        let [received, same, differing] = counts(&all);
        assert_eq!((received, same + differing), (8, 8), "{}", all.stderr);
        assert!(same >= 5, "{} {}", all.stdout, all.stderr);
    }
}

/// A running `parity record`.
pub(crate) fn recording<'a>(place: &'a Place, legacy: &str, more: &[&str]) -> Mirror<'a> {
    let mut arguments = vec!["record", "--legacy", legacy, "--listen", "127.0.0.1:0"];
    arguments.extend(more);
    let mut recording = place.start(&mut place.command(&arguments));
    recording.address = recording.announced("clients send to http://");
    recording
}

#[test]
fn record_asks_the_legacy_alone_and_writes_no_store() {
    let place = Place::new();
    let legacy = echo();
    let proxy = recording(&place, &legacy.url(), &["live.ndjson"]);
    for number in 0..20 {
        let answer = client::get(proxy.address, &format!("/items/{number}"));
        assert_eq!(answer.status, 200);
    }
    assert_eq!(legacy.seen(), 20);
    proxy.signal("INT");
    let (code, log) = proxy.ended();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("recorded 20 requests in live.ndjson"), "{log}");
    let recorded = lines(&place, "live.ndjson");
    assert_eq!(recorded.len(), 20);
    assert!(recorded.iter().all(|line| line.get("response").is_none()));
    assert!(!place.path().join("parity.db").exists());
    let mode = std::os::unix::fs::MetadataExt::mode(
        &place.path().join("live.ndjson").metadata().expect("a file"),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_tap_records_the_copies_that_it_gets_and_a_reload_changes_what_is_hidden() {
    let place = Place::new();
    let (legacy, candidate) = (echo(), echo());
    let configure = |file: &str, kept: &str| {
        let text = format!("[recording]\nfile = \"{file}\"\n[redact]\nkeep_query = [\"{kept}\"]\n");
        place.write("parity.toml", text);
    };
    configure("live.ndjson", "a");
    let more = ["--mode", "tap", "--config", "parity.toml"];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &more);
    let json = [("content-type", "application/json")];
    let send = |path: &str| client::send(mirror.address, "POST", path, &json, b"{\"n\":1}").status;
    assert_eq!(send("/x?a=1&b=2"), 204);
    configure("live.ndjson", "b");
    mirror.signal("HUP");
    wait_for("the reload", || {
        mirror
            .log()
            .contains("configuration reloaded")
            .then_some(())
    });
    assert_eq!(send("/x?a=1&b=2"), 204);
    configure("other.ndjson", "b");
    mirror.signal("HUP");
    wait_for("the refusal", || {
        mirror
            .log()
            .contains("only a restart can change")
            .then_some(())
    });
    assert_eq!(mirror.stop().0, 0);
    let recorded = lines(&place, "live.ndjson");
    let hidden = |line: &Value| line["hidden"].as_array().expect("names")[0].clone();
    let hidden: Vec<Value> = recorded.iter().map(hidden).collect();
    assert_eq!(hidden, ["query/b", "query/a"]);
    assert!(recorded.iter().all(|line| line["body"] == "{\"n\":1}"));
}
