//! `parity ci` from outside: whole jobs with services that are real processes, what each failure says, and that nothing is left.

mod broken;
mod ended;
mod examples;
mod logs;

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use uuid::Uuid;

use crate::support::process::{Ended, Place};
use crate::support::served::command;
use crate::support::service::Service;
use crate::support::wait_or_tell;

/// By which the processes of a job are found, however independent they made themselves.
const MARK: &str = "PARITY_TEST_JOB";

/// A job: a folder, and a mark that all processes have that came of it.
struct Job {
    place: Place,
    mark: String,
}

impl Job {
    fn new() -> Self {
        let place = Place::new();
        std::fs::create_dir(place.path().join("tmp")).expect("a folder");
        Self {
            place,
            mark: format!("{MARK}={}", Uuid::new_v4()),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(&[&["ci"], arguments].concat());
        let (name, value) = self.mark.split_once('=').expect("a variable");
        command
            .env(name, value)
            .env("TMPDIR", self.place.path().join("tmp"))
            .env_remove("GITHUB_SHA")
            .env_remove("CI_COMMIT_SHA");
        command
    }

    /// Runs it to its end. Nothing may be left of it.
    fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).stdin(Stdio::null()).output();
        ended(&output.expect("parity runs"), self)
    }

    /// Starts it. What it says goes into a file, because what is left of it must not hold a pipe of ours open.
    fn start(&self, arguments: &[&str]) -> Running<'_> {
        let said = std::fs::File::create(self.place.path().join("said")).expect("a file");
        let child = self
            .command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .expect("parity starts");
        Running { job: self, child }
    }

    /// What lives of it: the process, and what it was started as.
    fn living(&self) -> Vec<String> {
        let entries = std::fs::read_dir("/proc").expect("processes");
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let pids = pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        pids.filter_map(|pid| {
            let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).ok();
            let environment = read("environ")?;
            let is_ours = environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == self.mark.as_bytes());
            let line = String::from_utf8_lossy(&read("cmdline")?).replace('\0', " ");
            is_ours.then(|| format!("{pid} {line}"))
        })
        .collect()
    }

    /// What is left in its folder for temporary files.
    fn kept(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.place.path().join("tmp")).expect("a folder");
        let names = entries.map(|entry| entry.expect("readable").path());
        names.map(|path| path.display().to_string()).collect()
    }

    fn gone(&self) {
        wait_or_tell(
            || self.living().is_empty().then_some(()),
            || format!("the end of {:?}", self.living()),
        );
    }
}

fn ended(output: &std::process::Output, job: &Job) -> Ended {
    let left = job.living();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(left.is_empty(), "left: {left:?}\n{stderr}");
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr,
    }
}

/// A job under way.
struct Running<'a> {
    job: &'a Job,
    child: Child,
}

