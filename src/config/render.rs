//! The configuration as a person or an editor wants to see it: a file to start from, a list with origins, a JSON
//! Schema. All three are made from the settings table.

use std::fmt::Write;

use parity_comparator::rules::{ACTIONS, PROFILES, TYPES};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind as FindingKind};
use serde_json::{Map, Value, json};

use super::Layers;
use super::problem::Origin;
use super::settings::{Kind, ROUTE_KEYS, RULE_KEYS, SECTIONS, SETTINGS, Setting};

/// How long the rule of the example holds: 90 days.
const A_QUARTER_MICROS: i64 = 90 * 24 * 60 * 60 * 1_000_000;

/// A commented parity.toml in which every setting stands with its default, commented out, and the two upstreams are
/// filled in for the user to change.
pub(crate) fn starting_file() -> String {
    let mut text = String::from(
        "#:schema ./schemas/json/config.v1.json\n\
         # Every key is also an environment variable (PARITY_…), most are flags of `parity mirror`.\n\
         # Precedence: this file < environment < flags. Check it with `parity config check`.\n\n",
    );
    for section in [""].iter().chain(SECTIONS) {
        if !section.is_empty() {
            let _infallible = writeln!(text, "\n[{section}]");
        }
        for setting in SETTINGS
            .iter()
            .filter(|setting| setting.section() == *section && setting.kind != Kind::Secret)
        {
            let _infallible = writeln!(text, "# {}", setting.about);
            let _infallible = match setting.key {
                "mirror.legacy" => writeln!(text, "legacy = \"http://127.0.0.1:7001\""),
                "mirror.candidate" => writeln!(text, "candidate = \"http://127.0.0.1:7002\""),
                _ => writeln!(text, "# {} = {}", setting.name(), example(setting)),
            };
        }
    }
    text.push_str(
        r#"
# Routes are recognized by themselves (/users/42 → /users/{id}); name those that are not, or allow a write.
# [[route]]
# match = "POST /quotes"
# shadow = true                    # safe to send twice

# What differs on purpose. Every rule says why, and until when.
# [[rule]]
# id = "updated-at"
# path = "/**/updated_at"
# action = "ignore"                # also: accept, unordered, key, tolerance, as, mask
# reason = "set on read"
# owner = "payments"
"#,
    );
    let soon = Timestamp::now().saturating_add_micros(A_QUARTER_MICROS);
    let date: String = soon.to_string().chars().take("2027-03-01".len()).collect();
    let _infallible = writeln!(text, "# expires = {date:?}");
    text
}

fn example(setting: &Setting) -> String {
    let value = setting
        .default
        .unwrap_or(match (setting.kind, setting.name()) {
            (Kind::Count, _) => "2",
            (Kind::Path, _) => "path/to/file",
            (_, "host") => "payments.example",
            (_, "rewrite") => "/api -> /v2",
            (_, "via") => "parity",
            _ => "…",
        });
    match setting.kind {
        Kind::Count | Kind::Share => value.to_owned(),
        Kind::Switch => (value == "on").to_string(),
        Kind::List => "[]".to_owned(),
        _ => format!("{value:?}"),
    }
}

/// One line a setting: `key = value`, with its origin if asked for.
pub(crate) fn list(layers: &Layers, origin: bool) -> String {
    let width = SETTINGS
        .iter()
        .map(|setting| setting.key.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for setting in SETTINGS {
        let (value, from) = layers.shown(setting);
        let value = value.map_or_else(|| "(not set)".to_owned(), |value| format!("{value:?}"));
        let _infallible = write!(text, "{:width$} = {value}", setting.key);
        if origin {
            let _infallible = write!(text, "  # {from}");
        }
        text.push('\n');
    }
    text
}

/// The same as a document.
pub(crate) fn document(layers: &Layers) -> Value {
    let settings: Map<_, _> = SETTINGS
        .iter()
        .map(|setting| {
            let (value, origin) = layers.shown(setting);
            let kind = match &origin {
                Origin::Default => "default",
                Origin::File { .. } => "file",
                Origin::Environment(_) => "environment",
                Origin::Flag(_) => "flag",
            };
            let entry = json!({"value": value, "from": kind, "origin": origin.to_string()});
            (setting.key.to_owned(), entry)
        })
        .collect();
    json!({"schema": "parity.config/v1", "settings": settings})
}

/// The JSON Schema of parity.toml, for editors.
pub(crate) fn schema() -> Value {
    let mut properties = Map::new();
    for setting in SETTINGS
        .iter()
        .filter(|setting| setting.section().is_empty())
    {
        properties.insert(setting.name().to_owned(), property(setting));
    }
    for section in SECTIONS {
        let keys: Map<_, _> = SETTINGS
            .iter()
            .filter(|setting| setting.section() == *section && setting.kind != Kind::Secret)
            .map(|setting| (setting.name().to_owned(), property(setting)))
            .collect();
        let table = json!({"type": "object", "additionalProperties": false, "properties": keys});
        properties.insert((*section).to_owned(), table);
    }
    properties.insert("route".to_owned(), entries(ROUTE_KEYS, &["match"]));
    properties.insert("rule".to_owned(), entries(RULE_KEYS, &["id", "action"]));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "config.v1.json",
        "title": "parity.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

fn property(setting: &Setting) -> Value {
    let mut property = match setting.kind {
        Kind::Count => json!({"type": "integer", "minimum": 1}),
        Kind::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
        Kind::Switch => json!({"enum": [true, false, "on", "off"]}),
        Kind::List if setting.key == "profiles" => {
            let names: Vec<_> = PROFILES.iter().map(|profile| profile.name).collect();
            json!({"type": "array", "items": {"enum": names}})
        }
        Kind::List => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Size => json!({"type": ["string", "integer"]}),
        Kind::Text
        | Kind::Address
        | Kind::Upstream
        | Kind::Store
        | Kind::Path
        | Kind::Duration
        | Kind::Secret => {
            json!({"type": "string"})
        }
    };
    property["description"] = setting.about.into();
    if let Some(default) = setting.default {
        property["default"] = match setting.kind {
            Kind::Count => default.parse::<u64>().map_or(Value::Null, Value::from),
            Kind::Share => default.parse::<f64>().map_or(Value::Null, Value::from),
            Kind::Switch => Value::Bool(default == "on"),
            _ => default.into(),
        };
    }
    property
}

fn entries(keys: &[(&str, &str)], required: &[&str]) -> Value {
    let properties: Map<_, _> = keys
        .iter()
        .map(|(key, about)| {
            let mut property = match *key {
                "shadow" => json!({"type": "boolean"}),
                "part" => json!({"enum": ["status", "header", "trailer", "body"]}),
                "action" => json!({"enum": ACTIONS}),
                "type" => json!({"enum": TYPES}),
                "kind" => json!({"enum": FindingKind::ALL}),
                "explanations" => {
                    json!({"type": "array", "minItems": 1, "items": {"enum": Explanation::ALL}})
                }
                _ => json!({"type": "string"}),
            };
            property["description"] = (*about).into();
            ((*key).to_owned(), property)
        })
        .collect();
    json!({"type": "array", "items": {
        "type": "object", "additionalProperties": false, "required": required, "properties": properties,
    }})
}
