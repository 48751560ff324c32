//! `parity decisions`: the record that parity held, listed, printed, exported, and checked by somebody who doubts it.

use std::time::{Duration, Instant};

use parity_comparator::seal::sha256;
use parity_schemas::json_text::{compact, pretty};
use serde_json::Value;

use crate::support::process::{Ended, Place, limited};
use crate::support::service::Service;

const RULES: &str = r#"
[[rule]]
id = "stamp"
path = "/**/stamp"
action = "ignore"
reason = "set on read"
"#;

/// A place with a store of 400 equal answers under a rule.
fn counted() -> Place {
    let place = Place::new();
    place.write("parity.toml", RULES);
    more(&place, 400);
    place
}

fn more(place: &Place, requests: u32) {
    let service = Service::json("{\"a\":1}");
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    for number in 0..requests {
        mirror.get(&format!("/items/{number}"));
    }
    assert_eq!(mirror.stop().0, 0);
}

const GATE: [&str; 5] = ["gate", "--max-mismatch-rate", "0.01", "--output", "json"];

fn decide(place: &Place) -> (Ended, String) {
    let ended = place.run(&GATE);
    let id = ended.json()["decision_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    (ended, id)
}

fn export(place: &Place, id: &str) -> String {
    let ended = place.run(&["decisions", "export", id]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.stdout
}

/// Verifies `file`, and gives the states of its checks by name.
fn verify(place: &Place, file: &str, more: &[&str]) -> (i32, Value) {
    place.write("file.json", file);
    let mut arguments = vec!["decisions", "verify", "file.json", "--output", "json"];
    arguments.extend(more);
    let ended = place.run(&arguments);
    let document = ended.json();
    assert_eq!(document["schema"], "parity.verification/v1");
    assert_eq!(document["holds"] == true, ended.code == 0);
    (ended.code, document)
}

fn state(document: &Value, name: &str) -> String {
    let checks = document["checks"].as_array().expect("checks");
    let check = checks.iter().find(|check| check["name"] == name);
    check.map_or_else(String::new, |check| {
        let told = check["told"].to_string();
        format!("{} {told}", check["state"].as_str().expect("a state"))
    })
}

/// The file with other content and a digest that is right again, as somebody would forge it.
fn forged(file: &str, change: impl FnOnce(&str) -> String) -> String {
    let export: Value = serde_json::from_str(file).expect("JSON");
    let begin = file.find("\"content\":").expect("content") + "\"content\":".len();
    let end = file.rfind('}').expect("an end");
    let content = compact(&change(&compact(
        file.get(begin..end).expect("its content"),
    )));
    assert_ne!(
        sha256(content.as_bytes()),
        export["sha256"],
        "it changes something"
    );
    pretty(&format!(
        "{{\"schema\":\"parity.decision_export/v1\",\"sha256\":\"{}\",\"content\":{content}}}",
        sha256(content.as_bytes())
    ))
}

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
    assert_eq!(alone["decision_id"], id);
    let (code, with) = verify(&place, &file, &["--store", "sqlite:parity.db"]);
    assert_eq!(code, 0, "{with}");
    for name in ["digest", "rules", "again", "stored", "tallies"] {
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
fn every_changed_byte_of_an_export_is_seen() {
    let place = counted();
    let (_, id) = decide(&place);
    let file = compact(&export(&place, &id));
    assert_eq!(verify(&place, &file, &[]).0, 0);
    for (from, to) in [
        ("\"outcome\":\"pass\"", "\"outcome\":\"fail\""),
        ("\"received\":400", "\"received\":401"),
        ("\"match\":400", "\"match\":399"),
        ("set on read", "set on Read"),
        ("\"sample\":1.0", "\"sample\":0.1"),
        ("/v1\",\"sha256\":\"", "/v2\",\"sha256\":\""),
        ("\"content\":{", "\"content\":{\"more\":1,"),
        ("{\"schema\"", "{\"more\":1,\"schema\""),
        ("\"max_mismatch_rate\":0.01", "\"max_mismatch_rate\":0.010"),
    ] {
        assert!(file.contains(from), "{from}");
        let (code, document) = verify(&place, &file.replacen(from, to, 1), &[]);
        assert_eq!(code, 1, "{to}: {document}");
        assert!(
            state(&document, "digest").starts_with("fails"),
            "{to}: {document}"
        );
    }
    // A digit in many places, and a text that ends too early anywhere.
    for at in (0..file.len()).step_by(file.len() / 12) {
        let mut bytes = file.clone().into_bytes();
        bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
        let changed = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(verify(&place, &changed, &[]).0, 1, "byte {at}");
        assert_eq!(
            verify(&place, file.get(..at).expect("ASCII"), &[]).0,
            1,
            "cut at {at}"
        );
    }
    for strange in [
        "",
        "{}",
        "[]",
        "null",
        "\u{0}",
        "{\"schema\":1}",
        "{\"content\":{}}",
    ] {
        assert_eq!(verify(&place, strange, &[]).0, 1, "{strange:?}");
    }
}

#[test]
fn a_forged_export_is_seen_by_deciding_again_or_by_the_store() {
    let place = counted();
    let (_, id) = decide(&place);
    let file = export(&place, &id);
    let store = ["--store", "sqlite:parity.db"];
    let replaced =
        |from: &'static str, to: &'static str| forged(&file, |content| content.replace(from, to));
    for (from, to, check) in [
        ("\"outcome\":\"pass\"", "\"outcome\":\"fail\"", "again"),
        ("\"match\":400", "\"match\":300", "again"),
        ("\"confidence\":0.95", "\"confidence\":0.9999", "again"),
        ("/**/stamp", "/**", "rules"),
    ] {
        let (code, document) = verify(&place, &replaced(from, to), &[]);
        assert_eq!(code, 1, "{to}");
        assert!(state(&document, "digest").starts_with("holds"), "{to}");
        assert!(
            state(&document, check).starts_with("fails"),
            "{to}: {document}"
        );
    }
    // A thousand times as many, which says the same of itself: only the store knows better.
    let more = forged(&file, |content| {
        content
            .replace("\"window\"", "\"Window\"")
            .replace("set on read", "agreed")
    });
    let (code, document) = verify(&place, &more, &store);
    assert_eq!(code, 0, "a reason decides nothing: {document}");
    let other_id = uuid::Uuid::now_v7().to_string();
    let foreign = forged(&file, |content| content.replace(&id, &other_id));
    assert_eq!(verify(&place, &foreign, &[]).0, 0);
    let (code, document) = verify(&place, &foreign, &store);
    assert_eq!(code, 1);
    assert!(
        state(&document, "stored").contains("no decision"),
        "{document}"
    );
}

#[test]
fn a_store_that_was_changed_or_is_another_does_not_hold_and_removed_rows_are_told_as_such() {
    let place = counted();
    let (_, id) = decide(&place);
    let file = export(&place, &id);
    let store = ["--store", "sqlite:parity.db"];
    let sql = |text: &str| {
        let connection =
            rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
        connection.execute_batch(text).expect("SQL");
    };
    // Later traffic of the same minutes and after is no fault.
    more(&place, 30);
    let (code, document) = verify(&place, &file, &store);
    assert_eq!(code, 0, "{document}");

    let elsewhere = counted();
    let (code, document) = verify(&elsewhere, &file, &store);
    assert_eq!(code, 1);
    assert!(
        state(&document, "stored").contains("no decision"),
        "{document}"
    );

    sql(
        "CREATE TABLE kept AS SELECT * FROM tallies; UPDATE tallies SET received = received - 100, \"match\" = \"match\" - 100",
    );
    let (code, document) = verify(&place, &file, &store);
    assert_eq!(code, 1, "{document}");
    let told = state(&document, "tallies");
    assert!(told.contains("GET /items/{id}: received is 400"), "{told}");

    sql("DELETE FROM tallies");
    let (code, document) = verify(&place, &file, &store);
    assert_eq!(code, 0, "{document}");
    let told = state(&document, "tallies");
    assert!(
        told.starts_with("unknown") && told.contains("retention"),
        "{told}"
    );

    sql(
        "INSERT INTO tallies SELECT * FROM kept; UPDATE decisions SET document = replace(document, '\"pass\"', '\"fail\"')",
    );
    let (code, document) = verify(&place, &file, &store);
    assert_eq!(code, 1);
    let told = state(&document, "stored");
    assert!(
        told.contains("another decision of this id: outcome is fail"),
        "{told}"
    );
    sql("UPDATE decisions SET document = 'nonsense'");
    assert_eq!(verify(&place, &file, &store).0, 1);
    let list = place.run(&["decisions", "list"]);
    assert_eq!(list.code, 0, "{}", list.stderr);
    let show = place.run(&["decisions", "show", &id]);
    assert_eq!(show.code, 2);
    assert!(show.stderr.contains("cannot read it"), "{}", show.stderr);
}

#[test]
fn documents_of_newer_and_older_programs_are_shown_as_they_are() {
    let place = counted();
    let (gate, id) = decide(&place);
    let connection = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let put = |document: &str| {
        let values = [document, id.as_str()];
        let set = connection.execute("UPDATE decisions SET document = ?1 WHERE id = ?2", values);
        assert_eq!(set.expect("it is set"), 1);
    };
    let document = compact(&gate.stdout);
    let newer = document.replacen('{', "{\"zz\":{\"a\":[1.10,\"\\u202e\"]},", 1);
    put(&newer);
    let shown = place.run(&["decisions", "show", &id, "--output", "json"]);
    assert_eq!(shown.stdout, pretty(&newer) + "\n");
    assert_eq!(verify(&place, &export(&place, &id), &[]).0, 0);

    // As the first programs wrote it: nothing that came later.
    let mut older: Value = serde_json::from_str(&document).expect("JSON");
    let fields = older.as_object_mut().expect("an object");
    for field in [
        "headline",
        "scope",
        "noise",
        "terms",
        "stored",
        "waited_ms",
        "clients",
    ] {
        fields.remove(field);
    }
    for route in fields["routes"].as_array_mut().expect("routes") {
        let route = route.as_object_mut().expect("an object");
        route.retain(|name, _| {
            !["counts", "excused", "received", "traffic"].contains(&name.as_str())
        });
    }
    put(&older.to_string());
    let shown = place.run(&["decisions", "show", &id]);
    assert!(shown.stdout.contains("GET /items/{id}"), "{}", shown.stdout);
    let list = place.run(&["decisions", "list", "--output", "json"]).json();
    assert_eq!(list["decisions"][0]["headline"], "");
    // Its counts are not known, so it is not said to hold.
    let (code, document) = verify(&place, &export(&place, &id), &[]);
    assert_eq!(code, 1);
    assert!(
        state(&document, "again").contains("older program"),
        "{document}"
    );
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
            .contains("has no decision of migration `default`")
    );
    let none = place.run(&["decisions", "list"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(
        none.stderr.contains("no decision is stored"),
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
    assert_eq!(again.code, 2, "an existing file is never overwritten");
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
fn ten_thousand_decisions_are_listed_within_a_second_and_page_by_page() {
    let place = counted();
    decide(&place);
    let mut connection =
        rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let copies = connection.transaction().expect("a transaction");
    copies
        .execute_batch("CREATE TEMP TABLE first AS SELECT * FROM decisions")
        .expect("a copy");
    for number in 1..10_000 {
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
    let began = Instant::now();
    let all = place.run(&["decisions", "list", "--limit", "10000", "--output", "json"]);
    let took = began.elapsed();
    let document = all.json();
    assert_eq!(
        document["decisions"].as_array().expect("decisions").len(),
        10_000
    );
    assert_eq!(document["next"], Value::Null);
    // Seconds in a build without optimization on a busy machine; one in a release.
    let most = if cfg!(debug_assertions) { 5 } else { 1 };
    assert!(took < Duration::from_secs(most), "{took:?}");
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

/// The command as a user who may only read what others may; as root, nothing is forbidden.
fn as_reader(place: &Place, arguments: &[&str]) -> Ended {
    let mut command = place.command(arguments);
    if rustix::process::getuid().is_root() {
        place.under_user(&mut command);
    }
    let output = command.output().expect("it can be started");
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

fn stored(place: &Place) -> usize {
    let list = place.run(&["decisions", "list", "--output", "json"]).json();
    list["decisions"].as_array().expect("decisions").len()
}

#[test]
fn a_decision_that_is_not_or_cannot_be_stored_is_printed_with_its_code_and_says_so() {
    let place = counted();
    let dry = [&GATE[..], &["--dry-run"]].concat();
    let ended = place.run(&dry);
    assert_eq!(ended.code, 0);
    assert_eq!(ended.json()["stored"], false);
    assert_eq!(ended.json()["not_stored"], "--dry-run");
    assert!(
        ended.stderr.contains("not stored: --dry-run"),
        "{}",
        ended.stderr
    );
    let undecided = place.run(&["gate", "--dry-run"]);
    assert_eq!(undecided.code, 3, "{}", undecided.stdout);
    assert_eq!(stored(&place), 0);

    let full = limited(&place, &mut place.command(&GATE), 0)
        .output()
        .expect("it starts");
    assert_eq!(
        full.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&full.stderr)
    );
    let document: Value = serde_json::from_slice(&full.stdout).expect("JSON");
    assert_eq!(
        (&document["outcome"], &document["stored"]),
        (&"pass".into(), &false.into())
    );
    let why = document["not_stored"].as_str().expect("a reason");
    assert!(why.contains("disk I/O error"), "{why}");
    assert_eq!(stored(&place), 0);
}

#[test]
fn a_store_that_may_only_be_read_still_gets_its_verdict() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = counted();
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is set");
    };
    set(&place.path().join("parity.db"), 0o444);
    // Also in a folder in which nothing may be made.
    for mode in [0o777, 0o555] {
        set(place.path(), mode);
        let ended = as_reader(&place, &GATE);
        assert_eq!(ended.code, 0, "{mode:o}: {}{}", ended.stdout, ended.stderr);
        let document = ended.json();
        assert_eq!(
            (&document["outcome"], &document["stored"]),
            (&"pass".into(), &false.into())
        );
        assert!(
            ended.stderr.contains("the decision is not stored: "),
            "{}",
            ended.stderr
        );
        let list = as_reader(&place, &["decisions", "list"]);
        assert_eq!(list.code, 0, "{}", list.stderr);
    }
    set(place.path(), 0o700);
}

#[test]
fn decisions_are_on_the_api_and_on_pages_and_hostile_text_stays_text() {
    let place = counted();
    let (gate, id) = decide(&place);
    let connection = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let hostile = "<script>alert(1)</script>\u{202e}";
    let document = gate.stdout.replace("set on read", hostile);
    let mut document: Value = serde_json::from_str(&document).expect("JSON");
    document["headline"] = hostile.into();
    document["reasons"] = serde_json::json!([hostile]);
    let set = connection.execute("UPDATE decisions SET document = ?1", [document.to_string()]);
    assert_eq!(set.expect("it is set"), 1);
    let set = connection.execute(
        "UPDATE terms SET rules = replace(rules, 'set on read', ?1)",
        [hostile],
    );
    assert_eq!(set.expect("it is set"), 1);
    let ui = place.ui();
    let list = ui.ask("/api/v1/decisions?limit=1");
    assert_eq!(list.json()["schema"], "parity.decisions/v1");
    assert_eq!(list.json()["decisions"][0]["id"], id);
    assert_eq!(ui.ask(&format!("/api/v1/decisions/{id}")).json(), document);
    for (path, status) in [
        ("/api/v1/decisions/nonsense", 400),
        (
            "/api/v1/decisions/0190a0b0-0000-7000-8000-000000000000",
            404,
        ),
        ("/api/v1/decisions?limit=0", 400),
        ("/api/v1/decisions?outcome=passed", 400),
        ("/api/v1/decisions?after=x", 400),
        ("/api/v1/decisions?nonsense=1", 400),
        ("/decisions/0190a0b0-0000-7000-8000-000000000000", 404),
        ("/decisions?after=x", 400),
    ] {
        assert_eq!(ui.ask(path).status, status, "{path}");
    }
    let overview = ui.ask("/").text();
    assert!(
        overview.contains("href=\"/decisions?migration=default\""),
        "{overview}"
    );
    let list = ui.ask("/decisions").text();
    assert!(
        list.contains(&format!("href=\"/decisions/{id}\"")),
        "{list}"
    );
    let one = ui.ask(&format!("/decisions/{id}")).text();
    assert!(
        one.contains("GET /items/{id}") && one.contains("/**/stamp"),
        "{one}"
    );
    for page in [list, one] {
        assert!(
            !page.contains("<script") && !page.contains('\u{202e}'),
            "{page}"
        );
        assert!(page.contains("alert(1)"), "{page}");
    }
    let empty = ui.ask("/decisions?migration=other").text();
    assert!(empty.contains("None is stored of other"), "{empty}");
}
