//! A broker, and what tests do with it.

use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Header, Headers as _, Message as _, OwnedHeaders, OwnedMessage};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tempfile::TempDir;

use super::{PATIENCE, Process, free_port, name, program, tail, wait_for};

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
        let lag = |at: &Offsets| at.end - at.committed.unwrap_or(at.begin);
        self.offsets(topic).iter().map(lag).sum()
    }

    /// What each partition of a topic holds, and how far its sinks have committed.
    pub(crate) fn offsets(&self, topic: &str) -> Vec<Offsets> {
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
        let offsets = |element: rdkafka::topic_partition_list::TopicPartitionListElem<'_>| {
            let (begin, end) = consumer
                .fetch_watermarks(topic, element.partition(), PATIENCE)
                .expect("the broker answers");
            Offsets {
                partition: element.partition(),
                begin,
                end,
                committed: match element.offset() {
                    Offset::Offset(offset) => Some(offset),
                    _ => None,
                },
            }
        };
        committed.elements().into_iter().map(offsets).collect()
    }
}

/// A partition: its first offset, the one after its last, and the one that a group goes on from.
#[derive(Debug)]
pub(crate) struct Offsets {
    pub(crate) partition: i32,
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) committed: Option<i64>,
}

/// A message as a test wants it.
pub(crate) struct Raw<'a> {
    pub(crate) key: &'a str,
    pub(crate) payload: &'a [u8],
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) partition: Option<i32>,
}

/// The key of a record.
pub(crate) fn key(message: &OwnedMessage) -> Vec<u8> {
    message.key().unwrap_or_default().to_vec()
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
