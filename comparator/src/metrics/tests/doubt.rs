//! What nobody knows for certain passes nothing.

use super::*;

#[test]
fn what_a_process_counted_that_crashed_passes_nothing_that_grows() {
    let crashed = [go(500, 0, 1.0), go(100, 0, 9.0), go(300, 0, 9.0)];
    let ran_on = [go(0, 0, 1.0), go(1_000, 0, 1.0), go(2_000, 0, 1.0)];
    let all = [
        "rate >= 1",
        "errors <= 5%",
        "p99 <= 1s",
        "cpu <= 1",
        "gc_share <= 50%",
        "rss <= 1GiB",
    ];
    let outcomes = |document: &MetricsDocument| -> Vec<MetricsOutcome> {
        document.thresholds.iter().map(|one| one.outcome).collect()
    };
    let document = compare(&ran_on, &crashed, &all);
    let mut expected = vec![MetricsOutcome::Undecided; 5];
    expected.push(MetricsOutcome::Pass);
    assert_eq!(outcomes(&document), expected, "{document:#?}");
    assert!(
        document.thresholds[0]
            .why
            .contains("the candidate began anew")
    );
    // What is broken stays so, and what rests on the legacy alone does not matter to the candidate.
    assert_eq!(
        compare(&ran_on, &crashed, &["rate >= 1000"]).outcome,
        MetricsOutcome::Fail
    );
    assert_eq!(
        compare(&crashed, &ran_on, &["rate >= 1"]).outcome,
        MetricsOutcome::Pass
    );
    let beside = compare(&crashed, &ran_on, &["rate >= -50%", "rss <= +0%"]);
    assert_eq!(
        outcomes(&beside),
        [MetricsOutcome::Undecided, MetricsOutcome::Pass]
    );
    // Nor does it pass where nothing is demanded, or elsewhere.
    assert_eq!(
        compare(&ran_on, &crashed, &[]).outcome,
        MetricsOutcome::Undecided
    );
    let alone = measures(&scrapes(&crashed));
    assert!(alone.iter().all(|(measure, _)| *measure != Measure::Rate));
    assert!(alone.iter().any(|(measure, _)| *measure == Measure::Rss));
}

#[test]
fn errors_that_a_counter_calls_otherwise_pass_nothing() {
    let page = |label: &str, good: &str, bad: &str, count: u64| {
        format!(
            "http_requests_total{{{label}=\"{good}\"}} {count}\nhttp_requests_total{{{label}=\"{bad}\"}} {count}\n"
        )
    };
    for (label, good, bad, expected) in [
        ("status", "success", "error", MetricsOutcome::Undecided),
        ("code", "200", "failed", MetricsOutcome::Undecided),
        ("grpc_code", "OK", "INTERNAL", MetricsOutcome::Fail),
        ("code", "2xx", "5xx", MetricsOutcome::Fail),
        ("code", "200", "404", MetricsOutcome::Pass),
    ] {
        let pages = [page(label, good, bad, 0), page(label, good, bad, 9_000)];
        let document = compare(&pages, &pages, &["errors <= 1%"]);
        assert_eq!(
            document.outcome, expected,
            "{label}=\"{bad}\": {document:?}"
        );
        // How many there were is known whatever they are called.
        assert!(of(&document, Measure::Rate).candidate.is_some());
    }
}
