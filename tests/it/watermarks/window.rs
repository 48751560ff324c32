//! What a killed mirror received after its last watermark may lie in the window, wherever the window begins.

use parity_schemas::time::Timestamp;

use super::{ENOUGH, gate, pair, send};
use crate::support::process::Place;
use crate::support::wait_for;

/// When the last run began.
pub(super) fn last_start(place: &Place) -> String {
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let last = "SELECT max(started) FROM watermarks";
    let micros = store.query_row(last, (), |row| row.get(0)).expect("one");
    Timestamp::from_micros(micros).to_string()
}

/// The store is locked while a mirror receives wrong answers, and is killed: they are in no record.
#[test]
fn a_mirror_that_was_killed_in_the_window_is_not_left_out() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", 100);
    mirror.settled(100);
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    store
        .busy_timeout(std::time::Duration::from_secs(10))
        .expect("set");
    store.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let since = Timestamp::now().to_string();
    send(&mirror, "/wrong", 300);
    mirror.kill();
    store.execute_batch("ROLLBACK").expect("unlocked");
    let again = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&again, "/items", ENOUGH);
    wait_for("the second to be known", || {
        (last_start(&place) > since).then_some(())
    });
    let within = gate(&place, &["--since", &since]);
    assert_eq!(within.code, 3, "{}", within.stdout);
    let told = "another process of its name has begun since";
    assert!(within.stdout.contains(told), "{}", within.stdout);
    // `--gone` has no effect on a process that was replaced, while a mirror of its name runs: --since leaves it out.
    let gone = gate(&place, &["--since", &since, "--gone", "test"]);
    assert_eq!(gone.code, 3, "{}", gone.stdout);
    let after = gate(&place, &["--since", &last_start(&place), "--wait", "1m"]);
    assert_eq!(after.code, 0, "{}", after.stdout);
    assert_eq!(again.stop().0, 0);
}

/// Whoever kills a mirror and changes its rules before it is started again gets no pass without what is lost.
#[test]
fn other_rules_do_not_hide_that_a_mirror_was_killed() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let rule = |path: &str| {
        format!(
            "[[rule]]\nid = \"other\"\npath = \"{path}\"\naction = \"ignore\"\nreason = \"r\"\nowner = \"o\"\n"
        )
    };
    place.write("parity.toml", "");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", 100);
    mirror.settled(100);
    send(&mirror, "/wrong", 3);
    mirror.kill();
    let killed = Timestamp::now().to_string();
    place.write("parity.toml", rule("/other"));
    let again = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&again, "/items", ENOUGH);
    wait_for("the second to be known", || {
        (last_start(&place) > killed).then_some(())
    });
    let start = last_start(&place);
    let lost = |rules: &str| {
        let lost = gate(&place, &[]);
        assert_eq!(lost.code, 3, "{rules}: {}", lost.stdout);
        for told in ["another process of its name has begun since", &start] {
            assert!(
                lost.stdout.contains(told),
                "{rules}: {told}: {}",
                lost.stdout
            );
        }
    };
    lost("changed while it was dead");
    let after = gate(&place, &["--since", &start, "--wait", "1m"]);
    assert_eq!(after.code, 0, "{}", after.stdout);
    assert_eq!(again.stop().0, 0);
    // Nor does a further change, by which what the second one counted is carried over.
    place.write("parity.toml", rule("/another"));
    let third = place.mirror(&legacy.url(), &candidate.url(), &[]);
    wait_for("the third to be known", || {
        (last_start(&place) > start).then_some(())
    });
    lost("changed again");
    assert_eq!(third.stop().0, 0);
}

/// A replay asks for what it sends itself.
#[test]
fn a_replay_decides_although_the_one_before_it_was_killed() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let line =
        "10.0.0.1 - - [24/Nov/2026:03:00:00 +0000] \"GET /items/1 HTTP/1.1\" 200 1 \"-\" \"-\"\n";
    place.write("access.log", line.repeat(500));
    let (one, two) = (legacy.url(), candidate.url());
    let arguments = [
        "replay",
        "access.log",
        "--legacy",
        &one,
        "--candidate",
        &two,
        "--gate",
        "--one-look",
        "--max-mismatch-rate",
        "0.05",
    ];
    let slow = [&arguments[..], &["--rate", "20"]].concat();
    let killed = place.start(&mut place.command(&slow));
    wait_for("some requests", || (candidate.seen() >= 30).then_some(()));
    killed.kill();
    let replayed = place.run(&arguments);
    assert_eq!(replayed.code, 0, "{} {}", replayed.stdout, replayed.stderr);
}

/// No mirror of its name has begun since, so it may have received requests until now.
#[test]
fn a_mirror_that_fell_silent_before_the_window_is_not_left_out_unless_it_is_gone() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let one = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "one"]);
    send(&one, "/items", 100);
    one.settled(100);
    one.kill();
    let since = Timestamp::now().to_string();
    let two = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "two"]);
    send(&two, "/items", ENOUGH);
    wait_for("the second to be known", || {
        (last_start(&place) > since).then_some(())
    });
    for more in [&[][..], &["--gone", "two"], &["--gone", "another"]] {
        let silent = gate(&place, &[&["--since", &since], more].concat());
        assert_eq!(silent.code, 3, "{}", silent.stdout);
        for words in [
            "UNDECIDED  instance `one` was last heard of at 20",
            "--gone one",
        ] {
            assert!(silent.stdout.contains(words), "{words}: {}", silent.stdout);
        }
        assert!(
            !silent.stdout.contains("taken for gone"),
            "{}",
            silent.stdout
        );
    }
    let gone = ["--since", &since, "--gone", "one", "--gone", "two"];
    let gone = gate(&place, &gone);
    assert_eq!(gone.code, 0, "{}", gone.stdout);
    assert!(
        gone.stdout.contains("instance `one` was taken for gone"),
        "{}",
        gone.stdout
    );
    assert!(!gone.stdout.contains("`two`"), "{}", gone.stdout);
    assert_eq!(two.stop().0, 0);
}
