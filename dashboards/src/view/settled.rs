//! The gate's loop: it reads the evidence, waits until it is complete, and decides.
//!
//! A decision needs complete evidence: every request that was received before the gate began must have its outcome in the
//! store that the gate reads. The watermarks of all instances that count say so (see [`parity_schemas::watermark`]). They are
//! written once a second, so the gate waits a moment for the next ones; an instance without one by then makes it undecided.
//! It does not wait for processes that were replaced: they write no more.
//!
//! When the gate waits for more traffic, the first read that would pass only means that it *may* pass: fast requests are
//! counted before those that are slow or hang. So it then waits until everything received before that read has its outcome,
//! and decides again ([`Target`]).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parity_comparator::known::news_beside;
use parity_schemas::evidence::{DecidedTerms, Decision, Evidence, Outcome};
use parity_schemas::known::NewDifferences;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{Run, Standing};
use parity_sink::{Reader, StoreError};
use uuid::Uuid;

use super::decided::decide;
use super::exported::terms;
use crate::question::Question;

/// How long the gate waits for watermarks: five of their intervals, which is enough for a broker and a sink that keep up. If
/// several machines share the store, the allowed difference of their clocks is added.
const WATERMARK_WAIT: Duration = Duration::from_secs(5);
/// Pause between two reads while a watermark is due.
const LOOK_SOON: Duration = Duration::from_millis(200);
/// Pause between two reads while waiting for more traffic. Mirrors write their counts several times a second.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Decides; while undecided, decides again for up to `wait`. `watch` gets the current decision before each pause.
pub fn settled(
    reader: &Reader,
    question: &Question,
    wait: Duration,
    watch: impl FnMut(&Decision),
) -> Result<Decision, StoreError> {
    settle(reader, question, wait, watch).map(|(decision, _)| decision)
}

/// The same without waiting, and what is new in the evidence, whether that is demanded or not.
pub(crate) fn settled_with_news(
    reader: &Reader,
    question: &Question,
) -> Result<(Decision, NewDifferences), StoreError> {
    let (decision, found) = settle(reader, question, Duration::ZERO, |_| {})?;
    let news = found.map(|evidence| news_beside(&decision, &evidence));
    Ok((decision, news.unwrap_or_default()))
}

/// The decision, and what it was made from.
pub(super) fn settle(
    reader: &Reader,
    question: &Question,
    wait: Duration,
    mut watch: impl FnMut(&Decision),
) -> Result<(Decision, Option<Evidence>), StoreError> {
    let apart = reader.clocks_apart();
    let patience = WATERMARK_WAIT + apart;
    let apart = i64::try_from(apart.as_micros()).unwrap_or(i64::MAX);
    let began = Instant::now();
    let mut target = Target::now(apart);
    let mut waited = Duration::ZERO;
    let mut seen = Seen::default();
    let selection = question.selected();
    loop {
        // Before the question: what it finds was written by then, however long the answer takes.
        let asked = Timestamp::now();
        let found = reader.find_evidence(&selection)?;
        let mut standing = found
            .value
            .as_ref()
            .map_or_else(Standing::default, |evidence| {
                seen.look(&evidence.runs, asked.saturating_add_micros(apart));
                Standing::of(&evidence.runs, target.after, |run| seen.first(run))
            });
        let out_of_patience = target.since.elapsed() >= patience
            || standing.waits_in_vain(asked.saturating_add_micros(-apart));
        if out_of_patience {
            standing.take_for_gone(&question.gone, target.after);
        }
        standing.expect(&question.expected);
        let complete = standing.is_complete();
        if !complete && !out_of_patience {
            // Nothing is decided on this read, so nobody is called silent whose next watermark is only due.
            standing.await_fresh(asked);
        }
        let known = (found.value.as_ref(), found.instead.as_ref());
        let (mut decision, _) = decide(question, known, &standing);
        decision.waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        let left = wait.saturating_sub(began.elapsed());
        let may_pass = decision.outcome == Outcome::Pass && target.was_undecided;
        if may_pass {
            target = Target::now(apart);
        } else if complete || out_of_patience {
            if decision.outcome != Outcome::Undecided || left.is_zero() {
                let under = terms(reader, &decision)?;
                decision.terms_cut = under.cut;
                decision.terms = under.terms.into_iter().map(DecidedTerms::of).collect();
                return Ok((decision, found.value));
            }
            target.was_undecided |= complete;
        }
        watch(&decision);
        let paused = Instant::now();
        std::thread::sleep(if complete && !may_pass {
            LOOK_AGAIN.min(left)
        } else {
            LOOK_SOON
        });
        waited += paused.elapsed();
    }
}

