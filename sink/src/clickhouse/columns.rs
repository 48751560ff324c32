//! The columns of the five tables as they are sent: the names of the record, and types that hold no dictionaries.
//!
//! Must agree with schemas/clickhouse, which the tests on a real server see to, and with the order in which `rows`
//! writes.

use parity_schemas::record::RecordType;

use super::encode::{Column, column};

/// The columns of a table in the order in which its rows are written here.
pub(crate) const fn columns(table: RecordType) -> &'static [Column] {
    match table {
        RecordType::Mismatch => MISMATCHES,
        RecordType::Tally => TALLIES,
        RecordType::GroupTally => GROUP_TALLIES,
        RecordType::Decision => DECISIONS,
        RecordType::Watermark => WATERMARKS,
    }
}

/// Pieces of an element of `findings` and of `tolerated`.
pub(super) const FINDING_PIECES: usize = 14;
pub(super) const TOLERATED_PIECES: usize = 3;

const MISMATCHES: &[Column] = &[
    column("id", "UUID", 1),
    column("migration", "String", 1),
    column("legacy_version", "String", 1),
    column("candidate_version", "String", 1),
    column("rules_hash", "String", 1),
    column("time", "DateTime64(6, 'UTC')", 1),
    column("instance", "String", 1),
    column("route", "String", 1),
    column("method", "String", 1),
    column("path", "String", 1),
    column("query", "String", 1),
    column("fingerprints", "Array(String)", 2),
    column(
        "findings",
        "Array(Tuple(fingerprint String, part String, path String, candidate_path Nullable(String), pattern String, \
         kind String, legacy Nullable(String), candidate Nullable(String), explanation String, \
         text_diff Nullable(String)))",
        1 + FINDING_PIECES,
    ),
    column("findings_cut", "Bool", 1),
    column(
        "tolerated",
        "Array(Tuple(part String, path String, why String))",
        1 + TOLERATED_PIECES,
    ),
    column("legacy_status", "UInt16", 1),
    column("candidate_status", "UInt16", 1),
    column("legacy_us", "UInt64", 1),
    column("candidate_us", "UInt64", 1),
    column("trace_id", "String", 1),
    column("class", "String", 1),
    column("sample", "String", 1),
];

const TALLIES: &[Column] = &[
    column("id", "UUID", 1),
    column("revision", "UInt32", 1),
    column("migration", "String", 1),
    column("legacy_version", "String", 1),
    column("candidate_version", "String", 1),
    column("rules_hash", "String", 1),
    column("instance", "String", 1),
    column("interval_start", "DateTime64(6, 'UTC')", 1),
    column("interval_us", "Int64", 1),
    column("route", "String", 1),
    column("received", "UInt64", 1),
    column("match", "UInt64", 1),
    column("mismatch", "UInt64", 1),
    column("not_compared", "Map(String, UInt64)", 3),
    column("rule_hits", "Map(String, UInt64)", 3),
    column("legacy_latency", "Map(UInt16, UInt64)", 3),
    column("candidate_latency", "Map(UInt16, UInt64)", 3),
    column("clients", "Map(String, UInt64)", 3),
    column("legacy_head_latency", "Map(UInt16, UInt64)", 3),
    column("candidate_head_latency", "Map(UInt16, UInt64)", 3),
    column("run", "UUID", 1),
    column("legacy_answers", "Map(String, UInt64)", 3),
];

const GROUP_TALLIES: &[Column] = &[
    column("tally_id", "UUID", 1),
    column("revision", "UInt32", 1),
    column("migration", "String", 1),
    column("legacy_version", "String", 1),
    column("candidate_version", "String", 1),
    column("rules_hash", "String", 1),
    column("interval_start", "DateTime64(6, 'UTC')", 1),
    column("route", "String", 1),
    column("fingerprint", "String", 1),
    column("part", "String", 1),
    column("pattern", "String", 1),
    column("kind", "String", 1),
    column("explanation", "String", 1),
    column("legacy_status", "UInt16", 1),
    column("candidate_status", "UInt16", 1),
    column("count", "UInt64", 1),
    column("first_seen", "DateTime64(6, 'UTC')", 1),
    column("last_seen", "DateTime64(6, 'UTC')", 1),
    column("example_id", "UUID", 1),
    column("exchange_digest", "UInt32", 1),
];

const WATERMARKS: &[Column] = &[
    column("id", "UUID", 1),
    column("revision", "UInt32", 1),
    column("migration", "String", 1),
    column("legacy_version", "String", 1),
    column("candidate_version", "String", 1),
    column("rules_hash", "String", 1),
    column("instance", "String", 1),
    column("started", "DateTime64(6, 'UTC')", 1),
    column("written", "DateTime64(6, 'UTC')", 1),
    column("complete_until", "DateTime64(6, 'UTC')", 1),
    column("ended", "Bool", 1),
    column("under_way", "String", 1),
    column("counted_from", "DateTime64(6, 'UTC')", 1),
    column("open_from", "DateTime64(6, 'UTC')", 1),
    column("tallies", "UInt64", 1),
    column("received", "UInt64", 1),
    column("settled", "UInt64", 1),
    column("open", "String", 1),
];

const DECISIONS: &[Column] = &[
    column("id", "UUID", 1),
    column("migration", "String", 1),
    column("time", "DateTime64(6, 'UTC')", 1),
    column("outcome", "String", 1),
    column("legacy_version", "String", 1),
    column("candidate_version", "String", 1),
    column("rules_hash", "String", 1),
    column("thresholds", "String", 1),
    column("document", "String", 1),
];
