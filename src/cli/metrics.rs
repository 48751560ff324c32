//! Flags of `metrics`.

use clap::Args;

use super::flags::{Flags, OfMetrics};
use super::{ConfigFile, OutputFormat};

/// Flags of `metrics`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parity metrics --legacy-metrics http://127.0.0.1:9100/metrics --candidate-metrics http://127.0.0.1:9200/metrics
  parity metrics --window 2m --threshold 'p99 <= +10%' --threshold 'errors <= 0.1%'     both pages from parity.toml

Exit code: 0 pass, 1 fail, 3 undecided, 2 error or nothing could be read.")]
pub(crate) struct MetricsArgs {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfMetrics>,
    /// Form of the table.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}
