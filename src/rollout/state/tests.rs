//! What is kept, read again, and wanted.

use super::*;
use crate::config::value::rollout::step;

fn identity(candidate: &str) -> Served {
    Served {
        identity: Identity {
            migration: "m".to_owned(),
            legacy_version: "1".to_owned(),
            candidate_version: candidate.to_owned(),
            rules_hash: "r".to_owned(),
        },
        legacy: "http://127.0.0.1:3/".to_owned(),
        candidate: "http://127.0.0.1:1/".to_owned(),
        instance: "one".to_owned(),
    }
}

fn plan() -> Plan {
    let steps =
        ["10 after 0s", "30 after 10s", "100 after 20s"].map(|text| step(text).expect("a step"));
    Plan::Schedule(steps.to_vec())
}

/// As it is written, since numbers of this kind have no equality.
fn percent(plan: &Plan, saved: &Saved, now: Timestamp) -> String {
    target(plan, saved, now).to_string()
}

fn change(percent: f64, at: Timestamp) -> RolloutChange {
    RolloutChange {
        percent,
        at,
        who: "anna".to_owned(),
        insisted: None,
    }
}

fn fall(reason: &str) -> RolloutFall {
    RolloutFall {
        at: Timestamp::now(),
        who: OURSELVES.to_owned(),
        reason: reason.to_owned(),
        from: 30.0,
    }
}

#[test]
fn steps_fall_due_a_person_wins_until_the_next_and_nothing_is_due_after_a_fall_back() {
    let place = tempfile::tempdir().expect("a folder");
    let mut saved = Saved::open(&place.path().join("none"), &identity("1"), &plan());
    let at = |seconds: i64| saved.began.saturating_add_micros(seconds * 1_000_000);
    let times = [-1, 0, 9, 10, 19, 20, 1_000].map(at);
    let wanted = |saved: &Saved| times.map(|now| percent(&plan(), saved, now));
    assert_eq!(wanted(&saved), ["0", "10", "10", "30", "30", "100", "100"]);
    let step = next(&plan(), &saved, times[1]).expect("there are more");
    assert_eq!((step.percent, step.at), (30.0, times[3]));
    assert_eq!(next(&plan(), &saved, times[5]), None);
    saved.set = Some(change(20.0, at(12)));
    assert_eq!(wanted(&saved)[4..], ["20", "100", "100"]);
    saved.fell_back = Some(fall("tested"));
    assert_eq!(wanted(&saved), ["0"; 7]);
    assert_eq!(next(&plan(), &saved, times[1]), None);
    let by_hand = Plan::Percent(5.0);
    assert_eq!(percent(&by_hand, &saved, times[6]), "0");
    saved.fell_back = None;
    assert_eq!(percent(&by_hand, &saved, times[6]), "20");
    saved.set = None;
    assert_eq!(percent(&by_hand, &saved, times[6]), "5");
}

#[test]
fn it_is_read_again_as_it_was_and_a_fall_back_outlives_other_versions_and_plans() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("state.json");
    let mut saved = Saved::open(&path, &identity("1"), &plan());
    saved.percent = 30.0;
    saved.set = Some(change(30.0, saved.began));
    saved.write(&path).expect("writable");
    assert_eq!(Saved::open(&path, &identity("1"), &plan()), saved);
    let other_plan = Saved::open(&path, &identity("1"), &Plan::Percent(5.0));
    assert_eq!((other_plan.percent, other_plan.set), (30.0, None));
    let other = Saved::open(&path, &identity("2"), &plan());
    assert_eq!((other.percent, &other.set), (0.0, &None));
    saved.percent = 0.0;
    saved.fell_back = Some(fall("tested"));
    saved.write(&path).expect("writable");
    for (version, plan) in [("1", plan()), ("2", plan()), ("1", Plan::Percent(100.0))] {
        let again = Saved::open(&path, &identity(version), &plan);
        assert_eq!(again.fell_back, saved.fell_back);
        assert_eq!(percent(&plan, &again, Timestamp::now()), "0");
    }
}

#[test]
fn another_address_other_rules_and_another_instance_have_nothing_of_what_was_reached() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("state.json");
    let known = identity("1");
    let mut saved = Saved::open(&path, &known, &plan());
    saved.percent = 30.0;
    saved.set = Some(change(30.0, saved.began));
    saved.write(&path).expect("writable");
    let mut others = [known.clone(), known.clone(), known.clone(), known.clone()];
    others[3].legacy = "http://127.0.0.1:4/".to_owned();
    others[0].candidate = "http://127.0.0.1:2/".to_owned();
    others[1].identity.rules_hash = "other".to_owned();
    others[2].instance = "two".to_owned();
    for (other, words) in others.iter().zip([
        "another address",
        "other rules",
        "",
        "another address of the legacy",
    ]) {
        let told = saved.other_than(other).unwrap_or_default();
        assert!(told.starts_with(words), "{told}");
        let opened = Saved::open(&path, other, &plan());
        assert_eq!(opened.percent.to_string(), "0", "{other:?}");
        // What a person set is of this rollout, whoever serves it and by whatever rules: one that expires must not lift a cap.
        let is_same = told.is_empty() || told == "other rules";
        assert_eq!(opened.set.is_some(), is_same, "{told}");
        assert_eq!(opened.began == saved.began, is_same, "{told}");
        let wanted = percent(&Plan::Percent(90.0), &opened, Timestamp::now());
        assert_eq!(wanted, if is_same { "30" } else { "90" });
        opened.write(&path).expect("writable");
        assert_eq!(Saved::open(&path, other, &plan()), opened);
        saved.write(&path).expect("writable");
    }
    assert_eq!(Saved::open(&path, &known, &plan()), saved);
}

