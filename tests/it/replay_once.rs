//! What a replay sends counts: each request goes to each service once, whatever becomes of it, and a pass rests on no request that
//! lacked what it needs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::BufReader;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Request, Service};

/// How often each request came.
type Seen = Arc<Mutex<BTreeMap<String, usize>>>;

fn note(seen: &Seen, request: &Request) {
    let name = format!("{} {}", request.method, request.target);
    *seen.lock().expect("no panic").entry(name).or_default() += 1;
}

/// A service that reads each request whole, and then resets its connection. Returns its address.
fn resetting(seen: &Seen) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let seen = Arc::clone(seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                if let Some(request) = Request::read(&mut reader) {
                    note(&seen, &request);
                    // Closed without lingering, it is a reset.
                    let socket = socket2::SockRef::from(reader.get_ref());
                    socket.set_linger(Some(Duration::ZERO)).expect("a socket");
                }
            });
        }
    });
    url
}

fn answering(status: u16, seen: &Seen) -> Service {
    let seen = Arc::clone(seen);
    Service::start(move |request| {
        note(&seen, request);
        Answer::new(status, "{}").header("retry-after", "0")
    })
}

#[test]
fn a_request_is_sent_once_whether_it_is_reset_or_refused() {
    const REQUESTS: usize = 40;
    let place = Place::new();
    let mut lines = String::new();
    for number in 0..REQUESTS {
        for (method, body) in [("GET", ""), ("POST", "e30="), ("DELETE", "")] {
            let line = json!({"method": method, "url": format!("/{number}"), "body": body});
            writeln!(lines, "{line}").expect("memory");
        }
    }
    place.write("requests.ndjson", lines);
    for is_legacy in [false, true] {
        for resets in [false, true] {
            let (seen, other) = (Seen::default(), Seen::default());
            let good = answering(200, &other);
            let (refusing, url) = if resets {
                (None, resetting(&seen))
            } else {
                let refusing = answering(503, &seen);
                let url = refusing.url();
                (Some(refusing), url)
            };
            let (legacy, candidate) = if is_legacy {
                (url, good.url())
            } else {
                (good.url(), url)
            };
            let migration = format!("{is_legacy}-{resets}");
            let ended = place.run(&[
                "replay",
                "requests.ndjson",
                "--legacy",
                &legacy,
                "--candidate",
                &candidate,
                "--allow-unsafe",
                "--migration",
                &migration,
                "--output",
                "json",
            ]);
            let of = format!("{migration}: {}", ended.stderr);
            assert_eq!(ended.json()["received"], 3 * REQUESTS, "{of}");
            assert_eq!(ended.json()["match"], 0, "{of}");
            for seen in [&seen, &other] {
                let seen = seen.lock().expect("no panic");
                let more: Vec<_> = seen.iter().filter(|(_, count)| **count != 1).collect();
                assert!(more.is_empty(), "{of}: {more:?}");
            }
            assert_eq!(seen.lock().expect("no panic").len(), 3 * REQUESTS, "{of}");
            drop(refusing);
        }
    }
}

/// Enough to prove 0.1 %, by a gate that looks once.
const ENOUGH: usize = 3_000;
const HASH: &str = "hmac:0123456789abcdef0123456789abcdef";

/// A recording whose first request hides a part.
fn hiding(header: &[&str; 2], hidden: &[&str]) -> String {
    let line = |headers: &Value, hidden: &[&str]| {
        json!({
            "schema": "parity.exchange/v1", "time": "2026-11-24T03:00:00Z", "method": "GET", "url": "/a",
            "headers": headers, "hidden": hidden,
        })
    };
    let mut lines = format!("{}\n", line(&json!([header]), hidden));
    lines.push_str(&format!("{}\n", line(&json!([]), &[])).repeat(ENOUGH));
    lines
}

#[test]
fn no_pass_rests_on_requests_without_what_they_need() {
    let [legacy, same, other] = ["{}", "{}", "{\"a\":1}"].map(Service::json);
    let place = Place::new();
    place.write("plain.ndjson", hiding(&["x-a", "1"], &[]));
    place.write(
        "harmless.ndjson",
        hiding(&["user-agent", HASH], &["header/user-agent"]),
    );
    let login = hiding(&["authorization", HASH], &["header/authorization"]);
    place.write("login.ndjson", login);
    let refused = "this is no proof, so the exit code is 3: 1 of 3,001 requests were sent without what the recording hides";
    let substitute = "[[substitute]]\nput = \"header:authorization\"\nenv = \"TEST_LOGIN\"\n";
    place.write("login.toml", substitute);
    let mut number = 0;
    let mut run = |command: &[&str], candidate: &Service, more: &[&str]| -> Ended {
        number += 1;
        let migration = number.to_string();
        let urls = [legacy.url(), candidate.url()];
        let services = ["--legacy", &urls[0], "--candidate", &urls[1]];
        let asked = ["--one-look", "--migration", &migration, "--output", "json"];
        let environment = [
            ("TEST_LOGIN", "Bearer x"),
            ("GITHUB_SHA", ""),
            ("CI_COMMIT_SHA", ""),
        ];
        let arguments = [command, &services, &asked, more].concat();
        place.run_with(&arguments, &environment, "")
    };
    for (file, more, code) in [
        ("plain.ndjson", &[][..], 0),
        ("harmless.ndjson", &[], 0),
        ("login.ndjson", &[], 3),
        ("login.ndjson", &["--accept-hidden"], 0),
        ("login.ndjson", &["--config", "login.toml"], 0),
    ] {
        for command in [&["replay", file, "--gate"][..], &["ci", "--replay", file]] {
            let ended = run(command, &same, more);
            let of = format!("{command:?} {more:?}: {}", ended.stderr);
            assert_eq!(ended.code, code, "{of}");
            // The decision stays what it is: of what was sent.
            assert_eq!(ended.json()["outcome"], "pass", "{of}");
            assert_eq!(ended.stderr.contains(refused), code == 3, "{of}");
        }
    }
    // A proven fail is one, and without the gate there is nothing to refuse.
    for command in [
        &["replay", "login.ndjson", "--gate"][..],
        &["ci", "--replay", "login.ndjson"],
    ] {
        let failed = run(command, &other, &[]);
        assert_eq!(failed.code, 1, "{command:?}: {}", failed.stderr);
    }
}
