//! Kafka brokers: how we connect to them, and the topics that we need.
//!
//! librdkafka does the work; this module maps our settings to its own. Its log goes to ours under the target
//! `librdkafka`, and never directly to stderr.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::types::RDKafkaErrorCode;

use crate::error::StoreError;
use crate::runtime::runtime;
use crate::store::{KAFKA_TLS, KafkaAccess, KafkaSecurity, SaslMechanism};
use crate::url::KafkaUrl;

/// The suffix of the name of a dead-letter topic.
pub(crate) const DEAD_SUFFIX: &str = ".dead";
/// Time limit of a metadata request; a running broker answers at once.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);
/// Let the broker decide on partitions and replicas (needs Kafka 2.4).
const BROKER_DEFAULT: i32 = -1;

/// The settings that a producer and a consumer share.
pub(crate) fn client_config(
    url: &KafkaUrl,
    access: &KafkaAccess,
) -> Result<ClientConfig, StoreError> {
    let scram = access.security.has_login() && access.mechanism != SaslMechanism::Plain;
    if (access.security.has_tls() || scram) && !KAFKA_TLS {
        return Err(StoreError::KafkaConfig {
            url: url.clone(),
            message: "this build speaks neither TLS nor SCRAM to Kafka; build one with --features kafka-tls".to_owned(),
        });
    }
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &url.brokers)
        .set("client.id", "parity")
        // Reconnect soon: a restart of a broker takes seconds.
        .set("reconnect.backoff.ms", "100")
        .set("reconnect.backoff.max.ms", "2000")
        .set("socket.keepalive.enable", "true")
        // So that brokers whose address changed are found again.
        .set("metadata.max.age.ms", "60000")
        .set(
            "security.protocol",
            word(&KafkaSecurity::WORDS, &access.security),
        );
    if access.security.has_login() {
        config.set(
            "sasl.mechanism",
            word(&SaslMechanism::WORDS, &access.mechanism),
        );
        if let Some(username) = &access.username {
            config.set("sasl.username", username);
        }
        if let Some(password) = &access.password {
            config.set("sasl.password", password.expose());
        }
    }
    if access.security.has_tls() {
        for (key, file) in [
            ("ssl.ca.location", &access.ca_file),
            ("ssl.certificate.location", &access.certificate_file),
            ("ssl.key.location", &access.key_file),
        ] {
            if let Some(path) = file {
                config.set(key, path.display().to_string());
            }
        }
    }
    config.set_log_level(RDKafkaLogLevel::Info);
    Ok(config)
}

fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words
        .iter()
        .find(|(_, known)| known == value)
        .map_or("", |(word, _)| word)
}

/// The error for settings that librdkafka rejects: a bug of ours, or a file that it cannot read.
pub(crate) fn refused(url: &KafkaUrl, error: &impl std::fmt::Display) -> StoreError {
    StoreError::KafkaConfig {
        url: url.clone(),
        message: error.to_string(),
    }
}

/// Writes a line of librdkafka's log to ours. Its errors are mostly about an unavailable broker: it retries by itself,
/// and its user reports the failure. So they are logged at debug level here.
pub(crate) fn log(level: RDKafkaLogLevel, facility: &str, message: &str) {
    match level {
        RDKafkaLogLevel::Emerg
        | RDKafkaLogLevel::Alert
        | RDKafkaLogLevel::Critical
        | RDKafkaLogLevel::Error
        | RDKafkaLogLevel::Warning => {
            tracing::debug!(target: "librdkafka", facility, "{message}");
        }
        RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
            tracing::trace!(target: "librdkafka", facility, "{message}");
        }
    }
}

/// A client that only logs.
pub(crate) struct Quiet;

impl ClientContext for Quiet {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log(level, facility, message);
    }

    fn error(&self, error: rdkafka::error::KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", %error, "{reason}");
    }
}

impl rdkafka::consumer::ConsumerContext for Quiet {}

/// Makes sure that a topic exists: a missing one is created with the broker's defaults, if we have the right.
pub(crate) fn ensure_topic(url: &KafkaUrl, config: &ClientConfig) -> Result<(), StoreError> {
    if has_topic(url, config)? {
        return Ok(());
    }
    let admin: AdminClient<DefaultClientContext> =
        config.create().map_err(|error| refused(url, &error))?;
    let topic = NewTopic::new(
        &url.topic,
        BROKER_DEFAULT,
        TopicReplication::Fixed(BROKER_DEFAULT),
    );
    let options = AdminOptions::new().operation_timeout(Some(METADATA_TIMEOUT));
    let made = runtime()?.block_on(admin.create_topics(&[topic], &options));
    let failed = |message: String| StoreError::NoTopic {
        url: url.clone(),
        message,
    };
    match made.map_err(|error| failed(error.to_string()))?.pop() {
        Some(Ok(_)) => {
            tracing::info!(
                topic = url.topic,
                "the topic was made with the broker's defaults"
            );
            Ok(())
        }
        // Another process created it first.
        Some(Err((_, RDKafkaErrorCode::TopicAlreadyExists))) => Ok(()),
        Some(Err((_, code))) => Err(failed(code.to_string())),
        None => Err(failed("the broker did not answer for it".to_owned())),
    }
}

fn has_topic(url: &KafkaUrl, config: &ClientConfig) -> Result<bool, StoreError> {
    let consumer: BaseConsumer<Quiet> = config
        .create_with_context(Quiet)
        .map_err(|error| refused(url, &error))?;
    let metadata = consumer
        .fetch_metadata(Some(&url.topic), METADATA_TIMEOUT)
        .map_err(|error| StoreError::NoBroker {
            url: url.clone(),
            message: error.to_string(),
        })?;
    Ok(metadata
        .topics()
        .iter()
        .any(|topic| topic.name() == url.topic && !topic.partitions().is_empty()))
}
