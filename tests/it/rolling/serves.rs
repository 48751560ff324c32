//! Who is served by whom, and what the record has of it.

use super::{
    BODY, becomes, change, get_as, named, on_the_way, post, rollout, set, settings, under_way, who,
};
use crate::support::client;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};

#[test]
fn a_share_of_the_users_is_served_by_the_candidate_and_a_larger_one_has_them_too() {
    const USERS: usize = 300;
    let place = Place::new();
    // What a busy machine does to a time is not tested here.
    let lines = settings("candidate_percent = 0", "min_requests = 100000");
    place.write("parity.toml", lines);
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut before = vec![false; USERS];
    let mut sent = super::ENOUGH;
    set(&mirror, 10.0);
    for percent in [10.0, 40.0, 100.0] {
        crate::support::wait_for("the gate passes", || {
            (post(&mirror, &format!("{percent}?insist=true")).status == 200).then_some(())
        });
        let ask = |user: usize| {
            let answer = get_as(&mirror, &format!("user-{user}"), "/items/1");
            assert_eq!((answer.status, answer.text().as_str()), (200, BODY));
            who(&answer) == "candidate"
        };
        let now: Vec<bool> = (0..USERS).map(ask).collect();
        let again: Vec<bool> = (0..USERS).map(ask).collect();
        sent += 2 * USERS;
        assert_eq!(now, again, "at {percent} % a user changed sides");
        assert!(before.iter().zip(&now).all(|(before, now)| !before || *now));
        let share = percent / 100.0;
        let expected = share * USERS as f64;
        let bound = 4.0 * (expected * (1.0 - share)).sqrt();
        let count = now.iter().filter(|is_in| **is_in).count() as f64;
        assert!((count - expected).abs() <= bound, "{percent}: {count}");
        before = now;
    }
    // Each service got each request once: to serve it, or as a shadow.
    let report = mirror.settled(sent as u64);
    assert_eq!(report.count("match"), sent as u64, "{}", report.0);
    assert_eq!((legacy.seen(), candidate.seen()), (sent, sent));
    let metrics = mirror.ask("/metrics").text();
    assert!(
        metrics.contains("parity_rollout_percent 100.0"),
        "{metrics}"
    );
    // The command, the page and the overview in a terminal say the same.
    let admin = mirror.admin.to_string();
    let status = place.run(&["rollout", "status", "--admin", &admin]);
    assert!(
        status
            .stdout
            .starts_with("100 % of clients served by the candidate since 20"),
        "{}",
        status.stdout
    );
    assert!(
        mirror
            .ask("/")
            .text()
            .contains("100 % of clients served by the candidate")
    );
    // By the variables that the mirror has, too; a flag wins.
    let url = format!("http://{admin}");
    let metrics = place.run_with(
        &["metrics"],
        &[("PARITY_ADMIN", "https://mirror-1.example:9900")],
        "",
    );
    assert!(
        !metrics.stderr.contains("PARITY_ADMIN"),
        "{}",
        metrics.stderr
    );
    let checked = place.run_with(&["config", "check"], &[("PARITY_ADMIN", &*url)], "");
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    for (flags, code) in [(&[][..], 0), (&["--admin", "127.0.0.1:1"], 2)] {
        let command = [&["rollout", "status"], flags].concat();
        let ended = place.run_with(&command, &[("PARITY_ADMIN", &*admin)], "");
        assert_eq!(ended.code, code, "{}", ended.stderr);
    }
    let token = ("PARITY_ADMIN_TOKEN_FILE", "absent.token");
    let top = place.run_with(&["top", "--once"], &[("PARITY_ADMIN", &*admin), token], "");
    assert!(top.stderr.contains("absent.token"), "{}", top.stderr);
    let top = place.run(&["top", "--once", "--admin", &admin]);
    assert!(
        top.stdout.contains("rollout: 100 % of clients served"),
        "{}",
        top.stdout
    );
    change(&mirror, "rollout_set", |line| {
        line["detail"]
            .as_str()
            .is_some_and(|detail| detail.starts_with("40 % → 100 %: insisted although it served "))
    });
    let back = place.run(&["rollout", "back", "--admin", &admin]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    let user = get_as(&mirror, "user-1", "/items/1");
    assert_eq!(who(&user), "legacy");
    assert_eq!(rollout(&mirror)["fell_back"]["from"], 100.0);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn the_record_has_both_sides_as_they_are_whoever_serves() {
    let place = under_way(100.0, "");
    let service = |balance: &'static str| {
        Service::start(move |_| Answer::json(format!("{{\"balance\":\"{balance}\"}}")))
    };
    let (legacy, candidate) = (service("12.50"), service("12.51"));
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    let answer = get_as(&mirror, "anna", "/items/1");
    assert_eq!(answer.text(), "{\"balance\":\"12.51\"}");
    let report = mirror.settled(1);
    // It was said that it had got the legacy's.
    assert_eq!(report.0["clients"], serde_json::json!({"candidate_2xx": 1}));
    let told = "all 1 got a whole answer: 0 the legacy's, 1 the candidate's";
    let text = place.run(&["report"]).stdout;
    assert!(text.contains(told), "{text}");
    assert_eq!(report.count("mismatch"), 1);
    let page = mirror.ask("/api/v1/mismatches").json();
    let finding = &page["mismatches"][0]["findings"][0];
    assert_eq!(finding["legacy"], "\"12.50\"", "{page}");
    assert_eq!(finding["candidate"], "\"12.51\"", "{page}");
    // The shadow is marked, the other one is not.
    assert_eq!((legacy.seen(), candidate.seen()), (1, 1));
}

#[test]
fn who_has_no_name_is_known_by_the_address_and_hostile_names_are_names() {
    let place = under_way(50.0, "");
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    let ask = |headers: &[(&str, &str)]| {
        let answer = client::send(mirror.address, "GET", "/", headers, b"");
        assert_eq!(answer.status, 200);
        who(&answer)
    };
    let address = ask(&[]);
    for _ in 0..5 {
        assert_eq!(ask(&[]), address);
        assert_eq!(ask(&[("x-user", "")]), address);
    }
    for hostile in [
        "\u{fffd}\u{1f4a9}",
        "'; DROP TABLE users; --",
        "%00%0d%0a",
        &"x".repeat(4_000),
    ] {
        let first = ask(&[("x-user", hostile)]);
        assert_eq!(ask(&[("x-user", hostile)]), first);
        // Only the first one counts.
        assert_eq!(ask(&[("x-user", hostile), ("x-user", "other")]), first);
    }
}

#[test]
fn what_has_a_body_or_an_effect_or_becomes_another_protocol_is_the_legacys() {
    let place = under_way(100.0, "");
    place.write(
        "parity.toml",
        settings(
            "candidate_percent = 100",
            "[[route]]\nmatch = \"GET /effects/{id}\"\nshadow = false\n[[route]]\nmatch = \"POST /quotes\"\nshadow = true",
        ),
    );
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    let user = ("x-user", "anna");
    let ask = |method: &str, path: &str, more: &[(&str, &str)], body: &[u8]| {
        let headers = [&[user], more].concat();
        who(&client::send(mirror.address, method, path, &headers, body))
    };
    assert_eq!(ask("GET", "/items/1", &[], b""), "candidate");
    assert_eq!(ask("HEAD", "/items/1", &[], b""), "candidate");
    assert_eq!(ask("OPTIONS", "/items/1", &[], b""), "candidate");
    for (method, path, body) in [
        ("GET", "/items/1", &b"a"[..]),
        ("GET", "/effects/1", b""),
        ("HEAD", "/effects/1", b""),
        ("GET", "//effects/1", b""),
        ("GET", "/./effects/1", b""),
        ("GET", "/%65ffects/1", b""),
        ("GET", "/Effects/1", b""),
        ("POST", "/quotes", b"a"),
        ("POST", "/items", b""),
        ("DELETE", "/items/1", b""),
    ] {
        assert_eq!(ask(method, path, &[], body), "legacy", "{method} {path}");
    }
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket")];
    assert_eq!(ask("GET", "/socket", &upgrade, b""), "legacy");
    let report = mirror.settled(14);
    assert_eq!(report.settled(), 14);
}

#[test]
fn switching_shadowing_off_or_sampling_leaves_the_candidate_serving() {
    let place = under_way(100.0, "");
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = on_the_way(
        &place,
        &legacy.url(),
        &candidate.url(),
        &["--shadow", "off"],
    );
    for _ in 0..3 {
        assert_eq!(who(&get_as(&mirror, "anna", "/items/1")), "candidate");
    }
    let report = mirror.settled(3);
    assert_eq!(report.not_compared()["shadowing_off"], 3);
    assert_eq!((legacy.seen(), candidate.seen()), (0, 3));
    becomes(&mirror, "what was seen", |now| {
        now["candidate"]["requests"] == 3
    });
}
