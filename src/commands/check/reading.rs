//! Reads the file of a check on a thread of its own: a pipe that nobody writes to must not hold the check.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use parity_mirror::replay::{Format, OpenError, Recorded, Source, SourceError, Unreadable};

/// How long what was read already may take to come over, when the time is up.
const HANDED_OVER: Duration = Duration::from_millis(20);

/// A request, or what stands in the place of one.
type Part = Result<Box<Recorded>, Unreadable>;

/// What came of reading on.
pub(super) enum Next {
    /// There is one more.
    Part(Part),
    /// There is no more.
    End,
    /// Nothing came before the time was up.
    TooLate,
}

/// A file that is read. The thread ends with the file, or else with the process: nothing else wakes what waits for a pipe.
pub(super) struct Reading {
    /// `None` is the end. A thread that ends without it has failed.
    parts: Receiver<Result<Option<Part>, OpenError>>,
}

impl Reading {
    pub(super) fn start(path: &Path, format: Option<Format>) -> Result<Self> {
        let (sender, parts) = sync_channel(1);
        let path = path.to_owned();
        std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || {
                // To open a pipe may take for ever, too.
                let source = match Source::open(&path, format) {
                    Ok(source) => source,
                    Err(error) => return drop(sender.send(Err(error))),
                };
                for part in source {
                    let part = part.map(Box::new).map_err(|SourceError(why)| why);
                    if sender.send(Ok(Some(part))).is_err() {
                        return;
                    }
                }
                drop(sender.send(Ok(None)));
            })
            .context("cannot start the thread that reads the requests")?;
        Ok(Self { parts })
    }

    /// The next part. That the file cannot be read at all is an error.
    pub(super) fn next(&self, until: Instant) -> Result<Next> {
        let left = until.saturating_duration_since(Instant::now());
        match self.parts.recv_timeout(left.max(HANDED_OVER)) {
            Ok(part) => Ok(part?.map_or(Next::End, Next::Part)),
            // No pass rests on a file that was not read to its end.
            Err(RecvTimeoutError::Disconnected) => Err(anyhow!(
                "reading the file ended by a panic; please report this"
            )),
            Err(RecvTimeoutError::Timeout) => Ok(Next::TooLate),
        }
    }
}
