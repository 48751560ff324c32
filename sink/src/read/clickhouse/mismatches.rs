//! Rows of mismatches, whole or as examples.

use std::collections::HashMap;
use std::rc::Rc;

use clickhouse::Row;
use parity_schemas::record::{Mismatch, MismatchClass, RecordedFinding};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Tolerated;
use serde::Deserialize;
use uuid::Uuid;

use super::{ClickHouseReader, optional_word, word};
use crate::error::StoreError;
use crate::read::MismatchFilter;
use crate::read::groups::ExampleRow;

const TABLE: &str = "mismatches";
/// Ids that are looked for at once.
const IDS_PER_QUESTION: usize = 1_000;

/// The crate reads tuples without names only.
const FINDINGS: &str = "CAST(m.findings, 'Array(Tuple(String, String, String, Nullable(String), String, String, \
     Nullable(String), Nullable(String), String, Nullable(String)))') AS findings";

const COLUMNS: &str = "toString(m.id) AS id, migration, legacy_version, candidate_version, rules_hash, \
     toUnixTimestamp64Micro(m.time) AS time, instance, route, method, path, query, fingerprints, findings_cut, \
     CAST(m.tolerated, 'Array(Tuple(String, String, String))') AS tolerated, legacy_status, candidate_status, legacy_us, candidate_us, trace_id, class, sample";

/// `findings` as a tuple of its columns.
type FindingRow = (
    String,
    String,
    String,
    Option<String>,
    String,
    String,
    Option<String>,
    Option<String>,
    String,
    Option<String>,
);

#[derive(Row, Deserialize)]
struct MismatchRow {
    id: String,
    migration: String,
    legacy_version: String,
    candidate_version: String,
    rules_hash: String,
    time: i64,
    instance: String,
    route: String,
    method: String,
    path: String,
    query: String,
    fingerprints: Vec<String>,
    findings: Vec<FindingRow>,
    findings_cut: bool,
    tolerated: Vec<(String, String, String)>,
    legacy_status: u16,
    candidate_status: u16,
    legacy_us: u64,
    candidate_us: u64,
    trace_id: String,
    class: String,
    sample: String,
}

#[derive(Row, Deserialize)]
struct ExampleColumns {
    id: String,
    path: String,
    query: String,
    findings: Vec<FindingRow>,
}

impl ClickHouseReader {
    pub(super) fn find_mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {FINDINGS} FROM mismatches AS m WHERE m.id = toUUID(?) LIMIT 1"
        );
        let question = self.server.client().query(&sql).bind(id.to_string());
        self.ask::<MismatchRow>(question)?
            .pop()
            .map(MismatchRow::into_mismatch)
            .transpose()
    }

    pub(super) fn list_mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError> {
        let mut conditions = vec!["1"];
        let words = [
            ("migration = ?", &filter.migration),
            ("route = ?", &filter.route),
            ("has(fingerprints, ?)", &filter.fingerprint),
        ];
        for (condition, value) in &words {
            if value.is_some() {
                conditions.push(condition);
            }
        }
        if filter.before.is_some() {
            // The first bound is for the primary key, the second for those of the same microsecond.
            conditions.push("m.time <= fromUnixTimestamp64Micro(toInt64(?), 'UTC')");
            conditions.push("(toUnixTimestamp64Micro(m.time), toString(m.id)) < (?, ?)");
        }
        let sql = format!(
            "SELECT {COLUMNS}, {FINDINGS} FROM mismatches AS m WHERE {} ORDER BY m.time DESC, toString(m.id) DESC LIMIT 1 BY m.id LIMIT ?",
            conditions.join(" AND ")
        );
        let mut question = self.server.client().query(&sql);
        for (_, value) in &words {
            if let Some(value) = value {
                question = question.bind(value);
            }
        }
        if let Some((time, id)) = filter.before {
            question = question
                .bind(time.as_micros())
                .bind(time.as_micros())
                .bind(id.to_string());
        }
        let question = question.bind(limit);
        self.ask::<MismatchRow>(question)?
            .into_iter()
            .map(MismatchRow::into_mismatch)
            .collect()
    }

    /// What examples are made from, by id; those that are no longer there are not in it.
    pub(super) fn examples(
        &self,
        identity: &Identity,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, Rc<ExampleRow>>, StoreError> {
        let mut found = HashMap::new();
        for ids in ids.chunks(IDS_PER_QUESTION) {
            let list: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
            let sql = format!(
                "SELECT toString(m.id) AS id, path, query, {FINDINGS} FROM mismatches AS m \
                 WHERE migration = ? AND m.id IN ({}) LIMIT 1 BY m.id",
                list.join(", ")
            );
            let question = self.server.client().query(&sql).bind(&identity.migration);
            for row in self.ask::<ExampleColumns>(question)? {
                let id = word(TABLE, "id", &row.id)?;
                let example = ExampleRow {
                    path: row.path,
                    query: row.query,
                    findings: findings(row.findings)?,
                };
                found.insert(id, Rc::new(example));
            }
        }
        Ok(found)
    }
}

impl MismatchRow {
    fn into_mismatch(self) -> Result<Mismatch, StoreError> {
        Ok(Mismatch {
            id: word(TABLE, "id", &self.id)?,
            identity: Identity {
                migration: self.migration,
                legacy_version: self.legacy_version,
                candidate_version: self.candidate_version,
                rules_hash: self.rules_hash,
            },
            time: Timestamp::from_micros(self.time),
            instance: self.instance,
            route: self.route,
            method: self.method,
            path: self.path,
            query: self.query,
            fingerprints: self.fingerprints,
            findings: findings(self.findings)?,
            findings_cut: self.findings_cut,
            tolerated: self
                .tolerated
                .into_iter()
                .map(|(part, path, why)| {
                    Ok(Tolerated {
                        part: word(TABLE, "tolerated", &part)?,
                        path,
                        why,
                    })
                })
                .collect::<Result<_, StoreError>>()?,
            legacy_status: self.legacy_status,
            candidate_status: self.candidate_status,
            legacy_us: self.legacy_us,
            candidate_us: self.candidate_us,
            trace_id: self.trace_id,
            class: match self.class.as_str() {
                "unconfirmed" => MismatchClass::Unconfirmed,
                other => return Err(StoreError::value(TABLE, "class", other)),
            },
            sample: if self.sample.is_empty() {
                None
            } else {
                let read = serde_json::from_str(&self.sample);
                Some(read.map_err(|_| StoreError::value(TABLE, "sample", &self.sample))?)
            },
        })
    }
}

fn findings(rows: Vec<FindingRow>) -> Result<Vec<RecordedFinding>, StoreError> {
    rows.into_iter()
        .map(|row| {
            let (
                fingerprint,
                part,
                path,
                candidate_path,
                pattern,
                kind,
                legacy,
                candidate,
                explanation,
                text_diff,
            ) = row;
            Ok(RecordedFinding {
                fingerprint,
                part: word(TABLE, "findings", &part)?,
                path,
                candidate_path,
                pattern,
                kind: word(TABLE, "findings", &kind)?,
                legacy,
                candidate,
                explanation: optional_word(TABLE, "findings", &explanation)?,
                text_diff,
            })
        })
        .collect()
}
