//! A process that is killed in the middle of its work.
//!
//! The test binary starts itself again as the process to be killed, so that nothing but `SIGKILL` ends it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use parity_sink::{StoreConfig, StoreUrl, WriterOptions};

use crate::support::{PATIENCE, Store, book, matched, mismatched, number, route, wait_until};

const STORE: &str = "PARITY_TEST_STORE_OF_CHILD";
/// Requests between two lines of the child.
const REQUESTS_PER_LINE: u64 = 100;
/// The greatest age of a lost count. The promise is half a second; a busy machine may stop the whole child for longer
/// than that.
const ALLOWED_LOSS: Duration = Duration::from_secs(2);

/// The same binary, running one test with a store to work on.
pub(crate) fn start_child(test: &str, store: &Store) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args([test, "--exact", "--nocapture"])
        .env(STORE, &store.path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this binary starts again")
}

/// The store, in a process that [`start_child`] started; `None` in any other process.
pub(crate) fn store_of_child() -> Option<StoreConfig> {
    std::env::var_os(STORE).map(|path| StoreConfig::from(StoreUrl::Sqlite(path.into())))
}

/// Counts and records until it is killed, and prints its progress.
#[test]
fn child_that_works_until_it_is_killed() {
    let Some(url) = store_of_child() else { return };
    let book = book("child");
    let options = WriterOptions::default();
    let writer = parity_sink::Writer::open(&url, book.clone(), options).expect("it opens");
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    let mut out = std::io::stdout();
    for line in 1_u64.. {
        for request in 0..REQUESTS_PER_LINE {
            if request % 10 == 0 {
                // Some records are dropped when this loop is faster than the disk, but all are counted.
                sender.send(mismatched(&recorder, &route, 200)).ok();
            } else {
                matched(&recorder, &route);
            }
        }
        writeln!(out, "{}", line * REQUESTS_PER_LINE).expect("the parent listens");
    }
}

#[test]
fn a_killed_process_loses_half_a_second_at_most_and_the_file_goes_on() {
    let store = Store::new();
    let mut child = start_child("crash::child_that_works_until_it_is_killed", &store);
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut told: Vec<(Instant, u64)> = Vec::new();
    let mut stored_before = 0;
    for line in lines {
        let line = line.expect("text");
        // The harness prints lines of its own.
        let Ok(count) = line.trim().parse::<u64>() else {
            continue;
        };
        told.push((Instant::now(), count));
        let running = told[0].0.elapsed();
        if stored_before == 0 && running > ALLOWED_LOSS / 2 {
            wait_until("something is stored", || {
                stored_before = store.received();
                stored_before > 0
            });
        }
        if running > ALLOWED_LOSS + Duration::from_millis(500) {
            break;
        }
    }
    let killed_at = Instant::now();
    child.kill().expect("it was running");
    child.wait().expect("it ended");

    // A reader opens the store first, so it recovers the log of the killed process.
    let report = store.report();
    let sql = store.sql();
    let check: String = sql
        .query_row("PRAGMA integrity_check", (), |row| row.get(0))
        .expect("the check runs");
    assert_eq!(check, "ok");
    let stored = report.counts.received;
    let long_ago = told
        .iter()
        .rfind(|(at, _)| killed_at.duration_since(*at) >= ALLOWED_LOSS)
        .map_or(0, |(_, count)| *count);
    assert!(long_ago > 0, "it ran for long enough");
    assert!(
        stored >= long_ago,
        "{stored} stored, {long_ago} counted long before"
    );
    assert!(stored >= stored_before, "what had been stored stays stored");
    assert!(report.counts.settled() <= stored);
    assert!(report.groups[0].example.is_some());
    assert!(number(&sql, "SELECT count(*) FROM mismatches") > 0);

    let book = book("after");
    let writer = store.writer(&book, WriterOptions::default());
    let (recorder, route) = (book.recorder(book.generation()), route());
    (0..10).for_each(|_| matched(&recorder, &route));
    writer.finish(PATIENCE).expect("the writer ends");
    let report = store.report();
    assert_eq!(report.counts.received, stored + 10);
    assert_eq!(report.instances, ["after", "child"]);
}
