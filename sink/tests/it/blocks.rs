//! Counts of six hours that the writer adds up: reading them is reading the rows, whatever happened to these.

use std::collections::BTreeMap;

use parity_schemas::histogram::bucket;
use parity_schemas::id::new_id;
use parity_schemas::recheck::RecheckEvidence;
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::tally::{SetTally, Tally, set_id};
use parity_schemas::targets::FrequentTargets;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;
use parity_sink::write::Retention;
use parity_sink::{Reader, Selection, WriterOptions};
use rusqlite::Connection;
use uuid::Uuid;

use crate::retention::used_bytes;
use crate::support::{Store, book, group_tally, mismatch, number, tally, wait_until};

const MINUTE: i64 = 60_000_000;
const BLOCK: i64 = 360;

/// Rows of one minute, of two runs in turns: two routes, three groups, one of which has no set.
pub(crate) fn minute(minute: i64) -> Vec<Record> {
    let begin = Timestamp::from_micros(minute * MINUTE);
    let number = minute.unsigned_abs();
    let mut records = Vec::new();
    for (place, route) in ["GET /a", "GET /b/{id}"].into_iter().enumerate() {
        let number = number + place as u64;
        let mut counted = Tally {
            run: Uuid::from_u128(u128::from(number % 2) + 7),
            revision: u32::try_from(number % 5).expect("small") + 1,
            target_key: "key".to_owned(),
            // So few that none of them loses its counter, and the order does not matter.
            frequent_targets: FrequentTargets::from_counts((0..5).map(|at| (at * number % 3, 2))),
            attributes: [(format!("client=c{}", number % 3), 4)].into(),
            rule_hits: [("updated-at".to_owned(), number % 7)].into(),
            ..tally(route, begin, 100)
        };
        for step in 0..9 {
            counted
                .legacy_latency
                .add(bucket(1_000 + step * number % 900), 1);
            counted
                .candidate_head_latency
                .add(bucket(700 + step * number % 500), 1);
        }
        counted.counts.mismatch = 3;
        counted.counts.received += 3;
        // Some are of a program that knew no classes.
        if !number.is_multiple_of(4) {
            counted.counts.classes = [(MismatchClass::Confirmed, 2)].into();
        }
        let name = format!("{:016x}", number % 3);
        let mut group = group_tally(&counted, &name, 2, new_id());
        group.run = counted.run;
        group.classes = [(MismatchClass::Confirmed, 1)].into();
        group.evidence = [
            (RecheckEvidence::Targets, 1),
            (RecheckEvidence::Above, number % 2),
        ]
        .into();
        group.attributes.clone_from(&counted.attributes);
        records.push(Record::GroupTally(Box::new(group)));
        if !number.is_multiple_of(3) {
            records.push(Record::SetTally(Box::new(SetTally {
                tally_id: counted.id,
                revision: 1,
                identity: counted.identity.clone(),
                interval_start: begin,
                run: counted.run,
                route: route.to_owned(),
                set_id: set_id([name.as_str()]),
                fingerprints: vec![name],
                // As its only group.
                classes: [
                    (MismatchClass::Confirmed, 1),
                    (MismatchClass::Unconfirmed, 1),
                ]
                .into(),
                never_asked: number % 2,
            })));
        }
        records.push(Record::Tally(Box::new(counted)));
    }
    records
}

/// The watermarks of both runs of these minutes, which say all that is counted of them.
pub(crate) fn watermarks(minutes: impl Iterator<Item = i64>, now: i64) -> Vec<Record> {
    let mut runs: BTreeMap<Uuid, Watermark> = BTreeMap::new();
    let of = |runs: &mut BTreeMap<Uuid, Watermark>, run: Uuid, count: &dyn Fn(&mut Watermark)| {
        count(runs.entry(run).or_insert_with(|| Watermark {
            id: run,
            revision: 10,
            identity: crate::support::identity(),
            instance: "there".to_owned(),
            started: Timestamp::from_micros(first() * MINUTE),
            written: Timestamp::from_micros(now * MINUTE),
            complete_until: Timestamp::from_micros(now * MINUTE),
            counted_from: Timestamp::from_micros(first() * MINUTE),
            open_from: Timestamp::from_micros(now * MINUTE),
            // At work: rows may still come.
            ended: false,
            ..Watermark::default()
        }));
    };
    for record in minutes.flat_map(minute) {
        match record {
            Record::Tally(tally) => of(&mut runs, tally.run, &|run| {
                run.tallies += 1;
                run.received += tally.counts.received;
                run.settled += tally.counts.settled();
            }),
            Record::GroupTally(group) => {
                of(&mut runs, group.run, &|run| run.in_groups += group.count);
            }
            Record::SetTally(set) => of(&mut runs, set.run, &|run| {
                run.in_sets += set.classes.values().sum::<u64>();
            }),
            _ => {}
        }
    }
    let watermarks = runs.into_values();
    watermarks
        .map(|run| Record::Watermark(Box::new(run)))
        .collect()
}

