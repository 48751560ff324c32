//! The dashboards for ClickHouse on a real server with what a real mirror wrote.

use serde_json::Value;

use super::expand::{Range, Variables, link, sql};
use super::{Board, boards, links, list, word};
use crate::servers::{ClickHouse, Database};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::{Answer, Service};

/// A route that somebody named with all that ends a quoted text somewhere, as TOML has it, and a request of it.
const HOSTILE: [&str; 2] = [r"GET /it's\\x/$c/{id}", r"/it's\x/$c/7"];
/// Requests to each of two paths.
const EACH: u64 = 30;

/// The rows of a query with the types of its columns.
pub(super) fn ask(database: &Database<'_>, at: &str, sql: &str) -> Value {
    let answer = database.sql(&format!("{sql}\nFORMAT JSON"));
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{at}: {error}: {answer}"))
}

/// A number, however the server writes it.
pub(super) fn number(value: &Value) -> f64 {
    let text = || value.as_str().and_then(|text| text.parse().ok());
    let found = value.as_f64().or_else(text);
    found.unwrap_or_else(|| panic!("{value} is no number"))
}

fn at(path: &str, body: &str) -> Answer {
    let hostile = path.contains("it's");
    let key = if hostile {
        "k\u{202e}\u{0}'\\\"<b>"
    } else {
        "a"
    };
    let key = serde_json::to_string(key).expect("a text");
    Answer::json(format!("{{{key}:{body},\"t\":{body}}}"))
}

/// A mirror that sees all that the dashboards show: differences on two routes, one with a name that is meant to end quotes, equal
/// answers on a third, requests that are not compared, rechecks, a rule, a decision.
fn written(place: &Place, url: &str) -> Report {
    place.write(
        "parity.toml",
        format!(
            "[[rule]]\nid = \"the-clock\"\npath = \"/t\"\naction = \"ignore\"\nreason = \"a clock\"\n\
             [[route]]\nmatch = \"{}\"\n",
            HOSTILE[0]
        ),
    );
    let of = |body: &'static str| {
        Service::start(move |request| match request.target.as_str() {
            "/same" => Answer::json("{\"a\":1}"),
            path => at(path, body),
        })
    };
    let (legacy, candidate) = (of("1"), of("2"));
    let more = [
        "--store",
        url,
        "--migration",
        "pay'ments",
        "--candidate-version",
        "2",
    ];
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &more, |command| {
        command.env("PARITY_RECHECK_RATE", "100")
    });
    let paths = ["/items/7", HOSTILE[1], "/same"];
    let send = |mirror: &Mirror<'_>, method: &str| {
        for path in paths {
            client::send(mirror.address, method, path, &[], b"");
        }
    };
    for _ in 0..EACH {
        send(&mirror, "GET");
    }
    let off = client::send(mirror.admin, "POST", "/api/v1/shadowing/off", &[], b"");
    assert_eq!(off.status, 200, "{}", off.text());
    send(&mirror, "GET");
    assert_eq!(mirror.stop().0, 0);
    let ask = |command| {
        place.run(&[
            command,
            "--store",
            url,
            "--migration",
            "pay'ments",
            "--output",
            "json",
        ])
    };
    assert_eq!(ask("gate").code, 1, "it differs always");
    let report = ask("report");
    assert_eq!(report.code, 0, "{}", report.stderr);
    Report(report.json())
}

/// The variables of a dashboard, each with the value that `chosen` takes of those that its query gives.
fn variables(
    database: &Database<'_>,
    board: &Board,
    range: Range,
    chosen: impl Fn(&str, Vec<String>) -> String,
) -> Variables {
    let mut known = Variables::default();
    for variable in board.variables() {
        let name = word(variable, "/name");
        let value = match word(variable, "/type") {
            "query" => {
                let query = sql(word(variable, "/query/rawSql"), range, &known);
                let place = format!("{}: ${name}", board.name);
                let rows = ask(database, &place, &query);
                // Of two columns the first is the value, the second what is shown.
                let first = word(&rows, "/meta/0/name");
                let values = list(&rows, "/data").iter();
                let values: Vec<String> = values
                    .map(|row| row[first].as_str().expect("a text").to_owned())
                    .collect();
                assert!(!values.is_empty(), "{place} has no values: {query}");
                chosen(name, values)
            }
            _ => word(variable, "/current/value").to_owned(),
        };
        known.set(name, &value);
    }
    known
}

fn shared_tables(place: &Place, database: &Database<'_>) -> String {
    let url = database.url();
    let ended = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    url
}

