//! The configuration of a store: its URL and everything else that a connection needs.

use std::fmt;
use std::path::PathBuf;

use crate::remembered::Remembered;
use crate::url::StoreUrl;

/// Where a record is stored, and how to connect to it. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// Where.
    pub url: StoreUrl,
    /// Credentials for a `ClickHouse` server.
    pub clickhouse: ClickHouseAccess,
    /// Connection settings for a Kafka broker.
    pub kafka: KafkaAccess,
    /// Where records wait until a Kafka broker has acknowledged them.
    pub spool: SpoolConfig,
    /// What is remembered of it between two reads; `None` for whoever reads it once.
    remembered: Option<Remembered>,
}

impl StoreConfig {
    /// The same store for a process that reads it again and again: it remembers what it has added up, and reads only what
    /// came since or has changed. What is read is the same.
    #[must_use]
    pub fn remembering(self) -> Self {
        Self {
            remembered: Some(Remembered::default()),
            ..self
        }
    }

    pub(crate) fn remembered(&self) -> Option<&Remembered> {
        self.remembered.as_ref()
    }
}

impl From<StoreUrl> for StoreConfig {
    fn from(url: StoreUrl) -> Self {
        Self {
            url,
            clickhouse: ClickHouseAccess::default(),
            kafka: KafkaAccess::default(),
            spool: SpoolConfig::default(),
            remembered: None,
        }
    }
}

impl fmt::Display for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

/// A text that is never printed.
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

/// Credentials for a `ClickHouse` server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClickHouseAccess {
    /// Of the user in the URL.
    pub password: Option<Secret>,
    /// PEM certificates to trust, besides the system's, when the URL says `secure`.
    pub ca_file: Option<PathBuf>,
}

/// Connection settings for a Kafka broker: librdkafka's settings under our names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KafkaAccess {
    /// Transport and login.
    pub security: KafkaSecurity,
    /// The mechanism of the login, if `security` has one.
    pub mechanism: SaslMechanism,
    /// The user name.
    pub username: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// PEM certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Our PEM certificate, if the broker requires one.
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

    /// Whether it includes a login.
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

/// Where records wait until a Kafka broker has acknowledged them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolConfig {
    /// A folder that only this process uses; created if it does not exist.
    pub folder: PathBuf,
    /// Most bytes of files in it; records beyond this are dropped and counted.
    pub max_bytes: u64,
    /// The process that uses the folder is about to hand over to this one. Until it has ended, a subfolder is used;
    /// whoever opens the folder next sends what is left there.
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
