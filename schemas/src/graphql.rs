//! GraphQL requests: which operation one asks for, and whether all that it may run only reads.
//!
//! Every request has one path and mostly one method, so the operation is what a route is elsewhere. It is read from the
//! request alone, without a schema and without memory, so the same request has the same name on every instance.
//!
//! What cannot be told for certain is never said to read: members that may name another document, also for some servers only, a member that is there
//! twice, a hash without its text, a text that two servers could read differently. A mutation beside the operation that
//! was asked for counts as asked for. So a request has [parts](Part), and may only be sent where each of them may.

mod address;
mod body;
mod document;
mod names;

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::ident::is_value_as_key;
use crate::secret::holds_service_key;
use document::Defined;

pub use document::is_name;

/// Longest body or query whose operation is read. A query of a program has a few KiB; this is read on the thread that
/// serves clients, where a quarter of a megabyte takes less than a millisecond.
pub const OPERATION_BYTES: usize = 256 * 1024;
/// Longest name of an operation that becomes part of a label.
const MAX_NAME_BYTES: usize = 64;
/// Most requests in a batch, and most operations of all its documents, that are read.
const MAX_BATCH: usize = 100;
/// Digits of a hash that tell one stored document from another in a label.
const HASH_DIGITS: usize = 12;

const QUERY: &str = "query";
const MUTATION: &str = "mutation";
const SUBSCRIPTION: &str = "subscription";
/// The word of a document that only the service has.
const PERSISTED: &str = "persisted";
/// The word of a request whose operation cannot be read.
const UNKNOWN: &str = "unknown";
/// Stands where the name would, if there are several requests in one body.
const BATCH: &str = "batch";
/// Stands for a name that holds a value.
const HIDDEN_NAME: &str = "{name}";

/// What a request may do, the most harmless first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Only queries.
    Reads,
    /// It has no document, or names one that only the service has: a query, or a mutation.
    Untold,
    /// It has something that cannot be read, or not in one way only.
    Unknown,
    /// It has a mutation.
    Writes,
    /// It has a subscription.
    Streams,
}

/// One operation that a request has, whether or not it asks for it; or something in it that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    label: Cow<'static, str>,
    access: Access,
    fields: Option<Vec<Box<str>>>,
}

impl Part {
    const UNKNOWN: Self = Self {
        label: Cow::Borrowed(UNKNOWN),
        access: Access::Unknown,
        fields: None,
    };

    fn of(defined: &Defined<'_>) -> Self {
        let word = word(defined.access);
        // Names are the client's; which fields it asks for is what a mutation does.
        let fields = match (&defined.fields, defined.access) {
            (Some(fields), Access::Writes) => Some(fields.iter().copied().map(Box::from).collect()),
            _ => None,
        };
        Self {
            label: match defined.name.map(shown) {
                Some(name) => format!("{word} {name}").into(),
                None => word.into(),
            },
            access: defined.access,
            fields,
        }
    }

    /// What stands behind the route in a label if a request asks for this alone.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What it may do.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The name that a request gives to a document that only the service has.
    pub(crate) fn stored_name(&self) -> Option<&str> {
        let mut words = self.label.split(' ');
        let is_stored = words.next() == Some(PERSISTED);
        let name = words.next().filter(|_| is_stored);
        name.filter(|_| words.next().is_some())
    }

    /// Whether all that it runs are these fields of the root of a mutation. `__typename` only reads.
    pub fn asks_only_for(&self, fields: &[Box<str>]) -> bool {
        let is_one = |own: &str| own == "__typename" || fields.iter().any(|field| **field == *own);
        let own = self.fields.as_deref().unwrap_or_default();
        !own.is_empty() && own.iter().all(|own| is_one(own))
    }
}

/// The operation that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    label: Cow<'static, str>,
    parts: Cow<'static, [Part]>,
}

impl Operation {
    /// One that cannot be read.
    pub const UNKNOWN: Self = Self {
        label: Cow::Borrowed(UNKNOWN),
        parts: Cow::Borrowed(&[Part::UNKNOWN]),
    };

    /// What a GET asks for, by its query string.
    pub fn of_query(query: Option<&str>) -> Self {
        match Asked::of_query(query.unwrap_or_default()) {
            Some(asked) => asked.operation(),
            None => Self::UNKNOWN,
        }
    }

