//! Records a second from Kafka into ClickHouse: `parity sink` beside ClickHouse's own Kafka engine.
//!
//! `benches/sink/run` builds the program and runs this. Both read the same topic into a table with the same DDL on the
//! same servers, in turn, and the medians are printed as a table. The rate is taken between the tenth and the last part
//! of the rows, so that joining a consumer group does not count; CPU is read when all merges have ended.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use parity_schemas::clickhouse::{Layout, migrations, version_table};
use parity_schemas::id::new_id;
use parity_schemas::record::{
    Mismatch, RecordedFinding, RecordedMessage, Sample, TYPE_HEADER, VERSION_HEADER,
};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Part};

#[path = "../../tests/support/servers/mod.rs"]
mod servers;

use servers::{ClickHouse, Kafka, Raw};

const PARTITIONS: i32 = 4;
/// Between two looks at a table.
const LOOK: Duration = Duration::from_millis(50);
/// A run that takes longer has failed.
const LIMIT: Duration = Duration::from_mins(15);
/// Clock ticks a second of /proc/PID/stat, the same on every Linux that this runs on.
const TICKS: f64 = 100.0;

/// The best of several settings that were tried: as many consumers as partitions, each with its own thread, and blocks
/// as large as a batch of ours.
const ENGINE: &str = "kafka_format = 'JSONEachRow', kafka_num_consumers = 4, kafka_thread_per_consumer = 1, \
     kafka_max_block_size = 100000, kafka_poll_max_batch_size = 100000, kafka_flush_interval_ms = 1000, \
     date_time_input_format = 'best_effort'";

const COLUMNS: &str = "id UUID, migration String, legacy_version String, candidate_version String, rules_hash String, \
     time DateTime64(6, 'UTC'), instance String, route String, method String, path String, query String, \
     fingerprints Array(String), findings Array(Tuple(fingerprint String, part String, path String, \
     candidate_path Nullable(String), pattern String, kind String, legacy Nullable(String), candidate Nullable(String), \
     explanation String, text_diff Nullable(String))), findings_cut Bool, tolerated Array(Tuple(part String, path String, \
     why String)), legacy_status UInt16, candidate_status UInt16, legacy_us UInt64, candidate_us UInt64, trace_id String, \
     class String, sample String";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments
        .next()
        .ok_or("usage: sink_speed PROGRAM [SLIM [FULL [ROUNDS]]]")?;
    let mut number = |default: usize| -> Result<usize, Box<dyn Error>> {
        Ok(match arguments.next() {
            Some(text) => text.parse()?,
            None => default,
        })
    };
    let (slim, full, rounds) = (number(1_000_000)?, number(100_000)?, number(3)?);
    let (kafka, server) = (Kafka::own(), ClickHouse::own());
    let mut out = std::io::stdout();
    for (name, count, sampled) in [("slim", slim, false), ("with sample", full, true)] {
        if count == 0 {
            continue;
        }
        let topic = format!("speed-{}", usize::from(sampled));
        kafka.make_topic(&topic, PARTITIONS, &[]);
        let bytes = load(&kafka, &topic, count, sampled);
        writeln!(out, "{count} records {name}, {} bytes each", bytes / count)?;
        let (mut engine, mut ours) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let database = format!("speed_{}_{round}", usize::from(sampled));
            engine.push(run_engine(
                &kafka,
                &server,
                &topic,
                &format!("{database}_engine"),
                count,
            )?);
            ours.push(run_sink(
                &program,
                &kafka,
                &server,
                &topic,
                &format!("{database}_sink"),
                count,
            )?);
        }
        let (engine, ours) = (median(&engine), median(&ours));
        for (name, run) in [("Kafka engine", &engine), ("parity sink", &ours)] {
            writeln!(
                out,
                "{name:>14} {:>9.0} records/s   CPU s per million: server {:>6.1}, client {:>5.1}, together {:>6.1}   \
                 {:>5.0} bytes a row   RSS {:>4.0} MiB",
                run.rate,
                run.server * 1e6 / count as f64,
                run.client * 1e6 / count as f64,
                (run.server + run.client) * 1e6 / count as f64,
                run.stored / count as f64,
                run.rss / f64::from(1 << 20),
            )?;
        }
        writeln!(
            out,
            "{:>14} {:.2} x the rate, {:.2} x the CPU",
            "ratio",
            ours.rate / engine.rate,
            (ours.server + ours.client) / engine.server
        )?;
    }
    Ok(())
}

/// What one run took.
#[derive(Clone, Copy)]
struct Run {
    rate: f64,
    server: f64,
    client: f64,
    stored: f64,
    rss: f64,
}

