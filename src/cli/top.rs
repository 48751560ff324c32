//! Flags of `top`.

use std::time::Duration;

use clap::Args;

use super::port::PortArgs;

/// Flags of `top`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parity top                                     the mirror of this machine
  parity top --admin http://10.0.0.7:9900 --token-file token --since 1h
  parity top --once                              print it once, as text; so does a pipe

Exit code: 0; 2 on a wrong command line, or where nothing can be printed.")]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) port: PortArgs,
    /// The migration; that of the process unless this says otherwise.
    #[arg(long, value_name = "NAME")]
    pub(crate) migration: Option<String>,
    /// Only what was counted since: a time, or an age such as 15m, 2h or 7d, which goes on.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// How often it is asked.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = crate::config::value::some_time)]
    pub(crate) interval: Duration,
    /// Print everything once as text, and end.
    #[arg(long)]
    pub(crate) once: bool,
}
