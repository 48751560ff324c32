//! A record on several servers: sharded, with a replica that lags, and with a schema that is applied to the existing
//! layout.

use parity_schemas::clickhouse::{Layout, VERSION, migrations, version_table};
use parity_schemas::record::Record;
use parity_schemas::report::Report;
use parity_schemas::tally::Tally;
use parity_schemas::time::Timestamp;
use parity_sink::write::Retention;
use parity_sink::{Reader, Selection, StoreConfig, StoreError, StoreUrl, apply_schema};

use crate::servers::{CLUSTER, ClickHouse, name};
use crate::support::{fill, group_tally, mismatch, tally, with_tables};

/// Servers of a cluster, whose database has the tables of a cluster without replication.
struct Servers {
    servers: Vec<ClickHouse>,
    database: String,
}

impl Servers {
    fn with_tables(shards: &[usize]) -> Self {
        let servers = Self {
            servers: ClickHouse::cluster(shards),
            database: name("spread"),
        };
        let layout = Layout::Cluster(CLUSTER.to_owned());
        let later = migrations(&layout)
            .into_iter()
            .flat_map(|migration| migration.statements);
        for number in 0..servers.servers.len() {
            let made = servers.servers[number]
                .ask("default", &format!("CREATE DATABASE {}", servers.database));
            assert!(made.is_ok(), "{made:?}");
            for statement in version_table(&layout).into_iter().chain(later.clone()) {
                servers.sql(number, &alone(&statement));
            }
            servers.sql(
                number,
                &format!("INSERT INTO parity_schema_local (version) SELECT number + 1 FROM numbers({VERSION})"),
            );
        }
        servers
    }

    fn sql(&self, number: usize, sql: &str) -> String {
        self.servers[number]
            .ask(&self.database, sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn store(&self, number: usize) -> StoreConfig {
        let url = self.servers[number].named(&self.database).url();
        StoreConfig::from(url.parse::<StoreUrl>().expect("a URL"))
    }

    fn report(&self, number: usize) -> Report {
        Reader::open(&self.store(number))
            .expect("it opens")
            .report(&Selection::default())
            .expect("it is read")
    }
}

/// A statement of a cluster for a server that has no keeper.
fn alone(statement: &str) -> String {
    let statement = statement.replace(&format!(" ON CLUSTER '{CLUSTER}'"), "");
    let Some((head, engine)) = statement.split_once("ReplicatedReplacingMergeTree(") else {
        return statement;
    };
    let (_, version) = engine.split_once("'{replica}'").expect("its replica");
    format!(
        "{head}ReplacingMergeTree({}",
        version.trim_start_matches(", ")
    )
}

/// A tally in which `mismatches` requests differ, all in one group.
fn differing(tally: &Tally, revision: u32, mismatches: u64) -> Vec<Record> {
    let mut tally = tally.clone();
    tally.revision = revision;
    tally.counts.received = mismatches;
    tally.counts.matched = 0;
    tally.counts.mismatch = mismatches;
    let example = mismatch("f00d", tally.interval_start, 10);
    let group = group_tally(&tally, "f00d", mismatches, example.id);
    vec![
        Record::Tally(Box::new(tally)),
        Record::GroupTally(Box::new(group)),
        Record::Mismatch(Box::new(example)),
    ]
}

fn counts(report: &Report) -> (u64, u64, u64) {
    let groups = report.groups.iter().map(|group| group.count).sum();
    (report.counts.received, report.counts.mismatch, groups)
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_report_is_of_one_replica_and_of_the_one_that_is_written_to() {
    const REPORTS: usize = 10;
    let mut cluster = Servers::with_tables(&[2]);
    let counted = tally("GET /users/{id}", Timestamp::now(), 0);
    fill(&cluster.store(1), &differing(&counted, 1, 100));
    // The second replica gets nothing after this.
    for table in ["tallies", "group_tallies", "mismatches"] {
        let first = cluster.servers[0].native();
        let rows = format!("remote('{first}', '{}', '{table}_local')", cluster.database);
        cluster.sql(
            1,
            &format!("INSERT INTO {table}_local SELECT * FROM {rows}"),
        );
    }
    // Inserts through either server go to the same replica.
    fill(&cluster.store(1), &differing(&counted, 2, 200));
    for number in [0, 1] {
        for _ in 0..REPORTS {
            assert_eq!(counts(&cluster.report(number)), (200, 200, 200));
        }
        let evidence = Reader::open(&cluster.store(number))
            .expect("it opens")
            .evidence(&Selection::default())
            .expect("it is read")
            .expect("there is some");
        assert_eq!(evidence.total().received, 200);
    }
    cluster.servers[0].kill();
    for _ in 0..REPORTS {
        assert_eq!(counts(&cluster.report(1)), (100, 100, 100));
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn rows_of_all_shards_are_in_a_report_and_each_server_tells_the_same() {
    let cluster = Servers::with_tables(&[1, 1]);
    let start = Timestamp::now();
    let records: Vec<Record> = (0..20)
        .flat_map(|_| differing(&tally("GET /users/{id}", start, 0), 1, 10))
        .collect();
    fill(&cluster.store(0), &records);
    fill(&cluster.store(1), &records);
    for number in [0, 1] {
        let rows = cluster.sql(number, "SELECT count() > 0 FROM tallies_local");
        assert_eq!(rows.trim(), "1", "every shard has some");
    }
    let report = cluster.report(0);
    assert_eq!(counts(&report), (200, 200, 200));
    assert_eq!(report, cluster.report(1));
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_schema_is_applied_to_the_layout_that_is_there() {
    let cluster = Servers::with_tables(&[1]);
    let apply =
        |store: &StoreConfig, layout: &Layout| apply_schema(store, layout, &Retention::default());
    // These servers have no keeper, so they say what they would have needed one for.
    let error = apply(&cluster.store(0), &Layout::Single).expect_err("no keeper");
    let message = error.to_string();
    assert!(!message.contains("Engine Distributed"), "{message}");
    assert!(
        message.contains("Replicated DDL queries are disabled"),
        "{message}"
    );

    let single = ClickHouse::shared().database();
    let store = with_tables(&single);
    let error = apply(&store, &Layout::Cluster(CLUSTER.to_owned())).expect_err("refused");
    assert!(matches!(error, StoreError::OneServer { .. }), "{error}");
    assert!(error.to_string().contains(CLUSTER), "{error}");
}
