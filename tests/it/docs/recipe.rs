//! Runs the CI job of docs/ci.md as it is printed, with only the addresses changed.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::time::Duration;

use super::only;
use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Service};

/// The script of the step in the example of a workflow.
fn recipe() -> String {
    let job = only("yaml", "ci");
    let step = job
        .split_once("# GitHub Actions\n- run: |\n")
        .map(|(_, step)| step)
        .expect("the example has a step");
    let lines = step.lines().map(|line| line.trim_start_matches("    "));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// A port that nobody listens on.
fn free() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound").to_string()
}

/// Runs the step as GitHub does: `bash -e` with what the job set.
fn run(place: &Place, legacy: &Service, candidate: &Service, drive: &str) -> Ended {
    let (listen, admin) = (free(), free());
    let programs = place.path().join("programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    let program = programs.join("parity");
    if !program.exists() {
        symlink(env!("CARGO_BIN_EXE_parity"), program).expect("a link");
    }
    let driver = place.write("drive-traffic", format!("#!/bin/bash -e\n{drive}\n"));
    std::fs::set_permissions(&driver, std::fs::Permissions::from_mode(0o755)).expect("its own");
    let script = recipe()
        .replace("127.0.0.1:8080", &listen)
        .replace("127.0.0.1:9900", &admin);
    let script = place.write("step.sh", script);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("timeout");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PARITY_")) {
        command.env_remove(name);
    }
    let output = command
        .args(["120", "bash", "-e"])
        .arg(script)
        .current_dir(place.path())
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("OLD", legacy.url())
        .env("NEW", candidate.url())
        .env("GITHUB_SHA", "0d1f6e")
        .env("PARITY_LISTEN", &listen)
        .env("PARITY_ADMIN", &admin)
        .output()
        .expect("bash runs");
    // Whoever listened has ended with the step.
    let gone = listen.parse().expect("an address");
    let connected = std::net::TcpStream::connect_timeout(&gone, Duration::from_secs(5));
    assert!(connected.is_err(), "the mirror is still there");
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

const DRIVE: &str = "curl --silent --fail \"$1/items/[1-4000]\" --output /dev/null";

#[test]
fn the_recipe_for_ci_passes_an_equal_candidate() {
    let service = || Service::json("{\"a\":1}");
    let (legacy, candidate, place) = (service(), service(), Place::new());
    let ended = run(&place, &legacy, &candidate, DRIVE);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("PASS"), "{}", ended.stdout);
}

#[test]
fn the_recipe_for_ci_fails_a_candidate_whose_last_answers_are_wrong() {
    let legacy = Service::json("{\"a\":1}");
    let candidate = Service::start(|request| {
        Answer::json(if request.target.starts_with("/wrong") {
            "{\"a\":2}"
        } else {
            "{\"a\":1}"
        })
    });
    let place = Place::new();
    let drive = format!("{DRIVE}\ncurl --silent \"$1/wrong/[1-20]\" --output /dev/null");
    let ended = run(&place, &legacy, &candidate, &drive);
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("FAIL"), "{}", ended.stdout);
}

#[test]
fn the_recipe_for_ci_ends_its_mirror_when_the_traffic_fails() {
    let service = || Service::json("{\"a\":1}");
    let (legacy, candidate, place) = (service(), service(), Place::new());
    let ended = run(&place, &legacy, &candidate, "exit 7");
    assert_eq!(ended.code, 7, "{}\n{}", ended.stdout, ended.stderr);
    assert!(!ended.stdout.contains("PASS"), "{}", ended.stdout);
}
