//! Which files are accepted as a store, and the messages for the others.

use parity_schemas::evidence::{Decision, GATE_SCHEMA, Outcome, RouteDecision, Scope, Thresholds};
use parity_schemas::id::new_id;
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, StoreError, Writer, WriterOptions, record_decision};

use crate::support::{Store, book, number};

pub(crate) fn decision() -> Decision {
    let total = RouteDecision {
        route: String::new(),
        received: 1_000,
        traffic: 1.0,
        required: false,
        compared: 998,
        differing: 8,
        excused: parity_schemas::noise::Excused::default(),
        uncomparable: 0,
        unserved: false,
        distinct_targets: 0,
        most_frequent_share: None,
        rate: 0.008,
        lower: 0.004,
        alpha: Some(0.05),
        upper: 0.0144,
        legacy_errors: None,
        outcome: Outcome::Fail,
        needed: 0,
        counts: None,
    };
    Decision {
        schema: GATE_SCHEMA.to_owned(),
        method: 0,
        decision_id: new_id(),
        time: Timestamp::now(),
        migration: "default".to_owned(),
        outcome: Outcome::Fail,
        clients: parity_schemas::clients::Clients::new(),
        headline: "8 of 998 differ".to_owned(),
        scope: Scope::default(),
        reasons: vec!["8 of 998 differ".to_owned()],
        thresholds: Thresholds::default(),
        evidence: None,
        noise: Vec::new(),
        known: Vec::new(),
        news: None,
        total: total.clone(),
        routes: vec![total],
        latency: Vec::new(),
        candidate_errors: Vec::new(),
        targets: None,
        waited_ms: 0,
        terms: Vec::new(),
        terms_cut: false,
        stored: None,
        not_stored: None,
    }
}

/// The result of every way to open the store.
fn errors(store: &Store) -> [Option<StoreError>; 3] {
    [
        Writer::open(&store.url, book("here"), WriterOptions::default()).err(),
        Reader::open(&store.url).err(),
        record_decision(&store.url, &decision()).err(),
    ]
}

fn refused(error: Option<&StoreError>) -> String {
    error.expect("it must be refused").to_string()
}

#[test]
fn a_missing_store_is_an_error_for_readers_and_is_not_created() {
    let store = Store::new();
    for error in [
        Reader::open(&store.url).err(),
        record_decision(&store.url, &decision()).err(),
    ] {
        assert!(matches!(error, Some(StoreError::Missing { .. })));
    }
    assert!(!store.path.exists());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let mut store = Store::new();
    store.path = store.path.join("deeper/parity.db");
    store.url = parity_sink::StoreUrl::Sqlite(store.path.clone()).into();
    let message = refused(errors(&store)[0].as_ref());
    assert!(message.contains("its folder does not exist"), "{message}");
    let folder = store.path.parent().and_then(|path| path.parent());
    store.url = parity_sink::StoreUrl::Sqlite(
        folder
            .and_then(|path| path.parent())
            .expect("the test's folder")
            .into(),
    )
    .into();
    for error in errors(&store) {
        assert!(refused(error.as_ref()).contains("it is a folder"));
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let store = Store::new();
    let text = "not a database\n".repeat(1_000);
    std::fs::write(&store.path, &text).expect("a file");
    for error in errors(&store) {
        let message = refused(error.as_ref());
        assert!(message.contains("it is no SQLite database"), "{message}");
    }
    let left = std::fs::read_to_string(&store.path).expect("still there");
    assert_eq!(left, text);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let store = Store::new();
    let sql = "CREATE TABLE users (id INTEGER); INSERT INTO users VALUES (1)";
    store.sql().execute_batch(sql).expect("another program");
    for error in errors(&store) {
        let message = refused(error.as_ref());
        assert!(
            message.contains("a database of another program"),
            "{message}"
        );
    }
    let tables = number(&store.sql(), "SELECT count(*) FROM sqlite_schema");
    assert_eq!(tables, 1);
}

#[test]
fn an_empty_file_becomes_a_store_and_is_none_before() {
    let store = Store::new();
    std::fs::write(&store.path, "").expect("a file");
    assert!(refused(Reader::open(&store.url).err().as_ref()).contains("it is empty"));
    drop(store.writer(&book("here"), WriterOptions::default()));
    assert_eq!(store.received(), 0);
}

#[test]
fn a_newer_schema_is_refused_by_all() {
    let store = Store::new();
    drop(store.writer(&book("here"), WriterOptions::default()));
    let sql = store.sql();
    sql.pragma_update(None, "user_version", 99)
        .expect("a newer version");
    for error in errors(&store) {
        let message = refused(error.as_ref());
        assert!(message.contains("schema version 99"), "{message}");
        assert!(message.contains("newer parity"), "{message}");
    }
}

#[test]
fn an_older_schema_is_refused_by_readers_and_brought_up_to_date_by_the_mirror() {
    let store = Store::new();
    drop(store.writer(&book("here"), WriterOptions::default()));
    let sql = store.sql();
    // As a version before the first table would have left it.
    sql.execute_batch(
        "DROP TABLE mismatches; DROP TABLE tallies; DROP TABLE group_tallies; DROP TABLE decisions; \
         DROP TABLE watermarks; DROP TABLE set_tallies; DROP TABLE terms; \
         PRAGMA user_version = 0",
    )
    .expect("an older version");
    let message = refused(Reader::open(&store.url).err().as_ref());
    assert!(
        message.contains("start `parity mirror` on it once"),
        "{message}"
    );
    drop(store.writer(&book("here"), WriterOptions::default()));
    assert_eq!(store.received(), 0);
}

#[test]
fn the_file_is_set_up_as_promised() {
    let store = Store::new();
    drop(store.writer(&book("here"), WriterOptions::default()));
    let sql = store.sql();
    assert_eq!(number(&sql, "PRAGMA auto_vacuum"), 2, "incremental");
    let mode: String = sql
        .query_row("PRAGMA journal_mode", (), |row| row.get(0))
        .expect("a mode");
    assert_eq!(mode, "wal");
}

#[test]
fn a_value_from_another_world_is_named() {
    let store = Store::new();
    store.fill([parity_schemas::record::Record::Tally(Box::new(
        crate::support::tally("GET /a", Timestamp::now(), 1),
    ))]);
    let sql = "UPDATE tallies SET not_compared = '{\"solar_flare\":1}'";
    store.sql().execute(sql, ()).expect("an edit");
    let error = store
        .reader()
        .report(&parity_sink::Selection::default())
        .expect_err("not understood");
    let message = error.to_string();
    assert!(message.contains("tallies.not_compared"), "{message}");
    assert!(message.contains("solar_flare"), "{message}");
}
