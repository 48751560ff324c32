//! Pages that contradict themselves or each other, and what was on a page and is there no more.

use super::*;
use crate::metrics::exposition::Exposition;
use crate::metrics::labels::Shared;

/// How the thresholds on the candidate end, and what is told of its measure.
fn told(candidate: &[String], threshold: &str, measure: Measure) -> (MetricsOutcome, String) {
    let legacy = [go(0, 0, 1.0), go(2_000, 0, 1.0)];
    let document = compare(&legacy, candidate, &[threshold]);
    let measured = of(&document, measure);
    let note = measured
        .notes
        .iter()
        .find(|note| note.starts_with("candidate"));
    (document.outcome, note.cloned().unwrap_or_default())
}

#[test]
fn a_histogram_that_contradicts_itself_proves_nothing() {
    let page = |buckets: &[(&str, u64)], count: u64| {
        let lines = buckets.iter().map(|(edge, count)| {
            format!("http_request_duration_seconds_bucket{{le=\"{edge}\"}} {count}\n")
        });
        let count = format!("http_request_duration_seconds_count {count}\n");
        lines.chain([count]).collect::<String>()
    };
    let sound = page(&[("0.1", 0), ("0.5", 0), ("+Inf", 0)], 0);
    for (last, expected) in [
        (
            page(&[("0.1", 900), ("0.5", 1_000), ("+Inf", 1_000)], 1_000),
            None,
        ),
        (
            page(
                &[("0.1", 500), ("0.10", 500), ("0.5", 500), ("+Inf", 1_000)],
                1_000,
            ),
            Some("page 2 contradicts itself: le=\"0.1\" and le=\"0.10\" are one edge"),
        ),
        (
            page(&[("0.1", 2_000), ("0.5", 1_000), ("+Inf", 1_000)], 1_000),
            Some("page 2 contradicts itself: le=\"0.1\" has 2000 and le=\"0.5\" 1000"),
        ),
        (
            page(&[("0.1", 300), ("0.5", 300), ("+Inf", 300)], 1_000),
            Some("page 2 contradicts itself: le=\"+Inf\" has 300 and `_count` 1000"),
        ),
    ] {
        let pages = [sound.clone(), last];
        let (outcome, note) = told(&pages, "p50 <= 1s", Measure::P50);
        let Some(words) = expected else {
            assert_eq!(outcome, MetricsOutcome::Pass, "{note}");
            continue;
        };
        assert_eq!(outcome, MetricsOutcome::Undecided, "{words}");
        let begin = "candidate: `http_request_duration_seconds_bucket` is not known";
        assert!(note.starts_with(begin) && note.contains(words), "{note}");
        // Whatever the later pages say.
        let [first, last] = pages;
        let later = page(&[("0.1", 9_000), ("0.5", 9_000), ("+Inf", 9_000)], 9_000);
        let (outcome, _) = told(&[first, last, later], "p50 <= 1s", Measure::P50);
        assert_eq!(outcome, MetricsOutcome::Undecided, "{words}");
    }
    // The count of requests that rests on it is not known either.
    let pages = [
        sound,
        page(&[("0.1", 300), ("0.5", 300), ("+Inf", 300)], 1_000),
    ];
    let (outcome, _) = told(&pages, "rate >= 1", Measure::Rate);
    assert_eq!(outcome, MetricsOutcome::Undecided);
}

