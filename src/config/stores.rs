//! Settings of stores: how to get into them, and what `sink` and `schema` need.

use std::path::PathBuf;

use parity_sink::{
    ClickHouseAccess, KAFKA_TLS, KafkaAccess, SaslMechanism, Secret, SinkOptions, SpoolConfig,
    StoreConfig, StoreUrl,
};

use super::admin::{AdminSettings, OF_SINK};
use super::problem::{Origin, Problem, Problems};
use super::settings::{One, Setting, clickhouse, kafka, mirror, record, sink, top};
use super::{DEFAULT_FILE, Layers};

/// Everything `sink` needs, checked.
pub(crate) struct SinkSettings {
    /// The topic.
    pub(crate) kafka: StoreConfig,
    /// The database.
    pub(crate) clickhouse: StoreConfig,
    /// Batches, limits, group.
    pub(crate) options: SinkOptions,
    /// The admin port.
    pub(crate) admin: AdminSettings,
    /// What the report page shows.
    pub(crate) migration: String,
    /// How long each part of the record is kept, for `--migrate`.
    pub(crate) retention: parity_sink::write::Retention,
    /// The register of known differences, for the pages.
    pub(crate) known: std::sync::Arc<[parity_schemas::known::KnownEntry]>,
    /// Rules that have a date, for the pages.
    pub(crate) dated: std::sync::Arc<[parity_schemas::terms::RuleText]>,
}

/// What `schema apply` needs, checked.
pub(crate) struct SchemaSettings {
    /// The database.
    pub(crate) clickhouse: StoreConfig,
    /// How long each part of the record is kept.
    pub(crate) retention: parity_sink::write::Retention,
}

impl Layers {
    /// The store of the record, with whatever a connection to it needs.
    pub(super) fn store(&mut self) -> Option<StoreConfig> {
        let url = self.get(&record::STORE);
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
        let folder = self.path(&record::SPOOL);
        let max_bytes = self.get(&record::SPOOL_SIZE);
        Some(SpoolConfig {
            folder: folder?.0,
            max_bytes: max_bytes?,
            succeeding: self.is_given(&mirror::HANDOVER),
        })
    }

    fn clickhouse_access(&mut self) -> ClickHouseAccess {
        ClickHouseAccess {
            password: self.password(&clickhouse::PASSWORD, &clickhouse::PASSWORD_FILE),
            ca_file: self.readable(&clickhouse::CA_FILE),
        }
    }

    fn kafka_access(&mut self) -> KafkaAccess {
        let security = self.get(&kafka::SECURITY).unwrap_or_default();
        let mechanism = self.get(&kafka::MECHANISM).unwrap_or_default();
        let access = KafkaAccess {
            security,
            mechanism,
            username: self.get(&kafka::USERNAME),
            password: self.password(&kafka::PASSWORD, &kafka::PASSWORD_FILE),
            ca_file: self.readable(&kafka::CA_FILE),
            certificate_file: self.readable(&kafka::CERTIFICATE_FILE),
            key_file: self.readable(&kafka::KEY_FILE),
        };
        let scram = security.has_login() && mechanism != SaslMechanism::Plain;
        if (security.has_tls() || scram) && !KAFKA_TLS {
            let setting: &'static Setting = if scram {
                &kafka::MECHANISM
            } else {
                &kafka::SECURITY
            };
            let message = format!(
                "{}: this build speaks neither TLS nor SCRAM to Kafka",
                setting.key
            );
            let hint = "build one that does: cargo build --release --features kafka-tls";
            self.problem_at(setting, message, hint);
        }
        if security.has_login() && (access.username.is_none() || access.password.is_none()) {
            let message = format!(
                "{}: a login needs {} and a password",
                kafka::SECURITY.key,
                kafka::USERNAME.key
            );
            let hint = format!(
                "set {}, or name a file as {}",
                kafka::PASSWORD.variable(),
                kafka::PASSWORD_FILE.key
            );
            self.problem_at(&kafka::SECURITY, message, &hint);
        }
        if access.certificate_file.is_some() != access.key_file.is_some() {
            let message = format!(
                "{} and {} belong together; one is missing",
                kafka::CERTIFICATE_FILE.key,
                kafka::KEY_FILE.key
            );
            self.problem_at(&kafka::CERTIFICATE_FILE, message, "name both or none");
        }
        access
    }

    fn problem_at(&mut self, setting: &'static Setting, message: String, hint: &str) {
        let origin = self.origin(setting);
        self.problems.push(Problem::new(origin, message).hint(hint));
    }

    /// A password from the environment, else from a file.
    fn password(
        &mut self,
        setting: &'static One<String>,
        file: &'static One<PathBuf>,
    ) -> Option<Secret> {
        if let Some(password) = self.hidden(setting) {
            return Some(Secret::new(password));
        }
        let bytes = self.secret(file, 1)?;
        Some(Secret::new(String::from_utf8_lossy(&bytes)))
    }

    /// A URL without which the command cannot do anything.
    pub(super) fn needed<T>(&mut self, setting: &'static One<T>) -> Option<T> {
        if self.text(setting).is_none() && !self.broken_file {
            let (section, name) = (setting.section(), setting.name());
            let flag = setting.flag.map_or(name, |flag| flag.name);
            let flag = flag.trim_start_matches('-');
            let example = setting.example.unwrap_or("URL");
            let hint =
                format!("--{flag} {example}, or `{name} = …` in [{section}] of {DEFAULT_FILE}");
            let problem = Problem::new(Origin::Default, format!("no {flag} is given"));
            self.problems.push(problem.hint(hint));
        }
        self.get(setting)
    }

    fn clickhouse(&mut self) -> Option<StoreConfig> {
        let url = self.needed(&sink::CLICKHOUSE);
        self.store_at(StoreUrl::ClickHouse(url?))
    }

    /// Everything that `sink` needs, or all that is wrong.
    pub(crate) fn sink(mut self) -> Result<SinkSettings, Problems> {
        let kafka = self
            .needed(&sink::KAFKA)
            .and_then(|url| self.store_at(StoreUrl::Kafka(url)));
        let clickhouse = self.clickhouse();
        let options = self.sink_options();
        let admin = self.admin(&OF_SINK);
        let migration = self.get(&top::MIGRATION);
        let retention = self.retention();
        let dated = self.dated_rules();
        let known = self.known(None);
        let complete = || {
            Some(SinkSettings {
                kafka: kafka?,
                clickhouse: clickhouse?,
                options: options?,
                admin: admin?,
                migration: migration?,
                retention: retention?,
                known,
                dated,
            })
        };
        match complete() {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            _ => Err(self.into_problems()),
        }
    }

    fn sink_options(&mut self) -> Option<SinkOptions> {
        let group = self.get(&sink::GROUP);
        let instance = self.get(&sink::INSTANCE);
        let batch_interval = self.get(&sink::BATCH_INTERVAL);
        let memory = self.get(&sink::MEMORY);
        let workers = self.get(&sink::WORKERS);
        let default = SinkOptions::default();
        Some(SinkOptions {
            group,
            instance,
            batch_interval: batch_interval?,
            memory: memory? as usize,
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
