//! How limits are read, and what becomes of them.

use super::*;

#[test]
fn limits_are_read_by_the_unit_of_their_measure() {
    for (text, expected) in [
        ("p99 <= 50ms", Limit::Value(0.05)),
        ("p99<=0.05 s", Limit::Value(0.05)),
        ("p99 <= +10%", Limit::Ratio(1.1)),
        ("rss <= -20%", Limit::Ratio(0.8)),
        ("rss <= 200MiB", Limit::Value(209_715_200.0)),
        ("errors <= 0.1%", Limit::Value(0.001)),
        ("errors <= +0%", Limit::Ratio(1.0)),
        ("rate >= 500", Limit::Value(500.0)),
        ("cpu <= 1.5", Limit::Value(1.5)),
        ("uptime >= 1m", Limit::Value(60.0)),
        ("uptime >= 2h", Limit::Value(7_200.0)),
    ] {
        let read: Threshold = text.parse().unwrap();
        let same = match (read.limit, expected) {
            (Limit::Value(one), Limit::Value(other)) | (Limit::Ratio(one), Limit::Ratio(other)) => {
                (one - other).abs() < 1e-12
            }
            _ => false,
        };
        assert!(same, "{text}: {read:?}");
    }
    for text in [
        "",
        "p99",
        "p99 = 1",
        "p99 < 50ms",
        "p99 <= 50",
        "p99 <= 50MiB",
        "p99 <= -1ms",
        "rss <= 50ms",
        "rss <= 50m",
        "errors <= 0.1",
        "rate <= 5/s",
        "cpu <= NaN",
        "cpu <= inf",
        "rss <= -120%",
        "p99 <= 1e3ms",
        "pp9 <= 5ms",
    ] {
        assert!(text.parse::<Threshold>().is_err(), "{text}");
    }
    let error = "p9 <= 5ms".parse::<Threshold>().unwrap_err().to_string();
    assert!(error.contains("did you mean `p9"), "{error}");
}

fn value(low: Option<f64>, value: f64, high: Option<f64>) -> MetricValue {
    MetricValue {
        value,
        low,
        high,
        metric: String::new(),
        requests: None,
    }
}

fn judged(
    text: &str,
    legacy: Option<MetricValue>,
    candidate: Option<MetricValue>,
) -> MetricsOutcome {
    let threshold: Threshold = text.parse().unwrap();
    let measured = Measured {
        measure: threshold.measure,
        legacy,
        candidate,
        change: None,
        notes: Vec::new(),
    };
    let judged = threshold.judge(&[measured], Judged::ByBounds, Advice::Pages);
    judged.outcome
}

#[test]
fn a_threshold_holds_is_broken_or_cannot_be_told() {
    use MetricsOutcome::{Fail, Pass, Undecided};
    let of = |low, high| Some(value(Some(low), low, Some(high)));
    for (text, legacy, candidate, expected) in [
        ("p99 <= 50ms", None, of(0.025, 0.05), Pass),
        ("p99 <= 40ms", None, of(0.025, 0.05), Undecided),
        ("p99 <= 20ms", None, of(0.025, 0.05), Fail),
        (
            "p99 <= 50ms",
            None,
            Some(value(Some(0.025), 0.03, None)),
            Undecided,
        ),
        (
            "p99 <= 20ms",
            None,
            Some(value(Some(0.025), 0.03, None)),
            Fail,
        ),
        (
            "p99 <= 50ms",
            None,
            Some(value(None, 0.03, Some(0.05))),
            Pass,
        ),
        ("rate >= 500", None, of(501.0, 501.0), Pass),
        ("rate >= 500", None, of(499.0, 499.0), Fail),
        ("p99 <= +10%", of(0.1, 0.1), of(0.11, 0.11), Pass),
        ("p99 <= +10%", of(0.1, 0.1), of(0.12, 0.12), Fail),
        ("p99 <= +10%", of(0.05, 0.1), of(0.05, 0.1), Undecided),
        ("p99 <= +10%", of(0.05, 0.1), of(0.2, 0.3), Fail),
        ("p99 <= +10%", of(0.2, 0.3), of(0.05, 0.1), Pass),
        ("p99 <= +10%", None, of(0.2, 0.3), Undecided),
        ("p99 <= +10%", of(0.2, 0.3), None, Undecided),
        // Nothing by nothing.
        ("errors <= +0%", of(0.0, 0.0), of(0.0, 0.0), Pass),
        ("errors <= +0%", of(0.0, 0.0), of(0.1, 0.1), Fail),
        ("p99 <= +10%", of(0.0, 0.1), of(0.0, 0.1), Undecided),
        ("gc_share <= -50%", of(0.0, 0.0), of(0.0, 0.0), Pass),
        ("gc_share <= -100%", of(0.1, 0.1), of(0.0, 0.0), Pass),
        ("gc_share <= -50%", of(0.0, 0.0), of(0.1, 0.1), Fail),
        ("gc_share <= -50%", of(0.0, 0.2), of(0.0, 0.0), Pass),
        ("rate >= -10%", of(0.0, 0.0), of(5.0, 5.0), Pass),
        ("rate >= -10%", of(5.0, 5.0), of(0.0, 0.0), Fail),
        // Who was asked nothing shows nothing.
        ("rate >= -10%", of(0.0, 0.0), of(0.0, 0.0), Undecided),
        ("rate >= +10%", of(0.0, 0.0), of(0.0, 0.0), Undecided),
        (
            "p99 <= -100%",
            Some(value(None, 0.1, Some(0.1))),
            of(0.0, 0.0),
            Undecided,
        ),
        (
            "p99 <= +10%",
            Some(value(Some(0.1), 0.1, None)),
            of(9.0, 9.0),
            Undecided,
        ),
    ] {
        assert_eq!(judged(text, legacy, candidate), expected, "{text}");
    }
}
