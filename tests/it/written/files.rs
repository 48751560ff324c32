//! What the files say beside the gate, and the exit code when they cannot be written.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::readers::{html, junit};
use super::{file, recorded, written};
use crate::support::process::{Ended, Place, limited};
use crate::support::service::Service;

/// How many routes of a decision have an outcome.
fn routes(decision: &Value, outcome: &str) -> usize {
    let routes = decision["routes"].as_array().expect("a list");
    routes
        .iter()
        .filter(|route| route["outcome"] == outcome)
        .count()
}

#[test]
fn each_file_says_what_the_gate_says() {
    let place = recorded();
    let ended = written(&place, &["gate"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let decision: Value = serde_json::from_str(&file(&place, "report.json")).expect("JSON");
    assert_eq!(decision["schema"], "parity.gate/v1");
    assert_eq!(decision["stored"], true);
    let read = junit(&file(&place, "junit.xml"));
    // `decision` is the first case.
    assert_eq!(read.cases[0].name, "decision");
    assert_eq!(read.cases[0].state, "failure");
    assert_eq!(
        read.count("failure") + read.count("error") - 1,
        routes(&decision, "fail")
    );
    assert_eq!(read.count("skipped"), routes(&decision, "undecided"));
    assert_eq!(
        read.cases.len() - 1,
        decision["routes"].as_array().map_or(0, Vec::len)
    );
    let bad = read.of("GET /bad/it");
    assert_eq!(
        (bad.state.as_str(), bad.class.as_str()),
        ("failure", "parity.default")
    );
    for part in [
        "20 of 20 compared requests differ",
        "- 20 × body /price",
        "legacy    1",
        "candidate 2",
        "request   /bad/it",
    ] {
        assert!(bad.text.contains(part), "{part}: {}", bad.text);
    }
    let down = read.of("GET /down/it");
    assert_eq!(down.state, "error", "{down:?}");
    assert!(down.text.contains("- 20 × candidate_"), "{down:?}");
    let good = read.of("GET /good/it");
    assert_eq!(good.state, "skipped", "{good:?}");
    assert!(
        good.text
            .contains("more requests, if all match, would settle it"),
        "{good:?}"
    );
    assert_eq!(read.properties["outcome"], "fail");
    assert_eq!(
        read.properties["rules_hash"],
        decision["evidence"]["rules_hash"].as_str().expect("a hash")
    );
    let page = html(&file(&place, "report.html"));
    for part in [
        "GET /bad/it",
        "/price",
        "Examples",
        "What is proven of each route",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let markdown = file(&place, "report.md");
    assert!(markdown.starts_with("## ❌ FAIL"), "{markdown}");
    assert!(
        markdown.contains("### Differences") && markdown.contains("`/price`"),
        "{markdown}"
    );
    // The same decision, printed: only what is of the moment differs.
    assert_eq!(file(&place, "report.txt"), ended.stdout);
    let report = written(&place, &["report"]);
    assert_eq!(report.code, 0);
    assert_eq!(file(&place, "report.txt"), report.stdout);
    let document: Value = serde_json::from_str(&file(&place, "report.json")).expect("JSON");
    assert_eq!(document["schema"], "parity.report/v1");
    assert_eq!(
        junit(&file(&place, "junit.xml")).of("GET /bad/it").text,
        bad.text
    );
    assert_eq!(
        place
            .path()
            .read_dir()
            .expect("readable")
            .filter(|entry| {
                let name = entry.as_ref().expect("readable").file_name();
                name.to_string_lossy().starts_with(".parity-report")
            })
            .count(),
        0
    );
    let mode = place
        .path()
        .join("junit.xml")
        .metadata()
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o044, 0o044, "other steps of a job read it");
}

#[test]
fn files_are_written_whatever_the_outcome_is() {
    let place = Place::new();
    let service = Service::json("{}");
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    mirror.get("/x");
    mirror.settled(1);
    mirror.stop();
    let undecided = written(&place, &["gate"]);
    assert_eq!(undecided.code, 3, "{}", undecided.stdout);
    let read = junit(&file(&place, "junit.xml"));
    assert_eq!(read.sums, [2, 0, 0, 2], "{read:?}");
    let pass = written(&place, &["gate", "--max-mismatch-rate", "0.99"]);
    assert_eq!(pass.code, 0, "{}", pass.stdout);
    let read = junit(&file(&place, "junit.xml"));
    assert_eq!(read.sums, [2, 0, 0, 0], "{read:?}");
    // A route that is demanded and never came is in no count, and is not green.
    let demanded = [
        "gate",
        "--max-mismatch-rate",
        "0.99",
        "--require-route",
        "GET /y",
    ];
    assert_eq!(written(&place, &demanded).code, 3);
    let read = junit(&file(&place, "junit.xml"));
    assert_eq!(read.of("GET /y").text, "never received");
    assert_eq!(read.of("decision").state, "skipped");
    for command in ["gate", "report"] {
        let nothing = written(&place, &[command, "--migration", "other"]);
        assert_eq!(
            nothing.code,
            if command == "gate" { 3 } else { 2 },
            "{}",
            nothing.stdout
        );
        let read = junit(&file(&place, "junit.xml"));
        assert_eq!(read.sums, [1, 0, 1, 0], "{read:?}");
        assert!(
            read.of("decision")
                .text
                .contains("no traffic recorded for migration `other`"),
            "{read:?}"
        );
        assert!(html(&file(&place, "report.html")).contains("nothing recorded"));
    }
}

#[test]
fn a_file_that_cannot_be_written_takes_nothing_from_a_decision() {
    let place = recorded();
    let full = |command: &[&str]| -> Ended {
        let mut arguments = command.to_vec();
        arguments.extend(["--report", "junit=/dev/full", "--report", "html=kept.html"]);
        let ended = place.run(&arguments);
        assert!(
            ended.stderr.contains(
                "the report as junit is not written: cannot write to /dev/full: No space left"
            ),
            "{}",
            ended.stderr
        );
        assert!(!ended.stdout.is_empty());
        html(&file(&place, "kept.html"));
        ended
    };
    assert_eq!(full(&["gate"]).code, 1);
    assert_eq!(
        full(&[
            "gate",
            "--max-mismatch-rate",
            "0.5",
            "--min-requests",
            "1000"
        ])
        .code,
        3
    );
    assert_eq!(full(&["gate", "--max-mismatch-rate", "0.99"]).code, 2);
    assert_eq!(full(&["report"]).code, 2);
}

#[test]
fn on_a_disk_that_fills_up_what_was_there_stays() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for one in 'a'..='z' {
        for two in ['a', 'b'] {
            mirror.get(&format!("/{one}{two}"));
        }
    }
    mirror.settled(52);
    mirror.stop();
    place.write("old.html", "what was there");
    place.run(&["report"]);
    let before = place.path().read_dir().expect("readable").count();
    let gate = ["gate", "--dry-run", "--report", "html=old.html"];
    // Enough for what SQLite writes to read a store.
    let mut command = place.command(&gate);
    let output = limited(&place, &mut command, 64).output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the report as html is not written"), "{told}");
    assert_eq!(file(&place, "old.html"), "what was there");
    assert_eq!(place.path().read_dir().expect("readable").count(), before);
}

#[test]
fn what_is_wrong_with_the_flags_is_told_before_anything_is_done() {
    let place = Place::new();
    place.write("parity.toml", "migration = 7");
    std::fs::create_dir(place.path().join("locked")).expect("a folder");
    let path = place.path().join("locked");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o555)).expect("set");
    for command in [
        &["gate", "--wait", "1h"][..],
        &["report"],
        &[
            "replay",
            "none.har",
            "--legacy",
            "http://127.0.0.1:1",
            "--candidate",
            "http://127.0.0.1:1",
        ],
    ] {
        let mut arguments = command.to_vec();
        for wrong in [
            "junit",
            "xml=a",
            "html=none/x.html",
            "json=-",
            "text=-",
            "text=locked/x",
        ] {
            arguments.extend(["--report", wrong]);
        }
        let mut run = place.command(&arguments);
        if rustix::process::geteuid().is_root() {
            std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755))
                .expect("set");
            place.under_user(&mut run);
        }
        let output = run.output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        for part in [
            "`junit` is not KIND=FILE",
            "there is no kind `xml`",
            "no file can be made in none: No such file or directory",
            "hint: create it first: mkdir -p none",
            "`text=-` is written to the same place as `json=-`",
            "locked: Permission denied",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(
            !told.contains("none.har") && !told.contains("migration"),
            "{told}"
        );
    }
}

