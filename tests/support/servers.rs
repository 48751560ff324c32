//! A real Kafka broker and a real ClickHouse server, started for the tests.
//!
//! `tests/services/fetch` has put the programs into target/services; each test process starts one of each for all of
//! its tests, and a test that wants to stop or kill one starts its own. They end with the test process, however it
//! ends: a shell beside each of them waits for our end of a pipe to close.
//!
//! Tests that use this are `#[ignore]`d with the reason [`NEEDED`], because a plain `cargo test` must work without
//! them; `tests/run` runs them all.

// Two test binaries include this file, and neither uses all of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Header, Headers as _, Message as _, OwnedHeaders, OwnedMessage};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tempfile::TempDir;

/// Far longer than anything here takes, so that a slow machine is no failure.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs a server and ends it when our standard input closes. Says its process id first.
const WATCHED: &str = r#"
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
child=$!
echo "$child"
{ cat >/dev/null; kill -9 "$child" 2>/dev/null; } <&0 &
watch=$!
wait "$child"; code=$?
kill "$watch" 2>/dev/null
exit "$code"
"#;

/// A number that no other test of this process has.
fn unique() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A name that no other test, process or run has.
pub(crate) fn name(prefix: &str) -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("the clock is not before 1970");
    format!(
        "{prefix}_{}_{}_{}",
        now.as_micros(),
        std::process::id(),
        unique()
    )
}

fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A port that nobody listens on, outside of the range from which connections take theirs, so that it is still free
/// when a server is started again.
fn free_port() -> u16 {
    const FIRST: u32 = 15_000;
    const COUNT: u32 = 17_000;
    let seed = std::process::id().wrapping_mul(7_919);
    (0..COUNT)
        .map(|_| FIRST + seed.wrapping_add(unique().wrapping_mul(37)) % COUNT)
        .map(|port| u16::try_from(port).expect("it is below 32,000"))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}

fn services() -> PathBuf {
    if let Some(folder) = std::env::var_os("PARITY_SERVICES_DIR") {
        return folder.into();
    }
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("tests/services/fetch").exists())
        .expect("the workspace")
        .join("target/services")
}

fn program(name: &str) -> PathBuf {
    let path = services().join(name);
    assert!(
        path.exists(),
        "{} is missing: `tests/run` fetches it (tests/services/fetch)",
        path.display()
    );
    path
}

/// A server process.
struct Process {
    shell: Child,
    id: u32,
}

impl Process {
    fn start(log: &Path, command: &[String]) -> Self {
        let mut shell = Command::new("bash")
            .arg("-c")
            .arg(WATCHED)
            .arg("bash")
            .arg(log)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It tells of every process that it sees killed.
            .stderr(Stdio::null())
            .spawn()
            .expect("bash can be started");
        let mut line = String::new();
        BufReader::new(shell.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("the shell says the process id");
        let id = line.trim().parse().expect("a process id");
        Self { shell, id }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.id.to_string())
            .status();
        assert!(sent.expect("kill can be run").success());
    }

