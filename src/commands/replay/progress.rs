//! What a replay says while it runs and at its end: a line that moves on a terminal, and else one now and then.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use parity_dashboards::terminal::{self, grouped, plural};
use parity_mirror::Progress;

use super::reading::{Found, Read};

/// Between two looks for a terminal.
const LOOK: Duration = Duration::from_millis(250);
/// Between two lines of a log.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Tells how far a replay is, until it is dropped.
pub(super) struct Telling {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Telling {
    pub(super) fn start(read: Arc<Read>, progress: Arc<Progress>, begun: Instant) -> Result<Self> {
        let style = ProgressStyle::with_template("{spinner} {msg}")?;
        let bar = ProgressBar::new_spinner().with_style(style);
        let (end, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                let pause = if bar.is_hidden() { BETWEEN_LINES } else { LOOK };
                while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    let line = so_far(&read, &progress, begun.elapsed());
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

fn so_far(read: &Read, progress: &Progress, elapsed: Duration) -> String {
    let sent = progress.sent();
    let rate = sent as f64 / elapsed.as_secs_f64().max(0.001);
    let mut line = format!("{} sent · {rate:.0}/s", grouped(sent));
    let (bytes, total) = (
        read.bytes.load(Ordering::Relaxed),
        read.total.load(Ordering::Relaxed),
    );
    if total > 0 && bytes > 0 {
        let share = (bytes as f64 / total as f64).min(1.0);
        let left = elapsed.as_secs_f64() * (1.0 - share) / share;
        let _infallible = write!(
            line,
            " · {:.0} % read · about {} left",
            share * 100.0,
            minutes(left)
        );
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
    let [of_requests, of_answers] = &read.hidden;
    for (what, parts, applies) in [
        ("hidden in the recording: ", of_requests, true),
        (
            "hidden in its answers, and not compared: ",
            of_answers,
            recorded_answers,
        ),
    ] {
        if applies && !parts.is_empty() {
            let parts = parts
                .iter()
                .map(|(part, count)| format!("{part} ({count})"));
            let parts: Vec<String> = parts.collect();
            lines.push(format!("{what}{}", parts.join(", ")));
        }
    }
    lines
}
