//! Flags of `soak`.

use std::path::PathBuf;

use clap::Args;

use super::flags::{Flags, OfSoak};
use super::{ConfigFile, OutputFormat, SentArgs};

/// Flags of `soak`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parity soak --request 'GET /balance/{id}' --ids 16000 --rate 500 --for 30m --legacy-pid 4711 --candidate-pid 4712
  parity soak traffic.ndjson --candidate-metrics http://127.0.0.1:9200/metrics      both services from parity.toml
  parity soak traffic.ndjson --candidate-pid 4712 --html soak.html

Exit code: 0 nothing grows, 1 the candidate grows or fails, 3 undecided, 2 error.")]
pub(crate) struct SoakArgs {
    #[command(flatten)]
    pub(crate) sent: SentArgs,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfSoak>,
    /// Also write a report with charts: one HTML file that stands alone.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Form of the result on stdout.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}