fn median(runs: &[Run]) -> Run {
    let middle = |of: fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Run {
        rate: middle(|run| run.rate),
        server: middle(|run| run.server),
        client: middle(|run| run.client),
        stored: middle(|run| run.stored),
        rss: middle(|run| run.rss),
    }
}

fn sql(server: &ClickHouse, database: &str, text: &str) -> String {
    server
        .ask(database, text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .trim()
        .to_owned()
}

fn tables(server: &ClickHouse, database: &str) {
    sql(server, "default", &format!("CREATE DATABASE {database}"));
    let all = migrations(&Layout::Single);
    let statements = all.iter().flat_map(|migration| &migration.statements);
    for statement in version_table(&Layout::Single).iter().chain(statements) {
        sql(server, database, statement);
    }
    sql(
        server,
        database,
        &parity_schemas::clickhouse::record_version(parity_schemas::clickhouse::VERSION, "speed"),
    );
}

fn run_engine(
    kafka: &Kafka,
    server: &ClickHouse,
    topic: &str,
    database: &str,
    count: usize,
) -> Result<Run, Box<dyn Error>> {
    tables(server, database);
    sql(
        server,
        database,
        &format!(
            "CREATE TABLE queue ({COLUMNS}) ENGINE = Kafka SETTINGS kafka_broker_list = '{}', \
             kafka_topic_list = '{topic}', kafka_group_name = '{database}', {ENGINE}",
            kafka.address
        ),
    );
    let before = cpu(server.process_id());
    sql(
        server,
        database,
        "CREATE MATERIALIZED VIEW feed TO mismatches AS SELECT * FROM queue",
    );
    let rate = rate(server, database, count, || {})?;
    sql(server, database, "DROP TABLE feed");
    sql(server, database, "DROP TABLE queue");
    Ok(Run {
        rate,
        server: settle(server, database) - before,
        client: 0.0,
        stored: stored(server, database),
        rss: 0.0,
    })
}

fn run_sink(
    program: &str,
    kafka: &Kafka,
    server: &ClickHouse,
    topic: &str,
    database: &str,
    count: usize,
) -> Result<Run, Box<dyn Error>> {
    tables(server, database);
    let before = cpu(server.process_id());
    let mut sink = Sink(
        Command::new(program)
            .args(["sink", "--admin", "127.0.0.1:0", "--group", database])
            .args(["--kafka", &kafka.url(topic)])
            .args([
                "--clickhouse",
                &format!("clickhouse://{}/{database}", server.address),
            ])
            .stderr(Stdio::null())
            .spawn()?,
    );
    let rate = rate(server, database, count, || {
        assert!(
            sink.0.try_wait().is_ok_and(|ended| ended.is_none()),
            "the sink ended"
        );
    })?;
    let client = cpu(sink.0.id());
    let rss = peak(sink.0.id());
    drop(sink);
    Ok(Run {
        rate,
        server: settle(server, database) - before,
        client,
        stored: stored(server, database),
        rss,
    })
}

/// Ended with the run, whatever happens.
struct Sink(Child);

impl Drop for Sink {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Rows a second between a tenth of them and all.
fn rate(
    server: &ClickHouse,
    database: &str,
    count: usize,
    mut check: impl FnMut(),
) -> Result<f64, Box<dyn Error>> {
    let began = Instant::now();
    let mut first: Option<(Instant, usize)> = None;
    loop {
        check();
        let rows: usize = sql(server, database, "SELECT count() FROM mismatches").parse()?;
        let now = Instant::now();
        if first.is_none() && rows >= count / 10 {
            first = Some((now, rows));
        }
        if rows >= count {
            let (at, seen) = first.ok_or("too few rows")?;
            return Ok((rows - seen) as f64 / now.duration_since(at).as_secs_f64());
        }
        if began.elapsed() > LIMIT {
            return Err(format!("{rows} of {count} rows after {LIMIT:?}").into());
        }
        std::thread::sleep(LOOK);
    }
}

/// CPU seconds of the server once nothing is merged any more.
fn settle(server: &ClickHouse, database: &str) -> f64 {
    let began = Instant::now();
    while sql(server, database, "SELECT count() FROM system.merges") != "0" {
        assert!(began.elapsed() < LIMIT, "merges do not end");
        std::thread::sleep(LOOK);
    }
    cpu(server.process_id())
}

fn stored(server: &ClickHouse, database: &str) -> f64 {
    sql(
        server,
        database,
        "SELECT sum(data_compressed_bytes) FROM system.parts WHERE active AND database = currentDatabase() AND table = 'mismatches'",
    )
    .parse()
    .unwrap_or(0.0)
}

/// utime + stime in seconds.
fn cpu(process: u32) -> f64 {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat"))
        .unwrap_or_default();
    // The name may hold blanks; behind its bracket the fields are numbered from 3.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = rest
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    ticks / TICKS
}

fn peak(process: u32) -> f64 {
    let status =
        std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"))
            .unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok())
        .map_or(0.0, |kib| kib * 1024.0)
}

/// Fills a topic; how many bytes it took.
fn load(kafka: &Kafka, topic: &str, count: usize, sampled: bool) -> usize {
    let started = Timestamp::now().saturating_add_micros(-3_600_000_000);
    let (mut bytes, mut done) = (0, 0);
    while done < count {
        let chunk: Vec<(String, Vec<u8>)> = (done..count.min(done + 20_000))
            .map(|number| {
                let record = mismatch(number, started, sampled);
                let json = serde_json::to_vec(&record).unwrap_or_default();
                bytes += json.len();
                (record.id.to_string(), json)
            })
            .collect();
        done += chunk.len();
        kafka.produce(
            topic,
            chunk.iter().map(|(key, json)| Raw {
                key,
                payload: json,
                headers: &[(TYPE_HEADER, "mismatch"), (VERSION_HEADER, "1")],
                partition: None,
            }),
        );
    }
    bytes
}

/// A record as a mirror of a payments service would write it: a thousand groups, sixty routes, no two paths alike.
fn mismatch(number: usize, started: Timestamp, sampled: bool) -> Mismatch {
    let mut hash = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995;
    hash ^= hash >> 29;
    let fingerprint = format!(
        "{:016x}",
        (hash % 1_000).wrapping_mul(0x0123_4567_89ab_cdef)
    );
    let field = ["balance", "price", "updated_at", "status", "currency"][number % 5];
    let cents = hash % 1_000_000;
    let message = |shift: u64| {
        let mut body = String::from("{\"items\":[");
        for item in 0..20_u64 {
            let _infallible = write!(
                body,
                "{}{{\"id\":\"ord-{}\",\"amount\":\"{}.{:02}\",\"tags\":[\"card\",\"eu\"],\"at\":\"2026-11-{:02}T09:{:02}:12Z\"}}",
                if item == 0 { "" } else { "," },
                hash.wrapping_add(item * 7_919) % 100_000,
                (cents + item * shift) % 5_000,
                (cents + item) % 100,
                1 + (hash >> 7) % 28,
                (hash >> 13).wrapping_add(item) % 60,
            );
        }
        body.push_str("]}");
        RecordedMessage {
            headers: vec![
                ("content-type".to_owned(), "application/json".to_owned()),
                ("content-length".to_owned(), body.len().to_string()),
            ],
            body_bytes: body.len() as u64,
            body,
            body_cut: false,
        }
    };
    Mismatch {
        id: new_id(),
        identity: Identity {
            migration: "payments-rust".to_owned(),
            legacy_version: "go-4.2.1".to_owned(),
            candidate_version: "rust-0.9.0".to_owned(),
            rules_hash: "67abdd721024f0ff4e0b3f4c2fc13bc5".to_owned(),
        },
        time: started.saturating_add_micros(i64::try_from(number).unwrap_or(0) * 1_000),
        instance: format!("mirror-{}", number % 8),
        route: format!("GET /accounts/{{id}}/view-{}", number % 60),
        method: "GET".to_owned(),
        path: format!("/accounts/acc-{hash:x}/view-{}", number % 60),
        query: format!("page={}", number % 20),
        fingerprints: vec![fingerprint.clone()],
        findings: vec![RecordedFinding {
            fingerprint,
            part: Part::Body,
            path: format!("/items/{}/{field}", number % 20),
            candidate_path: None,
            pattern: format!("/items/*/{field}"),
            kind: Kind::Value,
            legacy: Some(format!("\"{}.{:02}\"", cents / 100, cents % 100)),
            candidate: Some(format!("\"{}.{:02}\"", cents / 100, (cents + 1) % 100)),
            explanation: None,
            text_diff: None,
        }],
        legacy_status: 200,
        candidate_status: 200,
        legacy_us: 800 + hash % 2_000,
        candidate_us: 600 + (hash >> 11) % 2_000,
        trace_id: format!("{hash:016x}{:016x}", hash.rotate_left(17)),
        sample: sampled.then(|| Sample {
            request: RecordedMessage {
                headers: vec![("accept".to_owned(), "application/json".to_owned())],
                body: String::new(),
                body_bytes: 0,
                body_cut: false,
            },
            legacy: message(3),
            candidate: message(4),
        }),
        ..Mismatch::default()
    }
}
