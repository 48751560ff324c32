//! Settings of stores: how to get into them, and what `sink` and `schema` need.

use std::str::FromStr;

use parity_sink::{
    ClickHouseAccess, ClickHouseUrl, KAFKA_TLS, KafkaAccess, KafkaSecurity, KafkaUrl,
    SaslMechanism, Secret, SinkOptions, SpoolConfig, StoreConfig, StoreUrl,
};

use super::needs::some_time;
use super::problem::{Origin, Problem, Problems};
use super::{AdminSettings, DEFAULT_FILE, Layers, value};

/// Everything `sink` needs, checked.
pub(crate) struct SinkSettings {
    /// The topic.
    pub(crate) kafka: StoreConfig,
    /// The database.
    pub(crate) clickhouse: StoreConfig,
    /// Batches, limits, group.
    pub(crate) options: SinkOptions,
    /// The admin port's.
    pub(crate) admin: AdminSettings,
    /// What the report page shows.
    pub(crate) migration: String,
    /// How long what is kept, for `--migrate`.
    pub(crate) retention: parity_sink::write::Retention,
}

/// What `schema apply` needs, checked.
pub(crate) struct SchemaSettings {
    /// The database.
    pub(crate) clickhouse: StoreConfig,
    /// How long what is kept.
    pub(crate) retention: parity_sink::write::Retention,
}

impl Layers {
    /// The store of the record, with whatever a connection to it needs.
    pub(super) fn store(&mut self) -> Option<StoreConfig> {
        let url = self.get("mirror.store", str::parse::<StoreUrl>);
        let spool = self.spool();
        let mut store = self.store_at(url?)?;
        store.spool = spool?;
        Some(store)
    }

    fn store_at(&mut self, url: StoreUrl) -> Option<StoreConfig> {
        let problems = self.problems.len();
        let mut store = StoreConfig::from(url);
        match &store.url {
            StoreUrl::Sqlite(_) => {}
            StoreUrl::ClickHouse(_) => store.clickhouse = self.clickhouse_access(),
            StoreUrl::Kafka(_) => store.kafka = self.kafka_access(),
        }
        (self.problems.len() == problems).then_some(store)
    }

    fn spool(&mut self) -> Option<SpoolConfig> {
        let folder = self.path("mirror.spool");
        let max_bytes = self.get("limits.spool", value::size);
        Some(SpoolConfig {
            folder: folder?.0,
            max_bytes: max_bytes?,
            succeeding: self.values.contains_key("mirror.handover"),
        })
    }

    fn clickhouse_access(&mut self) -> ClickHouseAccess {
        ClickHouseAccess {
            password: self.password("clickhouse.password", "clickhouse.password_file"),
            ca_file: self.readable("clickhouse.ca_file"),
        }
    }

    fn kafka_access(&mut self) -> KafkaAccess {
        let security = self
            .get("kafka.security", |text| word(text, &KafkaSecurity::WORDS))
            .unwrap_or_default();
        let mechanism = self
            .get("kafka.mechanism", |text| word(text, &SaslMechanism::WORDS))
            .unwrap_or_default();
        let access = KafkaAccess {
            security,
            mechanism,
            username: self.get("kafka.username", value::text),
            password: self.password("kafka.password", "kafka.password_file"),
            ca_file: self.readable("kafka.ca_file"),
            certificate_file: self.readable("kafka.certificate_file"),
            key_file: self.readable("kafka.key_file"),
        };
        let scram = security.has_login() && mechanism != SaslMechanism::Plain;
        if (security.has_tls() || scram) && !KAFKA_TLS {
            let key = if scram {
                "kafka.mechanism"
            } else {
                "kafka.security"
            };
            let message = format!("{key}: this build speaks neither TLS nor SCRAM to Kafka");
            let hint = "build one that does: cargo build --release --features kafka-tls";
            self.problem_at(key, message, hint);
        }
        if security.has_login() && (access.username.is_none() || access.password.is_none()) {
            let message = "kafka.security: a login needs kafka.username and a password".to_owned();
            let hint = "set PARITY_KAFKA_PASSWORD, or name a file as kafka.password_file";
            self.problem_at("kafka.security", message, hint);
        }
        if access.certificate_file.is_some() != access.key_file.is_some() {
            let message =
                "kafka.certificate_file and kafka.key_file belong together; one is missing"
                    .to_owned();
            self.problem_at("kafka.certificate_file", message, "name both or none");
        }
        access
    }