#[test]
fn what_is_gone_by_the_end_passes_nothing() {
    let page = |requests: u64, more: &str, start: f64| {
        format!(
            "http_requests_total{{code=\"200\"}} {requests}\n{more}\nprocess_start_time_seconds {start}\n"
        )
    };
    let failed = "http_requests_total{code=\"500\"} 3";
    let memory = "process_resident_memory_bytes 5";
    let heap = "jvm_memory_used_bytes{area=\"heap\",id=\"old\"} 5\njvm_memory_used_bytes{area=\"heap\",id=\"new\"} 5";
    let young = "jvm_memory_used_bytes{area=\"heap\",id=\"new\"} 5";
    let slow = "# TYPE http_request_duration_seconds summary\n\
                http_request_duration_seconds{r=\"1\",quantile=\"0.99\"} 9\nhttp_request_duration_seconds{r=\"2\",quantile=\"0.99\"} 0.1";
    let fast = "http_request_duration_seconds{r=\"2\",quantile=\"0.99\"} 0.1";
    for (measure, threshold, there, gone, words) in [
        (
            Measure::Errors,
            "errors <= 5%",
            failed,
            "",
            "{code=\"500\"} was on page 2",
        ),
        (
            Measure::Rate,
            "rate >= 1",
            failed,
            "",
            "{code=\"500\"} was on page 2",
        ),
        (Measure::Rss, "rss <= 1GiB", memory, "", "it was on page 2"),
        (
            Measure::RssMax,
            "rss_max <= 1GiB",
            memory,
            "",
            "it was on page 2",
        ),
        (
            Measure::Heap,
            "heap <= 1GiB",
            heap,
            young,
            "{area=\"heap\",id=\"old\"} was on page 2",
        ),
        (
            Measure::P99,
            "p99 <= 1s",
            slow,
            fast,
            "{quantile=\"0.99\",r=\"1\"} was on page 2",
        ),
    ] {
        let pages = |whole: &[&str]| {
            let pages = whole.iter().zip(1..);
            let pages = pages.map(|(more, number)| page(number * 1_000, more, 9.5));
            pages.collect::<Vec<String>>()
        };
        let (outcome, note) = told(&pages(&[there, there, gone]), threshold, measure);
        assert_eq!(outcome, MetricsOutcome::Undecided, "{threshold}");
        assert!(note.contains(words), "{note}");
        assert!(note.contains("is not on the last one, page 3"), "{note}");
        // What was away in between and is there again is known.
        let (_, note) = told(&pages(&[there, gone, there]), threshold, measure);
        assert!(!note.contains("is not on the last one"), "{note}");
    }
    // A new process has not failed yet: it is doubted for that it is a new one.
    let anew = [
        page(1_000, failed, 9.5),
        page(5, "", 10.5),
        page(9, "", 10.5),
    ];
    let (_, note) = told(&anew, "rate >= 1", Measure::Rate);
    assert!(!note.contains("is not on the last one"), "{note}");
    // All of what is so much at a time is gone with the one before.
    let anew = [page(1_000, memory, 9.5), page(5, "", 10.5)];
    let (outcome, _) = told(&anew, "rss <= 1GiB", Measure::Rss);
    assert_eq!(outcome, MetricsOutcome::Undecided);
    // Who no longer says when it started may have begun anew.
    let silent = [
        page(1_000, "", 9.5),
        "http_requests_total{code=\"200\"} 1500\n".to_owned(),
    ];
    let (outcome, note) = told(&silent, "rate >= 1", Measure::Rate);
    assert_eq!(outcome, MetricsOutcome::Undecided);
    assert!(note.contains("it said when it started"), "{note}");
}

