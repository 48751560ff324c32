//! Decisions are listed page by page, and shown as they were printed.

use std::ops::Range;
use std::process::Command;
use std::time::Duration;

use parity_schemas::json_text::compact;
use serde_json::Value;

use super::{counted, decide, export, state, verify};
use crate::support::process::Place;
use crate::support::service::Service;

#[test]
fn a_decision_is_listed_and_shown_byte_for_byte_and_its_export_holds() {
    let place = counted();
    let (gate, id) = decide(&place);
    assert_eq!(gate.code, 0, "{}", gate.stdout);
    assert_eq!(gate.json()["stored"], true);
    assert_eq!(gate.json()["terms"][0]["coverage"]["sample"], 1.0);
    let text = place.run(&["gate", "--max-mismatch-rate", "0.01"]);
    assert_eq!(place.run(&["decisions", "show"]).stdout, text.stdout);

    let list = place.run(&["decisions", "list", "--output", "json"]).json();
    assert_eq!(list["schema"], "parity.decisions/v1");
    let listed = list["decisions"].as_array().expect("decisions");
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[1]["id"], id);
    let shown = place.run(&["decisions", "show", &id, "--output", "json"]);
    assert_eq!(shown.stdout, gate.stdout);
    let newest = listed[0]["id"].as_str().expect("an id");
    assert_eq!(
        place.run(&["decisions", "show", newest]).stdout,
        text.stdout
    );
    let lines = place.run(&["decisions", "list"]).stdout;
    assert!(
        lines.lines().count() == 2 && lines.contains("PASS"),
        "{lines}"
    );

    let file = export(&place, &id);
    let (code, alone) = verify(&place, &file, &[]);
    assert_eq!(code, 0, "{alone}");
    let told = state(&alone, "stored");
    assert!(
        told.starts_with("unknown") && told.contains("the counts of each route"),
        "{told}"
    );
    assert_eq!(alone["decision_id"], id);
    let (code, with) = verify(&place, &file, &["--store", "sqlite:parity.db"]);
    assert_eq!(code, 0, "{with}");
    for name in [
        "digest",
        "fields",
        "rules",
        "terms",
        "again",
        "stored",
        "stored_terms",
        "tallies",
    ] {
        assert!(state(&with, name).starts_with("holds"), "{name}: {with}");
    }
    let content: Value = serde_json::from_str::<Value>(&file).expect("JSON")["content"].take();
    assert_eq!(
        content["terms"][0]["rules"]["rules"][0]["reason"],
        "set on read"
    );
    // What is laid out otherwise is the same file.
    assert_eq!(verify(&place, &compact(&file), &[]).0, 0);
}

