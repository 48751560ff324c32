//! The rows of a history, added up by the server by bucket, route and identity.

use std::collections::HashMap;
use std::sync::Arc;

use clickhouse::Row as ClickHouseRow;
use parity_schemas::histogram::Histogram;
use parity_schemas::history::History;
use parity_schemas::record::{MismatchClass, RecordType};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use serde::Deserialize;

use super::asking::{Asking, BUCKET};
use super::replicas::{BY_ORIGIN, ORIGIN};
use super::{ClickHouseReader, time, word};
use crate::error::StoreError;
use crate::read::history::cell::Cell;
use crate::read::history::grid::Grid;
use crate::read::history::minutes::Minutes;
use crate::read::history::row::{GroupRow, Row, SetRow};
use crate::read::history::sums::HistorySums;
use crate::read::history::whole::nothing;
use crate::read::history::{HistoryFilter, MAX_GROUPS, MAX_TERMS, Minute, MinutesFilter, Termed};

#[derive(ClickHouseRow, Deserialize)]
struct RangeRow {
    shard: u32,
    server: String,
    first_at: i64,
    last_at: i64,
    rows: u64,
}

#[derive(ClickHouseRow, Deserialize)]
struct CountRow {
    shard: u32,
    server: String,
    first_at: i64,
    last_at: i64,
    legacy: String,
    candidate: String,
    rules: String,
    route_name: String,
    tallies: u64,
    received_sum: u64,
    match_sum: u64,
    mismatch_sum: u64,
    not_compared_sum: HashMap<String, u64>,
    clients_sum: HashMap<String, u64>,
    classes_sum: HashMap<String, u64>,
    extent: f64,
}

#[derive(ClickHouseRow, Deserialize)]
struct TimesRow {
    shard: u32,
    server: String,
    first_at: i64,
    legacy_times: HashMap<u16, u64>,
    candidate_times: HashMap<u16, u64>,
    extent: f64,
}

#[derive(ClickHouseRow, Deserialize)]
struct SetsRow {
    shard: u32,
    server: String,
    first_at: i64,
    legacy: String,
    candidate: String,
    route_name: String,
    set_name: String,
    counting: u64,
    never: u64,
}

#[derive(ClickHouseRow, Deserialize)]
struct GroupsRow {
    shard: u32,
    server: String,
    first_at: i64,
    route_name: String,
    group_name: String,
    counted: u64,
    seen_first: i64,
    seen_last: i64,
}

#[derive(ClickHouseRow, Deserialize)]
struct TermsRow {
    began_at: i64,
    coverage_text: String,
}

/// The table of most questions here.
const COUNTED: &[RecordType] = &[RecordType::Tally];

/// When an interval began.
const BEGAN: &str = "toUnixTimestamp64Micro(t.interval_start)";

impl ClickHouseReader {
    pub(super) fn read_history(
        &self,
        filter: &HistoryFilter,
        now: Timestamp,
    ) -> Result<History, StoreError> {
        let asked = filter.asked();
        let limits = asked.limits(now);
        let Some(range) = self.range(filter, limits)? else {
            return Ok(nothing(filter));
        };
        let grid = Grid::of(asked, range, now);
        let window = grid.window();
        let (from, to) = (
            window.from.as_micros().max(limits.0),
            window.to.as_micros().min(limits.1),
        );
        let asking = Asking {
            filter,
            spans: vec![(from, to)],
            base: window.from.as_micros(),
            micros: grid.micros,
        };
        // Sets and groups before tallies, as for a report: so no more is excused than was counted.
        let sets = self.sets(&asking)?;
        let groups = self.groups(&asking)?;
        self.look_again();
        let mut sums = HistorySums::new(grid, filter);
        self.counts(&asking, |row, extent| sums.add(row, extent))?;
        if sums.has_room_for_latencies() {
            self.latencies(&asking, &mut sums)?;
        }
        for set in sets.iter() {
            sums.excuse(&SetRow {
                begins: set.first_at,
                versions: [&set.legacy, &set.candidate],
                route: &set.route_name,
                set_id: &set.set_name,
                counting: set.counting,
                never_asked: set.never,
            });
        }
        for group in groups.iter() {
            sums.add_group(&GroupRow {
                begins: group.first_at,
                route: &group.route_name,
                fingerprint: &group.group_name,
                count: group.counted,
                first_seen: Timestamp::from_micros(group.seen_first),
                last_seen: Timestamp::from_micros(group.seen_last),
            })?;
        }
        let terms = self.terms_before(filter, to)?;
        Ok(sums.into_history(filter, &terms))
    }

