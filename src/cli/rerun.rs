//! Flags of `rerun`.

use clap::Args;

use super::flags::{Flags, OfRerun};
use super::{ConfigFile, OutputFormat};

/// Flags of `rerun`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parity rerun 01983a52-6f0e-7c1d-9a45-2b7c6d1e8f90 --legacy http://127.0.0.1:7001 --candidate http://127.0.0.1:7002
  parity rerun 01983a52-6f0e-7c1d-9a45-2b7c6d1e8f90 --allow-unsafe     both services from parity.toml; also a POST

Exit code: 0 equal now, 1 differs, 3 nothing can be told, 2 error.")]
pub(crate) struct RerunArgs {
    /// The id of a recorded mismatch, as the page, the API and the JSON report have it.
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfRerun>,
    #[command(flatten)]
    pub(crate) sending: AgainArgs,
    /// Show every value as a whole.
    #[arg(long)]
    pub(crate) all: bool,
    /// Form of the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

/// What is sent although it may do harm or prove little.
#[derive(Debug, Args)]
pub(crate) struct AgainArgs {
    /// Also send what is not GET, HEAD or OPTIONS, such as POST and DELETE: what it did is done again, by both services.
    #[arg(long)]
    pub(crate) allow_unsafe: bool,
    /// Send the request also without what the record hides and it needs.
    #[arg(long)]
    pub(crate) accept_hidden: bool,
    /// Take what was sent for the whole request, whatever was left out of it: what is not shown again then counts as gone.
    #[arg(long)]
    pub(crate) accept_left_out: bool,
}
