//! `parity.toml`, read into text values with their places.
//!
//! The file is walked key by key instead of being deserialized into a struct, because serde stops at the first error
//! and we owe the user all of them, each with its line. Nothing is interpreted here beyond the TOML type.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parity_comparator::rules::config::{self, RuleConfig};
use parity_schemas::spelling;
use toml_edit::{Document, Item, TableLike, Value};

use super::problem::{Origin, Places, Problem};
use super::settings::entries::{EntryKey, known, route, substitute};
use super::settings::{self, Kind, SECTIONS, Setting, name_of};
use super::value;

/// A value as written, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Scalars as text.
    pub(crate) value: Raw,
    /// Where it stands.
    pub(crate) origin: Origin,
    /// What it is called there: its key, or a former one.
    pub(crate) name: &'static str,
}

impl Written {
    /// A setting as a variable or a flag gives it.
    pub(super) fn of(setting: &Setting, text: &str, origin: Origin) -> Self {
        let value = match setting.kind {
            Kind::List => Raw::List(value::list(text)),
            _ => Raw::Text(text.to_owned()),
        };
        let name = setting.key;
        Self {
            value,
            origin,
            name,
        }
    }
}

/// What a file or the environment can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Raw {
    /// Any scalar.
    Text(String),
    /// A list of text.
    List(Vec<String>),
}

/// A `[[route]]`, a `[[known]]` or a `[[substitute]]`: those of its keys that there are.
#[derive(Clone, Debug)]
pub(crate) struct TableEntry {
    /// Where it begins.
    pub(crate) origin: Origin,
    values: BTreeMap<&'static str, Written>,
    /// Keys whose mistake has been reported already.
    reported: Vec<&'static str>,
}

impl TableEntry {
    /// The text of a key.
    pub(super) fn text(&self, key: &EntryKey) -> Option<&str> {
        match &self.values.get(key.name)?.value {
            Raw::Text(text) => Some(text),
            Raw::List(_) => None,
        }
    }

    /// The elements of a key that is a list.
    pub(super) fn list(&self, key: &EntryKey) -> &[String] {
        match self.values.get(key.name).map(|written| &written.value) {
            Some(Raw::List(items)) => items,
            _ => &[],
        }
    }

    /// Whether a key is given, or a mistake of it has been reported already, so that the next one only follows from it.
    pub(super) fn is_given(&self, key: &EntryKey) -> bool {
        self.values.contains_key(key.name) || self.reported.contains(&key.name)
    }

    /// Where a key stands; where the table begins if it is missing.
    pub(super) fn origin_of(&self, key: &EntryKey) -> Origin {
        let written = self.values.get(key.name);
        written.map_or_else(|| self.origin.clone(), |written| written.origin.clone())
    }
}

/// A `[[rule]]`, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct RuleEntry {
    /// What it says, as far as it can be read.
    pub(crate) config: RuleConfig,
    /// Where it begins.
    origin: Origin,
    /// By key.
    places: BTreeMap<String, Origin>,
    /// Keys whose mistake has been reported already.
    reported: Vec<String>,
}

impl RuleEntry {
    /// Where a key stands; where the rule begins if it is missing.
    pub(super) fn origin_of(&self, key: &str) -> Origin {
        self.places.get(key).unwrap_or(&self.origin).clone()
    }

    /// Whether a mistake of this key has been reported already, so that the next one only follows from it.
    pub(super) fn is_reported(&self, key: &str) -> bool {
        self.reported.iter().any(|reported| reported == key)
    }
}

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// Settings by their full key.
    pub(crate) settings: BTreeMap<&'static str, Written>,
    /// In the order of the file.
    pub(crate) routes: Vec<TableEntry>,
    /// In the order of the file.
    pub(crate) rules: Vec<RuleEntry>,
    /// In the order of the file.
    pub(crate) known: Vec<TableEntry>,
    /// In the order of the file.
    pub(crate) substitutes: Vec<TableEntry>,
    /// Settings under former names.
    pub(crate) renamed: Vec<Problem>,
    /// It is no TOML: what it lacks is then no fault of its own.
    pub(crate) broken: bool,
}

impl File {
    /// Reads the text of a file; what is wrong goes to `problems`, the rest is returned.
    pub(crate) fn read(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Self {
        let reader = &mut Reader {
            path: path.into(),
            places: Places::of(text),
            problems,
            given: BTreeMap::new(),
        };
        match Document::parse(text) {
            Ok(document) => reader.document(document.as_table()),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                let message = format!("not TOML: {}", error.message().trim().replace('\n', "; "));
                reader.problem(offset, message, None);
                Self {
                    broken: true,
                    ..Self::default()
                }
            }
        }
    }
}

