//! The rewrites in examples/, each by its one command and as processes: with the shipped configuration the gate passes, with the planted
//! bug it fails, and the report names the cause.
//!
//! The service before the rewrite runs in its own language where the toolchain is there, and as its stand-in in any case. What was
//! not run in its own language is printed.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::servers::free_port;
use crate::support::process::Place;
use crate::support::{PATIENCE, root};

/// Requests of the clients: enough for a verdict at the rate below.
const REQUESTS: &str = "400";
/// 200 requests of a route that all match are at most 1.9 % that differ.
const MAX_RATE: &str = "0.04";

/// What one run left behind.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// What it was given, by the name of the variable.
    pub(crate) addresses: Vec<(&'static str, String)>,
}

/// The sample beside the program; it is built if nobody has built it, or not of what is there now.
fn sample(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_parity"));
    let folder = program.parent().expect("in a folder");
    let sample = folder.join("examples").join(name);
    let changed = |file: &Path| {
        std::fs::metadata(file)
            .and_then(|file| file.modified())
            .ok()
    };
    let sources = [
        format!("examples/{name}/main.rs"),
        "examples/common/exporter.rs".to_owned(),
        "examples/common/program.rs".to_owned(),
        "examples/common/serve.rs".to_owned(),
    ];
    let newest: Option<SystemTime> = sources
        .iter()
        .filter_map(|file| changed(&root().join(file)))
        .max();
    if changed(&sample) < newest {
        // Of all packages, as the tests are built: else their dependencies would be built once more.
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--offline", "--example", name])
            .current_dir(root());
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let built = build.status().expect("cargo can be run");
        assert!(built.success(), "{name} is not built");
    }
    assert!(sample.is_file(), "{}", sample.display());
    sample
}

fn is_there(toolchain: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(toolchain).is_file())
}

#[expect(clippy::print_stderr, reason = "what is not run is said")]
fn tell_missing(name: &str, toolchain: &str) {
    eprintln!("{name}: without {toolchain}, only the stand-in is compared with the rewrite");
}

/// Runs an example by its command; `without` names a toolchain that it shall not use.
fn run(name: &str, flags: &[&str], without: &str) -> Ran {
    run_with(name, flags, without, &[])
}

/// The same with more variables.
fn run_with(name: &str, flags: &[&str], without: &str, more: &[(&str, &str)]) -> Ran {
    script(name, "run", flags, without, more)
}

/// The story of docs/story.md, with these variables.
pub(crate) fn tell(variables: &[(&str, &str)]) -> Ran {
    if !is_there("go") {
        tell_missing("payments/story", "go");
    }
    script("payments", "story", &[], "", variables)
}

fn script(name: &str, script: &str, flags: &[&str], without: &str, more: &[(&str, &str)]) -> Ran {
    let place = Place::new();
    let variables = [
        "LISTEN",
        "ADMIN",
        "AGAIN",
        "LEGACY_LEDGER",
        "CANDIDATE_LEDGER",
        "LEGACY",
        "CANDIDATE",
    ];
    let addresses = variables.map(|variable| (variable, format!("127.0.0.1:{}", free_port())));
    let mut command = Command::new("timeout");
    // A run that hangs is ended from outside, and so is all that it started.
    command.arg(PATIENCE.as_secs().saturating_mul(8).to_string());
    command
        .arg(root().join("examples").join(name).join(script))
        .args(flags);
    for own in std::env::vars()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("PARITY_"))
    {
        command.env_remove(own);
    }
    for (variable, address) in &addresses {
        // Its sockets are files of its own.
        if name == "events" && ["LEGACY", "CANDIDATE"].contains(variable) {
            command.env_remove(variable);
        } else {
            command.env(variable, address);
        }
    }
    let output = command
        .current_dir(place.path())
        .env("PROGRAM", env!("CARGO_BIN_EXE_parity"))
        .env("SAMPLE", sample(name))
        .env("REQUESTS", REQUESTS)
        .env("MAX_RATE", MAX_RATE)
        .env("WITHOUT", without)
        .env("TMPDIR", place.path())
        .envs(more.iter().copied())
        .output()
        .expect("timeout and bash are there");
    let left: Vec<_> = std::fs::read_dir(place.path()).expect("readable").collect();
    assert!(left.is_empty(), "{name} leaves {left:?} behind");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        addresses: addresses.into(),
    }
}

