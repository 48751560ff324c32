//! The definitions, one module a section. A new setting is one entry here; what it does is one place more, where its value
//! is used.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};
use ipnet::IpNet;
use parity_comparator::redact::{PlainText, RedactConfig};
use parity_comparator::rules::PROFILES as PROFILE_FILES;
use parity_dashboards::links::LinkTemplate;
use parity_mirror::{
    Forwarding, Limits, Mode, PathRewrite, Protocol, RolloutBy, SampleBy, Sampling, UpstreamUrl,
};
use parity_sink::write::Retention;
use parity_sink::{
    ClickHouseUrl, KafkaSecurity, KafkaUrl, SaslMechanism, SinkOptions, SpoolConfig, StoreUrl,
};

use super::super::value::rollout::Step;
use super::super::value::{self, parsed, services, some_time};
use super::{Kind, Many, One, Section, Setting, default};

/// The sections in the order of `config init`. Beside them stand `[[route]]` and `[[rule]]`.
pub(crate) static SECTIONS: &[Section] = &[
    Section::new("", top::ALL),
    Section::new("mirror", mirror::ALL),
    Section::new("legacy", legacy::ALL),
    Section::new("candidate", candidate::ALL),
    Section::new("forwarding", forwarding::ALL),
    Section::new("limits", limits::ALL),
    Section::new("rollout", rollout::ALL),
    Section::new("recheck", recheck::ALL),
    Section::new("attributes", attributes::ALL),
    Section::new("record", record::ALL),
    Section::new("recording", recording::ALL),
    Section::new("redact", redact::ALL),
    Section::new("retention", retention::ALL),
    Section::new("kafka", kafka::ALL),
    Section::new("clickhouse", clickhouse::ALL),
    Section::new("sink", sink::ALL),
    Section::new("metrics", metrics::window::ALL),
    Section::new("legacy_metrics", metrics::legacy::ALL),
    Section::new("candidate_metrics", metrics::candidate::ALL),
    Section::new("stress", stress::ALL),
    Section::new("soak", soak::ALL),
    Section::new("links", links::ALL),
];

impl Section {
    const fn new(name: &'static str, settings: &'static [&'static Setting]) -> Self {
        Self { name, settings }
    }
}

/// Declares the settings of a section, and the list of them.
macro_rules! settings {
    ($($name:ident: $kind:ty = $definition:expr;)+) => {
        $(pub(crate) static $name: $kind = $definition;)+
        /// All of them, in the order in which they are shown.
        pub(crate) static ALL: &[&Setting] = &[$(&$name.setting),+];
    };
}

pub(crate) mod metrics;
mod sides;
pub(crate) mod soak;
mod stores;
pub(crate) mod stress;

pub(crate) use self::sides::{Side, candidate, forwarding, legacy};
pub(crate) use self::stores::{clickhouse, kafka, record, recording, redact, retention};

const fn text(key: &'static str, about: &'static str) -> One<String> {
    One::new(key, Kind::Text, value::text, about)
}

const fn address(key: &'static str, about: &'static str) -> One<SocketAddr> {
    One::new(key, Kind::Address, value::address, about)
}

const fn admin(key: &'static str, about: &'static str) -> One<SocketAddr> {
    One::new(key, Kind::Admin, value::admin, about)
}

const fn upstream(key: &'static str, about: &'static str) -> One<UpstreamUrl> {
    One::new(key, Kind::Upstream, parsed, about)
}

const fn store(key: &'static str, about: &'static str) -> One<StoreUrl> {
    One::new(key, Kind::Store, parsed, about)
}

const fn secret(key: &'static str, about: &'static str) -> One<String> {
    One::new(key, Kind::Secret, parsed, about)
}

const fn path(key: &'static str, about: &'static str) -> One<PathBuf> {
    One::new(key, Kind::Path, parsed, about)
}

const fn duration(key: &'static str, about: &'static str) -> One<Duration> {
    One::new(key, Kind::Duration, value::duration, about)
}

const fn size(key: &'static str, about: &'static str) -> One<u64> {
    One::new(key, Kind::Size, value::size, about)
}

const fn count(key: &'static str, about: &'static str) -> One<usize> {
    One::new(key, Kind::Count, value::count, about)
}

const fn number(key: &'static str, about: &'static str) -> One<usize> {
    One::new(key, Kind::Number, value::number, about)
}

const fn share(key: &'static str, about: &'static str) -> One<f64> {
    One::new(key, Kind::Share, value::share, about)
}

const fn decimal(key: &'static str, about: &'static str) -> One<f64> {
    One::new(key, Kind::Decimal, value::decimal, about)
}

const fn switch(key: &'static str, about: &'static str) -> One<bool> {
    One::new(key, Kind::Switch, value::switch, about)
}

const fn list(key: &'static str, about: &'static str) -> Many<String> {
    Many::new(key, Kind::List, parsed, about)
}

/// At the top of the file.
pub(crate) mod top {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        MIGRATION: One<String> = text("migration", "Name under which this legacy→candidate effort is recorded")
            .default("default").flag("--migration", "NAME");
        PROFILES: Many<String> = list("profiles", "Rules that come with the program: go-to-rust, java-to-rust, node-to-rust, python-to-rust")
            .empty().words(profiles).flag("--profile", "NAME");
    }

