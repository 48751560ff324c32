//! Which migrations and versions a database has, and what was last in force.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use clickhouse::Row;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;

use super::replicas::{BY_ORIGIN, ORIGIN};
use super::{ClickHouseReader, time};
use crate::error::StoreError;
use crate::read::history::Versions;
use crate::read::in_force::last_in_force;
use crate::read::{Known, Selection};

impl ClickHouseReader {
    /// The identity that was last in force.
    pub(super) fn identity(&self, selection: &Selection) -> Result<Option<Identity>, StoreError> {
        let counted = self.newest(selection)?;
        let runs = self.list_runs(selection.migration())?;
        Ok(last_in_force(runs, selection, counted))
    }

    /// What the newest matching interval counts for, and when it began.
    fn newest(&self, selection: &Selection) -> Result<Option<(Identity, Timestamp)>, StoreError> {
        let since = selection.since.map_or(i64::MIN, Timestamp::as_micros);
        let counted = self.counted_for(Some(selection.migration()), selection.since)?;
        let matching = counted
            .into_iter()
            .filter(|(identity, began_at)| selection.allows(identity) && *began_at >= since);
        let matching: Vec<(Identity, i64)> = matching.collect();
        let Some(last) = matching.iter().map(|(_, began_at)| *began_at).max() else {
            return Ok(None);
        };
        let mut newest: Vec<Identity> = matching
            .into_iter()
            .filter(|(_, began_at)| *began_at == last)
            .map(|(identity, _)| identity)
            .collect();
        let newest = if newest.len() > 1 {
            self.written_last(&newest, last)?
        } else {
            newest.pop()
        };
        Ok(newest.map(|identity| (identity, Timestamp::from_micros(last))))
    }

    /// Of several that count in one interval, the one whose row was made last: ids begin with a time.
    fn written_last(
        &self,
        among: &[Identity],
        began_at: i64,
    ) -> Result<Option<Identity>, StoreError> {
        let mut last = None;
        for identity in among {
            let select = format!("SELECT {ORIGIN}, max(toString(t.id)) AS name FROM tallies AS t");
            let tail = format!(
                "AND t.interval_start = {} GROUP BY {BY_ORIGIN}",
                time(began_at)
            );
            let question = self.of_identity(&select, identity, &Selection::default(), &tail);
            for row in self.ask::<IdRow>(question)? {
                self.came_from(row.shard, row.server)?;
                last = last.max(Some((row.name, identity)));
            }
        }
        Ok(last.map(|(_, identity)| identity.clone()))
    }

    /// The migration that counted last.
    pub(super) fn find_newest_migration(&self) -> Result<Option<String>, StoreError> {
        let newest = self.began(|identity| Some(identity.migration.clone()))?;
        Ok(newest.into_iter().next())
    }

    /// What the database holds.
    pub(super) fn names(&self, migration: &str) -> Result<Known, StoreError> {
        let mut migrations = self.began(|identity| Some(identity.migration.clone()))?;
        migrations.sort_unstable();
        let mut candidate_versions = self.began(|identity| {
            (identity.migration == migration).then(|| identity.candidate_version.clone())
        })?;
        migrations.truncate(MAX_NAMES);
        candidate_versions.truncate(MAX_NAMES);
        Ok(Known {
            migrations,
            candidate_versions,
        })
    }

    /// The versions of both services that a migration has counts of, with each rules, and when the last interval of them began.
    pub(super) fn list_counted(&self, of: &Selection) -> Result<Vec<(Versions, i64)>, StoreError> {
        let counted = self.counted_for(Some(of.migration()), of.since)?;
        let each = counted.into_iter().map(|(identity, last)| {
            let versions = Versions {
                legacy: identity.legacy_version,
                candidate: identity.candidate_version,
            };
            (versions, last)
        });
        Ok(each.collect())
    }

    /// Names of what was counted or ran, each once; that of what began last comes first.
    fn began(&self, name: impl Fn(&Identity) -> Option<String>) -> Result<Vec<String>, StoreError> {
        let question = self.server.client().query(SELECT_STARTED);
        let started = self.kept::<StartedRow>(&[RecordType::Watermark], question)?;
        let started = started.iter().map(|row| {
            let identity = Identity {
                migration: row.migration.clone(),
                candidate_version: row.candidate_version.clone(),
                ..Identity::default()
            };
            (identity, row.began_at)
        });
        let mut latest: BTreeMap<String, i64> = BTreeMap::new();
        for (identity, began_at) in self.counted_for(None, None)?.into_iter().chain(started) {
            if let Some(name) = name(&identity) {
                let known = latest.entry(name).or_insert(began_at);
                *known = began_at.max(*known);
            }
        }
        let mut names: Vec<(String, i64)> = latest.into_iter().collect();
        names.sort_by_key(|(_, began_at)| Reverse(*began_at));
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }
}

/// Names that are listed.
const MAX_NAMES: usize = 100;

#[derive(Row, Deserialize)]
struct IdRow {
    shard: u32,
    server: String,
    name: String,
}

/// What ran.
#[derive(Row, Deserialize)]
struct StartedRow {
    migration: String,
    candidate_version: String,
    began_at: i64,
}

const SELECT_STARTED: &str = "SELECT toString(t.migration) AS migration, toString(t.candidate_version) AS candidate_version, \
     max(toUnixTimestamp64Micro(t.started)) AS began_at FROM watermarks AS t GROUP BY t.migration, t.candidate_version";
