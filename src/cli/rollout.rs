//! Flags of `rollout`.

use clap::{Args, Subcommand};

use super::OutputFormat;
use super::port::PortArgs;

/// What `rollout` does.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  parity rollout status                          the mirror of this machine
  parity rollout set 30                          30 % of the clients, if the gate passes
  parity rollout back --admin https://10.0.0.7:9900 --token-file token

Exit code of set and back: 0 done, 1 not done, because the mirror says that it must not be (the gate does
not pass, or the candidate has not served enough). Of status: 0 it stands as it is wanted, 1 it fell back,
3 it waits. Of all: 2 error: nothing answers, the token is refused, or that mirror has no rollout.")]
pub(crate) enum RolloutCommand {
    /// Print which share of the clients the candidate serves, and why
    Status(RolloutArgs),
    /// Let the candidate serve a percent of the clients; a step up needs the gate to pass, and requests that it served
    Set {
        /// Percent of the clients, 0 to 100.
        #[arg(value_parser = parity_schemas::value::percent, allow_negative_numbers = true)]
        percent: f64,
        /// Take the step although the candidate has not served enough requests; the record says so.
        #[arg(long)]
        insist: bool,
        #[command(flatten)]
        args: RolloutArgs,
    },
    /// Take all clients back to the legacy; they stay there until a percent is set
    Back(RolloutArgs),
}

/// Flags of each of them.
#[derive(Debug, Args)]
pub(crate) struct RolloutArgs {
    #[command(flatten)]
    pub(crate) port: PortArgs,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}
