//! The workers: they decode a batch, insert its rows, and send records that cannot be stored to the dead-letter topic.
//!
//! A worker retries its batch until it is stored, because the batch must be the same at each attempt. It gives up only
//! when the sink ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::buffer::{RecordBuffer, Refusal};
use super::dead::SharedDeadLetters;
use super::health::SinkStatus;
use super::progress::{Alarm, Done, Progress};
use super::{SinkError, SinkOptions};
use crate::clickhouse::batch::{Batch, Slice};
use crate::clickhouse::insert::Mode;
use crate::clickhouse::{Class, Fault, Server};
use crate::error::StoreError;
use crate::runtime::runtime;
use crate::store::StoreConfig;

/// First and longest delay after a failure. A database that restarts is back within seconds; an overloaded one must not
/// get retries more often than this from each worker.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often a worker checks during a delay whether the sink is ending.
const LOOK: Duration = Duration::from_millis(50);
/// If a table refuses all rows of at least this many, the table is at fault. Moving the whole topic to dead letters
/// would be wrong then.
const SUSPICIOUS: usize = 10;
/// The time between two log lines about the same failure.
const REPEAT: Duration = Duration::from_mins(1);

/// A batch to be stored.
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) partition: i32,
    pub(super) buffer: RecordBuffer,
}

/// The worker threads.
pub(super) struct Workers {
    jobs: Sender<Job>,
    threads: Vec<JoinHandle<()>>,
    progress: Arc<Progress>,
    give_up: Arc<AtomicBool>,
}

impl Workers {
    pub(super) fn start(
        topic: &str,
        target: &StoreConfig,
        dead: &SharedDeadLetters,
        options: &SinkOptions,
        status: &Arc<SinkStatus>,
    ) -> Result<Self, StoreError> {
        // Without a queue: a waiting batch stays with the poller, where it can still grow.
        let (jobs, waiting) = bounded(0);
        let progress = Arc::new(Progress::default());
        let give_up = Arc::new(AtomicBool::new(false));
        let threads = (0..options.workers)
            .map(|index| {
                let worker = Worker {
                    topic: topic.to_owned(),
                    server: Server::of(target)?,
                    runtime: runtime()?,
                    dead: Arc::clone(dead),
                    status: Arc::clone(status),
                    progress: Arc::clone(&progress),
                    give_up: Arc::clone(&give_up),
                    jitter: jitter(index),
                };
                let jobs = Receiver::clone(&waiting);
                std::thread::Builder::new()
                    .name(format!("insert-{index}"))
                    .spawn(move || worker.run(&jobs))
                    .map_err(StoreError::Thread)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            jobs,
            threads,
            progress,
            give_up,
        })
    }

    pub(super) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Hands a job to an idle worker, or returns it if there is none.
    pub(super) fn offer(&self, job: Job) -> Result<(), Job> {
        let (partition, number) = (job.partition, job.number);
        // Noted first, because the worker may finish the job before this thread continues.
        self.progress.begin(partition, number);
        self.jobs.try_send(job).map_err(|error| {
            self.progress.forget(partition);
            error.into_inner()
        })
    }

    /// Ends the threads; a batch under way is given up at its next failure.
    pub(super) fn finish(self) -> Result<(), SinkError> {
        self.give_up.store(true, Ordering::Release);
        drop(self.jobs);
        let mut whole = true;
        for thread in self.threads {
            whole &= thread.join().is_ok();
        }
        if whole {
            Ok(())
        } else {
            Err(SinkError::Panicked)
        }
    }
}

/// A factor between 0.5 and 1 that differs by worker and process, so that workers that failed together do not retry
/// together.
fn jitter(index: usize) -> f64 {
    let seed = std::process::id().wrapping_add(u32::try_from(index).unwrap_or(0) * 7_919);
    let hash = crc32fast::hash(&seed.to_le_bytes());
    0.5 + f64::from(hash) / f64::from(u32::MAX) / 2.0
}

struct Worker {
    topic: String,
    server: Server,
    runtime: tokio::runtime::Runtime,
    dead: SharedDeadLetters,
    status: Arc<SinkStatus>,
    progress: Arc<Progress>,
    give_up: Arc<AtomicBool>,
    jitter: f64,
}

/// Why a batch was not stored.
enum Stop {
    GivenUp,
    Permanent(SinkError),
}

impl Worker {
    fn run(self, jobs: &Receiver<Job>) {
        // Reports a panic of this thread; without it, the poller would wait for ever.
        let alarm = Alarm(&self.progress);
        while let Ok(job) = jobs.recv() {
            let began = Instant::now();
            let Some((_, last)) = job.buffer.span() else {
                continue;
            };
            let (records, cost) = (job.buffer.entries.len(), job.buffer.cost());
            match self.store(&job) {
                Ok(()) => {
                    let metrics = &self.status.metrics;
                    metrics.batch_records.observe(records as f64);
                    metrics.batch_bytes.observe(cost as f64);
                    metrics.batch_seconds.observe(began.elapsed().as_secs_f64());
                    self.status.stored();
                    let done = Done {
                        partition: job.partition,
                        next: last + 1,
                        cost,
                    };
                    self.progress.end(job.number, done);
                }
                // So that revoking the partition does not wait for it.
                Err(Stop::GivenUp) => self.progress.forget(job.partition),
                Err(Stop::Permanent(error)) => self.progress.fail(error),
            }
        }
        std::mem::forget(alarm);
    }

