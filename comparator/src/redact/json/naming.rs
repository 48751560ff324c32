//! Values whose names stand beside them: in another member, in another element, at the head of a column, in the text of
//! a query.
//!
//! - `{"name": "token", "value": …}`, `{"op": "add", "path": "/password", "value": …}`, `{"loc": ["body", "pin"], …}`:
//!   a member that names something names the values beside it. Where a member is exactly a secret name, all values
//!   beside it are hidden, but for the words that say what the object is (`says_what_it_is`).
//! - `["password", …]`: what stands behind a secret name in a list.
//! - `{"columns": ["id", "password"], "rows": [[1, …]]}`, `[["id", "password"], [1, …]]`: a list of names makes that
//!   position secret in every list of the same length beside it, at any depth.
//! - The variables of a GraphQL operation that it puts behind secret names.

use std::rc::Rc;

use parity_schemas::secret::Words;
use smallvec::SmallVec;

use super::walk::Walker;
use crate::json::index::NodeKind;
use crate::redact::{graphql, strings};

/// Last words of members that name a value beside them.
const NAMING: [&[u8]; 30] = [
    b"arg", b"argument", b"attr", b"attribute", b"claim", b"col", b"column", b"cookie", b"field", b"flag", b"header",
    b"id", b"identifier", b"k", b"key", b"label", b"loc", b"location", b"n", b"name", b"option", b"param",
    b"parameter", b"path", b"pointer", b"property", b"setting", b"target", b"type", b"variable",
];
/// Last words of members that hold the value that is named so.
const NAMED: [&[u8]; 36] = [
    b"actual", b"after", b"before", b"body", b"content", b"current", b"data", b"default", b"expected", b"from",
    b"given", b"got", b"input", b"new", b"now", b"old", b"original", b"payload", b"previous", b"provided", b"raw",
    b"received", b"rejected", b"replacement", b"result", b"string", b"stored", b"submitted", b"text", b"to", b"v",
    b"val", b"value", b"was", b"with", b"wrong",
];
/// Members that say what happened, besides those that name something.
const ABOUT: [&[u8]; 30] = [
    b"action", b"category", b"code", b"column", b"constraint", b"count", b"description", b"detail", b"error", b"event",
    b"hint", b"in", b"index", b"kind", b"length", b"level", b"line", b"max", b"message", b"min", b"msg", b"op",
    b"operation", b"position", b"reason", b"rule", b"severity", b"size", b"status", b"title",
];
/// A member that ends so says of which kind something is; a secret name in it names no value: `grant_type`.
const KINDS: [&[u8]; 8] = [
    b"type", b"method", b"scheme", b"flow", b"grant", b"strategy", b"format", b"mode",
];
/// Members that hold the names of columns as objects.
const COLUMNS: [&[u8]; 10] = [
    b"attribute", b"col", b"column", b"desc", b"description", b"field", b"head", b"header", b"metadata", b"schema",
];
/// Members that lead to what an error is about.
const SOURCES: [&[u8]; 6] = [b"source", b"error", b"ref", b"param", b"field", b"target"];
/// Words of operations that take secrets, whatever their variables are called.
const LOGINS: [&[u8]; 9] = [
    b"authenticate", b"login", b"logon", b"register", b"reset", b"signin", b"signup", b"unlock", b"verify",
];
/// Names that are looked at in one list; tables have fewer columns.
const MAX_COLUMNS: usize = 1_000;
/// Objects within an object in which the names of columns are looked for.
const MAX_HEADER_DEPTH: usize = 2;
/// Longest list behind a secret name in which all that follows is hidden; in a longer one, the next only.
const MAX_LIST: usize = 4;
/// Longest word that is kept beside a secret name.
const MAX_WORD_BYTES: usize = 24;

/// What is known of values from what stands beside or around them.
#[derive(Clone, Default)]
pub(in crate::redact) struct Beside {
    /// Strings and numbers are hidden.
    pub(in crate::redact) veiled: bool,
    /// Members with these names are secret; only in the object itself.
    names: Option<Rc<[String]>>,
    tables: Option<Rc<[Table]>>,
}

/// Secret positions in lists of one length.
#[derive(Clone)]
struct Table {
    /// The list of the names.
    header: u32,
    columns: usize,
    secret: SmallVec<[usize; 4]>,
}

/// What the members of an object say of those beside them.
#[derive(Clone, Copy, Default)]
pub(super) struct Named {
    /// Those that hold a value are secret.
    pub(super) values: bool,
    /// All are.
    pub(super) all: bool,
}

/// What a GraphQL request says of its variables.
pub(super) enum Operation {
    /// These are secret.
    Variables(Rc<[String]>),
    /// All may be.
    Unknown,
}

impl Beside {
    /// What holds for members and elements.
    pub(in crate::redact) fn below(&self) -> Self {
        Self {
            names: None,
            ..self.clone()
        }
    }

    pub(super) fn names(&self, name: &str) -> bool {
        let names = self.names.as_deref().unwrap_or_default();
        names.iter().any(|secret| secret == name)
    }