    /// When the first and the last interval began.
    fn range(
        &self,
        filter: &HistoryFilter,
        (from, to): (i64, i64),
    ) -> Result<Option<(Timestamp, Timestamp)>, StoreError> {
        let asking = Asking::once(filter, (from, to));
        let select = format!(
            "SELECT {ORIGIN}, min({BEGAN}) AS first_at, max({BEGAN}) AS last_at, count() AS rows FROM tallies AS t"
        );
        let question = asking.of(self, &select, false, &format!("GROUP BY {BY_ORIGIN}"));
        let mut range: Option<(i64, i64)> = None;
        for row in self.kept::<RangeRow>(COUNTED, question)?.iter() {
            self.came_from(row.shard, row.server.clone())?;
            if row.rows > 0 {
                let (first, last) = range.unwrap_or((row.first_at, row.last_at));
                range = Some((first.min(row.first_at), last.max(row.last_at)));
            }
        }
        let time = Timestamp::from_micros;
        Ok(range.map(|(first, last)| (time(first), time(last))))
    }

    pub(super) fn read_minutes(&self, filter: &MinutesFilter) -> Result<Vec<Minute>, StoreError> {
        let mut minutes = Minutes::default();
        let spans = filter.spans.iter();
        let asking = Asking {
            filter: &filter.of,
            spans: spans
                .map(|span| (span.from.as_micros(), span.to.as_micros()))
                .collect(),
            base: 0,
            micros: INTERVAL_MICROS,
        };
        if !asking.spans.is_empty() {
            self.counts(&asking, |row, extent| minutes.add(row, extent))?;
        }
        Ok(minutes.into_minutes())
    }

    fn counts(
        &self,
        asking: &Asking<'_>,
        mut add: impl FnMut(&Row<'_>, u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let of_map = |column: &str| {
            format!("arraySum(arrayMap(count -> toFloat64(count), mapValues(t.{column})))")
        };
        let select = format!(
            "SELECT {ORIGIN}, min({BEGAN}) AS first_at, max({BEGAN}) AS last_at, toString(t.legacy_version) AS legacy, \
             toString(t.candidate_version) AS candidate, toString(t.rules_hash) AS rules, toString(t.route) AS route_name, \
             count() AS tallies, sum(t.received) AS received_sum, sum(t.match) AS match_sum, sum(t.mismatch) AS mismatch_sum, \
             sumMap(t.not_compared) AS not_compared_sum, sumMap(t.clients) AS clients_sum, sumMap(t.classes) AS classes_sum, \
             sum(toFloat64(t.received) + toFloat64(t.match) + toFloat64(t.mismatch) + {} + {} + {}) AS extent \
             FROM tallies AS t FINAL",
            of_map("not_compared"),
            of_map("clients"),
            of_map("classes")
        );
        let tail = format!(
            "GROUP BY {BUCKET}, t.legacy_version, t.candidate_version, t.rules_hash, t.route, {BY_ORIGIN}"
        );
        let question = asking.of(self, &select, true, &tail);
        for row in self
            .kept::<CountRow>(COUNTED, asking.buckets(question))?
            .iter()
        {
            self.came_from(row.shard, row.server.clone())?;
            let counted = [row.received_sum, row.match_sum, row.mismatch_sum];
            let mut cell = Cell::of(row.tallies, counted);
            for (reason, count) in &row.not_compared_sum {
                cell.add_reason(word("tallies", "not_compared", reason)?, *count);
            }
            for (outcome, count) in &row.clients_sum {
                cell.add_client(word("tallies", "clients", outcome)?, *count);
            }
            for (class, count) in &row.classes_sum {
                cell.add_class(word("tallies", "classes", class)?, *count);
            }
            let counted = Row {
                first: row.first_at,
                last: row.last_at,
                identity: [&row.legacy, &row.candidate, &row.rules],
                route: &row.route_name,
                counts: cell,
            };
            add(&counted, row.extent as u64)?;
        }
        Ok(())
    }

