//! The command line as types. What a command does is in [`crate::commands`].
//!
//! Help, the flag list of docs/settings.md and the parser all come from here. Flags that are settings come from the
//! definitions of the settings ([`flags`]).

mod decisions;
mod diff;
mod flags;
mod unknown;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use parity_schemas::evidence::{LatencyLimit, Thresholds};
use parity_schemas::noise::NoiseUse;
use parity_schemas::verdict::Reason;

pub(crate) use decisions::{DecisionsCommand, ListArgs, StoreArgs};
pub(crate) use diff::{DiffArgs, DiffKind};
use flags::{Flags, OfMirror, OfReader, OfSchema, OfSink, OfUi};
pub(crate) use unknown::parse;

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
    /// Say more on stderr (twice: everything).
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Say only errors on stderr.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Form of the log on stderr.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// When to use colours; `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
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

/// The commands. Each has a file in `commands`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a sample rewrite through the real proxy and print what was found
    Demo(DemoArgs),
    /// Proxy clients to the legacy, compare with the candidate, record what differs
    Mirror(MirrorArgs),
    /// Compare two files: exit 0 match, 1 mismatch, 3 not compared
    Diff(DiffArgs),
    /// Print what was received, compared and found different
    Report(ReportArgs),
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
    /// Show the rules that come with the program
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Write, check and show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
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
    pub(crate) output: OutputFormat,
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
}

/// Flags of `mirror`.
#[derive(Debug, Args)]
pub(crate) struct MirrorArgs {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfMirror>,
}

/// Which evidence; shared by `report` and `gate`.
#[derive(Debug, Args)]
pub(crate) struct SelectionArgs {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfReader>,
    /// Only evidence of this candidate version [default: the latest recorded].
    #[arg(long, value_name = "TEXT")]
    pub(crate) candidate_version: Option<String>,
    /// Only intervals that began at or after this: a time (2026-01-31T09:30:00Z) or an age (15m, 2h, 7d).
    #[arg(long, value_name = "TIME|AGE")]
    pub(crate) since: Option<String>,
    /// Leave out what began in this span of time, such as a planned restart:
    /// 2026-01-31T09:30:00Z..2026-01-31T09:35:00Z=REASON; may be repeated. It is told how much that was.
    #[arg(long, value_name = "FROM..TO=REASON")]
    pub(crate) leave_out: Vec<String>,
    /// Count nothing that was received under other rules. Without it, what a change of rules does not touch is counted on.
    #[arg(long)]
    pub(crate) strict_rules: bool,
}

/// Flags of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// What to do with mismatches that are proven to be noise: use (they do not count), report (they are listed and count) or
    /// off.
    #[arg(long, value_name = "HOW", default_value = "use", value_parser = noise_use)]
    pub(crate) noise: NoiseUse,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

