//! What goes wrong around a controller's question: wrong calls, tokens and pages, restarts, crowds. Nothing of it is a yes.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::argo::Phase;
use super::flagger::Hook;
use super::{ENOUGH, TOKEN, VERSION, arguments, canary, is_no, place, send, template};
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::{Stop, client, wait_for};

const CONFIRM: &str = "/gate/flagger/confirm";
const ROLL_BACK: &str = "/gate/flagger/rollback";

/// A mirror whose record proves a pass, or a fail.
fn proven<'a>(place: &'a Place, passes: bool, more: &[&str]) -> (Mirror<'a>, [Service; 2]) {
    let services =
        [1, if passes { 1 } else { 2 }].map(|a| Service::json(&format!("{{\"a\":{a}}}")));
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &arguments(more));
    send(&mirror, if passes { ENOUGH } else { 40 });
    wait_for("a store", || {
        let measured = template().measure(mirror.admin);
        (measured.1 != Phase::Error).then_some(())
    });
    (mirror, services)
}

fn call(port: SocketAddr, target: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let answer = client::send(port, "POST", target, headers, body.as_bytes());
    (answer.status, answer.text())
}

/// A call with this metadata, besides the token.
fn body(metadata: &str) -> String {
    format!(
        "{{\"name\":\"payments\",\"namespace\":\"payments\",\"phase\":\"Progressing\",\"metadata\":{{\"token\":\"{TOKEN}\"{metadata}}}}}"
    )
}

#[test]
fn a_call_that_is_not_understood_is_no_yes_and_tells_no_token() {
    let place = place();
    let (passing, _kept) = proven(&place, true, &[]);
    let port = passing.admin;
    assert_eq!(call(port, CONFIRM, &[], &body("")).0, 200);
    let huge = format!(",\"since\":\"{}\"", "9".repeat(20 << 10));
    let bearer = format!("Bearer {TOKEN}");
    let known = [("authorization", bearer.as_str())];
    let cases: [(&str, &[(&str, &str)], String, u16, &str); 21] = [
        // Without the token, nothing is told of what is wrong.
        (CONFIRM, &[], "{}".to_owned(), 401, "needs a token"),
        (CONFIRM, &[], String::new(), 401, "needs a token"),
        (
            CONFIRM,
            &[],
            body("").replace(TOKEN, "wrong"),
            401,
            "needs a token",
        ),
        (
            CONFIRM,
            &[],
            body("").replace(TOKEN, ""),
            401,
            "needs a token",
        ),
        (
            CONFIRM,
            &[],
            body("").replace(TOKEN, &TOKEN[1..]),
            401,
            "needs a token",
        ),
        (
            CONFIRM,
            &known,
            body("").replace(TOKEN, "wrong"),
            401,
            "needs a token",
        ),
        (
            CONFIRM,
            &[("authorization", "Bearer wrong")],
            "{}".to_owned(),
            401,
            "needs a token",
        ),
        (
            CONFIRM,
            &[],
            format!("{{\"metadata\":{{\"token\":\"{TOKEN}\""),
            401,
            "needs a token",
        ),
        (
            CONFIRM,
            &known,
            format!("{{\"metadata\":{{\"token\":\"{TOKEN}\""),
            400,
            "line 1, column",
        ),
        (
            CONFIRM,
            &known,
            format!("{{\"metadata\":\"{TOKEN}\"}}"),
            400,
            "not a JSON object",
        ),
        (CONFIRM, &known, String::new(), 400, "not a JSON object"),
        (CONFIRM, &known, "[]".to_owned(), 400, "not a JSON object"),
        (
            CONFIRM,
            &known,
            body(",\"min_requests\":1"),
            400,
            "not a JSON object",
        ),
        (
            CONFIRM,
            &[],
            body(",\"max_mismatch_rat\":\"1\""),
            400,
            "did you mean `max_mismatch_rate`?",
        ),
        (
            CONFIRM,
            &[],
            body(",\"max-mismatch-rate\":\"1\""),
            400,
            "did you mean `max_mismatch_rate`?",
        ),
        (
            CONFIRM,
            &[],
            body(",\"max_mismatch_rate\":\"2\""),
            400,
            "`2` is not a share",
        ),
        (
            CONFIRM,
            &[],
            body(",\"since\":\"1h\",\"since\":\"2h\""),
            400,
            "more than once",
        ),
        (
            "/gate/flagger/confirm?token=x",
            &[],
            body(""),
            400,
            "an address is logged",
        ),
        (
            "/gate/flagger/confirm?since=1h",
            &[],
            body(",\"since\":\"2h\""),
            400,
            "more than once",
        ),
        (
            CONFIRM,
            &[],
            body("").replace("\"phase\"", "\"type\":\"rollback\",\"phase\""),
            400,
            "would roll back",
        ),
        (CONFIRM, &known, body(&huge), 400, "more than 16384 bytes"),
    ];
    for (target, headers, body, status, told) in &cases {
        for target in [(*target).to_owned(), target.replace(CONFIRM, ROLL_BACK)] {
            // The type of a webhook is wrong at one of the two only.
            if body.contains("\"type\"") && target == ROLL_BACK {
                continue;
            }
            let (answered, text) = call(port, &target, headers, body);
            assert_eq!(answered, *status, "{target} {body}: {text}");
            assert!(text.contains(told), "{target} {body}: {text}");
            assert!(!text.contains(TOKEN) && text.lines().count() == 1, "{text}");
        }
    }
    // A webhook of another type must not take a fail for its yes.
    let other = body("").replace("\"phase\"", "\"type\":\"confirm-promotion\",\"phase\"");
    assert_eq!(call(port, ROLL_BACK, &[], &other).0, 400);
    assert_eq!(call(port, CONFIRM, &[], &other).0, 200);
    // No other method, and no other path near by.
    for (method, target, status) in [
        ("GET", CONFIRM, 405),
        ("PUT", CONFIRM, 405),
        ("GET", ROLL_BACK, 405),
        ("POST", "/gate/flagger", 401),
        ("POST", "/gate/flagger/confirm/", 401),
    ] {
        let answer = client::send(port, method, target, &[], body("").as_bytes());
        assert_eq!(answer.status, status, "{method} {target}");
    }
    // A page in a browser says where it comes from, and is refused whatever it sends.
    let foreign = [("origin", "http://evil.example")];
    for target in [CONFIRM, ROLL_BACK, "/api/v1/gate"] {
        let headers = [foreign[0], known[0]];
        let (status, _) = call(port, target, &headers, &body(""));
        assert_eq!(status, 403, "{target}");
    }
    // A body that never ends is not waited for.
    let begun = Instant::now();
    let mut slow = client::Connection::open(port);
    slow.send("POST", CONFIRM, &[("content-length", "100")], b"");
    assert_eq!(slow.answer("POST").expect("an answer").status, 400);
    assert!(begun.elapsed() < Duration::from_secs(8));
    let log = passing.log();
    assert!(!log.contains(TOKEN), "{log}");
    passing.stop();
}