#[test]
fn a_page_that_is_not_whole_is_not_read() {
    let mut scrapes = Scrapes::new("a", Names::default(), 0.0);
    for (page, words) in [
        ("http_requests_total 5\n", "its last line is not `# EOF`"),
        (
            "http_requests_total 5\nhttp_req",
            "its last line is not `# EOF`",
        ),
        (
            "http_requests_total 5\n# EOF\nhttp_requests_total{code=\"500\"} 5\n",
            "behind `# EOF`, where OpenMetrics ends, line 3: http_requests_total{code=\"500\"} 5",
        ),
    ] {
        let error = scrapes.take(1.0, page, Format::OpenMetrics).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!((scrapes.read(), scrapes.failed), (0, 3));
    // In the text format it is a comment, and what comes behind it counts.
    let page = |failed: u64| {
        format!(
            "http_requests_total{{code=\"200\"}} {}\n# EOF\nhttp_requests_total{{code=\"500\"}} {failed}\n",
            failed * 3
        )
    };
    let (outcome, _) = told(&[page(0), page(300)], "errors <= 1%", Measure::Errors);
    assert_eq!(outcome, MetricsOutcome::Fail);
}

#[test]
fn a_gauge_that_ends_before_the_pages_do_is_lost() {
    let page = |memory: &str| format!("{memory}\nprocess_open_fds 3\n");
    let (there, gone) = (page("process_resident_memory_bytes 5"), page(""));
    for (pages, is_lost) in [
        ([&there, &there, &gone], true),
        ([&there, &gone, &there], false),
        ([&gone, &there, &there], false),
    ] {
        let pages = pages.map(String::clone);
        let scrapes = scrapes(&pages);
        assert_eq!(
            scrapes.lost_of(Subject::Memory).is_some(),
            is_lost,
            "{pages:?}"
        );
        assert_eq!(scrapes.lost_of(Subject::Descriptors), None);
        // What it never showed is not lost.
        assert_eq!(scrapes.lost_of(Subject::Threads), None);
    }
}

fn lines_of(page: &str) -> Vec<(String, String)> {
    let shared = &mut Shared::default();
    let page = Exposition::read(page, &|_| true, shared).unwrap();
    let passed = page.passed.into_iter();
    let lines = passed.flat_map(|(name, lines)| {
        lines
            .into_iter()
            .map(move |passed| (name.clone(), passed.line))
    });
    lines.collect()
}

#[test]
fn what_buckets_say_of_each_other_holds_or_is_told() {
    let whole = "a_bucket{r=\"1\",le=\"0.1\"} 1\na_bucket{r=\"1\",le=\"1\"} 1\na_bucket{r=\"1\",le=\"+Inf\"} 3\n";
    for page in [
        whole.to_owned(),
        format!("{whole}a_count{{r=\"1\"}} 3\na_sum{{r=\"1\"}} 9\n"),
        // Counted while the page was written.
        format!("{whole}a_count{{r=\"1\"}} 19\na_sum{{r=\"1\"}} 9\n"),
        "a_bucket{le=\"+Inf\"} 5000\na_count 4951\n".to_owned(),
        // A summary, and a name that only looks like buckets of one.
        "a{quantile=\"1\"} 3\na_count 3\na_sum 9\n".to_owned(),
    ] {
        assert_eq!(lines_of(&page), [], "{page}");
    }
    for (more, names, line) in [
        (
            "a_bucket{r=\"1\",le=\"0.10\"} 1\n",
            &["a_bucket"][..],
            "le=\"0.1\" and le=\"0.10\" are one edge, which is there twice, of {r=\"1\"}",
        ),
        (
            "a_bucket{r=\"1\",le=\"1e-1\"} 0\n",
            &["a_bucket"],
            "le=\"0.1\" and le=\"1e-1\" are one edge, which is there twice, of {r=\"1\"}",
        ),
        (
            "a_bucket{r=\"1\",le=\"2\"} 4\n",
            &["a_bucket"],
            "le=\"2\" has 4 and le=\"+Inf\" 3, which is less, of {r=\"1\"}",
        ),
        (
            "a_bucket{r=\"1\",le=\"x\"} 4\n",
            &["a_bucket"],
            "{le=\"x\",r=\"1\"} has no `le` that is a number",
        ),
        (
            "a_count{r=\"1\"} 20\n",
            &["a_bucket", "a_count"],
            "le=\"+Inf\" has 3 and `_count` 20, of {r=\"1\"}",
        ),
        (
            "a_sum{r=\"1\"} 4\n",
            &["a_bucket", "a_count"],
            "le=\"+Inf\" has 3 and there is no `_count`, of {r=\"1\"}",
        ),
        (
            "a_count{r=\"1\"} 3\na_count{r=\"2\"} 3\n",
            &["a_bucket"],
            "`_count` of {r=\"2\"} has no buckets",
        ),
    ] {
        let expected: Vec<(String, String)> = names
            .iter()
            .map(|name| ((*name).to_owned(), line.to_owned()))
            .collect();
        assert_eq!(lines_of(&format!("{whole}{more}")), expected, "{more}");
    }
}
