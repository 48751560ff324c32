//! Whole comparisons, of pages as the usual clients write them.

mod contradicting;
mod doubt;
mod passed;

use parity_schemas::metrics::{MetricValue, Subject};

use super::*;

/// A page as Go's client writes it.
fn go(requests: u64, failed: u64, start: f64) -> String {
    let ok = requests - failed;
    let half = requests / 2;
    format!(
        "# TYPE http_request_duration_seconds histogram\n\
         http_request_duration_seconds_bucket{{le=\"0.01\"}} {half}\n\
         http_request_duration_seconds_bucket{{le=\"0.1\"}} {requests}\n\
         http_request_duration_seconds_bucket{{le=\"+Inf\"}} {requests}\n\
         http_request_duration_seconds_count {requests}\n\
         # TYPE http_requests_total counter\n\
         http_requests_total{{code=\"200\"}} {ok}\n\
         http_requests_total{{code=\"503\"}} {failed}\n\
         process_cpu_seconds_total {}\n\
         process_resident_memory_bytes 2.097152e+08\n\
         process_open_fds 12\n\
         process_start_time_seconds {start}\n\
         # TYPE go_gc_duration_seconds summary\n\
         go_gc_duration_seconds{{quantile=\"1\"}} 0.012\n\
         go_gc_duration_seconds_sum {}\n\
         go_gc_duration_seconds_count 5\n",
        requests as f64 * 0.001,
        requests as f64 * 0.0001,
    )
}

/// A page as Rust's client writes it.
fn rust(requests: u64, start: f64) -> String {
    format!(
        "# TYPE http_request_duration_seconds histogram\n# UNIT http_request_duration_seconds seconds\n\
         http_request_duration_seconds_bucket{{le=\"0.005\"}} {requests}\n\
         http_request_duration_seconds_bucket{{le=\"+Inf\"}} {requests}\n\
         http_request_duration_seconds_count {requests}\n\
         # TYPE http_requests counter\n\
         http_requests_total{{status=\"200\"}} {requests}\n\
         process_cpu_seconds_total {}\n\
         process_resident_memory_bytes 41943040\n\
         process_start_time_seconds {start}\n# EOF\n",
        requests as f64 * 0.0005,
    )
}

fn scrapes(pages: &[String]) -> Scrapes {
    named(pages, Names::default())
}

fn named(pages: &[String], names: Names) -> Scrapes {
    let mut scrapes = Scrapes::new("http://127.0.0.1:1/metrics", names, 2_000.0);
    for (at, page) in pages.iter().enumerate() {
        scrapes.take(at as f64 * 10.0, page, Format::Text).unwrap();
    }
    scrapes
}

fn naming(subject: Subject, text: &str) -> Names {
    let mut names = Names::default();
    names.set(subject, Source::read(text, subject).unwrap());
    names
}

fn compare(legacy: &[String], candidate: &[String], thresholds: &[&str]) -> MetricsDocument {
    let thresholds: Vec<Threshold> = thresholds
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    compared(
        &scrapes(legacy),
        &scrapes(candidate),
        &thresholds,
        Judged::ByBounds,
    )
}

fn of(document: &MetricsDocument, measure: Measure) -> &Measured {
    document
        .measures
        .iter()
        .find(|measured| measured.measure == measure)
        .unwrap()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn two_services_are_set_beside_each_other() {
    let document = compare(
        &[go(0, 0, 1_000.0), go(1_000, 10, 1_000.0)],
        &[rust(0, 1_500.0), rust(1_000, 1_500.0)],
        &[
            "p99 <= -50%",
            "errors <= 1%",
            "rss <= 100MiB",
            "cpu_per_request <= -40%",
        ],
    );
    assert_eq!(document.outcome, MetricsOutcome::Pass, "{document:#?}");
    let pair = |measure| {
        let measured = of(&document, measure);
        let value = |value: &Option<MetricValue>| value.as_ref().map(|value| value.value);
        (value(&measured.legacy), value(&measured.candidate))
    };
    assert_eq!(pair(Measure::Rate), (Some(100.0), Some(100.0)));
    assert_eq!(pair(Measure::Errors), (Some(0.01), Some(0.0)));
    let none = of(&document, Measure::Errors).candidate.as_ref().unwrap();
    assert!(none.value.is_sign_positive());
    assert_eq!(pair(Measure::Cpu), (Some(0.1), Some(0.05)));
    assert!(near(pair(Measure::CpuPerRequest).0.unwrap(), 0.001));
    assert_eq!(
        pair(Measure::RssMax),
        (Some(209_715_200.0), Some(41_943_040.0))
    );
    assert_eq!(pair(Measure::GcMax), (Some(0.012), None));
    assert!(near(pair(Measure::GcShare).0.unwrap(), 0.01));
    assert_eq!(pair(Measure::Uptime), (Some(1_010.0), Some(510.0)));
    assert!(near(of(&document, Measure::Rss).change.unwrap(), -0.8));
    // None of a thousand failed: that says less than that none ever fails.
    let errors = of(&document, Measure::Errors).candidate.as_ref().unwrap();
    assert!(
        errors.high.is_some_and(|high| high > 0.003 && high < 0.004),
        "{errors:?}"
    );
    let strict = compare(
        &[go(0, 0, 1.0), go(1_000, 0, 1.0)],
        &[rust(0, 1.0), rust(1_000, 1.0)],
        &["errors <= 0.1%"],
    );
    assert_eq!(strict.outcome, MetricsOutcome::Undecided);
}

#[test]
fn a_process_that_began_anew_is_added_up_and_told() {
    let document = compare(
        &[
            go(500, 0, 1.0),
            go(800, 0, 1.0),
            go(100, 0, 9.0),
            go(300, 0, 9.0),
        ],
        &[rust(0, 1.0), rust(100, 1.0), rust(200, 1.0), rust(300, 1.0)],
        &[],
    );
    let rate = of(&document, Measure::Rate).legacy.as_ref().unwrap();
    assert!(near(rate.value, 600.0 / 30.0), "{rate:?}");
    assert_eq!(document.legacy.restarts, 1);
    assert!(
        document.legacy.notes[0].contains("began anew"),
        "{:?}",
        document.legacy.notes
    );
    assert_eq!(document.candidate.restarts, 0);
}

#[test]
fn answers_of_several_processes_are_not_counted_as_one() {
    let document = compare(
        &[go(500, 0, 1.0), go(900, 0, 2.0), go(510, 0, 1.0)],
        &[rust(0, 1.0), rust(100, 1.0), rust(200, 1.0)],
        &["rate >= 1", "cpu <= +50%"],
    );
    assert!(of(&document, Measure::Rate).legacy.is_none());
    assert!(document.legacy.notes[0].contains("several processes"));
    let outcomes: Vec<_> = document.thresholds.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [MetricsOutcome::Pass, MetricsOutcome::Undecided]);
}

