//! Values whose names stand beside them: in another member, in another element, at the head of a column, in the text of
//! a query.
//!
//! - `{"name": "token", "value": …}`, `{"op": "add", "path": "/password", "value": …}`, `{"loc": ["body", "pin"], …}`:
//!   a member that names something names the values beside it. Where a member is exactly a secret name, all values
//!   beside it are hidden, but for the words that say what the object is (`says_what_it_is`).
//! - The variables of a GraphQL operation that it puts behind secret names.

use std::collections::HashSet;

use parity_schemas::secret::Words;
use smallvec::SmallVec;

use super::reading::Reading;
use crate::multipart;
use crate::notation::index::NodeKind;
use crate::redact::beside::Operation;
use crate::redact::last_word::{NAMING, ends_in};
use crate::redact::{graphql, strings};

/// Last words of members that hold the value that is named so.
const NAMED: [&[u8]; 36] = [
    b"actual",
    b"after",
    b"before",
    b"body",
    b"content",
    b"current",
    b"data",
    b"default",
    b"expected",
    b"from",
    b"given",
    b"got",
    b"input",
    b"new",
    b"now",
    b"old",
    b"original",
    b"payload",
    b"previous",
    b"provided",
    b"raw",
    b"received",
    b"rejected",
    b"replacement",
    b"result",
    b"string",
    b"stored",
    b"submitted",
    b"text",
    b"to",
    b"v",
    b"val",
    b"value",
    b"was",
    b"with",
    b"wrong",
];
/// Members that say what happened, besides those that name something.
const ABOUT: [&[u8]; 30] = [
    b"action",
    b"category",
    b"code",
    b"column",
    b"constraint",
    b"count",
    b"description",
    b"detail",
    b"error",
    b"event",
    b"hint",
    b"in",
    b"index",
    b"kind",
    b"length",
    b"level",
    b"line",
    b"max",
    b"message",
    b"min",
    b"msg",
    b"op",
    b"operation",
    b"position",
    b"reason",
    b"rule",
    b"severity",
    b"size",
    b"status",
    b"title",
];
/// A member that ends so says of which kind something is; a secret name in it names no value: `grant_type`.
const KINDS: [&[u8]; 8] = [
    b"type",
    b"method",
    b"scheme",
    b"flow",
    b"grant",
    b"strategy",
    b"format",
    b"mode",
];
/// Members that lead to what an error is about.
const SOURCES: [&[u8]; 6] = [b"source", b"error", b"ref", b"param", b"field", b"target"];
/// Words of operations that take secrets, whatever their variables are called.
const LOGINS: [&[u8]; 9] = [
    b"authenticate",
    b"login",
    b"logon",
    b"register",
    b"reset",
    b"signin",
    b"signup",
    b"unlock",
    b"verify",
];
/// Longest word that is kept beside a secret name.
const MAX_WORD_BYTES: usize = 24;

/// What the members of an object say of those beside them.
#[derive(Clone, Copy, Default)]
pub(super) struct Named {
    /// Those that hold a value are secret.
    pub(super) values: bool,
    /// All are.
    pub(super) all: bool,
}

/// Whether a member holds the value that one beside it names; `$` and `#text` are how XML is written in JSON.
pub(super) fn is_named(name: &str) -> bool {
    /// Shorter ones are parts of other words.
    const MIN_BYTES: usize = 4;
    let lower = name.to_ascii_lowercase();
    let joined = |word: &&[u8]| word.len() >= MIN_BYTES && lower.as_bytes().ends_with(word);
    Words::of(name).is_empty() || ends_in(name, &NAMED) || NAMED.iter().any(joined)
}

pub(super) fn is_query(name: &str) -> bool {
    name.eq_ignore_ascii_case("query")
}

pub(super) fn is_variables(name: &str) -> bool {
    name.eq_ignore_ascii_case("variables")
}

