//! What can be said of the files without a server: they fit together, and to the words of the program.

use std::collections::BTreeSet;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::Reason;
use serde_json::Value;

use super::{Board, boards, list, text, word, yaml};
use crate::support::root;

fn all() -> impl Iterator<Item = Board> {
    boards("clickhouse").into_iter().chain(boards("prometheus"))
}

#[test]
fn dashboards_are_whole_and_say_what_they_show() {
    let mut uids = BTreeSet::new();
    for board in all() {
        assert!(uids.insert(board.uid().to_owned()), "{}", board.name);
        assert_eq!(board.document["tags"][0], "parity", "{}", board.name);
        let mut ids = BTreeSet::new();
        let mut taken: Vec<[i64; 4]> = Vec::new();
        for panel in list(&board.document, "/panels") {
            let at = board.at(panel);
            assert!(
                ids.insert(panel["id"].as_i64()),
                "{at}: its id is used twice"
            );
            let place = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_i64().expect(key));
            let [x, y, w, h] = place;
            assert!(x >= 0 && w > 0 && x + w <= 24, "{at}: {place:?}");
            for [other_x, other_y, other_w, other_h] in &taken {
                let apart = x + w <= *other_x
                    || other_x + other_w <= x
                    || y + h <= *other_y
                    || other_y + other_h <= y;
                assert!(apart, "{at} lies on another panel");
            }
            taken.push(place);
        }
        for panel in board.panels() {
            let at = board.at(panel);
            let targets = list(panel, "/targets");
            assert!(!targets.is_empty(), "{at} asks nothing");
            for source in targets.iter().chain([panel]) {
                assert_eq!(source["datasource"]["uid"], "${datasource}", "{at}");
            }
        }
        for variable in board.variables() {
            assert!(
                variable.get("label").is_some(),
                "{}: {variable}",
                board.name
            );
        }
    }
    let folder = root().join("dashboards/grafana/dashboards/clickhouse");
    for name in ["overview", "route", "group", "latency", "pipeline"] {
        assert!(folder.join(format!("{name}.json")).exists(), "{name}");
    }
}

/// The words in single quotes or between bars of every list that begins with `first`.
fn lists_that_begin_with(
    text: &str,
    first: &str,
    open: &str,
    close: char,
) -> Vec<BTreeSet<String>> {
    let begin = format!("{open}{first}");
    let rest = text.split(&begin).skip(1);
    rest.map(|rest| {
        let inside = rest.split(close).next().unwrap_or_default();
        let words = inside
            .split(['|', ','])
            .map(|word| word.trim_matches([' ', '\'']));
        let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
        std::iter::once(first.to_owned()).chain(words).collect()
    })
    .collect()
}

/// Each list of words in a query must be the one that the program means, or it shows less than it says when a word is added.
#[test]
fn lists_of_words_are_those_of_the_program() {
    let words = |wanted: fn(Reason) -> bool| -> BTreeSet<String> {
        let reasons = Reason::ALL.iter().filter(|reason| wanted(**reason));
        reasons.map(|reason| reason.as_str().to_owned()).collect()
    };
    let dropped = words(Reason::is_our_drop);
    // Those that begin with `candidate_` are found by that.
    let mut hidden = words(Reason::hides_candidate_time);
    hidden.retain(|word| !word.starts_with("candidate_"));
    let failed = ClientOutcome::ALL.iter().filter(|one| one.is_failure());
    let failed: BTreeSet<String> = failed.map(|one| one.as_str().to_owned()).collect();
    let mut found = [0; 3];
    let mut texts: Vec<String> = all().map(|board| board.document.to_string()).collect();
    texts.push(text("provisioning/alerting/parity-clickhouse.yaml"));
    texts.push(text("prometheus/parity.rules.yml").replace('"', "\\\""));
    for text in &texts {
        for (place, (first, expected)) in [
            ("request_too_large", &dropped),
            ("in_flight_cap", &hidden),
            ("legacy_unreachable", &failed),
        ]
        .into_iter()
        .enumerate()
        {
            let of_sql = lists_that_begin_with(text, first, "('", ')')
                .into_iter()
                .chain(lists_that_begin_with(text, first, "['", ']'));
            let of_promql = lists_that_begin_with(text, first, "=~\\\"", '\\');
            for list in of_sql.chain(of_promql) {
                assert_eq!(&list, expected);
                found[place] += 1;
            }
        }
    }
    assert!(found[0] >= 4 && found[1] >= 1 && found[2] >= 4, "{found:?}");
}

#[test]
fn alerts_lead_to_a_panel_and_to_what_is_to_be_done() {
    let page = std::fs::read_to_string(root().join("docs/grafana.md")).expect("a page");
    let explained = |runbook: &str| {
        let anchor = runbook.strip_prefix("docs/grafana.md#").expect(runbook);
        let mut rows = page.lines().filter(|line| line.starts_with("| `"));
        rows.any(|row| {
            let name = row.split('`').nth(1).unwrap_or_default();
            name.eq_ignore_ascii_case(anchor)
        })
    };
    let boards = boards("clickhouse");
    let file = yaml("provisioning/alerting/parity-clickhouse.yaml");
    let mut rules = 0;
    for rule in list(&file, "/groups/0/rules") {
        let uid = word(rule, "/uid");
        let board = boards.iter().find(|one| one.uid() == rule["dashboardUid"]);
        let board = board.unwrap_or_else(|| panic!("{uid}: no such dashboard"));
        let panel = board.panels().find(|panel| panel["id"] == rule["panelId"]);
        assert!(panel.is_some(), "{uid}: no such panel in {}", board.name);
        let notes = &rule["annotations"];
        assert_eq!(notes["__dashboardUid__"], rule["dashboardUid"], "{uid}");
        assert_eq!(notes["__panelId__"], rule["panelId"].to_string(), "{uid}");
        assert_eq!(word(rule, "/data/0/datasourceUid"), "parity-clickhouse");
        let runbook = word(notes, "/runbook");
        assert!(
            explained(runbook),
            "{uid}: docs/grafana.md does not explain {runbook}"
        );
        rules += 1;
    }
    let tests = text("prometheus/parity.test.yml");
    let file = yaml("prometheus/parity.rules.yml");
    for group in list(&file, "/groups") {
        for rule in list(group, "/rules") {
            let name = word(rule, "/alert");
            let runbook = word(rule, "/annotations/runbook");
            assert_eq!(runbook, format!("docs/grafana.md#{}", name.to_lowercase()));
            assert!(
                explained(runbook),
                "docs/grafana.md does not explain {name}"
            );
            let fires = format!("alertname=\"{name}\"");
            assert!(tests.contains(&fires), "no test makes {name} fire");
            rules += 1;
        }
    }
    assert!(rules > 30, "{rules}");
}

#[test]
fn provisioned_sources_are_those_that_dashboards_begin_with() {
    let sources = yaml("provisioning/datasources/parity.yaml");
    let known: BTreeSet<(&str, &str)> = list(&sources, "/datasources")
        .iter()
        .map(|one| (word(one, "/uid"), word(one, "/type")))
        .collect();
    for board in all() {
        let source: &Value = &board.variables()[0];
        let chosen = (word(source, "/current/value"), word(source, "/query"));
        assert!(known.contains(&chosen), "{}: {chosen:?}", board.name);
    }
    let dashboards = yaml("provisioning/dashboards/parity.yaml");
    assert_eq!(word(&dashboards, "/providers/0/type"), "file");
}
