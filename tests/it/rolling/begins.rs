//! What a rollout begins with: nothing of what was reached with another address, other rules or by another process, and what keeps it at 0 % is said.

use serde_json::Value;

use super::{
    becomes, change, get_as, logs, named, on_the_way, post, rollout, settings, under_way, who,
};
use crate::support::process::Place;
use crate::support::service::{Service, nobody};
use crate::support::wait_for;

const RULE: &str =
    "[[rule]]\nid = \"stamp\"\npath = \"/stamp\"\naction = \"ignore\"\nreason = \"set on read\"\n";

#[test]
fn another_address_of_the_candidate_and_other_rules_begin_at_nothing() {
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let place = under_way(100.0, "gate_interval = \"1h\"");
    let lines = settings("candidate_percent = 100", "");
    let lines = lines.replace("gate_interval = \"100ms\"", "gate_interval = \"1h\"");
    place.write("parity.toml", &lines);
    // What is known of it now is kept.
    for _ in 0..2 {
        let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
        assert_eq!(rollout(&mirror)["percent"], 100.0);
        assert_eq!(mirror.stop().0, 0);
    }
    let kept = std::fs::read_to_string(place.path().join("parity-rollout.json"));
    let kept = kept.expect("it is written");
    let other = named("other");
    let mirror = place.mirror(&legacy.url(), &other.url(), &[]);
    assert_eq!(rollout(&mirror)["percent"], 0.0);
    logs(&mirror, "another address of the candidate");
    assert_eq!(who(&get_as(&mirror, "anna", "/items/1")), "legacy");
    assert_eq!(mirror.stop().0, 0);
    // By a reload, while it serves.
    place.write("parity-rollout.json", kept);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(who(&get_as(&mirror, "anna", "/items/1")), "candidate");
    place.write("parity.toml", lines + RULE);
    mirror.signal("HUP");
    becomes(&mirror, "other rules", |now| now["percent"] == 0.0);
    assert_eq!(who(&get_as(&mirror, "anna", "/items/1")), "legacy");
    logs(&mirror, "other rules");
    // What a reload takes back is in the record, too.
    change(&mirror, "rollout_set", |line| {
        let detail = line["detail"].as_str().unwrap_or_default();
        detail.starts_with("100 % → 0 %: other rules")
    });
}

#[test]
fn two_processes_cannot_have_one_file() {
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let place = under_way(100.0, "");
    let first = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    assert_eq!(rollout(&first)["percent"], 100.0);
    let other = Place::new();
    let file = place.path().join("parity-rollout.json");
    let file = format!("state_file = \"{}\"", file.display());
    other.write("parity.toml", settings("candidate_percent = 100", &file));
    let second = other.mirror(&legacy.url(), &candidate.url(), &[]);
    let now = rollout(&second);
    assert_eq!(now["percent"], 0.0);
    let told = now["state_error"].as_str().unwrap_or_default();
    assert!(told.contains("a rollout.state_file of its own"), "{now}");
    let refused = post(&second, "0");
    assert_eq!(refused.status, 409, "{}", refused.text());
    // What the first one does with the file meanwhile is not undone by what the second one read of it before.
    assert_eq!(post(&first, "back").status, 200);
    let fell = rollout(&first)["fell_back"].clone();
    assert_eq!(fell["from"], 100.0);
    assert_eq!(first.stop().0, 0);
    let now = becomes(&second, "the file is free", |now| {
        now["state_error"].is_null()
    });
    assert_eq!((&now["fell_back"], &now["percent"]), (&fell, &0.0.into()));
    assert_eq!(post(&second, "0").status, 200, "a person ends it");
}

#[test]
fn a_fall_back_that_keeps_a_rollout_back_is_told_with_what_lifts_it() {
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(post(&mirror, "back").status, 200);
    assert_eq!(rollout(&mirror)["blocked"], Value::Null);
    assert_eq!(mirror.stop().0, 0);
    place.write("parity.toml", settings("candidate_percent = 25", ""));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let now = rollout(&mirror);
    assert_eq!(
        (&now["percent"], &now["blocked"]),
        (&0.0.into(), &25.0.into())
    );
    // What was wanted is no percent to begin with.
    let command = "parity rollout set 10";
    logs(&mirror, command);
    let admin = mirror.admin.to_string();
    let status = place.run(&["rollout", "status", "--admin", &admin]);
    assert!(status.stdout.contains(command), "{}", status.stdout);
    assert!(!status.stdout.contains("set 25"), "{}", status.stdout);
    assert_eq!(status.code, 1, "a fall back is no success");
    let told = mirror.status()["rollout"]["blocked"].clone();
    assert_eq!(told, 25.0);
}

