//! Flags of `stub`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http::{HeaderName, Uri};

use super::flags::{Flags, OfStub};
use super::{ConfigFile, OutputFormat};
use crate::stub::Shadowed;

/// As long as the candidate may take for an answer: then its calls have come.
const WAIT: &str = "5s";
/// Less than the patience of most services, so that a candidate that calls in another way is answered, and not cut off.
const ANSWER_WAIT: &str = "2s";
/// The time of a service behind the stub.
const UPSTREAM_DEADLINE: &str = "5s";

/// Fewer equal pairs say nothing of a service.
const MIN_CALLS: u64 = 10;

/// Flags of `stub`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parity stub --legacy-listen 127.0.0.1:7101 --candidate-listen 127.0.0.1:7102 --answers answers.toml
  parity stub --legacy-listen 127.0.0.1:7101 --candidate-listen 127.0.0.1:7102 --upstream http://127.0.0.1:7200 --for 30s

Exit code: 0 all calls are equal, 1 they differ, 3 undecided, 2 error.")]
#[group(id = "source", required = true, multiple = false, args = ["answers", "upstream"])]
pub(crate) struct StubArgs {
    /// Where the legacy makes its calls.
    #[arg(long, value_name = "ADDR")]
    pub(crate) legacy_listen: SocketAddr,
    /// Where the candidate makes its calls.
    #[arg(long, value_name = "ADDR")]
    pub(crate) candidate_listen: SocketAddr,
    /// File with the answers to both: [[answer]] with match, status, headers, body.
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Service that the legacy's calls are sent to; the candidate's same calls get what the legacy got.
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<Uri>,
    /// An answer of that service must be whole within this time.
    #[arg(long, value_name = "DURATION", default_value = UPSTREAM_DEADLINE, value_parser = crate::config::value::some_time)]
    pub(crate) upstream_deadline: Duration,
    /// How long the candidate waits for what the legacy got.
    #[arg(long, value_name = "DURATION", default_value = ANSWER_WAIT, value_parser = crate::config::value::some_time)]
    pub(crate) answer_wait: Duration,
    /// End after this time; without it, SIGINT or SIGTERM does.
    #[arg(long = "for", value_name = "DURATION", value_parser = crate::config::value::some_time)]
    pub(crate) time: Option<Duration>,
    /// How long a call waits for its partner; then it is missing or extra.
    #[arg(long, value_name = "DURATION", default_value = WAIT, value_parser = crate::config::value::some_time)]
    pub(crate) wait: Duration,
    /// Header that both sides' calls for one request have in common; the first that a call has applies.
    #[arg(long, value_name = "HEADER", value_delimiter = ',', default_values = ["x-request-id", "x-correlation-id", "traceparent"])]
    pub(crate) correlate_by: Vec<HeaderName>,
    /// The calls of one request may come in any order.
    #[arg(long)]
    pub(crate) any_order: bool,
    /// Whether each request reaches the candidate: with some, calls of requests that never reached it do not count; without the flag
    /// they leave it undecided.
    #[arg(long, value_enum)]
    pub(crate) shadowed: Option<Shadowed>,
    /// A pass needs so many equal pairs.
    #[arg(long, value_name = "N", default_value_t = MIN_CALLS)]
    pub(crate) min_calls: u64,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfStub>,
    /// Form of the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
    /// Also write the result to a file, as KIND=FILE; KIND is text or json. For several files, several times.
    #[arg(long = "report", value_name = "KIND=FILE")]
    pub(crate) reports: Vec<String>,
}
