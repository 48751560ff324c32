//! Who changed what: each change has a line, in the record and in the log.

use serde_json::Value;

use super::{CHANGES, LOOKS, basic, bearer, post};
use crate::servers::{ClickHouse, Kafka};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Service, nobody};
use crate::support::wait_for;

/// Changes that are listed, the newest first, with the address of who asks for the list.
fn listed(of: &Mirror<'_>, query: &str, token: &str) -> Option<Vec<Value>> {
    let headers = [("authorization", token)];
    let path = format!("/api/v1/audit?{query}");
    let answer = client::send(of.admin, "GET", &path, &headers, b"");
    let page = (answer.status == 200).then(|| answer.json())?;
    assert_eq!(page["schema"], "parity.audit/v1");
    page["changes"].as_array().cloned()
}

/// What is listed, once there are so many.
fn changes(of: &Mirror<'_>, count: usize, token: &str) -> Vec<Value> {
    wait_for("the lines of changes", || {
        listed(of, "", token).filter(|lines| lines.len() >= count)
    })
}

fn text<'a>(line: &'a Value, field: &str) -> &'a str {
    line[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field}: {line}"))
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one process, each change after the other"
)]
fn each_change_has_a_line_that_says_who_and_what() {
    let place = Place::new();
    place.write("changes", CHANGES);
    place.write("looks", LOOKS);
    let settings = |sample: &str| format!("[mirror]\nsample = {sample}\n");
    place.write("parity.toml", settings("1.0"));
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let tokens = [
        "--admin-token-file",
        "changes",
        "--admin-look-token-file",
        "looks",
    ];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &tokens);
    mirror.get("/items/1");
    let may = basic("anna \u{1b}[1m<b>", CHANGES);
    let looks = bearer(LOOKS);
    let id = wait_for("a mismatch", || {
        let headers = [("authorization", looks.as_str())];
        let page = client::send(mirror.admin, "GET", "/api/v1/mismatches", &headers, b"");
        let page = (page.status == 200).then(|| page.json())?;
        Some(page["mismatches"][0]["id"].as_str()?.to_owned())
    });
    // That it began.
    let mut count = 1;
    let mut done = |what: &dyn Fn()| {
        what();
        count += 1;
        changes(&mirror, count, &looks).swap_remove(0)
    };
    let asked = |path: &str| {
        let answer = post(&mirror, path, &[("authorization", &may)], "");
        assert!(
            answer.status == 200 || answer.status == 409,
            "{path}: {}",
            answer.text()
        );
    };
    let off = done(&|| asked("/api/v1/shadowing/off"));
    assert_eq!(
        [
            text(&off, "action"),
            text(&off, "outcome"),
            text(&off, "source"),
            text(&off, "token")
        ],
        ["shadowing_off", "done", "admin_port", "change"]
    );
    assert_eq!(text(&off, "user"), "anna \\u{1b}[1m<b>");
    assert!(text(&off, "address").starts_with("127.0.0.1:"), "{off}");
    assert_eq!(
        [text(&off, "migration"), text(&off, "instance")],
        ["default", "test"]
    );
    for (signal, action) in [
        ("USR2", "shadowing_on"),
        ("USR1", "shadowing_off"),
        ("USR2", "shadowing_on"),
    ] {
        let line = done(&|| mirror.signal(signal));
        assert_eq!(
            [text(&line, "action"), text(&line, "source")],
            [action, "signal"]
        );
        assert_eq!(
            [
                text(&line, "user"),
                text(&line, "address"),
                text(&line, "token")
            ],
            [""; 3]
        );
    }
    let rerun = done(&|| asked(&format!("/api/v1/mismatches/{id}/rerun")));
    assert_eq!(
        [
            text(&rerun, "action"),
            text(&rerun, "outcome"),
            text(&rerun, "subject")
        ],
        ["rerun", "done", id.as_str()]
    );
    assert_eq!(
        text(&rerun, "detail"),
        "GET /items/{id}: differs; left out: header/host"
    );
    let decision = done(&|| asked("/api/v1/gate"));
    assert_eq!(text(&decision, "action"), "decision");
    let stored = format!("/api/v1/decisions/{}", text(&decision, "subject"));
    let headers = [("authorization", looks.as_str())];
    assert_eq!(
        client::send(mirror.admin, "GET", &stored, &headers, b"").status,
        200
    );
    place.write(
        "parity.toml",
        settings("0.5") + "[limits]\nbody = \"2MiB\"\n",
    );
    let reload = done(&|| mirror.signal("HUP"));
    assert_eq!(
        [text(&reload, "action"), text(&reload, "outcome")],
        ["reload", "done"]
    );
    assert_eq!(
        text(&reload, "detail"),
        "changed: sample 1 → 0.5, limits.body"
    );
    place.write("parity.toml", settings("2"));
    let refused = done(&|| mirror.signal("HUP"));
    assert_eq!(
        [text(&refused, "action"), text(&refused, "outcome")],
        ["reload", "refused"]
    );
    assert!(
        text(&refused, "detail").contains("mirror.sample"),
        "{refused}"
    );
    // Who may not is told so, and that they tried.
    let headers = [("authorization", looks.as_str())];
    for (headers, path, status, token, why) in [
        (
            &[("authorization", &*looks)][..],
            "/api/v1/shadowing/off",
            403,
            "look",
            "this token may only look",
        ),
        (
            &[("authorization", &*bearer("none of them"))],
            "/api/v1/shadowing/off",
            401,
            "wrong",
            "the token is wrong: ",
        ),
        (
            &[("authorization", &*may), ("origin", "http://evil.example")],
            "/api/v1/shadowing/off",
            403,
            "change",
            "another origin",
        ),
        (&[], "/gate/flagger/confirm", 401, "", "needs a token"),
    ] {
        let line = done(&|| {
            assert_eq!(post(&mirror, path, headers, "{}").status, status, "{path}");
        });
        assert_eq!(
            [text(&line, "outcome"), text(&line, "token")],
            ["refused", token],
            "{line}"
        );
        assert!(text(&line, "detail").contains(why), "{line}");
        assert!(text(&line, "address").starts_with("127.0.0.1:"), "{line}");
    }
    // Whoever asks for nothing that changes something leaves none.
    assert_eq!(mirror.ask("/api/v1/report").status, 401);
    let all = changes(&mirror, 13, &looks);
    assert_eq!(all.len(), 13, "{all:?}");
    assert_eq!(
        [text(&all[12], "action"), text(&all[12], "detail")],
        ["started", "shadowing is on"]
    );

    // Page by page, by kind and by time.
    let page = |query: &str| {
        let path = format!("/api/v1/audit?{query}");
        client::send(mirror.admin, "GET", &path, &headers, b"").json()
    };
    let first = page("limit=7");
    let next = first["next"].as_str().expect("more");
    let rest = page(&format!("limit=7&after={next}"));
    assert!(rest["next"].is_null());
    let of = |page: &Value| page["changes"].as_array().expect("a list").clone();
    assert_eq!([of(&first), of(&rest)].concat(), all);
    assert_eq!(of(&page("action=reload")), all[4..6]);
    let time = text(&all[7], "time");
    assert_eq!(of(&page(&format!("since={time}"))), all[..8]);
    assert_eq!(of(&page(&format!("until={time}"))), all[8..]);
    assert!(of(&page("migration=none")).is_empty());
    for wrong in [
        "action=x",
        "limit=0",
        "limit=1001",
        "since=x",
        "after=x",
        "who=anna",
    ] {
        let path = format!("/api/v1/audit?{wrong}");
        let answer = client::send(mirror.admin, "GET", &path, &headers, b"");
        assert_eq!(answer.status, 400, "{wrong}");
        assert_eq!(answer.json()["code"], "bad_request", "{wrong}");
    }
    let shown = client::send(mirror.admin, "GET", "/audit", &headers, b"").text();
    for told in [
        "shadowing was stopped",
        "asked to stop shadowing",
        "asked to have the configuration read again",
        "by a signal",
        "by the admin port, with a wrong token, from 127.0.0.1:",
        "anna \\u{1b}[1m&#60;b&#62;, by the admin port, with the change token, from 127.0.0.1:",
        "changed: sample 1 → 0.5, limits.body",
        &format!("href=\"/mismatches/{id}\""),
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let log = mirror.log();
    assert!(
        log.contains("action=shadowing_off") && !log.contains(CHANGES),
        "{log}"
    );
    assert!(!log.contains("is not in the record"), "{log}");
    mirror.stop();
}

