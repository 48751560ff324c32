//! Which migrations and versions a database has, and what was last in force.

use clickhouse::Row;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;

use super::replicas::ORIGIN;
use super::{ClickHouseReader, NameRow, since_condition};
use crate::error::StoreError;
use crate::read::in_force::last_in_force;
use crate::read::{Known, Selection};

impl ClickHouseReader {
    /// The identity that was last in force.
    pub(super) fn identity(&self, selection: &Selection) -> Result<Option<Identity>, StoreError> {
        let counted = self.newest(selection)?;
        let runs = self.run_times(selection.migration())?;
        Ok(last_in_force(runs, selection, counted))
    }

    /// What the newest matching interval counts for, and when it began.
    fn newest(&self, selection: &Selection) -> Result<Option<(Identity, Timestamp)>, StoreError> {
        let versions = [
            (" AND legacy_version = ?", &selection.legacy_version),
            (" AND candidate_version = ?", &selection.candidate_version),
            (" AND rules_hash = ?", &selection.rules_hash),
        ];
        let mut condition = "WHERE migration = ?".to_owned();
        for (of_version, version) in &versions {
            if version.is_some() {
                condition.push_str(of_version);
            }
        }
        condition.push_str(since_condition(selection));
        // Its time first, which reads one column, and then the few rows of that time.
        let sql = format!(
            "SELECT legacy_version, candidate_version, rules_hash, toUnixTimestamp64Micro(t.interval_start) AS began_at, \
             {ORIGIN} FROM tallies AS t {condition} \
             AND t.interval_start = (SELECT max(t.interval_start) FROM tallies AS t {condition}) \
             ORDER BY toString(id) DESC LIMIT 1",
        );
        let mut question = self.server.client().query(&sql);
        for _of_both in 0..2 {
            question = question.bind(selection.migration());
            for (_, version) in &versions {
                if let Some(version) = version {
                    question = question.bind(version);
                }
            }
            if let Some(since) = selection.since {
                question = question.bind(since.as_micros());
            }
        }
        let rows = self.kept::<Newest>(&[RecordType::Tally], question)?;
        let Some(found) = rows.first().cloned() else {
            return Ok(None);
        };
        self.came_from(found.shard, found.server)?;
        let identity = Identity {
            migration: selection.migration().to_owned(),
            legacy_version: found.legacy_version,
            candidate_version: found.candidate_version,
            rules_hash: found.rules_hash,
        };
        Ok(Some((identity, Timestamp::from_micros(found.began_at))))
    }

    /// The migration that counted last.
    pub(super) fn find_newest_migration(&self) -> Result<Option<String>, StoreError> {
        let question = self.server.client().query(SELECT_NEWEST_MIGRATION);
        let found = self.kept::<NameRow>(&[RecordType::Tally, RecordType::Watermark], question)?;
        Ok(found.first().map(|row| row.name.clone()))
    }

    /// What the database holds.
    pub(super) fn names(&self, migration: &str) -> Result<Known, StoreError> {
        let names = |question: clickhouse::query::Query| {
            let rows =
                self.kept::<NameRow>(&[RecordType::Tally, RecordType::Watermark], question)?;
            Ok::<_, StoreError>(rows.iter().map(|row| row.name.clone()).collect())
        };
        let client = self.server.client();
        Ok(Known {
            migrations: names(client.query(SELECT_MIGRATIONS))?,
            candidate_versions: names(
                client
                    .query(SELECT_VERSIONS)
                    .bind(migration)
                    .bind(migration),
            )?,
        })
    }
}

/// The newest interval.
#[derive(Clone, Row, Deserialize)]
struct Newest {
    legacy_version: String,
    candidate_version: String,
    rules_hash: String,
    began_at: i64,
    shard: u32,
    server: String,
}

const SELECT_MIGRATIONS: &str = "SELECT DISTINCT name FROM (SELECT toString(migration) AS name FROM tallies UNION ALL \
     SELECT toString(migration) FROM watermarks) ORDER BY name LIMIT 100";

const SELECT_NEWEST_MIGRATION: &str = "SELECT name FROM (\
     SELECT toString(migration) AS name, max(interval_start) AS began FROM tallies GROUP BY migration UNION ALL \
     SELECT toString(migration), max(started) FROM watermarks GROUP BY migration) \
     GROUP BY name ORDER BY max(began) DESC, name LIMIT 1";

const SELECT_VERSIONS: &str = "SELECT name FROM (\
     SELECT toString(candidate_version) AS name, interval_start AS began FROM tallies WHERE migration = ? UNION ALL \
     SELECT toString(candidate_version), started FROM watermarks WHERE migration = ?) \
     GROUP BY name ORDER BY max(began) DESC LIMIT 100";
