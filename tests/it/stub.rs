//! `parity stub`: what two sides call is answered, paired and compared, over real sockets.

mod hostile;
mod paired;
mod played;
mod proven;

use std::fs::File;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use parity_schemas::stub::{StubDocument, StubOutcome};

use crate::support::process::{Ended, Place};
use crate::support::{client, root, schema, wait_for};

const ANSWERS: &str = "[[answer]]\nmatch = \"POST /totals\"\nstatus = 202\nheaders = [\"content-type: application/json\", \"x-of: the file\"]\nbody = '{\"accepted\":true}'\n[[answer]]\nmatch = \"GET /users/{id}\"\nbody = \"one\"\n";
const JSON: (&str, &str) = ("content-type", "application/json");

/// A stub that runs.
struct Stub<'a> {
    place: &'a Place,
    child: Child,
    legacy: SocketAddr,
    candidate: SocketAddr,
}

impl<'a> Stub<'a> {
    fn canned(place: &'a Place, more: &[&str]) -> Self {
        place.write("answers.toml", ANSWERS);
        Self::start(place, &[&["--answers", "answers.toml"], more].concat())
    }

    fn start(place: &'a Place, more: &[&str]) -> Self {
        Self::start_with(place, more, |command| command)
    }

    /// Starts it with so few descriptors.
    fn limited(place: &'a Place, descriptors: u64) -> Self {
        place.write("answers.toml", ANSWERS);
        let first = format!("ulimit -n {descriptors}");
        let more = ["--answers", "answers.toml"];
        Self::start_with(place, &more, |command| place.under(&first, command))
    }

    fn start_with(
        place: &'a Place,
        more: &[&str],
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let mut arguments = vec![
            "stub",
            "--legacy-listen",
            "127.0.0.1:0",
            "--candidate-listen",
            "127.0.0.1:0",
            "--output",
            "json",
        ];
        // Long enough for any machine between two calls, and what waits in the end waits so long.
        if !more.contains(&"--wait") {
            arguments.extend(["--wait", "4s"]);
        }
        if !more.contains(&"--min-calls") {
            arguments.extend(["--min-calls", "1"]);
        }
        arguments.extend(more);
        let file = |name| File::create(place.path().join(name)).expect("a file");
        let mut command = place.command(&arguments);
        change(&mut command)
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"));
        let child = command.spawn().expect("parity can be started");
        let announced = |words: &str| {
            wait_for(words, || {
                let log = std::fs::read_to_string(place.path().join("stderr")).expect("readable");
                let rest = log.split(words).nth(1)?;
                rest.split([' ', '\n']).next()?.parse().ok()
            })
        };
        let candidate = announced("calls of the candidate on http://");
        Self {
            place,
            child,
            legacy: announced("calls of the legacy on http://"),
            candidate,
        }
    }

    fn totals(address: SocketAddr, headers: &[(&str, &str)], body: &str) -> client::Answer {
        client::send(
            address,
            "POST",
            "/totals",
            &[&[JSON], headers].concat(),
            body.as_bytes(),
        )
    }

    /// The same call of both sides.
    fn both(&self, headers: &[(&str, &str)], [legacy, candidate]: [&str; 2]) {
        assert_eq!(Self::totals(self.legacy, headers, legacy).status, 202);
        assert_eq!(Self::totals(self.candidate, headers, candidate).status, 202);
    }

    /// Sends a signal by name.
    fn signal(&self, name: &str) {
        let told = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status();
        assert!(told.expect("kill can be run").success());
    }

    /// Ends it, when all that waits has had its time.
    fn stop(self) -> (Ended, StubDocument) {
        self.signal("TERM");
        self.ended()
    }

    /// Ends it, and does not wait for what waits.
    fn cut(self) -> (Ended, StubDocument) {
        self.signal("TERM");
        self.signal("INT");
        self.ended()
    }

