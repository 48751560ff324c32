//! A rule as it is written: the keys of a `[[rule]]`, what each of them takes, and the one reader of them.
//!
//! The program's configuration, the profiles, the case corpus and the fuzz targets all read rules here, so no two of them
//! can disagree on what a rule says. Only the form is checked: the names of the keys, and text or list. What the text
//! means is checked by [`Rules::compile`](super::Rules::compile). Both report every mistake, each with its key; whoever
//! reads a file knows on which line that key stands.

use std::borrow::Cow;

use parity_schemas::spelling;
use parity_schemas::verdict::{Explanation, Kind, Part};
use toml_edit::{Document, Item, TableLike, Value};

use super::{Refused, RuleError};

/// What a rule can do.
pub const ACTIONS: &[&str] = &[
    "ignore",
    "accept",
    "unordered",
    "key",
    "tolerance",
    "scale",
    "parts",
    "as",
    "rename",
    "mask",
];
/// What `as` can read.
pub const TYPES: &[&str] = &["timestamp", "uuid", "number", "json"];

/// One `[[rule]]`. Each field is called what its key is called in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleConfig {
    /// Under which hits are counted; unique.
    pub id: String,
    /// `METHOD /template`, exactly as the route is called; every route without it.
    pub route: Option<String>,
    /// `status`, `header`, `trailer` or `body`; the body without it.
    pub part: Option<String>,
    /// Body: JSON Pointer with `*` and `**`. Header and trailer: a name. Status: empty.
    pub path: String,
    /// Only in this line of a text: a number from 1, or a regular expression for all lines in which it is found.
    pub line: Option<String>,
    /// Only in this column of a line, from 1, as white space separates them.
    pub column: Option<String>,
    /// Only these characters of a line, from 1, such as `10-19`.
    pub characters: Option<String>,
    /// Only in the start tags of a page that this simple selector names, such as `input[name=csrf]`.
    pub element: Option<String>,
    /// Only the value of this attribute of `element`.
    pub attribute: Option<String>,
    /// One of [`ACTIONS`].
    pub action: String,
    /// `accept`: the explanations of the differences that count as equal.
    pub explanations: Vec<String>,
    /// `accept`: only where the finding would be of this kind, such as `extra`.
    pub kind: Option<String>,
    /// `key`: the field that tells elements apart.
    pub field: Option<String>,
    /// `key`: the fields that together tell elements apart.
    pub fields: Vec<String>,
    /// `tolerance`: largest allowed difference, a decimal.
    pub absolute: Option<String>,
    /// `tolerance`: largest allowed difference as a share of the larger number, a decimal.
    pub relative: Option<String>,
    /// `tolerance`: how far apart two times may be, a duration.
    pub within: Option<String>,
    /// `scale`: what the legacy's number is multiplied by, a decimal.
    pub factor: Option<String>,
    /// `parts`: a regular expression whose groups capture what may differ.
    pub pattern: Option<String>,
    /// `as`: one of [`TYPES`].
    pub r#type: Option<String>,
    /// `rename`: what the candidate calls it.
    pub to: Option<String>,
    /// Why it is right to have it.
    pub reason: Option<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// A date or a time from which on it no longer applies.
    pub expires: Option<String>,
}

/// One key of a `[[rule]]`.
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// Whether a rule without it says nothing.
    pub required: bool,
    /// The only words that it takes; of a list, its elements.
    pub words: Option<fn() -> Vec<&'static str>>,
    /// One line on what it does.
    pub about: &'static str,
    value: Slot,
}

/// Where the value of a key is kept.
enum Slot {
    /// Text; empty without the key.
    Text(fn(&mut RuleConfig) -> &mut String),
    /// Text, or nothing.
    Optional(fn(&mut RuleConfig) -> &mut Option<String>),
    /// A list of text.
    List(fn(&mut RuleConfig) -> &mut Vec<String>),
}

