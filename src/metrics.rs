//! Reads the pages of metrics of both services over the same time.
//!
//! Each side has a thread with a runtime of its own, so that a page that is large or never comes delays nothing of the other one. A page has a
//! limit in bytes and in time, and so has the whole: its time and twice that of a page. Of a service that gives no page at the
//! beginning none will come: that is told soon, and not after the whole time. A page of which nothing tells whether it came whole is none:
//! the series that is missing could be that of the errors.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode, Uri};
use parity_comparator::metrics::{Format, Scrapes};
use parity_schemas::visible::visible_up_to;
use tokio::sync::{mpsc, watch};

use crate::config::{MetricsSettings, PageSettings};
use crate::fetching::{Fetching, Missed, Within};

/// Largest page: a hundred times that of a usual service.
const MAX_PAGE: usize = 16 << 20;
/// Longest part of an answer that is told where it is no page.
const MAX_WORDS: usize = 100;
/// What is asked for, in the order in which it is liked.
const FORMATS: HeaderValue = HeaderValue::from_static(
    "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.9,*/*;q=0.1",
);

/// What is told of a page that may have been cut.
const MAY_BE_CUT: &str = "nothing tells whether its page is whole: it has neither a length nor chunks, and ends with its connection; let the \
                          service send Content-Length, or OpenMetrics, which ends with `# EOF`";

/// How many pages of a service there are by now.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) read: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// Both services while they are looked at.
pub(crate) struct Looking {
    threads: [JoinHandle<Result<Scrapes>>; 2],
    pub(crate) counts: [Arc<Counts>; 2],
    stop: watch::Sender<bool>,
    /// Ends when both threads have ended.
    ended: mpsc::Receiver<()>,
    pub(crate) begun: Instant,
}

impl Looking {
    /// Begins with both at the same time.
    pub(crate) fn start(settings: MetricsSettings) -> Result<Self> {
        let ca_file = settings.ca_file.as_deref();
        // Certificates are read before anything is timed.
        let [of_legacy, of_candidate] = [Fetching::new(ca_file)?, Fetching::new(ca_file)?];
        let (stop, _) = watch::channel(false);
        let (alive, ended) = mpsc::channel(1);
        let begun = Instant::now();
        let counts = [(), ()].map(|()| Arc::<Counts>::default());
        let time = Time {
            begun,
            window: settings.window,
            interval: settings.interval,
            deadline: settings.deadline,
        };
        let start = |fetching, page: PageSettings, name: &str, counts: &Arc<Counts>| {
            let side = Side {
                fetching,
                page,
                keeps_pages: true,
                time,
                counts: Arc::clone(counts),
                stop: stop.clone(),
            };
            let alive = alive.clone();
            std::thread::Builder::new()
                .name(format!("{name}-metrics"))
                .spawn(move || {
                    let scrapes = side.run();
                    drop(alive);
                    scrapes
                })
                .context("cannot start the thread that reads metrics")
        };
        let [legacy, candidate] = settings.pages;
        let legacy = start(of_legacy, legacy, "legacy", &counts[0])?;
        let candidate =
            start(of_candidate, candidate, "candidate", &counts[1]).inspect_err(|_| {
                stop.send_replace(true);
            })?;
        Ok(Self {
            threads: [legacy, candidate],
            counts,
            stop,
            ended,
            begun,
        })
    }

    /// Waits for the end of both.
    pub(crate) async fn ended(&mut self) {
        // Nothing is ever sent.
        let _none = self.ended.recv().await;
    }

    /// What ends both at once.
    pub(crate) fn stopper(&self) -> watch::Sender<bool> {
        self.stop.clone()
    }

    /// What was seen of legacy and candidate.
    pub(crate) fn finish(self) -> Result<[Scrapes; 2]> {
        let [legacy, candidate] = self.threads.map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(anyhow!("the thread that reads metrics panicked")))
        });
        Ok([legacy?, candidate?])
    }
}

/// One service while it is looked at: for whoever loads it and so measures its requests by itself. Its own memory is judged, too, so
/// that of pages only what is told of them is kept, however large and many they are.
pub(crate) struct LookingAtOne {
    thread: JoinHandle<Result<Scrapes>>,
    stop: watch::Sender<bool>,
}

impl LookingAtOne {
    /// Begins with the first page when the time does, which may be later.
    pub(crate) fn start(page: PageSettings, time: Time, ca_file: Option<&Path>) -> Result<Self> {
        let (stop, _) = watch::channel(false);
        let side = Side {
            fetching: Fetching::new(ca_file)?,
            page,
            keeps_pages: false,
            time,
            counts: Arc::default(),
            stop: stop.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || side.run())
            .context("cannot start the thread that reads metrics")?;
        Ok(Self { thread, stop })
    }

    /// What was seen of it, when its time is over; at once if that is not waited for.
    pub(crate) fn finish(self, waits: bool) -> Result<Scrapes> {
        if !waits {
            self.stop.send_replace(true);
        }
        let ended = self.thread.join();
        ended.unwrap_or_else(|_| Err(anyhow!("the thread that reads metrics panicked")))
    }
}

/// When pages are read.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    pub(crate) begun: Instant,
    pub(crate) window: Duration,
    pub(crate) interval: Duration,
    pub(crate) deadline: Duration,
}