#[test]
fn without_a_store_the_change_is_made_and_the_log_says_that_the_line_waits() {
    let place = Place::new();
    let folder = place.path().join("later");
    std::fs::create_dir(&folder).expect("a folder");
    let mirror = place.mirror(&nobody(), &nobody(), &["--store", "sqlite:later/parity.db"]);
    std::fs::remove_dir_all(&folder).expect("it is removed");
    wait_for("a failure", || {
        mirror.status()["store_error"].is_string().then_some(())
    });
    let off = post(&mirror, "/api/v1/shadowing/off", &[], "");
    assert_eq!(off.status, 200, "{}", off.text());
    assert_eq!(mirror.status()["shadowing"], false);
    let log = mirror.log();
    assert!(
        log.contains("action=shadowing_off") && log.contains("this line is not in the record"),
        "{log}"
    );
    assert!(log.contains("until the store works again"), "{log}");
    // It was kept for when the store works.
    std::fs::create_dir(folder).expect("a folder");
    let lines = changes(&mirror, 2, "");
    assert_eq!(text(&lines[0], "action"), "shadowing_off");
    mirror.stop();
}

#[test]
fn a_line_that_never_comes_to_the_store_is_told_with_all_that_it_said() {
    let place = Place::new();
    let folder = place.path().join("gone");
    std::fs::create_dir(&folder).expect("a folder");
    let mirror = place.mirror(&nobody(), &nobody(), &["--store", "sqlite:gone/parity.db"]);
    std::fs::remove_dir_all(&folder).expect("it is removed");
    wait_for("a failure", || {
        mirror.status()["store_error"].is_string().then_some(())
    });
    assert_eq!(post(&mirror, "/api/v1/shadowing/off", &[], "").status, 200);
    let (_, log) = mirror.stop();
    let lost = log.lines().find(|line| {
        line.contains("the line of a change is lost") && !line.contains("action=started")
    });
    let lost = lost.unwrap_or_else(|| panic!("{log}"));
    for told in [
        "ERROR",
        "action=shadowing_off",
        "outcome=done",
        "127.0.0.1:",
    ] {
        assert!(lost.contains(told), "{told}: {lost}");
    }
}