#[test]
fn one_document_may_take_the_place_of_what_is_printed() {
    let place = recorded();
    let ended = place.run(&["gate", "--report", "junit=-", "--output", "json"]);
    assert_eq!(ended.code, 1);
    assert_eq!(junit(&ended.stdout).of("GET /bad/it").state, "failure");
}

#[test]
fn a_replay_writes_the_files_of_what_it_replayed() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let line = "10.0.0.1 - - [24/Nov/2026:03:00:00 +0000] \"GET /users/42 HTTP/1.1\" 200 612 \"-\" \"-\"\n";
    place.write("access.log", line.repeat(40));
    let (legacy, candidate) = (legacy.url(), candidate.url());
    let replay = [
        "replay",
        "access.log",
        "--legacy",
        &legacy,
        "--candidate",
        &candidate,
    ];
    let ended = written(&place, &replay);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(file(&place, "report.json").contains("parity.report/v1"));
    assert_eq!(
        junit(&file(&place, "junit.xml"))
            .of("GET /users/{id}")
            .state,
        "failure"
    );
    let ended = written(&place, &[&replay[..], &["--gate"]].concat());
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(file(&place, "report.json").contains("parity.gate/v1"));
    assert_eq!(
        junit(&file(&place, "junit.xml")).of("decision").state,
        "failure"
    );
    html(&file(&place, "report.html"));
}

