//! What lines of a page that cannot be, or cannot be read, leave unknown.

use super::*;

/// Pages between which 1,316 requests were answered well; `line` is line 2 of the last one.
fn with_second_line(line: &str) -> [String; 2] {
    let page = |well: u64, line: &str| {
        format!("http_requests_total{{status=\"200\"}} {well}\n{line}\nprocess_open_fds 3\n")
    };
    [
        page(0, "http_requests_total{status=\"500\"} 0"),
        page(1_316, line),
    ]
}

fn outcomes(document: &MetricsDocument) -> Vec<MetricsOutcome> {
    document.thresholds.iter().map(|one| one.outcome).collect()
}

#[test]
fn without_the_series_that_counts_errors_nobody_knows_how_many_there_were() {
    use MetricsOutcome::{Pass, Undecided};
    let thresholds = ["errors <= 4%", "rate >= 1", "descriptors <= 10"];
    let whole = with_second_line("http_requests_total{status=\"500\"} 0");
    let document = compare(&whole, &whole, &thresholds);
    assert_eq!(outcomes(&document), [Pass; 3]);
    for (line, why) in [
        (
            "http_requests_total{status=\"500\"} 1316err",
            "cannot be read",
        ),
        ("http_requests_total{status=\"500\"}", "cannot be read"),
        ("http_requests_total{status=\"500} 1316", "cannot be read"),
        ("http_requests_total{status=500} 1316", "cannot be read"),
        (
            "{\"http_requests_total\",status=\"500\"} x",
            "cannot be read",
        ),
        (
            "{status=\"500\",\"http_requests_total\"} x",
            "cannot be read",
        ),
        ("\u{feff}http_requests_total 1316", "cannot be read"),
        (
            "http_requests_total{status=\"500\"} NaN",
            "has no finite number",
        ),
        (
            "http_requests_total{status=\"500\",quantile=\"1\"} NaN",
            "has no finite number",
        ),
        (
            "http_requests_total{status=\"500\"} +Inf",
            "has no finite number",
        ),
        ("http_requests_total{status=\"500\"} -1316", "is negative"),
        (
            "http_requests_total{status=\"200\"} 0",
            "is there twice with two values",
        ),
    ] {
        let candidate = with_second_line(line);
        let document = compare(&whole, &candidate, &thresholds);
        assert_eq!(outcomes(&document), [Undecided, Undecided, Pass], "{line}");
        let errors = of(&document, Measure::Errors);
        assert!(errors.candidate.is_none() && errors.legacy.is_some());
        let note = &errors.notes[0];
        assert!(
            note.starts_with("candidate: `http_requests_total` is not known"),
            "{note}"
        );
        assert!(note.contains(why) && note.ends_with(line), "{note}");
        assert!(note.contains("line "), "{note}");
        // On any page, whatever the later ones say.
        let [first, last] = candidate;
        let later = [first, last, whole[1].clone()];
        let document = compare(&whole, &later, &thresholds);
        assert_eq!(outcomes(&document)[0], Undecided, "{line}");
    }
}

#[test]
fn lines_on_which_nothing_rests_cost_nothing() {
    let thresholds = ["errors <= 4%", "rate >= 1"];
    let failed = "http_requests_total{status=\"500\"} 0";
    for line in [
        "other_total 5x",
        "other_total NaN",
        "other_total -1",
        "<html>",
        // The same one with the same value.
        "http_requests_total{status=\"200\"} 1316",
        // Of a metric that something else rests on.
        "process_resident_memory_bytes NaN",
    ] {
        let pages = with_second_line(&format!("{failed}\n{line}"));
        let document = compare(&pages, &pages, &thresholds);
        assert_eq!(outcomes(&document), [MetricsOutcome::Pass; 2], "{line}");
    }
    // Labels that are not meant.
    let probed = "http_requests_total{status=\"500\",kind=\"probe\"} NaN";
    let pages = with_second_line(&format!("{failed}\n{probed}"));
    let meant = naming(Subject::Requests, "http_requests_total{kind!=\"probe\"}");
    let meant = named(&pages, meant);
    let thresholds = ["errors <= 4%".parse().unwrap()];
    let document = compared(&meant, &meant, &thresholds, Judged::ByBounds);
    assert_eq!(document.outcome, MetricsOutcome::Pass, "{document:#?}");
    // A summary of nothing.
    let summary = "# TYPE http_request_duration_seconds summary\n\
                   http_request_duration_seconds{quantile=\"0.99\"}";
    let pages = [format!("{summary} NaN\n"), format!("{summary} 0.02\n")];
    let document = compare(&pages, &pages, &["p99 <= 1s"]);
    assert_eq!(document.outcome, MetricsOutcome::Pass, "{document:#?}");
}

