//! Services that die, hang, or are faster than the generator; processes that end; a signal in the middle.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parity_schemas::metrics::MetricsOutcome;
use parity_schemas::stress::{StressDocument, StressVerdict};

use super::{arguments, found, is_conserved, runs};
use crate::support::process::Place;
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

#[test]
fn a_service_that_dies_under_load_is_found_and_said() {
    let place = Place::new();
    let legacy = Service::json("{}");
    let served = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&served);
    // After so many requests it closes every connection without a word.
    let candidate = Service::misbehaving(move |_, stream| {
        if own.fetch_add(1, Ordering::SeqCst) < 100 {
            let _gone = Answer::json("{}")
                .header("connection", "close")
                .write(stream, false);
        }
    });
    let services = [&*legacy.url(), &*candidate.url()];
    let more = ["--rates", "60,120", "--recovery", "1s", "--repeats", "3"];
    let (code, document) = found(&place, services, &more);
    assert_eq!(code, 1, "{:?}", document.reasons);
    is_conserved(&document);
    let side = &document.candidate;
    assert_eq!((side.sustained, side.broken), (None, Some(60)), "{side:?}");
    assert_eq!(side.steps.len(), 1, "it was asked nothing further");
    assert_eq!(runs(side).count(), 1);
    let note = &side.notes[0];
    assert!(
        note.starts_with("it answers no more since 60/s (reset)"),
        "{note}"
    );
    assert_eq!(document.legacy.steps.len(), 2, "the other one goes on");
}

#[test]
fn a_service_that_stops_answering_costs_the_step_and_its_deadline() {
    let place = Place::new();
    let legacy = Service::json("{}");
    let served = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&served);
    let candidate = Service::misbehaving(move |_, stream| {
        if own.fetch_add(1, Ordering::SeqCst) < 60 {
            let _gone = Answer::json("{}")
                .header("connection", "close")
                .write(stream, false);
            return;
        }
        let mut rest = [0; 64];
        while std::io::Read::read(stream, &mut rest).is_ok_and(|read| read > 0) {}
    });
    let services = [&*legacy.url(), &*candidate.url()];
    let more = ["--rates", "60", "--deadline", "1s", "--recovery", "1s"];
    let (code, document) = found(&place, services, &more);
    assert_eq!(code, 1, "{:?}", document.reasons);
    is_conserved(&document);
    let run = runs(&document.candidate).next().expect("one");
    assert_eq!(run.verdict, StressVerdict::Broken);
    assert!(run.failures.get("timeout") > Some(&50), "{run:?}");
    // Who waits in vain has waited: that is a latency, too.
    assert!(run.latency["max"] >= 1.0, "{run:?}");
}

#[test]
fn a_rate_that_no_generator_can_make_is_never_one_that_was_held() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{}"), Service::json("{}"));
    let services = [&*legacy.url(), &*candidate.url()];
    let more = [
        "--rates",
        "2000000",
        "--window",
        "1s",
        "--threads",
        "1",
        "--in-flight",
        "8",
        "--threshold",
        "rate >= +0%",
    ];
    let (code, document) = found(&place, services, &more);
    assert_eq!(code, 3, "{:?}", document.reasons);
    assert_eq!(document.outcome, MetricsOutcome::Undecided);
    for side in [&document.legacy, &document.candidate] {
        assert_eq!((side.sustained, side.broken), (None, None), "{side:?}");
        assert_eq!(side.steps[0].verdict, StressVerdict::Generator);
        let why = side.why.as_deref().expect("it is told");
        assert!(why.contains("the load generator was the limit"), "{why}");
        assert!(why.starts_with("at 2000000/s: "), "{why}");
    }
    // It is said of both, with what was measured.
    for (name, reason) in ["legacy", "candidate"].iter().zip(&document.reasons) {
        let told =
            format!("what the {name} holds is not known (at 2000000/s: the load generator was");
        assert!(reason.starts_with(&told), "{reason}");
    }
    let [table] = &*document.tables else {
        panic!("{:?}", document.tables);
    };
    assert_eq!(table.rates, [2_000_000; 2]);
    assert_eq!(table.verdicts, Some([StressVerdict::Generator; 2]));
    assert!(!table.measures.is_empty());
    assert!(document.generator.none_held);
}

#[test]
fn a_process_that_ends_in_the_middle_is_told() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{}"), Service::json("{}"));
    let mut process = Command::new("sleep").arg("600").spawn().expect("it starts");
    let pid = process.id().to_string();
    let services = [&*legacy.url(), &*candidate.url()];
    let more = ["--rates", "60", "--legacy-pid", &pid];
    let (code, document) = std::thread::scope(|scope| {
        let ends = scope.spawn(|| {
            // More than are sent to see whether it answers.
            wait_for("load", || (legacy.seen() > 40).then_some(()));
            process.kill().expect("it runs");
            process.wait().expect("it ends");
        });
        let found = found(&place, services, &more);
        ends.join().expect("no panic");
        found
    });
    assert_eq!(code, 0, "{:?}", document.reasons);
    let notes = document.legacy.notes.join("\n");
    let told = format!("its processes: process {pid} has ended");
    assert!(notes.contains(&told), "{notes}");
    assert_eq!(document.candidate.notes, [""; 0]);
}

#[test]
fn a_signal_ends_it_with_what_was_measured_until_then() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{}"), Service::json("{}"));
    for signal in ["-INT", "-TERM"] {
        let seen = candidate.seen();
        let services = [legacy.url(), candidate.url()];
        let services = [&*services[0], &*services[1]];
        let more = ["--rates", "60,61,62,63", "--repeats", "1", "--window", "2s"];
        let more = [&more[..], &["--threshold", "rate >= +0%", "--compare", "5"]].concat();
        let child = place
            .command(&arguments(services, &more))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        // In the second run of the second rung.
        wait_for("two rates", || {
            (candidate.seen() - seen > 20 + 132 + 40).then_some(())
        });
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{signal}: {stderr}");
        let document: StressDocument =
            serde_json::from_slice(&output.stdout).expect("it is printed");
        assert!(document.interrupted);
        assert_eq!(document.outcome, MetricsOutcome::Undecided);
        assert!(
            document
                .reasons
                .contains(&"it was ended before its time".to_owned())
        );
        assert_eq!(document.legacy.sustained.min(Some(60)), Some(60));
        assert!(document.candidate.steps.len() < 4, "the rest was not sent");
        is_conserved(&document);
    }
}
