//! The keys of a `[[route]]` and of a `[[rule]]`, each once.

use parity_comparator::rules::{ACTIONS, TYPES};
use parity_schemas::verdict::{Explanation, Kind as FindingKind, Part};

use super::Kind;

/// One key of such a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryKey {
    /// As it is written.
    pub(crate) name: &'static str,
    /// Its type.
    pub(crate) kind: Kind,
    /// Whether a table without it says nothing.
    pub(crate) needed: bool,
    /// The only words that it takes; of a list, its elements.
    pub(crate) words: Option<fn() -> Vec<&'static str>>,
    /// One line on what it does.
    pub(crate) about: &'static str,
}

const fn key(name: &'static str, about: &'static str) -> EntryKey {
    EntryKey {
        name,
        kind: Kind::Text,
        needed: false,
        words: None,
        about,
    }
}

impl EntryKey {
    const fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    const fn needed(mut self) -> Self {
        self.needed = true;
        self
    }

    const fn words(mut self, words: fn() -> Vec<&'static str>) -> Self {
        self.words = Some(words);
        self
    }
}

/// Declares the keys of one kind of table, and the list of them.
macro_rules! keys {
    ($($name:ident = $definition:expr;)+) => {
        $(pub(crate) static $name: EntryKey = $definition;)+
        /// All of them, in the order in which they are described.
        pub(crate) static ALL: &[&EntryKey] = &[$(&$name),+];
    };
}

/// Keys of a `[[route]]`.
pub(crate) mod route {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    keys! {
        MATCH = key("match", "METHOD /path/{placeholder}; `*` for every method, `{*rest}` for what remains").needed();
        SHADOW = key("shadow", "true: safe to send twice, whatever the method; false: never send").kind(Kind::Switch);
        SAMPLE = key("sample", "Share of its requests that is shadowed, in the place of mirror.sample").kind(Kind::Share);
    }
}

/// Keys of a `[[rule]]`.
pub(crate) mod rule {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    keys! {
        ID = key("id", "Name of the rule, shown wherever it applies").needed();
        ROUTE = key("route", "Only on this route");
        PART = key("part", "status, header, trailer or body (the default)").words(parts);
        PATH = key("path", "JSON Pointer with * for one and ** for any number of segments, or the like of $.items[*].id; a header name for headers");
        ACTION = key("action", "ignore, accept, unordered, key, tolerance, as or mask").needed().words(|| ACTIONS.to_vec());
        EXPLANATIONS = key("explanations", "For accept: how two values may differ, in the words of the report, such as null_vs_empty")
            .kind(Kind::List).words(explanations);
        KIND = key("kind", "For accept: only findings of this kind, such as extra (only the candidate has it)").words(kinds);
        FIELD = key("field", "For key: the field that identifies an element");
        ABSOLUTE = key("absolute", "For tolerance: largest difference, as decimal text");
        RELATIVE = key("relative", "For tolerance: largest difference relative to the larger value, as decimal text");
        TYPE = key("type", "For as: timestamp, uuid or number").words(|| TYPES.to_vec());
        REASON = key("reason", "Why the difference is accepted");
        OWNER = key("owner", "Who answers for it");
        EXPIRES = key("expires", "A date (YYYY-MM-DD) or a time (2027-03-01T12:00:00Z); from then on the rule no longer applies");
    }
}

fn parts() -> Vec<&'static str> {
    Part::ALL.iter().map(|part| part.as_str()).collect()
}

fn kinds() -> Vec<&'static str> {
    FindingKind::ALL.iter().map(|kind| kind.as_str()).collect()
}

fn explanations() -> Vec<&'static str> {
    Explanation::ALL.iter().map(|word| word.as_str()).collect()
}
