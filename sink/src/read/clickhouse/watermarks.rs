//! Queries on watermarks, each with whether the tallies that it lists exist.
//!
//! There is no transaction over several tables, and rows arrive by different ways. So the tallies are verified: closed
//! intervals by their exact sums, the open interval by id and revision. Watermarks are read before tallies, so the
//! tallies may be newer than the watermarks but never older.

use clickhouse::Row;
use parity_schemas::lately::CandidateSeen;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{OpenTally, UnderWay, Watermark};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::replicas::ORIGIN;
use super::{ClickHouseReader, word};
use crate::error::StoreError;
use crate::read::Selection;
use crate::read::in_force::RunTimes;
use crate::read::others::{self, OtherRun, Starts};
use crate::read::runs::RunWatermarks;
use crate::read::seen::RunSeen;

/// The answer about what was seen is asked for from a whole hour on, so that it can be kept for as long.
const HOUR_MICROS: i64 = 3_600_000_000;

/// The table of most questions here.
const WATERMARKED: &[RecordType] = &[RecordType::Watermark];

impl ClickHouseReader {
    /// The latest watermarks of the runs of one identity. To be read before the tallies.
    pub(super) fn run_watermarks(
        &self,
        identity: &Identity,
        selection: &Selection,
    ) -> Result<RunWatermarks, StoreError> {
        let question = self
            .server
            .client()
            .query(&format!("SELECT {ORIGIN}, {WATERMARKS}"))
            .bind(&identity.migration)
            .bind(&identity.legacy_version)
            .bind(&identity.candidate_version)
            .bind(&identity.rules_hash);
        let mut watermarks = Vec::new();
        for row in self.kept::<WatermarkRow>(WATERMARKED, question)?.iter() {
            let mut row = row.clone();
            self.came_from(row.shard, std::mem::take(&mut row.server))?;
            let watermark = row.into_watermark(identity)?;
            watermarks.push((watermark, false));
        }
        let starts = self.server.client().query(SELECT_STARTS);
        let starts: Starts = self
            .kept::<StartRow>(WATERMARKED, starts.bind(&identity.migration))?
            .iter()
            .map(|row| (row.instance.clone(), Timestamp::from_micros(row.started)))
            .collect();
        // The tallies are read after this, also those that are kept.
        self.look_again();
        if let Some(since) = selection.since {
            watermarks.retain(|(watermark, _)| !starts.is_over(watermark, since));
        }
        self.verify(identity, &mut watermarks)?;
        let others = self.others(identity, selection, &starts)?;
        Ok(RunWatermarks {
            watermarks,
            starts,
            others,
            since: selection.since,
        })
    }

    /// When all runs of a migration were at work.
    pub(super) fn list_runs(&self, migration: &str) -> Result<Vec<RunTimes>, StoreError> {
        let question = self
            .server
            .client()
            .query(&format!("SELECT {ORIGIN}, {TIMES}"))
            .bind(migration);
        let mut runs = Vec::new();
        for row in self
            .kept::<TimesRow>(WATERMARKED, question)?
            .iter()
            .cloned()
        {
            self.came_from(row.shard, row.server)?;
            runs.push(RunTimes {
                identity: Identity {
                    migration: migration.to_owned(),
                    legacy_version: row.legacy_version,
                    candidate_version: row.candidate_version,
                    rules_hash: row.rules_hash,
                },
                instance: row.instance,
                started: Timestamp::from_micros(row.started),
                written: Timestamp::from_micros(row.written),
            });
        }
        Ok(runs)
    }

    /// What the runs have seen of their candidates that wrote at this time or later.
    pub(super) fn list_seen(
        &self,
        migration: &str,
        since: Timestamp,
    ) -> Result<Vec<RunSeen>, StoreError> {
        let question = self
            .server
            .client()
            .query(&format!("SELECT {ORIGIN}, {SEEN}"))
            .bind(migration)
            .bind(since.as_micros().div_euclid(HOUR_MICROS) * HOUR_MICROS);
        let mut rows: Vec<SeenRow> = self.kept(WATERMARKED, question)?.to_vec();
        rows.sort_by(|one, other| (one.started, &one.run_id).cmp(&(other.started, &other.run_id)));
        let mut runs = Vec::new();
        for row in rows {
            self.came_from(row.shard, row.server)?;
            let written = Timestamp::from_micros(row.written);
            if written < since {
                continue;
            }
            let candidate: Option<CandidateSeen> = json("candidate", &row.candidate)?;
            runs.push(RunSeen {
                instance: row.instance,
                candidate_version: row.candidate_version,
                written,
                ended: row.ended,
                candidate: candidate.unwrap_or_default(),
            });
        }
        Ok(runs)
    }

