//! A process that remembers what it has read tells the same as one that reads all, whatever changes in between.

use parity_schemas::id::new_id;
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::tally::{SetTally, Tally, set_id};
use parity_schemas::targets::{DistinctTargets, FrequentTargets};
use parity_schemas::time::Timestamp;
use parity_sink::read::history::HistoryFilter;
use parity_sink::read::{AuditFilter, DecisionFilter, TermsFilter};
use parity_sink::{MismatchFilter, Reader, Selection, StoreConfig, StoreError};

use crate::blocks;
use crate::servers::ClickHouse;
use crate::support::{Store, fill, group_tally, mismatch, tally, with_tables};

const MINUTE: i64 = 60_000_000;

/// Rows of one minute: two routes with targets, groups and sets that vary with it.
fn minute(minute: i64) -> Vec<Record> {
    let begin = Timestamp::from_micros(minute * MINUTE);
    let mut records = Vec::new();
    for (place, route) in ["GET /a", "GET /b/{id}"].into_iter().enumerate() {
        let number = minute.unsigned_abs() + place as u64;
        let mut counted = Tally {
            target_key: "key".to_owned(),
            // More than are counted one by one: how they are added up depends on the order.
            frequent_targets: FrequentTargets::from_counts(
                (0..30).map(|at| ((number * 7 + at * at) % 97, at % 5 + 1)),
            ),
            targets: DistinctTargets::default(),
            ..tally(route, begin, 100)
        };
        counted.counts.mismatch = 2;
        counted.counts.classes = [(MismatchClass::Confirmed, 2)].into();
        let name = format!("{:016x}", number % 11);
        let mut group = group_tally(&counted, &name, 2, new_id());
        group.run = counted.run;
        records.push(Record::GroupTally(Box::new(group)));
        records.push(Record::SetTally(Box::new(SetTally {
            tally_id: counted.id,
            revision: 1,
            identity: counted.identity.clone(),
            interval_start: begin,
            run: counted.run,
            route: route.to_owned(),
            set_id: set_id([name.as_str()]),
            fingerprints: vec![name],
            classes: [(MismatchClass::Confirmed, 2)].into(),
            never_asked: 0,
        })));
        records.push(Record::Tally(Box::new(counted)));
    }
    records
}

/// What is asked besides counts, as text.
fn lists(reader: &Reader) -> Result<String, StoreError> {
    let history = HistoryFilter {
        fingerprints: vec!["0000000000000003".to_owned()],
        ..HistoryFilter::default()
    };
    let holding = MismatchFilter {
        fingerprint: Some("0000000000000003".to_owned()),
        ..MismatchFilter::default()
    };
    let mismatches = reader.mismatches(&holding, 10)?;
    let beside = match mismatches.get(1) {
        Some(second) => Some(reader.neighbours(&holding, (second.time, second.id))?),
        None => None,
    };
    Ok(format!(
        "{:?}\n{:?}\n{:?}\n{mismatches:?}\n{beside:?}\n{:?}\n{:?}\n{:?}",
        (reader.known("default")?, reader.newest_migration()?),
        reader.known("other")?,
        reader.history(&history)?,
        reader.terms(&TermsFilter::default())?,
        reader.decisions(&DecisionFilter::default(), 10)?,
        reader.changes(&AuditFilter::default(), 10)?,
    ))
}

/// Both ways of reading, as text; of everything, and since some time.
fn same(store: &StoreConfig, remembering: &StoreConfig, since: &[i64], what: &str) {
    let remembered = Reader::open(remembering).expect("it opens");
    let read = Reader::open(store).expect("it opens");
    let all = std::iter::once(None).chain(since.iter().map(|since| Some(*since)));
    for since in all {
        let selection = Selection {
            since: since.map(|minute| Timestamp::from_micros(minute * MINUTE)),
            with_recent: true,
            ..Selection::default()
        };
        let report = |reader: &Reader| {
            let report = reader.report(&selection).expect("it is read");
            // Latencies, targets and what is not part of the document are in it.
            format!("{report:?}")
        };
        assert_eq!(report(&remembered), report(&read), "{what}, {since:?}");
        let evidence = |reader: &Reader| {
            let evidence = reader.evidence(&selection).expect("it is read");
            format!("{evidence:?}")
        };
        assert_eq!(evidence(&remembered), evidence(&read), "{what}, {since:?}");
    }
    let lists = |reader: &Reader| lists(reader).expect("it is read");
    assert_eq!(lists(&remembered), lists(&read), "{what}");
}

