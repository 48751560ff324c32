//! What `parity gate --wait` says while it waits: a line that moves on a terminal, and otherwise a line now and then, so that
//! the log of a job shows that it is alive, what it waits for and how far that is.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use parity_dashboards::terminal;
use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::visible::visible;
use parity_schemas::watermark::RunState;

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
    let so_far = match decision.outcome {
        // What is decided already still lacks requests that are under way, or the word of an instance.
        Outcome::Pass | Outcome::Fail => format!(
            "{} so far, until what was received has its outcome: {reason}",
            decision.outcome
        ),
        Outcome::Undecided => reason.to_owned(),
    };
    match due(decision) {
        Some(due) => format!("{due}; {so_far}"),
        None => so_far,
    }
}

/// Whose watermark is due: the instance that is furthest back, because all the others are sooner there.
fn due(decision: &Decision) -> Option<String> {
    let watermarks = decision.evidence.iter().flat_map(|one| &one.watermarks);
    let due = watermarks.filter(|one| one.state == RunState::UnderWay);
    let due = due.min_by_key(|one| one.complete_until)?;
    let until = due.complete_until?;
    Some(format!(
        "for the watermark of `{}` (complete up to {until})",
        due.instance
    ))
}

/// What to say where the rules are others than when it last looked: the counts may begin anew with them.
pub(super) fn other_rules(last: &mut Option<String>, decision: &Decision) -> Option<String> {
    let rules = &decision.evidence.as_ref()?.rules_hash;
    let before = last.replace(rules.clone())?;
    (before != *rules).then(|| {
        format!(
            "the rules changed during the wait, from `{before}` to `{rules}`: what the change touches is counted anew"
        )
    })
}

#[cfg(test)]
mod tests {
    use parity_comparator::decision::decide;
    use parity_schemas::evidence::{EvidenceSummary, Thresholds};
    use parity_schemas::time::Timestamp;
    use parity_schemas::watermark::{Run, Standing, Watermark};
    use uuid::Uuid;

    use super::*;

    /// An undecided decision while the gate, which began at `after`, waits for a run that wrote at 100 s.
    fn undecided(rules: &str, after: i64, now: i64) -> Decision {
        let seconds = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let run = Run {
            instance: "vm".to_owned(),
            watermark: Some(Watermark {
                written: seconds(100),
                complete_until: seconds(99),
                ..Watermark::default()
            }),
            last_tally: None,
            before_watermarks: false,
            lacks_tallies: false,
            succeeded: None,
            apart: None,
        };
        let mut standing = Standing::of(&[run], seconds(after), |_| seconds(now));
        standing.await_fresh(seconds(now));
        let evidence = EvidenceSummary {
            legacy_version: String::new(),
            candidate_version: String::new(),
            rules_hash: rules.to_owned(),
            from: seconds(60),
            to: seconds(120),
            instances: vec!["vm".to_owned()],
            complete_until: standing.complete_until,
            watermarks: standing.watermarks,
            carried: Vec::new(),
            other_rules: Vec::new(),
            left_out: Vec::new(),
            only_left_out: Vec::new(),
        };
        let mut decision = decide(
            "default",
            None,
            &Standing::default(),
            &Thresholds::default(),
            Uuid::nil(),
            seconds(now),
        );
        decision.outcome = Outcome::Undecided;
        decision.reasons = vec!["3 compared".to_owned()];
        decision.evidence = Some(evidence);
        decision
    }

    #[test]
    fn a_fresh_watermark_is_waited_for_and_an_old_one_is_not_excused() {
        let told = so_far(&undecided("a", 101, 102));
        assert!(
            told.starts_with("for the watermark of `vm` (complete up to 1970-01-01T00:01:39"),
            "{told}"
        );
        assert!(told.ends_with("; 3 compared"), "{told}");
        assert_eq!(so_far(&undecided("a", 101, 104)), "3 compared");
        assert_eq!(so_far(&undecided("a", 98, 102)), "3 compared");
    }

    #[test]
    fn other_rules_are_told_once() {
        let mut last = None;
        let mut nothing = undecided("a", 101, 102);
        nothing.evidence = None;
        assert_eq!(other_rules(&mut last, &nothing), None);
        assert_eq!(other_rules(&mut last, &undecided("a", 101, 102)), None);
        let told = other_rules(&mut last, &undecided("b", 101, 102)).expect("they changed");
        assert!(told.contains("from `a` to `b`"), "{told}");
        assert_eq!(other_rules(&mut last, &undecided("b", 101, 102)), None);
    }

    #[test]
    fn a_line_comes_at_once_and_then_now_and_then() {
        let seconds = Duration::from_secs;
        assert!(is_due(None, seconds(0)));
        assert!(!is_due(Some(seconds(0)), seconds(29)));
        assert!(is_due(Some(seconds(0)), seconds(30)));
        assert!(!is_due(Some(seconds(31)), seconds(60)));
    }
}
