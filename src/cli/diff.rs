//! Flags of `diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::OutputFormat;
use super::flags::{Flags, OfDiff};

/// Kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffKind {
    /// By structure, numbers as exact decimals.
    Json,
    /// A JSON document on each line.
    Ndjson,
    /// As data.
    Yaml,
    /// As data.
    Xml,
    /// By row and column, where the first line is names.
    Csv,
    /// By line.
    Text,
    /// A raw HTTP/1 answer: status, headers and body.
    Http,
    /// By hash and length.
    Bytes,
}

/// Flags of `diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parity diff before.json after.json
  curl -s http://127.0.0.1:7002/users/42 | parity diff saved.json -
  curl -i http://127.0.0.1:7001/users > old.http; curl -i http://127.0.0.1:7002/users > new.http
  parity diff old.http new.http --rules parity.toml       status, headers and body
  parity diff old.http new.http --rules parity.toml --route 'GET /users/42'
  parity diff --stat before.json after.json               one line for each pattern
  parity diff --all --color always old.json new.json | less -R

Files that are compressed with gzip or zstd are decompressed first, unless --as bytes is given.
Exit code: 0 match, 1 mismatch, 3 not compared, 2 error.")]
pub(crate) struct DiffArgs {
    /// The legacy's document; `-` for standard input.
    pub(crate) legacy: PathBuf,
    /// The candidate's document; `-` for standard input.
    pub(crate) candidate: PathBuf,
    /// Kind of both [default: by extension, else by an HTTP/ first line, else by a look].
    #[arg(long = "as", value_enum)]
    pub(crate) kind: Option<DiffKind>,
    /// A configuration whose `[[rule]]` entries apply, except those for a single route without --route.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// The request that both answer, or its route, so that rules for it apply: 'GET /users/42' or 'GET /users/{id}'.
    #[arg(long, value_name = "'METHOD /PATH'", requires = "rules")]
    pub(crate) route: Option<String>,
    #[command(flatten)]
    pub(crate) flags: Flags<OfDiff>,
    /// Count by pattern, one line each, instead of showing values.
    #[arg(long)]
    pub(crate) stat: bool,
    /// Show every difference and all of each value, and list what was tolerated; else what is alike is folded.
    #[arg(long)]
    pub(crate) all: bool,
    /// Form of the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}
