//! How a value is stored: a form for each kind of column, with its types in both stores.
//!
//! Forms are types without values, so that reading and writing are implemented once per form and not per column. A new
//! column of an existing form needs no code at all.

/// See the module.
pub trait Form {
    /// The type in `SQLite`.
    const SQLITE: &'static str;
    /// The value of a new column of this form for older rows in `SQLite`, as a literal.
    const ABSENT: &'static str;
    /// The type in `ClickHouse`.
    const STORED: &'static str;
    /// How `ClickHouse` compresses it; empty for the usual way.
    const CODEC: &'static str;
    /// The type as it is sent to `ClickHouse`.
    const SENT: &'static str;
    /// Pieces of the `Native` format: one, or more for lists and optional values.
    const PIECES: usize;
}

macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident: $sqlite:literal $absent:literal, $stored:literal $(codec $codec:literal)?, $sent:literal $pieces:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Form for $name {
            const SQLITE: &'static str = $sqlite;
            const ABSENT: &'static str = $absent;
            const STORED: &'static str = $stored;
            const CODEC: &'static str = concat!($($codec)?);
            const SENT: &'static str = $sent;
            const PIECES: usize = $pieces;
        }
    )*};
}

// Of each: type and absent value in SQLite; type and compression in ClickHouse; type and pieces as sent.
forms! {
    /// A UUID that every row has.
    Id: "TEXT NOT NULL" "'00000000-0000-0000-0000-000000000000'", "UUID", "UUID" 1;
    /// The id of a run: nil, and empty in `SQLite`, in rows of programs that had none.
    Run: "TEXT NOT NULL" "''", "UUID", "UUID" 1;
    /// Text that differs from row to row.
    Text: "TEXT NOT NULL" "''", "String" codec "ZSTD(1)", "String" 1;
    /// Text that many rows have in common.
    Label: "TEXT NOT NULL" "''", "LowCardinality(String)", "String" 1;
    /// A short text of fixed length, such as a fingerprint.
    Hash: "TEXT NOT NULL" "''", "String", "String" 1;
    /// A word of a vocabulary.
    Word: "TEXT NOT NULL" "''", "LowCardinality(String)", "String" 1;
    /// A word of a vocabulary, or none: NULL in `SQLite`, empty in `ClickHouse`.
    OptionalWord: "TEXT" "NULL", "LowCardinality(String)", "String" 1;
    /// Microseconds since 1970.
    Time: "INTEGER NOT NULL" "0", "DateTime64(6, 'UTC')", "DateTime64(6, 'UTC')" 1;
    /// A difference of two times in microseconds.
    Span: "INTEGER NOT NULL" "0", "Int64" codec "T64, ZSTD(1)", "Int64" 1;
    /// A code of 16 bits.
    Status: "INTEGER NOT NULL" "0", "UInt16", "UInt16" 1;
    /// A number of 32 bits.
    Number: "INTEGER NOT NULL" "0", "UInt32", "UInt32" 1;
    /// A count, or a duration in microseconds.
    Count: "INTEGER NOT NULL" "0", "UInt64" codec "T64, ZSTD(1)", "UInt64" 1;
    /// Yes or no.
    Flag: "INTEGER NOT NULL" "0", "Bool", "Bool" 1;
    /// A list of texts; JSON in `SQLite`.
    Texts: "TEXT NOT NULL" "'[]'", "Array(String)" codec "ZSTD(1)", "Array(String)" 2;
    /// Counts by word or name; JSON in `SQLite`.
    Counts: "TEXT NOT NULL" "'{}'", "Map(LowCardinality(String), UInt64)", "Map(String, UInt64)" 3;
    /// The same of clients: rows of an older program do not tell.
    ClientCounts: "TEXT" "NULL", "Map(LowCardinality(String), UInt64)", "Map(String, UInt64)" 3;
    /// Counts by bucket; runs of buckets as text in `SQLite`.
    Buckets: "TEXT NOT NULL" "''", "Map(UInt16, UInt64)", "Map(UInt16, UInt64)" 3;
    /// Registers with their ranks; a compact text in `SQLite`.
    Registers: "TEXT NOT NULL" "''", "Map(UInt8, UInt8)", "Map(UInt8, UInt8)" 3;
    /// Counts by hash; a compact text in `SQLite`.
    Hashes: "TEXT NOT NULL" "''", "Map(UInt64, UInt64)", "Map(UInt64, UInt64)" 3;
    /// JSON.
    Document: "TEXT NOT NULL" "'null'", "String" codec "ZSTD(1)", "String" 1;
    /// JSON, or nothing: NULL in `SQLite`, empty in `ClickHouse`.
    OptionalDocument: "TEXT" "NULL", "String" codec "ZSTD(1)", "String" 1;
    /// What differs; JSON in `SQLite`.
    Findings: "TEXT NOT NULL" "'[]'",
        "Array(Tuple(fingerprint String, part String, path String, candidate_path Nullable(String), pattern String, kind String, legacy Nullable(String), candidate Nullable(String), explanation String, text_diff Nullable(String)))"
        codec "ZSTD(1)",
        "Array(Tuple(fingerprint String, part String, path String, candidate_path Nullable(String), pattern String, kind String, legacy Nullable(String), candidate Nullable(String), explanation String, text_diff Nullable(String)))"
        15;
    /// What differs and counts as equal; JSON in `SQLite`.
    Tolerations: "TEXT NOT NULL" "'[]'",
        "Array(Tuple(part String, path String, why String))" codec "ZSTD(1)",
        "Array(Tuple(part String, path String, why String))" 4;
}