fn sql_columns(store: &Store, table: &str) -> Vec<String> {
    let sql = store.sql();
    let mut names = sql
        .prepare("SELECT name FROM pragma_table_info(?1)")
        .expect("a query of the test's own");
    let names = names.query_map([table], |row| row.get(0));
    let names = names.expect("it is asked").collect::<Result<_, _>>();
    names.expect("names")
}

#[test]
fn what_is_remembered_is_what_the_store_has() {
    let store = Store::new();
    let now = Timestamp::now().as_micros() / MINUTE;
    let first = now - 90;
    store.fill((first..now - 30).flat_map(minute));
    let remembering = store.url.clone().remembering();
    let since = [first + 7, now - 45, now + 10];
    let same = |what: &str| same(&store.url, &remembering, &since, what);
    same("the first time");
    same("nothing changed");
    store.fill((now - 30..now).flat_map(minute));
    same("more was counted");
    store.fill(minute(now - 80));
    same("late rows");
    store.fill(minute(first - 3));
    same("rows before all others");
    let sql = |sql: &str| {
        let changed = store.sql().execute(sql, ()).expect("it is done");
        assert!(changed > 0, "{sql}");
    };
    sql(
        "UPDATE tallies SET received = received + 1, revision = revision + 1 WHERE id = (SELECT min(id) FROM tallies)",
    );
    same("a row that grew");
    sql("UPDATE group_tallies SET count = count + 1 WHERE fingerprint = '0000000000000003'");
    same("a group that grew");
    sql("UPDATE set_tallies SET never_asked = 1 WHERE fingerprints LIKE '%4\"%'");
    same("a set that changed");
    sql(
        "UPDATE tallies SET interval_start = interval_start + 1200000000 WHERE route = 'GET /a' AND rowid % 9 = 0",
    );
    same("rows of another time");
    // Case 1: SQLite runs no trigger for the row that is replaced. A minute keeps one tally: groups and sets without any are read or not.
    for (table, columns, rest) in [
        ("tallies", "interval_start", 3),
        ("group_tallies", "interval_start", 3),
        ("set_tallies", "interval_start", 3),
        ("tallies", "candidate_version", 5),
    ] {
        let names = sql_columns(&store, table);
        let moved = match columns {
            "candidate_version" => "'of another'",
            _ => "interval_start + 1200000000",
        };
        let values = names
            .iter()
            .map(|name| if name == columns { moved } else { name });
        let values: Vec<&str> = values.collect();
        sql(&format!(
            "INSERT OR REPLACE INTO {table} SELECT {} FROM {table} WHERE route = 'GET /b/{{id}}' AND interval_start / 60000000 % 7 = {rest} \
             AND interval_start IN (SELECT interval_start FROM tallies WHERE route = 'GET /a')",
            values.join(", ")
        ));
        same("rows that were replaced");
    }
    // Case 2: a row gets the key or the row id of another one, which is gone without a trigger.
    let later = |table: &str, column: &str, same: &str| {
        format!(
            "SELECT o.{column} FROM {table} AS o WHERE o.{same} = t.{same} \
             AND o.interval_start > t.interval_start + 1200000000 \
             AND o.interval_start IN (SELECT interval_start FROM tallies WHERE route = 'GET /a') \
             ORDER BY o.interval_start LIMIT 1"
        )
    };
    for (table, key, like) in [
        ("tallies", "id", "route"),
        ("group_tallies", "tally_id", "fingerprint"),
        ("set_tallies", "tally_id", "set_id"),
    ] {
        let other = later(table, key, like);
        sql(&format!(
            "UPDATE OR REPLACE {table} AS t SET {key} = ({other}) \
             WHERE route = 'GET /b/{{id}}' AND interval_start / 60000000 % 11 = 4 AND EXISTS ({other}) \
             AND interval_start IN (SELECT interval_start FROM tallies WHERE route = 'GET /a')"
        ));
        same("rows with the key of another one");
    }
    let names = sql_columns(&store, "tallies").join(", ");
    let values = names.replacen("id", "substr(id, 1, 24) || 'aaaaaaaaaaaa'", 1);
    let other = later("tallies", "rowid", "route");
    sql(&format!(
        "INSERT OR REPLACE INTO tallies (rowid, {names}) SELECT ({other}), {values} FROM tallies AS t \
         WHERE route = 'GET /b/{{id}}' AND interval_start / 60000000 % 11 = 5 AND EXISTS ({other})"
    ));
    same("a row in the place of another one");
    let old = (now - 60) * MINUTE;
    for table in ["group_tallies", "set_tallies", "tallies"] {
        sql(&format!("DELETE FROM {table} WHERE interval_start < {old}"));
    }
    same("rows that are gone");
    store.fill(minute(-1));
    store.fill(minute(now + 100_000));
    same("clocks that are wrong");
    sql("UPDATE tallies SET rules_hash = 'other' WHERE route = 'GET /a'");
    same("another identity");
}