/// All keys of a `[[rule]]`, in the order in which they are described.
pub static KEYS: &[Key] = &[
    Key::new(
        "id",
        "Name of the rule, shown wherever it applies",
        Slot::Text(|rule| &mut rule.id),
    )
    .required(),
    Key::new(
        "route",
        "Only on this route, by its exact text in a report or in `match`",
        Slot::Optional(|rule| &mut rule.route),
    ),
    Key::new(
        "part",
        "status, header, trailer or body (the default)",
        Slot::Optional(|rule| &mut rule.part),
    )
    .words(parts),
    Key::new(
        "path",
        "JSON Pointer with * for one and ** for any number of segments, or the like of $.items[*].id; a header name for headers",
        Slot::Text(|rule| &mut rule.path),
    ),
    Key::new(
        "line",
        "Only in this line of a text: a number from 1, or a regular expression for all lines in which it is found",
        Slot::Optional(|rule| &mut rule.line),
    ),
    Key::new(
        "column",
        "Only in this column of each line of a text, from 1, as white space separates them",
        Slot::Optional(|rule| &mut rule.column),
    ),
    Key::new(
        "characters",
        "Only these characters of each line of a text, from 1, such as 10-19",
        Slot::Optional(|rule| &mut rule.characters),
    ),
    Key::new(
        "element",
        "Only in the start tags of a page that this selector names, such as input[name=csrf]",
        Slot::Optional(|rule| &mut rule.element),
    ),
    Key::new(
        "attribute",
        "The attribute of `element` whose value is meant",
        Slot::Optional(|rule| &mut rule.attribute),
    ),
    Key::new(
        "action",
        "ignore, accept, unordered, key, tolerance, scale, parts, as, rename or mask",
        Slot::Text(|rule| &mut rule.action),
    )
    .required()
    .words(|| ACTIONS.to_vec()),
    Key::new(
        "explanations",
        "For accept: how two values may differ, in the words of the report, such as null_vs_empty",
        Slot::List(|rule| &mut rule.explanations),
    )
    .words(explanations),
    Key::new(
        "kind",
        "For accept: only findings of this kind, such as extra (only the candidate has it)",
        Slot::Optional(|rule| &mut rule.kind),
    )
    .words(kinds),
    Key::new(
        "field",
        "For key: the field that identifies an element",
        Slot::Optional(|rule| &mut rule.field),
    ),
    Key::new(
        "fields",
        "For key: the fields that together identify an element, instead of `field`",
        Slot::List(|rule| &mut rule.fields),
    ),
    Key::new(
        "absolute",
        "For tolerance: largest difference, as decimal text",
        Slot::Optional(|rule| &mut rule.absolute),
    ),
    Key::new(
        "relative",
        "For tolerance: largest difference relative to the larger value, as decimal text",
        Slot::Optional(|rule| &mut rule.relative),
    ),
    Key::new(
        "within",
        "For tolerance: how far apart two times may be, such as 2s or 500ms",
        Slot::Optional(|rule| &mut rule.within),
    ),
    Key::new(
        "factor",
        "For scale: the candidate's number is the legacy's times this, as decimal text",
        Slot::Optional(|rule| &mut rule.factor),
    ),
    Key::new(
        "pattern",
        "For parts: a regular expression; what its groups capture may differ, and nothing else",
        Slot::Optional(|rule| &mut rule.pattern),
    ),
    Key::new(
        "type",
        "For as: timestamp, uuid, number or json",
        Slot::Optional(|rule| &mut rule.r#type),
    )
    .words(|| TYPES.to_vec()),
    Key::new(
        "to",
        "For rename: what the candidate calls the field, element, column, header or cookie",
        Slot::Optional(|rule| &mut rule.to),
    ),
    Key::new(
        "reason",
        "Why the difference is accepted",
        Slot::Optional(|rule| &mut rule.reason),
    ),
    Key::new(
        "owner",
        "Who answers for it",
        Slot::Optional(|rule| &mut rule.owner),
    ),
    Key::new(
        "expires",
        "A date (YYYY-MM-DD) or a time (2027-03-01T12:00:00Z); from then on the rule no longer applies",
        Slot::Optional(|rule| &mut rule.expires),
    ),
];

impl Key {
    const fn new(name: &'static str, about: &'static str, value: Slot) -> Self {
        Self {
            name,
            required: false,
            words: None,
            about,
            value,
        }
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn words(mut self, words: fn() -> Vec<&'static str>) -> Self {
        self.words = Some(words);
        self
    }

    /// A hint on how to write what was written in a form that the key does not take.
    fn how_to_write(&self, text: &str) -> String {
        let name = self.name;
        match self.words {
            Some(words) if !words().contains(&text) => spelling::hint(text, &words()),
            _ if self.is_list() => format!("write `{name} = [{text:?}]`"),
            _ => format!("write `{name} = {text:?}`"),
        }
    }

    /// Whether it takes a list.
    pub const fn is_list(&self) -> bool {
        matches!(self.value, Slot::List(_))
    }
}

pub(super) fn parts() -> Vec<&'static str> {
    Part::ALL.iter().map(|part| part.as_str()).collect()
}

pub(super) fn kinds() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.as_str()).collect()
}

/// The explanations that a rule can accept.
pub(crate) fn explanations() -> Vec<&'static str> {
    Explanation::ALL
        .iter()
        .filter(|word| word.can_be_accepted())
        .map(|word| word.as_str())
        .collect()
}

