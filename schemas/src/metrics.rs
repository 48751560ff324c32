//! The document of `parity metrics`: what two services say of themselves over the same time, set beside each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

/// Name and version of the document.
pub const METRICS_SCHEMA: &str = "parity.metrics/v1";

vocabulary! {
    /// What a metric of a service is about.
    Subject as "subject of a metric" {
        /// A histogram or a summary.
        Latency = "latency" => "how long requests take",
        /// A counter.
        Requests = "requests" => "how many requests were answered, with their status if a label says it",
        /// A counter of seconds.
        Cpu = "cpu" => "CPU time of the process",
        /// A gauge.
        Memory = "memory" => "resident memory of the process",
        /// A gauge.
        Heap = "heap" => "what the runtime holds of it",
        /// A summary or a histogram.
        Pauses = "pauses" => "pauses of the garbage collector",
        /// A gauge.
        Descriptors = "descriptors" => "open files and sockets",
        /// A gauge.
        Threads = "threads" => "threads of the process",
        /// A gauge.
        Start = "start" => "when the process started",
    }
}

impl Subject {
    /// Whether its numbers are times or sizes.
    pub fn has_unit(self) -> bool {
        !matches!(self, Self::Requests | Self::Descriptors | Self::Threads)
    }
}

vocabulary! {
    /// What is compared.
    Measure as "measure" {
        /// Requests in a second.
        Rate = "rate" => "requests a second",
        /// A share of the requests.
        Errors = "errors" => "share of requests that the service itself failed",
        /// In seconds.
        P50 = "p50" => "half of the requests take at most this long",
        /// In seconds.
        P95 = "p95" => "95 of 100 requests take at most this long",
        /// In seconds.
        P99 = "p99" => "99 of 100 requests take at most this long",
        /// In seconds.
        P999 = "p999" => "999 of 1,000 requests take at most this long",
        /// In cores.
        Cpu = "cpu" => "cores in use",
        /// In seconds.
        CpuPerRequest = "cpu_per_request" => "CPU time of a request",
        /// In bytes.
        Rss = "rss" => "resident memory, the median of what was seen",
        /// In bytes.
        RssMax = "rss_max" => "the most resident memory that was seen",
        /// In bytes. No page of metrics tells it; `parity stress` reads it of processes.
        Anon = "anon" => "resident memory without pages of files, the median of what was seen",
        /// In bytes.
        Heap = "heap" => "heap in use, the median of what was seen",
        /// In seconds.
        GcMax = "gc_max" => "the longest pause of the garbage collector that is shown",
        /// A share of the time.
        GcShare = "gc_share" => "share of the time in pauses of the garbage collector",
        /// A number.
        Descriptors = "descriptors" => "the most open files and sockets that were seen",
        /// A number.
        Threads = "threads" => "the most threads that were seen",
        /// In seconds.
        Uptime = "uptime" => "how long the process runs",
    }
}

/// What the numbers of a measure are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second.
    PerSecond,
    /// Between 0 and 1.
    Share,
    /// A time.
    Seconds,
    /// CPU seconds in a second.
    Cores,
    /// A size.
    Bytes,
    /// A number of things.
    Number,
}

impl Measure {
    /// What its numbers are.
    pub fn unit(self) -> Unit {
        match self {
            Self::Rate => Unit::PerSecond,
            Self::Errors | Self::GcShare => Unit::Share,
            Self::P50
            | Self::P95
            | Self::P99
            | Self::P999
            | Self::CpuPerRequest
            | Self::GcMax
            | Self::Uptime => Unit::Seconds,
            Self::Cpu => Unit::Cores,
            Self::Rss | Self::RssMax | Self::Anon | Self::Heap => Unit::Bytes,
            Self::Descriptors | Self::Threads => Unit::Number,
        }
    }
}

/// What two services say of themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsDocument {
    /// [`METRICS_SCHEMA`].
    pub schema: String,
    /// What the exit code says: all thresholds hold, one is broken, or one cannot be told. Without thresholds, `pass` if anything
    /// could be set beside each other.
    pub outcome: MetricsOutcome,
    /// Whether it was ended before its time: what it says is then of a shorter one, and no pass.
    pub interrupted: bool,
    /// From the first page to the last.
    pub seconds: f64,
    /// The pages of the legacy.
    pub legacy: MetricsSide,
    /// The pages of the candidate.
    pub candidate: MetricsSide,
    /// One for each measure, in a fixed order.
    pub measures: Vec<Measured>,
    /// As they were given.
    pub thresholds: Vec<JudgedThreshold>,
}

impl MetricsDocument {
    /// The same, ended before its time. What is broken already stays so; what holds until then may not hold for the whole time.
    #[must_use]
    pub fn interrupted(mut self) -> Self {
        self.interrupted = true;
        self.outcome = self.outcome.max(MetricsOutcome::Undecided);
        self
    }
}

/// What a comparison of metrics says in one word.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MetricsOutcome {
    /// It holds.
    Pass,
    /// It cannot be told.
    Undecided,
    /// It does not hold.
    Fail,
}

impl MetricsOutcome {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Undecided => "undecided",
            Self::Fail => "fail",
        }
    }
}

/// The pages of one service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsSide {
    /// Where they came from.
    pub target: String,
    /// How many could be read.
    pub pages: u64,
    /// How many could not.
    pub failed: u64,
    /// From the first of them to the last.
    pub seconds: f64,
    /// How often the process began anew meanwhile, as far as it says when it started.
    pub restarts: u64,
    /// Lines of the pages that could not be read.
    pub unreadable_lines: u64,
    /// What a reader should know of them.
    pub notes: Vec<String>,
}

/// One measure of both services.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Which one.
    pub measure: Measure,
    /// Of the legacy; absent if it could not be measured.
    pub legacy: Option<MetricValue>,
    /// Of the candidate, likewise.
    pub candidate: Option<MetricValue>,
    /// The candidate's by the legacy's, less 1: 0.1 is a tenth more. Absent if one is missing, or the legacy's is 0.
    pub change: Option<f64>,
    /// Why one is missing, or what to know of it.
    pub notes: Vec<String>,
}

impl Measured {
    /// Both values beside each other.
    pub fn of(
        measure: Measure,
        legacy: Option<MetricValue>,
        candidate: Option<MetricValue>,
    ) -> Self {
        let change = legacy.as_ref().zip(candidate.as_ref());
        let change = change.and_then(|(legacy, candidate)| {
            let ratio = candidate.value / legacy.value - 1.0;
            ratio.is_finite().then_some(ratio)
        });
        Self {
            measure,
            legacy,
            candidate,
            change,
            notes: Vec::new(),
        }
    }
}

/// A number with what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricValue {
    /// In seconds, bytes, cores, requests a second, or as a share or a number, as the measure is.
    pub value: f64,
    /// It is not below this: the edge of a bucket, with the chance of a sample. Absent if nothing tells.
    pub low: Option<f64>,
    /// It is not above this, likewise.
    pub high: Option<f64>,
    /// The metric that says it.
    pub metric: String,
    /// How many requests it rests on, if it rests on requests.
    pub requests: Option<u64>,
}

/// A threshold with what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedThreshold {
    /// As it was given.
    pub threshold: String,
    /// Whether it holds.
    pub outcome: MetricsOutcome,
    /// Why, in a sentence.
    pub why: String,
}
