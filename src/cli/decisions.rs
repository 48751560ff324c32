//! The command line of `parity decisions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use parity_dashboards::question::values;
use parity_schemas::evidence::Outcome;
use uuid::Uuid;

use super::{ConfigFile, OutputFormat, ReportFormat, StoreArgs};

/// Decisions that a list has unless asked for more: a screenful.
const LISTED: usize = 50;

/// Commands on stored decisions.
#[derive(Debug, Subcommand)]
pub(crate) enum DecisionsCommand {
    /// List stored decisions, the newest first
    List(ListArgs),
    /// Print a stored decision as the gate printed it
    Show {
        /// Its id, as the list has it [default: the newest of the migration].
        id: Option<Uuid>,
        #[command(flatten)]
        store: StoreArgs,
        /// Form of the decision.
        #[arg(long, value_enum, default_value_t)]
        output: ReportFormat,
    },
    /// Write a decision and all that it rests on into one file
    Export {
        /// Its id, as the list has it [default: the newest of the migration].
        id: Option<Uuid>,
        #[command(flatten)]
        store: StoreArgs,
        /// Where to write; `-` for standard output. An existing file is only overwritten with `--force`.
        #[arg(long, value_name = "FILE", default_value = "-")]
        to: PathBuf,
        /// Overwrite the file if it exists.
        #[arg(long)]
        force: bool,
    },
    /// Check an exported decision: exit 0 if it holds, 1 if not
    Verify {
        /// The exported file; `-` for standard input.
        file: PathBuf,
        /// Also check that this store has the decision, and that its counts still add up to it.
        #[arg(long, value_name = "URL")]
        store: Option<String>,
        #[command(flatten)]
        config: ConfigFile,
        /// Form of the result.
        #[arg(long, value_enum, default_value_t)]
        output: OutputFormat,
    },
}

/// Flags of `decisions list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Only with this outcome: pass, fail or undecided.
    #[arg(long, value_name = "OUTCOME", value_parser = values::outcome)]
    pub(crate) outcome: Option<Outcome>,
    /// Decisions of all migrations.
    #[arg(long, conflicts_with = "migration")]
    pub(crate) all_migrations: bool,
    /// How many.
    #[arg(long, default_value_t = LISTED, value_name = "N", value_parser = limit)]
    pub(crate) limit: usize,
    /// The next page: what the page before gave as `next`.
    #[arg(long, value_name = "PLACE")]
    pub(crate) after: Option<String>,
    /// Form of the list.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

fn limit(text: &str) -> Result<usize, String> {
    values::limit(text, parity_sink::read::MAX_DECISIONS)
}
