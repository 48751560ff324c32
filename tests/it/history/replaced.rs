//! A candidate that is down while another version takes its place: each is told with its own failures, and the outage of the first one ends.

use parity_schemas::history::{History, MarkKind};

use super::history;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Service, nobody};
use crate::support::{wait_for, wait_or_tell};

fn configured(place: &Place, version: &str) {
    place.write(
        "parity.toml",
        format!("[mirror]\ncandidate_version = \"{version}\"\n"),
    );
}

/// The outages of the history, as soon as they fail on so many.
fn outages(of: &Mirror<'_>, failed: &[(&str, u64)]) -> History {
    let read = || history(of, "since=1h").0;
    wait_or_tell(
        || {
            let history = read();
            let found = history.outages.iter();
            let found: Vec<_> = found
                .map(|one| (&*one.candidate_version, one.unanswered + one.not_sent))
                .collect();
            (found == failed).then(|| history.clone())
        },
        || format!("{failed:?} in {:?}", read().outages),
    )
}

#[test]
fn an_outage_ends_with_its_version_and_each_has_its_own_failures() {
    let legacy = Service::json("{}");
    let place = Place::new();
    configured(&place, "1");
    let mirror = place.mirror(&legacy.url(), &nobody(), &[]);
    let ui = place.ui();
    for _ in 0..20 {
        assert_eq!(mirror.get("/x").status, 200);
    }
    outages(&mirror, &[("1", 20)]);
    configured(&place, "2");
    mirror.signal("HUP");
    wait_for("the reload", || {
        let status = mirror.ask("/api/v1/status").json();
        (status["candidate_version"] == "2").then_some(())
    });
    for _ in 0..7 {
        assert_eq!(mirror.get("/x").status, 200);
    }
    for of in [&mirror, &ui] {
        let told = wait_or_tell(
            || {
                let told = outages(of, &[("1", 20), ("2", 7)]);
                told.outages[0].replaced.is_some().then_some(told)
            },
            || format!("{:?}", history(of, "since=1h").0.outages),
        );
        let [first, second] = &told.outages[..] else {
            panic!("{told:?}");
        };
        assert!(
            first.ended && first.replaced <= Some(second.from),
            "{told:?}"
        );
        assert_eq!((second.ended, second.replaced), (false, None));
        let page = of.ask("/history").text();
        assert!(
            page.contains("when another version took its place: 20 requests failed"),
            "{page}"
        );
        assert!(page.contains("candidate 2 gave no answer since "), "{page}");
        assert!(
            !page.contains("candidate 1 gave no answer since "),
            "{page}"
        );
    }
    ui.stop();
    mirror.stop();
}

#[test]
fn a_mirror_that_was_killed_and_began_again_is_a_mark() {
    let legacy = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &legacy.url(), &[]);
    for _ in 0..20 {
        mirror.get("/x");
    }
    mirror.settled(20);
    mirror.kill();
    let mirror = place.mirror(&legacy.url(), &legacy.url(), &[]);
    mirror.get("/x");
    let ui = place.ui();
    let told = wait_or_tell(
        || {
            let (told, _) = history(&ui, "since=1h");
            let mut marks = told.marks.iter();
            marks
                .any(|mark| mark.kind == MarkKind::Killed)
                .then(|| told.clone())
        },
        || format!("{:?}", history(&ui, "since=1h").0.marks),
    );
    let marks = told.marks.iter();
    assert_eq!(
        marks.filter(|mark| mark.kind == MarkKind::Killed).count(),
        1,
        "{told:?}"
    );
    let page = ui.ask("/history").text();
    assert!(
        page.contains("a process was killed: test was last heard of at "),
        "{page}"
    );
    ui.stop();
    mirror.stop();
}

/// An entry of the register that nothing hit is there all the same.
#[test]
fn a_register_of_which_nothing_was_seen_is_shown() {
    let legacy = Service::json("{}");
    let place = Place::new();
    place.write(
        "parity.toml",
        "[[known]]\nid = \"never<i>\"\npath = \"/never\"\nblocks = false\nowner = \"o\"\nreason = \"r\"\n",
    );
    let mirror = place.mirror(&legacy.url(), &legacy.url(), &[]);
    mirror.get("/x");
    mirror.settled(1);
    let page = mirror.ask("/rules").text();
    for told in [
        "Known differences that were not seen",
        "<tr><td>0</td><th scope=\"row\">never&#60;i&#62;</th>",
        "/never",
        "as it was read at",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    mirror.stop();
}