/// Opens the store for writing until this many blocks are as their rows are.
fn condense(store: &Store, blocks: i64) {
    let writer = store.writer(&book("here"), WriterOptions::default());
    let sql = store.sql();
    // What a mark is made of is not known here; but that of a block changes when it is added up anew.
    wait_until("the blocks are added up", || {
        number(&sql, "SELECT count(*) FROM block_sums WHERE mark != 0") == blocks
    });
    let finished = writer.finish(std::time::Duration::from_secs(20));
    assert_eq!(finished.expect("the writer ends").failure, None);
}

/// What the store tells, with its blocks.
fn told(store: &Store) -> Vec<String> {
    let now = Timestamp::now().as_micros() / MINUTE;
    let since = [
        None,
        Some(now - 2 * BLOCK - 17),
        Some(now - BLOCK),
        Some(now - 10),
    ];
    let readers = [
        store.reader(),
        Reader::open(&store.url.clone().remembering()).expect("it opens"),
    ];
    let mut told = Vec::new();
    for since in since {
        for with_latency in [false, true] {
            let selection = Selection {
                since: since.map(|minute| Timestamp::from_micros(minute * MINUTE)),
                with_recent: true,
                with_latency,
                ..Selection::default()
            };
            for reader in &readers {
                told.push(format!(
                    "{:?}",
                    reader.report(&selection).expect("it is read")
                ));
                told.push(format!(
                    "{:?}",
                    reader.evidence(&selection).expect("it is read")
                ));
            }
        }
    }
    told
}

/// Whether what is told does not depend on the blocks.
fn same(store: &Store, what: &str) {
    let with = told(store);
    store
        .sql()
        .execute_batch("CREATE TABLE kept AS SELECT * FROM block_sums; DELETE FROM block_sums")
        .expect("they are put aside");
    let without = told(store);
    store
        .sql()
        .execute_batch("INSERT INTO block_sums SELECT * FROM kept; DROP TABLE kept")
        .expect("they are put back");
    for (with, without) in with.iter().zip(&without) {
        assert_eq!(with, without, "{what}");
    }
}

/// The begin of the third block before the present one.
fn first() -> i64 {
    (Timestamp::now().as_micros() / MINUTE / BLOCK - 3) * BLOCK
}

fn filled() -> Store {
    let store = Store::new();
    let now = Timestamp::now().as_micros() / MINUTE;
    store.fill(minutes(now).flat_map(minute));
    store.fill(watermarks(minutes(now), now));
    store
}

fn minutes(now: i64) -> impl Iterator<Item = i64> {
    (first()..now).step_by(17)
}

/// Which runs lack something that their watermarks say.
fn lacking(store: &Store) -> Vec<bool> {
    let evidence = store.reader().evidence(&Selection::default());
    let evidence = evidence.expect("it is read").expect("there is some");
    let runs = evidence.runs.iter();
    let marked = runs.filter(|run| run.watermark.as_ref().is_some_and(|run| run.tallies > 0));
    marked.map(|run| run.lacks_tallies).collect()
}

/// Blocks that are over, and long enough so that they are added up.
fn over() -> i64 {
    (Timestamp::now().as_micros() / MINUTE - 15) / BLOCK - first() / BLOCK
}