#[test]
fn another_file_in_its_place_is_another_store() {
    let (one, other) = (Store::new(), Store::new());
    let now = Timestamp::now().as_micros() / MINUTE;
    one.fill((now - 40..now).flat_map(minute));
    other.fill(
        (now - 40..now)
            .flat_map(minute)
            .filter(|record| match record {
                Record::Tally(tally) => tally.route == "GET /a",
                _ => true,
            }),
    );
    let remembering = one.url.clone().remembering();
    same(&one.url, &remembering, &[], "the first");
    let before = one.received();
    // A backup that is put back in its place.
    for suffix in ["-wal", "-shm"] {
        let mut log = one.path.clone().into_os_string();
        log.push(suffix);
        let _absent = std::fs::remove_file(log);
    }
    other
        .sql()
        .execute(
            "VACUUM INTO ?1",
            [one.path.with_extension("new").display().to_string()],
        )
        .expect("it is copied");
    std::fs::rename(one.path.with_extension("new"), &one.path).expect("it is put in its place");
    same(&one.url, &remembering, &[], "the other");
    assert!(one.received() < before);
}

#[test]
fn a_table_that_was_dropped_is_not_remembered() {
    let store = Store::new();
    let now = Timestamp::now().as_micros() / MINUTE;
    store.fill((now - 40..now).flat_map(minute));
    let remembering = store.url.clone().remembering();
    same(&store.url, &remembering, &[], "all");
    store
        .sql()
        .execute_batch("DROP TABLE group_tallies; DROP TABLE slot_marks")
        .expect("they are dropped");
    // A writer makes them again.
    store.fill(minute(now));
    same(&store.url, &remembering, &[], "without groups");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn what_is_remembered_of_clickhouse_is_what_it_has() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let now = Timestamp::now().as_micros() / MINUTE;
    let first = now - 90;
    let rows = |minutes: std::ops::Range<i64>| minutes.flat_map(blocks::minute).collect::<Vec<_>>();
    fill(&store, &rows(first..now - 30));
    let remembering = store.clone().remembering();
    let since = [first + 7, now - 45, now + 10];
    let same = |what: &str| same(&store, &remembering, &since, what);
    same("the first time");
    same("nothing changed");
    let more = rows(now - 30..now);
    fill(&store, &more);
    same("more was counted");
    fill(&store, &rows(now - 80..now - 79));
    same("late rows");
    fill(&store, &rows(first - 3..first - 2));
    same("rows before all others");
    let grown: Vec<Record> = more
        .into_iter()
        .filter_map(|record| match record {
            Record::Tally(mut tally) => {
                tally.revision += 1;
                tally.counts.received += 5;
                Some(Record::Tally(tally))
            }
            Record::GroupTally(mut group) => {
                group.revision += 7;
                group.count += 1;
                Some(Record::GroupTally(group))
            }
            _ => None,
        })
        .collect();
    fill(&store, &grown);
    same("rows that grew");
    database.sql("OPTIMIZE TABLE tallies FINAL");
    same("parts that were merged");
    database.sql(
        "ALTER TABLE tallies UPDATE received = received + 1 WHERE route = 'GET /a' SETTINGS mutations_sync = 2",
    );
    same("rows that a person changed");
    for table in ["group_tallies", "set_tallies", "tallies"] {
        database.sql(&format!(
            "ALTER TABLE {table} DELETE WHERE interval_start < fromUnixTimestamp64Micro(toInt64({})) SETTINGS mutations_sync = 2",
            (now - 60) * MINUTE
        ));
        same("rows that are gone");
    }
    database.sql(
        "ALTER TABLE tallies UPDATE not_compared = map('candidate_timeout', toUInt64(received)) WHERE true \
         SETTINGS mutations_sync = 2",
    );
    same("outcomes that a person changed");
    // Case 2: columns that are no counts.
    for (table, set) in [
        ("tallies", "legacy_answers = map('5xx', received)"),
        (
            "tallies",
            "candidate_head_latency = mapApply((bucket, count) -> (toUInt16(bucket + 300), count), candidate_head_latency)",
        ),
        ("tallies", "rule_hits = map('other', toUInt64(3))"),
        ("group_tallies", "pattern = '/other'"),
        (
            "group_tallies",
            "first_seen = first_seen - toIntervalSecond(7)",
        ),
        (
            "set_tallies",
            "fingerprints = ['0000000000000001', '0000000000000002']",
        ),
    ] {
        for _once_more in 0..2 {
            database.sql(&format!(
                "ALTER TABLE {table} UPDATE {set} WHERE route = 'GET /a' SETTINGS mutations_sync = 2"
            ));
            same(set);
        }
    }
    // Case 1: parts of the same names, rows and times, as after a server that was started again on emptied tables.
    let minutes = now - 20..now - 10;
    let refill = |more: u64| {
        for table in ["group_tallies", "set_tallies", "tallies"] {
            database.sql(&format!("TRUNCATE TABLE {table}"));
            database.sql(&format!("DETACH TABLE {table}"));
            database.sql(&format!("ATTACH TABLE {table}"));
        }
        let mut rows = rows(minutes.clone());
        for record in &mut rows {
            if let Record::Tally(tally) = record {
                tally.counts.mismatch += more;
                tally.counts.matched -= more;
            }
        }
        fill(&store, &rows);
    };
    refill(0);
    same("filled anew");
    refill(5);
    same("filled anew with other counts");
}

