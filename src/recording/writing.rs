//! The thread that records: takes what waits, hides what is secret, and writes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use parity_comparator::redact::Recording as Captured;

use super::Waiting;
use super::counts::Counts;
use super::files::Files;
use super::line::line;
use super::samples::Samples;

/// How often it is looked whether what was gathered is due to be written.
const LOOK: Duration = Duration::from_millis(250);

/// Where the lines go.
pub(super) enum Output {
    Files(Files),
    Samples(Samples),
}

/// What the thread has.
pub(super) struct Writing {
    pub(super) waiting: Receiver<Waiting>,
    pub(super) output: Output,
    pub(super) counts: Arc<Counts>,
    /// Set when no more will come.
    pub(super) over: Arc<AtomicBool>,
}

impl Writing {
    /// Until nobody sends any more.
    pub(super) fn run(&mut self) {
        let mut looked = Instant::now();
        loop {
            match self.waiting.recv_timeout(LOOK) {
                Ok(waiting) => {
                    // A fault costs the request that shows it, and not the recording.
                    let taken = catch_unwind(AssertUnwindSafe(|| self.take(&waiting)));
                    if taken.is_err() {
                        self.counts.dropped.internal.inc();
                    }
                }
                // A worker that is stuck in its last request still holds a sender.
                Err(RecvTimeoutError::Timeout) if self.over.load(Ordering::Relaxed) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = Instant::now();
            if now.saturating_duration_since(looked) >= LOOK {
                looked = now;
                match &mut self.output {
                    Output::Files(files) => files.look(now),
                    Output::Samples(samples) => samples.look(now, &self.counts),
                }
            }
        }
        match &mut self.output {
            Output::Files(files) => files.finish(),
            Output::Samples(samples) => samples.finish(&self.counts),
        }
    }

    fn take(&mut self, waiting: &Waiting) {
        let live = &waiting.live;
        let exchange = waiting.redactor.recorded(&Captured {
            time: live.time,
            route: live.route.label(),
            request: &live.request,
            left_out: live.left_out,
            answer: live.answer.as_ref(),
        });
        match &mut self.output {
            Output::Files(files) => files.push(&line(&exchange)),
            Output::Samples(samples) => samples.offer(&live.route, exchange, &self.counts),
        }
    }
}
