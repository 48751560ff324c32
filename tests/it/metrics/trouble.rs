//! Pages that are none, services that hang, flood, die and begin anew, and somebody who does not wait for the end.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use parity_schemas::metrics::{Measure, MetricsOutcome};

use super::{metrics, near, of};
use crate::support::exporter::{Counted, busy, exporter};
use crate::support::process::Place;
use crate::support::service::{Answer, Service, nobody};
use crate::support::{PATIENCE, wait_for};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";

/// One that is as it should be.
fn sound() -> Service {
    busy(Counted::OLD, 20_000.0, Counted::go)
}

fn open_metrics(page: &'static str) -> Answer {
    Answer::new(200, page).header(
        "content-type",
        "application/openmetrics-text; version=1.0.0",
    )
}

/// Waits until the other end of a connection is closed.
fn until_closed(stream: &mut TcpStream) {
    let mut buffer = [0; 1_024];
    while std::io::Read::read(stream, &mut buffer).is_ok_and(|length| length > 0) {}
}

#[test]
fn what_is_no_page_of_metrics_is_told_and_delays_nobody() {
    let place = Place::new();
    let legacy = sound();
    let html = "<!DOCTYPE html>\n<title>\u{1b}]0;owned\u{7}</title>";
    let flood = |_: &_, stream: &mut TcpStream| {
        let lines = "http_requests_total 1\n".repeat(4_096);
        let sent = stream.write_all(HEAD);
        if sent.is_ok() {
            while stream.write_all(lines.as_bytes()).is_ok() {}
        }
    };
    let drip = |_: &_, stream: &mut TcpStream| {
        let mut sent = stream.write_all(HEAD);
        while sent.is_ok() {
            std::thread::sleep(Duration::from_millis(20));
            sent = stream.write_all(b"a 1\n");
        }
    };
    let cut = |_: &_, stream: &mut TcpStream| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhttp_requests_total 1\n";
        let _gone = stream.write_all(head);
    };
    let many = |_| {
        let lines = (0..60_000).map(|user| format!("http_requests_total{{user=\"{user}\"}} 1\n"));
        Answer::new(200, lines.collect::<String>())
    };
    let moved = Answer::new(302, "").header("location", &legacy.url());
    let cases: Vec<(Service, &str)> = vec![
        (
            exporter(move |_| Answer::new(404, html)),
            "it answers 404 Not Found: <!DOCTYPE",
        ),
        (
            exporter(move |_| Answer::new(200, html)),
            "no page of metrics, line 1",
        ),
        (exporter(|_| Answer::new(500, "")), "it answers 500"),
        (exporter(move |_| moved.clone()), "it answers 302"),
        (exporter(|_| Answer::new(200, "")), "it is empty"),
        (
            exporter(|_| Answer::json("{\"a\":1}")),
            "no page of metrics",
        ),
        (
            exporter(|_| Answer::new(200, vec![0x1f, 0x8b, 8, 0, 0xff])),
            "no page of metrics",
        ),
        (exporter(many), "over 50000 samples"),
        (
            Service::misbehaving(|_, stream| until_closed(stream)),
            "no whole page came in 1s",
        ),
        (Service::misbehaving(drip), "no whole page came in 1s"),
        (Service::misbehaving(flood), "over 16 MiB"),
        (Service::misbehaving(cut), "broke off"),
        (
            Service::misbehaving(|_, stream| {
                let _gone = stream.write_all(&[HEAD, b"http_requests_total 1\n"].concat());
            }),
            "nothing tells whether its page is whole",
        ),
        (
            exporter(|_| open_metrics("http_requests_total 1\nhttp_req")),
            "its last line is not `# EOF`",
        ),
        (
            exporter(|_| open_metrics("http_requests_total 1\n# EOF\nhttp_requests_total 2\n")),
            "goes on behind `# EOF`",
        ),
        (Service::misbehaving(|_, _| {}), "does not answer"),
        (
            Service::misbehaving(|_, stream| {
                let _gone = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n");
            }),
            "does not answer",
        ),
    ];
    let nobody = nobody();
    let mut targets: Vec<(String, &str)> = Vec::new();
    targets.extend(cases.iter().map(|(service, words)| (service.url(), *words)));
    targets.push((nobody, "does not answer"));
    for (url, words) in &targets {
        let begun = Instant::now();
        // It would look for much longer.
        let deadline = if words.contains("MiB") { "5s" } else { "1s" };
        let more = ["--window", "10m", "--deadline", deadline];
        let (ended, document) = metrics(&place, [&legacy.url(), url], &more);
        assert_eq!(ended.code, 2, "{words}: {}", ended.stdout);
        assert!(document.is_none());
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        let whom = format!("of the candidate at {url}/metrics");
        assert!(ended.stderr.contains(&whom), "{}", ended.stderr);
        assert!(!ended.stderr.contains("of the legacy"), "{}", ended.stderr);
        assert!(
            !ended.stderr.contains(['\u{1b}', '\u{7}']),
            "{}",
            ended.stderr
        );
        assert!(begun.elapsed() < PATIENCE, "{words}: {:?}", begun.elapsed());
    }
}

