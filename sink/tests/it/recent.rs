//! What was counted last is read apart, the same from every store.

use parity_schemas::evidence::Evidence;
use parity_schemas::id::new_id;
use parity_schemas::record::Record;
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, Selection, StoreConfig};

use crate::servers::ClickHouse;
use crate::support::{Store, fill, group_tally, tally, with_tables};

const HOUR: i64 = 60 * 60 * 1_000_000;

/// In each of some hours of yesterday and the day before, ten requests, of which as many differ as is said.
fn counted(store: &StoreConfig) {
    let today = Timestamp::now().as_micros().div_euclid(24 * HOUR) * 24;
    let mut records = Vec::new();
    for (hour, mismatch) in [(-48, 1), (-47, 2), (-26, 3), (-9, 4), (-2, 5), (-1, 6)] {
        let mut of = tally("GET /a", Timestamp::from_micros((today + hour) * HOUR), 10);
        of.counts.received = 10;
        of.counts.matched = 10 - mismatch;
        of.counts.mismatch = mismatch;
        let group = group_tally(&of, "f00d", mismatch, new_id());
        records.push(Record::Tally(Box::new(of)));
        records.push(Record::GroupTally(Box::new(group)));
    }
    fill(store, &records);
}

/// Of each slice: its number, how many were compared, and how many had the group.
fn recent(evidence: &Evidence) -> Vec<(u64, u64, u64)> {
    let each = evidence.recent.iter();
    let each = each.map(|one| {
        let compared = one.routes.iter().map(|route| route.counts.compared()).sum();
        let groups = one.groups.iter().map(|group| group.count).sum();
        (one.number, compared, groups)
    });
    each.collect()
}

fn check(store: &StoreConfig) {
    counted(store);
    let reader = Reader::open(store).expect("it opens");
    let asked = Selection {
        with_recent: true,
        ..Selection::default()
    };
    let read = |selection| {
        let evidence = reader.evidence(selection).expect("it is read");
        let report = reader.report(selection).expect("it is read");
        let evidence = evidence.expect("there is some");
        assert_eq!(
            report.evidence().expect("there is some").recent,
            evidence.recent
        );
        evidence
    };
    let evidence = read(&asked);
    // The last two hours, the last twelve, and the last two days, which are all.
    assert_eq!(recent(&evidence), [(46, 20, 11), (6, 30, 15)]);
    assert_eq!(evidence.groups[0].count, 21);
    assert_eq!(recent(&read(&Selection::default())), []);
}

#[test]
fn the_last_hours_are_told_apart() {
    check(&Store::new().url);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn the_last_hours_are_told_apart_in_clickhouse_too() {
    let database = ClickHouse::shared().database();
    check(&with_tables(&database));
}
