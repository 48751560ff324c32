//! A mirror that receives for another version is reported, unless a version was selected.

use super::{ENOUGH, gate, pair, send};
use crate::support::process::Place;
use crate::support::wait_for;

fn runs(place: &Place) -> u32 {
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let all = "SELECT count(*) FROM watermarks";
    store.query_row(all, (), |row| row.get(0)).expect("counted")
}

#[test]
fn a_mirror_of_another_legacy_keeps_the_gate_open_until_it_has_ended() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let versions = |instance, legacy| {
        let versions = ["--candidate-version", "1", "--legacy-version", legacy];
        [&["--instance", instance], &versions[..]].concat()
    };
    let [old, new] = [("one", "old"), ("two", "new")].map(|(instance, version)| {
        let mirror = place.mirror(
            &legacy.url(),
            &candidate.url(),
            &versions(instance, version),
        );
        wait_for("it to be heard of", || (runs(&place) > 0).then_some(()));
        mirror
    });
    wait_for("both to be heard of", || (runs(&place) == 2).then_some(()));
    send(&new, "/items", ENOUGH);
    for more in [&[][..], &["--candidate-version", "1"]] {
        let split = gate(&place, more);
        assert_eq!(split.code, 3, "{}", split.stdout);
        for words in [
            "instance `one` goes on for candidate version `1` and legacy version `old` (last heard of at 20",
            "not counted here, for candidate version `1` and legacy version `new`",
            "--migration of its own",
        ] {
            assert!(split.stdout.contains(words), "{words}: {}", split.stdout);
        }
    }
    let report = place.run(&["report"]).stdout;
    assert!(report.contains("one: for other versions"), "{report}");
    assert_eq!(old.stop().0, 0);
    let whole = gate(&place, &["--wait", "1m"]);
    assert_eq!(whole.code, 0, "{}", whole.stdout);
    assert_eq!(new.stop().0, 0);
}

#[test]
fn a_mirror_of_another_candidate_keeps_the_gate_open_until_one_is_chosen() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let [old, new] = ["1", "2"].map(|version| {
        let flags = ["--instance", version, "--candidate-version", version];
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &flags);
        wait_for("it to be heard of", || (runs(&place) > 0).then_some(()));
        mirror
    });
    send(&new, "/items", ENOUGH);
    let split = gate(&place, &["--wait", "2s"]);
    assert_eq!(split.code, 3, "{}", split.stdout);
    let told = "instance `1` goes on for candidate version `1`";
    assert!(split.stdout.contains(told), "{}", split.stdout);
    let chosen = gate(&place, &["--candidate-version", "2", "--wait", "1m"]);
    assert_eq!(chosen.code, 0, "{}", chosen.stdout);
    assert_eq!(old.stop().0, 0);
    assert_eq!(new.stop().0, 0);
}
