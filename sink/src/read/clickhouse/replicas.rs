//! Reads all rows of one result from the same replica of each shard.
//!
//! On a cluster every query may go to another replica, and replicas are not equally up to date: a report could mix
//! groups of one with counts of another. So the server is told to take the first replica of its list that does not lag,
//! which is also the one that rows are inserted into ([`crate::clickhouse::REPLICA_ORDER`]); and each row says which
//! server it came from. If that changes between two queries, because a replica failed or came back, all queries are
//! repeated.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::ClickHouseReader;
use crate::error::StoreError;
use crate::url::ClickHouseUrl;

/// The columns that say where a row came from, and the GROUP BY of queries that sum. A single server is shard 0. A
/// server is identified by several values, because one alone may be equal for two servers: hosts and ports of
/// containers, or the id of a copied disk.
pub(super) const ORIGIN: &str = "shardNum() AS shard, \
     concat(toString(serverUUID()), ' ', hostName(), ':', toString(tcpPort())) AS server";
pub(super) const BY_ORIGIN: &str = "shard, server";

/// Settings of a reader's queries on a cluster, besides the order of the replicas.
pub(super) const SETTINGS: [(&str, &str); 4] = [
    // Seconds that a replica may lag: one that is back after a failure is not read until it has caught up. While all of
    // them lag, the one that lags least is read.
    ("max_replica_delay_for_distributed_queries", "1"),
    ("fallback_to_stale_replicas_for_distributed_queries", "1"),
    // Otherwise a second replica would be queried as soon as the first one is slow.
    ("use_hedged_requests", "0"),
    // Otherwise several replicas would share one query.
    ("enable_parallel_replicas", "0"),
];

/// How often the queries are repeated: replicas change when one fails, not all the time.
const ATTEMPTS: usize = 5;

/// Which server answered for each shard.
#[derive(Default)]
pub(super) struct Replicas(RefCell<BTreeMap<u32, String>>);

impl Replicas {
    /// Repeats the queries until all rows of each shard come from one replica.
    fn ask_until_same<T>(&self, ask: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut attempt = 1;
        loop {
            self.0.borrow_mut().clear();
            match ask() {
                Err(StoreError::Replicas { .. }) if attempt < ATTEMPTS => attempt += 1,
                answer => return answer,
            }
        }
    }

    /// An error if an earlier row of this shard came from another server.
    fn came_from(&self, url: &ClickHouseUrl, shard: u32, server: String) -> Result<(), StoreError> {
        let mut servers = self.0.borrow_mut();
        match servers.get(&shard) {
            Some(known) if *known != server => Err(StoreError::Replicas {
                url: url.clone(),
                shard,
                attempts: ATTEMPTS,
            }),
            Some(_) => Ok(()),
            None => {
                servers.insert(shard, server);
                Ok(())
            }
        }
    }
}

impl ClickHouseReader {
    /// Repeats `ask` until all rows of each shard come from one replica.
    pub(super) fn of_one_replica<T>(
        &self,
        ask: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // What was seen of one replica says nothing of the next one.
        let is_again = Cell::new(false);
        self.replicas.ask_until_same(|| {
            self.marks.take();
            self.seen.borrow_mut().take_if(|_| is_again.replace(true));
            ask()
        })
    }

    /// Checks that a row came from the same server as the others of its shard.
    pub(super) fn came_from(&self, shard: u32, server: String) -> Result<(), StoreError> {
        self.replicas.came_from(self.server.url(), shard, server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::StoreUrl;

    #[test]
    fn an_answer_is_begun_anew_when_a_replica_changes_and_given_up_when_that_does_not_end() {
        let StoreUrl::ClickHouse(url) =
            "clickhouse://127.0.0.1:8123/parity".parse().expect("a URL")
        else {
            panic!("it is a ClickHouse");
        };
        let replicas = Replicas::default();
        let asked = Cell::new(0);
        let answer = |servers: &[(u32, &str)], second: &str| {
            asked.set(asked.get() + 1);
            for (shard, server) in servers {
                replicas.came_from(&url, *shard, (*server).to_owned())?;
            }
            replicas.came_from(&url, 1, second.to_owned())?;
            Ok(asked.get())
        };
        let stays = replicas.ask_until_same(|| answer(&[(1, "a"), (2, "b"), (1, "a")], "a"));
        assert_eq!(stays.expect("of one replica"), 1);
        let failed_once = replicas.ask_until_same(|| {
            let second = if asked.get() < 3 { "c" } else { "a" };
            answer(&[(1, "a"), (2, "b")], second)
        });
        assert_eq!(failed_once.expect("of one replica"), 4);
        let never = replicas.ask_until_same(|| answer(&[(1, "a")], "c"));
        let message = never.expect_err("it never ends").to_string();
        assert!(
            message.contains("shard 1 changed in each of 5"),
            "{message}"
        );
        assert_eq!(asked.get(), 4 + ATTEMPTS);
    }
}
