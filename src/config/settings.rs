//! Every setting once: where it stands in the file, its flag, its environment variable, its type, default and meaning.
//!
//! The parser, the unknown-key hints, `config show`, `config init` and the JSON Schema are all made from this table,
//! so none of them can forget a setting or describe another one.

use super::value;

/// What a value must look like. The JSON type it has in the file follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text without control characters.
    Text,
    /// `host:port` with a numeric host.
    Address,
    /// `http://`, `https://` or `unix:`.
    Upstream,
    /// `sqlite:PATH` and the like.
    Store,
    /// A password: from the environment only, and never shown.
    Secret,
    /// A path, relative to the working directory.
    Path,
    /// `500ms`, `5s`, `2m`, `14d`.
    Duration,
    /// `512KiB`, `32MiB`, or bytes as a number.
    Size,
    /// A whole number of at least one.
    Count,
    /// A number between 0 and 1.
    Share,
    /// `on` or `off` (`true` or `false` in the file).
    Switch,
    /// A list of text; comma-separated in the environment.
    List,
}

/// One setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// `section.key`, or the key alone at the top of the file.
    pub(crate) key: &'static str,
    /// Its type.
    pub(crate) kind: Kind,
    /// What holds when nobody says otherwise; `None` means absent.
    pub(crate) default: Option<&'static str>,
    /// The flag, where there is one.
    pub(crate) flag: Option<&'static str>,
    /// One line on what it does.
    pub(crate) about: &'static str,
}

const fn setting(
    key: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    flag: Option<&'static str>,
    about: &'static str,
) -> Setting {
    Setting {
        key,
        kind,
        default,
        flag,
        about,
    }
}