    /// Runs with another identity.
    fn others(
        &self,
        identity: &Identity,
        selection: &Selection,
        starts: &Starts,
    ) -> Result<Vec<OtherRun>, StoreError> {
        let question = self
            .server
            .client()
            .query(&format!("SELECT {ORIGIN}, {OTHERS}"))
            .bind(&identity.migration)
            .bind(selection.legacy_version.is_none())
            .bind(&identity.legacy_version)
            .bind(selection.candidate_version.is_none())
            .bind(&identity.candidate_version)
            .bind(&identity.legacy_version)
            .bind(&identity.candidate_version)
            .bind(&identity.rules_hash);
        let mut runs = Vec::new();
        for row in self
            .kept::<OtherRow>(WATERMARKED, question)?
            .iter()
            .cloned()
        {
            self.came_from(row.shard, row.server)?;
            let written = Timestamp::from_micros(row.written);
            runs.push(OtherRun {
                id: word("watermarks", "id", &row.run_id)?,
                identity: Identity {
                    migration: identity.migration.clone(),
                    legacy_version: row.legacy_version,
                    candidate_version: row.candidate_version,
                    rules_hash: row.rules_hash,
                },
                instance: row.instance,
                started: Timestamp::from_micros(row.started),
                written,
                complete_until: Timestamp::from_micros(row.complete_until),
                ended: row.ended,
                counted: row.counted && selection.since <= Some(written),
                receives: false,
            });
        }
        others::find_receiving(&mut runs, starts, |run, since| {
            let question = self
                .server
                .client()
                .query(SELECT_RECEIVED)
                .bind(&run.identity.migration)
                .bind(&run.identity.legacy_version)
                .bind(&run.identity.candidate_version)
                .bind(&run.identity.rules_hash)
                .bind(since.as_micros())
                .bind(run.id.to_string());
            let found = self.kept::<ReceivedRow>(&[RecordType::Tally], question)?;
            Ok::<_, StoreError>(found.iter().any(|row| row.tallies > 0))
        })?;
        Ok(runs)
    }
}

#[derive(Clone, Row, Serialize, Deserialize)]
struct WatermarkRow {
    shard: u32,
    server: String,
    run_id: String,
    revision: u32,
    instance: String,
    started: i64,
    written: i64,
    complete_until: i64,
    ended: bool,
    under_way: String,
    counted_from: i64,
    open_from: i64,
    tallies: u64,
    received: u64,
    settled: u64,
    in_groups: u64,
    in_sets: u64,
    open: String,
    terms: String,
    terms_since: i64,
}

impl WatermarkRow {
    fn into_watermark(self, identity: &Identity) -> Result<Watermark, StoreError> {
        let under_way: Vec<UnderWay> = json("under_way", &self.under_way)?;
        let open: Vec<OpenTally> = json("open", &self.open)?;
        Ok(Watermark {
            id: word("watermarks", "id", &self.run_id)?,
            revision: self.revision,
            identity: identity.clone(),
            instance: self.instance,
            started: Timestamp::from_micros(self.started),
            written: Timestamp::from_micros(self.written),
            complete_until: Timestamp::from_micros(self.complete_until),
            ended: self.ended,
            under_way,
            counted_from: Timestamp::from_micros(self.counted_from),
            open_from: Timestamp::from_micros(self.open_from),
            tallies: self.tallies,
            received: self.received,
            settled: self.settled,
            in_groups: self.in_groups,
            in_sets: self.in_sets,
            open,
            terms: word("watermarks", "terms", &self.terms)?,
            terms_since: Timestamp::from_micros(self.terms_since),
            // Nobody asks a decision for it.
            candidate: None,
        })
    }
}

fn json<T: DeserializeOwned>(column: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::value("watermarks", column, text))
}

#[derive(Clone, Row, Serialize, Deserialize)]
struct OtherRow {
    shard: u32,
    server: String,
    run_id: String,
    legacy_version: String,
    candidate_version: String,
    rules_hash: String,
    instance: String,
    started: i64,
    written: i64,
    complete_until: i64,
    ended: bool,
    counted: bool,
}

