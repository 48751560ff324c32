//! Services with a page of metrics that says what a test knows.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::service::{Answer, Service};

/// What a service has counted, from which its page is made.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) requests: u64,
    /// Of a thousand requests.
    pub(crate) failed: u64,
    /// Milliseconds of the slow ones, 20 of a thousand; the others take 10.
    pub(crate) slow: f64,
    /// CPU time of a request in milliseconds.
    pub(crate) cpu: f64,
    pub(crate) resident: u64,
    /// When it started, in seconds since 1970.
    pub(crate) start: u64,
}

impl Counted {
    pub(crate) const OLD: Self = Self {
        requests: 0,
        failed: 10,
        slow: 40.0,
        cpu: 1.0,
        resident: 200 << 20,
        start: 1_700_000_000,
    };
    pub(crate) const NEW: Self = Self {
        failed: 0,
        slow: 20.0,
        cpu: 0.5,
        resident: 40 << 20,
        ..Self::OLD
    };

    pub(crate) fn after(self, requests: u64) -> Self {
        Self { requests, ..self }
    }

    /// As Go's client writes it: a histogram whose buckets lie 5 % apart, and a summary of the garbage collector.
    pub(crate) fn go(self) -> String {
        let mut page = self.histogram();
        let failed = self.requests * self.failed / 1_000;
        write!(
            page,
            "# TYPE http_requests_total counter\n\
             http_requests_total{{code=\"200\",method=\"get\"}} {}\n\
             http_requests_total{{code=\"503\",method=\"get\"}} {failed}\n\
             # TYPE go_gc_duration_seconds summary\n\
             go_gc_duration_seconds{{quantile=\"0\"}} 4.1e-05\n\
             go_gc_duration_seconds{{quantile=\"1\"}} 0.012\n\
             go_gc_duration_seconds_sum {}\n\
             go_gc_duration_seconds_count {}\n",
            self.requests - failed,
            self.requests as f64 * 1e-5,
            self.requests / 100
        )
        .expect("memory");
        page + &self.process()
    }

    /// As Rust's client writes it, in `OpenMetrics`.
    pub(crate) fn rust(self) -> String {
        let mut page = self.histogram();
        let failed = self.requests * self.failed / 1_000;
        write!(
            page,
            "# TYPE http_requests counter\n# HELP http_requests Requests.\n\
             http_requests_total{{status=\"200\"}} {}\n\
             http_requests_total{{status=\"500\"}} {failed}\n",
            self.requests - failed
        )
        .expect("memory");
        page + &self.process() + "# EOF\n"
    }

    fn histogram(&self) -> String {
        let name = "http_request_duration_seconds";
        let mut page = format!("# HELP {name} How long.\n# TYPE {name} histogram\n");
        let slow = self.requests * 20 / 1_000;
        let mut edge = 1.0;
        while edge < 1_000.0 {
            let is_within = |millis: f64, count: u64| if millis <= edge { count } else { 0 };
            let within = is_within(10.0, self.requests - slow) + is_within(self.slow, slow);
            writeln!(page, "{name}_bucket{{le=\"{}\"}} {within}", edge / 1_000.0).expect("memory");
            edge *= 1.05;
        }
        let all = self.requests;
        write!(
            page,
            "{name}_bucket{{le=\"+Inf\"}} {all}\n{name}_count {all}\n"
        )
        .expect("memory");
        page
    }

    fn process(&self) -> String {
        format!(
            "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total {}\n\
             # TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {:e}\n\
             # TYPE process_open_fds gauge\nprocess_open_fds 12\n\
             # TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {}\n",
            self.requests as f64 * self.cpu / 1_000.0,
            self.resident as f64,
            self.start
        )
    }
}

/// Answers each request for its page by what `page` makes of how often it was asked before.
pub(crate) fn exporter(page: impl Fn(u64) -> Answer + Send + Sync + 'static) -> Service {
    let asked = Arc::new(AtomicU64::new(0));
    Service::start(move |_| page(asked.fetch_add(1, Ordering::SeqCst)))
}

/// One that has answered so many requests a second since it started.
pub(crate) fn busy(counted: Counted, rate: f64, write: fn(Counted) -> String) -> Service {
    let begun = Instant::now();
    Service::start(move |request| match &*request.target {
        "/metrics" => {
            let requests = (begun.elapsed().as_secs_f64() * rate) as u64;
            Answer::new(200, write(counted.after(requests)))
        }
        _ => Answer::json("{\"a\":1}"),
    })
}