    fn end(&mut self, signal: &str) {
        self.signal(signal);
        self.shell.wait().expect("the shell ends with its server");
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.shell.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended() {
            // The pipe closes with it.
            drop(self.shell.stdin.take());
            let _ended = self.shell.wait();
        }
    }
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(20).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// A broker.
pub(crate) struct Kafka {
    /// `host:port`.
    pub(crate) address: String,
    process: Option<Process>,
    folder: Option<TempDir>,
}

impl Kafka {
    /// The one of all tests of this process that do not harm it.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Kafka> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var("PARITY_TEST_KAFKA") {
            Ok(address) => Self {
                address,
                process: None,
                folder: None,
            },
            Err(_) => Self::own(),
        })
    }

    /// One that may be stopped.
    pub(crate) fn own() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the broker");
        let (port, controller) = (free_port(), free_port());
        let address = format!("127.0.0.1:{port}");
        let settings = format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://{address},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://{address}\ncontroller.listener.names=CONTROLLER\n\
             log.dirs={}\noffsets.topic.replication.factor=1\noffsets.topic.num.partitions=4\n\
             transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n\
             transaction.state.log.num.partitions=2\ngroup.initial.rebalance.delay.ms=0\nnum.partitions=3\n",
            folder.path().join("data").display()
        );
        std::fs::write(folder.path().join("server.properties"), settings).expect("writable");
        let run = |main: &str, arguments: &[&str]| {
            let output = Command::new("java")
                .args(java())
                .arg(main)
                .args(arguments)
                .current_dir(folder.path())
                .output()
                .expect("java can be run");
            assert!(
                output.status.success(),
                "{main}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        // Any 16 bytes in URL-safe base64 are an id.
        let id = "cGFyaXR5LXRlc3RzLTAwMQ";
        run(
            "kafka.tools.StorageTool",
            &["format", "-t", id, "-c", "server.properties"],
        );
        let mut kafka = Self {
            address,
            process: None,
            folder: Some(folder),
        };
        kafka.start();
        kafka
    }

    /// Starts it (again) and waits until it serves.
    pub(crate) fn start(&mut self) {
        let folder = self.folder.as_ref().expect("its own").path();
        let log = folder.join("log");
        std::fs::write(&log, "").expect("writable");
        let mut command = vec!["java".to_owned()];
        command.extend(java());
        command.push("kafka.Kafka".to_owned());
        command.push(folder.join("server.properties").display().to_string());
        let mut process = Process::start(&log, &command);
        wait_for("Kafka to serve", || {
            assert!(!process.has_ended(), "Kafka ended:\n{}", tail(&log));
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            said.contains("Kafka Server started").then_some(())
        });
        self.process = Some(process);
        let probe: BaseConsumer = self.config().create().expect("a client");
        wait_for("Kafka to know itself", || {
            let metadata = probe.fetch_metadata(None, Duration::from_secs(1)).ok()?;
            (!metadata.brokers().is_empty()).then_some(())
        });
    }

    /// SIGTERM, and waits for the end.
    pub(crate) fn stop(&mut self) {
        self.process.take().expect("it runs").end("TERM");
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.take().expect("it runs").end("KILL");
    }

    /// `kafka://…/topic`.
    pub(crate) fn url(&self, topic: &str) -> String {
        format!("kafka://{}/{topic}", self.address)
    }

    pub(crate) fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.address);
        config.set("log_level", "2");
        config
    }

    /// Makes a topic of its own name.
    pub(crate) fn topic(&self, partitions: i32) -> String {
        let topic = name("t").replace('_', "-");
        self.make_topic(&topic, partitions, &[]);
        topic
    }

    pub(crate) fn make_topic(&self, topic: &str, partitions: i32, settings: &[(&str, &str)]) {
        let admin: AdminClient<DefaultClientContext> = self.config().create().expect("a client");
        let mut new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
        for (key, value) in settings {
            new = new.set(key, value);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
        let made = runtime
            .block_on(admin.create_topics(&[new], &options))
            .expect("the broker answers");
        for topic in made {
            topic.expect("the topic is made");
        }
    }

    /// Sends messages and waits until the broker has them.
    pub(crate) fn produce<'a>(&self, topic: &str, messages: impl IntoIterator<Item = Raw<'a>>) {
        let producer: BaseProducer = self
            .config()
            .set("message.max.bytes", "16777216")
            .create()
            .expect("a client");
        for message in messages {
            wait_for("room in the client", || {
                // Made anew for each attempt: the client keeps it when it fails, too.
                let headers =
                    message
                        .headers
                        .iter()
                        .fold(OwnedHeaders::new(), |headers, (key, value)| {
                            headers.insert(Header {
                                key,
                                value: Some(*value),
                            })
                        });
                let mut record = BaseRecord::<str, [u8]>::to(topic)
                    .key(message.key)
                    .payload(message.payload)
                    .headers(headers);
                record.partition = message.partition;
                let sent = producer.send(record).is_ok();
                producer.poll(Duration::ZERO);
                sent.then_some(())
            });
        }
        producer.flush(PATIENCE).expect("the broker has them all");
    }

    /// Everything that is in a topic now.
    pub(crate) fn read(&self, topic: &str) -> Vec<OwnedMessage> {
        let consumer: BaseConsumer = self
            .config()
            .set("group.id", "tests")
            .set("enable.auto.commit", "false")
            .set("fetch.message.max.bytes", "16777216")
            .create()
            .expect("a client");
        let metadata = consumer
            .fetch_metadata(Some(topic), PATIENCE)
            .expect("the broker answers");
        let partitions = metadata.topics()[0].partitions().len();
        let mut list = TopicPartitionList::new();
        let mut left = 0;
        for partition in 0..i32::try_from(partitions).expect("few") {
            let (low, high) = consumer
                .fetch_watermarks(topic, partition, PATIENCE)
                .expect("the broker answers");
            left += high - low;
            list.add_partition_offset(topic, partition, Offset::Beginning)
                .expect("an offset");
        }
        consumer.assign(&list).expect("it can be assigned");
        let mut found = Vec::new();
        let began = Instant::now();
        while i64::try_from(found.len()).is_ok_and(|count| count < left) {
            assert!(began.elapsed() < PATIENCE, "{} of {left}", found.len());
            if let Some(Ok(message)) = consumer.poll(Duration::from_millis(50)) {
                found.push(message.detach());
            }
        }
        found
    }

    /// Records of a topic that its sinks have not committed.
    pub(crate) fn lag(&self, topic: &str) -> i64 {
        let consumer: BaseConsumer = self
            .config()
            .set("group.id", format!("parity-sink-{topic}"))
            .create()
            .expect("a client");
        let metadata = consumer
            .fetch_metadata(Some(topic), PATIENCE)
            .expect("the broker answers");
        let mut list = TopicPartitionList::new();
        for partition in metadata.topics()[0].partitions() {
            list.add_partition(topic, partition.id());
        }
        let committed = consumer
            .committed_offsets(list, PATIENCE)
            .expect("the broker answers");
        let lag = |element: rdkafka::topic_partition_list::TopicPartitionListElem<'_>| {
            let (low, high) = consumer
                .fetch_watermarks(topic, element.partition(), PATIENCE)
                .expect("the broker answers");
            match element.offset() {
                Offset::Offset(offset) => high - offset,
                _ => high - low,
            }
        };
        committed.elements().into_iter().map(lag).sum()
    }
}