#[test]
fn annotations_name_the_line_that_is_to_blame() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let config = "\
[[route]]
match = \"GET /orders/{id}\"

[[rule]]
id = \"idle, 50 %\"
path = \"/nothing\"
action = \"ignore\"

[[known]]
id = \"old\"
path = \"/x\"
owner = \"me\"
reason = \"it was\"
expires = \"2020-01-01\"
";
    place.write("parity.toml", config);
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--config", "parity.toml"],
    );
    (0..20).for_each(|_| drop(mirror.get("/a")));
    mirror.settled(20);
    mirror.stop();
    let gate = [
        "gate",
        "--require-route",
        "GET /orders/{id}",
        "--annotations",
        "github",
        "--output",
        "json",
    ];
    let ended = place.run(&gate);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.json();
    let commands: Vec<&str> = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("::"))
        .collect();
    for (command, (begin, part)) in commands.iter().zip([
        ("::error::parity: fail: ", "GET /a"),
        (
            "::error file=parity.toml,line=14,col=1::",
            "known difference `old` expired on 2020-01-01",
        ),
        (
            "::error file=parity.toml,line=2,col=1::",
            "GET /orders/{id} must be proven, and it was never received",
        ),
        (
            "::warning file=parity.toml,line=5,col=1::",
            "rule `idle, 50 %25` excused nothing in 20 requests",
        ),
    ]) {
        assert!(
            command.starts_with(begin) && command.contains(part),
            "{begin} {part}: {commands:#?}"
        );
    }
    assert_eq!(commands.len(), 4, "{commands:#?}");
    // From the root of what was checked out, wherever it is run.
    let inner = place.path().join("inner");
    std::fs::create_dir(&inner).expect("a folder");
    std::fs::rename(place.path().join("parity.toml"), inner.join("parity.toml")).expect("moved");
    let root = place.path().display().to_string();
    let mut command = place.command(&[
        "report",
        "--annotations",
        "github",
        "--store",
        "sqlite:../parity.db",
    ]);
    let output = command
        .current_dir(&inner)
        .env("GITHUB_WORKSPACE", &root)
        .output()
        .expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("::error file=inner/parity.toml,line=14"),
        "{told}"
    );
}
