//! A page of a load with names and texts that are hostile.

use std::collections::BTreeMap;

use parity_schemas::metrics::MetricsOutcome;
use parity_schemas::stress::{
    LoadAnswers, LoadDifference, LoadGenerator, LoadRequests, LoadRun, LoadValue, STRESS_SCHEMA,
    StressDemands, StressTable, StressVerdict,
};

use super::*;

fn run(p99: f64, cpu: f64) -> LoadRun {
    let value = |value| LoadValue {
        value,
        source: "load".to_owned(),
    };
    LoadRun {
        verdict: StressVerdict::Held,
        why: None,
        due: 1_000,
        statuses: [("2xx".to_owned(), 990), ("4xx".to_owned(), 5)].into(),
        throttled: 0,
        failures: [("refused".to_owned(), 5)].into(),
        unsent: 0,
        besides: 0,
        latency: [("p99".to_owned(), p99)].into(),
        lateness: 0.0001,
        most_open: 3,
        generator_cpu: Some(0.2),
        values: [
            (Measure::P50, value(p99 / 2.0)),
            (Measure::P99, value(p99)),
            (Measure::Cpu, value(cpu)),
        ]
        .into(),
    }
}

fn side(target: &str, factor: f64) -> StressSide {
    let step = |rate: u32| StressStep {
        rate,
        verdict: StressVerdict::Held,
        why: None,
        runs: vec![run(0.01 * factor, factor), run(0.02 * factor, factor)],
    };
    StressSide {
        target: target.to_owned(),
        sustained: Some(200),
        broken: None,
        why: Some("at 400/s: <b>slow</b>\u{202e}".to_owned()),
        steps: vec![step(100), step(200)],
        notes: vec!["<script>alert(1)</script>".to_owned()],
    }
}

fn document() -> StressDocument {
    StressDocument {
        schema: STRESS_SCHEMA.to_owned(),
        outcome: MetricsOutcome::Pass,
        judged: true,
        reasons: Vec::new(),
        interrupted: false,
        seconds: 10.0,
        demands: StressDemands {
            p99: 0.1,
            errors: 0.01,
            answered: 0.95,
            window: 1.0,
            warm_up: 0.0,
            repeats: 2,
        },
        requests: LoadRequests {
            source: "GET /a\"><img src=x>/{id}".to_owned(),
            requests: 16_000,
            left_out: BTreeMap::new(),
            unreadable: 0,
        },
        legacy: side("http://127.0.0.1:1", 2.0),
        candidate: side("http://127.0.0.1:2", 1.0),
        tables: vec![StressTable {
            rates: [200, 200],
            verdicts: None,
            measures: Vec::new(),
        }],
        cost: None,
        answers: Some(LoadAnswers {
            asked: 3,
            equal: 2,
            differing: 1,
            allowed: 0.0,
            differences: vec![LoadDifference {
                route: "GET /<i>".to_owned(),
                place: "body /a value".to_owned(),
                count: 1,
            }],
            ..LoadAnswers::default()
        }),
        thresholds: Vec::new(),
        generator: LoadGenerator::default(),
    }
}

#[test]
fn a_page_stands_alone_and_nothing_from_elsewhere_is_markup() {
    let page = stress(&document()).expect("a page");
    for hostile in [
        "<script",
        "<img",
        "<b>",
        "<i>",
        "\u{202e}",
        "http-equiv=\"refresh",
    ] {
        assert!(!page.contains(hostile), "{hostile}");
    }
    for word in [
        "default-src &#39;none&#39;",
        "default-src 'none'",
        "GET /a&#34;&#62;&#60;img src=x&#62;/{id}: 16,000 requests",
        "1,980 2xx, 10 4xx",
        "10 refused",
        "holds 200/s",
        "legacy p99 at 100/s: 30 ms (20 ms to 40 ms)",
    ] {
        let is_either = word.starts_with("default-src");
        assert!(is_either || page.contains(word), "{word} in {page}");
    }
    assert!(!page.contains("href=\"/assets"), "it asks for nothing");
}

#[test]
fn a_chart_has_a_line_for_each_measure_that_was_taken_and_none_has_no_chart() {
    let document = document();
    let sides = [&document.legacy, &document.candidate];
    let latency = [(Measure::P50, "p50"), (Measure::P999, "p999")];
    let chart_of = chart("x", sides, &latency, true).expect("a chart");
    let names: Vec<&str> = chart_of.lines.iter().map(|line| &*line.name).collect();
    assert_eq!(names, ["legacy p50", "candidate p50"]);
    // The highest is at the top, and the line goes from half of the width to its end.
    let [_, right, top, _] = chart_of.frame();
    assert_eq!(chart_of.lines[0].dots[0].high, top);
    assert_eq!(chart_of.lines[0].dots[1].x, right);
    assert!(chart("x", sides, &[(Measure::Rss, "rss")], false).is_none());
    let empty = StressSide::default();
    assert!(chart("x", [&empty, &empty], &latency, true).is_none());
}
