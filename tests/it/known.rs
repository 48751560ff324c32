//! Known differences: the register in parity.toml, what it excuses, and what it never excuses.

mod growing;
mod rates;
mod refused;

use serde_json::Value;

use crate::support::process::{Ended, Place};
use crate::support::service::{Answer, Request, Service};

/// What the answer to one order is. Of the first both fields are wrong, of each tenth the total.
fn candidate(request: &Request) -> Answer {
    let number: u32 = request
        .target
        .rsplit('/')
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let total = if number.is_multiple_of(10) { 2 } else { 1 };
    let name = if number == 0 { "y" } else { "x" };
    Answer::json(format!("{{\"total\":{total},\"name\":\"{name}\"}}"))
}

const REQUESTS: u32 = 1_000;
/// Enough requests prove this much.
const ALLOWED: [&str; 3] = ["gate", "--max-mismatch-rate", "0.01"];

/// A record of 100 wrong totals, one of them beside a wrong name.
fn recorded() -> Place {
    recorded_with(true)
}

fn recorded_with(rechecked: bool) -> Place {
    let place = Place::new();
    let legacy = Service::json("{\"total\":1,\"name\":\"x\"}");
    let candidate = Service::start(candidate);
    let mirror = if rechecked {
        crate::rechecks::mirror(&place, &legacy, &candidate, &[])
    } else {
        place.mirror(&legacy.url(), &candidate.url(), &[])
    };
    let mut connection = crate::support::client::Connection::open(mirror.address);
    let mut send = |number: u32| {
        connection.send("GET", &format!("/orders/{number}"), &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, 200);
    };
    (0..REQUESTS).for_each(&mut send);
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    place.write("parity.toml", "# mine\nmigration = \"default\" # stays\n");
    place
}

fn gate(place: &Place, more: &[&str]) -> Ended {
    place.run(&[&ALLOWED[..], more].concat())
}

fn says(ended: &Ended, code: i32, words: &[&str]) {
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, code, "{told}");
    for word in words {
        assert!(told.contains(word), "{word}: {told}");
    }
}

fn file(place: &Place) -> String {
    std::fs::read_to_string(place.path().join("parity.toml")).expect("the configuration")
}

fn add<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let who = ["known", "add", "--owner", "payments", "--reason", "cents"];
    [&who[..], more].concat()
}

fn list(place: &Place) -> Value {
    place.run(&["known", "list", "--output", "json"]).json()
}

/// The fingerprint of the wrong name.
fn name_of_new(place: &Place) -> String {
    let list = list(place);
    let new = list["not_known"].as_array().expect("a list");
    let name = new.iter().find(|one| one["pattern"] == "/name");
    let name = name.expect("the wrong name is not known");
    name["fingerprint"].as_str().expect("text").to_owned()
}