    pub(super) fn add(&mut self, operation: &Operation) {
        match operation {
            Operation::Variables(names) => self.names = Some(Rc::clone(names)),
            Operation::Unknown => self.veiled = true,
        }
    }

    /// Whether it says something of what is written in a text.
    pub(super) fn leads_into(&self, text: &str) -> bool {
        self.names.is_some() && text.trim_start().starts_with('{')
    }

    /// The positions of a list that are secret.
    pub(super) fn hides(&self, list: u32, length: usize) -> Option<&[usize]> {
        let tables = self.tables.as_deref()?;
        let table = tables
            .iter()
            .find(|table| table.columns == length && table.header != list)?;
        (!self.is_header(list)).then_some(&table.secret)
    }

    pub(super) fn is_header(&self, list: u32) -> bool {
        let tables = self.tables.as_deref().unwrap_or_default();
        tables.iter().any(|table| table.header == list)
    }

    fn with(&self, tables: Vec<Table>) -> Self {
        let outer = self.tables.as_deref().unwrap_or_default();
        Self {
            veiled: self.veiled,
            names: None,
            tables: Some(tables.into_iter().chain(outer.iter().cloned()).collect()),
        }
    }
}

fn ends_in(name: &str, words: &[&[u8]]) -> bool {
    let parted = Words::of(name);
    let last = parted.iter().last().unwrap_or_default();
    words.contains(&last)
}

/// Whether a member holds the value that one beside it names; `$` and `#text` are how XML is written in JSON.
pub(super) fn is_named(name: &str) -> bool {
    Words::of(name).is_empty() || ends_in(name, &NAMED)
}

pub(super) fn is_variables(name: &str) -> bool {
    name.eq_ignore_ascii_case("variables")
}

/// The last name of a path, as in `/user/password`, `user.password`, `$.user['password'][0]`; the text itself where it
/// is none. Positions are no names.
fn last_name(text: &str) -> &str {
    let parts = |sign: char| "/.[]'\"#$:*{}".contains(sign);
    text.split(parts)
        .rfind(|part| !(part.is_empty() || *part == "-" || part.bytes().all(|byte| byte.is_ascii_digit())))
        .unwrap_or(text)
}

