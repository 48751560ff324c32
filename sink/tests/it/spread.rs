//! A proof of noise covers mismatches near its rechecks: counted by process and day, alike in every store.

use parity_schemas::digest::ExchangeDigest;
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

/// Rows of some groups of two routes, by three processes on some days, several a day; `more` groups have one row each.
fn scattered(seed: u64, more: u64) -> Vec<Record> {
    let mut state = seed;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let today = Timestamp::now().as_micros().div_euclid(DAY);
    let mut records = Vec::new();
    let mut of_groups = Vec::new();
    for number in 0..60 {
        // Not within the last minutes of a day, so that no clock matters; the last second of one is among them.
        let second = if number % 7 == 0 {
            86_399
        } else {
            random(86_000)
        };
        let ago = 1 + random(11);
        let start = today * DAY - (ago * 86_400 - second).cast_signed() * 1_000_000;
        let route = ["GET /a", "GET /b"][random(2) as usize];
        let mut of = tally(route, Timestamp::from_micros(start), 10);
        of.run = Uuid::from_u128(u128::from(1 + random(3)));
        for group in 0..=random(8) {
            of_groups.push((of.clone(), format!("{group:016x}")));
        }
        if number == 59 {
            of_groups.extend((0..more).map(|group| (of.clone(), format!("f{group:015x}"))));
        }
        of.counts.mismatch = 100_000;
        of.counts.received += 100_000;
        records.push(Record::Tally(Box::new(of)));
    }
    for (of, fingerprint) in of_groups {
        let mut left = 1 + random(900);
        let mut group = group_tally(&of, &fingerprint, left, new_id());
        group.run = of.run;
        group.exchange_digest = ExchangeDigest::of(group.example_id);
        for class in MismatchClass::ALL {
            let count = random(left + 1);
            left -= count;
            if count > 0 {
                group.classes.insert(*class, count);
            }
        }
        for evidence in RecheckEvidence::ALL {
            if random(3) == 0 {
                group.evidence.insert(*evidence, 1 + random(200));
            }
        }
        records.push(Record::GroupTally(Box::new(group)));
    }
    records
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn a_store_that_adds_rows_up_itself_says_what_one_that_hands_them_out_says() {
    let server = ClickHouse::shared();
    // The last has more groups than a report.
    for (seed, more) in [(1, 0), (2, 0), (3, 0), (4, 10_020)] {
        let (file, database) = (Store::new(), server.database());
        let store = with_tables(&database);
        let records = scattered(seed, more);
        file.fill(records.clone());
        fill(&store, &records);
        let today = Timestamp::now().as_micros().div_euclid(DAY) * DAY;
        for since in [None, Some(4), Some(9)] {
            let selection = Selection {
                since: since.map(|days| Timestamp::from_micros(today - days * DAY)),
                ..Selection::default()
            };
            let read = |store: &StoreConfig| {
                let reader = Reader::open(store).expect("it opens");
                let evidence = reader.evidence(&selection).expect("it is read");
                let groups = evidence.expect("there is some").groups;
                let report = reader.report(&selection).expect("it is read");
                let ids = report.groups.into_iter().map(|group| {
                    (
                        group.fingerprint,
                        group.example_id,
                        group.evidence,
                        group.also,
                    )
                });
                (groups, ids.collect::<Vec<_>>())
            };
            let (one, other) = (read(&file.url), read(&store));
            assert!(!one.0.is_empty());
            assert_eq!(one.0, other.0, "{seed} {since:?}");
            assert_eq!(one.1, other.1, "{seed} {since:?}");
        }
    }
}