    fn profiles() -> Vec<&'static str> {
        PROFILE_FILES.iter().map(|profile| profile.name).collect()
    }
}

/// The proxy.
pub(crate) mod mirror {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        LEGACY: One<UpstreamUrl> = upstream("mirror.legacy", "The service whose answers the clients get: `http://HOST:PORT`, `https://HOST` or `unix:/PATH`")
            .filled_in("http://127.0.0.1:7001").flag("--legacy", "URL");
        CANDIDATE: One<UpstreamUrl> = upstream("mirror.candidate", "The service whose answers are compared")
            .filled_in("http://127.0.0.1:7002").flag("--candidate", "URL");
        LISTEN: One<SocketAddr> = address("mirror.listen", "Where clients connect")
            .default("127.0.0.1:8080").flag("--listen", "ADDR").needs_restart();
        ADMIN: One<SocketAddr> = admin("mirror.admin", "Where the admin port listens: report page, API, metrics, health")
            .default("127.0.0.1:9900").flag("--admin", "ADDR").needs_restart();
        ADMIN_TOKEN_FILE: One<PathBuf> = path("mirror.admin_token_file", "File with the token that the admin port demands; required off loopback")
            .flag("--admin-token-file", "FILE").needs_restart();
        ADMIN_LOOK_TOKEN_FILE: One<PathBuf> = path("mirror.admin_look_token_file", "File with a second token, by which the admin port shows everything and changes nothing")
            .flag("--admin-look-token-file", "FILE").needs_restart();
        ADMIN_TLS_CERTIFICATE_FILE: One<PathBuf> = path("mirror.admin_tls_certificate_file", "PEM certificate of the admin port; with it the port is reached by https alone")
            .flag("--admin-tls-certificate-file", "FILE");
        ADMIN_TLS_KEY_FILE: One<PathBuf> = path("mirror.admin_tls_key_file", "PEM key of mirror.admin_tls_certificate_file")
            .flag("--admin-tls-key-file", "FILE");
        LEGACY_VERSION: One<String> = text("mirror.legacy_version", "Version of the legacy; evidence of different versions is never mixed")
            .default("").flag("--legacy-version", "TEXT");
        CANDIDATE_VERSION: One<String> = text("mirror.candidate_version", "Version of the candidate; a new one starts the evidence anew")
            .default("").flag("--candidate-version", "TEXT");
        INSTANCE: One<String> = text("mirror.instance", "Name of this process in the record (the host name by default)")
            .flag("--instance", "NAME").needs_restart();
        MODE: One<Mode> = text("mirror.mode", "proxy: in front of the legacy; tap: beside a proxy that mirrors to us, answers 204 and asks both services")
            .read_as(services::mode).default("proxy").flag("--mode", "proxy|tap");
        SAMPLE: One<f64> = share("mirror.sample", "Share of the requests that is shadowed, 0 to 1")
            .default_of(|| format!("{:?}", Sampling::default().share)).flag("--sample", "SHARE");
        SAMPLE_BY: One<SampleBy> = text("mirror.sample_by", "What the share is of: request, header:NAME or cookie:NAME (all requests of a user, or none)")
            .read_as(services::sample_by).default("request").flag("--sample-by", "WHAT");
        SHADOW: One<bool> = switch("mirror.shadow", "Whether to begin with shadowing on")
            .default("on").flag("--shadow", "on|off");
        SELF_COMPARISON: One<bool> = switch("mirror.self_comparison", "Let legacy and candidate be one and the same service: what then differs is noise")
            .default("off").flag("--self-comparison", "on|off");
        HANDOVER: One<PathBuf> = path("mirror.handover", "Socket by which a restarted mirror takes the ports over from the running one, so that no connection is refused")
            .flag("--handover", "PATH").needs_restart();
        WORKERS: One<usize> = count("mirror.workers", "Proxy threads (one per core by default)")
            .flag("--workers", "N").needs_restart();
        CA_FILE: One<PathBuf> = path("mirror.ca_file", "PEM certificates to trust for https upstreams, besides the system's")
            .flag("--ca-file", "FILE");
        TLS_CERTIFICATE_FILE: One<PathBuf> = path("mirror.tls_certificate_file", "PEM certificate that clients are shown; with it they connect by TLS, HTTP/2 or HTTP/1.1")
            .flag("--tls-certificate-file", "FILE");
        TLS_KEY_FILE: One<PathBuf> = path("mirror.tls_key_file", "PEM key of mirror.tls_certificate_file")
            .flag("--tls-key-file", "FILE");
    }
}

