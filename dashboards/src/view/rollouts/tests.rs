//! Lines of some processes, and what they say.

use parity_schemas::audit::began;
use parity_schemas::tally::Identity;

use super::*;
use crate::view::changes::line;

fn second(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn run(instance: &str, written: i64) -> RunTimes {
    RunTimes {
        identity: Identity::default(),
        instance: instance.to_owned(),
        started: Timestamp::default(),
        written: second(written),
    }
}

fn set(at: i64, instance: &str, detail: &str) -> Audit {
    Audit {
        source: AuditSource::Clock,
        ..line(at, instance, AuditAction::RolloutSet, detail)
    }
}

fn back(at: i64, instance: &str, detail: &str) -> Audit {
    Audit {
        action: AuditAction::RolloutBack,
        ..set(at, instance, detail)
    }
}

fn start(at: i64, instance: &str, rollout: Option<(f64, Option<f64>)>) -> Audit {
    let rollout = rollout.map(|(percent, fell_from)| RolloutBegin { percent, fell_from });
    let detail = began(true, rollout.as_ref());
    line(at, instance, AuditAction::Started, &detail)
}

#[test]
fn the_last_line_of_each_process_at_work_is_how_it_stood() {
    let changes = [
        start(1, "a", Some((0.0, None))),
        set(2, "a", "0 % → 10 %: the gate passes"),
        set(3, "b", "0 % → 30 %: the gate passes"),
        set(4, "gone", "0 % → 100 %: the gate passes"),
        back(5, "b", "30 % → 0 %: 4 % errors"),
        // Nothing new, and nothing that can be read.
        back(6, "b", "0 % → 0 %"),
        set(7, "a", "words of another program"),
        start(8, "c", None),
    ];
    let runs = [run("a", 100), run("b", 100), run("c", 100), run("gone", 9)];
    let found = standing(&changes, &runs, second(101));
    let names: Vec<_> = found.iter().map(|one| one.instance.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let [a, b] = &found[..] else { panic!("two") };
    assert_eq!((a.percent, a.since, &*a.who), (10.0, second(2), "parity"));
    assert_eq!((&*a.why, a.told), ("the gate passes", second(2)));
    assert!(a.at_work && a.fell_back.is_none());
    let fall = b.fell_back.as_ref().expect("it fell back");
    assert_eq!((fall.from, fall.at), (30.0, second(5)));
    assert_eq!((&*fall.reason, b.told), ("4 % errors", second(6)));
    // A person ends it.
    let by = Audit {
        source: AuditSource::AdminPort,
        address: "127.0.0.1:5".to_owned(),
        ..set(9, "b", "0 % → 5 %")
    };
    let later = [&changes[..], &[by]].concat();
    let found = standing(&later, &runs, second(101));
    assert_eq!((found[1].percent, &*found[1].who), (5.0, "127.0.0.1"));
    assert!(found[1].fell_back.is_none());
}

#[test]
fn of_who_is_not_heard_of_the_last_one_is_told_and_not_as_one_that_serves() {
    let changes = [
        set(1, "a", "0 % → 10 %: the gate passes"),
        set(2, "b", "0 % → 20 %: the gate passes"),
        start(3, "b", None),
    ];
    let found = standing(&changes, &[run("b", 4)], second(100));
    let [b] = &found[..] else { panic!("one") };
    assert_eq!((&*b.instance, b.percent, b.at_work), ("b", 20.0, false));
    assert_eq!(
        (b.heard, b.began_without),
        (Some(second(4)), Some(second(3)))
    );
    assert_eq!(standing(&[], &[], second(1)), []);
}

#[test]
fn a_restart_keeps_what_it_says_it_keeps() {
    let fell = back(2, "a", "30 % → 0 %: 4 % errors");
    let again = start(5, "a", Some((0.0, Some(30.0))));
    let found = standing(&[fell, again.clone()], &[], second(9));
    let fall = found[0].fell_back.as_ref().expect("it stays");
    assert_eq!((fall.at, &*fall.reason), (second(2), "4 % errors"));
    // Of a store that begins with it.
    let found = standing(&[again], &[], second(9));
    let fall = found[0].fell_back.as_ref().expect("it stays");
    assert_eq!((fall.at, fall.from), (second(5), 30.0));
    assert!(fall.reason.contains("not recorded"), "{}", fall.reason);
    // Of other versions it begins at nothing.
    let changes = [
        set(1, "a", "0 % → 10 %: the gate passes"),
        start(2, "a", Some((0.0, None))),
    ];
    let found = standing(&changes, &[], second(9));
    assert_eq!((found[0].percent, found[0].since), (0.0, second(2)));
    let found = marks(&changes);
    let told: Vec<_> = found
        .iter()
        .map(|mark| (mark.kind, &*mark.from, &*mark.to, &*mark.about))
        .collect();
    assert_eq!(
        told,
        [
            (
                MarkKind::RolloutSet,
                "0 %",
                "10 %",
                "a, by parity: the gate passes"
            ),
            (MarkKind::RolloutSet, "10 %", "0 %", "a, by a restart"),
        ]
    );
    // One that goes on where it was is none, and of one that only begins nobody knows what was before.
    let goes_on = [changes[0].clone(), start(2, "a", Some((10.0, None)))];
    assert_eq!(marks(&goes_on).len(), 1);
    assert_eq!(marks(&[start(2, "a", Some((10.0, None)))]), []);
}
