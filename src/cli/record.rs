//! Flags of `record` and `check`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use parity_mirror::replay::Format;

use super::flags::{Flags, OfCheck, OfRecord};
use super::{ConfigFile, OutputFormat};

/// Samples of a kind, if nobody says otherwise: one may be special, and a file with more is not read by anybody.
const SAMPLES: &str = "3";
/// For one answer: what a user waits for, and less than a probe has in all.
const DEADLINE: &str = "5s";
/// For all: the usual patience of a step that deploys.
const TIMEOUT: &str = "60s";

/// Flags of `record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Where to; packed by zstd if the name ends in .zst.
    pub(crate) recording: PathBuf,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfRecord>,
    /// Keep only so many requests of each route and status, with answers, for `parity check`.
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true, default_missing_value = SAMPLES)]
    pub(crate) samples: Option<NonZeroUsize>,
}

/// Flags of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Requests with the answers that are expected, in a format that `parity replay` reads; `-` is standard input.
    pub(crate) requests: PathBuf,
    /// The service that is asked: `http://HOST:PORT`, `https://HOST` or `unix:/PATH`.
    #[arg(long, value_name = "URL")]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfCheck>,
    /// Format of the file, if it cannot be found out: ndjson, har, goreplay.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// An answer must be whole within this time.
    #[arg(long, value_name = "DURATION", default_value = DEADLINE, value_parser = crate::config::value::some_time)]
    pub(crate) deadline: Duration,
    /// All must be read and asked within this time.
    #[arg(long, value_name = "DURATION", default_value = TIMEOUT, value_parser = crate::config::value::some_time)]
    pub(crate) timeout: Duration,
    /// Also send what is not GET, HEAD or OPTIONS, such as POST and DELETE.
    #[arg(long)]
    pub(crate) allow_unsafe: bool,
    /// A pass is one although the file hides whole bodies of answers, so that only status and header fields were compared.
    #[arg(long)]
    pub(crate) accept_hidden: bool,
    /// Form of the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}
