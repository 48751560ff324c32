//! Values whose names are next to them: in another member, in another element, in a table header, in the text of a
//! query.
//!
//! - `{"name": "token", "value": …}`, `{"op": "add", "path": "/password", "value": …}`, `{"loc": ["body", "pin"], …}`:
//!   a member that names something names the values next to it. If a member is exactly a secret name, all other values
//!   of the object are hidden, except words that tell what the object is (`says_what_it_is`).
//! - The variables that a GraphQL operation passes under secret names.

use std::collections::HashSet;

use parity_schemas::secret::Words;
use smallvec::{SmallVec, smallvec};

use super::reading::NamedTree;
use crate::notation::index::NodeKind;
use crate::part_keys;
use crate::redact::context::Operation;
use crate::redact::last_word::{NAMING, ends_in};
use crate::redact::place::Place;
use crate::redact::{graphql, strings};
use crate::rules::Scope;

/// Last words of members that hold a value which another member names.
const NAMED: [&[u8]; 41] = [
    b"actual",
    b"after",
    b"answer",
    b"before",
    b"body",
    b"content",
    b"current",
    b"data",
    b"default",
    b"example",
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
    b"reply",
    b"response",
    b"result",
    b"sample",
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
/// Last words of members that tell what happened.
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
/// Last words of members that tell the kind of something. A secret name as their value names no other value:
/// `grant_type`.
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
/// Members that hold the place an error is about.
const SOURCES: [&[u8]; 6] = [b"source", b"error", b"ref", b"param", b"field", b"target"];
/// Words in the names of operations that take secrets, whatever their variables are called.
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
/// Longest word that stays readable next to a secret name.
const MAX_WORD_BYTES: usize = 24;

/// Which other members of an object its members declare secret.
#[derive(Clone, Copy, Default)]
pub(super) struct NamedByMembers {
    /// The members that hold a value.
    pub(super) values: bool,
    /// All members.
    pub(super) all: bool,
}

/// Whether a member holds the value that another one names. `$` and `#text` are how XML is written in JSON.
pub(super) fn is_named(name: &str) -> bool {
    /// Shorter endings also end other words.
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

/// The last name of a path such as `/user/password`, `user.password` or `$.user['password'][0]`; the text itself if it
/// is not a path. Indices are not names.
fn last_name(text: &str) -> &str {
    let parts = |sign: char| "/.[]'\"#$:*{}".contains(sign);
    text.split(parts)
        .rfind(|part| {
            !(part.is_empty() || *part == "-" || part.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .unwrap_or(text)
}

impl NamedTree<'_> {
    /// Which members are secret because another member names them. At a known place, also by the names that rules give that one.
    pub(super) fn named_by_members(
        &mut self,
        object: u32,
        known: Option<(&Place, &Scope)>,
    ) -> NamedByMembers {
        let mut named = NamedByMembers::default();
        for key in self.tree.keys(object) {
            let name = self.key_text(key);
            let names = known.map_or_else(
                || smallvec![&*name],
                |(place, scope)| place.names(&name, self.redactor, scope),
            );
            let names_others = names.iter().any(|name| ends_in(name, &NAMING));
            let value = key + 1;
            match self.tree.kind(value) {
                NodeKind::String if names_others => self.named_by(value, &mut named),
                NodeKind::String if !names.iter().all(|name| ends_in(name, &KINDS)) => {
                    let text = self.key_text(value);
                    named.all |= self.redactor.secret_names.contains_exactly(&text);
                }
                NodeKind::Array if names_others => {
                    let last = self.tree.elements(value).last();
                    if let Some(last) =
                        last.filter(|last| self.tree.kind(*last) == NodeKind::String)
                    {
                        self.named_by(last, &mut named);
                    }
                }
                NodeKind::Object => self.named_within(&name, value, &mut named),
                _ => {}
            }
        }
        named
    }

    /// The same for a member that is an object with a name in it: `{"setting": {"name": "pin"}, "value": …}`. What holds
    /// the place of an error names like a member itself; of others only what is exactly a secret name counts, unless the
    /// member says that it is a name.
    fn named_within(&mut self, outer: &str, object: u32, named: &mut NamedByMembers) {
        /// Objects with more members hold things, not names of things.
        const MAX_MEMBERS: usize = 16;
        let source = ends_in(outer, &SOURCES);
        let naming = ends_in(outer, &NAMING);
        let keys: SmallVec<[u32; 16]> = self.tree.keys(object).take(MAX_MEMBERS).collect();
        for inner in keys {
            // A name may be written in several languages: `{"label": {"en": "Password"}}`.
            let says = ends_in(&self.key_text(inner), &NAMING);
            if self.tree.kind(inner + 1) != NodeKind::String || !(says || naming) {
                continue;
            }
            if source && says {
                self.named_by(inner + 1, named);
                continue;
            }
            let text = self.key_text(inner + 1);
            let names = &self.redactor.secret_names;
            named.values |=
                names.contains_exactly(&text) || (naming && says && names.contains_label(&text));
        }
    }

    /// The same for the parts of a multipart form: a field called `name` names the field called `value`.
    pub(super) fn named_by_parts(&mut self, parts: &[u32], form: bool) -> NamedByMembers {
        let mut named = NamedByMembers::default();
        for part in parts {
            match self.field_of(*part) {
                Some((name, value)) if ends_in(&name, &NAMING) => {
                    self.named_by(value, &mut named);
                }
                // Its name is not known.
                Some((_, value)) if !self.is_part_readable(*part, form) => {
                    self.named_by(value, &mut named);
                }
                Some(_) => {}
                None => {
                    if let Some(text) = self.text_of(*part)
                        && self.tree.kind(text) == NodeKind::String
                    {
                        self.named_by(text, &mut named);
                        // A form part without a name may hold the header of another part.
                        let text = self.key_text(text);
                        named.all |= form && self.redactor.secret_names.any_word_of(&text);
                    }
                }
            }
        }
        named
    }

    /// The body of a part that is text.
    fn text_of(&self, part: u32) -> Option<u32> {
        let mut keys = self.tree.keys(part);
        let key = keys.find(|key| self.tree.content(*key) == part_keys::TEXT.as_bytes())?;
        Some(key + 1)
    }

    /// Whether a part is a field that another field names as secret.
    pub(super) fn is_named_part(&mut self, part: u32, named: NamedByMembers) -> bool {
        if !(named.values || named.all) {
            return false;
        }
        self.field_of(part).is_some_and(|(name, value)| {
            (named.values && is_named(&name)) || (named.all && !self.says_what_it_is(&name, value))
        })
    }

    /// The field name of a part, and its text.
    fn field_of(&mut self, part: u32) -> Option<(String, u32)> {
        let text = self.text_of(part)?;
        if self.tree.kind(text) != NodeKind::Object {
            return None;
        }
        let name = self.tree.keys(text).next()?;
        (self.tree.kind(name + 1) == NodeKind::String).then(|| (self.key_text(name), name + 1))
    }

    fn named_by(&mut self, value: u32, named: &mut NamedByMembers) {
        let text = self.key_text(value);
        let names = &self.redactor.secret_names;
        let last = last_name(&text);
        named.all |= names.contains_exactly(last) || names.contains_exactly(&text);
        named.values |= named.all || names.contains_label(last) || names.contains_label(&text);
        // In a path that may have lost a character, every word counts.
        named.values |= is_path(&text) && names.any_word_of(&text);
        // Everything below a secret name is secret, too.
        if text.starts_with(['/', '#', '$']) {
            named.values |= text
                .split(['/', '.', '['])
                .any(|part| names.contains_label(part));
        }
    }

    /// Whether a member next to a secret name only tells what the object is about: a word, a position, or a sentence
    /// without quotes.
    pub(super) fn says_what_it_is(&mut self, name: &str, value: u32) -> bool {
        let about = ends_in(name, &ABOUT);
        match self.tree.kind(value) {
            NodeKind::String if about || ends_in(name, &NAMING) => {
                let text = self.key_text(value);
                is_word(&text)
                    || (about && is_sentence(&text))
                    || self.redactor.secret_names.contains(last_name(&text))
            }
            NodeKind::Array => ends_in(name, &NAMING),
            NodeKind::Number => about,
            NodeKind::Object => ends_in(name, &SOURCES),
            NodeKind::String => self
                .redactor
                .secret_names
                .contains_exactly(&self.key_text(value)),
            _ => false,
        }
    }

    /// Which variables of a GraphQL request are secret; `None` if the object is not such a request, or no variable is.
    pub(super) fn operation_of(&mut self, object: u32) -> Option<Operation> {
        let keys: SmallVec<[u32; 8]> = self.tree.keys(object).collect();
        let mut variables = false;
        let mut login = false;
        // The secret variables of all queries together, because nothing tells which query the variables belong to.
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
                login = taking || self.redactor.secret_names.contains(&text);
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
            Some(Operation::Unreadable)
        } else if !secret.is_empty() {
            Some(Operation::Variables(secret.into()))
        } else {
            (login && !is_read).then_some(Operation::Unknown)
        }
    }
}

/// Whether a text looks like a path, rather than a sentence or a plain name.
fn is_path(text: &str) -> bool {
    /// Longer ones are sentences.
    const MAX_BYTES: usize = 128;
    text.len() <= MAX_BYTES
        && !text.contains(char::is_whitespace)
        && text
            .contains(|sign: char| sign.is_ascii_punctuation() && !matches!(sign, '_' | '-' | '.'))
}

/// Whether a text is one or several joined words of lower-case letters, which nobody would guard as a secret.
fn is_word(text: &str) -> bool {
    text.len() <= MAX_WORD_BYTES
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-' | b'.'))
}

/// Whether a text consists of words of letters with spaces between them. A secret would have other characters, or
/// quotes around it.
fn is_sentence(text: &str) -> bool {
    text.contains(' ')
        && text.split(' ').enumerate().all(|(at, word)| {
            let letters = word.strip_suffix(['.', ',', '!']).unwrap_or(word);
            letters.chars().enumerate().all(|(index, letter)| {
                letter.is_lowercase() || (at == 0 && index == 0 && letter.is_alphabetic())
            })
        })
}
