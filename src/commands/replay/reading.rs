//! The thread that reads recordings, and what it has found in them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use parity_dashboards::terminal;
use parity_mirror::replay::{Format, Recorded, Source, SourceError};
use parity_schemas::recording::UNKNOWN_TRAILERS;
use parity_schemas::visible::visible;
use std::num::NonZeroU64;
use tokio::sync::mpsc;

/// Unreadable parts that are told one by one; the others are counted.
const TOLD: u64 = 20;
/// Hidden parts that are told by name: a service has not many more.
const HIDDEN: usize = 100;
/// The session of requests that the recording gives none.
const ONE_SESSION: &str = "one";
/// Takes requests for every host.
const ANY: &str = "any";

/// Which requests of a recording are taken.
pub(super) struct Wanted {
    pub(super) format: Option<Format>,
    pub(super) hosts: Vec<String>,
    pub(super) limit: Option<NonZeroU64>,
    /// Whether requests without a session are of one.
    pub(super) one_session: bool,
}

/// Names of hidden parts, with their numbers.
pub(super) type Parts = BTreeMap<String, u64>;

/// What was read so far.
#[derive(Default)]
pub(super) struct Read {
    pub(super) requests: AtomicU64,
    unreadable: AtomicU64,
    other_hosts: AtomicU64,
    /// The host whose requests are taken, if that was found out.
    host: Mutex<Option<String>>,
    /// Parts of answers that the recording hides, with the number of those that were taken.
    hidden: Mutex<Parts>,
    /// Answers whose trailers are not known.
    without_trailers: AtomicU64,
    /// Bytes of the recordings, if all are files, and how many were read.
    pub(super) total: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// All that is wanted was read and taken.
    pub(super) is_complete: AtomicBool,
}

/// What was read in the end.
pub(super) struct Found {
    pub(super) unreadable: u64,
    pub(super) other_hosts: u64,
    pub(super) host: Option<String>,
    /// Of answers.
    pub(super) hidden: Parts,
    pub(super) without_trailers: u64,
}

/// The running thread.
pub(super) struct Reading {
    read: Arc<Read>,
    thread: JoinHandle<()>,
}

impl Reading {
    /// Opens the first recording, so that a slip in its name is told before anything is started, and reads them all.
    pub(super) fn start(
        recordings: Vec<PathBuf>,
        wanted: Wanted,
        sender: mpsc::Sender<Recorded>,
    ) -> Result<Self> {
        let read = Arc::<Read>::default();
        let mut sources = Vec::new();
        let mut total = Some(0);
        for path in recordings {
            let source = Source::open(&path, wanted.format.clone())?;
            total = total.zip(source.size()).map(|(sum, size)| sum + size);
            sources.push(source);
        }
        read.total
            .store(total.unwrap_or_default(), Ordering::Relaxed);
        let thread = std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn({
                let read = Arc::clone(&read);
                move || {
                    let is_complete = read_all(sources, &wanted, &sender, &read);
                    // Before the sender is dropped, which ends the replay.
                    read.is_complete.store(is_complete, Ordering::Release);
                    drop(sender);
                }
            })
            .context("cannot start the thread that reads the recording")?;
        Ok(Self { read, thread })
    }

    /// What was read so far.
    pub(super) fn read(&self) -> Arc<Read> {
        Arc::clone(&self.read)
    }

    /// Waits for the end, unless the replay was interrupted: then the thread may wait for standard input, and ends with the
    /// process.
    pub(super) fn finish(self, interrupted: bool) -> Result<Found> {
        if !interrupted {
            if !self.read.is_complete.load(Ordering::Acquire) {
                // The thread may wait for standard input.
                bail!("the replay ended before the recording; the log says why");
            }
            let ended = self.thread.join();
            ended.map_err(|_| {
                anyhow!("the thread that reads the recording ended by a panic; the log has it")
            })?;
        }
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let host = locked(&self.read.host).clone();
        Ok(Found {
            unreadable: count(&self.read.unreadable),
            other_hosts: count(&self.read.other_hosts),
            host,
            hidden: std::mem::take(&mut *locked(&self.read.hidden)),
            without_trailers: count(&self.read.without_trailers),
        })
    }
}

/// Counts what is hidden of an answer.
fn count_hidden(recorded: &Recorded, read: &Read) {
    let of_answer = recorded
        .answer
        .as_ref()
        .and_then(|answer| answer.hidden.as_deref());
    let of_answer = of_answer.unwrap_or_default();
    if of_answer.is_empty() {
        return;
    }
    let mut parts = locked(&read.hidden);
    for name in of_answer {
        if name == UNKNOWN_TRAILERS {
            read.without_trailers.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let has_room = parts.len() < HIDDEN;
        match parts.get_mut(name) {
            Some(count) => *count += 1,
            None if has_room => drop(parts.insert(name.clone(), 1)),
            None => {}
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether all that is wanted was taken.
fn read_all(
    sources: Vec<Source>,
    wanted: &Wanted,
    sender: &mpsc::Sender<Recorded>,
    read: &Read,
) -> bool {
    let add = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed) + 1;
    let mut hosts: Vec<String> = wanted
        .hosts
        .iter()
        .map(|host| host.to_ascii_lowercase())
        .collect();
    let takes_any = hosts.iter().any(|host| host == ANY);
    for source in sources {
        let position = source.position();
        let mut before = 0;
        for item in source {
            let now = position.load(Ordering::Relaxed);
            read.bytes.fetch_add(now - before, Ordering::Relaxed);
            before = now;
            let mut recorded = match item {
                Ok(recorded) => recorded,
                Err(SourceError(unreadable)) => {
                    let count = add(&read.unreadable);
                    if count <= TOLD {
                        terminal::note(&visible(&unreadable.to_string()));
                    }
                    if count == TOLD {
                        terminal::note("further parts that cannot be read are only counted");
                    }
                    continue;
                }
            };
            if let Some(host) = recorded.host.as_deref().filter(|_| !takes_any) {
                if hosts.is_empty() {
                    hosts.push(host.to_owned());
                    *locked(&read.host) = Some(host.to_owned());
                }
                if !hosts.iter().any(|wanted| wanted == host) {
                    add(&read.other_hosts);
                    continue;
                }
            }
            count_hidden(&recorded, read);
            if wanted.one_session {
                recorded.session.get_or_insert_with(|| ONE_SESSION.into());
            }
            // Fails when the replay has ended before the recording.
            if sender.blocking_send(recorded).is_err() {
                return false;
            }
            let count = add(&read.requests);
            if wanted.limit.is_some_and(|limit| count >= limit.get()) {
                return true;
            }
        }
    }
    true
}