/// A message as a test wants it.
pub(crate) struct Raw<'a> {
    pub(crate) key: &'a str,
    pub(crate) payload: &'a [u8],
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) partition: Option<i32>,
}

/// The value of a header as text.
pub(crate) fn header(message: &OwnedMessage, key: &str) -> Option<String> {
    let headers = message.headers()?;
    let found = headers.iter().find(|header| header.key == key)?;
    Some(String::from_utf8_lossy(found.value?).into_owned())
}

fn java() -> [String; 4] {
    let jars = program("kafka-4.1.0/libs").join("*");
    [
        "-Xmx384m".to_owned(),
        "-XX:+UseSerialGC".to_owned(),
        "-cp".to_owned(),
        jars.display().to_string(),
    ]
}

/// A server of ClickHouse.
pub(crate) struct ClickHouse {
    /// `host:port` of the HTTP interface.
    pub(crate) address: String,
    user: Option<String>,
    process: Option<Process>,
    folder: Option<TempDir>,
    port: u16,
}

impl ClickHouse {
    /// The one of all tests of this process that do not harm it.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<ClickHouse> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var("PARITY_TEST_CLICKHOUSE") {
            Ok(url) => {
                let rest = url.trim_start_matches("http://").trim_end_matches('/');
                let (user, address) = match rest.split_once('@') {
                    Some((user, address)) => (Some(user.to_owned()), address),
                    None => (None, rest),
                };
                Self {
                    address: address.to_owned(),
                    user,
                    process: None,
                    folder: None,
                    port: 0,
                }
            }
            Err(_) => Self::own(),
        })
    }

    /// One that may be stopped.
    pub(crate) fn own() -> Self {
        let port = free_port();
        let mut server = Self {
            address: format!("127.0.0.1:{port}"),
            user: None,
            process: None,
            folder: Some(tempfile::tempdir().expect("a folder for the server")),
            port,
        };
        server.start();
        server
    }

    /// Starts it (again) and waits until it answers.
    pub(crate) fn start(&mut self) {
        let folder = self.folder.as_ref().expect("its own").path();
        let log = folder.join("log");
        let home = program("clickhouse-26.7.3-stable.1");
        // It is `clickhouse local`: a server for as long as its one query runs.
        let command: Vec<String> = [
            home.join("clickhouse").display().to_string(),
            home.join("libchdb.so").display().to_string(),
            "--multiquery".to_owned(),
            format!("--path={}", folder.join("data").display()),
            format!("--http_port={}", self.port),
            format!("--tcp_port={}", free_port()),
            "--listen_host=127.0.0.1".to_owned(),
            "--query=SYSTEM START LISTEN HTTP; SELECT sleepEachRow(3) FROM numbers(1000000) \
             SETTINGS max_block_size=1, function_sleep_max_microseconds_per_block=0 FORMAT Null"
                .to_owned(),
        ]
        .into();
        let mut process = Process::start(&log, &command);
        wait_for("ClickHouse to answer", || {
            assert!(!process.has_ended(), "ClickHouse ended:\n{}", tail(&log));
            (self.ask("default", "SELECT 1").ok()?.trim() == "1").then_some(())
        });
        self.process = Some(process);
    }

    /// SIGTERM, and waits for the end.
    pub(crate) fn stop(&mut self) {
        self.process.take().expect("it runs").end("TERM");
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.take().expect("it runs").end("KILL");
    }

    /// Of the server itself.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.as_ref().map_or(0, |process| process.id)
    }

    /// A database of its own name, not made.
    pub(crate) fn database(&self) -> Database<'_> {
        Database {
            server: self,
            name: name("parity"),
            temporary: true,
        }
    }

    /// A database that is not dropped: that of a server of one's own, which is stopped and started meanwhile.
    pub(crate) fn named(&self, name: &str) -> Database<'_> {
        Database {
            server: self,
            name: name.to_owned(),
            temporary: false,
        }
    }

    /// Runs a statement; its rows as tab-separated text, or what the server said against it.
    pub(crate) fn ask(&self, database: &str, sql: &str) -> Result<String, String> {
        let address: SocketAddr = self.address.parse().expect("an address");
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))
            .map_err(|error| error.to_string())?;
        let user = match &self.user {
            Some(user) => format!("&user={user}"),
            None => String::new(),
        };
        // HTTP/1.0, so that the answer is not chunked.
        let request = format!(
            "POST /?database={database}{user} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{sql}",
            sql.len()
        );
        let mut answer = String::new();
        stream
            .write_all(request.as_bytes())
            .and_then(|()| stream.read_to_string(&mut answer))
            .map_err(|error| error.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP")?;
        if head.split(' ').nth(1) == Some("200") {
            Ok(body.to_owned())
        } else {
            Err(body.to_owned())
        }
    }
}

/// A database of a test.
pub(crate) struct Database<'a> {
    server: &'a ClickHouse,
    pub(crate) name: String,
    temporary: bool,
}

impl Database<'_> {
    /// `clickhouse://…/database`.
    pub(crate) fn url(&self) -> String {
        let user = match &self.server.user {
            Some(user) => format!("{user}@"),
            None => String::new(),
        };
        format!("clickhouse://{user}{}/{}", self.server.address, self.name)
    }

    /// Runs a statement that must work.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let rows = self
            .server
            .ask(&self.name, sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        rows.trim_end().to_owned()
    }

    /// The one number of an answer.
    pub(crate) fn number(&self, sql: &str) -> u64 {
        self.sql(sql).parse().expect("a number")
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        if !self.temporary {
            return;
        }
        let drop = format!("DROP DATABASE IF EXISTS {} SYNC", self.name);
        let _gone = self.server.ask("default", &drop);
    }
}
