//! Records, as they travel, into rows of the four tables.
//!
//! The only way in is a record's JSON, whoever wrote it: what a sink finds in Kafka and what a mirror writes itself are
//! the same bytes. Texts are borrowed from it and written once. A record that does not fit is told by its reason and
//! leaves the batch as it was.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use parity_schemas::evidence::Decision;
use parity_schemas::record::{MismatchClass, RecordType};
use parity_schemas::tally::{GroupTally, Identity, Tally};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::encode::{Block, Column, Encoder, column};
use super::insert::EncodedRows;

/// A record from further back than anything is kept would be removed at once; together with the limit ahead it also
/// bounds how many monthly partitions one batch can touch (the server refuses an insert into more than 100).
const OLDEST_MICROS: i64 = 400 * DAY_MICROS;
/// A clock may be wrong by a time zone; a record from beyond would outlive all retention.
const AHEAD_MICROS: i64 = DAY_MICROS;
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
/// What is kept of a parser's message.
const MAX_WHY_BYTES: usize = 200;

/// Why a record can never be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Poison {
    /// It is not what its type says.
    Malformed(String),
    /// Its clock was wrong, or it is older than anything that is kept.
    TimeOutOfRange(Timestamp),
}

impl Poison {
    /// The word for it in headers and metrics.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::TimeOutOfRange(_) => "time_out_of_range",
        }
    }
}

impl fmt::Display for Poison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => f.write_str(why),
            Self::TimeOutOfRange(time) => write!(
                f,
                "its time is {time}, which is over {} days ago or over {} day ahead",
                OLDEST_MICROS / DAY_MICROS,
                AHEAD_MICROS / DAY_MICROS
            ),
        }
    }
}

/// Rows of all tables, and which record each came from.
pub(crate) struct Batch {
    now: Timestamp,
    tables: [Building; RecordType::ALL.len()],
}

struct Building {
    block: Block,
    /// For each row, the number that its record was added under.
    sources: Vec<usize>,
}

impl Building {
    fn new(table: RecordType) -> Self {
        Self {
            block: Block::new(columns(table)),
            sources: Vec::new(),
        }
    }

    fn add(
        &mut self,
        table: RecordType,
        json: &[u8],
        source: usize,
        now: Timestamp,
    ) -> Result<(), Poison> {
        match table {
            RecordType::Mismatch => mismatch(&mut self.block, json, now),
            RecordType::Tally => tally(&mut self.block, json, now),
            RecordType::GroupTally => group_tally(&mut self.block, json, now),
            RecordType::Decision => decision(&mut self.block, json, now),
        }?;
        self.sources.push(source);
        Ok(())
    }

    fn into_slice(self, table: RecordType) -> Slice {
        Slice {
            rows: EncodedRows {
                table,
                bytes: Bytes::from(self.block.into_bytes()),
            },
            sources: self.sources,
        }
    }
}

/// Rows of one table that are sent together.
pub(crate) struct Slice {
    pub(crate) rows: EncodedRows,
    /// For each row, the number that its record was added under.
    pub(crate) sources: Vec<usize>,
}

impl Batch {
    /// An empty one, for records as of now.
    pub(crate) fn new() -> Self {
        Self {
            now: Timestamp::now(),
            tables: RecordType::ALL.map(Building::new),
        }
    }

    /// Adds a record under a number of the caller's, by which a refused row is told later.
    pub(crate) fn add(
        &mut self,
        record: RecordType,
        json: &[u8],
        source: usize,
    ) -> Result<(), Poison> {
        let now = self.now;
        self.tables[place(record)].add(record, json, source, now)
    }

    /// Tables with rows, in the order in which they should be inserted.
    pub(crate) fn into_tables(self) -> impl Iterator<Item = Slice> {
        RecordType::ALL
            .into_iter()
            .zip(self.tables)
            .filter(|(_, building)| building.block.rows() > 0)
            .map(|(table, building)| building.into_slice(table))
    }
}

impl Slice {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// The same rows of the same batch have the same token; other rows have another.
    pub(crate) fn token(&self, name: &str) -> String {
        let first = self.sources.first().copied().unwrap_or_default();
        format!("{name}-{first}+{}", self.sources.len())
    }