    fn latencies(&self, asking: &Asking<'_>, sums: &mut HistorySums) -> Result<(), StoreError> {
        let of = |column: &str| {
            format!("arraySum(arrayMap(count -> toFloat64(count), mapValues(t.{column})))")
        };
        let select = format!(
            "SELECT {ORIGIN}, min({BEGAN}) AS first_at, sumMap(t.legacy_head_latency) AS legacy_times, \
             sumMap(t.candidate_head_latency) AS candidate_times, sum({} + {}) AS extent FROM tallies AS t FINAL",
            of("legacy_head_latency"),
            of("candidate_head_latency")
        );
        let tail = format!("GROUP BY {BUCKET}, {BY_ORIGIN}");
        let question = asking.of(self, &select, true, &tail);
        for row in self
            .kept::<TimesRow>(COUNTED, asking.buckets(question))?
            .iter()
        {
            self.came_from(row.shard, row.server.clone())?;
            let times = [&row.legacy_times, &row.candidate_times];
            let times = times.map(|times| {
                let each = times.iter();
                each.map(|(bucket, count)| (*bucket, *count))
                    .collect::<Histogram>()
            });
            sums.add_latencies(row.first_at, &times, row.extent as u64)?;
        }
        Ok(())
    }

    fn sets(&self, asking: &Asking<'_>) -> Result<Arc<Vec<SetsRow>>, StoreError> {
        let excused = asking.filter.excused_ids();
        if excused.is_empty() {
            return Ok(Arc::default());
        }
        let select = format!(
            "SELECT {ORIGIN}, min({BEGAN}) AS first_at, toString(t.legacy_version) AS legacy, \
             toString(t.candidate_version) AS candidate, toString(t.route) AS route_name, toString(t.set_id) AS set_name, \
             toUInt64(sum(arraySum(mapValues(t.classes)) - t.classes['{}'])) AS counting, sum(t.never_asked) AS never \
             FROM set_tallies AS t FINAL",
            MismatchClass::Transient
        );
        let tail = format!(
            "AND t.set_id IN ? GROUP BY {BUCKET}, t.legacy_version, t.candidate_version, t.route, t.set_id, {BY_ORIGIN}"
        );
        let question = asking.of(self, &select, true, &tail).bind(excused);
        let rows = self.kept::<SetsRow>(&[RecordType::SetTally], asking.buckets(question))?;
        for row in rows.iter() {
            self.came_from(row.shard, row.server.clone())?;
        }
        Ok(rows)
    }

    fn groups(&self, asking: &Asking<'_>) -> Result<Arc<Vec<GroupsRow>>, StoreError> {
        let names: Vec<&String> = asking.filter.fingerprints.iter().take(MAX_GROUPS).collect();
        if names.is_empty() {
            return Ok(Arc::default());
        }
        let select = format!(
            "SELECT {ORIGIN}, min({BEGAN}) AS first_at, toString(t.route) AS route_name, t.fingerprint AS group_name, \
             sum(t.count) AS counted, min(toUnixTimestamp64Micro(t.first_seen)) AS seen_first, \
             max(toUnixTimestamp64Micro(t.last_seen)) AS seen_last FROM group_tallies AS t FINAL"
        );
        let tail = format!(
            "AND t.fingerprint IN ? GROUP BY {BUCKET}, t.route, t.fingerprint, {BY_ORIGIN}"
        );
        let question = asking.of(self, &select, true, &tail).bind(names);
        let rows = self.kept::<GroupsRow>(&[RecordType::GroupTally], asking.buckets(question))?;
        for row in rows.iter() {
            self.came_from(row.shard, row.server.clone())?;
        }
        Ok(rows)
    }

    /// The latest terms that began before `to`, the earliest first.
    fn terms_before(&self, filter: &HistoryFilter, to: i64) -> Result<Vec<Termed>, StoreError> {
        let asking = Asking::once(filter, (0, to));
        let sql = format!(
            "SELECT toUnixTimestamp64Micro(t.time) AS began_at, t.coverage AS coverage_text FROM terms AS t FINAL \
             WHERE t.migration = ?{} AND t.time < {} ORDER BY began_at DESC, toString(t.id) DESC LIMIT {MAX_TERMS}",
            asking.versions(),
            time(to)
        );
        let question = self.server.client().query(&sql);
        let rows = self.kept::<TermsRow>(&[RecordType::Terms], asking.bound(question))?;
        let terms = rows.iter().rev().map(|row| {
            let coverage = serde_json::from_str(&row.coverage_text);
            Ok(Termed {
                time: Timestamp::from_micros(row.began_at),
                coverage: coverage
                    .map_err(|_| StoreError::value("terms", "coverage", &row.coverage_text))?,
            })
        });
        terms.collect()
    }
}
