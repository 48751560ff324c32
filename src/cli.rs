//! The command line as types. What a command does is in [`crate::commands`].
//!
//! Help, the flag list of docs/settings.md and the parser all come from here. Flags that are settings come from the
//! definitions of the settings ([`flags`]).

mod asked;
mod ci;
mod decisions;
mod diff;
mod flags;
mod known;
mod metrics;
mod port;
mod record;
mod replay;
mod rerun;
mod rollout;
mod soak;
mod stress;
mod stub;
mod top;
mod unknown;
mod written;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use asked::{Asked, OfGate, OfReport};
pub(crate) use ci::{CiArgs, SuperviseArgs};
pub(crate) use decisions::{DecisionsCommand, ListArgs};
pub(crate) use diff::{DiffArgs, DiffKind};
use flags::{Flags, OfMirror, OfReader, OfSchema, OfSink, OfUi};
pub(crate) use known::{AddArgs, KnownCommand, ListKnownArgs, MendArgs};
pub(crate) use metrics::MetricsArgs;
pub(crate) use record::{CheckArgs, RecordArgs};
pub(crate) use replay::{ReplayArgs, SendingArgs};
pub(crate) use rerun::RerunArgs;
pub(crate) use rollout::{RolloutArgs, RolloutCommand};
pub(crate) use soak::SoakArgs;
pub(crate) use stress::{SentArgs, StressArgs};
pub(crate) use stub::StubArgs;
pub(crate) use top::TopArgs;
pub(crate) use unknown::parse;
pub(crate) use written::{Annotations, WrittenArgs};

/// Proves, from live traffic, that a candidate service answers as the legacy service does.
#[derive(Debug, Parser)]
#[command(
    name = "parity",
    version,
    about,
    after_help = "\
Examples:
  parity demo                                        see the whole job on a sample rewrite
  parity mirror --legacy http://127.0.0.1:7001 --candidate http://127.0.0.1:7002
  parity report                                      what differs, in words
  parity gate --max-mismatch-rate 0.001              0 pass, 1 fail, 3 undecided

Every flag of `mirror` is also a key of parity.toml and a variable PARITY_<FLAG>; see `parity config init`."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    // Those of every command stand behind its own, of which there are fewer than this order.
    /// Say more on stderr (twice: everything).
    #[arg(short, long, global = true, display_order = 901, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Say only errors on stderr.
    #[arg(
        short,
        long,
        global = true,
        display_order = 902,
        conflicts_with = "verbose"
    )]
    pub(crate) quiet: bool,
    /// Form of the log on stderr.
    #[arg(long, global = true, display_order = 903, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// When to use colours; `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, global = true, display_order = 904, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// As the terminal and the environment say.
    Auto,
    /// Also into a pipe.
    Always,
    /// Nowhere.
    Never,
}

impl From<Color> for anstream::ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Form of the data on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    #[default]
    Text,
    /// A document with a `schema` member, described under schemas/json.
    Json,
}

/// Form of a report or a decision on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// A document with a `schema` member, described under schemas/json.
    Json,
    /// For the summary of a CI job or the comment on a change.
    Markdown,
}

/// The commands. Each has a file in `commands`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a sample rewrite through the real proxy and print what was found
    Demo(DemoArgs),
    /// Proxy clients to the legacy, compare with the candidate, record what differs
    Mirror(MirrorArgs),
    /// Proxy clients to the legacy and record what they send, to replay or to check it
    Record(RecordArgs),
    /// Send recorded requests to both services, compare and record: exit 0, or as the gate with --gate
    Replay(Box<ReplayArgs>),
    /// Run a whole CI job: start both services, replay or run tests, decide, end all: exit 0 pass, 1 fail, 3 undecided
    Ci(Box<CiArgs>),
    /// Ask a service, and compare with the answers in a file: exit 0 as expected, 1 differs, 3 undecided
    Check(Box<CheckArgs>),
    /// Send the request of a recorded mismatch again, compare then and now: exit 0 equal, 1 differs, 3 nothing can be told
    Rerun(Box<RerunArgs>),
    /// Compare two files: exit 0 match, 1 mismatch, 3 not compared
    Diff(DiffArgs),
    /// Print what was received, compared and found different
    Report(Box<ReportArgs>),
    /// Decide: exit 0 pass, 1 fail, 3 undecided
    Gate(Box<GateArgs>),
    /// List, print, export and check the decisions that are stored
    #[command(subcommand)]
    Decisions(DecisionsCommand),
    /// Move records from Kafka into ClickHouse
    Sink(SinkArgs),
    /// Create the tables of the record in ClickHouse, or print how
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Serve the report page and the API from a store
    Ui(UiArgs),
    /// Watch a mirror, a sink or a record, live in a terminal
    Top(TopArgs),
    /// Let the candidate of a running mirror serve a share of the clients, or take them back
    #[command(subcommand)]
    Rollout(RolloutCommand),
    /// Set both services beside each other by the metrics that they export: exit 0 pass, 1 fail, 3 undecided
    Metrics(MetricsArgs),
    /// Stand in the place of the services that both call, and compare their calls: exit 0 equal, 1 differ, 3 undecided
    Stub(Box<StubArgs>),
    /// Load both services until each breaks, and compare what they hold and cost: exit 0 pass, 1 fail, 3 undecided
    Stress(Box<StressArgs>),
    /// Load both services steadily, and see what grows: exit 0 nothing, 1 the candidate, 3 undecided
    Soak(Box<SoakArgs>),
    /// Keep the register of known differences
    #[command(subcommand)]
    Known(KnownCommand),
    /// Show the rules that come with the program, and suggest others
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Write, check and show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Run a command for `parity ci` and end all that came of it
    #[command(hide = true)]
    Supervise(SuperviseArgs),
}

