//! What follows from the declared columns.

use super::steps::{clickhouse, sqlite};
use super::*;
use crate::clickhouse::{Layout, statements};

#[test]
fn a_step_adds_its_columns_in_both_stores() {
    let note = Column::new::<Text>("note", Role::Fixed, 1);
    let count = Column::new::<Count>("r#match", Role::Grown, 1);
    assert_eq!(
        sqlite("tallies", &[&note, &count]),
        "ALTER TABLE tallies ADD COLUMN \"note\" TEXT NOT NULL DEFAULT '';\n\
         ALTER TABLE tallies ADD COLUMN \"match\" INTEGER NOT NULL DEFAULT 0;\n"
    );
    let source = clickhouse("tallies", &[&note, &count]);
    assert_eq!(
        statements(&source, &Layout::Single),
        [
            "ALTER TABLE tallies\n    ADD COLUMN IF NOT EXISTS note String CODEC(ZSTD(1)),\n    \
             ADD COLUMN IF NOT EXISTS match UInt64 CODEC(T64, ZSTD(1))",
            "CREATE OR REPLACE VIEW tallies_final AS SELECT * FROM tallies FINAL",
        ]
    );
    let cluster = statements(&source, &Layout::Cluster("c".to_owned()));
    assert!(cluster[0].starts_with("ALTER TABLE tallies_local ON CLUSTER 'c'\n"));
    assert_eq!(
        cluster[1],
        "ALTER TABLE tallies ON CLUSTER 'c'\n    ADD COLUMN IF NOT EXISTS note String,\n    \
         ADD COLUMN IF NOT EXISTS match UInt64"
    );
    assert_eq!((sqlite("t", &[]), clickhouse("t", &[])), Default::default());
}

#[test]
fn every_table_knows_its_rows_and_no_step_is_left_out() {
    for record in RecordType::ALL {
        let columns = record.columns();
        let keys = columns.iter().filter(|column| column.role == Role::Key);
        assert!(keys.count() > 0, "{}", record.table());
        let grown = columns.iter().any(|column| column.role == Role::Grown);
        let revision = columns.iter().any(|column| column.name == "revision");
        assert_eq!(grown, revision, "{}", record.table());
        for (at, column) in columns.iter().enumerate() {
            let before = &columns[..at];
            assert!(before.iter().all(|other| other.name != column.name));
        }
    }
    for step in (1..).take(steps::STEPS as usize) {
        let mut all = RecordType::ALL.iter().flat_map(|record| record.columns());
        assert!(all.any(|column| column.since == step), "step {step}");
    }
}

#[test]
fn files_and_steps_keep_the_order_in_which_they_were_released() {
    let steps = ["step 1", "step 2"].map(str::to_owned);
    let files = [(0, "a"), (0, "b"), (1, "c")];
    assert_eq!(
        in_order(&files, steps.into_iter()),
        ["a", "b", "step 1", "c", "step 2"]
    );
    assert_eq!(
        crate::sqlite::migrations().count(),
        crate::sqlite::VERSION as usize
    );
}
