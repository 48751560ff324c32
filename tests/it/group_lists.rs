//! Groups over time: in lists of ten thousand and on the page of one. And where pages lead to elsewhere.

use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;

/// Groups of the largest report that one has.
const GROUPS: u64 = 10_000;
/// Bytes of a page that a browser draws at once.
const PAGE_BYTES: usize = 512 << 10;

fn page(of: &Mirror<'_>, path: &str) -> String {
    let answer = of.ask(path);
    let text = answer.text();
    assert_eq!(answer.status, 200, "{path}: {text}");
    text
}

/// What stands between two texts.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
    let behind = page.split_once(begin);
    let (_, behind) = behind.unwrap_or_else(|| panic!("no {begin}: {page}"));
    behind.split_once(end).expect(end).0
}

fn text_of(html: &str) -> String {
    html.replace("&#60;", "<")
        .replace("&#62;", ">")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&#38;", "&")
}

/// A store in which a candidate was wrong, version after version.
fn recorded(place: &Place, versions: &[&str]) {
    for version in versions {
        let (legacy, wrong) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
        let more = ["--candidate-version", version];
        let mirror = place.mirror(&legacy.url(), &wrong.url(), &more);
        for number in 0..3 {
            mirror.get(&format!("/items/{number}"));
        }
        mirror.settled(3);
        assert_eq!(mirror.stop().0, 0);
        sql(
            place,
            "UPDATE tallies SET interval_start = interval_start - 3600000000; \
             UPDATE group_tallies SET interval_start = interval_start - 3600000000, \
             first_seen = first_seen - 3600000000, last_seen = last_seen - 3600000000",
        );
    }
}

fn sql(place: &Place, sql: &str) {
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    store.execute_batch(sql).expect(sql);
}

/// As many groups as there can be: copies of the one that is there, each at a place of its own.
fn many(place: &Place) {
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let mut columns = store
        .prepare("SELECT name FROM pragma_table_info('group_tallies')")
        .expect("SQL");
    let columns = columns.query_map([], |row| row.get::<_, String>(0));
    let columns: Result<Vec<String>, _> = columns.expect("rows").collect();
    let columns = columns.expect("names");
    let values: Vec<String> = columns
        .iter()
        .map(|column| match column.as_str() {
            "fingerprint" => "printf('%016x', n)".to_owned(),
            "pattern" => "'/items/*/field_' || n".to_owned(),
            "exchange_digest" => "n".to_owned(),
            other => format!("g.{other}"),
        })
        .collect();
    let copy = format!(
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {GROUPS}) \
         INSERT INTO group_tallies ({}) SELECT {} FROM group_tallies AS g, numbers WHERE \
         (g.tally_id, g.fingerprint) = (SELECT tally_id, fingerprint FROM group_tallies LIMIT 1)",
        columns.join(", "),
        values.join(", ")
    );
    store.execute_batch(&copy).expect(&copy);
}

#[test]
fn lists_of_ten_thousand_groups_are_pages_of_bounded_size() {
    let place = Place::new();
    recorded(&place, &["1"]);
    many(&place);
    let ui = place.ui();
    for path in [
        "/groups?tab=all",
        "/groups?tab=all&page=77",
        "/groups?tab=all&order=rate&find=field_99",
        "/causes",
        "/",
        "/groups/0000000000000001",
    ] {
        let page = page(&ui, path);
        assert!(page.len() < PAGE_BYTES, "{path}: {} bytes", page.len());
    }
    let all = page(&ui, "/groups?tab=all&page=77");
    assert!(
        all.contains("Page 77 of 101, in this order: the gravest first, then the most frequent, as counted up to 20"),
        "{all}"
    );
    assert_eq!(all.matches("class=\"spark\"").count(), 100);
    let last = page(&ui, "/groups?tab=all&page=101");
    assert_eq!(last.matches("class=\"spark\"").count(), 1);
    ui.stop();
}

