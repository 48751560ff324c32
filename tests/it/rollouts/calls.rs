//! Calls of Flagger's webhooks that are wrong: none of them is a yes, and no answer tells the token.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::faults::proven_in;
use super::{TOKEN, place};
use crate::servers::ClickHouse;
use crate::support::client;
use crate::support::process::Place;

const CONFIRM: &str = "/gate/flagger/confirm";
const ROLL_BACK: &str = "/gate/flagger/rollback";

/// A call's query, Authorization and body, and the status and words of the answer.
struct Case {
    query: &'static str,
    authorization: Option<String>,
    body: String,
    status: u16,
    told: &'static str,
}

impl Case {
    fn new(status: u16, told: &'static str, body: impl Into<String>) -> Self {
        Self {
            query: "",
            authorization: None,
            body: body.into(),
            status,
            told,
        }
    }

    /// With the token in a header.
    fn known(self) -> Self {
        self.with(TOKEN)
    }

    fn with(self, token: &str) -> Self {
        Self {
            authorization: Some(format!("Bearer {token}")),
            ..self
        }
    }

    fn asked(self, query: &'static str) -> Self {
        Self { query, ..self }
    }

    fn send(&self, port: SocketAddr, path: &str) {
        let headers = self
            .authorization
            .iter()
            .map(|value| ("authorization", value.as_str()));
        let headers: Vec<_> = headers.collect();
        let target = format!("{path}{}", self.query);
        let answer = client::send(port, "POST", &target, &headers, self.body.as_bytes());
        let (text, of) = (answer.text(), format!("{target} {}", self.body));
        assert_eq!(answer.status, self.status, "{of}: {text}");
        assert!(text.contains(self.told), "{of}: {text}");
        assert!(
            !text.contains(TOKEN) && text.lines().count() == 1,
            "{of}: {text}"
        );
    }
}

/// A call with this metadata, besides a token.
fn body(token: &str, metadata: &str) -> String {
    format!(
        "{{\"name\":\"payments\",\"namespace\":\"payments\",\"phase\":\"Progressing\",\"metadata\":{{\"token\":\"{token}\"{metadata}}}}}"
    )
}

fn of_type(kind: &str) -> String {
    let kind = format!("\"type\":\"{kind}\",\"phase\"");
    body(TOKEN, "").replace("\"phase\"", &kind)
}

/// Without the token, nothing is told of what is wrong.
fn unknown() -> Vec<Case> {
    let case = |body: &str| Case::new(401, "needs a token", body);
    let wrong = |body: &str| Case::new(401, "token of the webhook is wrong (metadata.token", body);
    let cut = format!("{{\"metadata\":{{\"token\":\"{TOKEN}\"");
    vec![
        case(""),
        case("{}"),
        case(&cut),
        wrong(&body("wrong", "")),
        case(&body("", "")),
        wrong(&body(TOKEN.trim_start_matches('a'), "")),
        wrong(&body("wrong", "")).known(),
        wrong("{}").with("wrong"),
        case("{}").with(""),
    ]
}

/// With it, what is wrong is told.
fn wrong() -> Vec<Case> {
    let misspelt = "did you mean `max_mismatch_rate`?";
    let case = |told, metadata: &str| Case::new(400, told, body(TOKEN, metadata));
    let raw = |told, body: &str| Case::new(400, told, body).known();
    let huge = format!(",\"since\":\"{}\"", "9".repeat(20 << 10));
    vec![
        raw("not a JSON object", ""),
        raw("not a JSON object", "[]"),
        raw(
            "not a JSON object",
            &format!("[\"rollback\",{{\"token\":\"{TOKEN}\"}}]"),
        ),
        raw(
            "not a JSON object",
            &format!("{{\"metadata\":\"{TOKEN}\"}}"),
        ),
        raw(
            "line 1, column",
            &format!("{{\"metadata\":{{\"token\":\"{TOKEN}\""),
        ),
        raw("more than 16384 bytes", &body(TOKEN, &huge)),
        case("metadata.min_requests is a number", ",\"min_requests\":1"),
        case("metadata.since is null", ",\"since\":null").known(),
        case("is not a share", ",\"max_mismatch_rate\":\"-0\""),
        case(misspelt, ",\"max_mismatch_rat\":\"1\""),
        case(misspelt, ",\"max-mismatch-rate\":\"1\""),
        case("`2` is not a share", ",\"max_mismatch_rate\":\"2\""),
        // With these every candidate would pass, or another build than that of the rollout be asked about.
        case("lets every candidate pass", ",\"max_mismatch_rate\":\"1\""),
        case(
            "lets every candidate pass",
            ",\"max_mismatch_rate\":\"1.00\"",
        ),
        case("lets every candidate pass", "").asked("?max_mismatch_rate=1"),
        case("names no build", ",\"candidate_version\":\"\""),
        case("names no build", ",\"candidate_version\":\" \""),
        case("names no migration", ",\"migration\":\"\""),
        case("is not a route", ",\"require_route\":\"\""),
        case("more than once", ",\"since\":\"1h\",\"since\":\"2h\""),
        case("more than once", ",\"since\":\"2h\"").asked("?since=1h"),
        case("an address is logged", "").asked("?token=x"),
        case("the answer is one line", ",\"brief\":\"true\""),
    ]
}

