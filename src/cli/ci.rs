//! Flags of `ci`, and of the guards that it starts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::asked::{Asked, OfOwnEvidence as Asks};
use super::flags::{Flags, OfCi};
use super::replay::SendingArgs;
use super::{ConfigFile, ReportFormat, WrittenArgs};

/// How long a service may take until it answers: a slow one with a cold cache on a busy machine.
const READY_TIMEOUT: &str = "60s";

/// Flags of `ci`.
#[derive(Debug, Args)]
pub(crate) struct CiArgs {
    /// Shell command that starts the legacy, in the foreground. It is to listen on the port that PORT and `{port}` name.
    #[arg(long, value_name = "COMMAND", conflicts_with = "recorded_answers")]
    pub(crate) legacy_command: Option<String>,
    /// Shell command that starts the candidate, as --legacy-command.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) candidate_command: Option<String>,
    /// Recording to replay to both, as by `parity replay`; may be repeated.
    #[arg(
        long = "replay",
        value_name = "RECORDING",
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    pub(crate) recordings: Vec<PathBuf>,
    /// Your own test command and its arguments, run with the proxy's address in `PARITY_URL`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Another variable that gets the proxy's address, such as `BASE_URL`; may be repeated.
    #[arg(long = "url-variable", value_name = "NAME", value_parser = variable, conflicts_with = "recordings")]
    pub(crate) url_variables: Vec<String>,
    /// Path that a service answers when it is ready, with any status below 500.
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = path)]
    pub(crate) ready_path: String,
    /// How long the services may take until they are ready.
    #[arg(long, value_name = "DURATION", default_value = READY_TIMEOUT, value_parser = crate::config::value::some_time)]
    pub(crate) ready_timeout: Duration,
    /// How long the test command or the replay may take [default: as long as it takes].
    #[arg(long, value_name = "DURATION", value_parser = crate::config::value::some_time)]
    pub(crate) timeout: Option<Duration>,
    /// Folder in which the logs of the services are kept [default: a new one, kept unless the job exits with 0].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) logs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfCi>,
    #[command(flatten)]
    pub(crate) sending: SendingArgs,
    #[command(flatten)]
    pub(crate) asked: Asked<Asks>,
    /// An OpenAPI 3 description, JSON or YAML, each of whose operations must be proven on its own.
    #[arg(long, value_name = "FILE")]
    pub(crate) openapi: Option<PathBuf>,
    /// Form of the decision.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: ReportFormat,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
}

/// Words of a command under a guard.
#[derive(Debug, Args)]
pub(crate) struct SuperviseArgs {
    /// The command.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// The path of a request.
fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && text.parse::<http::uri::PathAndQuery>().is_ok();
    is_path
        .then(|| text.to_owned())
        .ok_or_else(|| format!("`{text}` is not the path of a request; write for example /healthz"))
}

/// The name of a variable.
fn variable(text: &str) -> Result<String, String> {
    let mut characters = text.chars();
    let first = characters.next();
    let is_name = first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_');
    is_name.then(|| text.to_owned()).ok_or_else(|| {
        format!("`{text}` is not the name of a variable; write for example BASE_URL")
    })
}
