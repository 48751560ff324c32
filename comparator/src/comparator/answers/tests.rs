//! Times that two services read while they answer.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Verdict;

use super::*;
use crate::{Comparator, Limits, RuleConfig, Rules};

fn answer(body: &str, seconds: u64) -> Capture {
    Capture {
        status: 200,
        headers: [
            (CONTENT_TYPE, "application/json"),
            (
                http::HeaderName::from_static("x-at"),
                "2026-03-01T09:30:00Z",
            ),
        ]
        .into_iter()
        .collect(),
        body: body.as_bytes().to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::from_secs(seconds),
        elapsed: Duration::from_secs(seconds),
    }
}

fn verdict(bodies: [&str; 2], seconds: [u64; 2], asked_together: bool) -> Verdict {
    let rule = RuleConfig {
        id: "at".to_owned(),
        path: "/at".to_owned(),
        action: "tolerance".to_owned(),
        within: Some("5s".to_owned()),
        ..RuleConfig::default()
    };
    let time = Timestamp::from_micros(0);
    let rules = Rules::compile(&[rule], time).expect("a rule");
    let [legacy, candidate] = [0, 1].map(|side| answer(bodies[side], seconds[side]));
    let pair = AnswerPair {
        route: "POST /echo",
        method: &Method::POST,
        request: None,
        time,
        legacy: &legacy,
        candidate: &candidate,
        asked_together,
    };
    Comparator::new(Arc::new(rules), Limits::default())
        .compare_answers(pair)
        .verdict
}

/// A service that stalls reads its clock later. That is no fault of the other one, and no more than it stalled.
#[test]
fn a_tolerance_of_times_is_beyond_the_time_that_the_slower_answer_took() {
    let at = |second: u32| format!("{{\"at\":\"2026-03-01T09:30:{second:02}Z\"}}");
    for (second, seconds, asked_together, expected) in [
        (5, [0, 0], true, Verdict::Match),
        (6, [0, 0], true, Verdict::Mismatch),
        (13, [8, 0], true, Verdict::Match),
        (13, [0, 8], true, Verdict::Match),
        (14, [8, 0], true, Verdict::Mismatch),
        // Of saved answers, and of a first and a second one, nobody knows when they were asked for.
        (13, [8, 8], false, Verdict::Mismatch),
    ] {
        for sides in [[0, second], [second, 0]] {
            let [legacy, candidate] = sides.map(at);
            let found = verdict([&legacy, &candidate], seconds, asked_together);
            assert_eq!(found, expected, "{sides:?} {seconds:?} {asked_together}");
        }
    }
}