#[test]
fn blocks_are_what_their_rows_are() {
    let store = filled();
    condense(&store, over());
    same(&store, "added up");
    // Case 1: sets of a block belong to their run.
    assert_eq!(lacking(&store), [false, false]);
    let of_first = (first() + 20) * MINUTE;
    for (what, sql) in [
        ("late rows", ""),
        (
            "a row that grew",
            "UPDATE tallies SET received = received + 1, revision = 9 WHERE id = (SELECT min(id) FROM tallies)",
        ),
        (
            "a group that grew",
            "UPDATE group_tallies SET count = count + 1 WHERE fingerprint = '0000000000000002'",
        ),
        (
            "rows that are gone",
            "DELETE FROM set_tallies WHERE interval_start < OF_FIRST",
        ),
        (
            "another identity",
            "UPDATE tallies SET rules_hash = 'other' WHERE route = 'GET /a'",
        ),
    ] {
        if sql.is_empty() {
            store.fill(minute(first() + 3));
        } else {
            let sql = sql.replace("OF_FIRST", &of_first.to_string());
            let changed = store.sql().execute(&sql, ()).expect("it is done");
            assert!(changed > 0, "{sql}");
        }
        same(&store, what);
        // One row less than the watermark says.
        let lacks = what == "rows that are gone" || what == "another identity";
        assert_eq!(lacking(&store).contains(&true), lacks, "{what}");
    }
    // Added up again, of both identities.
    store
        .sql()
        .execute("UPDATE block_sums SET mark = 0", ())
        .expect("they are there");
    condense(&store, 2 * over());
    same(&store, "added up again");
}

#[test]
fn a_block_is_read_instead_of_its_rows_and_one_that_is_damaged_is_not() {
    let store = filled();
    condense(&store, over());
    let received = store.received();
    let sql = |sql: &str| {
        let changed = store.sql().execute(sql, ()).expect("it is done");
        assert!(changed > 0, "{sql}");
    };
    // Rows that change without a mark: only who reads the rows meets them.
    let marked =
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'tallies'";
    let triggers: Vec<(String, String)> = {
        let store = store.sql();
        let mut statement = store.prepare(marked).expect("a statement");
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)));
        rows.expect("triggers")
            .map(|row| row.expect("one"))
            .collect()
    };
    assert!(!triggers.is_empty());
    let batch = |sql: &str| store.sql().execute_batch(sql).expect("it is done");
    for (name, _) in &triggers {
        batch(&format!("DROP TRIGGER {name}"));
    }
    let of_blocks = format!("WHERE interval_start < {}", (first() + BLOCK) * MINUTE);
    sql(&format!(
        "UPDATE tallies SET received = received + 1 {of_blocks}"
    ));
    assert_eq!(store.received(), received);
    sql(&format!(
        "UPDATE tallies SET received = received - 1 {of_blocks}"
    ));
    for (_, trigger) in &triggers {
        batch(trigger);
    }
    // Valid, with the mark of its rows, and not what was kept: the number before is that of the rows.
    let edit = "UPDATE block_sums SET sums = substr(sums, 1, 16) || json_set(substr(sums, 17), '$.tallies[0].received', \
         json_extract(substr(sums, 17), '$.tallies[0].received') + 1)";
    sql(edit);
    assert_eq!(store.received(), received);
    sql("UPDATE block_sums SET sums = '0000000000000000' || substr(sums, 17)");
    assert_eq!(store.received(), received);
    sql("UPDATE block_sums SET sums = substr(sums, 17)");
    assert_eq!(store.received(), received);
    // One in the place of another.
    sql("UPDATE block_sums SET mark = 0");
    condense(&store, over());
    sql(
        "UPDATE block_sums SET sums = (SELECT sums FROM block_sums ORDER BY block LIMIT 1), \
         runs = (SELECT runs FROM block_sums ORDER BY block LIMIT 1)",
    );
    assert_eq!(store.received(), received);
    assert_eq!(lacking(&store), [false, false]);
    sql("UPDATE block_sums SET sums = substr(sums, 1, length(sums) / 2), runs = ']'");
    assert_eq!(store.received(), received);
    sql("UPDATE block_sums SET sums = x'00ff', runs = 7, mark = 'seven'");
    assert_eq!(store.received(), received);
    assert_eq!(lacking(&store), [false, false]);
}