#[test]
fn a_file_that_was_emptied_is_a_fall_back_and_a_link_is_the_file() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("state.json");
    let link = place.path().join("link.json");
    assert_eq!(itself(&path), itself(place.path()).join("state.json"));
    let known = identity("1");
    let mut saved = Saved::open(&path, &known, &plan());
    saved.percent = 30.0;
    saved.write(&path).expect("writable");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    assert_eq!(itself(&link), itself(&path));
    let (mut one, mut other) = (Owned::default(), Owned::default());
    one.take(&itself(&path)).expect("nobody has it");
    other.take(&itself(&link)).expect_err("it is taken");
    void(&path).expect("it is there");
    let opened = Saved::open(&path, &known, &plan());
    assert_eq!(opened.percent.to_string(), "0");
    assert!(opened.fell_back.is_some());
}

#[test]
fn a_file_has_one_owner_and_a_fall_back_says_what_it_keeps_back() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("state.json");
    let (mut one, mut other) = (Owned::default(), Owned::default());
    one.take(&path).expect("nobody has it");
    one.take(&path).expect("it has it");
    let told = other.take(&path).expect_err("it is taken").to_string();
    assert!(told.contains("of its own"), "{told}");
    drop(one);
    other.take(&path).expect("nobody has it any more");
    let now = Timestamp::now();
    let mut saved = Saved::open(&path, &identity("1"), &plan());
    let kept_back =
        |saved: &Saved, plan| blocked(plan, saved, now).map(|percent| percent.to_string());
    assert_eq!(kept_back(&saved, &Plan::Percent(5.0)), None);
    saved.fell_back = Some(fall("tested"));
    assert_eq!(kept_back(&saved, &Plan::Percent(5.0)).as_deref(), Some("5"));
    assert_eq!(kept_back(&saved, &Plan::Percent(0.0)), None);
}

#[test]
fn a_file_that_cannot_be_read_is_a_fall_back() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("state.json");
    let whole = Saved::open(&path, &identity("1"), &plan());
    whole.write(&path).expect("writable");
    let text = std::fs::read_to_string(&path).expect("written");
    for hostile in [
        String::new(),
        "{}".to_owned(),
        text.chars().take(text.len() / 2).collect(),
        text.replace("\"percent\": 0.0", "\"percent\": 101.0"),
        text.replace("\"percent\": 0.0", "\"percent\": -1"),
        text.replace("\"migration\": \"m\"", "\"migration\": \"other\""),
        text.replace(SCHEMA, "parity.other/v1"),
        " ".repeat(usize::try_from(MOST_BYTES).expect("it fits") + 1),
    ] {
        std::fs::write(&path, &hostile).expect("writable");
        let opened = Saved::open(&path, &identity("1"), &plan());
        assert_eq!(opened.percent.to_string(), "0");
        let fell = opened.fell_back.expect("a fall back");
        assert!(fell.reason.contains("state.json"), "{}", fell.reason);
    }
    std::fs::remove_file(&path).expect("it is there");
    std::fs::create_dir(&path).expect("its name is free");
    let opened = Saved::open(&path, &identity("1"), &plan());
    assert!(opened.fell_back.is_some());
    assert!(opened.write(&path).is_err());
}

/// It was taken as it is: whoever left the address out served clients by a candidate of which nothing was known.
#[test]
fn a_file_that_does_not_say_of_what_it_is_proves_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("state.json");
    let known = identity("1");
    let mut saved = Saved::open(&path, &known, &plan());
    saved.percent = 30.0;
    saved.write(&path).expect("writable");
    let whole: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
    for key in ["candidate", "rules_hash", "instance"] {
        for cut in [None, Some(serde_json::Value::Null)] {
            let mut other = whole.clone();
            let fields = other.as_object_mut().expect("an object");
            match cut {
                None => drop(fields.remove(key)),
                Some(null) => drop(fields.insert(key.to_owned(), null)),
            }
            std::fs::write(&path, other.to_string()).expect("writable");
            let opened = Saved::open(&path, &known, &plan());
            assert_eq!(opened.percent.to_string(), "0", "{key}");
            // What was counted before may be of another process.
            assert_eq!(opened.counts_from.is_some(), key == "candidate", "{key}");
            assert_eq!(opened.other_than(&known), None, "{key} is known now");
        }
    }
}