    /// Two halves of it. When a server refuses rows for a fault of their own it does not say which; so they are halved
    /// until the one that is to blame stands alone. Rare enough to read the records once more, by the numbers that they
    /// were added under.
    pub(crate) fn halves<'a>(&self, record: impl Fn(usize) -> &'a [u8]) -> [Self; 2] {
        let table = self.rows.table;
        let (first, second) = self.sources.split_at(self.sources.len() / 2);
        [first, second].map(|sources| {
            let mut building = Building::new(table);
            let now = Timestamp::now();
            for source in sources {
                // It was read once before; only a clock that passed the limit meanwhile could make it poison now.
                let _read_before = building.add(table, record(*source), *source, now);
            }
            building.into_slice(table)
        })
    }
}

fn place(record: RecordType) -> usize {
    RecordType::ALL
        .iter()
        .position(|known| *known == record)
        .expect("ALL has every type")
}

/// The columns of a table in the order in which its rows are written here.
pub(crate) const fn columns(table: RecordType) -> &'static [Column] {
    match table {
        RecordType::Mismatch => MISMATCHES,
        RecordType::Tally => TALLIES,
        RecordType::GroupTally => GROUP_TALLIES,
        RecordType::Decision => DECISIONS,
    }
}

/// Pieces of an element of `findings` and of `tolerated`.
const FINDING_PIECES: usize = 14;
const TOLERATED_PIECES: usize = 3;

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

/// A text that is borrowed where it holds no escape, also within lists.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The fields of [`parity_schemas::record::Mismatch`], borrowed.
#[derive(Deserialize)]
struct MismatchJson<'a> {
    id: Uuid,
    #[serde(borrow)]
    migration: Text<'a>,
    #[serde(borrow)]
    legacy_version: Text<'a>,
    #[serde(borrow)]
    candidate_version: Text<'a>,
    #[serde(borrow)]
    rules_hash: Text<'a>,
    time: Timestamp,
    #[serde(borrow)]
    instance: Text<'a>,
    #[serde(borrow)]
    route: Text<'a>,
    #[serde(borrow)]
    method: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    query: Text<'a>,
    #[serde(borrow)]
    fingerprints: Vec<Text<'a>>,
    #[serde(borrow)]
    findings: Vec<FindingJson<'a>>,
    findings_cut: bool,
    #[serde(borrow)]
    tolerated: Vec<ToleratedJson<'a>>,
    legacy_status: u16,
    candidate_status: u16,
    legacy_us: u64,
    candidate_us: u64,
    #[serde(borrow)]
    trace_id: Text<'a>,
    class: MismatchClass,
    #[serde(borrow)]
    sample: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FindingJson<'a> {
    #[serde(borrow)]
    fingerprint: Text<'a>,
    part: Part,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    candidate_path: Option<Text<'a>>,
    #[serde(borrow)]
    pattern: Text<'a>,
    kind: Kind,
    #[serde(borrow)]
    legacy: Option<Text<'a>>,
    #[serde(borrow)]
    candidate: Option<Text<'a>>,
    explanation: Option<Explanation>,
    #[serde(borrow)]
    text_diff: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ToleratedJson<'a> {
    part: Part,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    why: Text<'a>,
}

fn mismatch(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let mismatch: MismatchJson<'_> = read(json)?;
    within_range(mismatch.time, now)?;
    block.add(|row| write_mismatch(row, &mismatch));
    Ok(())
}

