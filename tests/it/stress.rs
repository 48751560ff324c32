//! `parity stress`: both services under load. What is asserted does not depend on how fast the machine is: planted errors, planted
//! capacity with wide margins, counts.

mod refused;
mod trouble;

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use parity_schemas::metrics::{Measure, MetricsOutcome};
use parity_schemas::stress::{LoadRun, StressDocument, StressSide, StressVerdict};

use crate::support::exporter::{Counted, busy};
use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Service};
use crate::support::{root, schema};

/// What makes a run short and lets no machine be too slow for it.
const LENIENT: [&str; 16] = [
    "--window",
    "2s",
    "--warm-up",
    "200ms",
    "--pause",
    "0s",
    "--repeats",
    "1",
    "--refine",
    "0",
    "--p99",
    "10s",
    "--min-answered",
    "0.3",
    "--compare",
    "0",
];

/// Arguments of a lenient run.
fn arguments<'a>([legacy, candidate]: [&'a str; 2], more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["stress", "--output", "json"];
    arguments.extend(["--legacy", legacy, "--candidate", candidate]);
    let mut lenient = LENIENT.chunks(2);
    let given = |flag: &str| more.contains(&flag);
    arguments.extend(lenient.by_ref().filter(|pair| !given(pair[0])).flatten());
    if !more
        .iter()
        .any(|one| *one == "--request" || one.ends_with(".ndjson"))
    {
        arguments.extend(["--request", "GET /balance/{id}", "--ids", "1000"]);
    }
    arguments.extend(more);
    arguments
}

/// Runs it; `None` where there is no document.
fn stress(place: &Place, services: [&str; 2], more: &[&str]) -> (Ended, Option<StressDocument>) {
    let ended = place.run(&arguments(services, more));
    let document = (!ended.stdout.is_empty()).then(|| serde_json::from_str(&ended.stdout));
    (
        ended,
        document.map(|document| document.expect("of this type")),
    )
}

/// The same where there must be one.
fn found(place: &Place, services: [&str; 2], more: &[&str]) -> (i32, StressDocument) {
    let (ended, document) = stress(place, services, more);
    let document = document.unwrap_or_else(|| panic!("{}", ended.stderr));
    (ended.code, document)
}

fn runs(side: &StressSide) -> impl Iterator<Item = &LoadRun> {
    side.steps.iter().flat_map(|step| &step.runs)
}

/// Each request that was due is in exactly one count.
fn is_conserved(document: &StressDocument) {
    for run in runs(&document.legacy).chain(runs(&document.candidate)) {
        let answers: u64 = run.statuses.values().sum();
        let failures: u64 = run.failures.values().sum();
        assert_eq!(run.due, answers + failures, "{run:?}");
    }
}

#[test]
fn planted_errors_break_a_service_and_nothing_else_does() {
    let place = Place::new();
    let legacy = Service::json("{}");
    let candidate = Service::start(|_| Answer::new(500, "{}"));
    let services = [&*legacy.url(), &*candidate.url()];
    let (code, document) = found(&place, services, &["--rates", "60"]);
    assert_eq!(code, 1, "{:?}", document.reasons);
    let whole = std::fs::read_to_string(root().join("schemas/json/stress.v1.json"));
    let whole = serde_json::from_str(&whole.expect("committed")).expect("JSON");
    let own = serde_json::to_value(&document).expect("JSON");
    assert_eq!(schema::wrong(&whole, &whole, &own), [""; 0]);
    assert_eq!(document.outcome, MetricsOutcome::Fail);
    let [reason] = &*document.reasons else {
        panic!("{:?}", document.reasons);
    };
    let told = "the candidate held no rate (at 60/s: 100 % of the requests failed";
    assert!(reason.starts_with(told), "{reason}");
    // What is known of both, at the rate that both were loaded with.
    let [table] = &*document.tables else {
        panic!("{:?}", document.tables);
    };
    let verdicts = [StressVerdict::Held, StressVerdict::Broken];
    assert_eq!((table.rates, table.verdicts), ([60; 2], Some(verdicts)));
    let mut errors = table.measures.iter();
    let errors = errors.find(|one| one.measure == Measure::Errors);
    let candidate_errors = errors.and_then(|one| one.candidate.as_ref());
    assert!(
        candidate_errors.is_some_and(|one| one.value > 0.99),
        "{table:?}"
    );
    assert_eq!(document.legacy.sustained, Some(60), "{:?}", document.legacy);
    let candidate = &document.candidate;
    assert_eq!((candidate.sustained, candidate.broken), (None, Some(60)));
    let why = candidate.why.as_deref().expect("it is told");
    assert!(why.contains("of the requests failed"), "{why}");
    is_conserved(&document);
    let run = runs(candidate).next().expect("one");
    assert_eq!(run.due, 120, "60 a second for two seconds");
    assert_eq!(run.statuses.get("5xx"), Some(&120), "{run:?}");
    assert_eq!(run.verdict, StressVerdict::Broken);
}

