//! The file of the store while it is open: its locks keep out other programs. When it is deleted, replaced or restored
//! from a backup, the mirror reports that at once and loses no count.

mod replaced;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

/// How soon a loss must be reported, with time to spare for a machine that runs all tests at once.
const TOLD_WITHIN: Duration = Duration::from_secs(3);

struct Pair {
    legacy: Service,
    candidate: Service,
}

impl Pair {
    fn new() -> Self {
        Self {
            legacy: Service::json("{\"a\":1}"),
            candidate: Service::json("{\"a\":2}"),
        }
    }

    fn mirror<'a>(&self, place: &'a Place) -> Mirror<'a> {
        place.mirror(&self.legacy.url(), &self.candidate.url(), &[])
    }
}

fn store(place: &Place) -> PathBuf {
    place.path().join("parity.db")
}

fn beside(place: &Place, suffix: &str) -> PathBuf {
    place.path().join(format!("parity.db{suffix}"))
}

fn send(mirror: &Mirror<'_>, requests: u64) {
    (0..requests).for_each(|_| assert_eq!(mirror.get("/x").status, 200));
}

/// Waits until the mirror reports a loss, and returns the message.
fn told_loss(mirror: &Mirror<'_>) -> String {
    let began = Instant::now();
    let told = wait_for("the loss to be told", || {
        mirror.status()["store_loss"].as_str().map(str::to_owned)
    });
    assert!(
        began.elapsed() < TOLD_WITHIN,
        "told after {:?}",
        began.elapsed()
    );
    told
}

/// Inodes of which a process holds a POSIX lock.
fn locked_inodes(pid: u32) -> Vec<u64> {
    let locks = std::fs::read_to_string("/proc/locks").expect("Linux lists them");
    let of_process = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_ours = words.get(1) == Some(&"POSIX") && words.get(4)?.parse() == Ok(pid);
        let inode = words.get(5)?.rsplit(':').next()?.parse().ok()?;
        is_ours.then_some(inode)
    };
    locks.lines().filter_map(of_process).collect()
}

/// Descriptors that a process has of a file.
fn descriptors(pid: u32, path: &Path) -> usize {
    let path = path.canonicalize().expect("it is there");
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("it runs")
        .filter(|entry| {
            let link = entry
                .as_ref()
                .ok()
                .and_then(|entry| entry.path().read_link().ok());
            link.as_deref() == Some(&path)
        })
        .count()
}

/// Reads the store with another program and closes it, as a user does at a shell. Returns the recorded requests.
fn look_by_another_program(place: &Place) -> u64 {
    let other = Connection::open(store(place)).expect("the file opens");
    let received: Option<i64> = other
        .query_row("SELECT sum(received) FROM tallies", [], |row| row.get(0))
        .expect("a query");
    other.close().expect("it closes");
    received
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or(0)
}

/// Waits until another program reads this many requests.
fn seen_by_another_program(place: &Place, requests: u64) {
    wait_for("the requests to be seen", || {
        (look_by_another_program(place) == requests).then_some(())
    });
}

#[test]
fn a_new_store_is_locked_private_and_held_by_one_descriptor_of_each_file() {
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 1);
    mirror.settled(1);
    let locked = locked_inodes(mirror.pid());
    for path in [store(&place), beside(&place, "-shm")] {
        let inode = path.metadata().expect("it is there").ino();
        assert!(locked.contains(&inode), "{} of {locked:?}", path.display());
    }
    for path in [
        store(&place),
        beside(&place, "-wal"),
        beside(&place, "-shm"),
    ] {
        assert_eq!(descriptors(mirror.pid(), &path), 1, "{}", path.display());
        let mode = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    // The page reads the store in the same process, with other descriptors. Closing them must not drop the locks.
    assert_eq!(mirror.ask("/report").status, 200);
    wait_for("the locks after a page", || {
        let inode = store(&place).metadata().expect("it is there").ino();
        locked_inodes(mirror.pid()).contains(&inode).then_some(())
    });
    let left: Vec<_> = std::fs::read_dir(place.path())
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
    mirror.stop();
}

#[test]
fn another_program_that_looks_at_a_new_store_takes_nothing_from_it() {
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    let log = beside(&place, "-wal").metadata().expect("a log").ino();
    send(&mirror, 40);
    seen_by_another_program(&place, 40);
    assert_eq!(beside(&place, "-wal").metadata().expect("still").ino(), log);
    send(&mirror, 100);
    mirror.settled(140);
    assert!(
        mirror.status()["store_loss"].is_null(),
        "{}",
        mirror.status()
    );
    mirror.kill();
    let report = place.report();
    assert_eq!(
        (report.count("received"), report.count("mismatch")),
        (140, 140)
    );
    assert_eq!(place.integrity(), "ok");
}

#[test]
fn two_mirrors_of_one_name_on_one_store_and_a_visitor_lose_nothing() {
    let (pair, place) = (Pair::new(), Place::new());
    let first = pair.mirror(&place);
    send(&first, 20);
    seen_by_another_program(&place, 20);
    let second = pair.mirror(&place);
    for _ in 0..10 {
        send(&first, 10);
        look_by_another_program(&place);
        send(&second, 10);
    }
    first.settled(220);
    for mirror in [&first, &second] {
        assert!(
            mirror.status()["store_loss"].is_null(),
            "{}",
            mirror.status()
        );
    }
    first.kill();
    second.kill();
    assert_eq!(place.report().count("received"), 220);
    assert_eq!(place.integrity(), "ok");
}