/// The samples of `demo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoSample {
    /// A rewrite from Go to Rust, with the differences that one has.
    #[default]
    Payments,
    /// Ids, times, counters and random order in every answer, and one regression among them.
    Noisy,
}

/// Flags of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Which sample to run.
    #[arg(value_enum, default_value_t)]
    pub(crate) sample: DemoSample,
    /// Run the legacy a second time instead of its rewrite: what differs then is noise.
    #[arg(long)]
    pub(crate) same: bool,
    /// Requests to send; of payments 4,000, of noisy 20,000, unless this says otherwise.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) requests: Option<u32>,
    /// Keep everything up afterwards: the proxy and the report page.
    #[arg(long)]
    pub(crate) serve: bool,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: ReportFormat,
}

/// Where the configuration comes from.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfigFile {
    /// Configuration file (parity.toml in the working directory, if there is one).
    #[arg(long, value_name = "FILE", env = "PARITY_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

/// What `rules` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List the profiles, or print one as TOML to read and copy
    Profile {
        /// Which one.
        name: Option<String>,
    },
    /// List how two values can be near each other, in the words that `accept` takes
    Explanations,
    /// Suggest rules for what differs in a known way, and say what gets none
    Suggest(Box<SuggestArgs>),
    /// Say what the gate would decide by the rules of the file: exit 0 pass, 1 fail, 3 undecided
    Test(Box<TestArgs>),
}

/// Flags of `rules suggest`.
#[derive(Debug, Args)]
pub(crate) struct SuggestArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) asked: Asked<OfReport>,
    /// Add the harmless rules to the configuration file; what stands there already stays as it is.
    #[arg(long)]
    pub(crate) write: bool,
    /// Take this lossy rule for decided, by its id: it is no comment then, and --write adds it, too; may be repeated.
    #[arg(long, value_name = "ID")]
    pub(crate) lossy: Vec<String>,
    /// Who answers for the rules; without it that is to be filled in.
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) owner: Option<String>,
    /// Form of the suggestions.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

/// Flags of `rules test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) asked: Asked<OfGate>,
    /// Form of what becomes of the groups.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

/// Flags of `mirror`.
#[derive(Debug, Args)]
pub(crate) struct MirrorArgs {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfMirror>,
}

/// Which record; shared by the commands that read one.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfReader>,
}

/// Flags of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) asked: Asked<OfReport>,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: ReportFormat,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
}

/// Flags of `gate`.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) asked: Asked<OfGate>,
    /// An OpenAPI 3 description, JSON or YAML, each of whose operations must be proven on its own.
    #[arg(long, value_name = "FILE")]
    pub(crate) openapi: Option<PathBuf>,
    /// While undecided, ask again for up to this long (30s, 10m, 2h).
    #[arg(long, value_name = "DURATION", value_parser = crate::config::value::duration, conflicts_with = "one-look")]
    pub(crate) wait: Option<std::time::Duration>,
    /// Do not store the decision.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Form of the decision.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: ReportFormat,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
}

/// Flags of `sink`.
#[derive(Debug, Args)]
pub(crate) struct SinkArgs {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfSink>,
    /// First create the tables, or bring them up to date.
    #[arg(long)]
    pub(crate) migrate: bool,
}

/// Commands on the tables in `ClickHouse`.
#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Create the tables, or bring them up to date; repeating it changes nothing
    Apply {
        #[command(flatten)]
        file: ConfigFile,
        #[command(flatten)]
        flags: Flags<OfSchema>,
        /// Replicated and distributed tables on this cluster.
        #[arg(long, value_name = "NAME")]
        cluster: Option<String>,
    },
    /// Print the statements
    Print {
        /// Replicated and distributed tables on this cluster.
        #[arg(long, value_name = "NAME")]
        cluster: Option<String>,
    },
}

/// Flags of `ui`.
#[derive(Debug, Args)]
pub(crate) struct UiArgs {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfUi>,
}

/// Commands on the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Write a parity.toml to start from
    Init {
        /// Where to write; `-` for standard output. An existing file is never overwritten.
        #[arg(default_value = "parity.toml")]
        file: PathBuf,
    },
    /// Report every problem with line and suggestion: exit 0 or 2
    Check {
        /// The file [default: that of --config, else parity.toml].
        file: Option<PathBuf>,
        #[command(flatten)]
        named: ConfigFile,
    },
    /// Print every setting with its value
    Show {
        #[command(flatten)]
        mirror: MirrorArgs,
        /// Also print where each value comes from.
        #[arg(long)]
        origin: bool,
        /// Form of the list.
        #[arg(long, value_enum, default_value_t)]
        output: OutputFormat,
    },
    /// Print the JSON Schema of parity.toml
    Schema,
}