/// The mismatches of a group, the newest last.
fn mismatches(minutes: std::ops::Range<i64>) -> Vec<Record> {
    let each = minutes.map(|minute| {
        let time = Timestamp::from_micros(minute * MINUTE);
        Record::Mismatch(Box::new(mismatch("0000000000000003", time, 100)))
    });
    each.collect()
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn rows_that_are_kept_of_clickhouse_are_those_that_it_has() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let remembering = store.clone().remembering();
    let same = |what: &str| same(&store, &remembering, &[], what);
    let now = Timestamp::now().as_micros() / MINUTE;
    same("nothing is there");
    fill(&store, &blocks::minute(now - 30));
    same("counts");
    fill(&store, &mismatches(now - 30..now - 20));
    same("mismatches");
    same("nothing changed");
    fill(&store, &mismatches(now - 20..now - 18));
    same("newer ones");
    fill(&store, &mismatches(now - 40..now - 39));
    same("older ones");
    let lists_of = |store: &StoreConfig| lists(&Reader::open(store)?);
    let before = lists_of(&remembering).expect("it is read");
    database.sql(
        "ALTER TABLE mismatches UPDATE path = '/other' WHERE true SETTINGS mutations_sync = 2",
    );
    same("rows that a person changed");
    assert_ne!(lists_of(&remembering).expect("it is read"), before);
    database.sql(&format!(
        "ALTER TABLE mismatches DELETE WHERE time >= fromUnixTimestamp64Micro(toInt64({})) SETTINGS mutations_sync = 2",
        (now - 25) * MINUTE
    ));
    same("rows that are gone");
    let of_another = blocks::minute(now - 10).into_iter().filter_map(|record| {
        let Record::Tally(mut tally) = record else {
            return None;
        };
        tally.identity.candidate_version = "of another".to_owned();
        Some(Record::Tally(tally))
    });
    fill(&store, &of_another.collect::<Vec<_>>());
    same("another version");
    for table in ["mismatches", "tallies", "terms", "decisions"] {
        database.sql(&format!("TRUNCATE TABLE {table}"));
        same("an empty table");
    }
    // A table that is another one, with the same rows and none of its own.
    database.sql("CREATE TABLE others AS mismatches");
    fill(&store, &mismatches(now - 5..now));
    same("some in the first");
    database.sql("EXCHANGE TABLES others AND mismatches");
    same("the other one, which is empty");
    // A reader that is kept longer than a page takes sees what has come since.
    let kept = Reader::open(&remembering).expect("it opens");
    let seen = lists(&kept).expect("it is read");
    fill(&store, &mismatches(now - 2..now));
    crate::support::wait_until("what has come since", || {
        lists(&kept).expect("it is read") != seen
    });
    database.sql("DROP TABLE terms");
    let fault = |store: &StoreConfig| lists_of(store).expect_err("a table is missing").to_string();
    assert_eq!(fault(&remembering), fault(&store));
}
