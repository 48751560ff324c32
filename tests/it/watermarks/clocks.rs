//! Clocks that are ahead of the gate's: what they wrote is never taken for later than it is.

use parity_schemas::time::Timestamp;

use super::{ENOUGH, gate, pair, send};
use crate::support::process::Place;

/// The mirror is killed, and its last watermark is moved into the future. What it received after that stays unknown, even
/// once that time has come.
#[test]
fn a_watermark_of_a_clock_that_is_ahead_lets_no_gate_pass() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, "/items", ENOUGH);
    mirror.settled(u64::from(ENOUGH));
    mirror.kill();
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let ahead = |micros| {
        let written = Timestamp::now().saturating_add_micros(micros);
        let changed = store.execute(
            "UPDATE watermarks SET written = ?1, complete_until = ?1, revision = revision + 1",
            [written.as_micros()],
        );
        assert_eq!(changed, Ok(1));
        gate(&place, &[])
    };
    // The first two are past while the gate still waits.
    for micros in [1_500_000, 4_000_000] {
        let ended = ahead(micros);
        assert_eq!(ended.code, 3, "{micros}: {}", ended.stdout);
    }
    let minutes = ahead(300_000_000);
    assert_eq!(minutes.code, 3, "{}", minutes.stdout);
    let told = "UNDECIDED  the clock of instance `test` is ahead of this one";
    assert!(minutes.stdout.contains(told), "{}", minutes.stdout);
}

/// The first mirror was stopped, and its clock was two hours ahead: its counts seem newer than those of the second.
#[test]
fn evidence_of_the_future_hides_no_newer_version() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let version = |version| ["--candidate-version", version];
    let first = place.mirror(&legacy.url(), &candidate.url(), &version("1"));
    send(&first, "/items", ENOUGH);
    assert_eq!(first.stop().0, 0);
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    store
        .execute_batch(
            "UPDATE watermarks SET started = started + 7200000000, written = written + 7200000000, \
             complete_until = complete_until + 7200000000, counted_from = counted_from + 7200000000, \
             open_from = open_from + 7200000000; \
             UPDATE tallies SET interval_start = interval_start + 7200000000",
        )
        .expect("changed");
    let second = place.mirror(&legacy.url(), &candidate.url(), &version("2"));
    send(&second, "/wrong", 300);
    let newer = gate(&place, &["--candidate-version", "2", "--wait", "1m"]);
    assert_eq!(newer.code, 1, "{}", newer.stdout);
    let latest = gate(&place, &[]);
    assert_eq!(latest.code, 3, "{}", latest.stdout);
    for words in [
        "the clock of instance `test` is ahead of this one",
        "instance `test` goes on for candidate version `2`",
    ] {
        assert!(latest.stdout.contains(words), "{words}: {}", latest.stdout);
    }
    assert_eq!(second.stop().0, 0);
}
