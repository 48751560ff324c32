//! A changed file does not hold, nor does a store that was changed.

use parity_schemas::json_text::compact;

use super::{counted, decide, export, forged, more, state, verify};

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
    // A reason decides nothing, but it is part of what was recorded.
    let reason = forged(&file, |content| content.replace("set on read", "agreed"));
    let (code, document) = verify(&place, &reason, &store);
    assert_eq!(code, 1, "{document}");
    assert!(
        state(&document, "terms").contains("does not follow from"),
        "{document}"
    );
    let told = state(&document, "stored_terms");
    assert!(
        told.contains("rules.rules[stamp].reason is") && told.contains("agreed"),
        "{told}"
    );
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
        told.contains("another decision of this id: outcome is"),
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

/// A decision while an instance was silent, whose rows came later: it was not known then what it had counted.
#[test]
fn what_an_instance_that_was_silent_wrote_later_is_no_tampering_and_less_is() {
    let place = counted();
    let sql = |text: &str| {
        let connection =
            rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
        connection.execute_batch(text).expect("SQL");
    };
    // Its last words are lost, as if it were killed; and a part of its rows is still on the way.
    sql(
        "UPDATE watermarks SET ended = 0, complete_until = started + 1, tallies = 0, received = 0, settled = 0, open = '[]'; \
         UPDATE tallies SET interval_start = interval_start - 120000000; \
         CREATE TABLE kept AS SELECT * FROM tallies; \
         UPDATE tallies SET received = received - 100, \"match\" = \"match\" - 100",
    );
    let gate = place.run(&["gate", "--max-mismatch-rate", "0.5", "--output", "json"]);
    let decision = gate.json();
    assert_eq!(
        decision["evidence"]["watermarks"][0]["state"], "silent",
        "{decision}"
    );
    assert_eq!(decision["total"]["received"], 300);
    let id = decision["decision_id"].as_str().expect("an id").to_owned();
    let file = export(&place, &id);
    let store = ["--store", "sqlite:parity.db"];
    let (code, document) = verify(&place, &file, &store);
    assert_eq!(code, 0, "{document}");
    assert!(
        state(&document, "tallies").starts_with("holds []"),
        "{document}"
    );
    sql("DELETE FROM tallies; INSERT INTO tallies SELECT * FROM kept");
    let (code, document) = verify(&place, &file, &store);
    assert_eq!(code, 0, "{document}");
    let told = state(&document, "tallies");
    assert!(
        told.starts_with("holds")
            && told.contains("more was counted since")
            && told.contains("it was silent then"),
        "{told}"
    );
    // Another count at the same time is one that is less somewhere.
    sql("UPDATE tallies SET \"match\" = 200, mismatch = 200");
    let (code, document) = verify(&place, &file, &store);
    assert_eq!(code, 1, "{document}");
    assert!(
        state(&document, "tallies").contains("match is 300"),
        "{document}"
    );
}

#[test]
fn more_of_an_instance_that_was_complete_is_another_count() {
    let place = counted();
    let sql = |text: &str| {
        let connection =
            rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
        connection.execute_batch(text).expect("SQL");
    };
    // Its interval is over.
    sql(
        "UPDATE tallies SET interval_start = interval_start - 120000000; \
         UPDATE watermarks SET counted_from = counted_from - 300000000, open = '[]', received = 400, settled = 400, \
         tallies = (SELECT count(*) FROM tallies)",
    );
    let (_, id) = decide(&place);
    let file = export(&place, &id);
    sql("UPDATE tallies SET received = received + 100, \"match\" = \"match\" + 100");
    let (code, document) = verify(&place, &file, &["--store", "sqlite:parity.db"]);
    assert_eq!(code, 1, "{document}");
    let told = state(&document, "tallies");
    assert!(told.contains("is 400 in the decision, and 500"), "{told}");
}
