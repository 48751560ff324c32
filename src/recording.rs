//! Records live requests: from the proxy's threads, by a bounded queue, to a thread that redacts and writes.
//!
//! A client costs the copy of its request and one attempt to put it into the queue. When the queue or the memory for it is full,
//! or the disk, the recording has a gap, which is counted and told; nobody waits. What is in a file stays readable whatever ends
//! the process.

mod counts;
mod files;
mod line;
mod samples;
mod writing;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use parity_comparator::redact::Redactor;
use parity_mirror::{LiveRequest, Recorder};
use parity_schemas::exchange::ByteBudget;
use parity_schemas::visible::visible;

pub(crate) use self::counts::Counts;
use self::files::Files;
use self::samples::Samples;
use self::writing::{Output, Writing};
use crate::config::RecordingSettings;

/// Requests that wait to be written: those of a second of a busy service, so that a disk may pause for as long.
const QUEUE: usize = 4_096;
/// Bytes of requests under way and in the queue, beside those of shadows: the default for these.
const QUEUE_BYTES: usize = 32 << 20;
/// How much longer than everything before it the end of a recording may take: to write what waits.
pub(crate) const LAST_LINES: Duration = Duration::from_secs(2);
/// How much of that is for what was gathered, once what waits is given up.
const LAST_BATCH: Duration = Duration::from_secs(1);

/// A request on its way to the file, and what hides its secrets.
struct Waiting {
    live: LiveRequest,
    redactor: Arc<Redactor>,
}

/// A recording that is made.
pub(crate) struct Recording {
    sender: Option<Sender<Waiting>>,
    /// The other end of the queue, for what waits when the time is over.
    left: Receiver<Waiting>,
    budget: ByteBudget,
    answers: bool,
    /// Whether samples are gathered, of which there may be none.
    is_of_samples: bool,
    counts: Arc<Counts>,
    over: Arc<AtomicBool>,
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Recording {
    /// Opens the file and starts the thread. A name that can never be written to is an error, a disk that is full is not.
    pub(crate) fn start(settings: &RecordingSettings) -> Result<Self> {
        let counts = Arc::new(Counts::of(&settings.file));
        let files = Files::open(settings, &counts)?;
        Self::begin(Output::Files(files), settings.answers, counts)
    }

    /// Gathers samples of what is answered, so many for each route and status.
    pub(crate) fn samples(file: PathBuf, each: NonZeroUsize) -> Result<Self> {
        let counts = Arc::new(Counts::of(&file));
        let samples = Samples::new(file, each)?;
        Self::begin(Output::Samples(samples), true, counts)
    }

    fn begin(output: Output, answers: bool, counts: Arc<Counts>) -> Result<Self> {
        let (sender, waiting) = bounded(QUEUE);
        let (alive, ended) = bounded(0);
        let over = Arc::<AtomicBool>::default();
        let left = waiting.clone();
        let is_of_samples = matches!(output, Output::Samples(_));
        let mut writing = Writing {
            waiting,
            output,
            counts: Arc::clone(&counts),
            over: Arc::clone(&over),
        };
        let thread = std::thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || {
                // Dropped at the end, which tells it.
                let _alive: Sender<()> = alive;
                writing.run();
            })
            .context("cannot start the thread that records")?;
        Ok(Self {
            sender: Some(sender),
            left,
            budget: ByteBudget::new(QUEUE_BYTES),
            answers,
            is_of_samples,
            counts,
            over,
            ended,
            thread,
        })
    }

    /// What was recorded so far.
    pub(crate) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Where requests enter whose secrets are hidden by `redactor`.
    pub(crate) fn entrance(&self, redactor: &Arc<Redactor>) -> Option<Entrance> {
        Some(Entrance {
            sender: self.sender.clone()?,
            budget: self.budget.clone(),
            answers: self.answers,
            counts: Arc::clone(&self.counts),
            redactor: Arc::clone(redactor),
        })
    }

    /// No more will come. What waits is written meanwhile.
    pub(crate) fn end(&mut self) {
        self.sender = None;
        self.over.store(true, Ordering::Relaxed);
    }

