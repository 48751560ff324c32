//! Starting when nothing can be written: the proxy serves, and the store is opened as soon as it can be.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::support::process::{Place, limited};
use crate::support::service::{Service, nobody};
use crate::support::{client, wait_for};

fn pair() -> (Service, Service) {
    (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"))
}

#[test]
fn a_start_on_a_full_disk_serves_and_stores_when_there_is_room() {
    let (legacy, candidate) = pair();
    // Too little for the index of the log, for the first page, and for anything at all.
    for kib in [20, 4, 0] {
        let place = Place::new();
        let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
            limited(&place, command, kib)
        });
        wait_for("the full disk to be told", || {
            mirror.status()["store_error"].is_string().then_some(())
        });
        for _ in 0..30 {
            assert_eq!(mirror.get("/x").status, 200);
        }
        assert_eq!(mirror.ask("/readyz").status, 200);
        assert!(mirror.ask("/report").text().contains("store: "));
        let metrics = mirror.ask("/metrics").text();
        assert!(metrics.contains("parity_sink_store_failing 1"), "{metrics}");
        assert!(
            mirror.log().contains("cannot write to the store"),
            "{}",
            mirror.log()
        );
        mirror.make_room();
        assert_eq!(mirror.settled(30).count("mismatch"), 30);
        wait_for("the store to work", || {
            mirror.status()["store_error"].is_null().then_some(())
        });
        assert_eq!(mirror.stop().0, 0);
        assert_eq!(place.integrity(), "ok");
    }
}

#[test]
fn a_restart_on_a_full_disk_serves_and_goes_on_where_there_is_room() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let first = place.mirror(&legacy.url(), &candidate.url(), &[]);
    (0..10).for_each(|_| drop(first.get("/x")));
    first.settled(10);
    assert_eq!(first.stop().0, 0);
    let second = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
        limited(&place, command, 8)
    });
    wait_for("the full disk to be told", || {
        second.status()["store_error"].is_string().then_some(())
    });
    (0..10).for_each(|_| assert_eq!(second.get("/x").status, 200));
    second.make_room();
    second.settled(20);
    assert_eq!(second.stop().0, 0);
}

#[test]
fn a_store_that_is_locked_does_not_keep_the_proxy_from_serving() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let other = rusqlite::Connection::open(place.path().join("parity.db")).expect("a file");
    other
        .execute_batch("BEGIN EXCLUSIVE")
        .expect("somebody holds it");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(mirror.get("/x").status, 200);
    let told = wait_for("the lock to be told", || {
        mirror.status()["store_error"].as_str().map(str::to_owned)
    });
    assert!(told.contains("locked"), "{told}");
    other.execute_batch("ROLLBACK").expect("it lets go");
    mirror.settled(1);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_store_that_cannot_be_opened_is_told_and_waited_for() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    // A dangling link stands for a disk that is not mounted yet.
    let disk = place.path().join("disk");
    std::os::unix::fs::symlink(disk.join("parity.db"), place.path().join("parity.db"))
        .expect("a link");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(mirror.get("/x").status, 200);
    wait_for("the error", || {
        mirror.status()["store_error"].is_string().then_some(())
    });
    std::fs::create_dir(&disk).expect("a folder");
    mirror.settled(1);
    assert_eq!(mirror.stop().0, 0);
    let mode = std::fs::metadata(disk.join("parity.db")).expect("it is made");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_database_that_is_away_does_not_keep_the_proxy_from_serving() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let server = nobody().replace("http://", "clickhouse://parity@");
    let more = ["--store", &format!("{server}/parity")];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &more);
    assert_eq!(mirror.get("/x").status, 200);
    wait_for("the absence to be told", || {
        let status = mirror.status();
        status["store_error"]
            .as_str()?
            .contains("cannot reach")
            .then_some(())
    });
    mirror.kill();
}

#[test]
fn what_no_waiting_can_mend_is_an_error_of_the_start() {
    let place = Place::new();
    let run = |store: &str| {
        let (legacy, candidate) = (nobody(), nobody());
        let ended = place.run(&[
            "mirror",
            "--legacy",
            &legacy,
            "--candidate",
            &candidate,
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--store",
            store,
        ]);
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        ended.stderr
    };
    assert!(run("redis:x").contains("redis"));
    assert!(run("sqlite:recrods/parity.db").contains("its folder does not exist"));
    place.write(
        "text.db",
        "no database, but long enough to be looked at as if it were one".repeat(20),
    );
    assert!(run("sqlite:text.db").contains("no SQLite database"));
    let newer = rusqlite::Connection::open(place.path().join("newer.db")).expect("a file");
    newer
        .execute_batch("PRAGMA application_id = 0x70727479; PRAGMA user_version = 99")
        .expect("a version");
    assert!(run("sqlite:newer.db").contains("schema version 99"));
}

#[test]
fn a_spool_on_a_full_disk_comes_when_there_is_room() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let store = format!("{}/t", nobody().replace("http://", "kafka://"));
    let more = ["--store", store.as_str()];
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &more, |command| {
        limited(&place, command, 0)
    });
    let told = wait_for("the full disk to be told", || {
        let status = mirror.status();
        let error = status["store_error"].as_str()?.to_owned();
        error.contains("cannot use the spool").then_some(error)
    });
    assert_eq!(mirror.get("/x").status, 200, "{told}");
    assert_eq!(mirror.ask("/readyz").status, 200);
    mirror.make_room();
    wait_for("the spool to be used", || {
        assert_eq!(mirror.get("/x").status, 200);
        (mirror.status()["spool_bytes"].as_u64() > Some(0)).then_some(())
    });
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("the spool can be used now"), "{log}");
}

#[test]
fn the_demo_ends_with_an_error_and_not_by_a_signal() {
    let place = Place::new();
    let mut demo = place.command(&["demo", "--requests", "10"]);
    let output = limited(&place, &mut demo, 8)
        .output()
        .expect("it can be started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(2),
        "{:?}: {stderr}",
        output.status
    );
}

#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let (legacy, candidate) = (legacy.url(), candidate.url());
    let mut child = place
        .command(&[
            "mirror",
            "--legacy",
            &legacy,
            "--candidate",
            &candidate,
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("parity can be started");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut announced = |words: &str| {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(stderr.read_line(&mut line).expect("a line") > 0);
            if let Some(rest) = line.split(words).nth(1) {
                let end = rest.find(['/', ' ', '\n']).unwrap_or(rest.len());
                return rest
                    .get(..end)
                    .and_then(|text| text.parse().ok())
                    .expect("an address");
            }
        }
    };
    let address: std::net::SocketAddr = announced("listening on http://");
    let admin: std::net::SocketAddr = announced("admin port on http://");
    // From here on every line that is written to the log is an error, as on a full disk.
    drop(stderr);
    let status = || client::get(admin, "/api/v1/status").json();
    for round in 0..3 {
        std::fs::remove_file(place.path().join("parity.db")).expect("there is a store");
        wait_for("the loss to be told where it can be", || {
            status()["store_loss"].is_string().then_some(())
        });
        assert_eq!(client::get(address, "/x").status, 200);
        wait_for("the writer to go on", || {
            (place.path().join("parity.db").exists() && status()["store_error"].is_null())
                .then_some(())
        });
        assert!(
            child.try_wait().expect("it can be asked").is_none(),
            "{round}"
        );
    }
    wait_for("the count", || {
        (place.report().count("received") == 3).then_some(())
    });
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
}