#[test]
fn a_planted_capacity_is_found_and_a_service_without_one_is_not_blamed() {
    let place = Place::new();
    let turn = Mutex::new(());
    // One at a time, 20 ms each: 50 a second at most, however fast the machine is.
    let legacy = Service::start(move |_| {
        let _turn = turn.lock().expect("no panic while held");
        std::thread::sleep(Duration::from_millis(20));
        Answer::json("{}")
    });
    let candidate = Service::json("{}");
    let services = [&*legacy.url(), &*candidate.url()];
    let more = [
        "--rates",
        "25,300",
        "--window",
        "5s",
        "--p99",
        "1500ms",
        "--min-answered",
        "0.6",
        "--in-flight",
        "600",
        "--threshold",
        "rate >= +20%",
        "--threshold",
        "errors <= 50%",
        "--at",
        "25",
    ];
    let (_, document) = found(&place, services, &more);
    is_conserved(&document);
    let legacy = &document.legacy;
    assert_eq!(legacy.broken, Some(300), "{legacy:?}");
    assert_ne!(
        document.candidate.broken,
        Some(25),
        "{:?}",
        document.candidate
    );
    // What a service answers in a time is bounded by what it can.
    let run = legacy.steps.iter().find(|step| step.rate == 300);
    let run = &run.expect("it was tried").runs[0];
    assert!(run.values[&Measure::Rate].value <= 51.0, "{run:?}");
    let table = &document.tables[0];
    assert_eq!(table.rates, [25, 25]);
}

#[test]
fn requests_are_the_same_for_both_and_one_that_half_exists_is_told_by_its_class() {
    let place = Place::new();
    let asked: [&'static Mutex<Vec<String>>; 2] = [(); 2].map(|()| &*Box::leak(Box::default()));
    let [legacy, candidate] = asked.map(|asked| {
        Service::start(move |request| {
            assert_eq!(request.header("x-parity-shadow"), Some("1"));
            asked.lock().expect("held").push(request.target.clone());
            let is_even = request.target.ends_with(['0', '2', '4', '6', '8']);
            Answer::new(if is_even { 404 } else { 200 }, "{}")
        })
    });
    let services = [&*legacy.url(), &*candidate.url()];
    let (code, document) = found(&place, services, &["--rates", "60", "--threads", "1"]);
    assert_eq!(code, 0, "{:?}", document.reasons);
    is_conserved(&document);
    for side in [&document.legacy, &document.candidate] {
        let run = runs(side).next().expect("one");
        assert_eq!(run.statuses.get("2xx"), Some(&60), "{run:?}");
        assert_eq!(run.statuses.get("4xx"), Some(&60), "{run:?}");
        let note = "60 of 120 answers had a status of 4xx, which is no error here";
        assert_eq!(side.notes, [note]);
    }
    let mut asked = asked.map(|asked| asked.lock().expect("held").clone());
    for targets in &mut asked {
        targets.sort();
    }
    assert_eq!(asked[0], asked[1]);
    let mut different = asked[0].clone();
    different.dedup();
    assert!(different.len() > 100, "{}", different.len());
    assert_eq!(document.requests.requests, 1_000);
}

#[test]
fn answers_are_compared_while_it_loads() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let services = [&*legacy.url(), &*candidate.url()];
    let own = std::process::id().to_string();
    let more = ["--rates", "60", "--compare", "50"];
    let watched = [&more[..], &["--candidate-pid", &own]].concat();
    let (code, document) = found(&place, services, &watched);
    assert_eq!(code, 1, "{:?}", document.reasons);
    let answers = document.answers.as_ref().expect("they were compared");
    assert!(answers.differing > 0, "{answers:?}");
    assert_eq!(answers.equal, 0);
    // What was asked besides is in no count of the load, and the service worked for it, too.
    is_conserved(&document);
    let run = runs(&document.candidate).next().expect("one");
    assert!(run.besides > 0, "{run:?}");
    let of = |measure| run.values[&measure].value;
    let all = of(Measure::Rate) + run.besides as f64 / 2.0;
    let divided = of(Measure::Cpu) / of(Measure::CpuPerRequest);
    assert!(
        (divided / all - 1.0).abs() < 0.1,
        "{divided} of {all}: {run:?}"
    );
    let first = &answers.differences[0];
    assert_eq!(first.route, "GET /balance/{id}");
    assert_eq!(first.place, "body /a value");
    // A rule of the configuration makes them equal.
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"a\"\npath = \"/a\"\naction = \"ignore\"\nreason = \"test\"\nowner = \"test\"\n",
    );
    let (code, document) = found(&place, services, &more);
    assert_eq!(code, 0, "{:?}", document.reasons);
    assert!(!document.judged, "nothing was demanded");
    let answers = document.answers.expect("they were compared");
    assert!(answers.equal > 0 && answers.differing == 0, "{answers:?}");
}

