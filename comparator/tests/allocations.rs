//! What a comparison allocates: nothing for what is equal, and in proportion to its findings for what is not.
//!
//! A separate binary, because the counting allocator applies to the whole process.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use http::Method;
use http::header::{CONTENT_TYPE, DATE, ETAG};
use parity_comparator::rules::Profile;
use parity_comparator::{AnswerPair, Comparator, Limits, Rules};
use parity_schemas::exchange::Capture;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Verdict;

fn capture(body: &str, fields: [&str; 3]) -> Capture {
    let names = [CONTENT_TYPE, DATE, ETAG];
    Capture {
        status: 200,
        headers: names.into_iter().zip(fields).collect(),
        body: body.as_bytes().to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

/// How often a comparison allocates once its memory is large enough, and its verdict.
fn allocations(rules: Rules, [legacy, candidate]: [&Capture; 2]) -> (u64, Verdict) {
    let mut comparator = Comparator::new(Arc::new(rules), Limits::default());
    let mut compare = || {
        let pair = AnswerPair {
            asked_together: true,
            route: "GET /orders",
            method: &Method::GET,
            request: None,
            time: Timestamp::from_micros(0),
            legacy,
            candidate,
        };
        comparator.compare_answers(pair)
    };
    compare();
    let mut verdict = None;
    let counted = measure(|| verdict = Some(compare().verdict));
    (counted.count_total, verdict.expect("it ran"))
}

/// A list of orders with their keys in one order or the other, and different spellings of the same values.
fn orders(count: usize, backwards: bool) -> String {
    let mut out = String::from("[");
    for at in 0..count {
        let comma = if at > 0 { "," } else { "" };
        let members = if backwards {
            format!(r#""tags":["a",null],"n\u006fte":"a\u0026b","amount":{at}.5,"id":"o-{at}""#)
        } else {
            format!(r#""id":"o-{at}","amount":{at}.50,"note":"a&b","tags":[ "a" , null ]"#)
        };
        write!(out, "{comma}{{{members}}}").expect("memory");
    }
    out.push(']');
    out
}

fn profile() -> Rules {
    let rules = Profile::named("go-to-rust").expect("a profile").rules();
    Rules::compile(&rules, Timestamp::default()).expect("it compiles")
}

#[test]
fn equal_answers_allocate_nothing() {
    const JSON: &str = "application/json";
    const EXPRESS: &str = "application/json; charset=utf-8";
    let wide = |backwards: bool| {
        let key = |at: usize| format!("\"key{at}\":{at}");
        let keys: Vec<String> = if backwards {
            (0..500).rev().map(key).collect()
        } else {
            (0..500).map(key).collect()
        };
        format!("{{{}}}", keys.join(","))
    };
    let documents = [
        ("one order", orders(1, false), orders(1, true)),
        (
            "two thousand orders",
            orders(2_000, false),
            orders(2_000, true),
        ),
        ("an object of 500 keys", wide(false), wide(true)),
    ];
    for (name, legacy, candidate) in &documents {
        let legacy = capture(legacy, [JSON, "Thu, 01 Jan 2026 00:00:00 GMT", "\"a\""]);
        for (candidate, content_type) in [(candidate, JSON), (candidate, EXPRESS)] {
            // By default a clock may be slightly off, and an ETag counts only by its presence.
            let fields = [content_type, "Thu, 01 Jan 2026 00:00:09 GMT", "\"b\""];
            let candidate = capture(candidate, fields);
            for rules in [Rules::default(), profile()] {
                let (count, verdict) = allocations(rules, [&legacy, &candidate]);
                assert_eq!(verdict, Verdict::Match, "{name}");
                // Two media types that are spelt differently are parsed; the bodies are not.
                let allowed = if content_type == JSON { 0 } else { 16 };
                assert!(
                    count <= allowed,
                    "{name}, {content_type}: {count} allocations"
                );
            }
        }
    }
}

#[test]
fn what_differs_allocates_for_its_findings_only() {
    let fields = ["application/json", "Thu, 01 Jan 2026 00:00:00 GMT", "\"a\""];
    let legacy = capture(&orders(2_000, false), fields);
    let with = |findings: usize| {
        // An escaped key costs two more wherever it is looked for; nobody escapes keys.
        let changed = orders(2_000, true)
            .replace("\\u006f", "o")
            .replacen("\"a\"", "\"b\"", findings);
        let candidate = capture(&changed, fields);
        let (count, verdict) = allocations(Rules::default(), [&legacy, &candidate]);
        assert_eq!(verdict, Verdict::Mismatch);
        count
    };
    let (one, many) = (with(1), with(201));
    // A mismatch also lists what was tolerated, each with a path and a reason; beyond that, the growth of a few lists.
    let listed = 5 * Limits::default().tolerated as u64;
    assert!(one < listed + 100, "{one} allocations for one finding");
    // Two paths, two values, the search for an explanation, and for each changed element its id.
    assert!((many - one) / 200 < 64, "{one} for 1, {many} for 201");
}
