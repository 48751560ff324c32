//! Where the record is, how to get into it, what may be in it, and for how long.

#[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
use super::*;

/// Where the record is: what mirrors write, and `report`, `gate` and `ui` read.
pub(crate) mod record {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        STORE: One<StoreUrl> = store("record.store", "Where the record is kept")
            .default("sqlite:parity.db").flag("--store", "URL").needs_restart().formerly("mirror.store");
        SPOOL: One<PathBuf> = path("record.spool", "Folder, of this process alone, for records that a Kafka broker has not acknowledged")
            .default_of(|| SpoolConfig::default().folder.display().to_string())
            .flag("--spool", "FOLDER").needs_restart().formerly("mirror.spool");
        SPOOL_SIZE: One<u64> = size("record.spool_size", "Bytes of records in the spool; more are dropped and counted")
            .default_of(|| default::size(SpoolConfig::default().max_bytes)).needs_restart().formerly("limits.spool");
    }
}

/// Recording live requests, to replay them.
pub(crate) mod recording {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        FILE: One<String> = text("recording.file", "File to which the requests of clients are recorded, redacted, to be replayed; packed if it ends in .zst")
            .example("live.ndjson.zst").flag("--record", "FILE").needs_restart();
        ANSWERS: One<bool> = switch("recording.answers", "Record the legacy's answers, too")
            .default("off").flag("--record-answers", "on|off").needs_restart();
        FILE_SIZE: One<u64> = size("recording.file_size", "Bytes of a file of the recording before the next one is begun")
            .default("256MiB").needs_restart();
        FILES: One<usize> = count("recording.files", "Files of the recording that are kept; the oldest go first")
            .default("8").needs_restart();
    }
}

/// What may be recorded clear.
pub(crate) mod redact {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        KEEP_HEADERS: Many<String> = list("redact.keep_headers", "Headers whose values are recorded clear; a list takes the place of the default one")
            .default_list(|| RedactConfig::default().keep_headers);
        KEEP_QUERY: Many<String> = list("redact.keep_query", "Query parameters whose values are recorded clear; a list takes the place of the default one")
            .default_list(|| RedactConfig::default().keep_query);
        MASK_KEYS: Many<String> = list("redact.mask_keys", "Keys in bodies whose values are recorded as hmac:…, besides password, secret, token and their like")
            .default_list(|| RedactConfig::default().mask_keys);
        TEXT: One<PlainText> = text("redact.text", "Plain text in the record: patterns (without what looks like a secret, best effort) or hidden (length and hash only)")
            .read_as(value::plain_text).default_of(|| default::word(&RedactConfig::default().text, &value::PLAIN_TEXT));
        KEY_FILE: One<PathBuf> = path("redact.key_file", "Key of the hmac: values in the record, the same for all instances (random per process by default)")
            .flag("--redaction-key-file", "FILE").needs_restart().formerly("mirror.redaction_key_file");
    }
}

/// For how long the record is kept.
pub(crate) mod retention {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        BODIES: One<Duration> = duration("retention.bodies", "How long requests and answers of sampled mismatches are kept")
            .default_of(|| default::duration(Retention::default().samples)).needs_restart();
        MISMATCHES: One<Duration> = duration("retention.mismatches", "How long mismatches are kept")
            .default_of(|| default::duration(Retention::default().mismatches)).needs_restart();
        TALLIES: One<Duration> = duration("retention.tallies", "How long counts are kept")
            .default_of(|| default::duration(Retention::default().tallies)).needs_restart();
        SIZE: One<u64> = size("retention.size", "Size of the store above which the oldest bodies, then the oldest mismatches, go first (SQLite only)")
            .default_of(|| default::size(Retention::default().max_bytes)).needs_restart();
    }
}

/// How to get into Kafka.
pub(crate) mod kafka {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        SECURITY: One<KafkaSecurity> = text("kafka.security", "plaintext, ssl, sasl_plaintext or sasl_ssl; TLS needs a build with the feature kafka-tls")
            .read_as(|text| value::word(text, &KafkaSecurity::WORDS))
            .default_of(|| default::word(&KafkaSecurity::default(), &KafkaSecurity::WORDS)).needs_restart();
        MECHANISM: One<SaslMechanism> = text("kafka.mechanism", "How to log in with SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
            .read_as(|text| value::word(text, &SaslMechanism::WORDS))
            .default_of(|| default::word(&SaslMechanism::default(), &SaslMechanism::WORDS)).needs_restart();
        USERNAME: One<String> = text("kafka.username", "Who logs in with SASL").needs_restart();
        PASSWORD: One<String> = secret("kafka.password", "Password of kafka.username").needs_restart();
        PASSWORD_FILE: One<PathBuf> = path("kafka.password_file", "File with the password of kafka.username").needs_restart();
        CA_FILE: One<PathBuf> = path("kafka.ca_file", "PEM certificates to trust for TLS to Kafka, instead of the system's").needs_restart();
        CERTIFICATE_FILE: One<PathBuf> = path("kafka.certificate_file", "PEM certificate of ours, where the broker wants one").needs_restart();
        KEY_FILE: One<PathBuf> = path("kafka.key_file", "PEM key of kafka.certificate_file").needs_restart();
    }
}

/// How to get into `ClickHouse`.
pub(crate) mod clickhouse {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        PASSWORD: One<String> = secret("clickhouse.password", "Password of the user in a clickhouse:// URL").needs_restart();
        PASSWORD_FILE: One<PathBuf> = path("clickhouse.password_file", "File with the password of the user in a clickhouse:// URL").needs_restart();
        CA_FILE: One<PathBuf> = path("clickhouse.ca_file", "PEM certificates to trust for ?secure=true, besides the system's").needs_restart();
    }
}
