//! Answers of the candidate that do not fit into the byte budget: they may be too large because they are wrong, so none of them is
//! passed over in silence.

use crate::support::client::Connection;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// To prove 0.1 % at 95 % without a difference takes 3,787.
const REQUESTS: u32 = 4_000;
/// One in so many is answered otherwise by the candidate: five times what is allowed.
const WRONG: u32 = 200;
/// More than `limits.shadow_bytes` of the test, and less than `limits.body`.
const LARGE: usize = 2 << 20;

fn service(wrong: u16) -> Service {
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(LARGE));
    Service::start(move |request| {
        let (status, body) = if request.target.ends_with("?wrong") && wrong > 0 {
            (wrong, large.as_str())
        } else {
            (200, "{\"a\":1}")
        };
        Answer::new(status, body).header("content-type", "application/json")
    })
}

#[test]
fn a_wrong_answer_that_is_too_large_for_the_budget_is_no_pass() {
    for (status, code, told) in [
        (
            200,
            3,
            "20 answers of the candidate did not fit into limits.shadow_bytes",
        ),
        // What differs in the head counts as ever.
        (500, 1, "20 of 4,000 compared requests differ"),
    ] {
        let place = Place::new();
        place.write(
            "parity.toml",
            "[limits]\nshadow_bytes = \"1MiB\"\nbody = \"4MiB\"\n",
        );
        let checked = place.run(&["config", "check"]);
        assert!(
            checked
                .stderr
                .contains("cannot hold the request and the two answers"),
            "{}{}",
            checked.stdout,
            checked.stderr
        );
        let (legacy, candidate) = (service(0), service(status));
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
        let mut connection = Connection::open(mirror.address);
        for number in 0..REQUESTS {
            let target = if number % WRONG == 0 {
                "/a?wrong"
            } else {
                "/a"
            };
            connection.send("GET", target, &[], b"");
            assert_eq!(connection.answer("GET").expect("answered").status, 200);
        }
        mirror.stop();
        let ended = place.run(&["gate"]);
        assert_eq!(ended.code, code, "{}", ended.stdout);
        let report = place.run(&["report"]).stdout;
        assert!(
            ended.stdout.contains(told) || report.contains(told),
            "{}\n{report}",
            ended.stdout
        );
    }
}