    /// What a POST asks for, by the value of its `Content-Type`, its query string and its body.
    ///
    /// Some servers prefer what the query string says to what the body says, so a request that says both is unknown. Only
    /// the name of the operation may stand in both, as many clients write it.
    pub fn of_body(content_type: &[u8], query: Option<&str>, body: &[u8]) -> Self {
        let in_query = match query.map(Asked::of_query) {
            None => Asked::default(),
            Some(Some(asked))
                if asked.query.is_none() && asked.hash.is_none() && !asked.says_more =>
            {
                asked
            }
            Some(_) => return Self::UNKNOWN,
        };
        if body.len() > OPERATION_BYTES {
            return Self::UNKNOWN;
        }
        let operation = match media(content_type) {
            Some(Media::Json) => body::operation(body),
            Some(Media::Graphql) => std::str::from_utf8(body).ok().map(|text| {
                let asked = Asked {
                    query: Some(text.into()),
                    ..Asked::default()
                };
                asked.operation()
            }),
            None => None,
        };
        let mut operation = operation.unwrap_or(Self::UNKNOWN);
        if let Some(name) = in_query.operation_name
            && operation.label.split(' ').nth(1) != Some(&*name)
        {
            operation.doubt();
        }
        operation
    }

    /// What stands behind the route in a label: `query Orders`, `mutation batch`, `persisted Orders 1a2b3c4d5e6f`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What it may do: the gravest of its parts.
    pub fn access(&self) -> Access {
        let of_each = self.parts.iter().map(Part::access);
        of_each.max().unwrap_or(Access::Unknown)
    }

    /// All that the request has; never empty.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// It has something that can be read in several ways.
    fn doubt(&mut self) {
        self.parts.to_mut().push(Part::UNKNOWN);
    }

    /// That of several requests in one body.
    fn of_batch(parts: Vec<Part>) -> Self {
        if parts.is_empty() {
            return Self::UNKNOWN;
        }
        let mut batch = Self {
            label: Cow::Borrowed(UNKNOWN),
            parts: parts.into(),
        };
        batch.label = format!("{} {BATCH}", word(batch.access())).into();
        batch
    }
}

/// Whether a text is what [`Operation::label`] gives, and how it is written there: `mutation Pay`.
pub(crate) fn operation_label(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_shown = |name: &str| name == HIDDEN_NAME || is_name(name) && shown(name) == name;
    let is_hash = |digits: &str| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        digits.len() == HASH_DIGITS && digits.bytes().all(is_digit)
    };
    let fits = match *words {
        [QUERY | MUTATION | SUBSCRIPTION | UNKNOWN] | [UNKNOWN, BATCH] => true,
        [QUERY | MUTATION | SUBSCRIPTION, name] => is_shown(name),
        [PERSISTED, hash] => is_hash(hash),
        [PERSISTED, name, hash] => is_shown(name) && is_hash(hash),
        _ => false,
    };
    fits.then(|| words.join(" "))
}

/// What a label of operations says of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labelled {
    /// `query Orders`.
    Query,
    /// `mutation Pay`.
    Mutation,
    /// `subscription Ticks`.
    Subscription,
    /// `persisted Orders 1a2b3c4d5e6f`.
    Persisted,
    /// `query batch`, `unknown batch`. An operation with the name `batch` looks the same.
    Batch,
    /// `unknown`.
    Unknown,
}

impl Labelled {
    /// Of the label of an operation.
    pub fn of(operation: &str) -> Self {
        match operation.split_once(' ').unwrap_or((operation, "")) {
            (_, BATCH) => Self::Batch,
            (QUERY, _) => Self::Query,
            (MUTATION, _) => Self::Mutation,
            (SUBSCRIPTION, _) => Self::Subscription,
            (PERSISTED, _) => Self::Persisted,
            _ => Self::Unknown,
        }
    }
}

/// Whether the operation of a POST with this `Content-Type` can be read from its body.
pub fn can_read(content_type: &[u8]) -> bool {
    media(content_type).is_some()
}

enum Media {
    Json,
    Graphql,
}