impl Running<'_> {
    fn said(&self) -> String {
        std::fs::read_to_string(self.job.place.path().join("said")).expect("text")
    }

    fn says(&self, words: &str) {
        wait_or_tell(
            || self.said().contains(words).then_some(()),
            || format!("`{words}` in {}", self.said()),
        );
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.child.id().to_string())
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// The exit code.
    fn ended(&mut self) -> Option<i32> {
        let status = wait_or_tell(
            || self.child.try_wait().expect("it can be asked"),
            || format!("the end of {}", self.job.living().join("\n")),
        );
        status.code()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// As many requests for `/PREFIX/N`, as targets.
fn recording(place: &Place, prefix: &str, requests: usize) {
    let mut lines = String::new();
    for number in 0..requests {
        let target = json!({"method": "GET", "url": format!("/{prefix}/{number}")});
        writeln!(lines, "{target}").expect("memory");
    }
    place.write("requests.ndjson", lines);
}

/// Enough to prove 0.1 %, by a job that looks once.
const ENOUGH: usize = 3_000;

#[test]
fn a_recording_is_replayed_to_services_that_the_job_starts() {
    let job = Job::new();
    recording(&job.place, "items", ENOUGH);
    let run = |candidate: &str, more: &[&str]| {
        let (legacy, candidate) = (command("equal"), command(candidate));
        let arguments = [
            "--legacy-command",
            &legacy,
            "--candidate-command",
            &candidate,
            "--replay",
            "requests.ndjson",
            "--one-look",
            "--output",
            "json",
        ];
        job.run(&[&arguments, more].concat())
    };
    let passed = run("equal", &[]);
    assert_eq!(passed.code, 0, "{}{}", passed.stdout, passed.stderr);
    let decision = passed.json();
    assert_eq!(decision["outcome"], "pass");
    assert_eq!(decision["migration"], "ci");
    assert_eq!(decision["total"]["compared"], ENOUGH);
    for step in [
        "started the legacy as process ",
        "started the candidate as process ",
        "the legacy http://127.0.0.1:",
        "answers after",
        "3,000 requests replayed",
    ] {
        assert!(passed.stderr.contains(step), "{step}: {}", passed.stderr);
    }
    assert_eq!(job.kept(), [""; 0], "nothing is kept where all is well");
    recording(&job.place, "odd", ENOUGH);
    let failed = run("other", &[]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(failed.json()["total"]["differing"], ENOUGH);
    assert_eq!(job.kept().len(), 1, "{}", failed.stderr);
    assert!(failed.stderr.contains("legacy.log"), "{}", failed.stderr);
    recording(&job.place, "items", 10);
    let undecided = run("equal", &[]);
    assert_eq!(undecided.code, 3, "{}", undecided.stderr);
    // For people, what differs stands under the decision.
    let (legacy, candidate) = (command("equal"), command("other"));
    recording(&job.place, "odd", 10);
    let arguments = [
        "--legacy-command",
        &legacy,
        "--candidate-command",
        &candidate,
    ];
    let told = job.run(&[&arguments[..], &["--replay", "requests.ndjson"]].concat());
    assert_eq!(told.code, 1, "{}", told.stderr);
    let (decision, report) = (told.stdout.find("FAIL"), told.stdout.find("/text"));
    assert!(decision.is_some() && decision < report, "{}", told.stdout);
    // What a later step reads is where it was asked for, with the commit as the version.
    let legacy = command("equal");
    let mut command = job.command(&[
        "--legacy-command",
        &legacy,
        "--candidate-command",
        &legacy,
        "--replay",
        "requests.ndjson",
        "--store",
        "sqlite:kept.db",
        "--migration",
        "a-a",
    ]);
    let output = command.env("GITHUB_SHA", "0d1f6e").output();
    assert_eq!(ended(&output.expect("parity runs"), &job).code, 3);
    let kept = ["--store", "sqlite:kept.db", "--migration", "a-a"];
    let report = job
        .place
        .run(&[&["report", "--output", "json"][..], &kept].concat());
    let report = report.json();
    assert_eq!(report["candidate_version"], "0d1f6e");
    assert_eq!(report["match"], 10);
}

#[test]
fn tests_run_through_the_proxy() {
    let job = Job::new();
    let run = |candidate: &str, more: &[&str], script: &str| {
        let (legacy, candidate) = (command("equal"), command(candidate));
        let mut arguments = vec!["--legacy-command", &legacy];
        arguments.extend(["--candidate-command", &candidate, "--output", "json"]);
        arguments.extend(more);
        arguments.extend(["--", "bash", "-ec", script]);
        job.run(&arguments)
    };
    let drive = |path: &str| {
        format!(
            "echo to stdout; echo to stderr >&2; curl --silent --fail \"$PARITY_URL/{path}/[1-4000]\" --output /dev/null"
        )
    };
    let passed = run("equal", &[], &drive("items"));
    assert_eq!(passed.code, 0, "{}{}", passed.stdout, passed.stderr);
    assert_eq!(passed.json()["total"]["compared"], 4_000);
    for line in ["to stdout\n", "to stderr\n"] {
        assert!(passed.stderr.contains(line), "{}", passed.stderr);
    }
    assert_eq!(run("other", &[], &drive("odd")).code, 1);
    // Few requests, by a name of choice; methods that change something are sent where that was asked for.
    let post = "curl --silent --fail --data x \"$BASE_URL/items\" --output /dev/null";
    let few = run("equal", &["--url-variable", "BASE_URL"], post);
    assert_eq!(few.code, 3, "{}", few.stderr);
    assert_eq!(few.json()["total"]["compared"], 0);
    let few = run(
        "equal",
        &["--url-variable", "BASE_URL", "--allow-unsafe"],
        post,
    );
    assert_eq!(few.json()["total"]["compared"], 1, "{}", few.stderr);
    // Tests that fail fail the job, even where every answer is equal; the decision is still told.
    let failed = run("equal", &[], &format!("{}; exit 7", drive("items")));
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(failed.json()["outcome"], "pass");
    let why = "the test command ended with exit code 7, so the job fails";
    assert!(failed.stderr.contains(why), "{}", failed.stderr);
    // Tests that do not use the proxy prove nothing.
    let idle = run("equal", &[], "true");
    assert_eq!(idle.code, 3, "{}", idle.stderr);
    let why = "no request came through the proxy";
    assert!(idle.stderr.contains(why), "{}", idle.stderr);
}

#[test]
fn services_that_are_there_already_are_taken_and_stay() {
    let job = Job::new();
    let (legacy, candidate) = (Service::json("{}"), Service::json("{}"));
    recording(&job.place, "items", ENOUGH);
    let urls = [legacy.url(), candidate.url()];
    let arguments = ["--legacy", &urls[0], "--candidate", &urls[1], "--one-look"];
    let ended = job.run(&[&arguments[..], &["--replay", "requests.ndjson"]].concat());
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    // Each was asked once more, whether it is ready.
    assert_eq!([legacy.seen(), candidate.seen()], [ENOUGH + 1; 2]);
}

#[test]
fn with_recorded_answers_only_the_candidate_is_started() {
    let job = Job::new();
    let body = json!({"target": "/items/1", "text": "same", "posted": ""}).to_string();
    let exchange = json!({
        "schema": "parity.exchange/v1", "time": "2026-11-24T03:00:00.000000Z", "method": "GET", "url": "/items/1",
        "response": {"status": 200, "headers": [["content-type", "application/json"]], "body": body},
    });
    job.place
        .write("requests.ndjson", format!("{exchange}\n").repeat(ENOUGH));
    let candidate = command("equal");
    let arguments = ["--candidate-command", &candidate, "--one-look"];
    let arguments = [&arguments[..], &["--replay", "requests.ndjson"]].concat();
    let ended = job.run(&[&arguments[..], &["--recorded-answers"]].concat());
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert!(!ended.stderr.contains("legacy"), "{}", ended.stderr);
    // A legacy that would not be asked is a misunderstanding.
    for more in [
        ["--legacy-command", "true"],
        ["--legacy", "http://127.0.0.1:1"],
    ] {
        let refused = job.run(&[&arguments[..], &["--recorded-answers"], &more].concat());
        assert_eq!(refused.code, 2, "{}", refused.stderr);
    }
}

#[test]
fn all_that_differs_is_asked_again() {
    let job = Job::new();
    recording(&job.place, "items", 500);
    let (moving, rate) = (command("moving"), "PARITY_RECHECK_RATE");
    let arguments = ["--legacy-command", &moving, "--candidate-command", &moving];
    let store = ["--store", "sqlite:parity.db"];
    let arguments = [&arguments[..], &store, &["--replay", "requests.ndjson"]].concat();
    let run = |migration: &str, rate_is: Option<&str>| {
        let more = ["--migration", migration];
        let mut command = job.command(&[&arguments[..], &more].concat());
        match rate_is {
            Some(text) => command.env(rate, text),
            None => command.env_remove(rate),
        };
        let output = command.output().expect("parity runs");
        let ended = ended(&output, &job);
        let report = job
            .place
            .run(&["report", "--output", "json", "--migration", migration]);
        let report = report.json();
        assert_eq!(report["mismatch"], 500, "{}", ended.stderr);
        report["classes"]["unconfirmed"].as_u64().unwrap_or(0)
    };
    assert_eq!(run("all", None), 0, "each is known for what it is");
    assert_eq!(run("none", Some("0")), 500);
}

#[test]
fn two_jobs_at_once_do_not_meet() {
    let jobs = [(); 2].map(|()| Job::new());
    std::thread::scope(|scope| {
        let running = jobs.each_ref().map(|job| {
            scope.spawn(|| {
                recording(&job.place, "items", ENOUGH);
                let service = command("equal");
                let arguments = [
                    "--legacy-command",
                    &service,
                    "--candidate-command",
                    &service,
                ];
                let more = ["--replay", "requests.ndjson", "--one-look"];
                job.run(&[&arguments[..], &more].concat())
            })
        });
        for ended in running {
            let ended = ended.join().expect("no panic");
            assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
        }
    });
}