#[test]
fn what_is_not_exported_is_not_zero() {
    let nothing = ["other 1\n".to_owned(), "other 2\n".to_owned()];
    let document = compare(
        &[go(0, 0, 1.0), go(100, 0, 1.0)],
        &nothing,
        &["p99 <= 1s", "errors <= 100%", "rss <= 1GiB", "gc_max <= 1s"],
    );
    for measured in &document.measures {
        assert!(measured.candidate.is_none(), "{measured:?}");
        assert!(measured.change.is_none());
        let told = measured
            .notes
            .iter()
            .any(|note| note.starts_with("candidate: none of the usual"));
        assert!(told, "{measured:?}");
    }
    assert_eq!(document.outcome, MetricsOutcome::Undecided);
    assert!(
        document
            .thresholds
            .iter()
            .all(|one| one.outcome == MetricsOutcome::Undecided)
    );
    // Where nothing is demanded, there must still be something to compare.
    let document = compare(&nothing, &nothing, &[]);
    assert_eq!(document.outcome, MetricsOutcome::Undecided);
    // No page at all, and one page only.
    for pages in [&[][..], &[go(5, 0, 1.0)]] {
        let document = compare(pages, pages, &["p99 <= 1s"]);
        assert_eq!(document.outcome, MetricsOutcome::Undecided);
        assert!(of(&document, Measure::Rate).legacy.is_none());
    }
}

#[test]
fn another_type_under_the_name_and_numbers_that_are_none_are_told() {
    let gauge = [
        "# TYPE http_request_duration_seconds gauge\nhttp_request_duration_seconds 5\n".to_owned(),
    ];
    let document = compare(&gauge, &gauge, &[]);
    let note = &of(&document, Measure::P99).notes[0];
    assert!(note.contains("is there as gauge"), "{note}");
    let none = |number: &str| {
        format!(
            "process_resident_memory_bytes {number}\nprocess_cpu_seconds_total {number}\nhttp_requests_total {number}\n"
        )
    };
    for number in ["NaN", "+Inf", "-Inf"] {
        let pages = [none(number), none(number)];
        let document = compare(&pages, &pages, &["rss <= 1GiB", "cpu <= 100"]);
        assert_eq!(document.outcome, MetricsOutcome::Undecided, "{number}");
        let json = serde_json::to_string(&document).unwrap();
        assert!(
            serde_json::from_str::<MetricsDocument>(&json).is_ok(),
            "{json}"
        );
    }
}

#[test]
fn a_gauge_under_the_name_of_a_counter_and_two_types_under_one_name_are_not_measured() {
    let page = |types: &str, count: u64| format!("{types}http_requests_total {count}\n");
    for (types, note) in [
        ("# TYPE http_requests_total gauge\n", "is there as gauge"),
        ("# TYPE http_requests summary\n", "is there as summary"),
        (
            "# TYPE http_requests_total counter\n# TYPE http_requests_total gauge\n",
            "is there as counter and as gauge",
        ),
    ] {
        let pages = [page(types, 1), page(types, 5)];
        let document = compare(&pages, &pages, &[]);
        let rate = of(&document, Measure::Rate);
        assert!(rate.legacy.is_none(), "{types}: {rate:?}");
        assert!(rate.notes[0].contains(note), "{types}: {:?}", rate.notes);
        assert_eq!(document.outcome, MetricsOutcome::Undecided, "{types}");
    }
    for types in [
        "",
        "# TYPE http_requests counter\n",
        "# TYPE http_requests_total untyped\n",
    ] {
        let pages = [page(types, 1), page(types, 5)];
        let document = compare(&pages, &pages, &[]);
        assert_eq!(
            of(&document, Measure::Rate).legacy.as_ref().unwrap().value,
            0.4
        );
        assert_eq!(document.outcome, MetricsOutcome::Pass, "{types}");
    }
}