fn write_mismatch(row: &mut Encoder<'_>, mismatch: &MismatchJson<'_>) {
    row.uuid(mismatch.id);
    row.string(mismatch.migration.as_ref());
    row.string(mismatch.legacy_version.as_ref());
    row.string(mismatch.candidate_version.as_ref());
    row.string(mismatch.rules_hash.as_ref());
    row.time(mismatch.time);
    row.string(mismatch.instance.as_ref());
    row.string(mismatch.route.as_ref());
    row.string(mismatch.method.as_ref());
    row.string(mismatch.path.as_ref());
    row.string(mismatch.query.as_ref());
    row.list(1, mismatch.fingerprints.iter(), |row, fingerprint| {
        row.string(fingerprint.as_ref());
    });
    row.list(FINDING_PIECES, mismatch.findings.iter(), |row, finding| {
        row.string(finding.fingerprint.as_ref());
        row.string(finding.part.as_str());
        row.string(finding.path.as_ref());
        row.optional_string(optional(finding.candidate_path.as_ref()));
        row.string(finding.pattern.as_ref());
        row.string(finding.kind.as_str());
        row.optional_string(optional(finding.legacy.as_ref()));
        row.optional_string(optional(finding.candidate.as_ref()));
        row.string(finding.explanation.map_or("", Explanation::as_str));
        row.optional_string(optional(finding.text_diff.as_ref()));
    });
    row.bool(mismatch.findings_cut);
    row.list(
        TOLERATED_PIECES,
        mismatch.tolerated.iter(),
        |row, tolerated| {
            row.string(tolerated.part.as_str());
            row.string(tolerated.path.as_ref());
            row.string(tolerated.why.as_ref());
        },
    );
    row.u16(mismatch.legacy_status);
    row.u16(mismatch.candidate_status);
    row.u64(mismatch.legacy_us);
    row.u64(mismatch.candidate_us);
    row.string(mismatch.trace_id.as_ref());
    row.string(match mismatch.class {
        MismatchClass::Unconfirmed => "unconfirmed",
    });
    row.string(mismatch.sample.map_or("", RawValue::get));
}

fn tally(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let tally: Tally = read(json)?;
    within_range(tally.interval_start, now)?;
    block.add(|row| write_tally(row, &tally));
    Ok(())
}

fn write_tally(row: &mut Encoder<'_>, tally: &Tally) {
    row.uuid(tally.id);
    row.u32(tally.revision);
    identity(row, &tally.identity);
    row.string(&tally.instance);
    row.time(tally.interval_start);
    row.i64(tally.interval_us);
    row.string(&tally.route);
    row.u64(tally.counts.received);
    row.u64(tally.counts.matched);
    row.u64(tally.counts.mismatch);
    row.list(
        2,
        tally.counts.not_compared.iter(),
        |row, (reason, count)| {
            row.string(reason.as_str());
            row.u64(*count);
        },
    );
    row.list(2, tally.rule_hits.iter(), |row, (rule, hits)| {
        row.string(rule);
        row.u64(*hits);
    });
    for histogram in [&tally.legacy_latency, &tally.candidate_latency] {
        row.list(2, histogram.0.iter(), |row, (bucket, count)| {
            row.u16(*bucket);
            row.u64(*count);
        });
    }
}

fn group_tally(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let group: GroupTally = read(json)?;
    within_range(group.interval_start, now)?;
    block.add(|row| write_group_tally(row, &group));
    Ok(())
}

fn write_group_tally(row: &mut Encoder<'_>, group: &GroupTally) {
    row.uuid(group.tally_id);
    row.u32(group.revision);
    identity(row, &group.identity);
    row.time(group.interval_start);
    row.string(&group.route);
    row.string(&group.group.fingerprint);
    row.string(group.group.part.as_str());
    row.string(&group.group.pattern);
    row.string(group.group.kind.as_str());
    row.string(group.group.explanation.map_or("", Explanation::as_str));
    row.u16(group.group.legacy_status);
    row.u16(group.group.candidate_status);
    row.u64(group.count);
    row.time(group.first_seen);
    row.time(group.last_seen);
    row.uuid(group.example_id);
}

fn decision(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let decision: Decision = read(json)?;
    within_range(decision.time, now)?;
    block.add(|row| write_decision(row, &decision));
    Ok(())
}

fn write_decision(row: &mut Encoder<'_>, decision: &Decision) {
    row.uuid(decision.decision_id);
    row.string(&decision.migration);
    row.time(decision.time);
    row.string(decision.outcome.as_str());
    let (legacy_version, candidate_version, rules_hash) = decision.versions();
    row.string(legacy_version);
    row.string(candidate_version);
    row.string(rules_hash);
    row.string(&text_of(&decision.thresholds));
    row.string(&text_of(decision));
}

