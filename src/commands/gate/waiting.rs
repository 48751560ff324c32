//! What `parity gate --wait` says while it waits: a line that moves on a terminal, and otherwise a line now and then, so that
//! the log of a job shows that it is alive, what it waits for and how far that is.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use parity_dashboards::terminal;
use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::visible::visible;

/// Between two lines of a log: often enough that nobody takes the job for stuck, and 20 lines in ten minutes.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Tells what is waited for.
pub(super) struct Waiting {
    bar: ProgressBar,
    began: Instant,
    wait: Duration,
    /// How long it had waited when it last wrote a line.
    told: Option<Duration>,
}

impl Waiting {
    /// For a gate that waits up to `wait`. Without it, only a terminal is told what is waited for in the meantime.
    pub(super) fn new(wait: Duration) -> Result<Self> {
        let style = ProgressStyle::with_template("{spinner} waiting: {msg}")?;
        Ok(Self {
            bar: ProgressBar::new_spinner().with_style(style),
            began: Instant::now(),
            wait,
            told: None,
        })
    }

    /// What is left of the time.
    pub(super) fn left(&self) -> Duration {
        self.wait.saturating_sub(self.began.elapsed())
    }

    /// Says what is waited for.
    pub(super) fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.bar.is_hidden() {
            let waited = self.began.elapsed();
            if !self.wait.is_zero() && is_due(self.told, waited) {
                self.told = Some(waited);
                terminal::note(&visible(&format!(
                    "waiting ({}s of up to {:?}): {}",
                    waited.as_secs(),
                    self.wait,
                    what()
                )));
            }
            return;
        }
        self.bar.set_message(what());
        self.bar.tick();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The first line comes at once.
fn is_due(told: Option<Duration>, waited: Duration) -> bool {
    told.is_none_or(|told| waited.saturating_sub(told) >= BETWEEN_LINES)
}

/// How far a decision is.
pub(super) fn so_far(decision: &Decision) -> String {
    let reason = decision.reasons.first().map_or("", String::as_str);
    match decision.outcome {
        // What is decided already still lacks requests that are under way, or the word of an instance.
        Outcome::Pass | Outcome::Fail => format!(
            "{} so far, until what was received has its outcome: {reason}",
            decision.outcome
        ),
        Outcome::Undecided => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_at_once_and_then_now_and_then() {
        let seconds = Duration::from_secs;
        assert!(is_due(None, seconds(0)));
        assert!(!is_due(Some(seconds(0)), seconds(29)));
        assert!(is_due(Some(seconds(0)), seconds(30)));
        assert!(!is_due(Some(seconds(31)), seconds(60)));
    }
}
