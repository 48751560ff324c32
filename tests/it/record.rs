//! The store under stress: killed, full, missing, foreign, secret.

use crate::support::process::{Place, limited};
use crate::support::service::{Answer, Service, nobody};
use crate::support::{client, wait_for};

fn pair() -> (Service, Service) {
    (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"))
}

#[test]
fn what_was_stored_survives_sigkill_and_the_next_start_continues() {
    let (legacy, candidate) = pair();
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    (0..50).for_each(|_| drop(mirror.get("/x")));
    assert_eq!(mirror.settled(50).count("mismatch"), 50);
    // In progress when the process is killed: at most these may be missing.
    (0..10).for_each(|_| drop(mirror.get("/x")));
    mirror.kill();
    let report = place.report();
    assert!(
        (50..=60).contains(&report.count("received")),
        "{}",
        report.0
    );
    assert_eq!(place.integrity(), "ok");
    let before = report.count("received");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    (0..5).for_each(|_| drop(mirror.get("/x")));
    assert_eq!(
        mirror.settled(before + 5).0["instances"],
        serde_json::json!(["test"])
    );
    mirror.stop();
}

#[test]
fn a_full_disk_costs_the_clients_nothing() {
    let body = |letter: char| format!("{{\"text\":\"{}\"}}", letter.to_string().repeat(40_000));
    let (legacy, candidate) = (Service::json(&body('a')), Service::json(&body('b')));
    let place = Place::new();
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
        limited(&place, command, 600)
    });
    for _ in 0..200 {
        let answer = mirror.get("/large");
        assert_eq!((answer.status, answer.body.len()), (200, body('a').len()));
    }
    wait_for("the store to be full", || {
        let status = mirror.ask("/api/v1/status").json();
        status["store_error"].is_string().then_some(())
    });
    assert_eq!(
        mirror.ask("/readyz").status,
        200,
        "a full disk does not take the proxy away"
    );
    let metrics = mirror.ask("/metrics").text();
    let errors = metrics
        .lines()
        .find(|line| line.starts_with("parity_sink_write_errors_total"))
        .expect("exported");
    assert!(!errors.ends_with(" 0"), "{errors}");
    wait_for("the complaint", || {
        mirror.log().contains("ERROR").then_some(())
    });
    let complaints = mirror
        .log()
        .lines()
        .filter(|line| line.contains("ERROR"))
        .count();
    assert!(
        (1..=2).contains(&complaints),
        "logged {complaints} times:\n{}",
        mirror.log()
    );
    mirror.kill();
    assert_eq!(place.integrity(), "ok");
}

#[test]
fn secrets_of_requests_and_answers_are_in_no_file() {
    const SECRETS: [&str; 7] = [
        "hunter2-password",
        "tok-8f3a91c2",
        "4111111111111111",
        "session-77aa",
        "bearer-abcdef",
        "query-secret-1",
        "open-sesame",
    ];
    let answer = |changed: &str| {
        Answer::json(format!(
            "{{\"password\":\"{}\",\"nested\":{{\"token\":[\"{}\"]}},\"card\":\"{}\",\"n\":{changed}}}",
            SECRETS[0], SECRETS[1], SECRETS[2]
        ))
        .header("set-cookie", &format!("sid={}{changed}; Path=/", SECRETS[3]))
    };
    let legacy = Service::start(move |_| answer("1"));
    let candidate = Service::start(move |_| answer("2"));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["-vv"]);
    let headers = [
        ("authorization", "Bearer bearer-abcdef"),
        ("cookie", "sid=session-77aa"),
    ];
    let path = format!("/pay/token/{}?key={}&page=7", SECRETS[6], SECRETS[5]);
    assert_eq!(
        client::send(mirror.address, "GET", &path, &headers, b"").status,
        200
    );
    let report = mirror.settled(1);
    assert_eq!(report.count("mismatch"), 1);
    let id = report.0["groups"][0]["example_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let surfaces = [
        mirror.ask("/report").text(),
        mirror.ask(&format!("/mismatches/{id}")).text(),
        mirror.ask(&format!("/api/v1/mismatches/{id}")).text(),
        mirror.ask("/metrics").text(),
        mirror.log(),
        place.run(&["report"]).stdout,
        place.run(&["report", "--output", "json"]).stdout,
    ];
    assert!(
        surfaces[2].contains("hmac:") && surfaces[2].contains("page=7"),
        "{}",
        surfaces[2]
    );
    mirror.stop();
    let files = std::fs::read_dir(place.path())
        .expect("readable")
        .map(|entry| std::fs::read(entry.expect("readable").path()).expect("readable"));
    for bytes in surfaces.into_iter().map(String::into_bytes).chain(files) {
        let text = String::from_utf8_lossy(&bytes);
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} left the process");
        }
    }
}

#[test]
fn readers_never_create_a_store_and_say_what_is_wrong_with_one() {
    let place = Place::new();
    for command in ["report", "gate", "ui"] {
        let ended = place.run(&[command]);
        assert_eq!(ended.code, 2, "{command}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("parity.db"),
            "{command}: {}",
            ended.stderr
        );
        assert_eq!(
            std::fs::read_dir(place.path()).expect("readable").count(),
            0,
            "{command} left a file"
        );
    }
    place.write(
        "parity.db",
        "this is no database, it is a text that is long enough to look like one",
    );
    for command in ["report", "gate"] {
        let ended = place.run(&[command]);
        assert_eq!(ended.code, 2, "{command}: {}", ended.stderr);
    }
    for url in ["redis://x", "parity.db", "sqlite:"] {
        let ended = place.run(&["report", "--store", url]);
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.contains("sqlite:"), "{}", ended.stderr);
    }
}

#[test]
fn a_spool_on_a_full_disk_costs_no_client_anything_and_keeps_what_it_has() {
    let body = |letter: char| format!("{{\"text\":\"{}\"}}", letter.to_string().repeat(40_000));
    let (legacy, candidate) = (Service::json(&body('a')), Service::json(&body('b')));
    let place = Place::new();
    // Nobody listens there: everything must go to the spool.
    let store = format!("{}/t", nobody().replace("http://", "kafka://"));
    let more = ["--store", store.as_str()];
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &more, |command| {
        limited(&place, command, 600)
    });
    let status = || mirror.ask("/api/v1/status").json();
    let told = || {
        let error = status()["store_error"].as_str().map(str::to_owned);
        error.is_some_and(|error| error.contains("spool cannot be written"))
    };
    let mut requests = 0_u64;
    while !told() {
        for _ in 0..100 {
            requests += 1;
            let answer = mirror.get(&format!("/large/{requests}"));
            assert_eq!((answer.status, answer.body.len()), (200, body('a').len()));
        }
        assert!(requests < 20_000, "the spool grows beyond the limit");
    }
    assert_eq!(mirror.ask("/readyz").status, 200);
    assert!(status()["spool_bytes"].as_u64() > Some(0), "{}", status());
    let (code, log) = mirror.stop();
    // What is in the spool is safe, and the counts fit beside it.
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("waits in the spool"), "{log}");
}