#[test]
fn a_group_tells_since_which_version_it_is_there_and_has_what_can_be_copied() {
    let place = Place::new();
    recorded(&place, &["1.0", "2.0"]);
    let ui = place.ui();
    let list = page(&ui, "/groups");
    let seen: Vec<&str> = list.split("<small>candidate ").skip(1).collect();
    let versions = seen.iter().map(|rest| rest.split('<').next());
    assert_eq!(
        versions.collect::<Vec<_>>(),
        [Some("1.0"), Some("2.0")],
        "{list}"
    );
    let spark = between(&list, "class=\"spark\"", "</svg>");
    assert!(
        spark.contains("mismatches: 6 in all, 3 at most in a step"),
        "{spark}"
    );
    // Within a range, only what is in it.
    let hour = page(&ui, "/groups?since=90m");
    assert!(hour.contains("mismatches: 3 in all"), "{hour}");

    let group = page(
        &ui,
        &format!("/groups/{}", between(&list, "href=\"/groups/", "\"")),
    );
    for told in [
        "Share of requests of the route that differ here, in steps of",
        "candidate 1.0 → 2.0",
        "class=\"mark\"",
        "<pre id=\"known-command\" data-copy>parity known add ",
    ] {
        assert!(group.contains(told), "{told}: {group}");
    }
    let entry = text_of(between(
        &group,
        "<pre id=\"known-entry\" data-copy>",
        "</pre>",
    ));
    let command = text_of(between(
        &group,
        "<pre id=\"known-command\" data-copy>",
        "</pre>",
    ));
    ui.stop();
    // The entry can be used as it is, and so can the command.
    place.write("parity.toml", &entry);
    let known = place.run(&["known", "list"]);
    assert_eq!(known.code, 0, "{entry}: {}", known.stderr);
    assert!(known.stdout.contains("NAME"), "{}", known.stdout);
    place.write("other.toml", "");
    let words = command.split(' ').skip(1).chain(["--config", "other.toml"]);
    let added = place.run(&words.collect::<Vec<_>>());
    assert_eq!(added.code, 0, "{command}: {}", added.stderr);
    let written = std::fs::read_to_string(place.path().join("other.toml")).expect("a file");
    for line in entry.lines().filter(|line| !line.is_empty()) {
        assert!(written.contains(line), "{line}: {written}");
    }
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[test]
fn pages_lead_to_elsewhere_where_it_is_known_where_to() {
    let place = Place::new();
    let config = place.write(
        "links.toml",
        "[mirror]\ncandidate_version = \"a&b\"\n[links]\n\
         grafana = \"https://grafana.example/d/x?v={candidate_version}&r={route}&g={group}&from={from_ms}&to={to_ms}\"\n\
         trace = \"http://traces.example/{trace_id}\"\n\
         logs = \"https://logs.example/?from={from_ms}#{candidate_version}\"\n",
    );
    let config = config.display().to_string();
    let (legacy, wrong) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let mirror = place.mirror(&legacy.url(), &wrong.url(), &["--config", &config]);
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let traced = [("traceparent", parent.as_str())];
    client::send(mirror.address, "GET", "/items/1", &traced, b"");
    mirror.get("/items/2");
    mirror.settled(2);
    let elsewhere = |page: &str| {
        let found = page.split_once("<p class=\"elsewhere\">");
        let found = found.and_then(|(_, behind)| behind.split_once("</p>"));
        text_of(found.map_or("", |(found, _)| found))
    };
    // Of all routes there is no link for one.
    let overview = elsewhere(&page(&mirror, "/"));
    assert!(
        overview.contains("https://logs.example/?from=") && overview.contains("#a%26b\""),
        "{overview}"
    );
    assert!(
        !overview.contains("grafana") && !overview.contains("traces"),
        "{overview}"
    );
    let list = page(&mirror, "/groups");
    let group = format!("/groups/{}", between(&list, "href=\"/groups/", "\""));
    let group = page(&mirror, &text_of(&group));
    let of_group = elsewhere(&group);
    assert!(
        of_group.contains("https://grafana.example/d/x?v=a%26b&r=GET%20%2Fitems%2F%7Bid%7D&g="),
        "{of_group}"
    );
    assert!(!of_group.contains("traces"), "{of_group}");
    let listed = mirror.ask("/api/v1/mismatches").json();
    for one in listed["mismatches"].as_array().expect("a list") {
        let id = one["id"].as_str().expect("an id");
        let links = elsewhere(&page(&mirror, &format!("/mismatches/{id}")));
        let is_traced = one["path"] == "/items/1";
        let to = format!("href=\"http://traces.example/{TRACE}\"");
        assert_eq!(links.contains(&to), is_traced, "{links}");
        assert!(links.contains("grafana.example") && links.contains("rel=\"noopener noreferrer\""));
    }
    mirror.stop();
    for (text, told) in [
        (
            "javascript:alert(1)",
            "is no address; begin it with https://",
        ),
        ("https://x.example/{trace}", "did you mean `trace_id`?"),
        ("https://{route}/", "has a name in the host"),
    ] {
        place.write("wrong.toml", format!("[links]\n\ntrace = \"{text}\"\n"));
        let checked = place.run(&["config", "check", "--config", "wrong.toml"]);
        assert_ne!(checked.code, 0, "{text}");
        let said = format!("{}{}", checked.stdout, checked.stderr);
        assert!(
            said.contains("wrong.toml:3:1: links.trace: ") && said.contains(told),
            "{text}: {said}"
        );
    }
}