fn route_of(report: &Report, part: &str) -> String {
    let routes = list(&report.0, "/routes").iter();
    let mut names = routes.map(|route| word(route, "/route"));
    let found = names.find(|name| name.contains(part));
    found
        .unwrap_or_else(|| panic!("no route {part}"))
        .to_owned()
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn every_query_returns_what_was_written_whatever_it_is_called() {
    let server = ClickHouse::shared();
    let database = server.database();
    let place = Place::new();
    let url = shared_tables(&place, &database);
    let report = written(&place, &url);
    let range = Range::now();
    let items = route_of(&report, "/items");
    let hostile = route_of(&report, "it's");
    let mut queries = 0;
    for board in boards("clickhouse") {
        for (route, version) in [(&items, "2"), (&hostile, "*")] {
            let variables = variables(&database, &board, range, |name, values| match name {
                "route" => {
                    assert!(values.contains(route), "{values:?} {route}");
                    route.clone()
                }
                "version" => {
                    assert_eq!(values, ["2"]);
                    version.to_owned()
                }
                _ => values.into_iter().next().expect("one"),
            });
            let annotations = list(&board.document, "/annotations/list").iter();
            let annotations = annotations.filter_map(|one| Some((one, one.get("target")?)));
            let panels = board.panels();
            let targets =
                panels.flat_map(|panel| list(panel, "/targets").iter().map(move |t| (panel, t)));
            for (of, target) in annotations.chain(targets) {
                let at = format!("{} {}: {}", board.name, of["name"], of["title"]);
                let query = sql(word(target, "/rawSql"), range, &variables);
                let rows = ask(&database, &at, &query);
                assert!(
                    !list(&rows, "/data").is_empty(),
                    "{at} with {route} has no rows: {query}"
                );
                for column in list(&rows, "/meta") {
                    let name = word(column, "/name");
                    let mut values = list(&rows, "/data").iter().map(|row| &row[name]);
                    let all_void = values.all(|value| value.is_null() || value == "nan");
                    // Of a process that has ended nobody can say how far it is behind.
                    assert!(
                        !all_void || name.ends_with("ehind"),
                        "{at}: {name} is never told: {query}"
                    );
                }
                for row in list(&rows, "/data") {
                    let shown = row.to_string();
                    assert!(
                        !shown.contains('\u{202e}') && !shown.contains("\\u0000"),
                        "{at}: {row}"
                    );
                }
                is_as_grafana_wants_it(&at, target, &rows);
                queries += 1;
            }
        }
    }
    assert!(queries > 80, "only {queries} queries");
    numbers_are_those_of_the_report(&database, &report, range);
    links_lead_somewhere(&place, &url, &database, range, &items);
}

/// A chart needs a time, and else numbers, with texts that tell the lines apart.
fn is_as_grafana_wants_it(at: &str, target: &Value, rows: &Value) {
    let types = list(rows, "/meta").iter().map(|one| word(one, "/type"));
    let types: Vec<&str> = types.collect();
    let (times, numbers) = (
        types
            .iter()
            .filter(|kind| kind.contains("DateTime"))
            .count(),
        types
            .iter()
            .filter(|kind| ["Int", "Float"].iter().any(|number| kind.contains(number)))
            .count(),
    );
    match target["format"].as_i64() {
        Some(0) => {
            assert_eq!(times, 1, "{at}: {types:?}");
            assert!(numbers > 0, "{at}: {types:?}");
            assert!(types.len() - times - numbers <= 1, "{at}: {types:?}");
        }
        Some(1) => {}
        other => panic!("{at}: format {other:?}"),
    }
}

/// The panel of a dashboard by its title.
fn panel<'a>(board: &'a Board, title: &str) -> &'a Value {
    let found = board.panels().find(|panel| panel["title"] == title);
    found.unwrap_or_else(|| panic!("{} has no {title}", board.name))
}

fn shows(row: &Value, column: &str, expected: f64) {
    let apart = (number(&row[column]) - expected).abs();
    assert!(apart < 1e-9, "{column} is not {expected}: {row}");
}