/// The time up to which evidence must be complete to be decided on. It is chosen before anybody looks at that evidence;
/// otherwise the gate would stop at the moment that suits the candidate.
struct Target {
    /// Everything received before this time must have its outcome.
    after: Timestamp,
    /// When this target was set.
    since: Instant,
    /// Whether complete evidence has already failed to decide. A later read that would pass then only sets a new target.
    was_undecided: bool,
}

impl Target {
    /// What is received up to now; the clocks of the writers may be this far ahead.
    fn now(apart: i64) -> Self {
        Self {
            after: Timestamp::now().saturating_add_micros(apart),
            since: Instant::now(),
            was_undecided: false,
        }
    }
}

/// For each run, the highest revision of its watermark so far, and when that was first seen. If its time was ahead of the
/// gate's clock then, it proves nothing when that time has come: the mirror may have been killed since, or its sink may be
/// stuck. A read that misses it, because a replica lags, does not make it new again.
#[derive(Default)]
struct Seen(HashMap<Uuid, (u32, Timestamp)>);

impl Seen {
    fn look(&mut self, runs: &[Run], now: Timestamp) {
        for watermark in runs.iter().filter_map(|run| run.watermark.as_ref()) {
            let seen = self
                .0
                .entry(watermark.id)
                .or_insert((watermark.revision, now));
            if seen.0 < watermark.revision {
                *seen = (watermark.revision, now);
            }
        }
    }

    /// When the watermark of a run was first seen. A watermark that is older than one that was read before is never believed:
    /// then this is the earliest possible time.
    fn first(&self, run: &Run) -> Timestamp {
        let Some(watermark) = &run.watermark else {
            return Timestamp::default();
        };
        match self.0.get(&watermark.id) {
            Some((revision, first)) if *revision == watermark.revision => *first,
            _ => Timestamp::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::watermark::{RunState, Watermark};

    use super::*;

    fn run(revision: u32, complete_until: i64) -> Run {
        let time = Timestamp::from_micros(complete_until);
        Run {
            instance: "one".to_owned(),
            watermark: Some(Watermark {
                revision,
                written: time,
                complete_until: time,
                ..Watermark::default()
            }),
            last_tally: None,
            before_watermarks: false,
            lacks_tallies: false,
            succeeded: None,
            apart: None,
        }
    }

    /// What is believed of a run that looks at different times have shown, for a gate that began at 10.
    fn states(looks: &[(i64, u32, i64)]) -> Vec<bool> {
        let mut seen = Seen::default();
        let look = |(now, revision, until): &(i64, u32, i64)| {
            let runs = [run(*revision, *until)];
            seen.look(&runs, Timestamp::from_micros(*now));
            let after = Timestamp::from_micros(10);
            let standing = Standing::of(&runs, after, |run| seen.first(run));
            let state = standing.watermarks[0].state;
            assert!(
                matches!(state, RunState::Complete | RunState::Ahead),
                "{state:?}"
            );
            state == RunState::Complete
        };
        looks.iter().map(look).collect()
    }

    #[test]
    fn a_watermark_that_was_ahead_stays_so_until_a_newer_one_comes() {
        assert_eq!(states(&[(12, 7, 11)]), [true]);
        assert_eq!(
            states(&[(12, 7, 20), (25, 7, 20), (26, 8, 24)]),
            [false, false, true]
        );
    }

    #[test]
    fn a_replica_that_is_behind_makes_no_old_watermark_new() {
        // The second look asks a replica that does not have the newest one yet.
        assert_eq!(
            states(&[(12, 7, 20), (13, 6, 11), (25, 7, 20)]),
            [false, false, false]
        );
        // The clock of the mirror is ahead; the old one must not be taken for one that was written by 25.
        assert_eq!(
            states(&[(12, 6, 20), (25, 7, 30), (26, 6, 20)]),
            [false, false, false]
        );
    }
}
