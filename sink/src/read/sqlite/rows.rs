//! What the rows of the file say, read by what they must be.

use std::path::Path;
use std::str::FromStr;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::histogram::Histogram;
use parity_schemas::record::{Mismatch, MismatchClass};
use parity_schemas::tally::{Counts, Group, GroupTally, Identity};
use parity_schemas::time::Timestamp;
use rusqlite::Row;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::error::StoreError;
use crate::read::assemble::{CountsRow, DetailsRow};
use crate::sqlite::failed;

pub(super) fn counts<'a>(row: &'a Fields<'_>) -> Result<CountsRow<'a>, StoreError> {
    let received = row.count(4, "received")?;
    let run = match row.text(8, "run")? {
        "" => Uuid::nil(),
        _ => row.word(8, "run")?,
    };
    Ok(CountsRow {
        instance: row.text(0, "instance")?,
        run,
        interval_start: row.time(1, "interval_start")?,
        interval_us: row.integer(2, "interval_us")?,
        route: row.text(3, "route")?,
        counts: Counts {
            received,
            clients: match row.optional_text(9, "clients")? {
                Some(text) => from_json("tallies", "clients", text)?,
                None => Counts::clients_not_recorded(received),
            },
            matched: row.count(5, "match")?,
            mismatch: row.count(6, "mismatch")?,
            not_compared: row.json(7, "not_compared")?,
            legacy_answers: row.json(10, "legacy_answers")?,
        },
    })
}

pub(super) fn details(row: &Fields<'_>) -> Result<DetailsRow, StoreError> {
    Ok(DetailsRow {
        rule_hits: row.json(11, "rule_hits")?,
        legacy_latency: row.histogram(12, "legacy_latency")?,
        candidate_latency: row.histogram(13, "candidate_latency")?,
        legacy_head_latency: row.histogram(14, "legacy_head_latency")?,
        candidate_head_latency: row.histogram(15, "candidate_head_latency")?,
    })
}

pub(super) fn group_tally(row: &Fields<'_>, identity: &Identity) -> Result<GroupTally, StoreError> {
    Ok(GroupTally {
        tally_id: row.word(1, "tally_id")?,
        revision: row.number(2, "revision")?,
        group: Group {
            fingerprint: row.text(3, "fingerprint")?.to_owned(),
            part: row.word(4, "part")?,
            pattern: row.text(5, "pattern")?.to_owned(),
            kind: row.word(6, "kind")?,
            explanation: row
                .optional_text(7, "explanation")?
                .map(|word| parse("group_tallies", "explanation", word))
                .transpose()?,
            legacy_status: row.number(8, "legacy_status")?,
            candidate_status: row.number(9, "candidate_status")?,
        },
        count: row.count(10, "count")?,
        first_seen: row.time(11, "first_seen")?,
        last_seen: row.time(12, "last_seen")?,
        example_id: row.word(13, "example_id")?,
        identity: identity.clone(),
        interval_start: row.time(14, "interval_start")?,
        route: row.text(0, "route")?.to_owned(),
        exchange_digest: ExchangeDigest::from_number(row.number(15, "exchange_digest")?),
    })
}

pub(super) fn mismatch(row: &Fields<'_>) -> Result<Mismatch, StoreError> {
    let text = |index, column| row.text(index, column).map(str::to_owned);
    Ok(Mismatch {
        id: row.word(0, "id")?,
        identity: Identity {
            migration: text(1, "migration")?,
            legacy_version: text(2, "legacy_version")?,
            candidate_version: text(3, "candidate_version")?,
            rules_hash: text(4, "rules_hash")?,
        },
        time: row.time(5, "time")?,
        instance: text(6, "instance")?,
        route: text(7, "route")?,
        method: text(8, "method")?,
        path: text(9, "path")?,
        query: text(10, "query")?,
        fingerprints: row.json(11, "fingerprints")?,
        findings: row.json(12, "findings")?,
        findings_cut: row.integer(13, "findings_cut")? != 0,
        tolerated: row.json(14, "tolerated")?,
        legacy_status: row.number(15, "legacy_status")?,
        candidate_status: row.number(16, "candidate_status")?,
        legacy_us: row.count(17, "legacy_us")?,
        candidate_us: row.count(18, "candidate_us")?,
        trace_id: text(19, "trace_id")?,
        class: match row.text(20, "class")? {
            "unconfirmed" => MismatchClass::Unconfirmed,
            other => return Err(StoreError::value("mismatches", "class", other)),
        },
        sample: row
            .optional_text(21, "sample")?
            .map(|text| from_json("mismatches", "sample", text))
            .transpose()?,
    })
}

/// A row whose values are read by what they must be; errors name the column and the value.
pub(super) struct Fields<'a> {
    row: &'a Row<'a>,
    table: &'static str,
    path: &'a Path,
}

impl<'a> Fields<'a> {
    pub(super) fn new(row: &'a Row<'a>, table: &'static str, path: &'a Path) -> Self {
        Self { row, table, path }
    }
}

impl Fields<'_> {
    pub(super) fn optional_text(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<Option<&str>, StoreError> {
        let value = self
            .row
            .get_ref(index)
            .map_err(|error| failed("read", self.path, error))?;
        value
            .as_str_or_null()
            .map_err(|_| StoreError::value(self.table, column, &format!("{value:?}")))
    }

    pub(super) fn text(&self, index: usize, column: &'static str) -> Result<&str, StoreError> {
        self.optional_text(index, column)?
            .ok_or_else(|| StoreError::value(self.table, column, "NULL"))
    }

    pub(super) fn integer(&self, index: usize, column: &'static str) -> Result<i64, StoreError> {
        let value = self
            .row
            .get_ref(index)
            .map_err(|error| failed("read", self.path, error))?;
        value
            .as_i64()
            .map_err(|_| StoreError::value(self.table, column, &format!("{value:?}")))
    }

    pub(super) fn number<T: TryFrom<i64>>(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<T, StoreError> {
        let value = self.integer(index, column)?;
        T::try_from(value).map_err(|_| StoreError::value(self.table, column, &value.to_string()))
    }

    pub(super) fn count(&self, index: usize, column: &'static str) -> Result<u64, StoreError> {
        self.number(index, column)
    }

    pub(super) fn time(&self, index: usize, column: &'static str) -> Result<Timestamp, StoreError> {
        self.integer(index, column).map(Timestamp::from_micros)
    }

    pub(super) fn word<T: FromStr>(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<T, StoreError> {
        parse(self.table, column, self.text(index, column)?)
    }

    pub(super) fn histogram(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<Histogram, StoreError> {
        let text = self.text(index, column)?;
        Histogram::from_text(text).ok_or_else(|| StoreError::value(self.table, column, text))
    }

    pub(super) fn json<T: DeserializeOwned>(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<T, StoreError> {
        from_json(self.table, column, self.text(index, column)?)
    }
}

fn parse<T: FromStr>(
    table: &'static str,
    column: &'static str,
    word: &str,
) -> Result<T, StoreError> {
    word.parse()
        .map_err(|_| StoreError::value(table, column, word))
}

fn from_json<T: DeserializeOwned>(
    table: &'static str,
    column: &'static str,
    text: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::value(table, column, text))
}
