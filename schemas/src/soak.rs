//! The document of `parity soak`: whether memory, open files or threads grow under a steady load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metrics::MetricsOutcome;
use crate::stress::{LoadAnswers, LoadGenerator, LoadRequests, LoadRun};
use crate::vocabulary::{UnknownWord, vocabulary};

/// Name and version of the document.
pub const SOAK_SCHEMA: &str = "parity.soak/v1";

vocabulary! {
    /// What may grow.
    Grows as "measure of a soak" {
        /// In bytes.
        Rss = "rss" => "resident memory",
        /// In bytes; of processes, where the system tells it apart.
        Anon = "anon" => "resident memory without pages of files",
        /// A number.
        Descriptors = "descriptors" => "open files and sockets",
        /// A number.
        Threads = "threads" => "threads",
    }
}

impl Grows {
    /// The verb behind its meaning.
    pub fn grows(self) -> &'static str {
        match self {
            Self::Rss | Self::Anon => "grows",
            Self::Descriptors | Self::Threads => "grow",
        }
    }
}

vocabulary! {
    /// What is said of a series.
    SoakVerdict as "verdict of a series" {
        /// Nothing says that it grows.
        Flat = "flat" => "it does not grow",
        /// Steadily, and by no more than is allowed.
        BelowLimit = "below_limit" => "it grows, by less than is allowed",
        /// Steadily, and by more than is allowed.
        Growing = "growing" => "it grows",
        /// It cannot be told.
        Undecided = "undecided" => "it cannot be told",
    }
}

/// What a steady load did to two services, and to parity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakDocument {
    /// [`SOAK_SCHEMA`].
    pub schema: String,
    /// What the exit code says.
    pub outcome: MetricsOutcome,
    /// Why, one sentence each.
    pub reasons: Vec<String>,
    /// Whether it was ended before its time; what was measured until then is judged all the same.
    pub interrupted: bool,
    /// How long the load was, warm-up included.
    pub seconds: f64,
    /// What of it was left out at the beginning.
    pub warm_up: f64,
    /// Requests a second to each service.
    pub rate: u32,
    /// How sure the tests are.
    pub confidence: f64,
    /// Growth of the memory over the whole time that is none, in bytes.
    pub allowed: f64,
    /// What was sent.
    pub requests: LoadRequests,
    /// The legacy.
    pub legacy: SoakSide,
    /// The candidate.
    pub candidate: SoakSide,
    /// Of parity itself, by requests to both services.
    pub own: Vec<SoakTrend>,
    /// Whether both answered alike meanwhile; absent if nothing was to be compared.
    pub answers: Option<LoadAnswers>,
    /// What parity itself did.
    pub generator: LoadGenerator,
}

/// One service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakSide {
    /// Its address.
    pub target: String,
    /// What became of the requests.
    pub load: LoadRun,
    /// What could be read of it.
    pub trends: Vec<SoakTrend>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// A series with its trend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakTrend {
    /// Of what.
    pub of: Grows,
    /// `process`, `cgroup`, or the metric that says it.
    pub source: String,
    /// What is said of it.
    pub verdict: SoakVerdict,
    /// Why it is undecided.
    pub why: Option<String>,
    /// How often it was read after the warm-up.
    pub samples: u64,
    /// Median of the first block of the time; absent if there are too few samples.
    pub first: Option<f64>,
    /// Median of the last block.
    pub last: Option<f64>,
    /// Growth by a request; absent if it is undecided.
    pub per_request: Option<SoakSlope>,
    /// Growth in an hour at this rate.
    pub per_hour: Option<SoakSlope>,
    /// What was added at once, by at most two jumps, which are no leak.
    pub jumps: f64,
    /// Medians of the blocks that it is judged by: seconds after the warm-up, and the value.
    #[serde(default)]
    pub blocks: Vec<[f64; 2]>,
}

/// A slope with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakSlope {
    /// The median of all slopes.
    pub value: f64,
    /// It is not below this.
    pub low: f64,
    /// It is not above this.
    pub high: f64,
}
