//! A recorded request that is run again, against services that changed meanwhile.

mod kept_back;
mod served;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::client;
use crate::support::process::{Ended, Mirror, Place};
use crate::support::service::{Answer, Request, Service, nobody};
use crate::support::wait_for;

/// A service whose answer a test changes, and the requests that it saw, whole.
struct Changing {
    service: Service,
    answer: Arc<Mutex<Answer>>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Changing {
    fn new(body: &str) -> Self {
        let answer = Arc::new(Mutex::new(Answer::json(body)));
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let (now, seen) = (Arc::clone(&answer), Arc::clone(&requests));
        let service = Service::start(move |request| {
            seen.lock().expect("no panic").push(Request {
                method: request.method.clone(),
                target: request.target.clone(),
                headers: request.headers.clone(),
                body: request.body.clone(),
            });
            now.lock().expect("no panic").clone()
        });
        Self {
            service,
            answer,
            requests,
        }
    }

    fn answers(&self, answer: Answer) {
        *self.answer.lock().expect("no panic") = answer;
    }

    fn url(&self) -> String {
        self.service.url()
    }

    fn seen(&self) -> usize {
        self.service.seen()
    }

    /// Header and value of the last request.
    fn last<T>(&self, read: impl Fn(&Request) -> T) -> T {
        let requests = self.requests.lock().expect("no panic");
        read(requests.last().expect("one request"))
    }
}

/// Two services and a place.
struct Stage {
    place: Place,
    legacy: Changing,
    candidate: Changing,
}

impl Stage {
    fn new(legacy: &str, candidate: &str) -> Self {
        Self {
            place: Place::new(),
            legacy: Changing::new(legacy),
            candidate: Changing::new(candidate),
        }
    }

    /// Sends a request through a mirror, and returns the mirror and the id of the recorded mismatch.
    fn mirror(&self, request: (&str, &str, &[(&str, &str)], &[u8])) -> (Mirror<'_>, String) {
        let mirror = self
            .place
            .mirror(&self.legacy.url(), &self.candidate.url(), &[]);
        let (method, target, headers, body) = request;
        let answer = client::send(mirror.address, method, target, headers, body);
        assert_eq!(answer.status, 200);
        mirror.settled(1);
        let found = wait_for("the mismatch", || {
            let page = mirror.ask("/api/v1/mismatches").json();
            page["mismatches"].get(0).cloned()
        });
        let id = found["id"].as_str().expect("an id").to_owned();
        (mirror, id)
    }

    /// The same without the mirror: only what it recorded is left.
    fn recorded(&self, request: (&str, &str, &[(&str, &str)], &[u8])) -> String {
        let (mirror, id) = self.mirror(request);
        assert_eq!(mirror.stop().0, 0);
        id
    }

    fn get(&self) -> String {
        self.recorded(("GET", "/items/1", &[], b""))
    }

    fn rerun(&self, id: &str, more: &[&str]) -> Ended {
        let (legacy, candidate) = (self.legacy.url(), self.candidate.url());
        let services = ["--legacy", &*legacy, "--candidate", &*candidate];
        let arguments = [&["rerun", id], &services[..], more].concat();
        self.place.run(&arguments)
    }