#[test]
fn a_legacy_that_is_only_the_shadow_is_known_to_be_down() {
    let place = under_way(100.0, "");
    let candidate = named("candidate");
    let mirror = on_the_way(&place, &nobody(), &candidate.url(), &[]);
    assert_eq!(mirror.status()["legacy_reachable"], true);
    assert_eq!(who(&get_as(&mirror, "anna", "/items/1")), "candidate");
    wait_for("what the shadow says", || {
        (mirror.status()["legacy_reachable"] == false).then_some(())
    });
}

#[test]
fn a_shadow_that_is_cut_by_its_deadline_does_not_say_that_the_legacy_is_down() {
    let more = "min_requests = 100000\n[limits]\ncandidate_deadline = \"300ms\"";
    let place = under_way(100.0, more);
    let candidate = named("candidate");
    let legacy = Service::start(|_| {
        // It begins no answer while anybody waits for one.
        std::thread::park_timeout(std::time::Duration::from_secs(5));
        crate::support::service::Answer::json("{}")
    });
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    assert_eq!(who(&get_as(&mirror, "anna", "/items/1")), "candidate");
    becomes(&mirror, "the shadow is cut", |now| {
        now["legacy"]["errors"] == 1
    });
    assert_eq!(mirror.status()["legacy_reachable"], true);
}

#[test]
fn streams_say_nothing_of_times_on_either_side() {
    let place = under_way(100.0, "min_requests = 100000");
    let service =
        || Service::start(|_| crate::support::service::Answer::events(200, "data: 1\n\n"));
    let (legacy, candidate) = (service(), service());
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    for number in 0..5 {
        assert_eq!(get_as(&mirror, "anna", &format!("/{number}")).status, 200);
    }
    let now = becomes(&mirror, "both sides are counted", |now| {
        now["legacy"]["requests"] == 5 && now["candidate"]["requests"] == 5
    });
    for side in ["legacy", "candidate"] {
        assert_eq!(now[side]["p95_us"], Value::Null, "{now}");
    }
}

/// It was called no worse, and nobody saw that no time was ever compared.
#[test]
fn who_is_judged_by_errors_alone_is_told_as_that() {
    let place = under_way(100.0, "min_requests = 5");
    let service =
        || Service::start(|_| crate::support::service::Answer::events(200, "data: 1\n\n"));
    let (legacy, candidate) = (service(), service());
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    let now = becomes(&mirror, "it is judged", |now| {
        assert_eq!(get_as(&mirror, "anna", "/1").status, 200);
        !now["shown"]["good"].is_null()
    });
    assert_eq!(now["shown"]["by_errors_alone"], true, "{now}");
    let words = "so whether it is slower is not known";
    let admin = mirror.admin.to_string();
    let status = place.run(&["rollout", "status", "--admin", &admin]).stdout;
    assert!(status.contains(words), "{status}");
    let page = mirror.ask("/").text();
    assert!(page.contains(words), "{page}");
}

/// Case 1: the gate passed by what the service at the address before had answered, under the same version.
#[test]
fn what_was_counted_at_another_address_proves_nothing_of_this_one() {
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let place = Place::new();
    let lines = settings("candidate_percent = 0", "min_requests = 100000");
    place.write("parity.toml", lines);
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    super::set(&mirror, 10.0);
    assert_eq!(mirror.stop().0, 0);
    let other = named("other");
    for _by_restart_and_again in 0..2 {
        let mirror = place.mirror(&legacy.url(), &other.url(), &[]);
        let refused = post(&mirror, "50");
        assert_eq!(refused.status, 409, "{}", refused.text());
        assert!(refused.text().contains("undecided"), "{}", refused.text());
        assert_eq!(rollout(&mirror)["percent"], 0.0);
        assert_eq!(mirror.stop().0, 0);
    }
}

#[test]
fn who_makes_sure_of_a_fall_back_does_not_replace_its_cause() {
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let place = under_way(100.0, "");
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    assert_eq!(post(&mirror, "back").status, 200);
    let fell = rollout(&mirror)["fell_back"].clone();
    assert_eq!(fell["from"], 100.0);
    assert_eq!(post(&mirror, "back").status, 200);
    assert_eq!(rollout(&mirror)["fell_back"], fell);
}
