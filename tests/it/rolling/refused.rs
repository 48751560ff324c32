//! What is refused, with words that help: values, ports, tokens, stores.

use super::{BODY, named, post, rollout, settings};
use crate::support::client;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};

#[test]
fn a_percent_that_is_none_is_refused_by_the_file_the_api_and_the_command() {
    let place = Place::new();
    for wrong in ["101", "-1", "nan", "inf", "100.5", "\"many\""] {
        place.write(
            "parity.toml",
            settings(&format!("candidate_percent = {wrong}"), ""),
        );
        let ended = place.run(&["config", "check"]);
        assert_eq!(ended.code, 2, "{wrong}: {}", ended.stdout);
        let said = ended.stdout + &ended.stderr;
        assert!(said.contains("candidate_percent"), "{wrong}: {said}");
    }
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for wrong in ["101", "-1", "NaN", "inf", "ten", "%00", "10%25"] {
        let answer = post(&mirror, wrong);
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.text());
        assert!(
            answer.text().contains("between 0 and 100"),
            "{wrong}: {}",
            answer.text()
        );
    }
    assert_eq!(rollout(&mirror)["percent"], 0.0);
    let admin = mirror.admin.to_string();
    for wrong in ["101", "-1", "NaN"] {
        let ended = place.run(&["rollout", "set", wrong, "--admin", &admin]);
        assert_eq!(ended.code, 2, "{wrong}: {}", ended.stderr);
    }
}

#[test]
fn a_plan_that_contradicts_itself_is_refused() {
    let place = Place::new();
    for (plan, mode, words) in [
        (
            "candidate_percent = 1\nschedule = [\"10 after 0s\"]",
            "proxy",
            "both given",
        ),
        (
            "schedule = [\"30 after 0s\", \"10 after 1d\"]",
            "proxy",
            "10 % comes after 30 %",
        ),
        ("schedule = [\"10 after noon\"]", "proxy", "is no step"),
        ("candidate_percent = 1", "tap", "a tap answers no client"),
    ] {
        place.write(
            "parity.toml",
            format!("[mirror]\nmode = \"{mode}\"\n{}", settings(plan, "")),
        );
        let ended = place.run(&["config", "check"]);
        let said = ended.stdout + &ended.stderr;
        assert!(ended.code == 2 && said.contains(words), "{plan}: {said}");
    }
}

#[test]
fn without_a_rollout_or_without_the_right_token_nothing_can_be_changed() {
    let place = Place::new();
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    assert_eq!(post(&mirror, "10").status, 404);
    assert_eq!(mirror.ask("/api/v1/rollout").status, 404);
    assert!(mirror.status()["rollout"].is_null());
    let admin = mirror.admin.to_string();
    let ended = place.run(&["rollout", "status", "--admin", &admin]);
    assert!(
        ended.code == 2 && ended.stderr.contains("no rollout"),
        "{}",
        ended.stderr
    );
    assert!(!place.path().join("parity-rollout.json").exists());
    drop(mirror);

    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    place.write("changes", "c".repeat(40));
    place.write("looks", "l".repeat(40));
    let tokens = [
        "--admin-token-file",
        "changes",
        "--admin-look-token-file",
        "looks",
    ];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &tokens);
    let admin = mirror.admin.to_string();
    for (token, code) in [("looks", 2), ("changes", 0)] {
        for what in [&["set", "0"][..], &["back"]] {
            let more = ["--admin", &admin, "--token-file", token];
            let ended = place.run(&[&["rollout"], what, &more].concat());
            assert_eq!(ended.code, code, "{token} {what:?}: {}", ended.stderr);
        }
    }
    let foreign = [
        ("authorization", format!("Bearer {}", "c".repeat(40))),
        ("origin", "http://evil.example".to_owned()),
    ];
    let foreign = foreign
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let answer = client::send(mirror.admin, "POST", "/api/v1/rollout/back", &foreign, b"");
    assert_eq!(answer.status, 403, "{}", answer.text());
}

#[test]
fn where_no_store_can_be_read_a_step_up_is_refused_with_the_reason() {
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let kafka = ["--store", "kafka://127.0.0.1:9/parity.records"];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &kafka);
    let refused = post(&mirror, "10");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(
        refused.text().contains("can only be written to"),
        "{}",
        refused.text()
    );
    assert_eq!(post(&mirror, "back").status, 200);
    assert_eq!(rollout(&mirror)["percent"], 0.0);
}

#[test]
fn only_the_mirror_in_front_of_clients_has_a_rollout() {
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 100", ""));
    let line = |number| format!("{{\"method\":\"GET\",\"url\":\"/items/{number}\"}}\n");
    let traffic: String = (0..super::ENOUGH).map(line).collect();
    place.write("traffic.ndjson", traffic);
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let (of_legacy, of_candidate) = (legacy.url(), candidate.url());
    let services = ["--legacy", &of_legacy, "--candidate", &of_candidate];
    let ended = place.run(&[&["replay", "traffic.ndjson"][..], &services].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!place.path().join("parity-rollout.json").exists());
}

#[test]
fn the_port_of_the_proxy_is_not_taken_for_the_admin_port_and_gets_no_post() {
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let (seen, asked) = std::sync::mpsc::channel();
    let legacy = Service::start(move |request| {
        let _ended = seen.send(format!("{} {}", request.method, request.target));
        Answer::json(BODY)
    });
    let candidate = named("candidate");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let proxy = mirror.address.to_string();
    for what in [&["set", "10"][..], &["back"], &["status"]] {
        let ended = place.run(&[&["rollout"], what, &["--admin", &proxy]].concat());
        assert_eq!(ended.code, 2, "{}", ended.stdout);
        for words in [proxy.as_str(), "no admin port of parity", "--admin"] {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
    }
    let top = place.run(&["top", "--once", "--admin", &proxy]);
    assert_eq!(top.code, 2, "{}", top.stdout);
    // Not even the question which port it is becomes a request of the record.
    assert_eq!(asked.try_iter().collect::<Vec<String>>().len(), 0);
    mirror.get("/items/1");
    let report = mirror.settled(1);
    assert_eq!(
        report.0["routes"].as_array().map(Vec::len),
        Some(1),
        "{}",
        report.0
    );
}
