//! What `parity metrics` reads, for how long, and where each service says what. Two rewrites of one service seldom name their metrics
//! alike, so each side has names of its own.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use parity_comparator::metrics::{Judged, Source, Threshold};
use parity_schemas::metrics::Subject;

#[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
use super::*;

/// How long it looks, and what is demanded.
pub(crate) mod window {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        WINDOW: One<Duration> = duration("metrics.window", "How long `parity metrics` looks at both services")
            .read_as(some_time).default("30s").flag("--window", "DURATION");
        INTERVAL: One<Duration> = duration("metrics.interval", "How often it reads both pages meanwhile; at the beginning and at the end in any case")
            .read_as(some_time).default("1s").flag("--interval", "DURATION");
        DEADLINE: One<Duration> = duration("metrics.deadline", "A page must be there whole within this time")
            .read_as(some_time).default("5s").flag("--deadline", "DURATION");
        THRESHOLDS: Many<Threshold> = list("metrics.thresholds", "What the candidate must hold: `p99 <= 50ms` alone, `p99 <= +10%` beside the legacy; with the other measures as well")
            .read_as(parsed).empty().flag("--threshold", "LIMIT");
        JUDGED_BY: One<Judged> = text("metrics.judged_by", "bounds: what could be on either side of a limit is undecided; values: as a dashboard shows them")
            .read_as(|text| value::word(text, &Judged::WORDS))
            .default_of(|| default::word(&Judged::default(), &Judged::WORDS)).flag("--judged-by", "bounds|values");
    }
}

/// The settings of the metrics of one side.
pub(crate) struct MetricsOfSide {
    pub(crate) url: &'static One<Uri>,
    pub(crate) credentials_file: &'static One<PathBuf>,
    pub(crate) names: [(Subject, &'static One<Source>); 9],
}

/// Declares a name of one side.
macro_rules! named {
    ($side:literal, $key:literal, $subject:ident, $about:expr) => {
        text(concat!($side, "_metrics.", $key), $about)
            .read_as(|text| value::metrics::source(text, Subject::$subject))
    };
}

/// Declares the settings of one side.
macro_rules! side {
    ($side:literal, $example:literal) => {
        #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
        use super::*;

        settings! {
            URL: One<Uri> = One::new(
                concat!($side, "_metrics.url"),
                Kind::Upstream,
                value::metrics::page,
                concat!("Page with the metrics of the ", $side, ", http or https: `http://HOST:PORT/metrics`, which is also meant without a path"),
            ).example($example).flag(concat!("--", $side, "-metrics"), "URL");
            CREDENTIALS_FILE: One<PathBuf> = path(
                concat!($side, "_metrics.credentials_file"),
                "File with headers for that page which are secret, one \"name: value\" on a line; # begins a comment",
            );
            LATENCY: One<Source> = named!($side, "latency", Latency, "Histogram or summary of how long requests take, where it has no usual name: name{label=\"value\"} in ms")
                .example("took{route!=\"/healthz\"} in ms");
            REQUESTS: One<Source> = named!($side, "requests", Requests, "Counter of answered requests, with their status in a label")
                .example("served_total{kind=\"api\"}");
            CPU: One<Source> = named!($side, "cpu", Cpu, "Counter of the CPU time of the process")
                .example("cpu_total in ms");
            MEMORY: One<Source> = named!($side, "memory", Memory, "Gauge of the resident memory of the process")
                .example("memory_used_bytes");
            HEAP: One<Source> = named!($side, "heap", Heap, "Gauge of what the runtime holds of it")
                .example("heap in MiB");
            PAUSES: One<Source> = named!($side, "pauses", Pauses, "Summary or histogram of the pauses of the garbage collector")
                .example("pause_seconds");
            DESCRIPTORS: One<Source> = named!($side, "descriptors", Descriptors, "Gauge of open files and sockets")
                .example("open_files");
            THREADS: One<Source> = named!($side, "threads", Threads, "Gauge of the threads of the process")
                .example("workers");
            START: One<Source> = named!($side, "start", Start, "Gauge of when the process started, in a unit of time since 1970")
                .example("started_at in s");
        }

        /// All that is said about this side.
        pub(crate) static SIDE: MetricsOfSide = MetricsOfSide {
            url: &URL,
            credentials_file: &CREDENTIALS_FILE,
            names: [
                (Subject::Latency, &LATENCY),
                (Subject::Requests, &REQUESTS),
                (Subject::Cpu, &CPU),
                (Subject::Memory, &MEMORY),
                (Subject::Heap, &HEAP),
                (Subject::Pauses, &PAUSES),
                (Subject::Descriptors, &DESCRIPTORS),
                (Subject::Threads, &THREADS),
                (Subject::Start, &START),
            ],
        };
    };
}

/// Where the legacy says what.
pub(crate) mod legacy {
    side!("legacy", "http://127.0.0.1:9100/metrics");
}

/// Where the candidate says what.
pub(crate) mod candidate {
    side!("candidate", "http://127.0.0.1:9200/metrics");
}
