//! Two tokens: one shows everything, the other one changes what can be changed.

use super::{CHANGES, LOOKS, basic, bearer, form, is_shadowing, post};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use std::fmt::Write as _;

fn place() -> Place {
    let place = Place::new();
    place.write("changes", format!("{CHANGES}\n"));
    place.write("looks", format!("{LOOKS}\n"));
    place
}

const TOKENS: [&str; 4] = [
    "--admin-token-file",
    "changes",
    "--admin-look-token-file",
    "looks",
];

fn get(mirror: &Mirror<'_>, path: &str, authorization: &str) -> client::Answer {
    let headers = [("authorization", authorization)];
    client::send(mirror.admin, "GET", path, &headers, b"")
}

#[test]
fn who_may_look_sees_everything_and_changes_nothing() {
    let place = place();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &TOKENS);
    mirror.get("/items/1");
    let id = crate::support::wait_for("a mismatch", || {
        let page = get(&mirror, "/api/v1/mismatches", &bearer(LOOKS));
        let page = (page.status == 200).then(|| page.json())?;
        Some(page["mismatches"][0]["id"].as_str()?.to_owned())
    });
    let exchange = format!("/mismatches/{id}");
    for token in [bearer(LOOKS), basic("anna", LOOKS)] {
        for path in [
            "/",
            "/report",
            "/health",
            "/groups",
            &exchange,
            "/metrics",
            "/api/v1/status",
            "/api/v1/gate",
            "/api/v1/report",
        ] {
            let answer = get(&mirror, path, &token);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            // No button that would be refused.
            let text = answer.text();
            assert!(
                form(&text).is_none() && !text.contains("method=\"post\""),
                "{path}: {text}"
            );
        }
    }
    let seen = candidate.seen();
    let decisions =
        || get(&mirror, "/api/v1/decisions", &bearer(LOOKS)).json()["decisions"].clone();
    let before = decisions();
    let rerun = format!("/api/v1/mismatches/{id}/rerun");
    let hook = format!("{{\"metadata\":{{\"token\":\"{LOOKS}\",\"store\":\"true\"}}}}");
    for path in [
        "/api/v1/shadowing/off",
        "/api/v1/gate",
        &rerun,
        &format!("{exchange}/rerun"),
        "/gate/flagger/confirm",
        "/gate/flagger/rollback",
    ] {
        for token in [bearer(LOOKS), basic("anna", LOOKS)] {
            let answer = post(&mirror, path, &[("authorization", &token)], "");
            assert_eq!(answer.status, 403, "{path}: {}", answer.text());
            let text = answer.text();
            assert!(
                text.contains("this token may only look") && text.trim_end().lines().count() == 1,
                "{path}: {text}"
            );
            if path.starts_with("/api") {
                assert_eq!(answer.json()["code"], "look_only", "{path}");
            }
        }
    }
    for path in ["/gate/flagger/confirm", "/gate/flagger/rollback"] {
        let answer = post(&mirror, path, &[], &hook);
        assert_eq!(answer.status, 403, "{}", answer.text());
    }
    assert_eq!(candidate.seen(), seen, "nothing was sent");
    assert_eq!(decisions(), before, "nothing was stored");
    let status = get(&mirror, "/api/v1/status", &bearer(LOOKS));
    assert_eq!(is_shadowing(&status), true);
    // The other token does all of it.
    let may = bearer(CHANGES);
    assert_eq!(
        post(&mirror, &rerun, &[("authorization", &may)], "").status,
        200
    );
    let off = post(
        &mirror,
        "/api/v1/shadowing/off",
        &[("authorization", &may)],
        "",
    );
    assert_eq!(is_shadowing(&off), false);
    // And a wrong one nothing.
    for wrong in [
        bearer("the-token-for-nothing"),
        bearer(""),
        basic("the-token-for-looking", ""),
    ] {
        assert_eq!(get(&mirror, "/", &wrong).status, 401, "{wrong}");
    }
    let log = mirror.log();
    assert!(!log.contains(CHANGES) && !log.contains(LOOKS), "{log}");
    mirror.stop();
}

#[test]
fn parity_ui_has_the_same_roles() {
    let place = place();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/items/1");
    mirror.stop();
    let mut command = place.command(&["ui", "--admin", "127.0.0.1:0"]);
    let mut ui = place.start(command.args(TOKENS));
    ui.admin = ui.announced("serving http://");
    assert_eq!(ui.ask("/").status, 401);
    assert_eq!(get(&ui, "/", &bearer(LOOKS)).status, 200);
    let gate = |token: &str| {
        post(
            &ui,
            "/api/v1/gate",
            &[("authorization", &bearer(token))],
            "",
        )
    };
    assert_eq!(gate(LOOKS).status, 403);
    assert_eq!(gate(CHANGES).status, 200);
    ui.stop();
}

#[test]
fn tokens_that_do_not_tell_who_may_what_are_refused() {
    let place = place();
    place.write("short", "too-short\n");
    place.write("empty", "\n");
    place.write("same", format!(" {CHANGES}\n"));
    let serve = |section: &str, settings: &[(&str, &str)]| {
        let mut text = format!("[{section}]\n");
        if section == "mirror" {
            text.push_str(
                "legacy = \"http://127.0.0.1:7001\"\ncandidate = \"http://127.0.0.1:7002\"\n",
            );
        } else {
            text.push_str("kafka = \"kafka://127.0.0.1:1/t\"\nclickhouse = \"clickhouse://u@127.0.0.1:1/d\"\n");
        }
        for (name, value) in settings {
            writeln!(text, "{name} = \"{value}\"").expect("to a text");
        }
        place.write("parity.toml", text);
        place.run(&["config", "check"])
    };
    let change = ("admin_token_file", "changes");
    for section in ["mirror", "sink"] {
        for (look, told) in [
            ("same", "hold the same token"),
            ("short", "short holds 9 bytes"),
            ("empty", "empty holds 0 bytes"),
            ("missing", "cannot read missing"),
        ] {
            let ended = serve(section, &[change, ("admin_look_token_file", look)]);
            assert_eq!(ended.code, 2, "{look}: {}", ended.stderr);
            assert!(
                ended.stderr.contains(told) && ended.stderr.contains("parity.toml:"),
                "{look}: {}",
                ended.stderr
            );
            assert!(!ended.stderr.contains(CHANGES), "{}", ended.stderr);
        }
        let alone = serve(section, &[("admin_look_token_file", "looks")]);
        assert_eq!(alone.code, 2);
        assert!(
            alone.stderr.contains("is of no use without"),
            "{}",
            alone.stderr
        );
        let both = serve(section, &[change, ("admin_look_token_file", "looks")]);
        assert_eq!(both.code, 0, "{}", both.stderr);
    }
}