/// Flags of `gate`.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Highest allowed share of differing requests.
    #[arg(long, default_value_t = Thresholds::default().max_mismatch_rate, value_name = "SHARE", value_parser = share)]
    pub(crate) max_mismatch_rate: f64,
    /// Confidence that each bound must have.
    #[arg(long, default_value_t = Thresholds::default().confidence, value_name = "SHARE", value_parser = confidence)]
    pub(crate) confidence: f64,
    /// Use exact bounds, which need fewer requests but are right only for a gate that is asked once; otherwise the bounds hold
    /// however often it is asked.
    #[arg(long, conflicts_with = "wait")]
    pub(crate) one_look: bool,
    /// With fewer compared requests than this the decision is undecided.
    #[arg(long, default_value_t = Thresholds::default().min_requests, value_name = "N")]
    pub(crate) min_requests: u64,
    /// Highest allowed share of requests whose comparison parity itself dropped.
    #[arg(long, default_value_t = Thresholds::default().max_dropped, value_name = "SHARE", value_parser = share)]
    pub(crate) max_dropped: f64,
    /// Highest allowed share of pairs that cannot be compared because the client went away, the legacy failed, or the answer
    /// of the legacy or of both is a stream, too large or of an unknown encoding: in all, and of each required route.
    #[arg(long, default_value_t = Thresholds::default().max_uncomparable, value_name = "SHARE", value_parser = share)]
    pub(crate) max_uncomparable: f64,
    /// Highest allowed share of server errors (5xx) among the legacy's answers, on all routes that were compared, and on each
    /// required route.
    #[arg(long, default_value_t = Thresholds::default().max_errors, value_name = "SHARE", value_parser = share)]
    pub(crate) max_errors: f64,
    /// A route that must be proven on its own, such as "GET /users/{id}"; may be repeated.
    #[arg(long, value_name = "ROUTE", value_parser = route)]
    pub(crate) require_route: Vec<String>,
    /// Every route that was received must be proven on its own, except paths that nobody serves.
    #[arg(long)]
    pub(crate) require_all_routes: bool,
    /// An OpenAPI 3 description, JSON or YAML, each of whose operations must be proven on its own.
    #[arg(long, value_name = "FILE")]
    pub(crate) openapi: Option<PathBuf>,
    /// Evidence of a shorter time than this is undecided (30m, 12h, 7d).
    #[arg(long, value_name = "DURATION", value_parser = crate::config::value::duration)]
    pub(crate) min_duration: Option<std::time::Duration>,
    /// Highest allowed share of received requests that were not compared for this reason, such as stream=0.01: in all, and of
    /// each required route; may be repeated.
    #[arg(long, value_name = "REASON=SHARE", value_parser = not_compared)]
    pub(crate) max_not_compared: Vec<(Reason, f64)>,
    /// Highest allowed share of requests at which the candidate fails and the legacy does not (no answer, or one that cannot
    /// be compared; 5xx where the legacy has another status): of all requests, and of each required route.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) max_candidate_errors: Option<f64>,
    /// How slow the candidate may be, by a quantile of the time to the first byte, against the same quantile of the legacy:
    /// p99=1.5x, or p99=1.5x+5ms; for all requests and on each required route; may be repeated.
    #[arg(long, value_name = "QUANTILE=FACTORx")]
    pub(crate) max_latency: Vec<LatencyLimit>,
    /// A pass that rests on fewer distinct targets (method, path and query) than this is undecided.
    #[arg(long, default_value_t = Thresholds::default().min_distinct, value_name = "N")]
    pub(crate) min_distinct: u64,
    /// What to do with mismatches that are proven to be noise: use (they do not count), report (they are listed and count) or
    /// off.
    #[arg(long, value_name = "HOW", default_value = "use", value_parser = noise_use)]
    pub(crate) noise: NoiseUse,
    /// Highest allowed share of transient mismatches among the compared requests: in all, and on each required route.
    #[arg(long, value_name = "SHARE", default_value_t = Thresholds::default().max_transient, value_parser = share)]
    pub(crate) max_transient: f64,
    /// Highest share of the compared requests that may hide a difference in what is taken for noise: in all, and on each route.
    #[arg(long, value_name = "SHARE", default_value_t = Thresholds::default().max_hidden, value_parser = share)]
    pub(crate) max_hidden: f64,
    /// An instance that will not come back: its missing counts are not waited for; may be repeated.
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) gone: Vec<String>,
    /// An instance that must have written to the store; may be repeated.
    #[arg(long, value_name = "INSTANCE")]
    pub(crate) expect_instance: Vec<String>,
    /// While undecided, ask again for up to this long (30s, 10m, 2h).
    #[arg(long, value_name = "DURATION", value_parser = crate::config::value::duration)]
    pub(crate) wait: Option<std::time::Duration>,
    /// Do not store the decision.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Form of the decision.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
}

fn share(text: &str) -> Result<f64, String> {
    crate::config::value::share(text)
}

/// What to do with noise.
fn noise_use(word: &str) -> Result<NoiseUse, String> {
    word.parse().map_err(|_| {
        let known: Vec<String> = NoiseUse::ALL
            .iter()
            .map(|known| format!("{} ({})", known.as_str(), known.meaning()))
            .collect();
        format!(
            "`{word}` is not a use of noise; there are {}",
            known.join(", ")
        )
    })
}

/// A reason and a share.
fn not_compared(text: &str) -> Result<(Reason, f64), String> {
    let (word, allowed) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not REASON=SHARE; write for example stream=0.01"))?;
    let reason = word.trim().parse().map_err(|_| {
        let known: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        let hint = parity_schemas::spelling::hint(word, &known);
        format!("`{word}` is no reason why a request is not compared; {hint}")
    })?;
    Ok((reason, share(allowed.trim())?))
}

/// Checks that `text` is the label of a route as reports write it. A label in another form would name a route that can
/// never be seen, and the gate would wait for it in vain.
fn route(text: &str) -> Result<String, String> {
    use parity_schemas::route::{RoutePolicy, RouteRule};
    let text = text.trim();
    if text == parity_sink::tally::OTHER {
        return Ok(text.to_owned());
    }
    // The label of a received path may contain characters that a [[route]] must not.
    let label = text.replace(['{', '}', '?', '#'], "");
    match RouteRule::parse(&label, RoutePolicy::default()) {
        // `* /path` is a [[route]] for every method, which no label in a report begins with. A label that parsing changes
        // is not in the form that reports use.
        Ok(rule) if rule.label() == label && !label.starts_with('*') => Ok(text.to_owned()),
        Err(_) if text == "OPTIONS *" => Ok(text.to_owned()),
        _ => Err(format!(
            "`{text}` is not a route; write METHOD /template as the report has it, for example \"GET /users/{{id}}\""
        )),
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    share(text)
        .ok()
        .filter(|confidence| Thresholds::CONFIDENCE.contains(confidence))
        .ok_or_else(|| {
            format!(
                "`{text}` is not a confidence; write a number from 0.5 to below 1, for example 0.95"
            )
        })
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