#[test]
fn a_busy_store_delays_no_answer_of_parity_ui() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let services = [legacy.url(), candidate.url()];
    let mirror = place.mirror(&services[0], &services[1], &[]);
    mirror.get("/items/1");
    let id = wait_for("a mismatch", || {
        let page = mirror.ask("/api/v1/mismatches").json();
        Some(page["mismatches"][0]["id"].as_str()?.to_owned())
    });
    mirror.stop();
    let arguments = [
        "ui",
        "--admin",
        "127.0.0.1:0",
        "--legacy",
        &services[0],
        "--candidate",
        &services[1],
    ];
    let mut ui = place.start(&mut place.command(&arguments));
    ui.admin = ui.announced("serving http://");
    let other = rusqlite::Connection::open(place.path().join("parity.db")).expect("the store");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let began = std::time::Instant::now();
    let path = format!("/api/v1/mismatches/{id}/rerun");
    let answer = post(&ui, &path, &[], "");
    assert_eq!(answer.status, 200, "{}", answer.text());
    // A store is waited for ten times as long.
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(4), "{took:?}");
    let log = ui.log();
    assert!(
        log.contains("this line is not in the record") && log.contains("tried on"),
        "{log}"
    );
    other.execute_batch("ROLLBACK").expect("it is free");
    let lines = wait_for("the line", || {
        listed(&ui, "action=rerun", "").filter(|lines| !lines.is_empty())
    });
    assert_eq!(text(&lines[0], "subject"), id);
    wait_for("what became of it", || {
        ui.log().contains("is in the record now").then_some(())
    });
    ui.stop();
}

#[test]
fn parity_ui_writes_the_lines_of_what_is_asked_of_it() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let migration = ["--migration", "payments"];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &migration);
    mirror.get("/items/1");
    mirror.stop();
    let ui = place.ui();
    // It shows another migration unless somebody asks for this one, and the line is of what was asked for.
    let gate = post(&ui, "/api/v1/gate?migration=payments", &[], "");
    assert_eq!(gate.status, 200);
    let lines = listed(&ui, "migration=payments", "").expect("readable");
    // Before it stands that the mirror began.
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(
        [text(&lines[0], "action"), text(&lines[0], "token")],
        ["decision", ""]
    );
    assert!(
        text(&lines[0], "instance").starts_with("ui on "),
        "{lines:?}"
    );
    ui.stop();
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn lines_come_to_clickhouse_directly_and_through_kafka() {
    let database = ClickHouse::shared().database();
    let place = Place::new();
    let url = database.url();
    let ended = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let kafka = Kafka::shared();
    let topic = kafka.url(&kafka.topic(1));
    let sink = place.sink(&topic, &url, &[]);
    for (store, instance) in [(&url, "direct"), (&topic, "by-kafka")] {
        let more = [
            "--store",
            store,
            "--instance",
            instance,
            "--spool",
            instance,
        ];
        let mirror = place.mirror(&nobody(), &nobody(), &more);
        assert_eq!(post(&mirror, "/api/v1/shadowing/off", &[], "").status, 200);
        mirror.signal("HUP");
        wait_for("both lines", || {
            let lines = listed(&sink, "", "")?;
            let own = lines.iter().filter(|line| line["instance"] == instance);
            let actions: Vec<_> = own.map(|line| text(line, "action").to_owned()).collect();
            (actions == ["reload", "shadowing_off", "started"]).then_some(())
        });
        mirror.stop();
    }
    let page = sink.ask("/audit").text();
    assert!(
        page.contains("by-kafka") && page.contains("direct"),
        "{page}"
    );
    let first = sink.ask("/api/v1/audit?limit=3").json();
    let rest = format!(
        "/api/v1/audit?after={}",
        first["next"].as_str().expect("more")
    );
    assert_eq!(
        sink.ask(&rest).json()["changes"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(
        listed(&sink, "action=reload&since=1h", "").map(|lines| lines.len()),
        Some(2)
    );
    sink.stop();
}
