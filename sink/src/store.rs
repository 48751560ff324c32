//! A store with everything that a connection to it needs.

use std::fmt;
use std::path::PathBuf;

use crate::url::StoreUrl;

/// Where a record is kept, and how to get in. Cheap enough to clone for every reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// Where.
    pub url: StoreUrl,
    /// How to get into a `ClickHouse` server.
    pub clickhouse: ClickHouseAccess,
    /// How to get to a Kafka broker.
    pub kafka: KafkaAccess,
    /// Where records wait that a Kafka broker has not acknowledged.
    pub spool: SpoolConfig,
}

impl From<StoreUrl> for StoreConfig {
    fn from(url: StoreUrl) -> Self {
        Self {
            url,
            clickhouse: ClickHouseAccess::default(),
            kafka: KafkaAccess::default(),
            spool: SpoolConfig::default(),
        }
    }
}

impl fmt::Display for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

/// A text that is not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to be given to the library that needs it and to nobody else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How to get into a `ClickHouse` server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClickHouseAccess {
    /// Of the user in the URL.
    pub password: Option<Secret>,
    /// PEM certificates to trust, besides the system's, when the URL says `secure`.
    pub ca_file: Option<PathBuf>,
}

/// How to get to a Kafka broker: librdkafka's settings under our names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KafkaAccess {
    /// Transport and login.
    pub security: KafkaSecurity,
    /// The way to log in, where `security` has one.
    pub mechanism: SaslMechanism,
    /// Who logs in.
    pub username: Option<String>,
    /// With what.
    pub password: Option<Secret>,
    /// PEM certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// PEM certificate of ours, where the broker wants one.
    pub certificate_file: Option<PathBuf>,
    /// Its key.
    pub key_file: Option<PathBuf>,
}

/// Transport and login of a Kafka connection, by the words of `security.protocol`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KafkaSecurity {
    /// Neither.
    #[default]
    Plaintext,
    /// TLS.
    Ssl,
    /// Login over a clear connection.
    SaslPlaintext,
    /// Both.
    SaslSsl,
}

impl KafkaSecurity {
    /// Every one, with its word.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("plaintext", Self::Plaintext),
        ("ssl", Self::Ssl),
        ("sasl_plaintext", Self::SaslPlaintext),
        ("sasl_ssl", Self::SaslSsl),
    ];

    /// Whether somebody logs in.
    pub const fn has_login(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }

    /// Whether it is encrypted.
    pub const fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }
}

/// How to log in, by the words of `sasl.mechanism`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaslMechanism {
    /// `PLAIN`.
    #[default]
    Plain,
    /// `SCRAM-SHA-256`.
    ScramSha256,
    /// `SCRAM-SHA-512`.
    ScramSha512,
}

impl SaslMechanism {
    /// Every one, with its word.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("PLAIN", Self::Plain),
        ("SCRAM-SHA-256", Self::ScramSha256),
        ("SCRAM-SHA-512", Self::ScramSha512),
    ];
}

/// Whether this build can speak TLS and SCRAM to Kafka: the cargo feature `kafka-tls`.
pub const KAFKA_TLS: bool = cfg!(feature = "kafka-tls");

/// Where records wait that a Kafka broker has not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolConfig {
    /// A folder of this process alone; made if it is not there.
    pub folder: PathBuf,
    /// Bytes of files in it; a record beyond is dropped and counted.
    pub max_bytes: u64,
    /// The process that holds the folder is about to end and hand over to this one: until it has, a folder within it
    /// is used. What is left in that is sent by whoever opens the folder next.
    pub succeeding: bool,
}

impl Default for SpoolConfig {
    fn default() -> Self {
        Self {
            folder: PathBuf::from("parity.spool"),
            // Ten minutes without a broker at a thousand slim mismatches a second take about 600 MiB.
            max_bytes: 1 << 30,
            succeeding: false,
        }
    }
}