#[test]
fn what_is_known_does_not_count_and_excuses_nothing_beside_it() {
    let place = recorded();
    says(&gate(&place, &[]), 1, &["FAIL"]);
    let added = place.run(&add(&["--path", "/total", "--blocks", "false"]));
    says(&added, 0, &["known-1: means 1 group with 100 mismatches"]);
    assert!(file(&place).starts_with("# mine\nmigration = \"default\" # stays\n"));
    says(
        &gate(&place, &[]),
        0,
        &[
            "but 1 known difference (99 mismatches) does not count",
            "KNOWN DIFFERENCES (1 entry; 99 mismatches do not count)",
            "cents · payments · does not block",
        ],
    );
    let document = gate(&place, &["--output", "json"]).json();
    assert_eq!(
        document["total"]["differing"], 1,
        "the one beside a wrong name"
    );
    assert_eq!(document["known"][0]["entry"]["reason"], "cents");
    assert_eq!(document["known"][0]["state"], "known");
    // What is rare enough to pass is new all the same, and a recheck confirmed it.
    let new = gate(&place, &["--nothing-new"]);
    says(
        &new,
        1,
        &["1 difference is not known, and confirmed: GET /orders/{id} body /name (new, 1 times"],
    );
    // Each decision can be made again from its document alone, and a register that was changed in it is told.
    let id = document["decision_id"].as_str().expect("an id");
    let export = ["decisions", "export", id, "--to", "held.json"];
    says(&place.run(&export), 0, &[]);
    let verify = [
        "decisions",
        "verify",
        "held.json",
        "--store",
        "sqlite:parity.db",
    ];
    says(&place.run(&verify), 0, &[]);
    let held = std::fs::read_to_string(place.path().join("held.json")).expect("exported");
    for (was, is) in [
        ("\"blocks\": false", "\"blocks\": true"),
        ("\"state\": \"known\"", "\"state\": \"mended\""),
    ] {
        let held = if held.contains(was) {
            held.clone()
        } else {
            held.replace("\":", "\": ")
        };
        assert!(held.contains(was), "{was}: {held}");
        place.write("forged.json", held.replace(was, is));
        let forged = place.run(&["decisions", "verify", "forged.json"]);
        assert_eq!(forged.code, 1, "{is}: {}{}", forged.stdout, forged.stderr);
    }

    let name = name_of_new(&place);
    let added = place.run(&add(&[&name]));
    says(&added, 0, &[&name, "1 of 1,000 compared"]);
    says(
        &gate(&place, &["--nothing-new"]),
        0,
        &["PASS", "1 known difference (99 mismatches)"],
    );
    let listed = list(&place);
    assert_eq!(listed["schema"], "parity.known/v1");
    assert_eq!(listed["entries"][1]["entry"]["blocks"], true);
    assert_eq!(listed["entries"][1]["mismatches"], 1);
    assert_eq!(listed["excused"], 99, "one that blocks excuses nothing");
    assert_eq!(listed["not_known"], Value::Array(Vec::new()));

    let report = place.run(&["report"]);
    says(&report, 0, &["KNOWN DIFFERENCES (2 entries", "body /name"]);
    let ui = place.ui();
    let page = ui.ask("/report").text();
    assert!(
        page.contains("Known differences") && page.contains("known-1"),
        "{page}"
    );
    let decided = ui
        .ask("/api/v1/gate?max_mismatch_rate=0.01&nothing_new=true")
        .text();
    assert!(
        decided.contains("\"outcome\":\"pass\"") || decided.contains("\"outcome\": \"pass\""),
        "{decided}"
    );
}