    /// With the document, whose exit code is checked.
    fn document(&self, id: &str, more: &[&str]) -> Value {
        let ended = self.rerun(id, &[&["--output", "json"], more].concat());
        let document = ended.json();
        let code = match document["outcome"].as_str() {
            Some("equal") => 0,
            Some("differs") => 1,
            Some("undecided") => 3,
            other => panic!("{other:?}: {}", ended.stdout),
        };
        assert_eq!(ended.code, code, "{} {}", ended.stdout, ended.stderr);
        assert_eq!(document["schema"], "parity.rerun/v1");
        document
    }
}

/// `state pattern` of each difference.
fn states(document: &Value) -> Vec<String> {
    let all = document["differences"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let line = |one: &Value| format!("{} {}", text(&one["state"]), text(&one["pattern"]));
    all.iter().map(line).collect()
}

#[test]
fn what_is_gone_still_there_or_new_is_told_apart() {
    let stage = Stage::new(r#"{"a":1,"b":1,"c":1}"#, r#"{"a":2,"b":2,"c":1}"#);
    let id = stage.get();
    // Nothing has changed.
    assert_eq!(states(&stage.document(&id, &[])), ["still /a", "still /b"]);
    let text = stage.rerun(&id, &[]).stdout;
    assert!(text.contains("  then and now\n- 1\n+ 2"), "{text}");
    stage
        .candidate
        .answers(Answer::json(r#"{"a":1,"b":3,"c":9}"#));
    // What is there is certain; what is not may need what the record does not have.
    let document = stage.document(&id, &[]);
    assert_eq!(states(&document), ["new /c", "still /b", "unseen /a"]);
    let accepted = &["--accept-left-out"][..];
    let document = stage.document(&id, accepted);
    assert_eq!(states(&document), ["new /c", "still /b", "gone /a"]);
    let still = &document["differences"][1];
    assert_eq!(still["then"]["example"]["candidate"], "2");
    assert_eq!(still["now"]["example"]["candidate"], "3");
    let text = stage.rerun(&id, accepted);
    assert_eq!(text.code, 1, "{}", text.stderr);
    for line in [
        "GET /items/1",
        "still body /b",
        "  then\n- 1\n+ 2",
        "  now\n- 1\n+ 3",
    ] {
        assert!(text.stdout.contains(line), "{line}: {}", text.stdout);
    }
    assert!(
        text.stdout.ends_with("differs: 1 new, 1 still, 1 gone\n"),
        "{}",
        text.stdout
    );
    // It was fixed.
    stage
        .candidate
        .answers(Answer::json(r#"{"a":1,"b":1,"c":1}"#));
    let document = stage.document(&id, accepted);
    assert_eq!(states(&document), ["gone /a", "gone /b"]);
    assert_eq!(document["reason"], Value::Null);
    assert_eq!(document["accepted_left_out"], true);
    assert_eq!(document["now"]["legacy"]["body"], r#"{"a":1,"b":1,"c":1}"#);
    assert_eq!(
        stage
            .candidate
            .last(|request| request.header("x-parity-shadow").map(str::to_owned)),
        Some("1".to_owned())
    );
    // Each of both was asked once each time, and nothing was counted.
    assert_eq!([stage.legacy.seen(), stage.candidate.seen()], [7, 7]);
    assert_eq!(stage.place.report().count("received"), 1);
}

/// A candidate whose fault depends on one header of the client.
fn of_client(name: &'static str, value: &'static str) -> Service {
    Service::start(move |request| {
        let is_it = request.header(name) == Some(value);
        Answer::json(if is_it { r#"{"a":2}"# } else { r#"{"a":1}"# })
    })
}

#[test]
fn a_fault_of_one_client_is_not_gone_because_its_header_was_left_out() {
    for (name, value) in [
        ("user-agent", "okhttp/3.12"),
        ("x-region", "north"),
        ("host", "tenant-b.example"),
    ] {
        let place = Place::new();
        let (legacy, candidate) = (Service::json(r#"{"a":1}"#), of_client(name, value));
        let services = [legacy.url(), candidate.url()];
        let mirror = place.mirror(&services[0], &services[1], &[]);
        let headers = [(name, value), ("connection", "close")];
        client::send(mirror.address, "GET", "/items/1", &headers, b"");
        mirror.settled(1);
        let found = wait_for("the mismatch", || {
            let page = mirror.ask("/api/v1/mismatches").json();
            page["mismatches"].get(0).cloned()
        });
        let id = found["id"].as_str().expect("an id").to_owned();
        let answer = client::send(
            mirror.admin,
            "POST",
            &format!("/api/v1/mismatches/{id}/rerun"),
            &[],
            b"",
        );
        let document = answer.json();
        assert_eq!(
            (&document["outcome"], &document["reason"]),
            (&json!("undecided"), &json!("left_out")),
            "{name}: {document}"
        );
        assert_eq!(states(&document), ["unseen /a"], "{name}");
        let line = wait_for("the line", || {
            let page = mirror.ask("/api/v1/audit?action=rerun").json();
            page["changes"].get(0).cloned()
        });
        let detail = line["detail"].as_str().expect("a text");
        assert!(
            detail.starts_with("GET /items/{id}: undecided (left_out); left out: ")
                && detail.contains(&format!("header/{name}")),
            "{detail}"
        );
        mirror.stop();
        let rerun = |more: &[&str]| {
            let flags = ["--legacy", &services[0], "--candidate", &services[1]];
            place.run(&[&["rerun", &*id], &flags[..], more].concat())
        };
        let ended = rerun(&[]);
        assert_eq!(ended.code, 3, "{name}: {}", ended.stdout);
        for told in [
            "undecided: not shown again, but ",
            &format!("header/{name}"),
            "--accept-left-out",
            "set_headers",
            "whether one client is special",
        ] {
            assert!(ended.stdout.contains(told), "{told}: {}", ended.stdout);
        }
        // Somebody answers for it.
        let ended = rerun(&["--accept-left-out"]);
        assert_eq!(ended.code, 0, "{name}: {}", ended.stdout);
        // With what was left out, it is there: that is certain, whatever else is left out.
        place.write(
            "parity.toml",
            match name {
                "host" => {
                    format!("[legacy]\nhost = \"{value}\"\n[candidate]\nhost = \"{value}\"\n")
                }
                _ => format!(
                    "[legacy]\nset_headers = [\"{name}: {value}\"]\n[candidate]\nset_headers = [\"{name}: {value}\"]\n"
                ),
            },
        );
        let ended = rerun(&[]);
        assert_eq!(ended.code, 1, "{name}: {} {}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("1 still"), "{name}: {}", ended.stdout);
        place.write("parity.toml", "");
    }
}

#[test]
fn a_request_of_which_nothing_was_left_out_is_equal() {
    let place = Place::new();
    // The settings decide the host for both, and nobody gets what is of one connection.
    place.write(
        "parity.toml",
        "[redact]\nkeep_headers = [\"user-agent\", \"accept-encoding\"]\n[legacy]\nhost = \"a.example\"\nremove_headers = [\"x-b\"]\n\
         [candidate]\nhost = \"b.example\"\nremove_headers = [\"x-b\"]\n",
    );
    let stage = Stage {
        place,
        legacy: Changing::new(r#"{"a":1}"#),
        candidate: Changing::new(r#"{"a":2}"#),
    };
    let headers = [
        ("user-agent", "okhttp/3.12"),
        ("keep-alive", "timeout=5"),
        ("x-b", "removed"),
    ];
    let id = stage.recorded(("GET", "/items/1", &headers, b""));
    stage.candidate.answers(Answer::json(r#"{"a":1}"#));
    let document = stage.document(&id, &[]);
    assert_eq!(document["outcome"], "equal", "{document}");
    assert_eq!(states(&document), ["gone /a"]);
    let agent = |request: &Request| request.header("user-agent").map(str::to_owned);
    assert_eq!(stage.candidate.last(agent).as_deref(), Some("okhttp/3.12"));
    // A command leaves the line that a page leaves.
    let ui = stage.place.ui();
    let page = ui.ask("/api/v1/audit").json();
    let line = &page["changes"][0];
    assert_eq!(
        [
            &line["action"],
            &line["source"],
            &line["outcome"],
            &line["subject"],
            &line["detail"]
        ],
        ["rerun", "command", "done", &*id, "GET /items/{id}: equal"],
        "{page}"
    );
    ui.stop();
}

#[test]
fn the_rules_in_force_now_decide() {
    let stage = Stage::new(r#"{"a":1,"b":1}"#, r#"{"a":2,"b":1}"#);
    let id = stage.get();
    stage.place.write(
        "parity.toml",
        "[[rule]]\nid = \"all-of-a\"\npath = \"/a\"\naction = \"ignore\"\n\n\
         # Of a replay; this request needs no such value.\n\
         [[substitute]]\nput = \"header:authorization\"\nenv = \"NEVER_SET\"\n",
    );
    let document = stage.document(&id, &[]);
    assert_eq!(states(&document), ["excused /a"]);
    assert_eq!(document["differences"][0]["excused_by"], "rule:all-of-a");
    assert_ne!(
        document["then"]["rules_hash"],
        document["now"]["rules_hash"]
    );
    let text = stage.rerun(&id, &[]);
    assert_eq!(text.code, 0);
    assert!(
        text.stdout.contains("counts as equal: by rule all-of-a"),
        "{}",
        text.stdout
    );
}

#[test]
fn a_service_that_fails_proves_nothing_gone() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let id = stage.get();
    let ask = |legacy: &str, candidate: &str| {
        let services = ["--legacy", legacy, "--candidate", candidate];
        let ended = stage
            .place
            .run(&[&["rerun", &*id, "--output", "json"], &services[..]].concat());
        (ended.code, ended.json())
    };
    let (legacy, candidate) = (stage.legacy.url(), stage.candidate.url());
    stage
        .place
        .write("parity.toml", "[limits]\ncandidate_deadline = \"400ms\"\n");
    let hung = Service::misbehaving(|_, stream| {
        use std::io::Read as _;
        // Until nobody waits any more.
        drop(stream.read_to_end(&mut Vec::new()));
    });
    let lying = Service::misbehaving(|_, stream| {
        use std::io::Write as _;
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":"));
    });
    for (legacy, candidate, code, reason) in [
        // A candidate that fails counts against it, as in the gate.
        (&*legacy, &*nobody(), 1, "candidate_refused"),
        (&legacy, &hung.url(), 1, "candidate_timeout"),
        (&legacy, &lying.url(), 1, "candidate_truncated"),
        (&nobody(), &candidate, 3, "legacy_unreachable"),
        (&hung.url(), &candidate, 3, "legacy_timeout"),
        (&nobody(), &nobody(), 3, "legacy_unreachable"),
    ] {
        let (ended, document) = ask(legacy, candidate);
        assert_eq!(
            (ended, &document["reason"]),
            (code, &json!(reason)),
            "{document}"
        );
        assert_eq!(states(&document), ["unknown /a"], "{reason}");
        assert_eq!(document["now"], Value::Null, "{reason}");
    }
    // Both agree, but on an error: what differed is not there to be compared.
    let error =
        Answer::new(404, r#"{"error":"no such item"}"#).header("content-type", "application/json");
    stage.legacy.answers(error.clone());
    stage.candidate.answers(error);
    let (code, document) = ask(&legacy, &candidate);
    assert_eq!(
        (code, &document["reason"]),
        (3, &json!("legacy_refuses")),
        "{document}"
    );
    assert_eq!(states(&document), ["unknown /a"]);
}

#[test]
fn what_is_asked_wrongly_is_an_error() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let id = stage.get();
    let before = stage.legacy.seen();
    let unknown = "00000000-0000-7000-8000-000000000000";
    let (url, other) = (stage.legacy.url(), stage.candidate.url());
    for (arguments, told) in [
        (&["rerun", "x"][..], "`x` is not the id of a mismatch"),
        (&["rerun", &id], "no legacy is given"),
        (&["rerun", &id, "--legacy", &url], "no candidate is given"),
        (
            &["rerun", unknown, "--legacy", &url, "--candidate", &other],
            "no mismatch 00000000-0000-7000-8000-000000000000 is recorded",
        ),
        (
            &[
                "rerun",
                &id,
                "--legacy",
                &url,
                "--candidate",
                &other,
                "--store",
                "sqlite:none.db",
            ],
            "none.db",
        ),
    ] {
        let ended = stage.place.run(arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stdout);
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    assert_eq!(stage.legacy.seen(), before);
}
