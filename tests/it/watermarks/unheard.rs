//! A mirror that could never write to its store: no gate passes as if it had not been there.

use crate::support::process::{Place, limited};
use crate::support::service::Service;
use crate::support::wait_for;

use super::{ENOUGH, gate, pair, send};

/// A place with enough equal answers of a mirror that has ended.
fn with_evidence(legacy: &Service, candidate: &Service) -> Place {
    let place = Place::new();
    let first = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&first, "/items", ENOUGH);
    assert_eq!(first.stop().0, 0);
    assert_eq!(gate(&place, &[]).code, 0);
    place
}

fn notes(place: &Place) -> usize {
    let entries = std::fs::read_dir(place.path()).expect("it is listed");
    let names = entries.map(|entry| entry.expect("it is read").file_name());
    names
        .filter(|name| name.to_string_lossy().contains("-begun-"))
        .count()
}

#[test]
fn a_mirror_that_was_killed_before_its_store_took_anything_is_missed() {
    let (legacy, candidate) = pair();
    let place = with_evidence(&legacy, &candidate);
    for is_killed in [true, false] {
        let path = place.path().join("parity.db");
        let other = rusqlite::Connection::open(path).expect("it opens");
        other
            .execute_batch("BEGIN IMMEDIATE")
            .expect("somebody holds it");
        let second = place.mirror(&legacy.url(), &candidate.url(), &[]);
        send(&second, "/wrong", 30);
        if is_killed {
            second.kill();
        } else {
            assert_eq!(second.stop().0, 2);
        }
        other.execute_batch("ROLLBACK").expect("it lets go");
        drop(other);
        assert_eq!(notes(&place), 1);
        let missed = gate(&place, &[]);
        assert_eq!(missed.code, 3, "{}", missed.stdout);
        assert!(
            missed
                .stdout
                .contains("instance `test` was last heard of at 20"),
            "{}",
            missed.stdout
        );
        // The next one takes the note into the store, and a window from its start on leaves the gap out.
        let third = place.mirror(&legacy.url(), &candidate.url(), &[]);
        wait_for("the note to go", || (notes(&place) == 0).then_some(()));
        let replaced = gate(&place, &[]);
        assert_eq!(replaced.code, 3, "{}", replaced.stdout);
        let (_, named) = replaced.stdout.rsplit_once("--since ").expect("a time");
        let since = named.split_whitespace().next().expect("a time");
        send(&third, "/items", ENOUGH);
        let later = gate(&place, &["--since", since, "--wait", "1m"]);
        assert_eq!(later.code, 0, "{}", later.stdout);
        assert_eq!(third.stop().0, 0);
    }
}

#[test]
fn a_live_mirror_that_cannot_write_is_named_until_it_can() {
    let (legacy, candidate) = pair();
    let place = with_evidence(&legacy, &candidate);
    let more = ["--instance", "b"];
    let second = place.mirror_with(&legacy.url(), &candidate.url(), &more, |command| {
        limited(&place, command, 0)
    });
    send(&second, "/wrong", 30);
    let missed = gate(&place, &[]);
    assert_eq!(missed.code, 3, "{}", missed.stdout);
    assert!(
        missed
            .stdout
            .contains("instance `b` was last heard of at 20"),
        "{}",
        missed.stdout
    );
    second.make_room();
    wait_for("the note to go", || (notes(&place) == 0).then_some(()));
    second.settled(u64::from(ENOUGH) + 30);
    let known = gate(&place, &[]);
    assert_eq!(known.code, 1, "{}", known.stdout);
    assert_eq!(second.stop().0, 0);
}

#[test]
fn an_instance_that_is_expected_and_not_there_leaves_a_gate_undecided() {
    let (legacy, candidate) = pair();
    let place = with_evidence(&legacy, &candidate);
    assert_eq!(gate(&place, &["--expect-instance", "test"]).code, 0);
    let asked = ["--expect-instance", "test", "--expect-instance", "b"];
    let missed = gate(&place, &asked);
    assert_eq!(missed.code, 3, "{}", missed.stdout);
    assert!(
        missed.stdout.contains("instance `b` is expected"),
        "{}",
        missed.stdout
    );
}
