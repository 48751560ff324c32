//! The mark of a record changes when that does, and only then, from every store.

use parity_schemas::id::new_id;
use parity_schemas::record::Record;
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, StoreConfig};

use crate::servers::ClickHouse;
use crate::support::{Store, fill, group_tally, mismatch, tally, with_tables};

fn check(store: &StoreConfig) {
    let mark = || {
        let reader = Reader::open(store).expect("it opens");
        reader.mark().expect("it is read").number()
    };
    let counted = || {
        let mut tally = tally("GET /a", Timestamp::now(), 10);
        tally.counts.received = 1;
        tally.counts.mismatch = 1;
        let group = group_tally(&tally, "f00d", 1, new_id());
        vec![
            Record::Tally(Box::new(tally)),
            Record::GroupTally(Box::new(group)),
        ]
    };
    fill(store, &counted());
    let mut before = mark();
    assert_eq!(mark(), before);
    let differing = Record::Mismatch(Box::new(mismatch("f00d", Timestamp::now(), 10)));
    for records in [counted(), vec![differing]] {
        fill(store, &records);
        let now = mark();
        assert_ne!(now, before, "{records:?}");
        before = now;
    }
    assert_eq!(mark(), before);
}

#[test]
fn a_record_that_changed_has_another_mark() {
    check(&Store::new().url);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_record_that_changed_has_another_mark_in_clickhouse_too() {
    let database = ClickHouse::shared().database();
    check(&with_tables(&database));
}