#[test]
fn patterns_that_never_repeat_are_not_kept_and_are_read() {
    let store = Store::new();
    let begins = first() * MINUTE;
    // More groups than are kept, in some tallies, as each has a limit of its own.
    let counted = (0..11).flat_map(|minute| {
        let counted = tally(
            "GET /a",
            Timestamp::from_micros(begins + minute * MINUTE),
            2_000,
        );
        let groups: Vec<Record> = (0..1_000)
            .map(|number| {
                let name = format!("{:016x}", minute * 1_000 + number);
                let mut group = group_tally(&counted, &name, 1, new_id());
                group.run = counted.run;
                Record::GroupTally(Box::new(group))
            })
            .collect();
        std::iter::once(Record::Tally(Box::new(counted))).chain(groups)
    });
    store.fill(counted);
    condense(&store, 1);
    let kept = "SELECT count(*) FROM block_sums WHERE sums = 'null'";
    assert_eq!(number(&store.sql(), kept), 1);
    same(&store, "not kept");
}

#[test]
fn blocks_go_with_their_rows() {
    let store = filled();
    condense(&store, over());
    let retention = Retention {
        tallies: std::time::Duration::from_hours(9),
        ..Retention::default()
    };
    let options = WriterOptions {
        retention,
        ..WriterOptions::default()
    };
    let writer = store.writer(&book("here"), options);
    let sql = store.sql();
    wait_until("old blocks are gone", || {
        number(&sql, "SELECT count(*) FROM block_sums") <= 1
    });
    let finished = writer.finish(std::time::Duration::from_secs(20));
    assert_eq!(finished.expect("the writer ends").failure, None);
    same(&store, "without the old ones");
}

/// The writer of a store that is larger than `retention.size`, until this is so.
fn with_size(store: &Store, max_bytes: u64, what: &str, is_so: impl Fn(&Connection) -> bool) {
    let retention = Retention {
        max_bytes,
        ..Retention::default()
    };
    let options = WriterOptions {
        retention,
        ..WriterOptions::default()
    };
    let writer = store.writer(&book("here"), options);
    let sql = store.sql();
    wait_until(what, || is_so(&sql));
    let finished = writer.finish(std::time::Duration::from_secs(20));
    assert_eq!(finished.expect("the writer ends").failure, None);
}

/// A full store answered its pages in ten times the time, because what makes them fast went first and is small.
#[test]
fn blocks_of_a_full_store_stay_while_there_is_something_else_to_remove() {
    let store = filled();
    condense(&store, over());
    let samples = (0..400).map(|number| {
        let time = Timestamp::now().saturating_add_micros(number - 10_000);
        Record::Mismatch(Box::new(mismatch("f00d", time, 20_000)))
    });
    store.fill(samples);
    let blocks = number(&store.sql(), "SELECT count(*) FROM block_sums");
    assert!(blocks > 0);
    let limit = used_bytes(&store) - (4 << 20);
    with_size(&store, limit as u64, "it is within its size", |_| {
        used_bytes(&store) <= limit
    });
    let sql = store.sql();
    let kept = number(&sql, "SELECT count(sample) FROM mismatches");
    assert!(kept < 400, "{kept}");
    assert_eq!(number(&sql, "SELECT count(*) FROM block_sums"), blocks);
    same(&store, "full");

    // Nothing else is left.
    with_size(&store, 1, "it has no rows and no sums", |sql| {
        number(sql, "SELECT count(*) FROM mismatches") == 0
            && number(sql, "SELECT count(*) FROM block_sums") == 0
    });
    same(&store, "with tallies alone");
}

/// A cache is not kept at the price of evidence.
#[test]
fn blocks_that_are_a_large_part_of_a_full_store_go_first() {
    let store = filled();
    condense(&store, over());
    let sql = store.sql();
    let large = "UPDATE block_sums SET sums = hex(zeroblob(1 << 20))";
    sql.execute(large, ()).expect("larger");
    let mismatches = number(&sql, "SELECT count(*) FROM mismatches");
    with_size(&store, 3 << 20, "they are gone", |sql| {
        number(sql, "SELECT count(*) FROM block_sums") == 0
    });
    assert_eq!(number(&sql, "SELECT count(*) FROM mismatches"), mismatches);
}
