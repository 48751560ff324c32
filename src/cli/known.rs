//! `parity known`: the register of known differences.

use clap::{Args, Subcommand};

use super::{OutputFormat, StoreArgs};

/// What `known` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum KnownCommand {
    /// Enter differences as known into parity.toml, whose comments stay
    Add(Box<AddArgs>),
    /// List the known differences with their states and counts, and what counts and is not known
    List(ListKnownArgs),
    /// Say that a known difference is mended: seen after that, it is back
    Mend(MendArgs),
}

/// Flags of `known add`.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Groups that the record has, as `parity known list` names them. With each comes what the report shows as one with it: the
    /// same difference with values of other shapes.
    #[arg(value_name = "FINGERPRINT", conflicts_with_all = ["baseline", "route", "part", "path", "kind", "explanation"])]
    pub(crate) fingerprints: Vec<String>,
    /// Enter all differences that count today and that no entry means, each on its own.
    #[arg(long, conflicts_with_all = ["id", "route", "part", "path", "kind", "explanation"])]
    pub(crate) baseline: bool,
    /// With --baseline, enter also what looks like noise: rechecks find that the legacy itself differs there.
    #[arg(long, requires = "baseline")]
    pub(crate) with_likely_noise: bool,
    /// Only on this route.
    #[arg(long, value_name = "ROUTE")]
    pub(crate) route: Option<String>,
    /// Only in this part of the answer.
    #[arg(long, value_name = "PART")]
    pub(crate) part: Option<String>,
    /// Only at this place, such as /items/*/price; `**` is any number of steps.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Only what differs so.
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only what is near each other so.
    #[arg(long, value_name = "WORD")]
    pub(crate) explanation: Option<String>,
    /// The name of the entry [default: the fingerprint, or known-N].
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// Who answers for it.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: String,
    /// Why it is there.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Where it is worked on.
    #[arg(long, value_name = "TEXT")]
    pub(crate) ticket: Option<String>,
    /// From when on it excuses nothing: a date or a time.
    #[arg(long, value_name = "DATE")]
    pub(crate) expires: Option<String>,
    /// Whether it counts against the candidate.
    #[arg(long, value_name = "true|false", action = clap::ArgAction::Set, default_value_t = true)]
    pub(crate) blocks: bool,
    /// The share of the compared requests of a route that may have it; over twice that, it grows [default: the upper bound of
    /// what was seen].
    #[arg(long, value_name = "SHARE", conflicts_with = "baseline")]
    pub(crate) rate: Option<f64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Flags of `known list`.
#[derive(Debug, Args)]
pub(crate) struct ListKnownArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Form of the list.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

/// Flags of `known mend`.
#[derive(Debug, Args)]
pub(crate) struct MendArgs {
    /// The name of the entry.
    pub(crate) id: String,
    /// When it was mended: a date or a time that has come [default: now].
    #[arg(long, value_name = "DATE")]
    pub(crate) on: Option<String>,
    #[command(flatten)]
    pub(crate) file: super::ConfigFile,
}
