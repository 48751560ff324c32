//! The pages in a real Chromium: what is in tests/browser looks at them, here is what there is to look at.
//!
//! `UPDATE_SCREENSHOTS=1` also takes the pictures of docs/pages.md.

use std::process::Command;

use serde_json::{Value, json};

use crate::servers::{program, tool};
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::{Answer, Request, Service};
use crate::support::{root, wait_or_tell};

/// What a service may answer, and what must stay text on every page.
const HOSTILE: [&str; 12] = [
    "<script>window.executed = 'script'; alert(1)</script>",
    "</script><script>window.executed = 'closed'</script>",
    "<img src=x onerror=\"window.executed = 'image'\">",
    "\"><svg/onload=window.executed='svg'>",
    "' autofocus onfocus=window.executed='focus' x='",
    "{{7*7}} ${7*7} <%= 7*7 %> {% raw %} #{7*7} [[7*7]]",
    "javascript:window.executed='address'",
    "\u{202e}desrever\u{2066}\u{200b}\u{feff}",
    "\u{1b}[31mred\u{1b}]8;;http://127.0.0.1:1/\u{7}link\u{1b}[2J",
    "</main></body><iframe srcdoc=\"<script>parent.executed='frame'</script>\"></iframe>",
    "<!--<style>*{display:none}</style>--><base href=//127.0.0.1:1/><meta http-equiv=refresh content=0>",
    "&lt;script&gt;window.executed='entity'&lt;/script&gt;&#x3c;b&#x3e;",
];

/// Services that differ in prices, on fresh routes, and in everything that is hostile.
fn services() -> [Service; 2] {
    [0, 1].map(|side| Service::start(move |request| answer(side == 1, request)))
}

fn answer(is_candidate: bool, request: &Request) -> Answer {
    let path = request.target.split('?').next().unwrap_or_default();
    let word = path.split('/').nth(1).unwrap_or_default();
    let number: usize = path
        .split('/')
        .nth(2)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    match word {
        "prices" => Answer::json(format!(
            "{{\"id\":{number},\"price\":{},\"currency\":\"EUR\",\"name\":\"a thing\"}}",
            if is_candidate && number.is_multiple_of(3) {
                999
            } else {
                100
            }
        )),
        "orders" if is_candidate && number == 7 => {
            Answer::new(500, "{\"error\":\"no such table\"}")
        }
        "orders" => Answer::json(format!(
            "{{\"id\":{number},\"lines\":[{{\"sku\":\"A-1\",\"count\":2}},{{\"sku\":\"B-7\",\"count\":1}}],\"paid\":true{}}}",
            if is_candidate && number.is_multiple_of(5) {
                ""
            } else {
                ",\"note\":null"
            }
        )),
        "users" => Answer::json(format!(
            "{{\"id\":{number},\"name\":\"Ada Lovelace{}\",\"active\":true}}",
            if is_candidate && number.is_multiple_of(7) {
                "\u{a0}"
            } else {
                ""
            }
        )),
        "clock" => Answer::json(format!(
            "{{\"id\":{number},\"load\":{}}}",
            std::time::UNIX_EPOCH
                .elapsed()
                .map_or(0, |time| time.subsec_nanos())
        )),
        "fresh" | "second" | "third" | "fourth" => {
            Answer::json(format!("{{\"{word}\":{}}}", u8::from(is_candidate)))
        }
        "hostile" => hostile(is_candidate, number),
        _ => Answer::json("{\"a\":1}"),
    }
}

/// The texts as values, as keys, as a whole body of another type, and in a header.
fn hostile(is_candidate: bool, number: usize) -> Answer {
    let text = HOSTILE[number / 4 % HOSTILE.len()];
    let own = if is_candidate { text } else { "tame" };
    let header: String = own.chars().filter(|one| !one.is_control()).collect();
    let answer = match number % 4 {
        0 => {
            let all: Vec<&str> = HOSTILE
                .map(|text| if is_candidate { text } else { "tame" })
                .into();
            Answer::json(json!({"all": all, own: 1, "both": text}).to_string())
        }
        1 => Answer::new(200, own).header("content-type", "text/html"),
        2 => Answer::json(json!({"long": own.repeat(3_000)}).to_string()),
        _ => Answer::new(200, format!("<a><b title='{}'>{own}</b></a>", own.len()))
            .header("content-type", "application/xml"),
    };
    answer
        .header("x-hostile", &header)
        .header("x-'7*7`|~", if is_candidate { "{{7*7}}" } else { "tame" })
}

