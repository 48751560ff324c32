//! `parity metrics`: two services beside each other by their pages of metrics, over real sockets.

mod settings;
mod trouble;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use parity_schemas::metrics::{Measure, Measured, MetricsDocument, MetricsOutcome};

use crate::support::client::Connection;
use crate::support::exporter::{Counted, busy};
use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Request, Service};
use crate::support::{Stop, root, schema};

/// Runs it over a short time; `None` where there is no document.
fn metrics(
    place: &Place,
    [legacy, candidate]: [&str; 2],
    more: &[&str],
) -> (Ended, Option<MetricsDocument>) {
    let mut arguments = vec!["metrics", "--output", "json", "--interval", "100ms"];
    arguments.extend(["--legacy-metrics", legacy, "--candidate-metrics", candidate]);
    if !more.contains(&"--window") {
        arguments.extend(["--window", "1s"]);
    }
    arguments.extend(more);
    let ended = place.run(&arguments);
    let document = (!ended.stdout.is_empty()).then(|| serde_json::from_str(&ended.stdout));
    (
        ended,
        document.map(|document| document.expect("of this type")),
    )
}

fn of(document: &MetricsDocument, measure: Measure) -> &Measured {
    let mut measures = document.measures.iter();
    let found = measures.find(|measured| measured.measure == measure);
    found.expect("every measure is there")
}

/// The values of both; 0 where there is none.
fn values(document: &MetricsDocument, measure: Measure) -> [f64; 2] {
    let measured = of(document, measure);
    [&measured.legacy, &measured.candidate]
        .map(|value| value.as_ref().map_or(0.0, |value| value.value))
}

fn near(value: f64, expected: f64, share: f64) {
    let is_near = (value - expected).abs() <= expected * share;
    assert!(is_near, "{value} is not {expected}");
}

#[test]
fn two_services_are_measured_as_they_are_and_a_threshold_decides() {
    let place = Place::new();
    let legacy = busy(Counted::OLD, 20_000.0, Counted::go);
    let candidate = busy(Counted::NEW, 40_000.0, Counted::rust);
    let thresholds = [
        "--threshold",
        "p99 <= -30%, errors <= 0.5%",
        "--threshold",
        "rss <= 100MiB",
        "--threshold",
        "rate >= +50%",
    ];
    let targets = [legacy.url(), candidate.url() + "/metrics"];
    let (ended, document) = metrics(&place, [&targets[0], &targets[1]], &thresholds);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stderr, "", "a pipe is told nothing");
    let document = document.expect("a document");
    let whole = std::fs::read_to_string(root().join("schemas/json/metrics.v1.json"));
    let whole = serde_json::from_str(&whole.expect("committed")).expect("JSON");
    assert_eq!(schema::wrong(&whole, &whole, &ended.json()), [""; 0]);
    assert_eq!(document.schema, "parity.metrics/v1");
    assert_eq!(document.outcome, MetricsOutcome::Pass);
    assert_eq!(document.thresholds.len(), 4);
    assert_eq!(document.legacy.target, format!("{}/metrics", legacy.url()));
    assert!(document.legacy.pages >= 3 && document.candidate.pages >= 3);
    near(document.seconds, 1.0, 0.3);
    // What follows from one page alone is exact, whenever it was read.
    let pair = |measure| values(&document, measure);
    near(pair(Measure::Rate)[0], 20_000.0, 0.1);
    near(pair(Measure::Rate)[1], 40_000.0, 0.1);
    near(pair(Measure::Errors)[0], 0.01, 0.01);
    assert!(pair(Measure::Errors)[1].abs() < 1e-12);
    for (measure, [old, new]) in [
        (Measure::P50, [10.0, 10.0]),
        (Measure::P99, [40.0, 20.0]),
        (Measure::P999, [40.0, 20.0]),
    ] {
        near(pair(measure)[0], old / 1_000.0, 0.051);
        near(pair(measure)[1], new / 1_000.0, 0.051);
        let value = of(&document, measure).candidate.clone().expect("there");
        assert!(
            value.low <= Some(new / 1_000.0) && value.high >= Some(new / 1_000.0),
            "{value:?}"
        );
    }
    near(pair(Measure::CpuPerRequest)[0], 0.001, 0.001);
    near(pair(Measure::CpuPerRequest)[1], 0.0005, 0.001);
    near(pair(Measure::Cpu)[0], 20.0, 0.1);
    near(pair(Measure::RssMax)[1], 41_943_040.0, 1e-9);
    near(pair(Measure::GcMax)[0], 0.012, 1e-9);
    assert!(of(&document, Measure::GcMax).candidate.is_none());
    assert!(of(&document, Measure::GcMax).notes[0].starts_with("candidate: none of the usual"));
    near(
        of(&document, Measure::Rss).change.expect("both"),
        -0.8,
        -1e-9,
    );

    let text = place.run(&[
        "metrics",
        "--legacy-metrics",
        &targets[0],
        "--candidate-metrics",
        &targets[1],
        "--window",
        "500ms",
        "--interval",
        "100ms",
        "--threshold",
        "errors <= 0%",
    ]);
    assert_eq!(
        text.code, 3,
        "none failed of some is no proof: {}",
        text.stdout
    );
    let columns = ["metric ", " legacy ", " candidate ", " change"];
    for word in columns
        .into_iter()
        .chain(["\nrss ", "-80.0 %", "UNDECIDED"])
    {
        assert!(text.stdout.contains(word), "{word}: {}", text.stdout);
    }
}

