//! The keys of a `[[route]]`, and those of a `[[rule]]` in the same form, for whoever describes the file.

use parity_comparator::rules::config;

use super::Kind;

/// One key of such a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryKey {
    /// As it is written.
    pub(crate) name: &'static str,
    /// Its type.
    pub(crate) kind: Kind,
    /// Whether a table without it says nothing.
    pub(crate) required: bool,
    /// The only words that it takes; of a list, its elements.
    pub(crate) words: Option<fn() -> Vec<&'static str>>,
    /// One line on what it does.
    pub(crate) about: &'static str,
}

const fn key(name: &'static str, about: &'static str) -> EntryKey {
    EntryKey {
        name,
        kind: Kind::Text,
        required: false,
        words: None,
        about,
    }
}

impl EntryKey {
    const fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

/// Keys of a `[[route]]`.
pub(crate) mod route {
    use super::{EntryKey, Kind, key};

    pub(crate) static MATCH: EntryKey = key(
        "match",
        "METHOD /path/{placeholder}; `*` for every method, `{*rest}` for what remains",
    )
    .required();
    pub(crate) static SHADOW: EntryKey = key(
        "shadow",
        "true: safe to send twice, whatever the method; false: never send",
    )
    .kind(Kind::Switch);
    pub(crate) static SAMPLE: EntryKey = key(
        "sample",
        "Share of its requests that is shadowed, in the place of mirror.sample",
    )
    .kind(Kind::Share);
    pub(crate) static RECHECK: EntryKey = key(
        "recheck",
        "true: safe to send again when the answers differ, whatever the method; false: never send again",
    )
    .kind(Kind::Switch);

    /// All of them, in the order in which they are described.
    pub(crate) static ALL: &[&EntryKey] = &[&MATCH, &SHADOW, &SAMPLE, &RECHECK];
}

/// Keys of a `[[rule]]`, which the comparator declares.
pub(crate) fn of_rules() -> Vec<EntryKey> {
    let keys = config::KEYS.iter();
    let described = |key: &config::Key| EntryKey {
        name: key.name,
        kind: if key.is_list() {
            Kind::List
        } else {
            Kind::Text
        },
        required: key.required,
        words: key.words,
        about: key.about,
    };
    keys.map(described).collect()
}