#[test]
fn a_wrong_token_is_an_error_to_argo_and_no_yes_to_flagger() {
    let place = place();
    let (failing, _kept) = proven(&place, false, &[]);
    let wrong = super::Template::with(&[("candidate-version", VERSION), ("token", "wrong")]);
    let (value, phase) = wrong.measure(failing.admin);
    assert_eq!(phase, Phase::Error, "{value}");
    for hook in canary().with("token", "wrong").ask(failing.admin) {
        assert!(
            matches!(&hook, Hook::No(why) if why.contains("metadata.token")),
            "{hook:?}"
        );
    }
    failing.stop();
}

#[test]
fn a_mirror_that_restarts_says_no_yes_that_is_not_proven() {
    for passes in [true, false] {
        let place = place();
        // An address of its own: on the usual one, a connection that is refused could take the port.
        let free = TcpListener::bind("127.0.0.77:0").expect("a free port");
        let port = free.local_addr().expect("bound");
        drop(free);
        let admin = port.to_string();
        let (mut mirror, services) = proven(&place, passes, &[]);
        let over = AtomicBool::new(false);
        let (mirror, asked) = std::thread::scope(|scope| {
            let _stop = Stop(&over);
            let polling = scope.spawn(|| {
                let (template, canary) = (template(), canary());
                let (mut answered, mut refused) = (0, 0);
                while !over.load(Ordering::Relaxed) {
                    let (value, phase) = template.measure(port);
                    let [begin, promote, roll_back] = canary.ask(port);
                    if passes {
                        assert_ne!(phase, Phase::Failed, "{value}");
                        assert!(is_no(&roll_back), "{value}");
                    } else {
                        assert_ne!(phase, Phase::Successful, "{value}");
                        assert!(is_no(&begin) && is_no(&promote), "{value}");
                    }
                    match phase {
                        Phase::Error => refused += 1,
                        _ => answered += 1,
                    }
                }
                (answered, refused)
            });
            for end in ["TERM", "KILL"] {
                mirror.signal(end);
                mirror.ended();
                let mut command = place.command(&[
                    "mirror",
                    "--legacy",
                    &services[0].url(),
                    "--candidate",
                    &services[1].url(),
                    "--listen",
                    "127.0.0.1:0",
                    "--admin",
                    &admin,
                ]);
                command.args(arguments(&[])).env("PARITY_INSTANCE", "test");
                mirror = place.start(&mut command);
                mirror.address = mirror.announced("listening on http://");
                mirror.admin = mirror.announced("admin port on http://");
                send(&mirror, 20);
                wait_for("an answer of the new mirror", || {
                    let (_, phase) = template().measure(port);
                    (phase != Phase::Error).then_some(())
                });
            }
            over.store(true, Ordering::Relaxed);
            (mirror, polling.join().expect("no yes"))
        });
        assert!(asked.0 > 0 && asked.1 > 0, "{asked:?}");
        mirror.stop();
    }
}

#[test]
fn a_crowd_of_controllers_is_answered_in_time() {
    let place = place();
    let (mirror, _kept) = proven(&place, true, &[]);
    let port = mirror.admin;
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..24)
            .map(|_| {
                scope.spawn(move || {
                    let bearer = format!("Bearer {TOKEN}");
                    let headers = [("authorization", bearer.as_str())];
                    client::send(port, "GET", "/api/v1/gate", &headers, b"").json()
                })
            })
            .collect();
        let answers = asking
            .into_iter()
            .map(|asked| asked.join().expect("answered"));
        answers
            .map(|answer| answer["decision_id"].to_string())
            .collect()
    });
    assert!(ids.len() <= 6, "they share decisions: {ids:?}");
    // Equal questions share a decision; different ones wait for a place. Connections are few, so some wait before that.
    for different in [false, true] {
        std::thread::scope(|scope| {
            let asking: Vec<_> = (0..24)
                .map(|number| {
                    scope.spawn(move || {
                        let rate = if different { number + 2 } else { 2 };
                        let canary = canary().with("max_mismatch_rate", &format!("0.{rate:03}"));
                        canary.call("confirm-rollout", port)
                    })
                })
                .collect();
            for asked in asking {
                assert_eq!(asked.join().expect("answered"), Hook::Yes);
            }
        });
    }
    // Probes are answered meanwhile, and clients do not notice.
    assert_eq!(mirror.ask("/readyz").status, 200);
    assert_eq!(mirror.get("/items/1").status, 200);
    mirror.stop();
}
