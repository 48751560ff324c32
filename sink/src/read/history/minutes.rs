//! What each minute of some spans of time had, by version of the candidate.
//!
//! An outage of minutes is not seen in a bucket of hours, but the record has counts of each minute. Whoever looks for one asks for the
//! minutes of those buckets alone in which something failed, all in one question.

use std::collections::BTreeMap;

use parity_schemas::clients::Clients;
use parity_schemas::evidence::Window;
use parity_schemas::record::RecordType;
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;

use super::HistoryFilter;
use super::cell::Cell;
use super::row::{Charge, Row};
use crate::error::StoreError;

/// Selects minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MinutesFilter {
    /// Of which migration, versions and route. Its times say nothing.
    pub of: HistoryFilter,
    /// Intervals that begin in these spans, which do not overlap.
    pub spans: Vec<Window>,
}

/// What one minute had of one version of the candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// When it began.
    pub from: Timestamp,
    /// As recorded; may be empty.
    pub candidate_version: String,
    /// What the gate counts.
    pub compared: u64,
    /// What of it the candidate did not answer.
    pub unanswered: u64,
    /// Requests that were not sent to it, because it kept failing.
    pub breaker_open: u64,
    /// All clients by outcome; outcomes without a count are absent.
    pub clients: Clients,
}

/// Sums of rows by minute.
#[derive(Default)]
pub(in crate::read) struct Minutes {
    cells: BTreeMap<i64, BTreeMap<String, Cell>>,
    charge: Charge,
}

impl Minutes {
    /// Adds a row. `extent` is what it counts altogether, if a store has added it up and it may have overflown.
    pub(in crate::read) fn add(&mut self, row: &Row<'_>, extent: u64) -> Result<(), StoreError> {
        let extent = extent.max(row.counts.extent());
        self.charge.add(RecordType::Tally, row.route, extent)?;
        let minute = self.cells.entry(row.first.div_euclid(INTERVAL_MICROS));
        let [_, candidate, _] = row.identity;
        let versions = minute.or_default();
        match versions.get_mut(candidate) {
            Some(cell) => cell.add(&row.counts),
            None => {
                versions.insert(candidate.to_owned(), row.counts);
            }
        }
        Ok(())
    }

    /// The minutes in order.
    pub(in crate::read) fn into_minutes(self) -> Vec<Minute> {
        let all = self.cells.into_iter();
        let each = all.flat_map(|(minute, versions)| {
            let from = Timestamp::from_micros(minute.saturating_mul(INTERVAL_MICROS));
            versions.into_iter().map(move |(candidate, cell)| Minute {
                from,
                candidate_version: candidate,
                compared: cell.compared(),
                unanswered: cell.candidate_unanswered,
                breaker_open: cell.breaker_open,
                clients: cell.clients(),
            })
        });
        each.collect()
    }
}