    /// Waits until all is written, until `until` at the latest. A disk that takes longer keeps the rest. An error is what the
    /// file lacks; a mirror only tells it, because what it did for its clients is not worse for that.
    pub(crate) fn finish(mut self, until: Instant) -> Result<()> {
        self.end();
        // Nothing is ever sent: it is disconnected when the thread has ended.
        let for_all = until.checked_sub(LAST_BATCH).unwrap_or(until);
        if self.ended.recv_deadline(for_all) == Err(RecvTimeoutError::Timeout) {
            while self.left.try_recv().is_ok() {
                self.counts.dropped.queue_full.inc();
            }
            let _ended = self.ended.recv_deadline(until);
        }
        let mut is_whole = false;
        if !self.thread.is_finished() && self.ended.try_recv().is_err_and(|error| error.is_empty())
        {
            tracing::error!(
                "the recording was not written to its end in time; what is in the file can be read"
            );
        } else if self.thread.join().is_err() {
            tracing::error!("the recording ended by a panic; the log has it");
        } else {
            is_whole = true;
        }
        self.counts.tell();
        match self.counts.lost_by_disk() {
            Some(lost) => Err(anyhow!("{}", visible(&lost))),
            None if !is_whole => Err(anyhow!("the recording was not written to its end")),
            None if self.is_of_samples && self.counts.is_empty() => Err(anyhow!(
                "there is no sample, so no file was written; what came is told above, with the reasons"
            )),
            None => Ok(()),
        }
    }
}

/// Where live requests enter, under one set of rules. Each worker makes its own recorder of it.
#[derive(Clone)]
pub(crate) struct Entrance {
    sender: Sender<Waiting>,
    budget: ByteBudget,
    answers: bool,
    counts: Arc<Counts>,
    redactor: Arc<Redactor>,
}

impl Entrance {
    /// What the proxy calls.
    pub(crate) fn recorder(&self) -> Rc<dyn Recorder> {
        Rc::new(self.clone())
    }
}

impl Recorder for Entrance {
    fn takes_answers(&self) -> bool {
        self.answers
    }

    fn budget(&self) -> &ByteBudget {
        &self.budget
    }

    fn take(&self, live: LiveRequest) {
        let redactor = Arc::clone(&self.redactor);
        match self.sender.try_send(Waiting { live, redactor }) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.counts.dropped.queue_full.inc();
            }
        }
    }

    fn has_no_room(&self) {
        self.counts.dropped.no_room.inc();
    }
}

#[cfg(test)]
mod tests {
    use parity_comparator::Rules;
    use parity_comparator::redact::RedactConfig;
    use parity_schemas::exchange::{Body, Origin, Request};
    use parity_schemas::fields::FieldLines;
    use parity_schemas::route::Route;
    use parity_schemas::time::Timestamp;

    use super::*;

    #[test]
    fn what_finds_no_room_is_dropped_at_once_and_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let counts = Arc::new(Counts::of(&folder.path().join("live.ndjson")));
        let rules = Rules::compile(&[], Timestamp::default()).expect("no rules");
        let redactor = Redactor::new(&RedactConfig::default(), &[7; 32], Arc::new(rules));
        // Nobody takes anything out, as while a disk hangs.
        let (sender, waiting) = bounded(2);
        let entrance = Entrance {
            sender,
            budget: ByteBudget::new(100),
            answers: false,
            counts: Arc::clone(&counts),
            redactor: Arc::new(redactor.expect("a key")),
        };
        let recorder = entrance.recorder();
        for _ in 0..5 {
            recorder.take(LiveRequest {
                time: Timestamp::default(),
                route: Arc::new(Route::new("GET /")),
                request: Request {
                    method: http::Method::GET,
                    target: "/".into(),
                    headers: FieldLines::default(),
                    body: Body::default(),
                    origin: Origin::default(),
                },
                left_out: None,
                answer: None,
                hold: recorder.budget().hold(),
            });
        }
        recorder.has_no_room();
        assert_eq!(waiting.len(), 2);
        assert_eq!(counts.status().dropped, 4);
        let mut registry = prometheus_client::registry::Registry::default();
        counts.register(&mut registry);
        let mut metrics = String::new();
        prometheus_client::encoding::text::encode(&mut metrics, &registry).expect("text");
        for line in [
            "parity_recording_requests_dropped_total{reason=\"queue_full\"} 3",
            "parity_recording_requests_dropped_total{reason=\"no_room\"} 1",
            "parity_recording_requests_written_total 0",
        ] {
            assert!(metrics.contains(line), "{line}: {metrics}");
        }
    }
}