#[test]
fn numbers_that_add_up_to_no_number_are_told_and_every_document_is_json() {
    let page = |number: &str| {
        format!(
            "http_requests_total{{code=\"200\"}} {number}\nhttp_requests_total{{code=\"500\"}} {number}\n\
             process_cpu_seconds_total {number}\nprocess_resident_memory_bytes{{a=\"1\"}} {number}\n\
             process_resident_memory_bytes{{a=\"2\"}} {number}\n\
             http_request_duration_seconds_bucket{{le=\"1\"}} {number}\n\
             http_request_duration_seconds_bucket{{le=\"+Inf\"}} {number}\n"
        )
    };
    for number in ["1e308", "9007199254740993", "1e-320", "0.5"] {
        let pages = [page("0"), page(number)];
        let document = compare(
            &pages,
            &pages,
            &["p99 <= +10%", "errors <= 1%", "rss <= +0%"],
        );
        let json = serde_json::to_string(&document).unwrap();
        let read: MetricsDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(read.measures.len(), Measure::ALL.len() - 1, "{number}");
    }
    let pages = [page("0"), page("1e308")];
    let document = compare(&pages, &pages, &["rate >= 1"]);
    assert!(of(&document, Measure::Rate).notes[0].contains("too large"));
    assert_eq!(document.outcome, MetricsOutcome::Undecided);
}

#[test]
fn a_service_that_answers_no_more_passes_nothing_and_what_is_broken_stays_so() {
    let pages = [go(0, 0, 1.0), go(1_000, 0, 1.0)];
    let mut gone = scrapes(&pages);
    gone.lose(20.0, "connection refused".to_owned());
    let thresholds = |texts: &[&str]| -> Vec<Threshold> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    };
    for (texts, expected) in [
        (&["rate >= 1"][..], MetricsOutcome::Undecided),
        (&[], MetricsOutcome::Undecided),
        (&["rate >= 1000"], MetricsOutcome::Fail),
    ] {
        let document = compared(
            &scrapes(&pages),
            &gone,
            &thresholds(texts),
            Judged::ByBounds,
        );
        assert_eq!(document.outcome, expected, "{texts:?}");
        let note = &document.candidate.notes[0];
        assert!(
            note.contains("no more after 20.0 s: connection refused"),
            "{note}"
        );
    }
    let document = compare(&pages, &pages, &["rate >= 1"]);
    assert_eq!(document.outcome, MetricsOutcome::Pass);
    assert_eq!(document.interrupted().outcome, MetricsOutcome::Undecided);
}

#[test]
fn summaries_are_shown_and_several_of_them_are_no_bound() {
    let page = |quantile: &str| {
        format!(
            "# TYPE http_request_duration_seconds summary\n\
             http_request_duration_seconds{{route=\"/a\",quantile=\"0.99\"}} {quantile}\n\
             http_request_duration_seconds{{route=\"/b\",quantile=\"0.99\"}} 0.001\n\
             http_request_duration_seconds_count 10\n"
        )
    };
    let pages = [page("0.2"), page("0.1")];
    let document = compare(&pages, &pages, &["p99 <= 50ms", "p99 <= 200ms"]);
    let p99 = of(&document, Measure::P99).legacy.as_ref().unwrap();
    assert_eq!((p99.value, p99.low, p99.high), (0.1, None, Some(0.1)));
    let outcomes: Vec<_> = document.thresholds.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [MetricsOutcome::Undecided, MetricsOutcome::Pass]);
    let own = "http_request_duration_seconds{route=\"/b\"}";
    let one = named(&pages, naming(Subject::Latency, own));
    let document = compared(
        &one,
        &one,
        &["p99 <= 1ms".parse().unwrap()],
        Judged::ByBounds,
    );
    assert_eq!(document.outcome, MetricsOutcome::Pass);
}

#[test]
fn an_own_name_that_is_not_there_is_told_and_nothing_else_is_measured() {
    let pages = [go(0, 0, 1.0), go(10, 0, 1.0)];
    let legacy = named(&pages, naming(Subject::Requests, "mine_total"));
    let document = compared(&legacy, &scrapes(&pages), &[], Judged::ByBounds);
    let rate = of(&document, Measure::Rate);
    assert!(rate.legacy.is_none() && rate.candidate.is_some());
    assert!(
        rate.notes[0].contains("`mine_total` is not on its pages"),
        "{:?}",
        rate.notes
    );
}