/// All settings, in the order in which `config init` and `config show` print them.
#[rustfmt::skip]
pub(crate) const SETTINGS: &[Setting] = &[
    setting("migration", Kind::Text, Some("default"), Some("--migration"), "Name under which this legacy→candidate effort is recorded"),
    setting("profiles", Kind::List, None, Some("--profile"), "Rules that come with the program: go-to-rust, java-to-rust, node-to-rust, python-to-rust"),
    setting("mirror.listen", Kind::Address, Some("127.0.0.1:8080"), Some("--listen"), "Where clients connect"),
    setting("mirror.admin", Kind::Address, Some("127.0.0.1:9900"), Some("--admin"), "Where the admin port listens: report page, API, metrics, health"),
    setting("mirror.admin_token_file", Kind::Path, None, Some("--admin-token-file"), "File with the token that the admin port demands; required off loopback"),
    setting("mirror.legacy", Kind::Upstream, None, Some("--legacy"), "The service whose answers the clients get"),
    setting("mirror.candidate", Kind::Upstream, None, Some("--candidate"), "The service whose answers are compared"),
    setting("mirror.legacy_version", Kind::Text, Some(""), Some("--legacy-version"), "Version of the legacy; evidence of different versions is never mixed"),
    setting("mirror.candidate_version", Kind::Text, Some(""), Some("--candidate-version"), "Version of the candidate; a new one starts the evidence anew"),
    setting("mirror.instance", Kind::Text, None, Some("--instance"), "Name of this process in the record (the host name by default)"),
    setting("mirror.mode", Kind::Text, Some("proxy"), Some("--mode"), "proxy: in front of the legacy; tap: beside a proxy that mirrors to us, answers 204 and asks both services"),
    setting("mirror.sample", Kind::Share, Some("1.0"), Some("--sample"), "Share of the requests that is shadowed"),
    setting("mirror.sample_by", Kind::Text, Some("request"), Some("--sample-by"), "What the share is of: request, header:NAME or cookie:NAME (all requests of a user, or none)"),
    setting("mirror.shadow", Kind::Switch, Some("on"), Some("--shadow"), "Whether to begin with shadowing on"),
    setting("mirror.self_comparison", Kind::Switch, Some("off"), Some("--self-comparison"), "Let legacy and candidate be one and the same service: what then differs is noise"),
    setting("mirror.handover", Kind::Path, None, Some("--handover"), "Socket by which a restarted mirror takes the ports over from the running one, so that no connection is refused"),
    setting("mirror.workers", Kind::Count, None, Some("--workers"), "Proxy threads (one per core by default)"),
    setting("mirror.store", Kind::Store, Some("sqlite:parity.db"), Some("--store"), "Where the record is kept"),
    setting("mirror.spool", Kind::Path, Some("parity.spool"), Some("--spool"), "Folder, of this process alone, for records that a Kafka broker has not acknowledged"),
    setting("mirror.ca_file", Kind::Path, None, Some("--ca-file"), "PEM certificates to trust for https upstreams, besides the system's"),
    setting("mirror.tls_certificate_file", Kind::Path, None, Some("--tls-certificate-file"), "PEM certificate that clients are shown; with it they connect by TLS, HTTP/2 or HTTP/1.1"),
    setting("mirror.tls_key_file", Kind::Path, None, Some("--tls-key-file"), "PEM key of mirror.tls_certificate_file"),
    setting("mirror.redaction_key_file", Kind::Path, None, Some("--redaction-key-file"), "Key of the hmac: values in the record, the same for all instances (random per process by default)"),
    setting("legacy.protocol", Kind::Text, Some("auto"), None, "What the legacy speaks: http1, http2, or auto (https: by ALPN; else HTTP/1.1, and HTTP/2 for gRPC)"),
    setting("legacy.host", Kind::Text, None, None, "Host that the legacy gets in the place of the client's"),
    setting("legacy.rewrite", Kind::Text, None, None, "Prefix of the path that is replaced for the legacy: \"/api -> /v2\""),
    setting("legacy.set_headers", Kind::List, None, None, "Headers set in requests for the legacy: \"name: value\""),
    setting("legacy.remove_headers", Kind::List, None, None, "Headers removed from requests for the legacy"),
    setting("legacy.credentials_file", Kind::Path, None, None, "File with headers for the legacy that are secret, one \"name: value\" on a line; # begins a comment"),
    setting("candidate.protocol", Kind::Text, Some("auto"), None, "What the candidate speaks: http1, http2, or auto (https: by ALPN; else HTTP/1.1, and HTTP/2 for gRPC)"),
    setting("candidate.host", Kind::Text, None, None, "Host that the candidate gets in the place of the client's"),
    setting("candidate.rewrite", Kind::Text, None, None, "Prefix of the path that is replaced for the candidate: \"/api -> /v2\""),
    setting("candidate.set_headers", Kind::List, None, None, "Headers set in requests for the candidate: \"name: value\""),
    setting("candidate.remove_headers", Kind::List, None, None, "Headers removed from requests for the candidate"),
    setting("candidate.credentials_file", Kind::Path, None, None, "File with headers for the candidate that are secret, one \"name: value\" on a line; # begins a comment"),
    setting("forwarding.x_forwarded_for", Kind::Switch, Some("on"), None, "Add the client's address to X-Forwarded-For"),
    setting("forwarding.x_forwarded_origin", Kind::Switch, Some("off"), None, "Send X-Forwarded-Proto and X-Forwarded-Host"),
    setting("forwarding.forwarded", Kind::Switch, Some("off"), None, "Add an element to Forwarded (RFC 7239)"),
    setting("forwarding.via", Kind::Text, None, None, "Name by which this proxy is added to Via; not sent without one"),
    setting("forwarding.trusted_proxies", Kind::List, None, None, "Addresses and networks whose X-Forwarded-… and Forwarded are passed on; with a list, those of others are removed"),
    setting("limits.candidate_deadline", Kind::Duration, Some("5s"), None, "The candidate must have answered whole within this time"),
    setting("limits.in_flight", Kind::Count, Some("1024"), None, "Shadow requests under way at once"),
    setting("limits.candidate_rate", Kind::Count, None, None, "Shadow requests that begin in a second; more are sampled out (no bound by default)"),
    setting("limits.shadow_bytes", Kind::Size, Some("32MiB"), None, "Bytes that all shadows and queued exchanges hold together"),
    setting("limits.body", Kind::Size, Some("1MiB"), None, "Largest request or answer body that is compared"),
    setting("limits.queue", Kind::Count, Some("4096"), None, "Exchanges that wait for comparison"),
    setting("limits.spool", Kind::Size, Some("1GiB"), None, "Bytes of records that wait on disk while a Kafka broker is away"),
    setting("limits.drain", Kind::Duration, Some("20s"), None, "Time for accepted requests to finish at shutdown"),
    setting("redact.keep_headers", Kind::List, None, None, "Headers whose values are recorded clear"),
    setting("redact.keep_query", Kind::List, None, None, "Query parameters whose values are recorded clear"),
    setting("redact.mask_keys", Kind::List, None, None, "Keys in bodies whose values are recorded as hmac:…, besides password, secret, token and their like"),
    setting("redact.text", Kind::Text, Some("patterns"), None, "Plain text in the record: patterns (without what looks like a secret, best effort) or hidden (length and hash only)"),
    setting("retention.bodies", Kind::Duration, Some("14d"), None, "How long requests and answers of sampled mismatches are kept"),
    setting("retention.mismatches", Kind::Duration, Some("90d"), None, "How long mismatches are kept"),
    setting("retention.tallies", Kind::Duration, Some("400d"), None, "How long counts are kept"),
    setting("retention.size", Kind::Size, Some("4GiB"), None, "Size of the store above which the oldest bodies, then the oldest mismatches, go first (SQLite only)"),
    setting("kafka.security", Kind::Text, Some("plaintext"), None, "plaintext, ssl, sasl_plaintext or sasl_ssl; TLS needs a build with the feature kafka-tls"),
    setting("kafka.mechanism", Kind::Text, Some("PLAIN"), None, "How to log in with SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"),
    setting("kafka.username", Kind::Text, None, None, "Who logs in with SASL"),
    setting("kafka.password", Kind::Secret, None, None, "Password of kafka.username"),
    setting("kafka.password_file", Kind::Path, None, None, "File with the password of kafka.username"),
    setting("kafka.ca_file", Kind::Path, None, None, "PEM certificates to trust for TLS to Kafka, instead of the system's"),
    setting("kafka.certificate_file", Kind::Path, None, None, "PEM certificate of ours, where the broker wants one"),
    setting("kafka.key_file", Kind::Path, None, None, "PEM key of kafka.certificate_file"),
    setting("clickhouse.password", Kind::Secret, None, None, "Password of the user in a clickhouse:// URL"),
    setting("clickhouse.password_file", Kind::Path, None, None, "File with the password of the user in a clickhouse:// URL"),
    setting("clickhouse.ca_file", Kind::Path, None, None, "PEM certificates to trust for ?secure=true, besides the system's"),
    setting("sink.kafka", Kind::Store, None, Some("--kafka"), "Topic whose records `parity sink` moves: kafka://HOST:9092/TOPIC"),
    setting("sink.clickhouse", Kind::Store, None, Some("--clickhouse"), "Where `parity sink` moves them: clickhouse://USER@HOST:8123/DATABASE"),
    setting("sink.group", Kind::Text, None, Some("--group"), "Consumer group (parity-sink-TOPIC by default); all sinks that move one topic into one database share it"),
    setting("sink.instance", Kind::Text, None, Some("--instance"), "Name of this sink within its group: a restart under the same name takes its partitions back at once"),
    setting("sink.admin", Kind::Address, Some("127.0.0.1:9901"), Some("--admin"), "Where the admin port of `parity sink` listens: metrics, health, report page"),
    setting("sink.admin_token_file", Kind::Path, None, Some("--admin-token-file"), "File with the token that the admin port demands; required off loopback"),
    setting("sink.batch_rows", Kind::Count, Some("100000"), None, "Records of one partition that are inserted at once"),
    setting("sink.batch_bytes", Kind::Size, Some("16MiB"), None, "Bytes of one partition's records that are inserted at once"),
    setting("sink.batch_interval", Kind::Duration, Some("1s"), None, "Longest time that a record waits for its batch to fill"),
    setting("sink.memory", Kind::Size, Some("64MiB"), None, "Bytes of records that a sink holds in all"),
    setting("sink.session_timeout", Kind::Duration, Some("10s"), None, "After this time without a sign of life a sink's partitions go to the others"),
    setting("sink.workers", Kind::Count, None, Some("--workers"), "Threads that decode and insert (one per core by default)"),
];

