//! Flags of `mirror`.

use clap::Args;

use super::{ConfigFile, given};

/// Flags of `mirror`; each is a setting of the same name.
#[derive(Debug, Default, Args)]
pub(crate) struct MirrorArgs {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    /// The service whose answers the clients get: `http://HOST:PORT`, `https://HOST` or `unix:/PATH`.
    #[arg(long, value_name = "URL")]
    pub(crate) legacy: Option<String>,
    /// The service whose answers are compared.
    #[arg(long, value_name = "URL")]
    pub(crate) candidate: Option<String>,
    /// Where clients connect [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Where the admin port listens [default: 127.0.0.1:9900].
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<String>,
    /// File with the token that the admin port demands; required off loopback.
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<String>,
    /// Where the record is kept [default: sqlite:parity.db].
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Folder for records that a Kafka broker has not acknowledged [default: parity.spool].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) spool: Option<String>,
    /// Name under which this effort is recorded [default: default].
    #[arg(long, value_name = "NAME")]
    pub(crate) migration: Option<String>,
    /// Name of this process in the record [default: the host name].
    #[arg(long, value_name = "NAME")]
    pub(crate) instance: Option<String>,
    /// Rules that come with the program, such as go-to-rust; several parted by commas.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Version of the legacy.
    #[arg(long, value_name = "TEXT")]
    pub(crate) legacy_version: Option<String>,
    /// Version of the candidate; a new one starts the evidence anew.
    #[arg(long, value_name = "TEXT")]
    pub(crate) candidate_version: Option<String>,
    /// proxy: in front of the legacy; tap: beside a proxy that mirrors to us [default: proxy].
    #[arg(long, value_name = "proxy|tap")]
    pub(crate) mode: Option<String>,
    /// Share of the requests that is shadowed, 0 to 1 [default: 1.0].
    #[arg(long, value_name = "SHARE")]
    pub(crate) sample: Option<String>,
    /// What the share is of: request, header:NAME or cookie:NAME [default: request].
    #[arg(long, value_name = "WHAT")]
    pub(crate) sample_by: Option<String>,
    /// PEM certificate that clients are shown; with it they connect by TLS.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_certificate_file: Option<String>,
    /// PEM key of the certificate.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key_file: Option<String>,
    /// Socket for a restart without a refused connection: the new process takes the ports over from the running one.
    #[arg(long, value_name = "PATH")]
    pub(crate) handover: Option<String>,
    /// Proxy threads [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<String>,
    /// PEM certificates to trust for https upstreams, besides the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<String>,
    /// Key of the hmac: values in the record, the same for all instances.
    #[arg(long, value_name = "FILE")]
    pub(crate) redaction_key_file: Option<String>,
    /// Begin with shadowing on or off [default: on].
    #[arg(long, value_name = "on|off")]
    pub(crate) shadow: Option<String>,
    /// Let legacy and candidate be one and the same service, to see what differs by itself [default: off].
    #[arg(long, value_name = "on|off")]
    pub(crate) self_comparison: Option<String>,
}

impl MirrorArgs {
    /// The flags that were given, as settings.
    pub(crate) fn settings(&self) -> Vec<(&'static str, &str)> {
        given(&[
            ("mirror.legacy", &self.legacy),
            ("mirror.candidate", &self.candidate),
            ("mirror.listen", &self.listen),
            ("mirror.admin", &self.admin),
            ("mirror.admin_token_file", &self.admin_token_file),
            ("mirror.store", &self.store),
            ("mirror.spool", &self.spool),
            ("migration", &self.migration),
            ("profiles", &self.profile),
            ("mirror.instance", &self.instance),
            ("mirror.legacy_version", &self.legacy_version),
            ("mirror.candidate_version", &self.candidate_version),
            ("mirror.mode", &self.mode),
            ("mirror.sample", &self.sample),
            ("mirror.sample_by", &self.sample_by),
            ("mirror.tls_certificate_file", &self.tls_certificate_file),
            ("mirror.tls_key_file", &self.tls_key_file),
            ("mirror.handover", &self.handover),
            ("mirror.workers", &self.workers),
            ("mirror.ca_file", &self.ca_file),
            ("mirror.redaction_key_file", &self.redaction_key_file),
            ("mirror.shadow", &self.shadow),
            ("mirror.self_comparison", &self.self_comparison),
        ])
    }
}