#[test]
fn a_histogram_or_a_summary_without_one_of_its_lines_has_no_quantiles() {
    let page = |requests: u64, more: &str| {
        format!(
            "http_request_duration_seconds_bucket{{route=\"/a\",le=\"0.01\"}} {requests}\n\
             http_request_duration_seconds_bucket{{route=\"/a\",le=\"+Inf\"}} {requests}\n{more}\n"
        )
    };
    let slow = "http_request_duration_seconds_bucket{route=\"/slow\",le=\"+Inf\"} 9e";
    for (more, expected) in [
        ("", MetricsOutcome::Pass),
        (slow, MetricsOutcome::Undecided),
        (
            "http_request_duration_seconds_bucket{le=\"1\"} -1",
            MetricsOutcome::Undecided,
        ),
    ] {
        let pages = [page(0, ""), page(5_000, more)];
        let document = compare(&pages, &pages, &["p99 <= 1s"]);
        assert_eq!(document.outcome, expected, "{more}");
    }
    let summary = "# TYPE http_request_duration_seconds summary\n\
                   http_request_duration_seconds{quantile=\"0.99\"} -0.02\n";
    let pages = [summary.to_owned(), summary.to_owned()];
    let document = compare(&pages, &pages, &["p99 <= 1s"]);
    assert_eq!(document.outcome, MetricsOutcome::Undecided);
}

#[test]
fn amounts_below_zero_pass_nothing() {
    let page = |name: &str, number: &str| format!("{name} {number}\n");
    for (name, thresholds) in [
        (
            "process_resident_memory_bytes",
            &["rss <= -10%", "rss <= 1GiB", "rss_max <= 1GiB"][..],
        ),
        ("go_memstats_heap_inuse_bytes", &["heap <= 1GiB"]),
        ("process_open_fds", &["descriptors <= 10"]),
        ("process_threads", &["threads <= 10", "threads <= -10%"]),
        ("process_cpu_seconds_total", &["cpu <= 1"]),
        ("jvm_gc_pause_seconds_max", &["gc_max <= 1s"]),
        ("jvm_gc_pause_seconds_sum", &["gc_share <= 1%"]),
    ] {
        let legacy = [page(name, "8"), page(name, "8")];
        for number in ["-500000000.0", "-1", "-Inf", "NaN", "8x"] {
            for candidate in [
                [page(name, number), page(name, number)],
                // Once only, and as one of several.
                [page(name, "1"), page(name, number)],
                [
                    page(name, "1"),
                    format!("{name}{{a=\"1\"}} 1\n{name}{{a=\"2\"}} {number}\n"),
                ],
            ] {
                // A page without any line that can be read is none.
                let candidate = candidate.map(|page| format!("other 1\n{page}"));
                let document = compare(&legacy, &candidate, thresholds);
                let all = outcomes(&document);
                assert!(
                    all.iter().all(|one| *one == MetricsOutcome::Undecided),
                    "{name} {number}: {document:#?}"
                );
                let mut notes = document.measures.iter().flat_map(|one| &one.notes);
                let is_told =
                    |note: &String| note.starts_with("candidate: ") && note.contains(number);
                assert!(notes.any(is_told), "{name} {number}: {document:#?}");
            }
        }
    }
    // A series over time says which line it lacks.
    let pages = [-5, 3, 4].map(|number| format!("process_resident_memory_bytes {number}\n"));
    let taken = scrapes(&pages);
    let (_, samples) = taken.series(Subject::Memory).unwrap();
    assert_eq!(samples, [(10.0, 3.0), (20.0, 4.0)]);
    let why = taken.passed_over(Subject::Memory).unwrap();
    assert!(
        why.contains("is negative") && why.contains("line 1"),
        "{why}"
    );
    assert_eq!(scrapes(&pages[1..]).passed_over(Subject::Memory), None);
}
