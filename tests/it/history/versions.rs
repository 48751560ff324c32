//! What an earlier version of the candidate differed in is excused in the chart by what the report on that version says.

use parity_schemas::history::History;

use super::history;
use crate::servers::ClickHouse;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Request, Service};

/// What both excuse: the second was not there when most of the first version was compared.
const EXCUSED: &str = "[[known]]\nid = \"name\"\npath = \"/name\"\nblocks = false\nowner = \"o\"\nreason = \"r\"\n\n\
    [[rule]]\nid = \"total\"\npath = \"/total\"\naction = \"ignore\"\nreason = \"r\"\nowner = \"o\"\n";

fn number(request: &Request) -> u32 {
    let last = request.target.rsplit('/').next();
    last.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Both fields that are excused are wrong, and of each tenth another one.
fn first(request: &Request) -> Answer {
    let left = if number(request).is_multiple_of(10) {
        2
    } else {
        1
    };
    Answer::json(format!("{{\"total\":2,\"name\":\"y\",\"left\":{left}}}"))
}

/// Of each fifth only one that is known, and of each tenth another one alone.
fn second(request: &Request) -> Answer {
    let number = number(request);
    let left = if number.is_multiple_of(10) { 2 } else { 1 };
    let name = if number % 5 == 1 { "y" } else { "x" };
    Answer::json(format!(
        "{{\"total\":1,\"name\":\"{name}\",\"left\":{left}}}"
    ))
}

fn sum(history: &History, of: fn(&parity_schemas::history::HistoryBucket) -> u64) -> u64 {
    history.buckets.iter().map(of).sum()
}

fn send(mirror: Mirror<'_>, count: u32) {
    for number in 0..count {
        assert_eq!(mirror.get(&format!("/orders/{number}")).status, 200);
    }
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
}

/// A migration has two versions; of the first most was compared before a rule came.
fn each_version_counts_what_its_report_counts(store: &str) {
    let place = Place::new();
    let legacy = Service::json("{\"total\":1,\"name\":\"x\",\"left\":1}");
    let services = [first, second].map(Service::start);
    let of = |candidate: &Service, version: &str| {
        let more = ["--store", store, "--candidate-version", version];
        place.mirror(&legacy.url(), &candidate.url(), &more)
    };
    send(of(&services[0], "1"), 40);
    place.write("parity.toml", EXCUSED);
    send(of(&services[0], "1"), 10);
    let ui = || {
        let mut ui =
            place.start(&mut place.command(&["ui", "--admin", "127.0.0.1:0", "--store", store]));
        ui.admin = ui.announced("serving http://");
        ui
    };
    let before = ui();
    let (alone, _) = history(&before, "since=2h");
    assert_eq!(sum(&alone, |bucket| bucket.differing), 5);
    before.stop();
    send(of(&services[1], "2"), 40);
    let reported = |version: &str| {
        let asked = [
            "report",
            "--output",
            "json",
            "--store",
            store,
            "--candidate-version",
        ];
        let report = place.run(&[&asked[..], &[version]].concat()).json();
        report["differing"].as_u64().expect("a count")
    };
    assert_eq!((reported("1"), reported("2")), (5, 4));
    let ui = ui();
    let (both, _) = history(&ui, "since=2h");
    assert_eq!(sum(&both, |bucket| bucket.compared), 90);
    assert_eq!(sum(&both, |bucket| bucket.differing), 9);
    // 50 and 12 did not match; what the rule left of the later ones of the first version is known.
    assert_eq!(sum(&both, |bucket| bucket.excused), 45 + 8);
    assert_eq!(both.as_recorded, Vec::<String>::new());
    let (all, _) = history(&ui, "since=2h&count_excused=true");
    assert_eq!(sum(&all, |bucket| bucket.differing), 62);
    // The page of the chart is of the same.
    let page = ui.ask("/history?since=2h").text();
    assert!(!page.contains("count in this chart"), "{page}");
    ui.stop();
}

#[test]
fn what_an_earlier_version_differed_in_is_excused_by_its_own_report() {
    each_version_counts_what_its_report_counts("sqlite:parity.db");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn what_an_earlier_version_differed_in_is_excused_on_clickhouse_too() {
    let server = ClickHouse::shared();
    let database = server.database();
    let place = Place::new();
    let url = database.url();
    let ended = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    each_version_counts_what_its_report_counts(&url);
}

#[test]
fn of_more_versions_than_are_looked_at_the_oldest_count_as_they_did_and_are_named() {
    let place = Place::new();
    place.write("parity.toml", EXCUSED);
    let legacy = Service::json("{\"total\":1,\"name\":\"x\",\"left\":1}");
    let candidate = Service::json("{\"total\":1,\"name\":\"y\",\"left\":1}");
    // That of the page, eight others, and one more.
    for version in 1..=10 {
        let version = format!("<i>{version}");
        let more = ["--candidate-version", &version];
        send(place.mirror(&legacy.url(), &candidate.url(), &more), 1);
    }
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    // Slots of five minutes tell which was last: without this, all were last in one.
    for table in ["tallies", "set_tallies", "group_tallies"] {
        let sql = format!(
            "UPDATE {table} SET interval_start = interval_start - 3600000000 WHERE candidate_version = '<i>1'"
        );
        store.execute(&sql, []).expect("an hour ago");
    }
    store
        .execute_batch(
            "DELETE FROM slot_marks WHERE candidate_version = '<i>1' AND slot NOT IN \
             (SELECT interval_start / 300000000 FROM tallies WHERE candidate_version = '<i>1')",
        )
        .expect("the slots of which nothing is left");
    drop(store);
    let ui = place.ui();
    let (all, _) = history(&ui, "since=1d");
    assert_eq!(all.as_recorded, ["<i>1"]);
    assert_eq!(sum(&all, |bucket| bucket.differing), 1);
    assert_eq!(sum(&all, |bucket| bucket.excused), 9);
    for path in ["/history", "/"] {
        let page = ui.ask(path).text();
        let told = "Noise and known differences of candidate &#60;i&#62;1 count in this chart";
        assert!(page.contains(told), "{path}: {page}");
    }
    let (first, _) = history(&ui, "candidate_version=%3Ci%3E1");
    assert_eq!(sum(&first, |bucket| bucket.differing), 0);
    assert!(first.as_recorded.is_empty());
    ui.stop();
}