/// The last name of a path, as in `/user/password`, `user.password`, `$.user['password'][0]`; the text itself where it
/// is none. Positions are no names.
fn last_name(text: &str) -> &str {
    let parts = |sign: char| "/.[]'\"#$:*{}".contains(sign);
    text.split(parts)
        .rfind(|part| {
            !(part.is_empty() || *part == "-" || part.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .unwrap_or(text)
}

impl Reading<'_> {
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
                    if let Some(last) =
                        last.filter(|last| self.tree.kind(*last) == NodeKind::String)
                    {
                        self.named_by(last, &mut named);
                    }
                }
                NodeKind::Object if ends_in(&name, &SOURCES) => {
                    for inner in self.tree.keys(value) {
                        let name = self.key_text(inner);
                        if self.tree.kind(inner + 1) == NodeKind::String && ends_in(&name, &NAMING)
                        {
                            self.named_by(inner + 1, &mut named);
                        }
                    }
                }
                _ => {}
            }
        }
        named
    }

    /// The same of the parts of a multipart form: a field that is called `name` names the field that is called `value`.
    pub(super) fn named_by_parts(&mut self, parts: &[u32], form: bool) -> Named {
        let mut named = Named::default();
        for part in parts {
            match self.field_of(*part) {
                Some((name, value)) if ends_in(&name, &NAMING) => {
                    self.named_by(value, &mut named);
                }
                // What it is called is unknown.
                Some((_, value)) if !self.is_part_readable(*part, form) => {
                    self.named_by(value, &mut named);
                }
                Some(_) => {}
                None => {
                    if let Some(text) = self.text_of(*part)
                        && self.tree.kind(text) == NodeKind::String
                    {
                        self.named_by(text, &mut named);
                        // A part of a form without a name holds the heads of others.
                        let text = self.key_text(text);
                        named.all |= form && self.redactor.names.are_among(&text);
                    }
                }
            }
        }
        named
    }

    /// The text that is the body of a part.
    fn text_of(&self, part: u32) -> Option<u32> {
        let mut keys = self.tree.keys(part);
        let key = keys.find(|key| self.tree.content(*key) == multipart::TEXT.as_bytes())?;
        Some(key + 1)
    }

    /// Whether a part is a field that another one names.
    pub(super) fn is_named_part(&mut self, part: u32, named: Named) -> bool {
        if !(named.values || named.all) {
            return false;
        }
        self.field_of(part).is_some_and(|(name, value)| {
            (named.values && is_named(&name)) || (named.all && !self.says_what_it_is(&name, value))
        })
    }

    /// The name of the field that a part is, and its text.
    fn field_of(&mut self, part: u32) -> Option<(String, u32)> {
        let text = self.text_of(part)?;
        if self.tree.kind(text) != NodeKind::Object {
            return None;
        }
        let name = self.tree.keys(text).next()?;
        (self.tree.kind(name + 1) == NodeKind::String).then(|| (self.key_text(name), name + 1))
    }

    fn named_by(&mut self, value: u32, named: &mut Named) {
        let text = self.key_text(value);
        let names = &self.redactor.names;
        let last = last_name(&text);
        named.all |= names.are_exactly(last) || names.are_exactly(&text);
        named.values |= named.all || names.are_named(last) || names.are_named(&text);
        // Of a path that lost a sign, each word counts.
        named.values |= is_path(&text) && names.are_among(&text);
        // What is below a secret name is secret, too.
        if text.starts_with(['/', '#', '$']) {
            named.values |= text
                .split(['/', '.', '['])
                .any(|part| names.are_named(part));
        }
    }

    /// Whether a member beside a secret name only says what the object is about: a word, a position, or a sentence
    /// without anything quoted in it.
    pub(super) fn says_what_it_is(&mut self, name: &str, value: u32) -> bool {
        let about = ends_in(name, &ABOUT);
        match self.tree.kind(value) {
            NodeKind::String if about || ends_in(name, &NAMING) => {
                let text = self.key_text(value);
                is_word(&text)
                    || (about && is_sentence(&text))
                    || self.redactor.names.contain(last_name(&text))
            }
            NodeKind::Array => ends_in(name, &NAMING),
            NodeKind::Number => about,
            NodeKind::Object => ends_in(name, &SOURCES),
            NodeKind::String => self.redactor.names.are_exactly(&self.key_text(value)),
            _ => false,
        }
    }

    /// What a request of GraphQL says of its variables; `None` when it is none, or says nothing.
    pub(super) fn operation_of(&mut self, object: u32) -> Option<Operation> {
        let keys: SmallVec<[u32; 8]> = self.tree.keys(object).collect();
        let mut variables = false;
        let mut login = false;
        // Of all texts together: which of them the variables belong to, nothing says.
        let mut secret = HashSet::new();
        let mut is_read = false;
        let mut is_unread = false;
        for key in keys {
            let name = self.key_text(key);
            variables |= is_variables(&name);
            if self.tree.kind(key + 1) != NodeKind::String {
                continue;
            }
            let text = self.key_text(key + 1);
            if name.eq_ignore_ascii_case("operationName") {
                let words = Words::of(&text);
                let taking = words.iter().any(|word| LOGINS.contains(&word))
                    || LOGINS.contains(&&*words.joined());
                login = taking || self.redactor.names.contain(&text);
            } else if is_query(&name) || strings::claims_graphql(text.trim_start()) {
                match graphql::secret_variables(self.redactor, &text) {
                    Some(names) => {
                        is_read = true;
                        secret.extend(names);
                    }
                    None => is_unread = true,
                }
            }
        }
        if !variables {
            None
        } else if is_unread {
            Some(Operation::Unread)
        } else if !secret.is_empty() {
            Some(Operation::Variables(secret.into()))
        } else {
            (login && !is_read).then_some(Operation::Unknown)
        }
    }
}

/// Whether a text is no sentence and no plain name: something like a path.
fn is_path(text: &str) -> bool {
    /// Longer ones are texts.
    const MAX_BYTES: usize = 128;
    text.len() <= MAX_BYTES
        && !text.contains(char::is_whitespace)
        && text
            .contains(|sign: char| sign.is_ascii_punctuation() && !matches!(sign, '_' | '-' | '.'))
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
            letters.chars().enumerate().all(|(index, letter)| {
                letter.is_lowercase() || (at == 0 && index == 0 && letter.is_alphabetic())
            })
        })
}