    fn store(&self, job: &Job) -> Result<(), Stop> {
        let (batch, mut refused) = decode(&job.buffer);
        let name = self.name(job);
        for part in batch.into_tables() {
            let before = refused.len();
            self.insert(&job.buffer, &part, &name, &mut refused)?;
            if part.len() >= SUSPICIOUS && refused.len() - before == part.len() {
                let why = refused.pop().map(|(_, refusal)| refusal.why);
                return Err(Stop::Permanent(SinkError::Permanent {
                    table: part.rows.table.table(),
                    message: format!(
                        "it refuses every row, so the table is to blame: {}",
                        why.unwrap_or_default()
                    ),
                }));
            }
        }
        if refused.is_empty() {
            return Ok(());
        }
        refused.sort_by_key(|(index, _)| *index);
        let letters: Vec<_> = refused
            .iter()
            .filter_map(|(index, refusal)| Some((job.buffer.entries.get(*index)?, refusal)))
            .collect();
        let source = format!("{}/{}", self.topic, job.partition);
        self.patiently("the topic of dead letters", || {
            self.dead.put(&source, &job.buffer, &letters).map_err(Err)
        })?;
        for (entry, refusal) in &letters {
            self.status.dead(refusal.reason);
            tracing::warn!(
                partition = job.partition,
                offset = entry.offset,
                reason = refusal.reason,
                why = %parity_schemas::visible::visible(&refusal.why),
                "a record went to the dead-letter topic"
            );
        }
        Ok(())
    }

    /// The name of a batch: the same if and only if the records and their offsets are the same.
    fn name(&self, job: &Job) -> String {
        let (first, last) = job.buffer.span().unwrap_or_default();
        format!(
            "{}-{}-{first}-{last}-{:08x}",
            self.topic,
            job.partition,
            job.buffer.checksum()
        )
    }

    /// Inserts rows. If the server refuses the data, the rows at fault are found by halving and added to `refused`.
    fn insert(
        &self,
        buffer: &RecordBuffer,
        part: &Slice,
        name: &str,
        refused: &mut Vec<(usize, Refusal)>,
    ) -> Result<(), Stop> {
        let mode = Mode::Whole(part.token(name));
        let attempt = || {
            let began = Instant::now();
            self.runtime
                .block_on(self.server.insert(&part.rows, &mode))
                .map(|()| began.elapsed())
                .map_err(Ok)
        };
        match self.patiently(part.rows.table.table(), attempt) {
            Ok(took) => {
                let (table, rows) = (part.rows.table, part.len());
                self.status
                    .metrics
                    .inserted(table, rows, took.as_secs_f64());
                Ok(())
            }
            Err(AttemptError::Stop(stop)) => Err(stop),
            Err(AttemptError::Data(fault)) => {
                if let [source] = *part.sources {
                    refused.push((source, Refusal::new("refused", fault.message)));
                    return Ok(());
                }
                let payload = |source: usize| {
                    buffer
                        .entries
                        .get(source)
                        .map_or(&[][..], |entry| buffer.payload(entry))
                };
                part.halves(payload)
                    .iter()
                    .try_for_each(|half| self.insert(buffer, half, name, refused))
            }
        }
    }

    /// Retries until an attempt succeeds, fails for good, or the sink ends. An attempt fails with an error of the
    /// server (`Ok`) or a message about the broker (`Err`).
    fn patiently<T>(
        &self,
        table: &'static str,
        mut attempt: impl FnMut() -> Result<T, Result<Fault, String>>,
    ) -> Result<T, AttemptError> {
        let mut pause = FIRST_PAUSE;
        let mut spoken: Option<Instant> = None;
        loop {
            let message = match attempt() {
                Ok(value) => {
                    if spoken.is_some() {
                        tracing::info!("the batch was stored after all");
                    }
                    return Ok(value);
                }
                Err(Ok(fault)) => match fault.class {
                    Class::Transient => format!("ClickHouse: {fault}"),
                    Class::Data => return Err(AttemptError::Data(fault)),
                    Class::Permanent => {
                        let error = SinkError::Permanent {
                            table,
                            message: fault.message,
                        };
                        return Err(AttemptError::Stop(Stop::Permanent(error)));
                    }
                },
                Err(Err(message)) => format!("dead letters: {message}"),
            };
            self.status.metrics.retries.inc();
            self.status.database_failed(message.clone());
            if spoken.is_none_or(|at| at.elapsed() >= REPEAT) {
                spoken = Some(Instant::now());
                tracing::error!(
                    error = message,
                    "a batch cannot be stored now; trying again, nothing is lost"
                );
            }
            if !self.rest(pause.mul_f64(self.jitter)) {
                return Err(AttemptError::Stop(Stop::GivenUp));
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Waits, and returns whether to retry.
    fn rest(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        loop {
            if self.give_up.load(Ordering::Acquire) {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

/// Why the retries ended.
enum AttemptError {
    Stop(Stop),
    Data(Fault),
}

impl From<AttemptError> for Stop {
    fn from(error: AttemptError) -> Self {
        match error {
            AttemptError::Stop(stop) => stop,
            // Cannot happen: writing dead letters inserts no rows.
            AttemptError::Data(_) => Self::GivenUp,
        }
    }
}

fn decode(buffer: &RecordBuffer) -> (Batch, Vec<(usize, Refusal)>) {
    let mut batch = Batch::new();
    let mut refused = Vec::new();
    for (index, entry) in buffer.entries.iter().enumerate() {
        match &entry.record {
            Ok(record) => {
                if let Err(poison) = batch.add(*record, buffer.payload(entry), index) {
                    refused.push((index, Refusal::new(poison.reason(), poison.to_string())));
                }
            }
            Err(refusal) => refused.push((index, Refusal::clone(refusal))),
        }
    }
    (batch, refused)
}
