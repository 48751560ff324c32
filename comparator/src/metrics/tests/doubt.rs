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

#[test]
fn counters_that_fall_without_a_new_start_time_are_not_counted() {
    let page = |count: u64, start: &str| {
        format!("http_requests_total {count}\nprocess_resident_memory_bytes 5\n{start}")
    };
    let same = "process_start_time_seconds 1\n";
    for (counts, start) in [
        // Two processes in turn.
        (&[500, 900, 510, 910][..], ""),
        (&[500, 900, 510, 910], same),
        // It may have begun anew, and it may be another one.
        (&[500, 2, 9, 20], ""),
    ] {
        let pages: Vec<String> = counts.iter().map(|count| page(*count, start)).collect();
        let document = compare(&pages, &pages, &["rate >= 1", "rate <= 1", "rss <= 1KiB"]);
        let outcomes: Vec<_> = document.thresholds.iter().map(|one| one.outcome).collect();
        let undecided = MetricsOutcome::Undecided;
        assert_eq!(
            outcomes,
            [undecided, undecided, MetricsOutcome::Pass],
            "{counts:?}"
        );
        assert!(of(&document, Measure::Rate).candidate.is_none());
        assert_eq!(document.candidate.restarts, 0);
        let note = &document.candidate.notes[0];
        assert!(note.starts_with("`http_requests_total` fell"), "{note}");
    }
    // A process that began earlier than the one before it is another one, also if its counters are higher.
    let pages = [go(100, 0, 5.0), go(200, 0, 3.0)];
    let document = compare(&pages, &pages, &["rate >= 1"]);
    assert_eq!(document.outcome, MetricsOutcome::Undecided);
    assert!(document.candidate.notes[0].contains("several processes"));
}

#[test]
fn what_pages_said_that_are_no_longer_kept_still_counts() {
    let filler = "x".repeat(1_000);
    let taken = |is_alternating: bool| {
        let mut scrapes = Scrapes::new("a", Names::default(), 0.0);
        for number in 0..40_u64 {
            // Gauges with other labels on each page, so that not all pages can be kept.
            let lines = (0..500).map(|line| {
                format!(
                    "jvm_memory_used_bytes{{area=\"heap\",id=\"{number}-{line}-{filler}\"}} 1\n"
                )
            });
            let is_anew = if is_alternating {
                number == 5
            } else {
                number >= 10
            };
            let (start, count) = match (is_anew, is_alternating) {
                (false, _) => (1, number * 10),
                (true, true) => (2, number * 10),
                (true, false) => (2, (number - 10) * 10 + 5),
            };
            let peak = if number == 7 { 9 } else { 1 };
            let said = format!(
                "http_requests_total {count}\nprocess_start_time_seconds {start}\n\
                 process_resident_memory_bytes {peak}\nprocess_open_fds {peak}\nprocess_threads {peak}\n\
                 # TYPE go_gc_duration_seconds summary\ngo_gc_duration_seconds{{quantile=\"1\"}} {peak}\n"
            );
            let page: String = lines.chain([said]).collect();
            scrapes.take(number as f64, &page, Format::Text).unwrap();
        }
        assert!(
            scrapes
                .pages
                .iter()
                .all(|page| ![5.0, 7.0, 9.0].contains(&page.at))
        );
        scrapes
    };
    let [once, in_turn] = [false, true].map(taken);
    let document = compared(&once, &in_turn, &[], Judged::ByBounds);
    for measure in [
        Measure::RssMax,
        Measure::Descriptors,
        Measure::Threads,
        Measure::GcMax,
    ] {
        let most = of(&document, measure).legacy.as_ref().unwrap();
        assert_eq!(most.value, 9.0, "{measure}");
    }
    assert_eq!(
        of(&document, Measure::Rss).legacy.as_ref().unwrap().value,
        1.0
    );
    // Up to 90 before it began anew, and up to 295 behind it.
    let rate = of(&document, Measure::Rate);
    assert_eq!(rate.legacy.as_ref().unwrap().requests, Some(385));
    assert_eq!(document.legacy.restarts, 1);
    // That another process answered once is not forgotten.
    assert!(rate.candidate.is_none(), "{rate:?}");
    assert!(document.candidate.notes[0].contains("several processes"));
}

#[test]
fn two_pages_of_one_process_are_no_comparison() {
    let of = |start: f64, factor: u64| [0, 1_000, 2_000].map(|count| go(count * factor, 0, start));
    let all = ["rate >= 1", "rate >= 1000000"];
    let same = compare(&of(1.25, 1), &of(1.25, 1), &all);
    let outcomes: Vec<_> = same.thresholds.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [MetricsOutcome::Undecided; 2], "{same:#?}");
    for side in [&same.legacy, &same.candidate] {
        assert!(side.notes[0].contains("of one process"), "{:?}", side.notes);
    }
    let nothing_demanded = compare(&of(1.25, 1), &of(1.25, 1), &[]);
    assert_eq!(nothing_demanded.outcome, MetricsOutcome::Undecided);
    // Started together, as far as whole seconds tell; at another moment; or counting otherwise.
    for (legacy, candidate) in [
        (of(1.0, 1), of(1.0, 1)),
        (of(1.25, 1), of(1.5, 1)),
        (of(1.25, 1), of(1.25, 9)),
    ] {
        let two = compare(&legacy, &candidate, &["rate >= 1"]);
        assert_eq!(two.outcome, MetricsOutcome::Pass, "{two:#?}");
    }
}