#[test]
fn processes_and_pages_tell_what_the_load_costs_and_a_page_draws_it() {
    let place = Place::new();
    let legacy = busy(Counted::OLD, 1_000.0, Counted::go);
    let candidate = busy(Counted::NEW, 1_000.0, Counted::rust);
    let own = std::process::id().to_string();
    // Of one process for both sides nothing could be told.
    let other_place = Place::new();
    let other = other_place.mirror(&legacy.url(), &candidate.url(), &[]);
    let of_other = other.pid().to_string();
    let html = place.path().join("load.html");
    let (of_legacy, of_candidate) = (legacy.url(), candidate.url());
    let more = [
        "--rates",
        "60",
        "--repeats",
        "2",
        "--legacy-pid",
        &own,
        "--candidate-pid",
        &of_other,
        "--legacy-metrics",
        &of_legacy,
        "--candidate-metrics",
        &of_candidate,
        "--price-vcpu",
        "10",
        "--price-gib",
        "1",
        "--html",
        html.to_str().expect("UTF-8"),
        "--threshold",
        "rss_max <= 100GiB",
    ];
    let services = [&*of_legacy, &*of_candidate];
    let (code, document) = found(&place, services, &more);
    assert_eq!(code, 0, "{:?}", document.reasons);
    assert_eq!(document.thresholds.len(), 1);
    for side in [&document.legacy, &document.candidate] {
        assert_eq!(runs(side).count(), 2);
        for run in runs(side) {
            assert_eq!(run.values[&Measure::Rss].source, "process", "{run:?}");
            assert!(run.values[&Measure::Rss].value > 1e6, "{run:?}");
            assert!(run.values.contains_key(&Measure::Cpu), "{run:?}");
        }
    }
    let run = runs(&document.legacy).next().expect("one");
    let pause = &run.values[&Measure::GcMax];
    assert_eq!(pause.source, "go_gc_duration_seconds");
    assert!((pause.value - 0.012).abs() < 1e-9);
    let run = runs(&document.candidate).next().expect("one");
    assert!(!run.values.contains_key(&Measure::GcMax));
    let cost = document.cost.expect("prices were given");
    let expected = 10.0 * cost.legacy.vcpus + cost.legacy.gib;
    assert!((cost.legacy.price - expected).abs() < 1e-9, "{cost:?}");
    assert!(document.generator.cpu.is_some());
    let page = std::fs::read_to_string(html).expect("it is written");
    for word in ["Latency by rate", "CPU by rate", "Resident memory", "<svg"] {
        assert!(page.contains(word), "{word}");
    }
    assert!(!page.contains("<script"), "{page}");
}

