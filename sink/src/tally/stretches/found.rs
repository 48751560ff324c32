//! The stretches of one version of the candidate, by looks in order of time.

use std::collections::VecDeque;

use parity_schemas::lately::{CandidateFailures, MAX_STRETCHES};
use parity_schemas::time::Timestamp;

use super::{Look, NEAR_MICROS, keep, lost};

/// Failures of a stretch that is kept: fewer may be those of one bad client.
const LEAST: u64 = 3;

/// Whether these are enough for a stretch. Nothing is left unsent because of one bad client.
const fn counts(one: &CandidateFailures) -> bool {
    one.failed >= LEAST || one.not_sent > 0
}

/// Whether one moment is just behind another.
fn is_near(before: Timestamp, now: Timestamp) -> bool {
    let passed = now.as_micros().saturating_sub(before.as_micros());
    (0..NEAR_MICROS).contains(&passed)
}

/// The stretches of looks of which nothing more will time out.
#[derive(Clone, Default)]
pub(super) struct Found {
    ended: VecDeque<CandidateFailures>,
    open: Option<CandidateFailures>,
    /// Failures of the look before, among which more was answered.
    begun: Option<(Timestamp, u64)>,
}

impl Found {
    /// Adds what was counted since the last look; `version` is written into a stretch.
    pub(super) fn look(&mut self, look: Look, version: &str, now: Timestamp) {
        let Look {
            failed,
            timed_out: _,
            answered,
            not_sent,
        } = look;
        if !look.is_any() {
            return;
        }
        if failed == 0 && answered == 0 && self.open.is_none() {
            // Another thread counted it a moment after the answer that ended the stretch.
            let ended = self.ended.back_mut();
            let of_ended =
                ended.filter(|one| one.answered.is_some_and(|answered| is_near(answered, now)));
            if let Some(one) = of_ended {
                one.not_sent = one.not_sent.saturating_add(not_sent);
                return;
            }
        }
        if failed >= answered {
            let near = self.begun.take();
            let near = near.filter(|(begun, _)| is_near(*begun, now));
            let open = self.open.get_or_insert_with(|| {
                let (from, failed) = near.unwrap_or((now, 0));
                CandidateFailures {
                    candidate_version: version.to_owned(),
                    from,
                    to: now,
                    answered: None,
                    failed,
                    not_sent: 0,
                }
            });
            if failed > 0 {
                open.to = open.to.max(now);
            }
            open.failed = open.failed.saturating_add(failed);
            open.not_sent = open.not_sent.saturating_add(not_sent);
            return;
        }
        if let Some(open) = self.open.as_mut() {
            open.not_sent = open.not_sent.saturating_add(not_sent);
            if failed > 0 {
                open.to = open.to.max(now);
                open.failed = open.failed.saturating_add(failed);
            }
            self.end(now);
            self.begun = None;
        } else {
            self.begun = (failed > 0).then_some((now, failed));
        }
    }

    fn end(&mut self, answered: Timestamp) {
        if let Some(mut open) = self.open.take().filter(counts) {
            open.answered = Some(answered);
            keep(&mut self.ended, open, MAX_STRETCHES, lost);
        }
    }

    /// The stretches, the earliest first, with the one that goes on.
    pub(super) fn told(&self) -> Vec<CandidateFailures> {
        let open = self.open.iter().filter(|open| counts(open));
        self.ended.iter().chain(open).cloned().collect()
    }
}
