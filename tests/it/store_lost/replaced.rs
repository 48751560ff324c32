//! Another file in place of the open store. A record of parity is used, and gets the counts of this mirror, too. Any other
//! file is reported and left alone, and the counts wait until it is gone.

use std::path::Path;

use rusqlite::Connection;

use super::{Pair, remove, send, store, told_loss};
use crate::support::process::Place;
use crate::support::wait_for;

/// What another mirror has recorded: twelve requests.
fn another_record() -> Place {
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 12);
    mirror.settled(12);
    assert_eq!(mirror.stop().0, 0);
    place
}

#[test]
fn another_record_put_in_its_place_gets_the_counts_too() {
    let other = another_record();
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 30);
    mirror.settled(30);
    let held = place.path().join("held.db");
    std::fs::copy(store(&other), &held).expect("it is copied");
    std::fs::rename(&held, store(&place)).expect("it is put there");
    assert!(told_loss(&mirror).contains("another file was put in its place"));
    mirror.settled(42);
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(place.integrity(), "ok");
}

#[test]
fn a_record_copied_over_it_is_noticed_and_gets_the_counts_too() {
    let other = another_record();
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 30);
    mirror.settled(30);
    // Checkpointed, as after a quiet minute. Otherwise pages that are only in the log would hide most of the new content.
    let other_program = Connection::open(store(&place)).expect("the file opens");
    other_program
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .expect("the log is copied");
    drop(other_program);
    // The same file with another content, as `cp` leaves it.
    std::fs::copy(store(&other), store(&place)).expect("it is copied");
    told_loss(&mirror);
    mirror.settled(42);
    send(&mirror, 5);
    mirror.settled(47);
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(place.integrity(), "ok");
}

/// Puts a file that is not a store in its place. It is reported as long as it is there, and left unchanged. When it is
/// removed, every count is stored.
fn waits_for_the_store(words: &str, foreign: impl FnOnce(&Path)) {
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 30);
    mirror.settled(30);
    let held = place.path().join("held.db");
    foreign(&held);
    let bytes = std::fs::read(&held).expect("it was made");
    std::fs::rename(&held, store(&place)).expect("it is put there");
    told_loss(&mirror);
    let error = wait_for(words, || {
        let status = mirror.status();
        let error = status["store_error"].as_str()?.to_owned();
        error.contains(words).then_some(error)
    });
    send(&mirror, 20);
    let metrics = mirror.ask("/metrics").text();
    assert!(
        metrics.contains("parity_sink_store_failing 1"),
        "{error}: {metrics}"
    );
    assert_eq!(mirror.ask("/readyz").status, 200);
    let left = std::fs::read(store(&place)).expect("it is there");
    assert!(left == bytes, "{words}: it is left alone");
    remove(&store(&place));
    mirror.settled(50);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn what_is_no_record_in_its_place_is_left_alone() {
    waits_for_the_store("no SQLite database", |path| {
        std::fs::write(path, "not a database\n".repeat(1_000)).expect("a file");
    });
    waits_for_the_store("another program", |path| {
        let other = Connection::open(path).expect("a file");
        other
            .execute_batch("CREATE TABLE users (id INTEGER)")
            .expect("a table");
    });
    waits_for_the_store("schema version 99", |path| {
        std::fs::copy(store(&another_record()), path).expect("a file");
        let newer = Connection::open(path).expect("a file");
        newer
            .pragma_update(None, "user_version", 99)
            .expect("a version");
        newer
            .pragma_update(None, "journal_mode", "DELETE")
            .expect("one file");
    });
}