fn media(content_type: &[u8]) -> Option<Media> {
    let mut parts = content_type.split(|byte| *byte == b';');
    let essence = parts.next().unwrap_or_default().trim_ascii();
    // JSON has no other charset, and in another one the same bytes could be another document.
    let is_utf8 = parts.all(|part| {
        let part = part.trim_ascii().to_ascii_lowercase();
        !part.starts_with(b"charset") || matches!(&*part, b"charset=utf-8" | b"charset=\"utf-8\"")
    });
    match essence {
        _ if !is_utf8 => None,
        _ if essence.eq_ignore_ascii_case(b"application/json") => Some(Media::Json),
        _ if essence.eq_ignore_ascii_case(b"application/graphql") => Some(Media::Graphql),
        _ => None,
    }
}

/// What one request says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked<'t> {
    query: Option<Cow<'t, str>>,
    operation_name: Option<Cow<'t, str>>,
    /// SHA-256 of a document that the service has, as it was written.
    hash: Option<Cow<'t, str>>,
    /// There are members that may name another document.
    says_more: bool,
}

impl Asked<'_> {
    fn operation(&self) -> Operation {
        // An empty name is none for most servers.
        let wanted = self
            .operation_name
            .as_deref()
            .filter(|name| !name.is_empty());
        let mut operation = match (self.query.as_deref(), self.hash.as_deref()) {
            (Some(text), hash) => {
                let mut operation = chosen(text, wanted);
                // A service may run the stored document instead. Only if it has this very text that makes no difference.
                if hash.is_some_and(|hash| !is_hash_of(hash, text)) {
                    operation.doubt();
                }
                operation
            }
            (None, Some(hash)) => stored(hash, wanted),
            (None, None) => Operation {
                label: Cow::Borrowed(UNKNOWN),
                parts: Cow::Borrowed(&[Part {
                    access: Access::Untold,
                    ..Part::UNKNOWN
                }]),
            },
        };
        if self.says_more && (self.query.is_some() || self.hash.is_some()) {
            operation.doubt();
        }
        operation
    }
}

/// The operation of a document that a request with this `operationName` runs.
fn chosen(text: &str, wanted: Option<&str>) -> Operation {
    let mut parts = Vec::new();
    let mut fitting = 0;
    let mut label = None;
    let read = document::operations(text, |defined| {
        let part = Part::of(&defined);
        if wanted.is_none() || defined.name == wanted {
            fitting += 1;
            label.get_or_insert_with(|| part.label.clone());
        }
        // A last one for what is beyond.
        match parts.len() {
            0..MAX_BATCH => parts.push(part),
            MAX_BATCH => parts.push(Part::UNKNOWN),
            _ => {}
        }
    });
    let label = label.filter(|_| read.is_ok() && fitting == 1);
    if label.is_none() {
        parts.push(Part::UNKNOWN);
    }
    Operation {
        label: label.unwrap_or(Cow::Borrowed(UNKNOWN)),
        parts: parts.into(),
    }
}

/// A document that only the service has.
fn stored(hash: &str, name: Option<&str>) -> Operation {
    let hash = hash.strip_prefix("sha256:").unwrap_or(hash);
    let Some(digits) = hash.get(..HASH_DIGITS).filter(|_| is_sha256(hash)) else {
        return Operation::UNKNOWN;
    };
    let mut label = PERSISTED.to_owned();
    if let Some(name) = name.filter(|name| is_name(name)) {
        label.push(' ');
        label.push_str(shown(name));
    }
    label.push(' ');
    label.push_str(&digits.to_ascii_lowercase());
    let part = Part {
        label: label.into(),
        access: Access::Untold,
        fields: None,
    };
    Operation {
        label: part.label.clone(),
        parts: vec![part].into(),
    }
}

fn is_sha256(hash: &str) -> bool {
    hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_hash_of(hash: &str, text: &str) -> bool {
    let hash = hash.strip_prefix("sha256:").unwrap_or(hash);
    let mut own = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        let _infallible = write!(own, "{byte:02x}");
    }
    own.eq_ignore_ascii_case(hash)
}

/// A name as labels have it. Programs that make names with values in them would make a route of each request, and show the
/// values.
fn shown(name: &str) -> &str {
    if name.len() <= MAX_NAME_BYTES && !is_value_as_key(name) && !holds_service_key(name) {
        name
    } else {
        HIDDEN_NAME
    }
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Reads => QUERY,
        Access::Writes => MUTATION,
        Access::Streams => SUBSCRIPTION,
        Access::Untold | Access::Unknown => UNKNOWN,
    }
}

#[cfg(test)]
mod tests;
