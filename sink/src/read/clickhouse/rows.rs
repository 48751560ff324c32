//! Rows of tallies and groups that the server has summed.

use std::collections::{BTreeMap, HashMap};

use clickhouse::Row;
use parity_schemas::digest::ExchangeDigest;
use parity_schemas::tally::{Counts, Group, GroupTally, Identity};
use parity_schemas::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{optional_word, word};
use crate::error::StoreError;
use crate::read::assemble::{CountsRow, DetailsRow, Sums};

#[derive(Row, Serialize, Deserialize)]
pub(super) struct TallyRow {
    pub(super) shard: u32,
    pub(super) server: String,
    instance: String,
    run: String,
    route: String,
    begins: i64,
    ends: i64,
    received: u64,
    matched: u64,
    mismatch: u64,
    clients: HashMap<String, u64>,
    legacy_answers: HashMap<String, u64>,
    not_compared: HashMap<String, u64>,
    rule_hits: HashMap<String, u64>,
    legacy_latency: HashMap<u16, u64>,
    candidate_latency: HashMap<u16, u64>,
    legacy_head_latency: HashMap<u16, u64>,
    candidate_head_latency: HashMap<u16, u64>,
}

impl TallyRow {
    pub(super) fn add(self, sums: &mut Sums, with_details: bool) -> Result<(), StoreError> {
        let not_compared = by_word("not_compared", self.not_compared)?;
        let clients = by_word("clients", self.clients)?;
        let legacy_answers = by_word("legacy_answers", self.legacy_answers)?;
        sums.add_counts(&CountsRow {
            instance: &self.instance,
            run: word("tallies", "run", &self.run)?,
            interval_start: Timestamp::from_micros(self.begins),
            interval_us: self.ends - self.begins,
            route: &self.route,
            counts: Counts {
                received: self.received,
                clients,
                matched: self.matched,
                mismatch: self.mismatch,
                not_compared,
                legacy_answers,
            },
        });
        if with_details {
            let histogram = |map: HashMap<u16, u64>| {
                parity_schemas::histogram::Histogram(map.into_iter().collect())
            };
            sums.add_details(
                &self.route,
                DetailsRow {
                    rule_hits: self.rule_hits.into_iter().collect(),
                    legacy_latency: histogram(self.legacy_latency),
                    candidate_latency: histogram(self.candidate_latency),
                    legacy_head_latency: histogram(self.legacy_head_latency),
                    candidate_head_latency: histogram(self.candidate_head_latency),
                },
            );
        }
        Ok(())
    }
}

/// Counts by the words of a vocabulary.
fn by_word<T: std::str::FromStr + Ord>(
    column: &'static str,
    counts: HashMap<String, u64>,
) -> Result<BTreeMap<T, u64>, StoreError> {
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(text, count)| Ok((word("tallies", column, &text)?, count)))
        .collect()
}

#[derive(Row, Serialize, Deserialize)]
pub(super) struct GroupRow {
    pub(super) shard: u32,
    pub(super) server: String,
    route: String,
    fingerprint: String,
    part: String,
    pattern: String,
    kind: String,
    explanation: String,
    legacy_status: u16,
    candidate_status: u16,
    count: u64,
    first_seen: i64,
    last_seen: i64,
    example_id: String,
    exchange_digest: u32,
}

#[derive(Row, Serialize, Deserialize)]
pub(super) struct ExampleRow {
    pub(super) route: String,
    pub(super) fingerprint: String,
    pub(super) last_seen: i64,
    pub(super) example_id: String,
}

impl GroupRow {
    pub(super) fn add(self, sums: &mut Sums, identity: &Identity) -> Result<(), StoreError> {
        let group = Group {
            fingerprint: self.fingerprint,
            part: word("group_tallies", "part", &self.part)?,
            pattern: self.pattern,
            kind: word("group_tallies", "kind", &self.kind)?,
            explanation: optional_word("group_tallies", "explanation", &self.explanation)?,
            legacy_status: self.legacy_status,
            candidate_status: self.candidate_status,
        };
        sums.groups.add(GroupTally {
            tally_id: Uuid::nil(),
            revision: 0,
            identity: identity.clone(),
            interval_start: Timestamp::from_micros(self.first_seen),
            route: self.route,
            group,
            count: self.count,
            first_seen: Timestamp::from_micros(self.first_seen),
            last_seen: Timestamp::from_micros(self.last_seen),
            example_id: word("group_tallies", "example_id", &self.example_id)?,
            exchange_digest: ExchangeDigest::from_number(self.exchange_digest),
        });
        Ok(())
    }
}