#[derive(Clone, Row, Serialize, Deserialize)]
struct TimesRow {
    shard: u32,
    server: String,
    legacy_version: String,
    candidate_version: String,
    rules_hash: String,
    instance: String,
    started: i64,
    written: i64,
}

#[derive(Clone, Row, Serialize, Deserialize)]
struct SeenRow {
    shard: u32,
    server: String,
    run_id: String,
    instance: String,
    candidate_version: String,
    started: i64,
    written: i64,
    ended: bool,
    candidate: String,
}

#[derive(Clone, Row, Serialize, Deserialize)]
struct ReceivedRow {
    tallies: u64,
}

#[derive(Clone, Row, Serialize, Deserialize)]
struct StartRow {
    instance: String,
    started: i64,
}

const WATERMARKS: &str = "toString(w.id) AS run_id, w.revision AS revision, w.instance AS instance, \
     toUnixTimestamp64Micro(w.started) AS started, toUnixTimestamp64Micro(w.written) AS written, \
     toUnixTimestamp64Micro(w.complete_until) AS complete_until, w.ended AS ended, w.under_way AS under_way, \
     toUnixTimestamp64Micro(w.counted_from) AS counted_from, toUnixTimestamp64Micro(w.open_from) AS open_from, \
     w.tallies AS tallies, w.received AS received, w.settled AS settled, w.in_groups AS in_groups, \
     w.in_sets AS in_sets, w.open AS open, toString(w.terms) AS terms, \
     toUnixTimestamp64Micro(w.terms_since) AS terms_since FROM watermarks AS w FINAL \
     WHERE w.migration = ? AND w.legacy_version = ? AND w.candidate_version = ? AND w.rules_hash = ? \
     ORDER BY w.instance, w.started, w.id";

const OTHERS: &str = "toString(w.id) AS run_id, toString(w.legacy_version) AS legacy_version, \
     toString(w.candidate_version) AS candidate_version, toString(w.rules_hash) AS rules_hash, w.instance AS instance, \
     toUnixTimestamp64Micro(w.started) AS started, toUnixTimestamp64Micro(w.written) AS written, \
     toUnixTimestamp64Micro(w.complete_until) AS complete_until, w.ended AS ended, \
     toBool(w.received > 0 OR w.open != '[]' OR w.under_way != '[]') AS counted FROM watermarks AS w FINAL \
     WHERE w.migration = ? AND (? OR w.legacy_version = ?) AND (? OR w.candidate_version = ?) \
     AND (w.legacy_version, w.candidate_version, w.rules_hash) != (?, ?, ?) ORDER BY w.id";

const TIMES: &str = "toString(w.legacy_version) AS legacy_version, toString(w.candidate_version) AS candidate_version, \
     toString(w.rules_hash) AS rules_hash, toString(w.instance) AS instance, \
     toUnixTimestamp64Micro(w.started) AS started, toUnixTimestamp64Micro(w.written) AS written \
     FROM watermarks AS w FINAL WHERE w.migration = ? ORDER BY w.id";

/// What was seen is by far the largest column, and is read of no run that ended before the time: the last row of each run is looked for
/// among the later ones alone, in place of `FINAL`, which reads all columns of all runs first.
const SEEN: &str = "toString(w.id) AS run_id, toString(w.instance) AS instance, \
     toString(w.candidate_version) AS candidate_version, toUnixTimestamp64Micro(w.started) AS started, \
     toUnixTimestamp64Micro(w.written) AS written, w.ended AS ended, w.candidate AS candidate \
     FROM watermarks AS w WHERE w.migration = ? AND w.written >= fromUnixTimestamp64Micro(toInt64(?), 'UTC') \
     AND w.candidate NOT IN ('', 'null') ORDER BY w.id, w.revision DESC LIMIT 1 BY w.id";

const SELECT_RECEIVED: &str = "SELECT count() AS tallies FROM tallies WHERE migration = ? AND legacy_version = ? \
     AND candidate_version = ? AND rules_hash = ? AND interval_start >= fromUnixTimestamp64Micro(toInt64(?), 'UTC') \
     AND toString(run) = ? AND received > 0";

const SELECT_STARTS: &str = "SELECT DISTINCT w.instance AS instance, toUnixTimestamp64Micro(w.started) AS started \
     FROM watermarks AS w FINAL WHERE w.migration = ?";