impl Time {
    /// When the next page is due after `now`: at a whole number of intervals, so that both sides are read together, or at the end.
    fn next(&self, now: Duration) -> Duration {
        let interval = self.interval.as_nanos().max(1);
        let next = (now.as_nanos() / interval + 1) * interval;
        let next = u64::try_from(next).map_or(Duration::MAX, Duration::from_nanos);
        next.min(self.window)
    }
}

/// One service.
struct Side {
    fetching: Fetching,
    page: PageSettings,
    /// Whether pages are kept, and not only what was seen on them.
    keeps_pages: bool,
    time: Time,
    counts: Arc<Counts>,
    stop: watch::Sender<bool>,
}

impl Side {
    fn run(mut self) -> Result<Scrapes> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the runtime that reads metrics")?;
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let asked_at = since_epoch.map_or(0.0, |time| time.as_secs_f64());
        let names = std::mem::take(&mut self.page.names);
        let mut scrapes = Scrapes::new(target(&self.page.url), names, asked_at);
        if !self.keeps_pages {
            scrapes = scrapes.without_pages();
        }
        self.page.headers.insert(ACCEPT, FORMATS);
        runtime.block_on(async {
            let mut stopped = self.stop.subscribe();
            tokio::select! {
                () = self.read(&mut scrapes) => {}
                _ = stopped.wait_for(|stop| *stop) => {}
            }
        });
        // A name that is being resolved is not waited for.
        runtime.shutdown_background();
        Ok(scrapes)
    }

    async fn read(&self, scrapes: &mut Scrapes) {
        let Time {
            begun,
            window,
            deadline,
            ..
        } = self.time;
        let mut due = Duration::ZERO;
        loop {
            tokio::time::sleep_until((begun + due).into()).await;
            self.ask(scrapes).await;
            if scrapes.read() == 0 && begun.elapsed() >= deadline {
                self.stop.send_replace(true);
                return;
            }
            if due >= window {
                return;
            }
            due = self.time.next(begun.elapsed());
        }
    }

    /// Asks for one page.
    async fn ask(&self, scrapes: &mut Scrapes) {
        let within = Within {
            bytes: MAX_PAGE,
            time: self.time.deadline,
        };
        let asked = self.time.begun.elapsed();
        let url = self.page.url.clone();
        let headers = &self.page.headers;
        let answer = self.fetching.answer(Method::GET, url, headers, within);
        let answer = answer.await;
        // The service has counted up to some time in between.
        let at = (asked + self.time.begun.elapsed()).as_secs_f64() / 2.0;
        let is_page = match answer {
            Ok((head, body)) if head.status == StatusCode::OK => {
                let format = format(&head.headers);
                if format.has_end() || has_length(&head.headers) {
                    let text = String::from_utf8_lossy(&body);
                    scrapes.take(at, &text, format).is_ok()
                } else {
                    scrapes.lose(at, MAY_BE_CUT.to_owned());
                    false
                }
            }
            Ok((head, body)) => {
                let words = String::from_utf8_lossy(&body);
                let words = visible_up_to(words.trim(), MAX_WORDS);
                scrapes.lose(at, format!("it answers {}: {words}", head.status));
                false
            }
            Err(missed) => {
                scrapes.lose(at, self.told(missed));
                false
            }
        };
        let counter = if is_page {
            &self.counts.read
        } else {
            &self.counts.failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn told(&self, missed: Missed) -> String {
        match missed {
            Missed::NoAnswer(cause) => format!("it does not answer: {cause}"),
            Missed::NotWhole(cause) => format!(
                "its page broke off or has over {} MiB: {cause}",
                MAX_PAGE >> 20
            ),
            Missed::TooLate => format!("no whole page came in {:?}", self.time.deadline),
        }
    }
}

fn format(headers: &HeaderMap) -> Format {
    let named = headers.get(CONTENT_TYPE);
    Format::of(named.and_then(|named| named.to_str().ok()))
}

/// Whether an answer says how long it is, by which one that is shorter did not come at all.
fn has_length(headers: &HeaderMap) -> bool {
    headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING)
}

/// The address for people: a query may have a token.
fn target(url: &Uri) -> String {
    let text = url.to_string();
    match text.split_once('?') {
        Some((before, _)) => format!("{before}?…"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_due_at_whole_intervals_and_at_the_end() {
        let time = Time {
            begun: Instant::now(),
            window: Duration::from_secs(10),
            interval: Duration::from_secs(3),
            deadline: Duration::from_secs(1),
        };
        for (now, next) in [
            (0, 3_000),
            (2_999, 3_000),
            (3_000, 6_000),
            (7_500, 9_000),
            (9_100, 10_000),
            (20_000, 10_000),
        ] {
            let due = time.next(Duration::from_millis(now));
            assert_eq!(due, Duration::from_millis(next), "{now}");
        }
    }

    #[test]
    fn a_query_is_not_told() {
        for (url, told) in [
            ("http://a:1/metrics", "http://a:1/metrics"),
            ("http://a:1/metrics?token=x", "http://a:1/metrics?…"),
        ] {
            assert_eq!(target(&url.parse().unwrap()), told);
        }
    }
}
