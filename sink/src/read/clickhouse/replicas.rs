//! One replica of each shard for all questions of one answer.
//!
//! On a cluster every question may go to another replica, and replicas are not equally far: a report would show groups of
//! one and counts of another, above each other. So the server is told to take the first replica of its list that is not
//! behind, which is also the one that rows are inserted into ([`crate::clickhouse::REPLICA_ORDER`]); and each row tells
//! which server it came from. Where that changes between two questions, because a replica went or came back, everything
//! is asked again.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::ClickHouseReader;
use crate::error::StoreError;

/// The columns that tell where a row came from, and what a question that adds up groups by. A single server is shard 0.
pub(super) const ORIGIN: &str = "shardNum() AS shard, toString(serverUUID()) AS server";
pub(super) const BY_ORIGIN: &str = "shard, server";

/// How a reader asks a cluster, beside the order of the replicas.
pub(super) const SETTINGS: [(&str, &str); 4] = [
    // Seconds that a replica may be behind: one that is back after a failure is not asked until it has caught up. While
    // all are behind, the one that is least is asked.
    ("max_replica_delay_for_distributed_queries", "1"),
    ("fallback_to_stale_replicas_for_distributed_queries", "1"),
    // A second replica would be asked as soon as the first takes a moment.
    ("use_hedged_requests", "0"),
    // Several replicas would share a question between them.
    ("enable_parallel_replicas", "0"),
];

/// How often an answer is begun anew: replicas change when one fails, not all the time.
const ATTEMPTS: usize = 5;

/// Which server answered for each shard.
#[derive(Default)]
pub(super) struct Replicas(RefCell<BTreeMap<u32, String>>);

impl Replicas {
    /// Whether it is the same server as before for this shard, if there was one.
    fn is_same(&self, shard: u32, server: String) -> bool {
        *self
            .0
            .borrow_mut()
            .entry(shard)
            .or_insert_with(|| server.clone())
            == server
    }
}

impl ClickHouseReader {
    /// Asks until all rows of a shard came from one replica.
    pub(super) fn of_one_replica<T>(
        &self,
        ask: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut attempt = 1;
        loop {
            self.replicas.0.borrow_mut().clear();
            match ask() {
                Err(StoreError::Replicas { .. }) if attempt < ATTEMPTS => attempt += 1,
                answer => return answer,
            }
        }
    }

    /// Notes where a row came from.
    pub(super) fn came_from(&self, shard: u32, server: String) -> Result<(), StoreError> {
        if self.replicas.is_same(shard, server) {
            Ok(())
        } else {
            Err(StoreError::Replicas {
                url: self.server.url().clone(),
                shard,
                attempts: ATTEMPTS,
            })
        }
    }
}
