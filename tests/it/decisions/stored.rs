//! Documents of other programs are kept as they are, and a decision that cannot be stored is printed all the same.

use parity_schemas::json_text::{compact, pretty};
use serde_json::Value;

use super::{GATE, counted, decide, export, state, verify};
use crate::support::process::{Ended, Place, limited};

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
    let (code, checked) = verify(&place, &export(&place, &id), &[]);
    assert_eq!(code, 0, "{checked}");
    let told = state(&checked, "fields");
    assert!(
        told.starts_with("unknown") && told.contains("decision.zz"),
        "what is not known is not dropped in silence: {told}"
    );

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
