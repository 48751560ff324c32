//! A store to which somebody wrote counts that no traffic has: the reader names the row, and no sum overflows.

use parity_schemas::extent::MOST_COUNTED;
use parity_schemas::id::new_id;
use parity_schemas::recheck::RecheckEvidence;
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::tally::{GroupTally, SetTally, Tally};
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, Selection, StoreConfig};

use crate::servers::ClickHouse;
use crate::support::{Store, fill, group_tally, tally, with_tables};

/// The largest count that every store takes.
const MOST: u64 = i64::MAX as u64;

type Change = fn(&mut Tally, &mut GroupTally, &mut SetTally);

/// What is changed, and in which table it is told; in nothing if it may be true.
const CASES: [(&str, Change); 10] = [
    ("", |_, _, _| {}),
    ("", |tally, _, _| tally.counts.matched = MOST_COUNTED / 64),
    ("tallies", |tally, _, _| tally.counts.matched = MOST),
    ("tallies", |tally, _, _| {
        tally.counts.classes = [(MismatchClass::Noise, u64::MAX)].into();
    }),
    ("tallies", |tally, _, _| {
        tally.legacy_latency.add(7, MOST);
    }),
    // More of a class than of all classes; less is what older programs wrote.
    ("tallies", |tally, _, _| {
        tally.counts.classes = [(MismatchClass::Confirmed, 3)].into();
    }),
    ("", |tally, _, _| {
        tally.counts.mismatch = 3;
        tally.counts.classes = [(MismatchClass::Confirmed, 2)].into();
    }),
    ("group_tallies", |_, group, _| group.count = MOST),
    ("group_tallies", |_, group, _| {
        group.evidence = [(RecheckEvidence::NeverAsked, u64::MAX)].into();
    }),
    ("set_tallies", |_, _, set| {
        set.classes = [(MismatchClass::Confirmed, u64::MAX)].into();
    }),
];

/// Four rows of each table, so that what is large overflows when it is added up.
fn records(change: Change) -> Vec<Record> {
    let start = Timestamp::now().saturating_add_micros(-600_000_000);
    let rows = (0..4).flat_map(|_| {
        let mut tally = tally("GET /a", start, 10);
        let mut group = group_tally(&tally, "f00d", 3, new_id());
        let mut set = SetTally {
            tally_id: tally.id,
            revision: 1,
            identity: tally.identity.clone(),
            interval_start: start,
            run: tally.run,
            route: tally.route.clone(),
            set_id: "00000000000000aa".to_owned(),
            fingerprints: vec!["f00d".to_owned()],
            classes: [(MismatchClass::Confirmed, 3)].into(),
            never_asked: 0,
        };
        change(&mut tally, &mut group, &mut set);
        [
            Record::Tally(Box::new(tally)),
            Record::GroupTally(Box::new(group)),
            Record::SetTally(Box::new(set)),
        ]
    });
    rows.collect()
}

fn check(store: &StoreConfig, table: &str) {
    let reader = Reader::open(store).expect("it opens");
    let selection = Selection {
        with_latency: true,
        ..Selection::default()
    };
    let read = [
        reader.report(&selection).map(drop),
        reader.evidence(&selection).map(drop),
    ];
    for read in read {
        match read {
            Ok(()) => assert_eq!(table, ""),
            Err(error) => {
                let error = error.to_string();
                let told = format!("the rows of {table} count what no traffic has");
                assert!(
                    error.starts_with(&told) && error.contains("GET /a"),
                    "{table}: {error}"
                );
            }
        }
    }
}

#[test]
fn counts_that_cannot_be_are_told_with_their_row_by_a_file() {
    for (table, change) in CASES {
        let store = Store::new();
        store.fill(records(change));
        check(&store.url, table);
    }
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn counts_that_cannot_be_are_told_with_their_row_by_clickhouse() {
    for (table, change) in CASES {
        let database = ClickHouse::shared().database();
        let store = with_tables(&database);
        fill(&store, &records(change));
        check(&store, table);
    }
}
