//! `parity soak`: what grows under a steady load. The services say how much memory they have as a function of what they were asked, so
//! a leak is as large as it is planted, however fast the machine is.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parity_schemas::metrics::MetricsOutcome;
use parity_schemas::soak::{Grows, SoakDocument, SoakSide, SoakTrend, SoakVerdict};

use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Service};
use crate::support::{root, schema, wait_for};

const MIB: u64 = 1 << 20;

/// A service whose memory, by its own page, is what `memory` makes of the requests that it answered.
fn service(memory: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Service {
    let answered = Arc::new(AtomicU64::new(0));
    Service::start(move |request| {
        if request.target != "/metrics" {
            answered.fetch_add(1, Ordering::SeqCst);
            return Answer::json("{}");
        }
        let mut page = String::new();
        for (name, value) in [
            (
                "process_resident_memory_bytes",
                memory(answered.load(Ordering::SeqCst)),
            ),
            ("process_open_fds", 12),
        ] {
            writeln!(page, "# TYPE {name} gauge\n{name} {value}").expect("memory");
        }
        Answer::new(200, page)
    })
}

fn arguments<'a>(urls: &'a [String; 4], more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["soak", "--output", "json", "--request", "GET /balance/{id}"];
    arguments.extend(["--ids", "1000", "--p99", "10s", "--min-answered", "0.3"]);
    arguments.extend(["--legacy", &urls[0], "--candidate", &urls[1]]);
    arguments.extend([
        "--legacy-metrics",
        &urls[2],
        "--candidate-metrics",
        &urls[3],
    ]);
    arguments.extend(["--compare", "0", "--interval", "50ms"]);
    for (flag, value) in [("--rate", "200"), ("--for", "6s"), ("--growth", "4MiB")] {
        if !more.contains(&flag) {
            arguments.extend([flag, value]);
        }
    }
    arguments.extend(more);
    arguments
}

fn urls(services: [&Service; 2]) -> [String; 4] {
    let [legacy, candidate] = services.map(Service::url);
    let pages = [format!("{legacy}/metrics"), format!("{candidate}/metrics")];
    let [of_legacy, of_candidate] = pages;
    [legacy, candidate, of_legacy, of_candidate]
}

fn soak(services: [&Service; 2], more: &[&str]) -> (Ended, SoakDocument) {
    let place = Place::new();
    let urls = urls(services);
    let ended = place.run(&arguments(&urls, more));
    let document = serde_json::from_str(&ended.stdout);
    let document = document.unwrap_or_else(|_| panic!("{}", ended.stderr));
    (ended, document)
}

fn of(side: &SoakSide, of: Grows) -> &SoakTrend {
    let mut trends = side.trends.iter();
    trends.find(|trend| trend.of == of).expect("it is there")
}

#[test]
fn a_planted_leak_is_found_with_its_size_and_the_legacy_is_not_blamed() {
    let legacy = service(|_| 200 * MIB);
    let candidate = service(|answered| 50 * MIB + 8_192 * answered);
    let (ended, document) = soak([&legacy, &candidate], &[]);
    assert_eq!(ended.code, 1, "{:?}", document.reasons);
    let whole = std::fs::read_to_string(root().join("schemas/json/soak.v1.json"));
    let whole = serde_json::from_str(&whole.expect("committed")).expect("JSON");
    assert_eq!(schema::wrong(&whole, &whole, &ended.json()), [""; 0]);
    let grows = "candidate: resident memory grows".to_owned();
    assert!(document.reasons.contains(&grows), "{:?}", document.reasons);
    let leak = of(&document.candidate, Grows::Rss);
    assert_eq!(leak.verdict, SoakVerdict::Growing);
    assert_eq!(leak.source, "process_resident_memory_bytes");
    let slope = leak.per_request.expect("it is known");
    assert!((4_096.0..16_384.0).contains(&slope.value), "{leak:?}");
    assert!(slope.low <= slope.value && slope.value <= slope.high && slope.low > 0.0);
    assert!(leak.last > leak.first);
    assert_eq!(
        of(&document.candidate, Grows::Descriptors).verdict,
        SoakVerdict::Flat
    );
    assert_eq!(of(&document.legacy, Grows::Rss).verdict, SoakVerdict::Flat);
    assert!(
        document
            .own
            .iter()
            .any(|trend| trend.of == Grows::Rss && trend.samples > 36)
    );
    // The other way round it is told, and is no fault of the candidate.
    let (ended, document) = soak([&candidate, &legacy], &["--growth", "64MiB"]);
    assert_ne!(ended.code, 1, "{:?}", document.reasons);
}

