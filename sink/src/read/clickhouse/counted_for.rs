//! For which identities a database counted, and when last.
//!
//! Each page asks which migrations and versions there are and which of them was last in force. That is in all tallies, and each
//! minute brings more of them. So what a part of the table has is kept for as long as the part is there, and of a store that is
//! written to only the parts of the last minutes are read ([`parts`](super::parts)).
//!
//! Where the parts are not known, on a cluster and for a command that asks once, the whole table is read.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use clickhouse::Row;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;

use super::ClickHouseReader;
use super::parts::PartName;
use super::replicas::{BY_ORIGIN, ORIGIN};
use super::time;
use crate::error::StoreError;

/// Most identities that are kept, over all parts: some megabytes. With more of them a table is read as a whole.
const MAX_KEPT: usize = 20_000;
/// Most parts that one question names. With more new ones the whole table is read, which takes no longer.
const MAX_NAMED: usize = 200;

/// Each identity, and when its last interval began, in microseconds.
pub(super) type CountedFor = BTreeMap<Identity, i64>;

/// What some parts have, as it was read.
type ReadParts<'p> = Vec<(&'p PartName, Arc<CountedFor>)>;

/// What the parts of the tallies have.
#[derive(Default)]
pub(super) struct KeptByPart(Mutex<HashMap<PartName, Arc<CountedFor>>>);

impl KeptByPart {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<PartName, Arc<CountedFor>>) -> T) -> T {
        // Each is put in as a whole, so a panic leaves nothing half done.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What one part has of one identity. Without names of parts the whole table is one.
#[derive(Row, Deserialize)]
struct CountedRow {
    shard: u32,
    server: String,
    part: String,
    migration: String,
    legacy_version: String,
    candidate_version: String,
    rules_hash: String,
    began_at: i64,
    rows: u64,
}

impl ClickHouseReader {
    /// Which identities anything was counted for; of one migration only where it is named. Where the whole table must be read, only its rows
    /// from a time on are, if that is given.
    pub(super) fn counted_for(
        &self,
        migration: Option<&str>,
        since: Option<Timestamp>,
    ) -> Result<CountedFor, StoreError> {
        let known = match &self.remembered {
            Some(remembered) => self.counted_by_part(&remembered.kind())?,
            None => None,
        };
        let is_asked =
            |identity: &Identity| migration.is_none_or(|name| identity.migration == name);
        if let Some(mut known) = known {
            known.retain(|identity, _| is_asked(identity));
            return Ok(known);
        }
        let mut conditions = Vec::new();
        conditions.extend(migration.map(|_| "t.migration = ?".to_owned()));
        conditions
            .extend(since.map(|since| format!("t.interval_start >= {}", time(since.as_micros()))));
        let condition = if conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", conditions.join(" AND "))
        };
        let question = self.counted("''", &condition);
        let question = match migration {
            Some(migration) => question.bind(migration),
            None => question,
        };
        let mut counted = CountedFor::new();
        for row in self.ask(question)? {
            self.add_counted(&mut counted, row)?;
        }
        Ok(counted)
    }

    /// `None` where the parts are not known, or have become others in the meantime.
    fn counted_by_part(&self, kept: &KeptByPart) -> Result<Option<CountedFor>, StoreError> {
        let Some(parts) = self.parts(RecordType::Tally)? else {
            return Ok(None);
        };
        let mut lacking: HashMap<&str, (&PartName, u64)> = HashMap::new();
        let mut known: Vec<Arc<CountedFor>> = Vec::new();
        kept.with(|kept| {
            kept.retain(|name, _| parts.has(name));
            for (name, rows) in parts.with_rows() {
                match kept.get(name) {
                    Some(counted) => known.push(Arc::clone(counted)),
                    None => drop(lacking.insert(as_in_query(name), (name, rows))),
                }
            }
        });
        if lacking.len() > MAX_NAMED {
            return Ok(None);
        }
        if !lacking.is_empty() {
            let Some(read) = self.read_lacking(&lacking)? else {
                return Ok(None);
            };
            let identities: usize = read.iter().map(|(_, counted)| counted.len()).sum();
            kept.with(|kept| {
                let held: usize = kept.values().map(|counted| counted.len()).sum();
                if held + identities <= MAX_KEPT {
                    kept.extend(
                        read.iter()
                            .map(|(name, counted)| ((*name).clone(), Arc::clone(counted))),
                    );
                }
            });
            known.extend(read.into_iter().map(|(_, counted)| counted));
        }
        let mut counted = CountedFor::new();
        for (identity, began_at) in known.iter().flat_map(|part| part.iter()) {
            newer(&mut counted, identity.clone(), *began_at);
        }
        Ok(Some(counted))
    }

    /// Reads some parts. `None` if what was read is not all of them: one was merged since its name was read.
    fn read_lacking<'p>(
        &self,
        lacking: &HashMap<&str, (&'p PartName, u64)>,
    ) -> Result<Option<ReadParts<'p>>, StoreError> {
        let names: Vec<&str> = lacking.keys().copied().collect();
        let mut read: HashMap<String, (CountedFor, u64)> = HashMap::new();
        let question = self.counted("_part", "WHERE _part IN ?").bind(names);
        for mut row in self.ask::<CountedRow>(question)? {
            let (counted, rows) = read.entry(std::mem::take(&mut row.part)).or_default();
            *rows += row.rows;
            self.add_counted(counted, row)?;
        }
        let each = lacking.iter().map(|(part, (name, rows))| {
            let (counted, found) = read.remove(*part)?;
            (found == *rows).then(|| (*name, Arc::new(counted)))
        });
        Ok(each.collect())
    }

    fn counted(&self, part: &str, condition: &str) -> clickhouse::query::Query {
        let sql = format!(
            "SELECT {ORIGIN}, toString({part}) AS part, toString(t.migration) AS migration, \
             toString(t.legacy_version) AS legacy_version, toString(t.candidate_version) AS candidate_version, \
             toString(t.rules_hash) AS rules_hash, max(toUnixTimestamp64Micro(t.interval_start)) AS began_at, \
             count() AS rows FROM tallies AS t {condition} \
             GROUP BY part, t.migration, t.legacy_version, t.candidate_version, t.rules_hash, {BY_ORIGIN}"
        );
        self.server.client().query(&sql)
    }

    fn add_counted(&self, counted: &mut CountedFor, row: CountedRow) -> Result<(), StoreError> {
        self.came_from(row.shard, row.server)?;
        let identity = Identity {
            migration: row.migration,
            legacy_version: row.legacy_version,
            candidate_version: row.candidate_version,
            rules_hash: row.rules_hash,
        };
        newer(counted, identity, row.began_at);
        Ok(())
    }
}

/// A part as a query names it, without the hash of its files.
fn as_in_query((_, name): &PartName) -> &str {
    name.split(' ').next().unwrap_or(name)
}

fn newer(counted: &mut CountedFor, identity: Identity, began_at: i64) {
    let known = counted.entry(identity).or_insert(began_at);
    *known = began_at.max(*known);
}