#[test]
fn what_is_not_there_is_an_error_that_says_what_to_do() {
    let place = counted();
    for (arguments, expected) in [
        (
            &["decisions", "show", "0190a0b0-0000-7000-8000-000000000000"][..],
            "has no decision",
        ),
        (
            &[
                "decisions",
                "export",
                "0190a0b0-0000-7000-8000-000000000000",
            ],
            "has no decision",
        ),
        (&["decisions", "show", "nonsense"], "invalid"),
        (
            &["decisions", "verify", "absent.json"],
            "cannot read absent.json",
        ),
        (&["decisions", "list", "--after", "x"], "--after is `x`"),
        (
            &["decisions", "list", "--limit", "0"],
            "not a number from 1",
        ),
        (
            &["decisions", "list", "--outcome", "passed"],
            "did you mean",
        ),
        (
            &["decisions", "list", "--store", "sqlite:absent.db"],
            "there is no store",
        ),
        (
            &[
                "decisions",
                "verify",
                "parity.toml",
                "--store",
                "sqlite:absent.db",
            ],
            "there is no store",
        ),
    ] {
        let ended = place.run(arguments);
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stdout);
        assert!(
            ended.stderr.contains(expected),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
    let newest = place.run(&["decisions", "show"]);
    assert_eq!(newest.code, 2);
    assert!(
        newest
            .stderr
            .contains("has no decision; `parity gate` stores one")
    );
    let none = place.run(&["decisions", "list"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(
        none.stderr
            .contains("has no decision; `parity gate` stores one"),
        "{}",
        none.stderr
    );
    let (_, id) = decide(&place);
    let written = place.run(&["decisions", "export", &id, "--to", "held.json"]);
    assert_eq!(
        (written.code, written.stdout.as_str()),
        (0, ""),
        "{}",
        written.stderr
    );
    let again = place.run(&["decisions", "export", &id, "--to", "held.json"]);
    assert_eq!(again.code, 2, "an existing file is not overwritten");
    assert!(
        again.stderr.contains("held.json exists") && again.stderr.contains("--force"),
        "{}",
        again.stderr
    );
    let forced = place.run(&["decisions", "export", &id, "--to", "held.json", "--force"]);
    assert_eq!(forced.code, 0, "{}", forced.stderr);
    assert_eq!(place.run(&["decisions", "verify", "held.json"]).code, 0);
    let other = [
        "decisions",
        "list",
        "--migration",
        "other",
        "--output",
        "json",
    ];
    assert_eq!(place.run(&other).json()["decisions"], serde_json::json!([]));
}

#[test]
fn ten_thousand_decisions_are_listed_at_the_price_of_each_and_page_by_page() {
    let place = counted();
    decide(&place);
    fill(&place, 1..1_000);
    let few = list_all(&place, 1_000);
    fill(&place, 1_000..10_000);
    let many = list_all(&place, 10_000);
    // In proportion, with room for a machine that is busy with something else; the square of it would be a hundred times.
    assert!(many < few * 30, "{few:?} {many:?}");
    let mut after = None;
    let mut seen = 0;
    loop {
        let mut arguments = vec!["decisions", "list", "--limit", "3500", "--output", "json"];
        let place_of_next: String;
        if let Some(next) = &after {
            place_of_next = String::clone(next);
            arguments.extend(["--after", &place_of_next]);
        }
        let page = place.run(&arguments).json();
        seen += page["decisions"].as_array().expect("decisions").len();
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, 10_000);
}

/// Adds copies of the decision that is there.
fn fill(place: &Place, numbers: Range<u32>) {
    let mut connection =
        rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let copies = connection.transaction().expect("a transaction");
    copies
        .execute_batch("CREATE TEMP TABLE first AS SELECT * FROM decisions LIMIT 1")
        .expect("a copy");
    for number in numbers {
        let id = uuid::Uuid::now_v7().to_string();
        copies
            .prepare_cached(
                "INSERT INTO decisions SELECT ?1, migration, time + ?2, outcome, legacy_version, candidate_version, \
                 rules_hash, thresholds, document FROM first",
            )
            .expect("SQL")
            .execute(rusqlite::params![id, number])
            .expect("a row");
    }
    copies.commit().expect("committed");
}

/// Lists all decisions, of which there are so many, and returns the processor time that it took.
fn list_all(place: &Place, count: usize) -> Duration {
    let limit = count.to_string();
    let list = place.command(&["decisions", "list", "--limit", &limit, "--output", "json"]);
    // The shell tells the time of what it has run, which does not depend on what else runs on the machine.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "\"$0\" \"$@\" > listed.json && times"])
        .arg(list.get_program())
        .args(list.get_args());
    for (name, value) in list.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.current_dir(place.path()).output().expect("a shell");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let listed = std::fs::read(place.path().join("listed.json")).expect("a list");
    let document: Value = serde_json::from_slice(&listed).expect("JSON");
    assert_eq!(
        document["decisions"].as_array().expect("decisions").len(),
        count
    );
    assert_eq!(document["next"], Value::Null);
    // `0m1.23s 0m0.04s`, of the shell and then of what it ran.
    let of_children = told.lines().nth(1).expect("two lines").split_whitespace();
    let seconds = of_children.map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').expect(time);
        let number = |text: &str| text.parse::<f64>().expect("a number");
        60.0 * number(minutes) + number(seconds)
    });
    Duration::from_secs_f64(seconds.sum())
}

#[test]
fn a_list_without_the_right_migration_names_those_that_the_store_has() {
    let place = counted();
    decide(&place);
    let other = ["--migration", "payments"];
    let service = Service::json("1");
    let mirror = place.mirror(&service.url(), &service.url(), &other);
    mirror.get("/items/1");
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(place.run(&[&["gate"], &other[..]].concat()).code, 3);
    for command in [&["decisions", "list"][..], &["decisions", "show"]] {
        let wrong = place.run(&[command, &["--migration", "paymants"]].concat());
        let told = "has no decision of migration `paymants`; it has some of `default`, `payments`";
        assert!(wrong.stderr.contains(told), "{}", wrong.stderr);
        assert_eq!((wrong.code, wrong.stdout.as_str()), (2, ""));
    }
    let none = place.run(&["decisions", "list", "--outcome", "fail"]);
    assert!(
        none.stderr.contains("leave out --outcome"),
        "{}",
        none.stderr
    );
    let some = place.run(&["decisions", "list"]);
    let told =
        "these are of migration `default`; there are some of `payments`, too: --all-migrations";
    assert!(some.stderr.contains(told), "{}", some.stderr);
    let all = place.run(&["decisions", "list", "--all-migrations"]);
    for name in ["  default   PASS", "  payments  UNDECIDED"] {
        assert!(all.stdout.contains(name), "{}", all.stdout);
    }
}

#[test]
fn a_decision_on_nothing_hides_no_real_one() {
    let place = counted();
    let (_, id) = decide(&place);
    for asked in [
        &["--candidate-version", "deadbeef"][..],
        &["--migration", "defualt"],
        &["--since", "2999-01-01T00:00:00Z"],
    ] {
        let slip = place.run(&[&["gate", "--output", "json"], asked].concat());
        assert_eq!(slip.code, 3, "{}", slip.stdout);
        let told = "the decision is not stored: nothing is recorded of what was asked for";
        assert!(slip.stderr.contains(told), "{}", slip.stderr);
        let document = slip.json();
        assert_eq!(document["stored"], false);
        assert!(document["not_stored"].is_string(), "{document}");
    }
    let list = place.run(&["decisions", "list", "--all-migrations", "--output", "json"]);
    let listed = list.json()["decisions"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed[0]["id"], id);
}
