//! A recorded request that is run again, against services that changed meanwhile: by the command, by the API, and by the button on
//! its page.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{self, Answer as Got};
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

/// `part fate` of each hidden part.
fn hidden(document: &Value) -> Vec<String> {
    let all = document["hidden"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let line = |one: &Value| format!("{} {}", text(&one["part"]), text(&one["fate"]));
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
    let document = stage.document(&id, &[]);
    assert_eq!(states(&document), ["new /c", "still /b", "gone /a"]);
    let still = &document["differences"][1];
    assert_eq!(still["then"]["example"]["candidate"], "2");
    assert_eq!(still["now"]["example"]["candidate"], "3");
    let text = stage.rerun(&id, &[]);
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
    let document = stage.document(&id, &[]);
    assert_eq!(states(&document), ["gone /a", "gone /b"]);
    assert_eq!(document["reason"], Value::Null);
    assert_eq!(document["now"]["legacy"]["body"], r#"{"a":1,"b":1,"c":1}"#);
    assert_eq!(
        stage
            .candidate
            .last(|request| request.header("x-parity-shadow").map(str::to_owned)),
        Some("1".to_owned())
    );
    // Each of both was asked once each time, and nothing was counted.
    assert_eq!([stage.legacy.seen(), stage.candidate.seen()], [6, 6]);
    assert_eq!(stage.place.report().count("received"), 1);
}

#[test]
fn the_rules_in_force_now_decide() {
    let stage = Stage::new(r#"{"a":1,"b":1}"#, r#"{"a":2,"b":1}"#);
    let id = stage.get();
    stage.place.write(
        "parity.toml",
        "[[rule]]\nid = \"all-of-a\"\npath = \"/a\"\naction = \"ignore\"\n",
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
    let hung = Service::misbehaving(|_, _| std::thread::sleep(Duration::from_mins(1)));
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
    let url = stage.legacy.url();
    for (arguments, told) in [
        (&["rerun", "x"][..], "invalid value 'x'"),
        (&["rerun", &id], "no legacy is given"),
        (&["rerun", &id, "--legacy", &url], "no candidate is given"),
        (
            &["rerun", unknown, "--legacy", &url, "--candidate", &url],
            "no mismatch 00000000-0000-7000-8000-000000000000 is recorded",
        ),
        (
            &[
                "rerun",
                &id,
                "--legacy",
                &url,
                "--candidate",
                &url,
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

const SECRET: &str = "Zq8-operators-own-token";

#[test]
fn what_the_record_hides_is_named_and_not_made_up() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let headers = [
        ("authorization", "Bearer of-the-client"),
        ("x-region", "north"),
        ("accept-language", "de"),
    ];
    let id = stage.recorded(("GET", "/items/1?page=2&id=7", &headers, b""));
    let before = stage.candidate.seen();
    let document = stage.document(&id, &[]);
    assert_eq!(
        (&document["reason"], &document["sent"]),
        (&json!("hidden"), &json!(false))
    );
    assert_eq!(
        hidden(&document),
        [
            "query/id not_sent",
            "header/host left_out",
            "header/authorization not_sent",
            "header/x-region left_out",
        ]
    );
    assert_eq!(states(&document), ["unknown /a"]);
    let text = stage.rerun(&id, &[]);
    assert_eq!(text.code, 3);
    for told in [
        "hidden: header/authorization: the record has only its keyed hash; the request was not sent without it",
        "[[substitute]]",
        "--accept-hidden",
        "undecided: not sent",
    ] {
        assert!(text.stdout.contains(told), "{told}: {}", text.stdout);
    }
    assert_eq!(stage.candidate.seen(), before, "nothing was sent");

    // Somebody accepts that it is another request.
    let document = stage.document(&id, &["--accept-hidden"]);
    assert_eq!(
        hidden(&document)[..3],
        [
            "query/id as_hash",
            "header/host left_out",
            "header/authorization left_out"
        ]
    );
    stage.candidate.last(|request| {
        assert!(
            request.target.starts_with("/items/1?page=2&id=hmac:"),
            "{}",
            request.target
        );
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("accept-language"), Some("de"));
    });

    // The operator has values. One service says what it got: under no name, in no output.
    stage.place.write(
        "parity.toml",
        "[[substitute]]\nput = \"header:authorization\"\nenv = \"OUR_TOKEN\"\nas = \"Bearer {}\"\n\n\
         [[substitute]]\nput = \"query:id\"\nfile = \"id.txt\"\n",
    );
    stage.place.write("id.txt", "7\n");
    let (legacy, candidate) = (stage.legacy.url(), stage.candidate.url());
    let arguments = [
        "rerun",
        &*id,
        "--legacy",
        &legacy,
        "--candidate",
        &candidate,
    ];
    stage.candidate.answers(
        Answer::json(format!(
            r#"{{"a":1,"echo":"you are {SECRET}","all":["{SECRET}"]}}"#
        ))
        .header("server", SECRET),
    );
    for output in ["text", "json"] {
        let arguments = [&arguments[..], &["--output", output]].concat();
        let ended = stage
            .place
            .run_with(&arguments, &[("OUR_TOKEN", SECRET)], "");
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(ended.stdout.contains("/echo"), "{}", ended.stdout);
        for said in [&ended.stdout, &ended.stderr] {
            assert!(
                !said.contains(SECRET) && !said.contains("of-the-client"),
                "{said}"
            );
        }
    }
    stage.candidate.last(|request| {
        let authorization = format!("Bearer {SECRET}");
        assert_eq!(request.header("authorization"), Some(&*authorization));
        assert_eq!(request.target, "/items/1?page=2&id=7");
    });
    // Without the variable, it says which one.
    let ended = stage.rerun(&id, &[]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("OUR_TOKEN is not set"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_post_is_sent_only_after_a_second_yes_and_as_it_was() {
    for (media, body, sent) in [
        ("application/json", r#"{"n": 1.50}"#, r#"{"n": 1.50}"#),
        (
            "application/x-www-form-urlencoded",
            "b=1&a=x+y",
            "b=1&a=x%20y",
        ),
    ] {
        let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
        stage.place.write(
            "parity.toml",
            "[[route]]\nmatch = \"POST /orders\"\nshadow = true\n",
        );
        let headers = [("content-type", media)];
        let id = stage.recorded(("POST", "/orders", &headers, body.as_bytes()));
        stage.place.write("parity.toml", "");
        let before = stage.candidate.seen();
        let document = stage.document(&id, &[]);
        assert_eq!(
            (&document["reason"], &document["sent"]),
            (&json!("unsafe_method"), &json!(false)),
            "{media}"
        );
        let text = stage.rerun(&id, &[]);
        assert!(text.stdout.contains("--allow-unsafe"), "{}", text.stdout);
        assert_eq!(stage.candidate.seen(), before, "nothing was sent");
        let ended = stage.rerun(&id, &["--allow-unsafe"]);
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("do again what it did"),
            "{}",
            ended.stderr
        );
        stage.candidate.last(|request| {
            assert_eq!(String::from_utf8_lossy(&request.body), sent, "{media}");
            assert_eq!(request.header("content-type"), Some(media));
        });
    }
}

#[test]
fn a_body_that_is_not_there_whole_is_never_sent() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    stage.place.write(
        "parity.toml",
        "[[route]]\nmatch = \"POST /x\"\nshadow = true\n",
    );
    let body = format!("{{\"text\":\"{}\"}}", "x".repeat(100_000));
    let headers = [("content-type", "application/json")];
    let id = stage.recorded(("POST", "/x", &headers, body.as_bytes()));
    let before = stage.legacy.seen();
    let document = stage.document(&id, &["--accept-hidden", "--allow-unsafe"]);
    assert_eq!(document["reason"], "hidden");
    assert_eq!(document["hidden"][1]["part"], "body", "{document}");
    assert_eq!(document["hidden"][1]["why"], "cut", "{document}");
    assert_eq!(stage.legacy.seen(), before);
    let text = stage.rerun(&id, &[]);
    assert!(!text.stdout.contains("--accept-hidden"), "{}", text.stdout);
}

fn post(mirror: &Mirror<'_>, path: &str, headers: &[(&str, &str)]) -> Got {
    client::send(mirror.admin, "POST", path, headers, b"")
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
    let answer = post(&mirror, &path, &[]);
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
    let page = post(&mirror, &format!("/mismatches/{id}/rerun"), &[]);
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
    let page = post(&mirror, &again, &[]).text();
    assert!(page.contains("still</strong>"), "{page}");
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
    let answer = post(&mirror, &format!("/mismatches/{id}/rerun"), &[]);
    assert_eq!(answer.status, 200);
    let policy = answer.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    let page = answer.text();
    for told in [
        "gone</strong>",
        "new</strong>",
        "Legacy now",
        &format!("href=\"/mismatches/{id}\""),
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    for raw in ["<script", "<img src=x", "<i>k", "\u{1b}", "\u{202e}"] {
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
            assert_eq!(answer.json()["outcome"], "equal", "{}", answer.text());
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
