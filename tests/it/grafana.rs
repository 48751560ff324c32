//! dashboards/grafana: every query runs on what the program itself wrote, every alert fires when it should and only then, and every
//! link leads somewhere.
//!
//! Grafana itself is not here. What it does to a query before the data source gets it is done by `expand`.

mod alerts;
mod clickhouse;
mod expand;
mod files;
mod prometheus;

use std::path::PathBuf;

use serde_json::Value;

use crate::support::root;

/// A file of dashboards/grafana.
fn file(name: &str) -> PathBuf {
    root().join("dashboards/grafana").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn yaml(name: &str) -> Value {
    serde_saphyr::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A dashboard.
struct Board {
    name: String,
    document: Value,
}

/// The dashboards of a data source: `clickhouse` or `prometheus`.
fn boards(source: &str) -> Vec<Board> {
    let folder = file("dashboards").join(source);
    let mut boards: Vec<Board> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            let name = entry.expect("readable").file_name();
            let name = name.into_string().expect("UTF-8");
            let document = text(&format!("dashboards/{source}/{name}"));
            let document =
                serde_json::from_str(&document).unwrap_or_else(|error| panic!("{name}: {error}"));
            Board { name, document }
        })
        .collect();
    boards.sort_by(|one, two| one.name.cmp(&two.name));
    assert!(!boards.is_empty(), "no dashboards for {source}");
    boards
}

fn list<'a>(of: &'a Value, pointer: &str) -> &'a [Value] {
    let found = of.pointer(pointer).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

fn word<'a>(of: &'a Value, pointer: &str) -> &'a str {
    let found = of.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {pointer} of {of}"))
}

impl Board {
    fn uid(&self) -> &str {
        word(&self.document, "/uid")
    }

    /// All panels but the headings of rows.
    fn panels(&self) -> impl Iterator<Item = &Value> {
        let panels = list(&self.document, "/panels").iter();
        panels.filter(|panel| panel["type"] != "row")
    }

    fn variables(&self) -> &[Value] {
        list(&self.document, "/templating/list")
    }

    /// What a panel is called in a failure.
    fn at(&self, panel: &Value) -> String {
        format!("{}: {}", self.name, panel["title"])
    }
}

/// The links of a panel, of its fields and of the table's columns.
fn links(panel: &Value) -> Vec<&Value> {
    let defaults = list(panel, "/fieldConfig/defaults/links").iter();
    let overrides = list(panel, "/fieldConfig/overrides").iter();
    let properties = overrides.flat_map(|one| list(one, "/properties"));
    let columns = properties.filter(|one| one["id"] == "links");
    defaults
        .chain(columns.flat_map(|one| list(one, "/value")))
        .collect()
}