impl Walker<'_> {
    /// What members say of those beside them.
    pub(super) fn named_by_members(&mut self, object: u32) -> Named {
        let mut named = Named::default();
        for key in self.tree.keys(object) {
            let name = self.key_text(key);
            let value = key + 1;
            match self.tree.kind(value) {
                NodeKind::String if ends_in(&name, &NAMING) => self.named_by(value, &mut named),
                NodeKind::String if !ends_in(&name, &KINDS) => {
                    let text = self.key_text(value);
                    named.all |= self.redactor.names.are_exactly(&text);
                }
                NodeKind::Array if ends_in(&name, &NAMING) => {
                    let last = self.tree.elements(value).last();
                    if let Some(last) = last.filter(|last| self.tree.kind(*last) == NodeKind::String) {
                        self.named_by(last, &mut named);
                    }
                }
                NodeKind::Object if ends_in(&name, &SOURCES) => {
                    for inner in self.tree.keys(value) {
                        let name = self.key_text(inner);
                        if self.tree.kind(inner + 1) == NodeKind::String && ends_in(&name, &NAMING) {
                            self.named_by(inner + 1, &mut named);
                        }
                    }
                }
                _ => {}
            }
        }
        named
    }

    fn named_by(&mut self, value: u32, named: &mut Named) {
        let text = self.key_text(value);
        let names = &self.redactor.names;
        let last = last_name(&text);
        named.all |= names.are_exactly(last) || names.are_exactly(&text);
        named.values |= named.all || names.are_named(last) || names.are_named(&text);
        // What is below a secret name is secret, too.
        if text.starts_with(['/', '#', '$']) {
            named.values |= text.split(['/', '.', '[']).any(|part| names.are_named(part));
        }
    }

    /// Whether a member beside a secret name only says what the object is about: a word, a position, or a sentence
    /// without anything quoted in it.
    pub(super) fn says_what_it_is(&mut self, name: &str, value: u32) -> bool {
        let about = ends_in(name, &ABOUT);
        match self.tree.kind(value) {
            NodeKind::String if about || ends_in(name, &NAMING) => {
                let text = self.key_text(value);
                is_word(&text) || (about && is_sentence(&text)) || self.redactor.names.contain(last_name(&text))
            }
            NodeKind::Array => ends_in(name, &NAMING),
            NodeKind::Number => about,
            NodeKind::Object => ends_in(name, &SOURCES),
            NodeKind::String => self.redactor.names.are_exactly(&self.key_text(value)),
            _ => false,
        }
    }

    /// The positions behind secret names in a list.
    pub(super) fn behind_names(&mut self, elements: &[u32]) -> SmallVec<[usize; 4]> {
        let mut behind = SmallVec::new();
        for (at, element) in elements.iter().enumerate() {
            if at + 1 == elements.len() || self.tree.kind(*element) != NodeKind::String {
                continue;
            }
            let text = self.key_text(*element);
            let names = &self.redactor.names;
            if !(names.are_exactly(&text) || (elements.len() == 2 && names.are_named(&text))) {
                continue;
            }
            let end = if elements.len() <= MAX_LIST { elements.len() } else { at + 2 };
            behind.extend(at + 1..end);
        }
        behind
    }

    /// The positions of secret names in a list of names, or of objects that have names.
    fn secret_positions(&mut self, list: u32, objects: bool) -> SmallVec<[usize; 4]> {
        let mut secret = SmallVec::new();
        let elements: Vec<u32> = self.tree.elements(list).take(MAX_COLUMNS).collect();
        for (at, element) in elements.into_iter().enumerate() {
            let named = match self.tree.kind(element) {
                NodeKind::String => {
                    let text = self.key_text(element);
                    self.redactor.names.are_named(&text)
                }
                NodeKind::Object if objects => self.named_by_members(element).values,
                // No list of names.
                NodeKind::Array => return SmallVec::new(),
                _ => false,
            };
            if named {
                secret.push(at);
            }
        }
        secret
    }

    /// The lists of names in an object, which say what stands in the other lists.
    pub(super) fn columns_of(&mut self, object: u32, around: &Beside) -> Option<Beside> {
        let mut tables = Vec::new();
        self.tables_in(object, 0, &mut tables);
        (!tables.is_empty()).then(|| around.with(tables))
    }

    fn tables_in(&mut self, object: u32, depth: usize, tables: &mut Vec<Table>) {
        for key in self.tree.keys(object) {
            let value = key + 1;
            match self.tree.kind(value) {
                NodeKind::Array => {
                    let name = self.key_text(key);
                    let objects = ends_in(&name, &COLUMNS);
                    if depth > 0 && !objects {
                        continue;
                    }
                    let secret = self.secret_positions(value, objects);
                    if !secret.is_empty() {
                        let columns = self.tree.elements(value).count();
                        tables.push(Table { header: value, columns, secret });
                    }
                }
                NodeKind::Object if depth < MAX_HEADER_DEPTH => self.tables_in(value, depth + 1, tables),
                _ => {}
            }
        }
    }

    /// Of a list of lists, what its first one says of the others.
    pub(super) fn rows_below(&mut self, list: u32, elements: &[u32], around: &Beside) -> Option<Beside> {
        let (header, others) = elements.split_first()?;
        let row = |at: &u32| self.tree.kind(*at) == NodeKind::Array;
        if around.is_header(list) || !row(header) || !others.iter().any(row) {
            return None;
        }
        let secret = self.secret_positions(*header, false);
        let columns = self.tree.elements(*header).count();
        // A pair names its own value.
        let pair = columns == 2 && secret.as_slice() == [0] && others.iter().all(|other| {
            let mut elements = self.tree.elements(*other);
            elements.next().is_some_and(|first| self.tree.kind(first) == NodeKind::String)
        });
        (!secret.is_empty() && !pair).then(|| {
            around.with(vec![Table { header: *header, columns, secret }])
        })
    }

    /// What a request of GraphQL says of its variables; `None` when it is none, or says nothing.
    pub(super) fn operation_of(&mut self, object: u32) -> Option<Operation> {
        let keys: SmallVec<[u32; 8]> = self.tree.keys(object).collect();
        let mut variables = false;
        let mut login = false;
        let mut read = None;
        for key in keys {
            let name = self.key_text(key);
            variables |= is_variables(&name);
            if self.tree.kind(key + 1) != NodeKind::String {
                continue;
            }
            let text = self.key_text(key + 1);
            if name.eq_ignore_ascii_case("operationName") {
                let words = Words::of(&text);
                let taking = words.iter().any(|word| LOGINS.contains(&word)) || LOGINS.contains(&&*words.joined());
                login = taking || self.redactor.names.contain(&text);
            } else if strings::claims_graphql(text.trim_start()) {
                read = graphql::secret_variables(self.redactor, &text);
            }
        }
        match read {
            _ if !variables => None,
            Some(names) if names.is_empty() => None,
            Some(names) => Some(Operation::Variables(names.into())),
            None => login.then_some(Operation::Unknown),
        }
    }
}

/// A word, or several written together, of small letters: nothing that somebody guards.
fn is_word(text: &str) -> bool {
    text.len() <= MAX_WORD_BYTES
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-' | b'.'))
}

/// Words of letters with spaces between; a value would have other signs, or be quoted.
fn is_sentence(text: &str) -> bool {
    text.contains(' ')
        && text.split(' ').enumerate().all(|(at, word)| {
            let letters = word.strip_suffix(['.', ',', '!']).unwrap_or(word);
            letters
                .chars()
                .enumerate()
                .all(|(index, letter)| letter.is_lowercase() || (at == 0 && index == 0 && letter.is_alphabetic()))
        })
}