fn numbers_are_those_of_the_report(database: &Database<'_>, report: &Report, range: Range) {
    let boards = boards("clickhouse");
    let board = |uid: &str| boards.iter().find(|one| one.uid() == uid).expect("a board");
    let rows = |uid: &str, title: &str| {
        let board = board(uid);
        let variables = variables(database, board, range, |name, values| match name {
            "version" | "route" => "*".to_owned(),
            _ => values.into_iter().next().expect("one"),
        });
        let query = word(panel(board, title), "/targets/0/rawSql");
        ask(database, title, &sql(query, range, &variables))["data"].clone()
    };
    let count = |key: &str| report.count(key) as f64;
    let clients = &rows("parity-overview", "Clients")[0];
    shows(clients, "Received", count("received"));
    shows(clients, "Without a whole answer", 0.0);
    let verdicts = &rows("parity-overview", "Verdicts")[0];
    let compared = count("match") + count("mismatch");
    shows(verdicts, "Compared", compared);
    shows(verdicts, "Differ", count("mismatch") / compared);

    let mut shown: Vec<(String, f64)> = list(&rows("parity-overview", "Groups"), "")
        .iter()
        .map(|row| {
            let (at_least, share) = (number(&row["At least"]), number(&row["Share"]));
            assert!(0.0 < at_least && at_least < share, "{row}");
            assert!(share <= number(&row["At most"]) + 1e-9, "{row}");
            (
                word(row, "/Fingerprint").to_owned(),
                number(&row["Mismatches"]),
            )
        })
        .collect();
    let groups = list(&report.0, "/groups").iter();
    let mut expected: Vec<(String, f64)> = groups
        .flat_map(|group| std::iter::once(group).chain(list(group, "/also")))
        .map(|group| {
            let count = group.get("count").map_or(EACH as f64, number);
            (word(group, "/fingerprint").to_owned(), count)
        })
        .collect();
    shown.sort_by(|one, two| one.0.cmp(&two.0));
    expected.sort_by(|one, two| one.0.cmp(&two.0));
    assert_eq!(shown, expected);

    let routes = rows("parity-latency", "Routes");
    for route in list(&report.0, "/routes") {
        let name = word(route, "/route");
        let row = list(&routes, "").iter().find(|row| row["Route"] == name);
        let row = row.unwrap_or_else(|| panic!("{name} is missing in {routes}"));
        for (column, pointer) in [
            ("Legacy p50", "/legacy_us/p50"),
            ("Candidate p99", "/candidate_us/p99"),
        ] {
            let micros = route.pointer(pointer).expect("a time");
            let shown = number(&row[column]) * 1e6;
            assert!(
                (shown - number(micros)).abs() < 0.5,
                "{name} {column}: {shown} {micros}"
            );
        }
    }
    let rules = rows("parity-pipeline", "Rules");
    assert_eq!(rules[0]["Rule"], "the-clock", "{rules}");
}

fn links_lead_somewhere(
    place: &Place,
    url: &str,
    database: &Database<'_>,
    range: Range,
    route: &str,
) {
    let mut ui = place.start(&mut place.command(&["ui", "--store", url, "--admin", "127.0.0.1:0"]));
    ui.admin = ui.announced("serving http://");
    let page = format!("http://{}", ui.admin);
    let boards = boards("clickhouse");
    let mut followed = 0;
    for board in &boards {
        let mut variables = variables(database, board, range, |name, values| match name {
            "route" => route.to_owned(),
            _ => values.into_iter().next().expect("one"),
        });
        variables.set("parity", &page);
        let none = |column: &str| panic!("{column} outside of a row");
        let own = list(&board.document, "/links").iter();
        let mut urls: Vec<String> = own
            .filter(|one| one["type"] == "link")
            .map(|one| link(word(one, "/url"), range, &variables, none))
            .collect();
        for panel in board.panels().filter(|panel| !links(panel).is_empty()) {
            let query = sql(word(panel, "/targets/0/rawSql"), range, &variables);
            let rows = ask(database, &board.at(panel), &query);
            let first = &rows["data"][0];
            urls.extend(links(panel).iter().map(|one| {
                link(word(one, "/url"), range, &variables, |column| {
                    let value = first[column].as_str();
                    let missing = || panic!("{}: no column {column}", board.at(panel));
                    value.unwrap_or_else(missing).to_owned()
                })
            }));
        }
        for url in urls {
            if let Some(target) = url.strip_prefix(&page) {
                let answer = ui.ask(target);
                assert_eq!(answer.status, 200, "{target}: {}", answer.text());
            } else {
                leads_to_a_dashboard(&boards, &url);
            }
            followed += 1;
        }
    }
    assert!(followed > 20, "{followed}");
}

fn leads_to_a_dashboard(boards: &[Board], url: &str) {
    let rest = url.strip_prefix("/d/").unwrap_or_else(|| panic!("{url}"));
    let (uid, query) = rest.split_once('?').expect("variables");
    let board = boards.iter().find(|board| board.uid() == uid);
    let board = board.unwrap_or_else(|| panic!("{url}: no such dashboard"));
    for name in query
        .split('&')
        .filter_map(|part| part.strip_prefix("var-"))
    {
        let name = name.split('=').next().unwrap_or_default();
        let known = board.variables().iter().any(|one| one["name"] == name);
        assert!(known, "{url}: {uid} has no variable {name}");
    }
}
