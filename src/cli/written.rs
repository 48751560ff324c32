//! Flags that write the result into files, for every command that has one: `report`, `gate`, `replay`, `ci`.

use clap::{Args, ValueEnum};

/// Into which files the result is written, and what is annotated.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WrittenArgs {
    /// Also write the result to a file, as KIND=FILE; KIND is text, json, markdown, html or junit. For several files, several
    /// times; `-` is standard output, in place of what --output prints.
    #[arg(long = "report", value_name = "KIND=FILE")]
    pub(crate) reports: Vec<String>,
    /// Annotate the change: tell on stderr, as a CI job reads it, what failed and which lines of parity.toml are to blame.
    #[arg(long, value_enum, value_name = "CI")]
    pub(crate) annotations: Option<Annotations>,
}

/// Whose annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Annotations {
    /// Workflow commands of GitHub Actions.
    Github,
}