#[test]
fn a_call_that_is_not_understood_is_no_yes_and_tells_no_token() {
    let place = place();
    // Each of the two would say yes to a call that is understood.
    for passes in [true, false] {
        refuses(&place, passes, "sqlite:parity.db");
        std::fs::remove_file(place.path().join("parity.db")).expect("the store of this mirror");
    }
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn the_same_holds_of_a_record_in_clickhouse() {
    let server = ClickHouse::shared();
    for passes in [true, false] {
        let (database, place) = (server.database(), place());
        let url = database.url();
        let ended = place.run(&["schema", "apply", "--clickhouse", &url]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        refuses(&place, passes, &url);
    }
}

/// Calls to a mirror whose record in this store proves a pass, or a fail.
fn refuses(place: &Place, passes: bool, store: &str) {
    let (path, says_no) = if passes {
        (CONFIRM, ROLL_BACK)
    } else {
        (ROLL_BACK, CONFIRM)
    };
    let (mirror, _kept) = proven_in(place, passes, store);
    let port = mirror.admin;
    Case::new(200, ": ", body(TOKEN, "")).send(port, path);
    Case::new(409, ": ", body(TOKEN, "")).send(port, says_no);
    for case in unknown().iter().chain(&wrong()) {
        case.send(port, path);
    }
    // A webhook of another type must not take this yes for its own.
    let (own, other) = if passes {
        ("confirm-promotion", "rollback")
    } else {
        ("rollback", "confirm-promotion")
    };
    Case::new(200, ": ", of_type(own)).send(port, path);
    Case::new(400, "webhook of type rollback", of_type(other)).send(port, path);
    // No other method, no other path near by, and no page in a browser, whatever it sends.
    let whole = body(TOKEN, "");
    let asked = |method, target: &str, headers: &[(&str, &str)]| {
        client::send(port, method, target, headers, whole.as_bytes()).status
    };
    let bearer = format!("Bearer {TOKEN}");
    let foreign = [
        ("origin", "http://evil.example"),
        ("authorization", bearer.as_str()),
    ];
    let own = [("authorization", bearer.as_str())];
    for wrong in [
        "max_mismatch_rate=1",
        "candidate_version=",
        "require_route=",
    ] {
        for method in ["GET", "POST"] {
            let target = format!("/api/v1/gate?brief=true&{wrong}");
            assert_eq!(asked(method, &target, &own), 400, "{method} {target}");
        }
    }
    assert_eq!(asked("GET", "/api/v1/gate?brief=true", &own), 200);
    assert_eq!(asked("GET", path, &[]), 405);
    assert_eq!(asked("PUT", path, &[]), 405);
    assert_eq!(asked("POST", &format!("{path}/"), &[]), 401);
    assert_eq!(asked("POST", path, &foreign), 403);
    assert_eq!(asked("POST", "/api/v1/gate", &foreign), 403);
    // A body that never ends is not waited for.
    let begun = Instant::now();
    let mut slow = client::Connection::open(port);
    slow.send("POST", path, &[("content-length", "100")], b"");
    assert_eq!(slow.answer("POST").expect("an answer").status, 400);
    assert!(begun.elapsed() < Duration::from_secs(8));
    assert!(!mirror.log().contains(TOKEN), "{}", mirror.log());
    mirror.stop();
}
