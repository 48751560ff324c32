//! The keys of a `[[route]]`, of a `[[known]]` and of a `[[substitute]]`, and those of a `[[rule]]` in the same form, for whoever describes the file.

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

    const fn words(mut self, words: fn() -> Vec<&'static str>) -> Self {
        self.words = Some(words);
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
        "METHOD /path/{placeholder}; `*` for every method, `{*rest}` for what remains; behind it an operation of a GraphQL endpoint, such as `mutation Quote`",
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

    pub(crate) static GRAPHQL: EntryKey = key(
        "graphql",
        "true: a GraphQL endpoint; its requests are counted by operation, and what may not only read is not shadowed, whatever the method [default: false]",
    )
    .kind(Kind::Switch);
    pub(crate) static SHADOW_QUERIES: EntryKey = key(
        "shadow_queries",
        "true: GraphQL queries are safe to send twice, also by POST, and so are stored documents that a GET names by hash or id; no mutation that is read is sent by this, and no subscription [default: false]",
    )
    .kind(Kind::Switch);

    pub(crate) static FIELDS: EntryKey = key(
        "fields",
        "Only where a GraphQL mutation with the name in `match` asks for none but these fields of the type Mutation",
    )
    .kind(Kind::List);

    /// All of them, in the order in which they are described.
    pub(crate) static ALL: &[&EntryKey] = &[
        &MATCH,
        &SHADOW,
        &SAMPLE,
        &RECHECK,
        &GRAPHQL,
        &SHADOW_QUERIES,
        &FIELDS,
    ];
}

/// Keys of a `[[known]]`.
pub(crate) mod known {
    use parity_schemas::verdict::{Explanation, Kind as Differs, Part};

    use super::{EntryKey, Kind, key};

    pub(crate) static ID: EntryKey =
        key("id", "Its name, by which `parity known mend` finds it").required();
    pub(crate) static FINGERPRINTS: EntryKey = key(
        "fingerprints",
        "The groups that it means, as reports name them; or else the keys from `route` to `explanation` say it",
    )
    .kind(Kind::List);
    pub(crate) static ROUTE: EntryKey = key("route", "Only this route, as reports name it");
    pub(crate) static PART: EntryKey =
        key("part", "Only this part of the answer").words(|| words(Part::ALL, Part::as_str));
    pub(crate) static PATH: EntryKey = key(
        "path",
        "Only this place, as reports name it: `*` is one step, `**` any number of them",
    );
    pub(crate) static KIND: EntryKey =
        key("kind", "Only what differs so").words(|| words(Differs::ALL, Differs::as_str));
    pub(crate) static EXPLANATION: EntryKey = key("explanation", "Only what is near each other so")
        .words(|| words(Explanation::ALL, Explanation::as_str));
    pub(crate) static OWNER: EntryKey = key("owner", "Who answers for it").required();
    pub(crate) static REASON: EntryKey = key("reason", "Why it is there").required();
    pub(crate) static TICKET: EntryKey = key("ticket", "Where it is worked on");
    pub(crate) static EXPIRES: EntryKey = key(
        "expires",
        "A date or a time: from then on it excuses nothing",
    );
    pub(crate) static BLOCKS: EntryKey = key(
        "blocks",
        "true: it counts against the candidate; false: it does not, unless it grows or is back [default: true]",
    )
    .kind(Kind::Switch);
    pub(crate) static RATE: EntryKey = key(
        "rate",
        "The highest share of the compared requests of a route that it had when it was entered: over twice that it grows",
    )
    .kind(Kind::Share);
    pub(crate) static MENDED: EntryKey = key(
        "mended",
        "A date or a time since when it should be gone: it excuses nothing, and seen after that it is back",
    );

    /// All of them, in the order in which they are described.
    pub(crate) static ALL: &[&EntryKey] = &[
        &ID,
        &FINGERPRINTS,
        &ROUTE,
        &PART,
        &PATH,
        &KIND,
        &EXPLANATION,
        &OWNER,
        &REASON,
        &TICKET,
        &EXPIRES,
        &BLOCKS,
        &RATE,
        &MENDED,
    ];

    fn words<T: Copy>(all: &[T], word: impl Fn(T) -> &'static str) -> Vec<&'static str> {
        all.iter().map(|one| word(*one)).collect()
    }
}

/// Keys of a `[[substitute]]`.
pub(crate) mod substitute {
    use super::{EntryKey, Kind, key};

    /// The words of `service`.
    pub(crate) const LEGACY: &str = "legacy";
    pub(crate) const CANDIDATE: &str = "candidate";

    pub(crate) static PUT: EntryKey = key(
        "put",
        "Where `parity replay` puts the value in requests: header:NAME, cookie:NAME, query:NAME, form:NAME, or body:/POINTER of JSON",
    )
    .required();
    pub(crate) static FROM: EntryKey = key(
        "from",
        "METHOD /path of the requests whose answers have the value; each service gets what it gave out itself, later in the session",
    );
    pub(crate) static TAKE: EntryKey = key(
        "take",
        "Where the value stands in those answers: header:NAME, cookie:NAME or body:/POINTER of JSON",
    );
    pub(crate) static FILE: EntryKey = key(
        "file",
        "In the place of `from` and `take`: a file with the value, whose line end does not belong to it",
    )
    .kind(Kind::Path);
    pub(crate) static ENV: EntryKey = key(
        "env",
        "In the place of `from` and `take`: the environment variable with the value",
    );
    pub(crate) static AS: EntryKey = key(
        "as",
        "What is put there, with `{}` for the value, such as `Bearer {}` [default: {}]",
    );
    pub(crate) static TO: EntryKey = key(
        "to",
        "METHOD /path of the requests that get it, also where the recording has no such part [default: all that have one]",
    )
    .kind(Kind::List);
    pub(crate) static SERVICE: EntryKey =
        key("service", "Only requests to this service [default: both]")
            .words(|| vec![LEGACY, CANDIDATE]);

    /// All of them, in the order in which they are described.
    pub(crate) static ALL: &[&EntryKey] = &[&PUT, &FROM, &TAKE, &FILE, &ENV, &AS, &TO, &SERVICE];
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
