//! `--gone` names a process that is gone, also while another process of its name goes on.

use crate::support::process::Place;

use super::{ENOUGH, gate, pair, send};

#[test]
fn a_killed_process_is_taken_for_gone_while_another_of_its_name_goes_on() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let first = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let second = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&first, "/items", ENOUGH);
    second.settled(u64::from(ENOUGH));
    let third = place.mirror(&legacy.url(), &candidate.url(), &["--instance", "b"]);
    // A process that lives is not gone, whatever is said of its name: nothing is excused.
    let living = gate(&place, &["--gone", "test", "--gone", "b"]);
    assert_eq!(living.code, 0, "{}", living.stdout);
    assert!(
        !living.stdout.contains("taken for gone"),
        "{}",
        living.stdout
    );
    first.kill();
    let silent = gate(&place, &[]);
    assert_eq!(silent.code, 3, "{}", silent.stdout);
    assert!(silent.stdout.contains("--gone test"), "{}", silent.stdout);
    let other = gate(&place, &["--gone", "b"]);
    assert_eq!(other.code, 3, "{}", other.stdout);
    let gone = gate(&place, &["--gone", "test"]);
    assert_eq!(gone.code, 0, "{}", gone.stdout);
    assert!(
        gone.stdout.contains(
            "a process of instance `test`, of which another one goes on, was taken for gone"
        ),
        "{}",
        gone.stdout
    );
    // What the other one counts still counts.
    send(&second, "/wrong", 30);
    second.settled(u64::from(ENOUGH) + 30);
    let wrong = gate(&place, &["--gone", "test"]);
    assert_eq!(wrong.code, 1, "{}", wrong.stdout);
    assert_eq!(second.stop().0, 0);
    assert_eq!(third.stop().0, 0);
}
