//! What a replay says while it runs and at its end: a line that moves on a terminal, and else one now and then.

use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use parity_dashboards::terminal::{self, grouped, plural};
use parity_mirror::Progress;
use parity_schemas::verdict::Reason;
use parity_sink::TallyBook;

use super::reading::{Found, Read};

/// Between two looks for a terminal.
const LOOK: Duration = Duration::from_millis(250);
/// Between two lines of a log.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// The failures of a legacy.
const OF_LEGACY: [Reason; 3] = [
    Reason::LegacyUnreachable,
    Reason::LegacyTimeout,
    Reason::LegacyTruncated,
];

/// Tells how far a replay is, until it is dropped.
pub(super) struct Telling {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is told of.
pub(super) struct Told {
    pub(super) read: Arc<Read>,
    pub(super) progress: Arc<Progress>,
    pub(super) book: Arc<TallyBook>,
    pub(super) limit: Option<NonZeroU64>,
    pub(super) begun: Instant,
}

impl Telling {
    pub(super) fn start(told: Told) -> Result<Self> {
        let style = ProgressStyle::with_template("{spinner} {msg}")?;
        let bar = ProgressBar::new_spinner().with_style(style);
        let (end, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                let pause = if bar.is_hidden() { BETWEEN_LINES } else { LOOK };
                while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    let line = so_far(&told, told.begun.elapsed());
                    if bar.is_hidden() {
                        terminal::note(&line);
                    } else {
                        bar.set_message(line);
                        bar.tick();
                    }
                }
                bar.finish_and_clear();
            })
            .context("cannot start the thread that tells how far it is")?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.end.take();
        // A panic there has been told, and takes nothing from the replay.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn so_far(told: &Told, elapsed: Duration) -> String {
    let counts = told.book.totals().total;
    // Requests to which a service gave no whole answer.
    let of_legacy = OF_LEGACY
        .iter()
        .filter_map(|reason| counts.not_compared.get(reason));
    let errors = counts.candidate_failures() + of_legacy.sum::<u64>();
    line(&told.so_far(), counts.mismatch, errors, elapsed)
}

impl Told {
    fn so_far(&self) -> SoFar {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (bytes, size) = (load(&self.read.bytes), load(&self.read.total));
        SoFar {
            sent: self.progress.sent(),
            read: load(&self.read.requests),
            is_read: self.read.is_complete.load(Ordering::Acquire),
            share: (size > 0).then(|| (bytes as f64 / size as f64).min(1.0)),
            limit: self.limit.map(NonZeroU64::get),
        }
    }
}

/// How far it is.
#[derive(Clone, Copy, Default)]
struct SoFar {
    /// Requests that were sent.
    sent: u64,
    /// Requests that were read.
    read: u64,
    /// Whether those are all.
    is_read: bool,
    /// How much of the recordings was read, if that is known.
    share: Option<f64>,
    limit: Option<u64>,
}

impl SoFar {
    /// How many requests there are, as far as it can be told.
    fn total(&self) -> Option<f64> {
        let share = self.share.filter(|share| *share > 0.0 && *share < 1.0);
        let total = if self.is_read {
            Some(self.read as f64)
        } else {
            share.map(|share| self.read as f64 / share)
        };
        match (total, self.limit.map(|limit| limit as f64)) {
            (Some(total), Some(limit)) => Some(total.min(limit)),
            (total, limit) => total.or(limit),
        }
    }
}

fn line(so_far: &SoFar, differing: u64, errors: u64, elapsed: Duration) -> String {
    let sent = so_far.sent;
    let rate = sent as f64 / elapsed.as_secs_f64().max(0.001);
    let mut line = format!(
        "{} sent · {rate:.0}/s · {} differ · {}",
        grouped(sent),
        grouped(differing),
        plural(errors, "error", "errors")
    );
    if let Some(share) = so_far.share {
        let _infallible = write!(line, " · {:.0} % read", share * 100.0);
    }
    if let Some(total) = so_far.total()
        && sent > 0
    {
        let left = (total - sent as f64).max(0.0) / rate.max(0.001);
        let _infallible = write!(line, " · about {} left", minutes(left));
    }
    line
}

fn minutes(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes}:{seconds:02} min"),
        (hours, minutes, _) => format!("{hours}:{minutes:02} h"),
    }
}

/// What was replayed, and what was left out and why.
pub(super) fn summary(
    read: &Found,
    progress: &Progress,
    elapsed: Duration,
    recorded_answers: bool,
) -> Vec<String> {
    let sent = progress.sent();
    let seconds = elapsed.as_secs_f64();
    let mut lines = vec![format!(
        "{} replayed in {seconds:.1} s ({:.0}/s)",
        plural(sent, "request", "requests"),
        sent as f64 / seconds.max(0.001)
    )];
    let mut left_out = |count: u64, why: &str| {
        if count > 0 {
            lines.push(format!(
                "{} left out: {why}",
                plural(count, "request was", "requests were")
            ));
        }
    };
    let hosts = match &read.host {
        Some(host) => format!(
            "not for {host}, as the first one; --host names others, and --host any takes all"
        ),
        None => "for other hosts than those of --host".to_owned(),
    };
    left_out(read.other_hosts, &hosts);
    left_out(
        progress.without_answer(),
        "the recording has no whole answer to them",
    );
    left_out(progress.not_sendable(), "HTTP cannot send them");
    left_out(read.unreadable, "they could not be read");
    if recorded_answers && !read.hidden.is_empty() {
        let parts = read.hidden.iter();
        let parts: Vec<String> = parts
            .map(|(part, count)| format!("{part} ({count})"))
            .collect();
        lines.push(format!(
            "hidden in its answers, and not compared: {}",
            parts.join(", ")
        ));
    }
    if recorded_answers && read.without_trailers > 0 {
        lines.push(format!(
            "{} not in the recording, and not compared",
            plural(
                read.without_trailers,
                "answer's trailers are",
                "answers' trailers are"
            )
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_is_known() {
        let said = |so_far: SoFar| line(&so_far, 2, 1, Duration::from_secs(10));
        let begun = SoFar {
            sent: 1_000,
            read: 1_100,
            share: Some(0.1),
            ..SoFar::default()
        };
        let told = "1,000 sent · 100/s · 2 differ · 1 error";
        for (so_far, more) in [
            (begun, " · 10 % read · about 1:40 min left"),
            // Read ahead: what is read and not sent is left.
            (
                SoFar {
                    is_read: true,
                    share: Some(1.0),
                    read: 1_500,
                    ..begun
                },
                " · 100 % read · about 5 s left",
            ),
            (
                SoFar {
                    share: Some(1.0),
                    ..begun
                },
                " · 100 % read",
            ),
            (
                SoFar {
                    limit: Some(2_000),
                    ..begun
                },
                " · 10 % read · about 10 s left",
            ),
            (
                SoFar {
                    share: None,
                    ..begun
                },
                "",
            ),
            (
                SoFar {
                    share: None,
                    limit: Some(1_200),
                    ..begun
                },
                " · about 2 s left",
            ),
        ] {
            assert_eq!(said(so_far), format!("{told}{more}"));
        }
    }
}
