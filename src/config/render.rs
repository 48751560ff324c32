//! The configuration as a person or an editor wants to see it: a file to start from, a list with origins, a JSON
//! Schema. All three are made from the settings table.

use std::fmt::Write;

use parity_schemas::documents::{CONFIG_SCHEMA, ConfigDocument, Layer, ShownSetting};
use parity_schemas::time::Timestamp;
use serde_json::{Map, Value, json};

use super::Layers;
use super::problem::Origin;
use super::settings::entries::{EntryKey, known, of_rules, route, substitute};
use super::settings::{self, Kind, SECTIONS, Setting, name_of};
use super::value;

/// How long the rule of the example applies: 90 days.
const A_QUARTER_MICROS: i64 = 90 * 24 * 60 * 60 * 1_000_000;

/// A commented parity.toml in which every setting stands with its default, commented out, and the two upstreams are
/// filled in for the user to change. What has no default stands further in, with an example.
pub(crate) fn starting_file() -> String {
    let mut text = String::from(
        "# An editor completes and checks this file by its JSON Schema: `parity config schema > parity.schema.json`, and then\n\
         # `#:schema ./parity.schema.json` as the first line.\n\
         # Every key is also an environment variable (PARITY_…), most are flags of `parity mirror`.\n\
         # Precedence: this file < environment < flags. Check it with `parity config check`.\n\
         # A setting behind `# ` shows its default; one that stands further in has none, and shows an example.\n\n",
    );
    for section in SECTIONS {
        if !section.name.is_empty() {
            let _infallible = writeln!(text, "\n[{}]", section.name);
        }
        let in_file = |setting: &&&Setting| setting.kind != Kind::Secret;
        for setting in section.settings.iter().filter(in_file) {
            let mark = match setting.default() {
                _ if setting.filled_in => "",
                Some(_) => "# ",
                None => "#   ",
            };
            let (about, name, value) = (setting.about, setting.name(), example(setting));
            let _infallible = writeln!(text, "# {about}\n{mark}{name} = {value}");
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
    text.push_str(
        r#"
# Differences that somebody knows of; `parity known add` writes them, `parity known list` shows how each stands.
# [[known]]
# id = "total-rounding"
# path = "/items/*/total"
# blocks = false                   # it does not count against the candidate
# reason = "rounded to cents from now on"
# owner = "payments"
"#,
    );
    let _infallible = writeln!(text, "# expires = {date:?}");
    text.push_str(
        r#"
# What `parity replay` puts in the place of recorded tokens: each service gets what it gave out itself in the session.
# [[substitute]]
# from = "POST /login"
# take = "body:/token"             # also: header:NAME, cookie:NAME; or in the place of both: file, env
# put = "header:authorization"     # also: cookie:NAME, query:NAME, form:NAME, body:/POINTER
# as = "Bearer {}"
"#,
    );
    text
}

fn example(setting: &Setting) -> String {
    let value = setting.default().or(setting.example.map(str::to_owned));
    let value = value.unwrap_or_else(|| {
        let value = match setting.kind {
            Kind::Count | Kind::Number | Kind::Decimal => "2",
            Kind::Path => "path/to/file",
            _ => "…",
        };
        value.to_owned()
    });
    match setting.kind {
        Kind::Count | Kind::Number | Kind::Share | Kind::Decimal => value,
        Kind::Switch => (value == "on").to_string(),
        Kind::List => format!("{:?}", value::list(&value)),
        _ => format!("{value:?}"),
    }
}

/// One line for each setting: `key = value`, with its origin if asked for.
pub(crate) fn list(layers: &Layers, origin: bool) -> String {
    let width = settings::all().map(|setting| setting.key.len()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for setting in settings::all() {
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

/// The same list as a JSON document.
pub(crate) fn document(layers: &Layers) -> ConfigDocument {
    let settings = settings::all().map(|setting| {
        let (value, origin) = layers.shown(setting);
        let from = match &origin {
            Origin::Default => Layer::Default,
            Origin::File { .. } => Layer::File,
            Origin::Environment(_) => Layer::Environment,
            Origin::Flag(_) => Layer::Flag,
        };
        let origin = origin.to_string();
        let shown = ShownSetting {
            value,
            from,
            origin,
        };
        (setting.key.to_owned(), shown)
    });
    ConfigDocument {
        schema: CONFIG_SCHEMA.to_owned(),
        settings: settings.collect(),
    }
}

/// The JSON Schema of parity.toml, for editors.
pub(crate) fn schema() -> Value {
    let mut properties = Map::new();
    for section in SECTIONS {
        let here = section.settings.iter();
        let here = here.filter(|setting| setting.kind != Kind::Secret);
        let mut keys: Map<_, _> = here
            .map(|setting| (setting.name().to_owned(), property(setting)))
            .collect();
        keys.extend(former(section.name));
        if section.name.is_empty() {
            properties.append(&mut keys);
        } else {
            let table =
                json!({"type": "object", "additionalProperties": false, "properties": keys});
            properties.insert(section.name.to_owned(), table);
        }
    }
    properties.insert("route".to_owned(), tables(route::ALL.iter().copied()));
    properties.insert("rule".to_owned(), tables(&of_rules()));
    properties.insert("known".to_owned(), tables(known::ALL.iter().copied()));
    properties.insert(
        "substitute".to_owned(),
        tables(substitute::ALL.iter().copied()),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "config.v1.json",
        "title": "parity.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

/// The former names that settings had in this section.
fn former(section: &str) -> impl Iterator<Item = (String, Value)> {
    let renamed = settings::all().filter_map(|setting| Some((setting, setting.formerly?)));
    let here = renamed.filter(move |(_, key)| {
        let of = key.split_once('.').map_or("", |(section, _)| section);
        of == section
    });
    here.map(|(setting, key)| {
        let mut property = form(setting.kind, None);
        property["deprecated"] = true.into();
        property["description"] = format!("Called {} now", setting.key).into();
        (name_of(key).to_owned(), property)
    })
}

/// The JSON Schema of a value.
fn form(kind: Kind, words: Option<fn() -> Vec<&'static str>>) -> Value {
    match (kind, words) {
        (Kind::List, Some(words)) => {
            json!({"type": "array", "items": {"enum": words()}})
        }
        (_, Some(words)) => json!({"enum": words()}),
        (Kind::Count, None) => json!({"type": "integer", "minimum": 1}),
        (Kind::Number, None) => json!({"type": "integer", "minimum": 0}),
        (Kind::Share, None) => json!({"type": "number", "minimum": 0, "maximum": 1}),
        (Kind::Decimal, None) => json!({"type": "number"}),
        (Kind::Switch, None) => json!({"enum": [true, false, "on", "off"]}),
        (Kind::List, None) => json!({"type": "array", "items": {"type": "string"}}),
        (Kind::Size, None) => json!({"type": ["string", "integer"]}),
        (
            Kind::Text
            | Kind::Address
            | Kind::Admin
            | Kind::Upstream
            | Kind::Store
            | Kind::Path
            | Kind::Duration
            | Kind::Secret,
            None,
        ) => json!({"type": "string"}),
    }
}

fn property(setting: &Setting) -> Value {
    let mut property = form(setting.kind, setting.words);
    property["description"] = setting.about.into();
    if let Some(default) = setting.default() {
        property["default"] = match setting.kind {
            Kind::Count | Kind::Number => default.parse::<u64>().map_or(Value::Null, Value::from),
            Kind::Share | Kind::Decimal => default.parse::<f64>().map_or(Value::Null, Value::from),
            Kind::Switch => Value::Bool(default == "on"),
            Kind::List => value::list(&default).into(),
            _ => default.into(),
        };
    }
    property
}

/// A list of tables with these keys.
fn tables<'a>(keys: impl IntoIterator<Item = &'a EntryKey> + Clone) -> Value {
    let required = keys.clone().into_iter().filter(|key| key.required);
    let required: Vec<_> = required.map(|key| key.name).collect();
    let properties: Map<_, _> = keys
        .into_iter()
        .map(|key| {
            let mut property = form(key.kind, key.words);
            property["description"] = key.about.into();
            if key.kind == Kind::List {
                property["minItems"] = 1.into();
            }
            (key.name.to_owned(), property)
        })
        .collect();
    json!({"type": "array", "items": {
        "type": "object", "additionalProperties": false, "required": required, "properties": properties,
    }})
}