/// Does something to an open store. The loss is reported with `words`, and no count is missing in the end.
fn survives(words: &str, harm: impl FnOnce(&Place)) {
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 30);
    mirror.settled(30);
    harm(&place);
    let told = told_loss(&mirror);
    assert!(told.contains(words), "{told}");
    send(&mirror, 20);
    mirror.settled(50);
    wait_for("the store to work again", || {
        mirror.status()["store_error"].is_null().then_some(())
    });
    let page = mirror.ask("/report").text();
    assert!(
        page.contains("The store was lost") && page.contains(words),
        "{page}"
    );
    let metrics = mirror.ask("/metrics").text();
    assert!(
        metrics.contains("parity_sink_store_losses_total 1"),
        "{metrics}"
    );
    assert!(metrics.contains("parity_sink_store_failing 0"), "{metrics}");
    assert_eq!(mirror.ask("/readyz").status, 200);
    assert!(mirror.log().contains(words), "{}", mirror.log());
    mirror.kill();
    assert_eq!(place.report().count("received"), 50);
    assert_eq!(place.integrity(), "ok");
}

fn remove(path: &Path) {
    std::fs::remove_file(path).expect("it was there");
}

#[test]
fn a_deleted_store_is_made_anew_with_the_counts() {
    survives("deleted", |place| remove(&store(place)));
    survives("deleted", |place| {
        for suffix in ["", "-wal", "-shm"] {
            remove(&beside(place, suffix));
        }
    });
}

#[test]
fn a_table_that_is_dropped_is_made_anew_with_the_counts() {
    for table in ["tallies", "mismatches", "watermarks"] {
        survives("a table of the record was dropped", |place| {
            let other = Connection::open(store(place)).expect("the file opens");
            other
                .execute_batch(&format!("DROP TABLE {table}"))
                .expect("it is dropped");
        });
    }
}

#[test]
fn a_gate_after_the_store_was_deleted_is_undecided_or_decides_on_all_of_it() {
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 100);
    mirror.settled(100);
    remove(&store(&place));
    told_loss(&mirror);
    send(&mirror, 20);
    // All that was counted is there again: a decision on it stands.
    let failed = place.run(&["gate", "--wait", "20s", "--output", "json"]);
    assert_eq!(failed.code, 1, "{}{}", failed.stdout, failed.stderr);
    assert_eq!(failed.json()["total"]["compared"], 120);
    assert_eq!(mirror.stop().0, 0);
    // Deleted while no mirror runs, so it is not created again: the gate has no store to decide from.
    for suffix in ["", "-wal", "-shm"] {
        let _not_there = std::fs::remove_file(beside(&place, suffix));
    }
    let gone = place.run(&["gate"]);
    assert_eq!(gone.code, 2, "{}", gone.stdout);
    assert!(
        gone.stderr.contains("there is no store at"),
        "{}",
        gone.stderr
    );
}

#[test]
fn a_log_that_is_deleted_is_put_into_the_file_first() {
    survives("its log", |place| remove(&beside(place, "-wal")));
    survives("its log", |place| remove(&beside(place, "-shm")));
    survives("its log", |place| {
        remove(&beside(place, "-wal"));
        remove(&beside(place, "-shm"));
    });
}

#[test]
fn an_emptied_store_is_made_anew_with_the_counts() {
    survives("emptied", |place| {
        std::fs::write(store(place), "").expect("it is emptied");
    });
}

#[test]
fn a_store_set_back_to_a_backup_gets_what_it_lacks() {
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 10);
    mirror.settled(10);
    let other = Connection::open(store(&place)).expect("the store");
    other
        .busy_timeout(Duration::from_secs(10))
        .expect("a time-out");
    let backup = place.path().join("backup.db");
    let run = |sql: &str| other.execute_batch(sql).expect("SQL of the test's own");
    run(&format!("VACUUM INTO '{}'", backup.display()));
    send(&mirror, 20);
    mirror.settled(30);
    run(&format!("ATTACH '{}' AS backup", backup.display()));
    run("BEGIN IMMEDIATE");
    for table in ["mismatches", "tallies", "group_tallies"] {
        run(&format!("DELETE FROM main.{table}"));
        run(&format!(
            "INSERT INTO main.{table} SELECT * FROM backup.{table}"
        ));
    }
    run("COMMIT");
    drop(other);
    assert!(told_loss(&mirror).contains("set back"));
    mirror.settled(30);
    mirror.kill();
    assert_eq!(place.report().count("received"), 30);
    assert_eq!(place.integrity(), "ok");
}

#[test]
fn a_folder_that_is_removed_is_waited_for() {
    let (pair, place) = (Pair::new(), Place::new());
    let folder = place.path().join("records");
    std::fs::create_dir(&folder).expect("a folder");
    let more = ["--store", "sqlite:records/parity.db"];
    let mirror = place.mirror(&pair.legacy.url(), &pair.candidate.url(), &more);
    send(&mirror, 30);
    mirror.settled_in(more[1], 30);
    std::fs::remove_dir_all(&folder).expect("it is removed");
    assert!(told_loss(&mirror).contains("deleted"));
    wait_for("the missing folder to be told", || {
        let status = mirror.status();
        status["store_error"]
            .as_str()?
            .contains("its folder does not exist")
            .then_some(())
    });
    send(&mirror, 20);
    std::fs::create_dir(&folder).expect("a folder");
    mirror.settled_in(more[1], 50);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_store_that_is_moved_away_is_whole_where_it_is_now() {
    let (pair, place) = (Pair::new(), Place::new());
    let mirror = pair.mirror(&place);
    send(&mirror, 30);
    mirror.settled(30);
    std::fs::rename(store(&place), place.path().join("old.db")).expect("it is moved");
    told_loss(&mirror);
    mirror.settled(30);
    assert_eq!(place.report_of("sqlite:old.db").count("received"), 30);
    assert_eq!(mirror.stop().0, 0);
}