struct Reader<'a> {
    path: Arc<Path>,
    places: Places<'a>,
    problems: &'a mut Vec<Problem>,
    /// Settings by their key: under which name, and where.
    given: BTreeMap<&'static str, (&'static str, Origin)>,
}

impl Reader<'_> {
    fn problem(&mut self, offset: usize, message: String, hint: Option<String>) {
        let origin = self.places.at(&self.path, offset);
        self.problems.push(Problem {
            origin,
            message,
            hint,
        });
    }

    fn unknown(&mut self, offset: usize, key: &str, within: &str, known: &[&str]) {
        let message = format!("unknown key `{key}`{within}");
        self.problem(offset, message, Some(spelling::hint(key, known)));
    }

    fn document(&mut self, table: &toml_edit::Table) -> File {
        let mut file = File::default();
        for (key, item) in table {
            let offset = key_offset(table, key, item);
            match key {
                "route" => file.routes = self.entries((offset, key, item), route::ALL),
                "known" => file.known = self.entries((offset, key, item), known::ALL),
                "substitute" => {
                    file.substitutes = self.entries((offset, key, item), substitute::ALL);
                }
                "rule" => file.rules = self.rules(offset, key, item),
                section if is_section(section) => match item.as_table_like() {
                    Some(table) => self.section(section, table, &mut file),
                    None => {
                        self.problem(offset, format!("`{key}` is a section: write [{key}]"), None);
                    }
                },
                _ => match settings::find("", key) {
                    Some(named) => self.setting(named, offset, item, &mut file),
                    None => self.unknown_at_top(offset, key),
                },
            }
        }
        file
    }

    fn unknown_at_top(&mut self, offset: usize, key: &str) {
        if let Some(setting) = settings::all().find(|setting| setting.name() == key) {
            let hint = format!("it belongs into [{}]", setting.section());
            return self.problem(
                offset,
                format!("unknown key `{key}` at the top of the file"),
                Some(hint),
            );
        }
        let top = settings::all()
            .filter(|setting| setting.section().is_empty())
            .map(|setting| setting.key);
        let sections = SECTIONS.iter().map(|section| section.name);
        let known: Vec<_> = top
            .chain(sections.filter(|name| !name.is_empty()))
            .chain(["route", "rule", "known", "substitute"])
            .collect();
        self.unknown(offset, key, "", &known);
    }

    fn section(&mut self, section: &str, table: &dyn TableLike, file: &mut File) {
        for (key, item) in table.iter() {
            let offset = key_offset(table, key, item);
            if let Some(named) = settings::find(section, key) {
                self.setting(named, offset, item, file);
            } else if let Some(dropped) = settings::find_dropped(section, key) {
                self.problem(offset, dropped.message(), Some(dropped.instead.to_owned()));
            } else {
                let here = settings::all().filter(|setting| setting.section() == section);
                let known: Vec<_> = here.map(Setting::name).collect();
                self.unknown(offset, key, &format!(" in [{section}]"), &known);
            }
        }
    }

    /// `named` is the setting and the name under which it stands here.
    fn setting(
        &mut self,
        named: (&'static Setting, &'static str),
        offset: usize,
        item: &Item,
        file: &mut File,
    ) {
        let (setting, name) = named;
        let origin = self.places.at(&self.path, offset);
        // One name twice is no TOML, so the other name is another one.
        if let Some((other, place)) = self.given.insert(setting.key, (name, origin.clone())) {
            let message = format!("{name} and {other}, at {place}, are one setting, given twice");
            let hint = format!("keep {}, which is its name now", setting.key);
            file.renamed.retain(|renamed| renamed.origin != place);
            return self.problem(offset, message, Some(hint));
        }
        if name != setting.key {
            let message = format!(
                "{name} is called {} now; the former name still holds",
                setting.key
            );
            file.renamed.push(Problem::new(origin.clone(), message));
        }
        match raw(setting.kind, item) {
            Ok(value) => {
                let written = Written {
                    value,
                    origin,
                    name,
                };
                file.settings.insert(setting.key, written);
            }
            Err(_) if setting.kind == Kind::Secret => {
                let message = format!("`{}` does not belong into this file", name_of(name));
                let hint = format!(
                    "set {}, or name a file of its own as `{}_file`",
                    setting.variable(),
                    setting.name()
                );
                self.problem(offset, message, Some(hint));
            }
            Err(expected) => {
                let found = item.type_name();
                let message = format!("`{}` is {found}, not {expected}", name_of(name));
                self.problem(offset, message, Some(setting.about.to_owned()));
            }
        }
    }

    /// The tables of a list, and where each of them begins.
    fn tables<'i>(
        &mut self,
        offset: usize,
        name: &str,
        item: &'i Item,
    ) -> Vec<(&'i dyn TableLike, Origin)> {
        let Some(tables) = config::tables(item) else {
            let message = format!("`{name}` is {}, not a list of tables", item.type_name());
            let hint = format!("begin each one with [[{name}]]");
            self.problem(offset, message, Some(hint));
            return Vec::new();
        };
        let place = |start: Option<usize>| self.places.at(&self.path, start.unwrap_or(offset));
        let tables = tables.into_iter();
        tables.map(|(table, start)| (table, place(start))).collect()
    }

    fn rules(&mut self, offset: usize, name: &str, item: &Item) -> Vec<RuleEntry> {
        let mut rules = Vec::new();
        for (index, (table, origin)) in self.tables(offset, name, item).into_iter().enumerate() {
            let (config, errors) = RuleConfig::read(table, index);
            let place = |(key, item): (&str, &Item)| {
                let offset = key_offset(table, key, item);
                (key.to_owned(), self.places.at(&self.path, offset))
            };
            let mut rule = RuleEntry {
                config,
                origin,
                places: table.iter().map(place).collect(),
                reported: Vec::new(),
            };
            for error in errors {
                self.problems.push(Problem {
                    origin: rule.origin_of(&error.key),
                    message: error.message,
                    hint: error.hint,
                });
                rule.reported.push(error.key.into_owned());
            }
            rules.push(rule);
        }
        rules
    }

    /// The tables of a list whose keys are all declared.
    fn entries(
        &mut self,
        (offset, name, item): (usize, &str, &Item),
        keys: &[&'static EntryKey],
    ) -> Vec<TableEntry> {
        let mut entries = Vec::new();
        for (table, origin) in self.tables(offset, name, item) {
            let mut entry = TableEntry {
                origin,
                values: BTreeMap::new(),
                reported: Vec::new(),
            };
            for (key, item) in table.iter() {
                let offset = key_offset(table, key, item);
                let Some(known) = keys.iter().find(|known| known.name == key) else {
                    let names: Vec<_> = keys.iter().map(|known| known.name).collect();
                    self.unknown(offset, key, &format!(" in [[{name}]]"), &names);
                    continue;
                };
                match raw(known.kind, item) {
                    Ok(value) => {
                        let written = Written {
                            value,
                            origin: self.places.at(&self.path, offset),
                            name: known.name,
                        };
                        entry.values.insert(known.name, written);
                    }
                    Err(expected) => {
                        let message = format!("`{key}` is {}, not {expected}", item.type_name());
                        self.problem(offset, message, None);
                        entry.reported.push(known.name);
                    }
                }
            }
            entries.push(entry);
        }
        entries
    }
}