#[test]
fn what_grows_by_less_than_is_allowed_passes_and_is_not_called_flat() {
    let legacy = service(|_| 200 * MIB);
    let candidate = service(|answered| 50 * MIB + 64 * answered);
    let place = Place::new();
    let (urls, html) = (urls([&legacy, &candidate]), place.path().join("soak.html"));
    let more = ["--html", html.to_str().expect("UTF-8"), "--growth", "64MiB"];
    let ended = place.run(&arguments(&urls, &more));
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let document: SoakDocument = serde_json::from_str(&ended.stdout).expect("a document");
    let slow = of(&document.candidate, Grows::Rss);
    assert_eq!(slow.verdict, SoakVerdict::BelowLimit, "{slow:?}");
    assert!(slow.blocks.len() >= 12 && slow.blocks[0][1] < slow.blocks[11][1]);
    let told = document.reasons.iter().any(|reason| {
        reason.starts_with("candidate: resident memory grows by ")
            && reason.ends_with(" bytes a request, below the limit of --growth")
    });
    assert!(told, "{:?}", document.reasons);
    let page = std::fs::read_to_string(&html).expect("it is written");
    for words in [
        "Resident memory over time",
        "below the limit of --growth, 64 MiB",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let nowhere = ["--html", "/nowhere/a.html"];
    let asked = candidate.seen();
    assert_eq!(place.run(&arguments(&urls, &nowhere)).code, 2);
    assert_eq!(candidate.seen(), asked, "it is told before the load");
}

#[test]
fn a_process_that_begins_anew_says_nothing_of_growth_whatever_series_its_page_has() {
    let legacy = service(|_| 200 * MIB);
    let asked = AtomicU64::new(0);
    // Two workers behind one page; one of them is restarted once the load is under way, however few pages are asked for on a slow machine.
    let pages = AtomicU64::new(0);
    let candidate = Service::start(move |request| {
        if request.target != "/metrics" {
            asked.fetch_add(1, Ordering::SeqCst);
            return Answer::json("{}");
        }
        let page = pages.fetch_add(1, Ordering::SeqCst);
        let start = if page < 8 || asked.load(Ordering::SeqCst) < 300 {
            5
        } else {
            9
        };
        Answer::new(
            200,
            format!(
                "process_start_time_seconds{{worker=\"1\"}} 5\nprocess_start_time_seconds{{worker=\"2\"}} {start}\n\
                 process_resident_memory_bytes{{worker=\"1\"}} 1048576\nprocess_resident_memory_bytes{{worker=\"2\"}} 1048576\n\
                 process_open_fds 12\n"
            ),
        )
    });
    let (ended, document) = soak([&legacy, &candidate], &["--growth", "64MiB"]);
    assert_eq!(ended.code, 3, "{:?}", document.reasons);
    for what in [Grows::Rss, Grows::Descriptors] {
        let trend = of(&document.candidate, what);
        assert_eq!(trend.verdict, SoakVerdict::Undecided, "{trend:?}");
        let why = trend.why.as_deref().unwrap_or_default();
        assert!(why.contains("began anew 1 × meanwhile"), "{why}");
    }
}

#[test]
fn what_grows_once_and_stays_is_no_leak() {
    let legacy = service(|_| 200 * MIB);
    // A cache that is filled after a while, by far more than is allowed.
    let candidate = service(|answered| if answered > 500 { 900 * MIB } else { 100 * MIB });
    let (ended, document) = soak([&legacy, &candidate], &["--growth", "64MiB"]);
    let once = of(&document.candidate, Grows::Rss);
    assert_eq!(once.verdict, SoakVerdict::Flat, "{once:?}");
    assert!(once.jumps > 700.0 * MIB as f64, "{once:?}");
    assert_eq!(ended.code, 0, "{:?}", document.reasons);
    assert_eq!(document.outcome, MetricsOutcome::Pass);
}

#[test]
fn too_little_decides_nothing_and_nothing_to_read_is_an_error() {
    let (legacy, candidate) = (service(|_| MIB), service(|_| MIB));
    let more = ["--for", "1s", "--growth", "64MiB"];
    let (ended, document) = soak([&legacy, &candidate], &more);
    assert_eq!(ended.code, 3, "{:?}", document.reasons);
    let few = of(&document.candidate, Grows::Rss);
    assert_eq!(few.verdict, SoakVerdict::Undecided);
    assert!(
        few.why
            .as_deref()
            .is_some_and(|why| why.contains("too few")),
        "{few:?}"
    );
    let place = Place::new();
    let (legacy_url, candidate_url) = (legacy.url(), candidate.url());
    let nothing = [
        "soak",
        "--request",
        "GET /",
        "--legacy",
        &legacy_url,
        "--candidate",
        &candidate_url,
    ];
    for (more, words) in [
        (&[][..], "nothing says what the candidate uses"),
        (
            &["--for", "2s", "--warm-up", "2s", "--candidate-pid", "1"],
            "leave nothing of",
        ),
        (&["--confidence", "1"], "is no confidence"),
        (
            &["--rate", "1", "--for", "60s", "--candidate-pid", "1"],
            "only 54 requests are due, and a p99 needs 100",
        ),
        (
            &["--candidate-metrics", "http://127.0.0.1:9/metrics"],
            "the page of metrics of the candidate at http://127.0.0.1:9/metrics cannot be read",
        ),
    ] {
        let ended = place.run(&[&nothing[..], more].concat());
        assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}

#[test]
fn memory_that_is_shown_at_the_beginning_alone_decides_nothing() {
    let legacy = service(|_| MIB);
    let asked = AtomicU64::new(0);
    let candidate = Service::start(move |request| {
        if request.target != "/metrics" {
            return Answer::json("{}");
        }
        let page = match asked.fetch_add(1, Ordering::SeqCst) {
            0..80 => "process_resident_memory_bytes 1048576\nprocess_open_fds 3\n",
            _ => "process_open_fds 3\n",
        };
        Answer::new(200, page)
    });
    let (ended, document) = soak([&legacy, &candidate], &["--growth", "64MiB"]);
    assert_eq!(ended.code, 3, "{:?}", document.reasons);
    let memory = of(&document.candidate, Grows::Rss);
    assert_eq!(memory.verdict, SoakVerdict::Undecided);
    let why = memory.why.as_deref().unwrap_or_default();
    assert!(
        why.starts_with("it could not be read to the end: `process_resident_memory_bytes`"),
        "{why}"
    );
    let open = of(&document.candidate, Grows::Descriptors);
    assert_eq!(open.verdict, SoakVerdict::Flat, "{open:?}");
}

#[test]
fn a_service_that_fails_and_one_that_ends_do_not_pass() {
    let legacy = service(|_| MIB);
    let failing = Service::start(|request| {
        if request.target == "/metrics" {
            return Answer::new(200, "process_resident_memory_bytes 1048576\n");
        }
        Answer::new(503, "{}")
    });
    let (ended, document) = soak([&legacy, &failing], &["--growth", "64MiB"]);
    assert_eq!(ended.code, 1, "{:?}", document.reasons);
    let is_told = |reason: &String| reason.starts_with("candidate: 100 % of the requests failed");
    assert!(
        document.reasons.iter().any(is_told),
        "{:?}",
        document.reasons
    );
}

#[test]
fn a_signal_ends_it_and_what_was_seen_is_judged() {
    let (legacy, candidate) = (
        service(|_| MIB),
        service(|answered| MIB + 65_536 * answered),
    );
    let place = Place::new();
    let urls = urls([&legacy, &candidate]);
    let more = ["--for", "1h", "--warm-up", "0s"];
    let child = place
        .command(&arguments(&urls, &more))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    // Pages and requests of some seconds.
    wait_for("load", || (candidate.seen() > 1_200).then_some(()));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let document: SoakDocument = serde_json::from_slice(&output.stdout).expect("it is printed");
    assert!(document.interrupted);
    assert_eq!(
        of(&document.candidate, Grows::Rss).verdict,
        SoakVerdict::Growing
    );
    assert_eq!(output.status.code(), Some(1), "{:?}", document.reasons);
}