impl Setting {
    /// The section of the file; empty at the top.
    pub(crate) fn section(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(section, _)| section)
    }

    /// The key within its section.
    pub(crate) fn name(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(_, name)| name)
    }

    /// Whether a text has the form of its values; whether it makes sense is for whoever needs it.
    pub(crate) fn check(&self, text: &str) -> Result<(), String> {
        match self.kind {
            Kind::Address => value::address(text).map(drop),
            Kind::Duration => value::duration(text).map(drop),
            Kind::Size => value::size(text).map(drop),
            Kind::Count => value::count(text).map(drop),
            Kind::Share => value::share(text).map(drop),
            Kind::Switch => value::switch(text).map(drop),
            Kind::Text | Kind::Upstream | Kind::Store | Kind::Secret | Kind::Path | Kind::List => {
                Ok(())
            }
        }
    }

    /// `PARITY_` and the flag's name; the whole key where there is no flag, and for `sink`, some of whose flags are
    /// those of `mirror` with another meaning.
    pub(crate) fn variable(&self) -> String {
        let base = self
            .flag
            .filter(|_| self.section() != "sink")
            .map_or(self.key, |flag| flag.trim_start_matches('-'));
        format!(
            "PARITY_{}",
            base.to_ascii_uppercase().replace(['-', '.'], "_")
        )
    }
}