/// What a mirror may use.
pub(crate) mod limits {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        CANDIDATE_DEADLINE: One<Duration> = duration("limits.candidate_deadline", "The candidate must have answered whole within this time")
            .read_as(some_time).default_of(|| default::duration(Limits::default().candidate_deadline));
        IN_FLIGHT: One<usize> = count("limits.in_flight", "Shadow requests under way at once")
            .default_of(|| Limits::default().in_flight.to_string());
        CANDIDATE_RATE: One<usize> = count("limits.candidate_rate", "Shadow requests that begin in a second; more are sampled out (no bound by default)");
        SHADOW_BYTES: One<u64> = size("limits.shadow_bytes", "Bytes that all shadows and queued exchanges hold together")
            .default_of(|| default::size(Limits::default().shadow_bytes as u64));
        BODY: One<u64> = size("limits.body", "Largest request or answer body that is compared")
            .default_of(|| default::size(Limits::default().body as u64));
        QUEUE: One<usize> = count("limits.queue", "Exchanges that wait for comparison").read_as(value::waiting).default("4096");
        DRAIN: One<Duration> = duration("limits.drain", "Time for accepted requests to finish at shutdown")
            .default_of(|| default::duration(Limits::default().drain));
    }
}

/// Letting the candidate serve a share of the clients.
pub(crate) mod rollout {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        CANDIDATE_PERCENT: One<f64> = decimal("rollout.candidate_percent", "Percent of the clients that the candidate serves, once the gate passes; 0 lets only a person or the API raise it. Without it and without a schedule there is no rollout")
            .read_as(value::percent).needs_restart();
        SCHEDULE: Many<Step> = list("rollout.schedule", "Steps in the place of one percent: \"10 after 0s\", \"30 after 3d\", \"100 at 2027-03-01T09:00:00Z\"; each waits for the gate")
            .read_as(value::rollout::step).empty().needs_restart();
        BY: One<RolloutBy> = text("rollout.by", "What a client is known by, so that it stays with one service: address, header:NAME or cookie:NAME")
            .read_as(services::rollout_by).default("address").needs_restart();
        KEY: One<String> = text("rollout.key", "Text that enters the choice of clients, the same in all instances (the migration by default)")
            .needs_restart();
        UNSAFE_METHODS: One<bool> = switch("rollout.unsafe_methods", "Let the candidate also serve requests that may change something, and those with a body; the legacy does not get them then, unless their route allows shadows")
            .default("off").needs_restart();
        HEAD_TIMEOUT: One<Duration> = duration("rollout.head_timeout", "How long a client waits for the head of the candidate's answer, before the legacy answers or the client gets 504")
            .read_as(some_time).default("5s").needs_restart();
        STATE_FILE: One<String> = text("rollout.state_file", "File of this process alone that keeps the percent and the last fall back over a restart")
            .default("parity-rollout.json").needs_restart();
        GATE_INTERVAL: One<Duration> = duration("rollout.gate_interval", "How often the gate is asked, for a step up and for a fall back")
            .read_as(some_time).default("1m").needs_restart();
        MAX_MISMATCH_RATE: One<f64> = share("rollout.max_mismatch_rate", "Share of the requests that may differ, for this gate")
            .default_of(|| format!("{:?}", parity_schemas::evidence::Thresholds::default().max_mismatch_rate)).needs_restart();
        WINDOW: One<Duration> = duration("rollout.window", "Time in which the errors and the times of both services are set beside each other")
            .read_as(some_time).default("1m").needs_restart();
        MIN_REQUESTS: One<usize> = count("rollout.min_requests", "Requests of a service in the window from which on its errors and times count")
            .default("100").needs_restart();
        MAX_ERROR_EXCESS: One<f64> = share("rollout.max_error_excess", "How much higher the candidate's share of errors may be than the legacy's before all clients go back")
            .default("0.01").needs_restart();
        MAX_LATENCY_RATIO: One<f64> = decimal("rollout.max_latency_ratio", "How many times the legacy's 95th percentile the candidate's may be before all clients go back")
            .read_as(value::rollout::ratio).default("2").needs_restart();
    }
}