    fn ended(mut self) -> (Ended, StubDocument) {
        let status = wait_for("the end of the stub", || {
            self.child.try_wait().expect("it can be asked")
        });
        let read = |name| std::fs::read_to_string(self.place.path().join(name)).expect("readable");
        let ended = Ended {
            code: status.code().unwrap_or(-1),
            stdout: read("stdout"),
            stderr: read("stderr"),
        };
        let whole = std::fs::read_to_string(root().join("schemas/json/stub.v1.json"));
        let whole = serde_json::from_str(&whole.expect("committed")).expect("JSON");
        assert_eq!(schema::wrong(&whole, &whole, &ended.json()), [""; 0]);
        let document: StubDocument = serde_json::from_value(ended.json()).expect("of this type");
        // Each call that was seen is of a pair, alone, or told to be lost.
        let not_compared: u64 = document.not_compared.values().sum();
        let limit = |name: &str| document.limits.get(name).copied().unwrap_or(0);
        let all = document.counts;
        let pairs = all.equal + all.differing + not_compared + limit("crowded");
        let alone = all.missing + all.extra + all.not_reached;
        let settled = 2 * pairs + alone + limit("waiting") + limit("unsettled");
        assert_eq!(all.legacy + all.candidate, settled, "{}", ended.stdout);
        assert_eq!(limit("internal"), 0, "{}", ended.stdout);
        let code = match document.outcome {
            StubOutcome::Pass => 0,
            StubOutcome::Fail => 1,
            StubOutcome::Undecided => 3,
        };
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
        (ended, document)
    }
}

impl Drop for Stub<'_> {
    fn drop(&mut self) {
        // A failed test must not leave a process behind; one that has ended is no error.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Calls that are not equal: outcome and URL.
fn calls(document: &StubDocument) -> Vec<String> {
    let calls = document.calls.iter();
    calls
        .map(|call| format!("{} {} {}", call.outcome, call.method, call.url))
        .collect()
}

fn counts(document: &StubDocument) -> [u64; 6] {
    let counts = &document.counts;
    [
        counts.legacy,
        counts.candidate,
        counts.equal,
        counts.differing,
        counts.missing,
        counts.extra,
    ]
}

#[test]
fn the_same_calls_in_other_words_are_equal_and_answered_from_the_file() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    for number in 0..5 {
        let id = format!("r-{number}");
        let body = format!("{{\"a\": {number}.0, \"b\":\"x\"}}");
        let one = client::send(
            stub.legacy,
            "POST",
            "/totals?a=1&b=%7E",
            &[
                JSON,
                ("user-agent", "Go-http-client/1.1"),
                ("x-request-id", &id),
                ("accept", "*/*"),
            ],
            body.as_bytes(),
        );
        let other = client::send(
            stub.candidate,
            "POST",
            "/totals?b=~&a=1",
            &[JSON, ("user-agent", "hyper"), ("x-request-id", &id)],
            format!("{{\"b\":\"\\u0078\",\"a\":{number}}}").as_bytes(),
        );
        assert_eq!(
            (one.status, one.text()),
            (202, "{\"accepted\":true}".to_owned())
        );
        assert_eq!(
            (one.status, &one.body, one.header("x-of")),
            (other.status, &other.body, other.header("x-of"))
        );
        assert_eq!(one.header("x-of"), Some("the file"));
    }
    for address in [stub.legacy, stub.candidate] {
        assert_eq!(client::get(address, "/users/7").text(), "one");
        assert_eq!(
            client::get(address, "/nobody").status,
            404,
            "the file has no answer"
        );
    }
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Pass, "{}", ended.stdout);
    assert_eq!(counts(&document), [7, 7, 7, 0, 0, 0], "{}", ended.stdout);
    assert_eq!(
        (document.answered["canned"], document.answered["no_answer"]),
        (12, 2)
    );
    let routes: Vec<&str> = document
        .routes
        .iter()
        .map(|route| route.route.as_str())
        .collect();
    assert_eq!(routes, ["GET /nobody", "GET /users/{id}", "POST /totals"]);
}

#[test]
fn rules_of_the_configuration_hold_for_calls() {
    let place = Place::new();
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"sent-at\"\nroute = \"POST /totals\"\npath = \"/sent_at\"\naction = \"ignore\"\n[[rule]]\nid = \"client\"\npart = \"header\"\npath = \"x-client\"\naction = \"ignore\"\n",
    );
    let stub = Stub::canned(&place, &[]);
    Stub::totals(
        stub.legacy,
        &[("x-client", "node")],
        "{\"sent_at\":1,\"total\":2}",
    );
    Stub::totals(
        stub.candidate,
        &[("x-client", "rust")],
        "{\"sent_at\":3,\"total\":2}",
    );
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Pass, "{}", ended.stdout);
}