/// The sections that hold settings, in the order of [`SETTINGS`].
pub(crate) const SECTIONS: &[&str] = &[
    "mirror",
    "legacy",
    "candidate",
    "forwarding",
    "limits",
    "redact",
    "retention",
    "kafka",
    "clickhouse",
    "sink",
];

/// Whether a running mirror can take another value. What it holds open, or is known by, stays until it is restarted
/// (which costs no request either, with `--handover`).
pub(crate) fn is_fixed(setting: &Setting) -> bool {
    matches!(setting.section(), "retention" | "kafka" | "clickhouse")
        || matches!(
            setting.key,
            "mirror.listen"
                | "mirror.admin"
                | "mirror.admin_token_file"
                | "mirror.instance"
                | "mirror.workers"
                | "mirror.store"
                | "mirror.spool"
                | "mirror.handover"
                | "mirror.redaction_key_file"
                | "limits.spool"
        )
}

/// Keys of a `[[route]]`.
pub(crate) const ROUTE_KEYS: &[(&str, &str)] = &[
    (
        "match",
        "METHOD /path/{placeholder}; `*` for every method, `{*rest}` for what remains",
    ),
    (
        "shadow",
        "true: safe to send twice, whatever the method; false: never send",
    ),
    (
        "sample",
        "Share of its requests that is shadowed, in the place of mirror.sample",
    ),
];

/// Keys of a `[[rule]]`.
pub(crate) const RULE_KEYS: &[(&str, &str)] = &[
    ("id", "Name of the rule, shown wherever it applies"),
    ("route", "Only on this route"),
    ("part", "status, header, trailer or body (the default)"),
    (
        "path",
        "JSON Pointer with * for one and ** for any number of segments, or the like of $.items[*].id; a header name for headers",
    ),
    (
        "action",
        "ignore, accept, unordered, key, tolerance, as or mask",
    ),
    (
        "explanations",
        "For accept: how two values may differ, in the words of the report, such as null_vs_empty",
    ),
    (
        "kind",
        "For accept: only findings of this kind, such as extra (only the candidate has it)",
    ),
    ("field", "For key: the field that identifies an element"),
    (
        "absolute",
        "For tolerance: largest difference, as decimal text",
    ),
    (
        "relative",
        "For tolerance: largest difference relative to the larger value, as decimal text",
    ),
    ("type", "For as: timestamp, uuid or number"),
    ("reason", "Why the difference is accepted"),
    ("owner", "Who answers for it"),
    (
        "expires",
        "A date (YYYY-MM-DD) or a time (2027-03-01T12:00:00Z); from then on the rule no longer applies",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_and_variables_are_unique_and_sections_are_known() {
        let mut keys = HashSet::new();
        let mut variables = HashSet::new();
        for setting in SETTINGS {
            assert!(keys.insert(setting.key), "{}", setting.key);
            assert!(variables.insert(setting.variable()), "{}", setting.key);
            assert!(setting.section().is_empty() || SECTIONS.contains(&setting.section()));
        }
    }
}