/// Asking both services again when their answers differ.
pub(crate) mod recheck {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        RATE: One<usize> = One::new("recheck.rate", Kind::Number, value::number, "Requests that are asked again in a second; 0 asks nothing again")
            .default("10");
        DELAY: One<Duration> = duration("recheck.delay", "How long after the first answers the services are asked again")
            .default("500ms");
        IN_FLIGHT: One<usize> = count("recheck.in_flight", "Requests that wait to be asked again, or for their second answers, at once").read_as(value::waiting)
            .default("64");
        PER_GROUP: One<usize> = count("recheck.per_group", "Second looks in a minute at differences of one group that was confirmed")
            .default("20");
        CONTROL: One<f64> = share("recheck.control", "Share of the matching requests that only the legacy is asked again, to see how often it differs from itself")
            .default("0.001");
    }
}

/// What is counted of requests, to say what is special about those that differ.
pub(crate) mod attributes {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        ENABLED: One<bool> = switch("attributes.enabled", "Count attributes of requests, so that a report says what is special about those that differ")
            .default("on");
        HEADERS: Many<HeaderName> = list("attributes.headers", "Headers of requests whose values are counted, and so recorded clear; 8 at the most")
            .read_as(services::counted_header).empty();
        CANDIDATE_INSTANCE: One<HeaderName> = text("attributes.candidate_instance", "Header of the candidate's answers that names the instance which answered; its values are recorded clear")
            .read_as(services::counted_header).example("x-pod");
    }
}

/// What `parity sink` does. Its flags have names of their own there.
pub(crate) mod sink {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        KAFKA: One<KafkaUrl> = store("sink.kafka", "Topic whose records `parity sink` moves: `kafka://HOST:9092/TOPIC`")
            .read_as(parsed).example("kafka://HOST:9092/TOPIC").flag("--kafka", "URL");
        CLICKHOUSE: One<ClickHouseUrl> = store("sink.clickhouse", "Database of the record, to which `parity sink` moves it: `clickhouse://USER@HOST:8123/DATABASE`")
            .read_as(parsed).example("clickhouse://USER@HOST:8123/DATABASE").flag("--clickhouse", "URL");
        GROUP: One<String> = text("sink.group", "Consumer group (parity-sink-TOPIC by default); all sinks that move one topic into one database share it")
            .flag("--group", "NAME");
        INSTANCE: One<String> = text("sink.instance", "Name of this sink within its group: a restart under the same name takes its partitions back at once")
            .flag("--instance", "NAME");
        ADMIN: One<SocketAddr> = admin("sink.admin", "Where the admin port of `parity sink` listens: metrics, health, report page")
            .default("127.0.0.1:9901").flag("--admin", "ADDR");
        ADMIN_TOKEN_FILE: One<PathBuf> = path("sink.admin_token_file", "File with the token that the admin port demands; required off loopback")
            .flag("--admin-token-file", "FILE");
        ADMIN_LOOK_TOKEN_FILE: One<PathBuf> = path("sink.admin_look_token_file", "File with a second token, by which the admin port shows everything and changes nothing")
            .flag("--admin-look-token-file", "FILE");
        ADMIN_TLS_CERTIFICATE_FILE: One<PathBuf> = path("sink.admin_tls_certificate_file", "PEM certificate of the admin port; with it the port is reached by https alone")
            .flag("--admin-tls-certificate-file", "FILE");
        ADMIN_TLS_KEY_FILE: One<PathBuf> = path("sink.admin_tls_key_file", "PEM key of sink.admin_tls_certificate_file")
            .flag("--admin-tls-key-file", "FILE");
        BATCH_INTERVAL: One<Duration> = duration("sink.batch_interval", "Longest time that a record waits for its batch to fill")
            .read_as(some_time).default_of(|| default::duration(SinkOptions::default().batch_interval));
        MEMORY: One<u64> = size("sink.memory", "Bytes of records that a sink holds in all")
            .default_of(|| default::size(SinkOptions::default().memory as u64));
        WORKERS: One<usize> = count("sink.workers", "Threads that decode and insert (one per core by default)").flag("--workers", "N");
    }
}

/// Links from the pages to elsewhere.
pub(crate) mod links {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    const fn link(key: &'static str, about: &'static str) -> One<LinkTemplate> {
        One::new(key, Kind::Text, parsed, about)
    }

    settings! {
        GRAFANA: One<LinkTemplate> = link("links.grafana", "Where the pages lead to Grafana; {migration}, {candidate_version}, {route}, {group}, {from_ms} and {to_ms} are filled in, percent-encoded")
            .example("https://grafana.example/d/parity-overview?var-migration={migration}&from={from_ms}&to={to_ms}").needs_restart();
        TRACE: One<LinkTemplate> = link("links.trace", "Where an exchange leads to its trace: {trace_id} is that of its traceparent")
            .example("https://traces.example/trace/{trace_id}").needs_restart();
        LOGS: One<LinkTemplate> = link("links.logs", "Where the pages lead to logs; with the same names as the others")
            .example("https://logs.example/search?trace={trace_id}&from={from_ms}&to={to_ms}").needs_restart();
    }
}
