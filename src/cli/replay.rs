//! Flags of `replay`.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use parity_mirror::replay::{Cookies, Format, LogFormat, Speed};

use super::asked::{Asked, OfOwnEvidence as Asks};
use super::flags::{Flags, OfReplay};
use super::{ConfigFile, ReportFormat, WrittenArgs};

/// Requests in flight: as many as a few browsers have, so that a service is busy and its queues are not full.
const CONCURRENCY: &str = "16";

/// Flags of `replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Recordings, one after the other: NDJSON, HAR, GoReplay, access log or curl commands, also packed; `-` is standard input.
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    #[command(flatten)]
    pub(crate) flags: Flags<OfReplay>,
    #[command(flatten)]
    pub(crate) sending: SendingArgs,
    /// Decide on what was replayed, and exit with that: 0 pass, 1 fail, 3 undecided.
    #[arg(long)]
    pub(crate) gate: bool,
    #[command(flatten)]
    pub(crate) asked: Asked<Asks>,
    /// Form of the report, or of the decision.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: ReportFormat,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
}

/// What of a recording is sent, and how; of `replay` and `ci`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct SendingArgs {
    /// Format of the recordings, if it cannot be found out: ndjson, har, goreplay, access-log, curl.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// Lines of the access log, in nginx's notation: `$msec $host "$request"`.
    #[arg(long, value_name = "LINE", conflicts_with = "format")]
    pub(crate) access_log: Option<LogFormat>,
    /// Take the requests for this host; `any` takes all [default: the host of the first request].
    #[arg(long = "host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// Keep the times of the recording, so many times faster (1x, 10x, 0.5x).
    #[arg(long, conflicts_with = "rate")]
    pub(crate) speed: Option<Speed>,
    /// Requests a second, evenly [default: as fast as the services answer].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) rate: Option<NonZeroU32>,
    /// Requests in flight at most.
    #[arg(long, value_name = "NUMBER", default_value = CONCURRENCY)]
    pub(crate) concurrency: NonZeroUsize,
    /// End after so many requests.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<NonZeroU64>,
    /// Requests that the recording gives no session are one: they are sent one after the other, and what a service sets or gives out
    /// goes with the later ones.
    #[arg(long)]
    pub(crate) one_session: bool,
    /// Cookies that a service sets within a session: replace (in requests that were recorded with cookies), all (in every later
    /// request), off (they are sent as they were recorded).
    #[arg(long, value_name = "WHERE", default_value = "replace")]
    pub(crate) cookies: Cookies,
    /// Compare the candidate with the answers of the recording; no legacy is asked.
    #[arg(long)]
    pub(crate) recorded_answers: bool,
    /// Also send what is not GET, HEAD or OPTIONS, such as POST and DELETE: what it does is done again, by both services.
    #[arg(long)]
    pub(crate) allow_unsafe: bool,
    /// A pass is one although the recording hides what requests need, or whole bodies of answers.
    #[arg(long)]
    pub(crate) accept_hidden: bool,
    /// Exit 2 if any part of the recordings could not be read.
    #[arg(long)]
    pub(crate) strict: bool,
}

impl SendingArgs {
    /// A flag that was given and has no effect where nothing is replayed.
    pub(crate) fn needs_a_recording(&self) -> Option<&'static str> {
        let given = [
            ("--format", self.format.is_some()),
            ("--access-log", self.access_log.is_some()),
            ("--host", !self.hosts.is_empty()),
            ("--speed", self.speed.is_some()),
            ("--rate", self.rate.is_some()),
            ("--concurrency", self.concurrency.to_string() != CONCURRENCY),
            ("--limit", self.limit.is_some()),
            ("--one-session", self.one_session),
            ("--cookies", self.cookies != Cookies::default()),
            ("--recorded-answers", self.recorded_answers),
            ("--accept-hidden", self.accept_hidden),
            ("--strict", self.strict),
        ];
        let first = given.into_iter().find(|(_, is_given)| *is_given);
        first.map(|(flag, _)| flag)
    }
}