/// The lines of groups in the report: `158 × GET /accounts/{id}/statistics  body /fees  has another value`, without the count.
fn groups(ran: &Ran) -> Vec<String> {
    let differences = ran.stdout.split("\nDIFFERENCES").nth(1).unwrap_or_default();
    let differences = differences.split("\n\n").next().unwrap_or_default();
    let lines = differences
        .lines()
        .filter_map(|line| line.split_once(" × "));
    lines
        .map(|(_, group)| group.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// Both ways round, with the original in its own language and with its stand-in.
fn passes_and_fails(name: &str, toolchain: &str, cause: &str) {
    let has_toolchain = is_there(toolchain);
    if !has_toolchain {
        tell_missing(name, toolchain);
    }
    for without in ["", toolchain] {
        let is_stand_in = !without.is_empty() || !has_toolchain;
        let passed = run(name, &[], without);
        let told = format!(
            "{name} without {without:?}: {}{}",
            passed.stdout, passed.stderr
        );
        assert_eq!(passed.code, Some(0), "{told}");
        assert!(passed.stdout.contains("\nPASS "), "{told}");
        assert_eq!(groups(&passed), [""; 0], "{told}");
        assert_eq!(
            passed.stderr.contains("a stand-in in Rust"),
            is_stand_in,
            "{told}"
        );
        let failed = run(name, &["--bug"], without);
        let told = format!(
            "{name} --bug without {without:?}: {}{}",
            failed.stdout, failed.stderr
        );
        assert_eq!(failed.code, Some(1), "{told}");
        assert_eq!(groups(&failed), [cause], "{told}");
    }
}

#[test]
fn the_fees_of_payments_are_rounded_otherwise() {
    passes_and_fails(
        "payments",
        "go",
        "GET /accounts/{id}/statistics body /fees has another value",
    );
}

#[test]
fn the_lengths_of_echo_are_counted_otherwise() {
    passes_and_fails(
        "echo",
        "go",
        "POST /echo body /metadata/*/length has another value",
    );
}

#[test]
fn norway_is_no_region_of_events() {
    passes_and_fails("events", "go", "POST /events body /region has another type");
    let leaking = run("events", &["--bug=leak"], "");
    let told = format!("{}{}", leaking.stdout, leaking.stderr);
    assert_eq!(leaking.code, Some(0), "no answer shows a leak: {told}");
}

#[test]
fn a_service_of_somebody_else_is_not_taken_for_its_own() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    for variable in ["LISTEN", "LEGACY", "CANDIDATE"] {
        let ran = run_with("payments", &[], "go", &[(variable, &address)]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(&address) && ran.stdout.is_empty(),
            "{variable}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_flag_that_is_not_known_starts_nothing() {
    for (flag, words) in [
        ("--bug=none", "no bug is called none"),
        ("--nonsense", "usage: "),
    ] {
        let ran = run("payments", &[flag], "");
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(words) && ran.stdout.is_empty(),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn items_are_added_up_as_whole_numbers_and_the_ledger_gets_the_half() {
    let has_node = is_there("node");
    if !has_node {
        tell_missing("items", "node");
    }
    for without in ["", "node"] {
        for (flags, code, differing, effects) in [
            ([].as_slice(), 0, [].as_slice(), "PASS"),
            (
                &["--bug"],
                1,
                &["POST /items body /total has another value"],
                "FAIL",
            ),
            (&["--bug=half"], 1, &[], "FAIL"),
        ] {
            let ran = run("items", flags, without);
            let told = format!(
                "items {flags:?} without {without:?}: {}{}",
                ran.stdout, ran.stderr
            );
            assert_eq!(ran.code, Some(code), "{told}");
            assert_eq!(groups(&ran), differing, "{told}");
            assert_eq!(
                ran.stderr.contains("a stand-in in Rust"),
                !(has_node && without.is_empty()),
                "{told}"
            );
            let decision = if differing.is_empty() {
                "\nPASS "
            } else {
                "\nFAIL  POST /items"
            };
            assert!(ran.stdout.contains(decision), "{told}");
            let ledger = ran.stdout.rsplit("\nLEDGER\n").next().unwrap_or_default();
            assert!(ledger.contains(&format!("{effects} ")), "{told}");
            let place = ledger.contains("× POST /totals  body /total  has another value");
            assert_eq!(place, effects == "FAIL", "{told}");
        }
    }
}
