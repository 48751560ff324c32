//! The gate at work: it reads, waits until what it needs has arrived, and decides.
//!
//! A decision rests on evidence that is whole: everything that was received before it began must be settled, written and
//! here, which the watermarks of all who count say (see [`parity_schemas::watermark`]). They are written once a second, so
//! it waits a moment for the next ones; who is not heard of by then makes it undecided. When it waits for more traffic,
//! the first look that would pass says only that it *may* pass: requests that were quick to answer are counted before
//! those that are slow, or hang. So it then waits until everything received before that look is settled, and looks again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parity_schemas::evidence::{Decision, Outcome, Thresholds};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{Run, Standing};
use parity_sink::{Reader, Selection, StoreError};
use uuid::Uuid;

use super::decided::{conclude, decide};

/// How long watermarks are waited for, whatever else is waited for: five heartbeats, enough for a broker and a sink that
/// keep up. On a store of several machines the time that their clocks may be apart comes on top.
const WATERMARK_WAIT: Duration = Duration::from_secs(5);
/// Between two looks while a watermark is due.
const LOOK_SOON: Duration = Duration::from_millis(200);
/// Between two looks while more traffic is waited for: mirrors write their counts several times a second.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Decides; while undecided, decides again for up to `wait`. Instances that are `gone` are not waited for longer than a
/// watermark takes: one that is heard of is alive. `watch` is shown what stands so far before each pause.
pub fn settled(
    reader: &Reader,
    selection: &Selection,
    thresholds: &Thresholds,
    wait: Duration,
    gone: &[String],
    mut watch: impl FnMut(&Decision),
) -> Result<Decision, StoreError> {
    let apart = reader.clocks_apart();
    let patience = WATERMARK_WAIT + apart;
    let apart = i64::try_from(apart.as_micros()).unwrap_or(i64::MAX);
    let began = Instant::now();
    let began_at = Timestamp::now().saturating_add_micros(apart);
    // When the present looks began that would pass.
    let mut passing: Option<(Instant, Timestamp)> = None;
    let mut waited = Duration::ZERO;
    let mut seen = Seen::default();
    loop {
        // Before the question: what it finds was written by then, however long the answer takes.
        let asked = Timestamp::now();
        let evidence = reader.evidence(selection)?;
        let now = Timestamp::now();
        // Who is silent can make it undecided, never let it pass.
        let at_best = decide(
            selection,
            evidence.as_ref(),
            &Standing::default(),
            thresholds,
        );
        passing = match at_best.outcome {
            Outcome::Pass => {
                passing.or_else(|| Some((Instant::now(), now.saturating_add_micros(apart))))
            }
            Outcome::Fail | Outcome::Undecided => None,
        };
        let (since, after) = passing.unwrap_or((began, began_at));
        let mut standing = evidence
            .as_ref()
            .map_or_else(Standing::default, |evidence| {
                seen.look(&evidence.runs, asked.saturating_add_micros(apart));
                Standing::of(&evidence.runs, after, |run| seen.first(run))
            });
        if since.elapsed() >= patience {
            standing.take_for_gone(gone, after);
        }
        let (mut decision, _) =
            conclude(reader, selection, evidence.as_ref(), &standing, thresholds)?;
        decision.waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        let complete = standing.is_complete();
        let left = wait.saturating_sub(began.elapsed());
        let may_end = complete || since.elapsed() >= patience;
        if may_end && (decision.outcome != Outcome::Undecided || left.is_zero()) {
            return Ok(decision);
        }
        watch(&decision);
        let paused = Instant::now();
        std::thread::sleep(if complete {
            LOOK_AGAIN.min(left)
        } else {
            LOOK_SOON
        });
        waited += paused.elapsed();
    }
}

/// By run, the highest revision of its watermark so far, and when that was first seen. One that was ahead of the clock
/// then tells no more once that time has come: a mirror whose clock is ahead may have been killed, or its sink may be
/// stuck. A look that misses it, because a replica is behind, does not make it new.
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

    /// When the watermark of a run was seen first. One that is older than another look has shown is never believed: then
    /// this is the begin of time.
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
