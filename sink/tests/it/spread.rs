//! A proof of noise covers mismatches near its rechecks: counted by process and day, alike in every store.

use parity_schemas::id::new_id;
use parity_schemas::recheck::{EvidenceCounts, RecheckEvidence};
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, Selection, StoreConfig};
use uuid::Uuid;

use crate::servers::ClickHouse;
use crate::support::{Store, fill, group_tally, tally, with_tables};

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// Counts of one group: how many days ago, at which second of the day, by which process, mismatches, rechecks, and on how
/// many of these the candidate was above.
type Row = (i64, i64, u128, u64, u64, u64);

fn fill_with(store: &StoreConfig, rows: &[Row]) {
    let today = Timestamp::now().as_micros().div_euclid(DAY);
    let mut records = Vec::new();
    for (ago, second, run, count, rechecks, above) in rows {
        let start = Timestamp::from_micros((today - ago) * DAY + second * 1_000_000);
        let mut of = tally("GET /a", start, 10);
        (of.counts.mismatch, of.run) = (*count, Uuid::from_u128(*run));
        of.counts.received += count;
        let mut group = group_tally(&of, "f00d", *count, new_id());
        group.run = of.run;
        group.classes = [
            (MismatchClass::Noise, *rechecks),
            (MismatchClass::Unconfirmed, count - rechecks),
        ]
        .into();
        group.evidence = [
            (RecheckEvidence::Above, *above),
            (RecheckEvidence::Below, rechecks - above),
            (RecheckEvidence::Targets, 4),
        ]
        .into();
        records.extend([
            Record::Tally(Box::new(of)),
            Record::GroupTally(Box::new(group)),
        ]);
    }
    fill(store, &records);
}

/// The evidence of the one group, but for what a test is not about.
fn evidence(store: &StoreConfig) -> EvidenceCounts {
    let reader = Reader::open(store).expect("it opens");
    let evidence = reader.evidence(&Selection::default()).expect("it is read");
    let [group] = &evidence.expect("there is some").groups[..] else {
        panic!("one group");
    };
    let mut evidence = group.evidence.clone();
    for sum in [RecheckEvidence::Above, RecheckEvidence::Below] {
        evidence.remove(&sum);
    }
    evidence
}

fn check(mut store: impl FnMut() -> StoreConfig) {
    use RecheckEvidence::{
        Even, Lately, LatelyAbove, LatelyAsked, LatelyBelow, Targets, Unsampled,
    };
    let mut found = |rows: &[Row]| {
        let store = store();
        fill_with(&store, rows);
        evidence(&store)
    };
    // Two minutes of one day are one part, and its targets are those of one process.
    let day = [(1, 60, 1, 500, 500, 200), (1, 80_000, 1, 500, 0, 0)];
    assert_eq!(found(&day), [(Targets, 8)].into());
    // A minute earlier is another day, and another process is another part.
    let night = [(1, 60, 1, 500, 500, 200), (2, 86_000, 1, 500, 0, 0)];
    assert_eq!(found(&night), [(Targets, 8), (Unsampled, 500)].into());
    let others = [(1, 60, 1, 500, 500, 200), (1, 60, 2, 500, 0, 0)];
    assert_eq!(found(&others), [(Targets, 4), (Unsampled, 500)].into());
    let uneven = [(1, 60, 1, 5_000, 500, 200), (2, 60, 1, 5_000, 100, 50)];
    assert_eq!(found(&uneven), [(Targets, 8), (Even, 200)].into());

    // Seven days with today, and one before.
    let month: [Row; 8] = [0, 1, 2, 3, 4, 5, 6, 7].map(|ago| {
        let above = if ago == 7 { 0 } else { 3 };
        (ago, 3_600, 1, 10, 10, above)
    });
    let lately = [
        (Targets, 32),
        (Lately, 70),
        (LatelyAsked, 70),
        (LatelyAbove, 21),
        (LatelyBelow, 49),
    ];
    assert_eq!(found(&month), lately.into());
    assert_eq!(found(&month[..7]), [(Targets, 28)].into());
}

#[test]
fn rechecks_are_near_by_process_and_day_in_a_file() {
    let stores = std::cell::RefCell::new(Vec::new());
    check(|| {
        let store = Store::new();
        let url = store.url.clone();
        stores.borrow_mut().push(store);
        url
    });
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn rechecks_are_near_by_process_and_day_in_clickhouse() {
    let server = ClickHouse::shared();
    let databases = std::cell::RefCell::new(Vec::new());
    check(|| {
        let database = server.database();
        let store = with_tables(&database);
        databases.borrow_mut().push(database);
        store
    });
}
