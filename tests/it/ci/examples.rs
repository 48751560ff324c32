//! The jobs in examples/ci, as their CI systems run them, with services of ours in the place of a team's.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use super::{ENOUGH, Job, recording};
use crate::docs::only;
use crate::support::process::Ended;
use crate::support::root;
use crate::support::served::{command, executable};

fn text(file: &str) -> String {
    let path = root().join("examples/ci").join(file);
    std::fs::read_to_string(path).expect("an example")
}

fn parsed(file: &str) -> Value {
    serde_saphyr::from_str(&text(file)).expect("YAML")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// The scripts of the steps of GitHub's job.
fn of_github() -> Vec<String> {
    let workflow = parsed("github.yml");
    assert!(
        workflow["on"].is_string(),
        "YAML 1.1 would read `on` as true"
    );
    let steps = list(&workflow["jobs"]["parity"]["steps"]);
    for step in steps {
        assert!(
            step["run"].is_string() != step["uses"].is_string(),
            "{step}"
        );
    }
    let runs = steps.iter().filter_map(|step| step["run"].as_str());
    runs.map(str::to_owned).collect()
}

/// The lines of GitLab's job.
fn of_gitlab() -> Vec<String> {
    let job = parsed("gitlab.yml");
    assert_eq!(
        job["parity"]["allow_failure"]["exit_codes"],
        serde_json::json!([3])
    );
    let lines = list(&job["parity"]["script"]).iter();
    lines
        .map(|line| line.as_str().expect("a line").to_owned())
        .collect()
}

/// Runs scripts one after the other, as `bash -e`, until one fails.
fn run(job: &Job, candidate: &str, scripts: &[String]) -> Ended {
    let place = job.place.path();
    let on_its_port = "[ \"$*\" = \"--listen 127.0.0.1:$PORT\" ] || exit 64";
    for (folder, kind) in [("legacy", "equal"), ("candidate", candidate)] {
        let name = format!("{folder}/server");
        executable(place, &name, &format!("{on_its_port}\n{}", command(kind)));
    }
    let tests = "curl --silent --fail \"$BASE_URL/odd/[1-4000]\" --output /dev/null";
    executable(place, "tests/api", tests);
    recording(&job.place, "odd", ENOUGH);
    std::fs::rename(place.join("requests.ndjson"), place.join("traffic.ndjson")).expect("a file");
    let programs = place.join("programs");
    if !programs.exists() {
        std::fs::create_dir(&programs).expect("a folder");
        symlink(env!("CARGO_BIN_EXE_parity"), programs.join("parity")).expect("a link");
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let environment: Vec<_> = job
        .command(&[])
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    let mut last = None;
    for script in scripts {
        let mut bash = Command::new("bash");
        for (name, value) in &environment {
            match value {
                Some(value) => bash.env(name, value),
                None => bash.env_remove(name),
            };
        }
        let output = bash
            .args(["-e", "-c", script])
            .current_dir(place)
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("GITHUB_SHA", "0d1f6e")
            .env("GITHUB_STEP_SUMMARY", place.join("summary"))
            .output();
        let ended = super::ended(&output.expect("bash runs"), job);
        let failed = ended.code != 0;
        last = Some(ended);
        if failed {
            break;
        }
    }
    last.expect("a script")
}

#[test]
fn the_workflow_of_github_passes_an_equal_candidate_and_fails_another_one() {
    let job = Job::new();
    let passed = run(&job, "equal", &of_github());
    assert_eq!(passed.code, 0, "{}", passed.stderr);
    let summary = job.place.path().join("summary");
    let text = |path| std::fs::read_to_string(path).expect("a summary");
    assert!(text(&summary).contains("PASS"), "{}", text(&summary));
    let failed = run(&job, "other", &of_github());
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert!(text(&summary).contains("FAIL"), "{}", text(&summary));
    for kept in ["candidate.log", "report.html"] {
        let kept = job.place.path().join("parity-logs").join(kept);
        assert!(kept.exists(), "what the last step keeps");
    }
    let annotated = failed
        .stderr
        .lines()
        .any(|line| line.starts_with("::error"));
    assert!(annotated, "{}", failed.stderr);
}

#[test]
fn the_job_of_gitlab_passes_an_equal_candidate_and_fails_another_one() {
    let job = Job::new();
    let junit = &parsed("gitlab.yml")["parity"]["artifacts"]["reports"]["junit"];
    let junit = job.place.path().join(junit.as_str().expect("a path"));
    let failures = || {
        let text = std::fs::read_to_string(&junit).expect("a report");
        text.matches("<failure").count()
    };
    let passed = run(&job, "equal", &of_gitlab());
    assert_eq!(passed.code, 0, "{}", passed.stderr);
    assert_eq!(failures(), 0);
    let failed = run(&job, "other", &of_gitlab());
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert!(failures() > 0);
}

#[test]
fn the_page_shows_the_step_of_the_workflow() {
    assert!(text("github.yml").contains(&only("yaml", "ci")));
}