#[test]
fn a_file_of_requests_is_sent_as_it_is_and_a_table_is_for_people() {
    let place = Place::new();
    let seen: &'static Mutex<Vec<String>> = Box::leak(Box::default());
    let legacy = Service::start(|request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let text = format!("{} {} {body}", request.method, request.target);
        seen.lock().expect("held").push(text);
        Answer::json("{}")
    });
    let mut lines = String::new();
    for (method, url, body) in [
        ("GET", "/a", ""),
        ("POST", "/quotes", "1"),
        ("DELETE", "/a", ""),
    ] {
        let line = serde_json::json!({"schema": "parity.exchange/v1", "time": "2026-11-24T03:00:00.000000Z",
            "method": method, "url": url, "body": body});
        writeln!(lines, "{line}").expect("memory");
    }
    place.write("traffic.ndjson", lines);
    place.write(
        "parity.toml",
        "[[route]]\nmatch = \"POST /quotes\"\nshadow = true\n",
    );
    let url = legacy.url();
    let mut arguments = arguments([&url, &url], &["traffic.ndjson", "--rates", "60"]);
    arguments.retain(|one| *one != "--output" && *one != "json");
    arguments.extend(["--self-comparison", "on"]);
    let ended = place.run(&arguments);
    assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stderr.contains("--self-comparison"),
        "{}",
        ended.stderr
    );
    let other = Service::json("{}");
    let other_url = other.url();
    let mut arguments = self::arguments([&url, &other_url], &["traffic.ndjson", "--rates", "60"]);
    arguments.retain(|one| *one != "--output" && *one != "json");
    let ended = place.run(&arguments);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let seen = seen.lock().expect("held");
    assert!(seen.iter().any(|one| one == "GET /a "), "{seen:?}");
    assert!(seen.iter().any(|one| one == "POST /quotes 1"), "{seen:?}");
    assert!(
        !seen.iter().any(|one| one.starts_with("DELETE")),
        "{seen:?}"
    );
    assert!(
        ended
            .stderr
            .contains("not sent: 1 that may change something"),
        "{}",
        ended.stderr
    );
    for words in [
        "NOT JUDGED  over ",
        "  no thresholds, so nothing was judged: the candidate holds 60/s and the legacy 60/s (+0.0 %); --threshold",
        "legacy     http://127.0.0.1:",
        ": holds 60/s and was not tried with more\n",
        "\nBoth at 60/s\nmetric  legacy",
        "\nsent       traffic.ndjson: 2 requests, 1 left out (unsafe_method)\n",
        "\ngenerator  ",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

/// It was sent as it stands, in every request.
#[test]
fn an_id_is_filled_in_in_fields_too() {
    let place = Place::new();
    let check = |request: &crate::support::service::Request| {
        let path = request.target.rsplit('/').next();
        let is_it = request.header("x-account") == path.map(|id| format!("acc-{id}")).as_deref();
        Answer::new(if is_it { 200 } else { 500 }, "{}")
    };
    let services = [Service::start(check), Service::start(check)];
    let [legacy, candidate] = services.each_ref().map(Service::url);
    let more = [
        "--request",
        "GET /accounts/{id}",
        "--ids",
        "7",
        "--header",
        "x-account: acc-{id}",
        "--rates",
        "60",
    ];
    let (_, document) = found(&place, [&*legacy, &*candidate], &more);
    for run in runs(&document.legacy).chain(runs(&document.candidate)) {
        assert_eq!(run.statuses.get("5xx"), None, "{run:?}");
        assert!(run.statuses.contains_key("2xx"), "{run:?}");
    }
    // Nor may it stand only there without ids.
    let (ended, _) = stress(
        &place,
        [&*legacy, &*candidate],
        &[
            "--request",
            "GET /a",
            "--header",
            "x: {id}",
            "--rates",
            "60",
        ],
    );
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("has {id}"), "{}", ended.stderr);
}