#[test]
fn what_says_nothing_of_use_is_undecided_and_never_zero() {
    let place = Place::new();
    let legacy = sound();
    let all = [
        "--threshold",
        "p99 <= 10s,errors <= 100%,rss <= 1GiB,cpu <= 1000,rate <= 1000000",
    ];
    for (name, page, words) in [
        (
            "another one",
            "other_total 1\n",
            "none of the usual metrics",
        ),
        (
            "NaN",
            "http_requests_total NaN\nprocess_resident_memory_bytes NaN\nprocess_cpu_seconds_total NaN\n\
             http_request_duration_seconds_bucket{le=\"+Inf\"} NaN\n",
            "none of the usual metrics",
        ),
        (
            "types",
            "# TYPE http_requests_total gauge\nhttp_requests_total 5\n\
             # TYPE http_request_duration_seconds counter\nhttp_request_duration_seconds 5\n\
             # TYPE process_resident_memory_bytes histogram\nprocess_resident_memory_bytes_bucket{le=\"+Inf\"} 1\n\
             # TYPE process_cpu_seconds_total gauge\nprocess_cpu_seconds_total 1\n",
            "is there as gauge",
        ),
        (
            "two types",
            "# TYPE http_requests_total gauge\n# TYPE http_requests_total counter\nhttp_requests_total 5\n",
            "declared with two types",
        ),
    ] {
        let candidate = exporter(move |_| Answer::new(200, page));
        let (ended, document) = metrics(&place, [&legacy.url(), &candidate.url()], &all);
        assert_eq!(ended.code, 3, "{name}: {}{}", ended.stdout, ended.stderr);
        let document = document.expect("a document");
        for judged in &document.thresholds {
            assert_eq!(
                judged.outcome,
                MetricsOutcome::Undecided,
                "{name}: {judged:?}"
            );
        }
        assert!(ended.stdout.contains(words), "{name}: {}", ended.stdout);
        let rate = of(&document, Measure::Rate);
        assert!(rate.legacy.is_some() && rate.candidate.is_none(), "{name}");
    }
}

#[test]
fn a_reset_in_the_middle_is_added_up_and_a_page_that_failed_is_told() {
    let place = Place::new();
    let legacy = sound();
    // It begins anew after four pages, and one page is lost.
    let candidate = exporter(|asked| match asked {
        2 => Answer::new(503, "busy"),
        0..4 => Answer::new(200, Counted::OLD.after(5_000 + asked * 1_000).go()),
        _ => {
            let start = Counted::OLD.start + 60;
            let anew = Counted {
                start,
                ..Counted::OLD
            };
            Answer::new(200, anew.after((asked - 3) * 1_000).go())
        }
    });
    let more = ["--threshold", "errors <= 2%", "--window", "3s"];
    let (ended, document) = metrics(&place, [&legacy.url(), &candidate.url()], &more);
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    let document = document.expect("a document");
    let why = &document.thresholds[0].why;
    assert!(why.contains("but the candidate began anew"), "{why}");
    let side = &document.candidate;
    assert_eq!((side.restarts, side.failed), (1, 1), "{side:?}");
    let notes = side.notes.join("\n");
    assert!(notes.contains("pages could not be read"), "{notes}");
    assert!(notes.contains("it answers 503"), "{notes}");
    assert!(notes.contains("the process began anew 1 ×"), "{notes}");
    let rate = of(&document, Measure::Rate);
    let value = rate.candidate.as_ref().expect("measured");
    // Three thousand before, and a thousand for each page behind it.
    assert_eq!(value.requests, Some(3_000 + (side.pages - 3) * 1_000));
    near(
        value.value,
        value.requests.map_or(0.0, |count| count as f64) / side.seconds,
        1e-9,
    );
    assert!(
        rate.notes.iter().any(|note| note.contains("began anew")),
        "{rate:?}"
    );
}

