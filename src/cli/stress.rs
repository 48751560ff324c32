//! Flags of `stress`, and what is sent, which `soak` has, too.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use parity_mirror::replay::{Format, LogFormat};

use super::flags::{Flags, OfStress};
use super::{ConfigFile, OutputFormat};

/// Flags of `stress`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parity stress --request 'GET /balance/{id}' --ids 16000 --legacy http://127.0.0.1:7001 --candidate http://127.0.0.1:7002
  parity stress traffic.ndjson --rates 500,1000,2000 --p99 50ms --legacy-pid 4711 --candidate-pid 4712 --html stress.html
  parity stress traffic.ndjson --threshold 'rate >= +20%' --threshold 'p99 <= +0%'      both services from parity.toml

Exit code: 0 pass, 1 fail, 3 undecided, 2 error.")]
pub(crate) struct StressArgs {
    #[command(flatten)]
    pub(crate) sent: SentArgs,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfStress>,
    /// Also write a report with charts: one HTML file that stands alone.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Form of the result on stdout.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

/// What is sent.
#[derive(Debug, Args)]
pub(crate) struct SentArgs {
    /// Requests in a format that `parity replay` reads; `-` is standard input. They are sent in turn, whatever their times.
    #[arg(value_name = "REQUESTS", conflicts_with = "request")]
    pub(crate) requests: Option<PathBuf>,
    /// Format of the file, if it cannot be found out: ndjson, har, goreplay, access-log, curl.
    #[arg(long, requires = "requests")]
    pub(crate) format: Option<Format>,
    /// Lines of the access log, in nginx's notation: `$msec $host "$request"`.
    #[arg(
        long,
        value_name = "LINE",
        conflicts_with = "format",
        requires = "requests"
    )]
    pub(crate) access_log: Option<LogFormat>,
    /// In the place of a file: `METHOD /path`, in which {id} stands for each id.
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) request: Option<String>,
    /// The ids: a number N for 1 to N, or a file with one on a line.
    #[arg(long, value_name = "N|FILE", requires = "request")]
    pub(crate) ids: Option<String>,
    /// A header field of the template, `name: value`, in whose value {id} stands for the id, too; may be repeated.
    #[arg(long = "header", value_name = "FIELD", requires = "request")]
    pub(crate) headers: Vec<String>,
    /// File with the body of the template, in which {id} stands for the id, too.
    #[arg(long, value_name = "FILE", requires = "request")]
    pub(crate) body: Option<PathBuf>,
    /// Also send what is not GET, HEAD or OPTIONS, such as POST and DELETE: what it does is done with every request, by both services.
    #[arg(long)]
    pub(crate) allow_unsafe: bool,
}

impl SentArgs {
    /// That nothing says what is sent, before anything else is looked at.
    pub(crate) fn refuse_nothing(&self) -> Result<()> {
        if self.requests.is_none() && self.request.is_none() {
            bail!(
                "nothing says what is sent; name a file of requests, such as traffic.ndjson, or give a template: --request 'GET /items/{{id}}' --ids 16000"
            );
        }
        Ok(())
    }
}
