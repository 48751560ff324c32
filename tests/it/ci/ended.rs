//! Jobs that are ended from outside, in each of their phases: nothing outlives them.

use super::{Job, recording};
use crate::support::served::command;

/// A job in the phase in which it says these words.
fn phases() -> Vec<(Vec<String>, &'static str)> {
    let equal = command("equal");
    let job = |candidate: &str, rest: &[&str]| {
        let words = ["--legacy-command", &equal, "--candidate-command", candidate];
        let words = words.iter().chain(rest);
        words.map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let slow = ["--rate", "50", "--replay", "requests.ndjson"];
    vec![
        (job("sleep 1000", &["--", "true"]), "started the candidate"),
        (
            job(&equal, &["--", "sh", "-c", "echo tests run; sleep 1000"]),
            "tests run\n",
        ),
        (job(&equal, &slow), "replaying"),
    ]
}

#[test]
fn a_signal_ends_all_in_each_phase() {
    for (arguments, words) in phases() {
        for signal in ["INT", "TERM", "HUP"] {
            let job = Job::new();
            recording(&job.place, "items", 100_000);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let mut running = job.start(&arguments);
            running.says(words);
            running.signal(signal);
            assert_eq!(running.ended(), Some(2), "{}", running.said());
            assert_eq!(job.living(), [""; 0], "{signal}, {words}");
            let said = running.said();
            assert!(said.contains("ended by a signal"), "{said}");
        }
    }
}

#[test]
fn a_kill_ends_all_in_each_phase() {
    for (arguments, words) in phases() {
        let job = Job::new();
        recording(&job.place, "items", 100_000);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut running = job.start(&arguments);
        running.says(words);
        assert!(job.living().len() >= 4, "{:?}", job.living());
        running.signal("KILL");
        assert_eq!(running.ended(), None);
        job.gone();
    }
}

#[test]
fn what_makes_itself_independent_is_ended_too() {
    let job = Job::new();
    let equal = command("equal");
    // Two forks, a session of its own, another folder, no pipe of ours: a daemon by the book.
    let daemon = "(cd /; setsid sh -c 'sleep 1000 & exec sleep 1000' >/dev/null 2>&1 </dev/null &)";
    let service = format!("{daemon} ; {equal}");
    let tests = format!("{daemon}; exit 0");
    let arguments = ["--legacy-command", &service, "--candidate-command", &equal];
    let ended = job.run(&[&arguments[..], &["--", "sh", "-c", &tests]].concat());
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let mut running = job.start(
        &[
            &arguments[..],
            &["--", "sh", "-c", &format!("{tests}; echo up; sleep 1000")],
        ]
        .concat(),
    );
    running.says("running sh");
    running.signal("KILL");
    running.ended();
    job.gone();
}

#[test]
fn who_ignores_sigterm_is_killed() {
    let job = Job::new();
    let equal = command("equal");
    let stubborn = format!("trap '' TERM INT HUP; {equal}");
    let arguments = ["--legacy-command", &stubborn, "--candidate-command", &equal];
    let ended = job.run(&[&arguments[..], &["--", "sh", "-c", "trap '' TERM; true"]].concat());
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    // A second signal does not wait for the grace period.
    let mut running = job.start(
        &[
            &arguments[..],
            &["--", "sh", "-c", "trap '' TERM; echo up; sleep 1000"],
        ]
        .concat(),
    );
    running.says("up\n");
    running.signal("INT");
    running.signal("TERM");
    assert_eq!(running.ended(), Some(2), "{}", running.said());
    assert_eq!(job.living(), [""; 0]);
    assert!(
        running.said().contains("ending at once"),
        "{}",
        running.said()
    );
}

#[test]
fn a_guard_that_is_killed_leaves_nothing() {
    let job = Job::new();
    let equal = command("equal");
    let arguments = ["--legacy-command", &equal, "--candidate-command", &equal];
    let mut running = job.start(&[&arguments[..], &["--", "sleep", "1000"]].concat());
    running.says("running sleep");
    let guard = job
        .living()
        .into_iter()
        .find(|line| line.contains(" supervise -- sh"));
    let guard = guard.expect("a guard of a service");
    let pid = guard.split(' ').next().expect("its number");
    let killed = std::process::Command::new("kill")
        .args(["-KILL", pid])
        .status();
    assert!(killed.expect("kill runs").success());
    assert_eq!(running.ended(), Some(2), "{}", running.said());
    let said = running.said();
    assert!(
        said.contains("the process that watches it was killed"),
        "{said}"
    );
    assert_eq!(job.living(), [""; 0]);
}