#[test]
fn what_ended_is_mended_or_grows_counts() {
    let place = recorded();
    let entry = |more: &str| {
        format!(
            "[[known]]\nid = \"total\"\npath = \"/total\"\nblocks = false\nowner = \"o\"\nreason = \"r\"\n{more}\n"
        )
    };
    let soon = {
        let now = std::time::SystemTime::now() + std::time::Duration::from_hours(72);
        let seconds = now
            .duration_since(std::time::UNIX_EPOCH)
            .expect("after 1970")
            .as_micros();
        parity_schemas::time::Timestamp::from_micros(i64::try_from(seconds).expect("in range"))
            .to_string()
    };
    for (more, code, words) in [
        (
            String::new(),
            0,
            "1 known difference (99 mismatches) does not count",
        ),
        ("expires = \"2999-01-01\"".to_owned(), 0, "PASS"),
        (
            format!("expires = \"{soon}\""),
            0,
            "the entry of known difference total expires on",
        ),
        (
            "expires = \"2020-01-01\"".to_owned(),
            1,
            "the entry of known difference total expired on",
        ),
        (
            "mended = \"2020-01-01\"".to_owned(),
            1,
            "known difference total is back: it was mended on",
        ),
        ("rate = 0.12".to_owned(), 0, "PASS"),
        // Twice this is below what was seen, but chance is not excluded.
        ("rate = 0.045".to_owned(), 0, "PASS"),
        (
            "rate = 0.02".to_owned(),
            1,
            "known difference total grows: 100 of 1,000",
        ),
        ("blocks = true".to_owned(), 1, "FAIL"),
    ] {
        let text = entry(&more).replace(
            "blocks = false\n",
            if more.starts_with("blocks") {
                ""
            } else {
                "blocks = false\n"
            },
        );
        place.write("parity.toml", text);
        says(&gate(&place, &[]), code, &[words]);
    }
    // Of two entries the one that names fingerprints holds, wherever it stands.
    place.write("parity.toml", entry(""));
    let groups = place.run(&["report", "--output", "json"]).json();
    let total = groups["known"][0]["groups"][0]["fingerprint"]
        .as_str()
        .expect("text")
        .to_owned();
    let both = format!(
        "{}[[known]]\nid = \"back\"\nfingerprints = [\"{total}\"]\nowner = \"o\"\nreason = \"r\"\nmended = \"2020-01-01\"\n",
        entry("")
    );
    place.write("parity.toml", both);
    says(
        &gate(&place, &["--nothing-new"]),
        1,
        &["known difference back is back", "(regressed, 100 times"],
    );
    says(&place.run(&["known", "list"]), 0, &["back  regressed"]);
    // That nothing is said of an end that is near, but to whoever checks the file.
    let check = entry(&format!("expires = \"{soon}\""))
        + "[[rule]]\nid = \"r\"\npath = \"/x\"\naction = \"ignore\"\nexpires = \""
        + &soon
        + "\"\n";
    place.write("parity.toml", check);
    says(
        &place.run(&["config", "check"]),
        0,
        &["known difference `total` expires on", "rule `r` expires on"],
    );
}

#[test]
fn what_no_recheck_confirmed_proves_no_fail_and_no_pass_without_news() {
    let place = recorded_with(false);
    says(
        &place.run(&add(&["--path", "/total", "--blocks", "false"])),
        0,
        &[],
    );
    says(&gate(&place, &[]), 0, &["PASS"]);
    says(
        &gate(&place, &["--nothing-new"]),
        3,
        &[
            "1 difference is not known, and no recheck has confirmed",
            "body /name (new, 1 times",
        ],
    );
}

#[test]
fn a_baseline_adopts_what_counts_and_nothing_twice() {
    let place = recorded();
    let first = place.run(&add(&[
        "--baseline",
        "--blocks",
        "false",
        "--ticket",
        "T-1",
    ]));
    says(
        &first,
        0,
        &[
            "2 differences are entered",
            "/total",
            "/name",
            "excuses any other value of that kind at its place",
        ],
    );
    let text = file(&place);
    assert!(
        text.contains("# GET /orders/{id} body /total") && text.contains("rate = 0."),
        "{text}"
    );
    says(
        &gate(&place, &["--nothing-new"]),
        0,
        &["but 2 known differences (100 mismatches) do not count"],
    );
    says(
        &place.run(&add(&["--baseline"])),
        0,
        &["all that counts is known already"],
    );
    assert_eq!(file(&place), text);
    says(
        &place.run(&["config", "check"]),
        0,
        &["2 known differences"],
    );
    let id = list(&place)["entries"][0]["entry"]["id"]
        .as_str()
        .expect("text")
        .to_owned();
    says(&place.run(&["known", "mend", &id]), 0, &["is mended"]);
    assert!(file(&place).contains("mended = \""));
    // It was not seen since, and does not excuse what was seen before.
    assert_eq!(list(&place)["entries"][0]["state"], "mended");
    says(&gate(&place, &[]), 1, &["FAIL"]);
    says(
        &place.run(&["known", "mend", &id]),
        2,
        &["is mended already"],
    );
    says(
        &place.run(&["known", "mend", "totl"]),
        2,
        &["no known difference is called `totl`"],
    );
}