/// A service that counts what it answers: 20 of a thousand requests are slow.
struct Working {
    service: Service,
    answered: Arc<AtomicU64>,
}

impl Working {
    fn start(counted: Counted) -> Self {
        let answered = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&answered);
        let service = Service::start(move |request| {
            if request.target == "/metrics" {
                return Answer::new(200, counted.after(own.load(Ordering::SeqCst)).rust());
            }
            own.fetch_add(1, Ordering::SeqCst);
            Answer::json("{}")
        });
        Self { service, answered }
    }

    fn address(&self) -> std::net::SocketAddr {
        let url = self.service.url();
        let address = url.trim_start_matches("http://").parse();
        address.expect("an address")
    }
}

/// Runs it while both services get requests.
fn under_load(place: &Place, services: [&Working; 2], threshold: &str) -> MetricsDocument {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for working in services {
            let (address, stop) = (working.address(), &stop);
            scope.spawn(move || {
                let mut connection = Connection::open(address);
                while !stop.load(Ordering::Relaxed) {
                    connection.send("GET", "/work", &[], b"");
                    connection.answer("GET").expect("answered");
                }
            });
        }
        let urls = services.map(|working| working.service.url());
        let more = ["--window", "2s", "--threshold", threshold];
        let (ended, document) = metrics(place, [&urls[0], &urls[1]], &more);
        let document = document.unwrap_or_else(|| panic!("{}", ended.stderr));
        let code = match document.outcome {
            MetricsOutcome::Pass => 0,
            MetricsOutcome::Fail => 1,
            MetricsOutcome::Undecided => 3,
        };
        assert_eq!(ended.code, code, "{}", ended.stdout);
        document
    })
}

#[test]
fn a_p99_that_doubles_fails_and_the_same_service_twice_passes() {
    let place = Place::new();
    let doubled = Counted {
        slow: 80.0,
        ..Counted::OLD
    };
    let services = [Counted::OLD, Counted::OLD, doubled].map(Working::start);
    let [legacy, same, slower] = &services;
    for (candidate, expected, change) in [
        (same, MetricsOutcome::Pass, 0.0),
        (slower, MetricsOutcome::Fail, 1.0),
    ] {
        let document = under_load(&place, [legacy, candidate], "p99 <= +25%");
        assert_eq!(document.outcome, expected, "{:?}", document.thresholds);
        let p99 = of(&document, Measure::P99);
        let requests = p99.legacy.as_ref().and_then(|value| value.requests);
        assert!(requests.is_some_and(|requests| requests > 500), "{p99:?}");
        let found = p99.change.expect("both");
        assert!((found - change).abs() < 0.11, "{found} instead of {change}");
        // The median stays what it was.
        let p50 = of(&document, Measure::P50).change.expect("both");
        assert!(p50.abs() < 0.06, "{p50}");
    }
    assert!(legacy.answered.load(Ordering::SeqCst) > 1_000);
}

#[test]
fn coarse_buckets_decide_nothing_by_bounds_and_something_by_values() {
    let place = Place::new();
    let coarse = || {
        let pages = Mutex::new(0_u64);
        move |_: &Request| {
            let mut count = pages.lock().expect("no panic while held");
            *count += 1_000;
            let mut page = String::new();
            for (edge, count) in [("0.1", 0), ("0.25", *count), ("+Inf", *count)] {
                let name = "http_request_duration_seconds_bucket";
                writeln!(page, "{name}{{le=\"{edge}\"}} {count}").expect("memory");
            }
            Answer::new(200, page)
        }
    };
    let services = [(), ()].map(|()| Service::start(coarse()));
    let [legacy, candidate] = services.each_ref().map(Service::url);
    let threshold = ["--threshold", "p99 <= +10%"];
    let (ended, document) = metrics(&place, [&legacy, &candidate], &threshold);
    assert_eq!(ended.code, 3, "{}", ended.stdout);
    let why = &document.expect("a document").thresholds[0].why;
    assert!(why.contains("finer buckets"), "{why}");
    let more = [&threshold[..], &["--judged-by", "values"]].concat();
    let (ended, _) = metrics(&place, [&legacy, &candidate], &more);
    assert_eq!(ended.code, 0, "{}", ended.stdout);
}