/// With what only pictures show, if some are taken: noise, and what a rule excuses.
fn send_plain(mirror: &Mirror<'_>, is_update: bool) {
    for number in 0..36 {
        for route in ["prices", "orders", "users", "equal", "equal"] {
            mirror.get(&format!("/{route}/{number}"));
        }
        if is_update {
            mirror.get(&format!("/clock/{number}"));
        }
    }
    mirror.settled(if is_update { 216 } else { 180 });
}

/// What the pictures have besides.
const RULES: &str = "[[rule]]\nid = \"null-note\"\npath = \"/note\"\naction = \"accept\"\nexplanations = [\"null_vs_missing\"]\n\
    reason = \"the candidate leaves out what is null\"\nowner = \"orders\"\n";

fn send_hostile(mirror: &Mirror<'_>) {
    let targets: Vec<String> = HOSTILE
        .iter()
        .flat_map(|text| {
            let bytes: Vec<String> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let escaped = bytes.concat();
            [
                format!("/hostile/1/{escaped}"),
                format!("/hostile/2?{escaped}={escaped}"),
            ]
        })
        .chain((0..4 * HOSTILE.len()).map(|number| format!("/hostile/{number}")))
        .collect();
    for target in &targets {
        mirror.get(target);
    }
    // Its migration is none that a command asks for by itself.
    let all = targets.len() as u64;
    let report = || Report(mirror.ask("/api/v1/report").json());
    wait_or_tell(
        || {
            let report = report();
            (report.count("received") == all && report.settled() == all).then_some(())
        },
        || format!("{all} in {}", report().0),
    );
}

/// The keys as docs/pages.md lists them.
fn documented() -> Vec<Value> {
    let page = std::fs::read_to_string(root().join("docs/pages.md")).expect("readable");
    let table = page.split("| key | does |\n|---|---|\n").nth(1);
    let lines = table.expect("a table of keys").lines();
    lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
            let keys = cells.next().unwrap_or_default().replace('`', "");
            json!([keys, cells.next().unwrap_or_default()])
        })
        .collect()
}

#[test]
#[ignore = "needs Chromium and Node.js: run tests/run"]
fn the_pages_are_read_in_a_browser() {
    let services = services();
    let [legacy, candidate] = [services[0].url(), services[1].url()];
    let (plain, hostile) = (Place::new(), Place::new());
    let is_update = std::env::var_os("UPDATE_SCREENSHOTS").is_some();
    if is_update {
        plain.write("parity.toml", RULES);
    }
    let version = ["--candidate-version", "2026.11"];
    let mirror = plain.mirror_with(&legacy, &candidate, &version, |command| {
        let rechecks = is_update.then_some([
            ("PARITY_RECHECK_RATE", "10000"),
            ("PARITY_RECHECK_DELAY", "1ms"),
            ("PARITY_RECHECK_PER_GROUP", "10000"),
        ]);
        command.envs(rechecks.into_iter().flatten())
    });
    send_plain(&mirror, is_update);
    assert!(matches!(plain.run(&["gate"]).code, 0 | 1 | 3));
    let bad = hostile.mirror(
        &legacy,
        &candidate,
        &["--migration", HOSTILE[2], "--candidate-version", HOSTILE[3]],
    );
    send_hostile(&bad);
    assert!(matches!(
        hostile.run(&["gate", "--migration", HOSTILE[2]]).code,
        0 | 1 | 3
    ));
    let mut command = hostile.command(&["ui", "--admin", "127.0.0.1:0"]);
    let mut ui = hostile.start(command.env("PARITY_MIGRATION", HOSTILE[2]));
    ui.admin = ui.announced("serving http://");
    let only = std::env::var("BROWSER_CHECK").ok();
    let stage = json!({
        "modules": program("browser/node_modules").parent().expect("a folder"),
        "chromium": tool("chromium"),
        "plain": format!("http://{}", mirror.admin),
        "hostile": format!("http://{}", bad.admin),
        "ui": format!("http://{}", ui.admin),
        "proxy": format!("http://{}", mirror.address),
        "pid": mirror.pid(),
        "documented": documented(),
        "pictures": is_update.then(|| root().join("docs/pictures")),
        "only": only,
    });
    let stage = plain.write("stage.json", stage.to_string());
    // It says what it has checked, with its counts; that is for whoever reads the log of the tests.
    let ran = Command::new("node")
        .arg(root().join("tests/browser/run.mjs"))
        .arg(stage)
        .status();
    assert!(
        ran.expect("node runs").success(),
        "it says above what failed"
    );
    // One of the checks has ended it, with a page open, if all were made.
    if only.is_some() {
        mirror.signal("TERM");
    }
    assert_eq!(mirror.ended().0, 0);
    ui.stop();
    bad.stop();
}
