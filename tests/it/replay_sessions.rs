//! Sessions and tokens of a replay: each service gets what it gave out itself, and nobody else learns of it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Request, Service};

/// What a service gives out and demands, beside what it answers to everybody.
const LOGIN: &str = r#"
[[route]]
match = "POST /login"
shadow = true
[[rule]]
id = "sid"
part = "header"
path = "set-cookie/sid"
action = "ignore"
"#;
/// The token of the recording becomes that of the service.
const TOKEN: &str = r#"
[[substitute]]
from = "POST /login"
take = "body:/data/stamp"
put = "header:authorization"
as = "Bearer {}"
"#;

/// A service that mints a token and a cookie at the login, of its own, and refuses those of others. `/odd` differs.
fn strict(name: &'static str, seen: &Arc<Mutex<Vec<String>>>) -> Service {
    let seen = Arc::clone(seen);
    Service::start(move |request| {
        let own = |what: &str| format!("{what}-Zq{name}Xw");
        if request.target == "/login" {
            return Answer::json(json!({"data": {"stamp": own("token")}}).to_string())
                .header("set-cookie", &format!("sid={}; Path=/", own("cookie")));
        }
        let sent = [request.header("authorization"), request.header("cookie")];
        let [token, cookie] = sent.map(|value| value.unwrap_or_default().to_owned());
        seen.lock()
            .expect("no panic")
            .push(format!("{} {token} {cookie}", request.target));
        if token != format!("Bearer {}", own("token"))
            || cookie != format!("a=1; sid={}", own("cookie"))
        {
            return Answer::new(401, "");
        }
        let odd = if request.target == "/odd" { name } else { "" };
        Answer::json(json!({"path": request.target, "odd": odd}).to_string())
    })
}

fn exchange(session: &str, method: &str, url: &str, headers: &Value) -> String {
    let line = json!({
        "schema": "parity.exchange/v1", "time": "2026-11-24T03:00:00.000000Z", "session": session,
        "method": method, "url": url, "headers": headers,
    });
    format!("{line}\n")
}

/// A login and what comes after it, as a client sent it long ago.
fn recording(sessions: usize) -> String {
    let old = json!([["authorization", "Bearer old"], ["cookie", "a=1; sid=old"]]);
    let mut lines = String::new();
    for session in 0..sessions {
        let session = session.to_string();
        lines += &exchange(&session, "POST", "/login", &json!([]));
        for url in ["/same", "/odd", "/same"] {
            lines += &exchange(&session, "GET", url, &old);
        }
    }
    lines
}

fn replay(place: &Place, legacy: &str, candidate: &str, more: &[&str]) -> Ended {
    let mut arguments = vec![
        "replay",
        "r.ndjson",
        "--legacy",
        legacy,
        "--candidate",
        candidate,
    ];
    arguments.extend(["--output", "json"]);
    arguments.extend(more);
    place.run(&arguments)
}

fn counts(ended: &Ended) -> [u64; 3] {
    let report = ended.json();
    ["received", "match", "mismatch"].map(|name| report[name].as_u64().expect("a number"))
}

#[test]
fn each_service_gets_the_token_and_the_cookie_that_it_gave_out() {
    const SESSIONS: usize = 20;
    let place = Place::new();
    let seen = Arc::default();
    let (legacy, candidate) = (strict("legacy", &seen), strict("candidate", &seen));
    place.write("parity.toml", [LOGIN, TOKEN].concat());
    place.write("r.ndjson", recording(SESSIONS));
    // Each mismatch is asked again, with the values of the service that is asked: else it would be refused.
    let arguments = ["replay", "r.ndjson", "--output", "json"];
    let (from, to) = (legacy.url(), candidate.url());
    let arguments = [
        &arguments[..],
        &["--legacy", &from, "--candidate", &to, "-vv"],
    ]
    .concat();
    let environment = [
        ("PARITY_RECHECK_RATE", "1000"),
        ("PARITY_RECHECK_DELAY", "1ms"),
    ];
    let ended = place.run_with(&arguments, &environment, "");
    let total = SESSIONS as u64;
    assert_eq!(
        counts(&ended),
        [4 * total, 2 * total, 2 * total],
        "{}{}",
        ended.stdout,
        ended.stderr
    );
    let report = ended.json();
    let groups = report["groups"].as_array().expect("a list").iter();
    let mut patterns: Vec<_> = groups.map(|group| group["pattern"].clone()).collect();
    patterns.sort_by_key(ToString::to_string);
    assert_eq!(patterns, ["/data/stamp", "/odd"], "{report}");
    let seen = seen.lock().expect("no panic");
    assert!(
        seen.len() > 6 * SESSIONS,
        "{}: nothing was asked again",
        seen.len()
    );
    for sent in seen.iter() {
        let of_legacy = "Bearer token-ZqlegacyXw a=1; sid=cookie-ZqlegacyXw";
        let of_candidate = "Bearer token-ZqcandidateXw a=1; sid=cookie-ZqcandidateXw";
        assert!(
            sent.ends_with(of_legacy) || sent.ends_with(of_candidate),
            "{sent}"
        );
    }
    assert!(
        ended
            .stderr
            .contains("put into 120 requests to one service"),
        "{}",
        ended.stderr
    );
}