#[test]
fn secrets_of_calls_are_nowhere() {
    const SECRET: &str = "hunter2hunter2";
    let place = Place::new();
    let stub = Stub::canned(&place, &["-v"]);
    for (address, more) in [(stub.legacy, "1"), (stub.candidate, "2")] {
        let token = format!("Bearer {SECRET}{more}");
        let body = format!(
            "{{\"password\":\"{SECRET}{more}\",\"card\":\"4111 1111 1111 1111\",\"total\":{more}}}"
        );
        let path = format!("/totals?token={SECRET}");
        client::send(
            address,
            "POST",
            &path,
            &[JSON, ("authorization", &token), ("cookie", &token)],
            body.as_bytes(),
        );
        let own = format!("/{SECRET}{more}/x?api_key={SECRET}{more}");
        client::send(
            address,
            "DELETE",
            &own.replace(&format!("/{SECRET}{more}/"), "/keys/"),
            &[("x-api-key", &token)],
            b"",
        );
        client::send(
            address,
            "POST",
            "/login",
            &[("content-type", "application/x-www-form-urlencoded")],
            format!("user=a&password={SECRET}{more}").as_bytes(),
        );
    }
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Fail);
    assert_eq!(document.counts.differing, 2, "{}", ended.stdout);
    for told in [&ended.stdout, &ended.stderr] {
        assert!(!told.contains(SECRET) && !told.contains("4111"), "{told}");
    }
    let names: Vec<&str> = document
        .groups
        .iter()
        .map(|group| group.pattern.as_str())
        .collect();
    for name in ["/password", "/total", "authorization"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn what_was_not_seen_is_no_pass() {
    let place = Place::new();
    let (ended, document) = Stub::canned(&place, &["--for", "100ms"]).ended();
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    assert_eq!(counts(&document), [0; 6]);
}

#[test]
fn wrong_usage_is_told_at_once_with_all_that_is_wrong() {
    let place = Place::new();
    place.write(
        "wrong.toml",
        "[[answer]]\nstatus = 99\n[[answer]]\nmatch = \"GET /a\"\nbdy = 1\n",
    );
    place.write("right.toml", ANSWERS);
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"a\"\npath = \"/a\"\naction = \"nothing\"\n",
    );
    place.write("none.toml", "");
    let ports = [
        "stub",
        "--legacy-listen",
        "127.0.0.1:0",
        "--candidate-listen",
        "127.0.0.1:0",
        "--for",
        "1ms",
    ];
    for (more, words) in [
        (
            ["--config", "none.toml"].as_slice(),
            ["--answers", "--upstream"].as_slice(),
        ),
        (
            &[
                "--config",
                "none.toml",
                "--answers",
                "right.toml",
                "--upstream",
                "http://127.0.0.1:1",
            ],
            &["cannot be used with"],
        ),
        (
            &["--config", "none.toml", "--answers", "wrong.toml"],
            &["wrong.toml:1:", "wrong.toml:5:", "did you mean `body`?"],
        ),
        (
            &["--config", "none.toml", "--answers", "absent.toml"],
            &["absent.toml"],
        ),
        (
            &[
                "--config",
                "none.toml",
                "--upstream",
                "http://127.0.0.1:1/path",
            ],
            &["http://HOST:PORT"],
        ),
        (&["--answers", "right.toml"], &["parity.toml:4:", "nothing"]),
        (
            &[
                "--config",
                "none.toml",
                "--answers",
                "right.toml",
                "--wait",
                "0s",
            ],
            &["no time"],
        ),
    ] {
        let ended = place.run(&[ports.as_slice(), more].concat());
        assert_eq!(ended.code, 2, "{more:?}: {}{}", ended.stdout, ended.stderr);
        for words in words {
            assert!(ended.stderr.contains(words), "{more:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn ports_that_cannot_be_had_are_named() {
    let place = Place::new();
    place.write("right.toml", ANSWERS);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("bound").to_string();
    for (legacy, candidate, words) in [
        (taken.as_str(), "127.0.0.1:0", taken.as_str()),
        ("127.0.0.1:9", "127.0.0.1:9", "a port of its own"),
    ] {
        let ended = place.run(&[
            "stub",
            "--legacy-listen",
            legacy,
            "--candidate-listen",
            candidate,
            "--answers",
            "right.toml",
        ]);
        assert!(
            ended.code == 2 && ended.stderr.contains(words),
            "{}",
            ended.stderr
        );
    }
}
