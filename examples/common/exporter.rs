//! The page of metrics of a sample program, in the text format of Prometheus: what it answered, how long that took, and what the
//! process has. Written by hand, as a client library would be more code than the sample.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;

/// Edges of the histogram's buckets: from 5 µs, each a tenth above the one before, up to 1 s.
const EDGES: usize = 130;
const FIRST_EDGE: f64 = 5e-6;
const FACTOR: f64 = 1.1;
/// Ticks of a second in /proc, the same on every Linux.
const TICKS: f64 = 100.0;
/// Bytes of a page of memory on the machines that samples run on.
const PAGE: u64 = 4_096;

/// What a process has answered.
pub(crate) struct Exporter {
    started: f64,
    /// By bucket; the last one has what is slower than all edges.
    took: [AtomicU64; EDGES + 1],
    micros: AtomicU64,
    /// Of 2xx and 3xx, 4xx, 5xx.
    statuses: [AtomicU64; 3],
}

fn edges() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(FIRST_EDGE), |edge| Some(edge * FACTOR)).take(EDGES)
}

impl Exporter {
    pub(crate) fn new() -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            started: started.unwrap_or_default().as_secs_f64(),
            took: std::array::from_fn(|_| AtomicU64::new(0)),
            micros: AtomicU64::new(0),
            statuses: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, status: StatusCode, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = edges().take_while(|edge| *edge < seconds).count();
        let class = match status.as_u16() {
            ..400 => 0,
            400..500 => 1,
            500.. => 2,
        };
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.took[bucket].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.statuses[class].fetch_add(1, Ordering::Relaxed);
    }

    /// The page as it is now. What the machine does not tell is missing.
    pub(crate) fn page(&self) -> String {
        let mut page = String::from("# TYPE http_requests_total counter\n");
        for (code, count) in ["200", "400", "500"].iter().zip(&self.statuses) {
            let count = count.load(Ordering::Relaxed);
            let _infallible = writeln!(page, "http_requests_total{{code=\"{code}\"}} {count}");
        }
        let name = "http_request_duration_seconds";
        let _infallible = writeln!(page, "# TYPE {name} histogram");
        let mut within = 0;
        for (edge, count) in edges().chain([f64::INFINITY]).zip(&self.took) {
            within += count.load(Ordering::Relaxed);
            let edge = if edge.is_finite() {
                format!("{edge:.7}")
            } else {
                "+Inf".to_owned()
            };
            let _infallible = writeln!(page, "{name}_bucket{{le=\"{edge}\"}} {within}");
        }
        let sum = self.micros.load(Ordering::Relaxed) as f64 / 1e6;
        let _infallible = writeln!(page, "{name}_sum {sum}\n{name}_count {within}");
        let process = [
            ("cpu_seconds_total", "counter", cpu_seconds()),
            ("resident_memory_bytes", "gauge", resident_bytes()),
            ("open_fds", "gauge", open_files()),
            ("start_time_seconds", "gauge", Some(self.started)),
        ];
        for (name, kind, value) in process {
            if let Some(value) = value {
                let _infallible =
                    writeln!(page, "# TYPE process_{name} {kind}\nprocess_{name} {value}");
            }
        }
        page
    }
}

fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may have blanks.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut ticks = rest.split_whitespace().skip(11);
    let mut next = || ticks.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}

fn resident_bytes() -> Option<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some((pages * PAGE) as f64)
}

fn open_files() -> Option<f64> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count() as f64)
}