#[test]
fn nothing_that_a_service_gave_out_is_left_behind() {
    let place = Place::new();
    let seen = Arc::default();
    let (legacy, candidate) = (strict("legacy", &seen), strict("candidate", &seen));
    place.write("parity.toml", [LOGIN, TOKEN].concat());
    place.write("r.ndjson", recording(1));
    // The tokens themselves differ, under a name that tells nothing, and are recorded as a difference.
    let ended = replay(&place, &legacy.url(), &candidate.url(), &["-vv"]);
    assert_eq!(
        counts(&ended),
        [4, 2, 2],
        "{}{}",
        ended.stdout,
        ended.stderr
    );
    let written = place.run(&["report", "--output", "json"]).stdout;
    let mut left = vec![
        ("stderr", ended.stderr.into_bytes()),
        ("stdout", ended.stdout.into_bytes()),
    ];
    left.push(("report", written.into_bytes()));
    for file in std::fs::read_dir(place.path()).expect("a directory") {
        let path = file.expect("an entry").path();
        left.push(("a file", std::fs::read(path).expect("it can be read")));
    }
    for (what, bytes) in &left {
        let found = String::from_utf8_lossy(bytes);
        for secret in ["ZqlegacyXw", "ZqcandidateXw"] {
            let before = found.split_once(secret).map(|(before, _)| before);
            let end = before.map(|before| before.chars().rev().take(80).collect::<String>());
            assert!(
                end.is_none(),
                "{what} has {secret} behind {end:?}, reversed"
            );
        }
    }
}

#[test]
fn without_a_rule_the_old_ones_are_sent_and_with_recorded_answers_the_candidate_has_its_own() {
    let place = Place::new();
    let seen = Arc::default();
    let (legacy, candidate) = (strict("legacy", &seen), strict("candidate", &seen));
    place.write("r.ndjson", recording(1));
    let ended = replay(
        &place,
        &legacy.url(),
        &candidate.url(),
        &["--cookies", "off"],
    );
    // Nothing logs in, and both refuse.
    assert_eq!(counts(&ended), [4, 3, 0], "{}", ended.stderr);
    let all = std::mem::take(&mut *seen.lock().expect("no panic"));
    assert!(
        all.iter()
            .all(|sent| sent.ends_with("Bearer old a=1; sid=old")),
        "{all:?}"
    );

    place.write("parity.toml", [LOGIN, TOKEN].concat());
    let mut lines = String::new();
    for line in recording(1).lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let body = if line["url"] == "/login" {
            json!({"data": {"stamp": "old"}})
        } else {
            json!({"path": line["url"], "odd": ""})
        };
        let headers = json!([
            ["content-type", "application/json"],
            ["set-cookie", "sid=old; Path=/"]
        ]);
        let headers = if line["url"] == "/login" {
            headers
        } else {
            json!([["content-type", "application/json"]])
        };
        line["response"] = json!({"status": 200, "headers": headers, "body": body.to_string()});
        writeln!(lines, "{line}").expect("memory");
    }
    place.write("r.ndjson", lines);
    let url = candidate.url();
    let arguments = [
        "replay",
        "r.ndjson",
        "--recorded-answers",
        "--candidate",
        &url,
        "--output",
        "json",
    ];
    let ended = place.run(&[&arguments[..], &["--migration", "recorded"]].concat());
    assert_eq!(
        counts(&ended),
        [4, 2, 2],
        "{}{}",
        ended.stdout,
        ended.stderr
    );
}

#[test]
fn values_of_files_and_variables_are_sent_and_never_shown() {
    let place = Place::new();
    let seen = Arc::<Mutex<HashMap<String, Vec<String>>>>::default();
    let service = |name: &'static str| {
        let seen = Arc::clone(&seen);
        Service::start(move |request: &Request| {
            let sent = format!(
                "{} {} {}",
                request.target,
                request.header("x-key").unwrap_or_default(),
                String::from_utf8_lossy(&request.body)
            );
            seen.lock()
                .expect("no panic")
                .entry(name.to_owned())
                .or_default()
                .push(sent);
            // It differs, so that all of it may be recorded.
            Answer::json(format!("{{\"of\":\"{name}\"}}"))
        })
    };
    let (legacy, candidate) = (service("legacy"), service("candidate"));
    place.write("key", "ZqFileXw\n");
    let rules = r#"
