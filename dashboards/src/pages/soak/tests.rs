//! A page of a steady load with names and texts that are hostile.

use parity_schemas::metrics::MetricsOutcome;
use parity_schemas::soak::{SOAK_SCHEMA, SoakSlope, SoakVerdict};
use parity_schemas::stress::{LoadGenerator, LoadRequests, LoadRun, StressVerdict};

use super::*;

fn trend(verdict: SoakVerdict, grows: f64) -> SoakTrend {
    let slope = SoakSlope {
        value: grows,
        low: grows,
        high: grows,
    };
    let block = |at: u32| [f64::from(at), 1e8 + grows * f64::from(at)];
    SoakTrend {
        of: Grows::Rss,
        source: "<b>process</b>".to_owned(),
        verdict,
        why: None,
        samples: 60,
        first: Some(1e8),
        last: Some(1e8 + grows * 59.0),
        per_request: Some(slope),
        per_hour: Some(slope),
        jumps: 0.0,
        blocks: (0..60).map(block).collect(),
    }
}

fn side(trends: Vec<SoakTrend>) -> SoakSide {
    SoakSide {
        target: "http://a/<script>\u{202e}".to_owned(),
        load: LoadRun {
            verdict: StressVerdict::Held,
            why: None,
            due: 12_000,
            statuses: [("2xx".to_owned(), 12_000)].into(),
            throttled: 0,
            failures: [].into(),
            unsent: 0,
            besides: 0,
            latency: [].into(),
            lateness: 0.0,
            most_open: 3,
            generator_cpu: None,
            values: [].into(),
        },
        trends,
        notes: vec!["<img src=x>".to_owned()],
    }
}

fn document() -> SoakDocument {
    SoakDocument {
        schema: SOAK_SCHEMA.to_owned(),
        outcome: MetricsOutcome::Pass,
        reasons: vec!["candidate: <i>grows</i>".to_owned()],
        interrupted: false,
        seconds: 60.0,
        warm_up: 6.0,
        rate: 200,
        confidence: 0.99,
        allowed: 4_194_304.0,
        requests: LoadRequests::default(),
        legacy: side(vec![trend(SoakVerdict::Flat, 0.0)]),
        candidate: side(vec![trend(SoakVerdict::BelowLimit, 1_000.0)]),
        own: vec![trend(SoakVerdict::Flat, 0.0)],
        answers: None,
        generator: LoadGenerator::default(),
    }
}

#[test]
fn a_page_stands_alone_draws_both_and_nothing_from_elsewhere_is_markup() {
    let page = soak(&document()).expect("a page");
    for hostile in [
        "<script",
        "<img",
        "<b>",
        "<i>",
        "\u{202e}",
        "href=\"/assets",
    ] {
        assert!(!page.contains(hostile), "{hostile}");
    }
    for word in [
        "Resident memory over time",
        "legacy after 59 s",
        "candidate after 0 s",
        "below the limit of --growth, 4 MiB",
        "Growing: by Mann-Kendall at 99 %",
        "parity itself",
        "12,000 requests",
    ] {
        assert!(page.contains(word), "{word} in {page}");
    }
    assert!(!page.contains("Threads over time"), "nothing tells them");
}
