//! Ids of records: UUIDs of version 7, created together with the record.
//!
//! The id travels with the record through every queue and store, so a record that is written twice is still one
//! record. Version 7 sorts by time, which keeps inserts at the end of an index.

use std::time::{Duration, SystemTime};

use uuid::{NoContext, Timestamp, Uuid};

/// A new id from the clock and the random source of the system.
pub fn new_id() -> Uuid {
    id_at(SystemTime::UNIX_EPOCH.elapsed().ok())
}

/// `since_epoch` is `None` if the clock is before 1970, like that of a machine without a battery until it is set. Such
/// ids are as unique as others, and only sort before all of them.
fn id_at(since_epoch: Option<Duration>) -> Uuid {
    match since_epoch {
        Some(since) => Uuid::new_v7(Timestamp::from_unix(
            NoContext,
            since.as_secs(),
            since.subsec_nanos(),
        )),
        None => Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_makes_ids_too() {
        let ids = [
            id_at(None),
            id_at(None),
            id_at(Some(Duration::from_secs(1))),
        ];
        assert_ne!(ids[0], ids[1]);
        assert!(ids[0] < ids[2] && ids[1] < ids[2] && ids[2] < new_id());
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }
}