    fn problem_at(&mut self, key: &'static str, message: String, hint: &str) {
        let origin = self.text(key).map_or(Origin::Default, |(_, origin)| origin);
        self.problems.push(Problem::new(origin, message).hint(hint));
    }

    /// A password out of the environment, else out of a file.
    fn password(&mut self, key: &'static str, file_key: &'static str) -> Option<Secret> {
        if let Some(password) = self.hidden(key) {
            return Some(Secret::new(password));
        }
        let bytes = self.secret(file_key, 1)?;
        Some(Secret::new(String::from_utf8_lossy(&bytes)))
    }

    /// A URL without which the command cannot do anything.
    fn needed<T: FromStr<Err: std::fmt::Display>>(
        &mut self,
        key: &'static str,
        example: &str,
    ) -> Option<T> {
        if self.text(key).is_none() && !self.broken_file {
            let name = key.trim_start_matches("sink.");
            let problem = Problem::new(Origin::Default, format!("no {name} is given")).hint(
                format!("--{name} {example}, or `{name} = …` in [sink] of {DEFAULT_FILE}"),
            );
            self.problems.push(problem);
        }
        self.get(key, str::parse)
    }

    fn clickhouse(&mut self) -> Option<StoreConfig> {
        let url =
            self.needed::<ClickHouseUrl>("sink.clickhouse", "clickhouse://USER@HOST:8123/DATABASE");
        self.store_at(StoreUrl::ClickHouse(url?))
    }

    /// Everything that `sink` needs, or all that is wrong.
    pub(crate) fn sink(mut self) -> Result<SinkSettings, Problems> {
        let kafka = self
            .needed::<KafkaUrl>("sink.kafka", "kafka://HOST:9092/TOPIC")
            .and_then(|url| self.store_at(StoreUrl::Kafka(url)));
        let clickhouse = self.clickhouse();
        let options = self.sink_options();
        let admin = self.admin("sink.admin", "sink.admin_token_file");
        let migration = self.get("migration", value::text);
        let retention = self.retention();
        let complete = || {
            Some(SinkSettings {
                kafka: kafka?,
                clickhouse: clickhouse?,
                options: options?,
                admin: admin?,
                migration: migration?,
                retention: retention?,
            })
        };
        match complete() {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            _ => Err(self.into_problems()),
        }
    }

    fn sink_options(&mut self) -> Option<SinkOptions> {
        let group = self.get("sink.group", value::text);
        let instance = self.get("sink.instance", value::text);
        let batch_rows = self.get("sink.batch_rows", value::count);
        let batch_bytes = self.get("sink.batch_bytes", value::size);
        let batch_interval = self.get("sink.batch_interval", some_time);
        let memory = self.get("sink.memory", value::size);
        let session_timeout = self.get("sink.session_timeout", some_time);
        let workers = self.get("sink.workers", value::count);
        let default = SinkOptions::default();
        Some(SinkOptions {
            group,
            instance,
            batch_rows: batch_rows?,
            batch_bytes: batch_bytes? as usize,
            batch_interval: batch_interval?,
            memory: memory? as usize,
            session_timeout: session_timeout?,
            workers: workers.unwrap_or(default.workers),
            ..default
        })
    }

    /// What `schema apply` needs, or all that is wrong.
    pub(crate) fn schema(mut self) -> Result<SchemaSettings, Problems> {
        let clickhouse = self.clickhouse();
        let retention = self.retention();
        match (clickhouse, retention) {
            (Some(clickhouse), Some(retention)) if self.problems.is_empty() => Ok(SchemaSettings {
                clickhouse,
                retention,
            }),
            _ => Err(self.into_problems()),
        }
    }
}

fn word<T: Copy>(text: &str, words: &[(&'static str, T)]) -> Result<T, String> {
    words
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(text))
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            format!("`{text}` is none of {}", known.join(", "))
        })
}