fn identity(row: &mut Encoder<'_>, identity: &Identity) {
    row.string(&identity.migration);
    row.string(&identity.legacy_version);
    row.string(&identity.candidate_version);
    row.string(&identity.rules_hash);
}

fn optional<'a>(text: Option<&'a Text<'_>>) -> Option<&'a str> {
    text.map(AsRef::as_ref)
}

fn text_of<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records are made of strings, numbers and lists only")
}

fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Poison> {
    serde_json::from_slice(json).map_err(|error| {
        let mut why = error.to_string();
        why.truncate(why.floor_char_boundary(MAX_WHY_BYTES));
        Poison::Malformed(why)
    })
}

fn within_range(time: Timestamp, now: Timestamp) -> Result<(), Poison> {
    let oldest = now.saturating_add_micros(-OLDEST_MICROS);
    let newest = now.saturating_add_micros(AHEAD_MICROS);
    if (oldest..=newest).contains(&time) {
        Ok(())
    } else {
        Err(Poison::TimeOutOfRange(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(rules_hash: &str) -> Vec<u8> {
        let tally = Tally {
            id: parity_schemas::id::new_id(),
            revision: 1,
            identity: Identity {
                rules_hash: rules_hash.to_owned(),
                ..Identity::default()
            },
            instance: String::new(),
            interval_start: Timestamp::now(),
            interval_us: 1,
            route: "GET /".to_owned(),
            counts: parity_schemas::tally::Counts::default(),
            rule_hits: std::collections::BTreeMap::new(),
            legacy_latency: parity_schemas::histogram::Histogram::default(),
            candidate_latency: parity_schemas::histogram::Histogram::default(),
        };
        serde_json::to_vec(&tally).expect("it is JSON")
    }

    #[test]
    fn halving_ends_at_single_rows_and_loses_none() {
        let records: Vec<Vec<u8>> = (0..7).map(|number| tally(&"x".repeat(number))).collect();
        let mut batch = Batch::new();
        for (number, json) in records.iter().enumerate() {
            batch
                .add(RecordType::Tally, json, number)
                .expect("a record of ours");
        }
        let whole = batch.into_tables().next().expect("one table");
        let (mut slices, mut singles) = (vec![whole], Vec::new());
        while let Some(slice) = slices.pop() {
            if slice.len() > 1 {
                let [first, second] = slice.halves(|number| &records[number]);
                assert_ne!(first.token("t"), second.token("t"));
                slices.extend([second, first]);
            } else {
                let mut alone = Batch::new();
                let number = slice.sources[0];
                alone
                    .add(RecordType::Tally, &records[number], number)
                    .expect("a record of ours");
                let expected = alone.into_tables().next().expect("one table");
                assert_eq!(slice.rows.bytes, expected.rows.bytes);
                singles.push(number);
            }
        }
        assert_eq!(singles, (0..7).collect::<Vec<_>>());
    }

    #[test]
    fn poison_is_told_by_its_reason_and_leaves_nothing() {
        let now = Timestamp::now();
        let mut batch = Batch::new();
        let mut reason = |record, json: &[u8]| {
            batch
                .add(record, json, 0)
                .expect_err("it is poison")
                .reason()
        };
        assert_eq!(reason(RecordType::Mismatch, b"{}"), "malformed");
        assert_eq!(reason(RecordType::Mismatch, b""), "malformed");
        assert_eq!(reason(RecordType::Tally, b"\xff"), "malformed");
        let text = String::from_utf8(tally("x")).expect("UTF-8");
        for time in ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"] {
            let stamp = now.to_string();
            let day = stamp.get(..10).expect("a date");
            let begin = text.find(day).expect("the time stands in it");
            let mut shifted = text.clone();
            shifted.replace_range(begin..begin + time.len(), time);
            assert_eq!(
                reason(RecordType::Tally, shifted.as_bytes()),
                "time_out_of_range"
            );
        }
        assert_eq!(batch.into_tables().count(), 0);
    }
}