[redact]
keep_headers = ["x-key"]
[[substitute]]
put = "header:x-key"
file = "key"
to = ["* /{*all}"]
[[substitute]]
put = "body:/card"
env = "A_CARD"
service = "candidate"
[[substitute]]
put = "query:t"
env = "A_CARD"
[[substitute]]
put = "header:x-unused"
file = "key"
"#;
    place.write("parity.toml", rules);
    let line = json!({
        "schema": "parity.exchange/v1", "time": "2026-11-24T03:00:00.000000Z", "method": "GET", "url": "/a?t=hmac:1",
        "headers": [["content-type", "application/json"], ["x-other", "hmac:2"]], "body": "{\"card\":\"hmac:3\",\"n\":1.0}",
        "hidden": ["query/t", "header/x-other", "body/card", "body/::error::##[x]\u{1b}"],
    });
    place.write("r.ndjson", format!("{line}\n"));
    let (from, to) = (legacy.url(), candidate.url());
    let arguments = [
        "replay",
        "r.ndjson",
        "--legacy",
        &from,
        "--candidate",
        &to,
        "-vv",
    ];
    let unset = place.run(&arguments);
    assert_eq!(unset.code, 2);
    assert!(
        unset
            .stderr
            .contains("the environment variable A_CARD is not set"),
        "{}",
        unset.stderr
    );
    let ended = place.run_with(&arguments, &[("A_CARD", "Zq Env&Xw")], "");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let seen = seen.lock().expect("no panic");
    assert_eq!(
        seen["legacy"],
        ["/a?t=Zq%20Env%26Xw ZqFileXw {\"card\":\"hmac:3\",\"n\":1.0}"]
    );
    assert_eq!(
        seen["candidate"],
        ["/a?t=Zq%20Env%26Xw ZqFileXw {\"card\":\"Zq Env&Xw\",\"n\":1.0}"]
    );
    for told in [
        "warning: header:x-unused at parity.toml:15:1 never applied: no request that was sent has this part",
        "header/x-other (1)",
        "1 request was sent without what the recording hides",
    ] {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    assert!(
        !ended.stderr.contains(['\u{1b}']) && !ended.stderr.contains("##["),
        "{}",
        ended.stderr
    );
    for (what, text) in [("stderr", &ended.stderr), ("stdout", &ended.stdout)] {
        assert!(
            !text.contains("ZqFileXw") && !text.contains("Env&Xw"),
            "{what}: {text}"
        );
    }
    let shown = place.run(&["config", "show"]).stdout + &place.run(&["config", "check"]).stderr;
    assert!(!shown.contains("ZqFileXw"), "{shown}");
}

#[test]
fn a_substitute_that_cannot_be_meant_is_an_error_with_its_line() {
    let place = Place::new();
    for (table, told) in [
        ("put = \"header:a\"", "takes its value from one place"),
        ("file = \"a\"", "needs `put`"),
        (
            "put = \"header:a\"\nfile = \"a\"\nenv = \"B\"",
            "takes its value from one place",
        ),
        (
            "put = \"header:a\"\nfrom = \"POST /login\"",
            "from: needs `take` beside it",
        ),
        (
            "put = \"header:a\"\nfrom = \"/login\"\ntake = \"body:/a\"",
            "is not METHOD /path",
        ),
        (
            "put = \"header:a\"\nfrom = \"GET /\"\ntake = \"query:a\"",
            "answers have no such part",
        ),
        (
            "put = \"header:a\"\nenv = \"A\"\nas = \"Bearer\"",
            "no place for the value",
        ),
        (
            "put = \"header:content-length\"\nenv = \"A\"",
            "cannot be set",
        ),
        (
            "put = \"header:a\"\nenv = \"PARITY_A\"",
            "no name of a variable",
        ),
        (
            "put = \"header:a\"\nenv = \"A\"\nservice = \"both\"",
            "no such service",
        ),
        (
            "put = \"header:a\"\nenv = \"A\"\nvalue = \"x\"",
            "unknown key `value`",
        ),
        ("put = \"header:a\"\nenv = \"A\"\nto = [\"GET a\"]", "to: "),
    ] {
        place.write("parity.toml", format!("[[substitute]]\n{table}\n"));
        let ended = place.run(&["config", "check"]);
        assert_eq!(ended.code, 2, "{table}: {}{}", ended.stdout, ended.stderr);
        let all = ended.stdout + &ended.stderr;
        assert!(
            all.contains(told) && all.contains("parity.toml:"),
            "{told}: {all}"
        );
    }
}