fn is_section(name: &str) -> bool {
    let mut sections = SECTIONS.iter();
    !name.is_empty() && sections.any(|section| section.name == name)
}

fn key_offset(table: &dyn TableLike, key: &str, item: &Item) -> usize {
    table
        .key(key)
        .and_then(toml_edit::Key::span)
        .or_else(|| item.span())
        .map_or(0, |span| span.start)
}

/// The value as text if its TOML type fits, else what would fit.
fn raw(kind: Kind, item: &Item) -> Result<Raw, &'static str> {
    let text = |text: &str| Ok(Raw::Text(text.to_owned()));
    match (kind, item.as_value()) {
        (Kind::Secret, _) => Err("a setting for a file that others may read"),
        (Kind::List, Some(Value::Array(array))) => array
            .iter()
            .map(|value| value.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .map(Raw::List)
            .ok_or("a list of text in quotes"),
        (Kind::List, _) => Err("a list of text in quotes, such as [\"a\", \"b\"]"),
        (_, Some(Value::String(value))) => text(value.value()),
        (
            Kind::Count | Kind::Number | Kind::Size | Kind::Share | Kind::Decimal,
            Some(Value::Integer(value)),
        ) => text(&value.value().to_string()),
        (Kind::Share | Kind::Decimal, Some(Value::Float(value))) => {
            text(&value.value().to_string())
        }
        (Kind::Switch, Some(Value::Boolean(value))) => text(&value.value().to_string()),
        (Kind::Count | Kind::Number, _) => Err("a whole number"),
        (Kind::Decimal, _) => Err("a number"),
        (Kind::Share, _) => Err("a number between 0 and 1"),
        (Kind::Switch, _) => Err("true or false"),
        _ => Err("text in quotes"),
    }
}