impl RuleConfig {
    /// A rule for bodies on every route, with nothing said but these.
    pub fn new(id: &str, path: &str, action: &str) -> Self {
        Self {
            id: id.to_owned(),
            path: path.to_owned(),
            action: action.to_owned(),
            ..Self::default()
        }
    }

    /// Reads one table, which is the rule at position `rule`. What cannot be read is left out and reported.
    pub fn read(table: &dyn TableLike, rule: usize) -> (Self, Vec<RuleError>) {
        let mut config = Self::default();
        let mut errors = Vec::new();
        for (name, item) in table.iter() {
            if let Err((message, hint)) = config.set(name, item) {
                errors.push(RuleError {
                    rule,
                    key: Cow::Owned(name.to_owned()),
                    message,
                    hint,
                });
            }
        }
        (config, errors)
    }

    fn set(&mut self, name: &str, item: &Item) -> Result<(), Refused> {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
            let message = format!("unknown key `{name}` in [[rule]]");
            return Err((message, Some(spelling::hint(name, &names))));
        };
        // A number without quotes is a mistake, and yet it is known what was meant: no second mistake follows from it.
        let text = scalar(item);
        let (is_read, expected) = match &key.value {
            Slot::Text(slot) => {
                *slot(self) = text.clone().unwrap_or_default();
                (item.is_str(), "text in quotes")
            }
            Slot::Optional(slot) => {
                slot(self).clone_from(&text);
                (item.is_str(), "text in quotes")
            }
            Slot::List(slot) => {
                let list = list(item);
                let is_read = list.is_some();
                *slot(self) = list.unwrap_or_default();
                (is_read, "a list of text in quotes")
            }
        };
        if is_read {
            return Ok(());
        }
        let message = format!("`{name}` is {}, not {expected}", item.type_name());
        Err((message, text.map(|text| key.how_to_write(&text))))
    }
}

/// What a single value says, whatever its type.
fn scalar(item: &Item) -> Option<String> {
    match item.as_value()? {
        Value::String(text) => Some(text.value().clone()),
        Value::Array(_) | Value::InlineTable(_) => None,
        other => Some(other.to_string().trim().to_owned()),
    }
}

fn list(item: &Item) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    item.as_array()?.iter().map(text).collect()
}

/// What is wrong with a text of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// It is no TOML.
    #[error("not TOML: {0}")]
    NotToml(String),
    /// It says more than rules.
    #[error("`{0}` is not a list of [[rule]] tables")]
    NotRules(String),
    /// Keys of rules.
    #[error("{}", listed(.0))]
    Rules(Vec<RuleError>),
}

fn listed(errors: &[RuleError]) -> String {
    let errors = errors.iter();
    let errors: Vec<String> = errors
        .map(|error| format!("rule {}: {error}", error.rule + 1))
        .collect();
    errors.join("; ")
}

/// Reads a text of `[[rule]]` tables and nothing else.
pub fn parse(text: &str) -> Result<Vec<RuleConfig>, TextError> {
    let document =
        Document::parse(text).map_err(|error| TextError::NotToml(error.message().to_owned()))?;
    let mut rules = Vec::new();
    let mut errors = Vec::new();
    for (name, item) in document.as_table() {
        let tables = tables(item).filter(|_| name == "rule");
        let tables = tables.ok_or_else(|| TextError::NotRules(name.to_owned()))?;
        for (index, (table, _)) in tables.into_iter().enumerate() {
            let (rule, found) = RuleConfig::read(table, index);
            rules.push(rule);
            errors.extend(found);
        }
    }
    if errors.is_empty() {
        Ok(rules)
    } else {
        Err(TextError::Rules(errors))
    }
}

/// The tables of a list, written as `[[name]]` or as `name = [{…}]`, and at which byte each of them begins. `None` if it
/// is something else.
pub fn tables(item: &Item) -> Option<Vec<(&dyn TableLike, Option<usize>)>> {
    match item {
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter();
            let placed = |table: &toml_edit::Table| table.span().map(|span| span.start);
            Some(
                tables
                    .map(|table| (table as &dyn TableLike, placed(table)))
                    .collect(),
            )
        }
        Item::Value(Value::Array(array)) => {
            let table = |value| {
                let table = Value::as_inline_table(value)?;
                let start = table.span().map(|span| span.start);
                Some((table as &dyn TableLike, start))
            };
            array.iter().map(table).collect()
        }
        _ => None,
    }
}

mod written;

#[cfg(test)]
mod tests;