#[test]
fn a_service_that_dies_in_the_middle_passes_nothing() {
    let place = Place::new();
    let legacy = sound();
    for (threshold, code) in [
        ("rss <= 1GiB", 3),
        // What is broken by what was seen stays so.
        ("rss <= 1MiB", 1),
    ] {
        let asked = std::sync::atomic::AtomicU64::new(0);
        let candidate = Service::misbehaving(move |_, stream| {
            let before = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if before < 4 {
                let page = Answer::new(200, Counted::OLD.after(before * 1_000).go());
                let _gone = page.header("connection", "close").write(stream, false);
            }
        });
        let more = ["--threshold", threshold, "--window", "3s"];
        let (ended, document) = metrics(&place, [&legacy.url(), &candidate.url()], &more);
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
        let document = document.expect("a document");
        assert_eq!(document.candidate.pages, 4);
        let note = &document.candidate.notes[0];
        let since = note.strip_prefix("it answers no more after ");
        let since = since.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        // It is told since when, and not when it was tried last.
        assert!(since.is_some_and(|since| since < 2.5), "{note}");
        if code == 3 {
            let why = &document.thresholds[0].why;
            assert!(why.ends_with("but the candidate answers no more"), "{why}");
        }
    }
}

#[test]
fn a_signal_ends_it_at_once_with_what_was_seen() {
    let place = Place::new();
    let services = [sound(), sound()];
    let hanging = Service::misbehaving(|_, stream| until_closed(stream));
    for (candidate, signal, code, words) in [
        (
            &services[1],
            "-INT",
            3,
            "ended before its time: this is of ",
        ),
        (
            &services[1],
            "-TERM",
            3,
            "ended before its time: this is of ",
        ),
        (
            &hanging,
            "-INT",
            2,
            "ended before anything could be read of both services",
        ),
    ] {
        let seen = [services[0].seen(), candidate.seen()];
        let mut command = place.command(&[
            "metrics",
            "--legacy-metrics",
            &services[0].url(),
            "--candidate-metrics",
            &candidate.url(),
            "--window",
            "1h",
            "--interval",
            "100ms",
            "--deadline",
            "10m",
            "--threshold",
            "rss <= +10%",
        ]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().expect("started");
        wait_for("pages that are read", || {
            let now = [services[0].seen() - seen[0], candidate.seen() - seen[1]];
            let wanted = if code == 2 { [2, 1] } else { [4, 4] };
            (now[0] >= wanted[0] && now[1] >= wanted[1]).then_some(())
        });
        let begun = Instant::now();
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
        let output = child.wait_with_output().expect("it ends");
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{signal}: {stderr}{stdout}"
        );
        assert!(stderr.contains(words), "{stderr}");
        assert_eq!(stdout.contains("UNDECIDED  over "), code == 3, "{stdout}");
        assert_eq!(
            stdout.contains("ended before its time"),
            code == 3,
            "{stdout}"
        );
        assert_eq!(
            stdout.contains("pass       rss <= +10%"),
            code == 3,
            "{stdout}"
        );
    }
}

#[test]
fn a_terminal_is_told_how_far_it_is() {
    let place = Place::new();
    let services = [sound(), sound()];
    let [legacy, candidate] = services.each_ref().map(Service::url);
    let run = format!(
        "stty cols 160; {} metrics --legacy-metrics {legacy} --candidate-metrics {candidate} --window 2s --interval 200ms >/dev/null",
        env!("CARGO_BIN_EXE_parity")
    );
    let output = Command::new("script")
        .args(["-qefc", &run, "/dev/null"])
        .current_dir(place.path())
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .expect("script runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains(" s of 2s · legacy "), "{shown}");
}
