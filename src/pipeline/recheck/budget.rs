//! How often services are asked again: bounds for the process, and for each group of mismatches.
//!
//! A difference that is systematic need not be asked about ten thousand times, and a group that looks like noise needs
//! many looks before it is proven. So a group that was confirmed has a bound of its own, and what is left of the rate of the
//! process goes to the other groups first: they may use all of it, the rest only what is over a reserve.
//!
//! Half of the bound of a group may be used at once, so that it is soon told what it is. The rest is spread over the minute: a
//! value that each process keeps for some seconds stands still in all looks of one moment, and only later ones can tell it
//! from a fault.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parity_schemas::recheck::RecheckEvent;
use parity_schemas::record::MismatchClass;

/// The period that the bound of a group is for.
const PERIOD: Duration = Duration::from_mins(1);
/// Groups that are remembered: as many as several tallies hold. Of more, only the bound of the process is known.
const MAX_GROUPS: usize = 4_096;
/// The least that may be asked at once: with a single token, there would be no reserve.
const LEAST_BURST: f64 = 2.0;

/// So many times as many mismatches of a group as usual without a look between them are a crowd: what is asked about says
/// little of them, because it was asked about calmer times. Between a day and its night there is less.
const CROWD: f64 = 20.0;
/// Looks from which on it is known what is usual, and over which it is averaged.
const USUAL: (u32, u32) = (20, 100);

/// Why nothing is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) event: RecheckEvent,
    /// Whether so many came at once that those that were asked about are no sample of them.
    pub(super) is_crowd: bool,
}

impl From<RecheckEvent> for Refused {
    fn from(event: RecheckEvent) -> Self {
        let is_crowd = false;
        Self { event, is_crowd }
    }
}

/// The bounds, as the configuration has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Second looks in a second, controls included.
    pub(super) rate: usize,
    /// Second looks in a minute at a group that was confirmed.
    pub(super) per_group: usize,
}

impl Bounds {
    /// How many second looks at a group that was confirmed may have begun when so much of a period is gone.
    fn of_group(self, gone: Duration) -> usize {
        let at_once = self.per_group.div_ceil(2);
        let spread = self.per_group - at_once;
        // One part more than there are, so that the last of them is due within the period.
        let due = (spread + 1) as f64 * gone.as_secs_f64() / PERIOD.as_secs_f64();
        at_once + (due as usize).min(spread)
    }
}

/// What has been used of the bounds. It outlives configurations.
pub(super) struct Budget {
    /// Second looks that may begin now; it grows with time, up to a second's worth.
    tokens: f64,
    since: Instant,
    /// Groups by their fingerprint.
    groups: HashMap<String, Group>,
}

#[derive(Default)]
struct Group {
    confirmed: bool,
    /// When the current period began, and the looks in it.
    period: Option<Instant>,
    looks: usize,
    /// Mismatches since the last look, how many there are between two looks on average, and over how many looks.
    since: u32,
    between: f64,
    ever: u32,
}

impl Group {
    fn is_spent(&self, bounds: Bounds, now: Instant) -> bool {
        let is_used_up = |begun: Instant| {
            let gone = now.saturating_duration_since(begun);
            gone < PERIOD && self.looks >= bounds.of_group(gone)
        };
        self.confirmed && self.period.is_some_and(is_used_up)
    }

    /// Takes note of one that is not asked about; whether they are a crowd.
    fn pass(&mut self) -> bool {
        self.since = self.since.saturating_add(1);
        self.ever >= USUAL.0 && f64::from(self.since) > CROWD * (self.between + 1.0)
    }

    fn look(&mut self, now: Instant) {
        self.ever = (self.ever + 1).min(USUAL.1);
        self.between += (f64::from(self.since) - self.between) / f64::from(self.ever);
        self.since = 0;
        match self.period {
            Some(begun) if now.saturating_duration_since(begun) < PERIOD => self.looks += 1,
            _ => (self.period, self.looks) = (Some(now), 1),
        }
    }
}

impl Budget {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            // As much as the rate allows at once.
            tokens: f64::INFINITY,
            since: now,
            groups: HashMap::new(),
        }
    }

    /// Takes one second look at a mismatch of these groups, or says why not.
    pub(super) fn take<'a>(
        &mut self,
        bounds: Bounds,
        groups: impl Iterator<Item = &'a str> + Clone,
        now: Instant,
    ) -> Result<(), Refused> {
        let known = |group: &str| self.groups.get(group);
        let is_spent = |group| known(group).is_some_and(|group| group.is_spent(bounds, now));
        if groups.clone().all(is_spent) {
            return Err(RecheckEvent::RefusedGroupRate.into());
        }
        let is_confirmed = |group| known(group).is_some_and(|group| group.confirmed);
        let goes_first = !groups.clone().all(is_confirmed);
        if !self.take_token(bounds, goes_first, now) {
            let crowds = groups.filter(|group| self.group(group).is_some_and(Group::pass));
            // Each of them is counted.
            let is_crowd = crowds.count() > 0;
            let event = RecheckEvent::RefusedRate;
            return Err(Refused { event, is_crowd });
        }
        for group in groups {
            if let Some(group) = self.group(group) {
                group.look(now);
            }
        }
        Ok(())
    }

    /// Takes one second look at a match. It comes after the mismatches that are not confirmed.
    pub(super) fn take_control(&mut self, bounds: Bounds, now: Instant) -> bool {
        self.take_token(bounds, false, now)
    }

    /// Remembers what a second look said of a group.
    pub(super) fn learn(&mut self, group: &str, class: MismatchClass) {
        if let Some(group) = self.group(group) {
            match class {
                MismatchClass::Confirmed | MismatchClass::Unstable => group.confirmed = true,
                // It may have been confirmed by a candidate that is mended now.
                MismatchClass::Noise | MismatchClass::Transient => group.confirmed = false,
                MismatchClass::Unconfirmed => {}
            }
        }
    }

    fn group(&mut self, fingerprint: &str) -> Option<&mut Group> {
        if !self.groups.contains_key(fingerprint) {
            if self.groups.len() >= MAX_GROUPS {
                return None;
            }
            self.groups.insert(fingerprint.to_owned(), Group::default());
        }
        self.groups.get_mut(fingerprint)
    }

    fn take_token(&mut self, bounds: Bounds, goes_first: bool, now: Instant) -> bool {
        let rate = bounds.rate as f64;
        let burst = rate.max(LEAST_BURST);
        let elapsed = now.saturating_duration_since(self.since);
        self.since = self.since.max(now);
        self.tokens = (self.tokens + elapsed.as_secs_f64() * rate).min(burst);
        let reserve = if goes_first { 0.0 } else { burst / 2.0 };
        let takes = bounds.rate > 0 && self.tokens >= reserve + 1.0;
        if takes {
            self.tokens -= 1.0;
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        rate: 10,
        per_group: 3,
    };

    fn take(budget: &mut Budget, groups: &[&str], now: Instant) -> Result<(), RecheckEvent> {
        let taken = budget.take(BOUNDS, groups.iter().copied(), now);
        taken.map_err(|refused| refused.event)
    }

    #[test]
    fn what_comes_at_once_is_a_crowd_and_what_always_comes_so_is_not() {
        let mut now = Instant::now();
        let mut budget = Budget::new(now);
        let mut crowds = |of: u64, seconds: f64| {
            let mut crowds = 0;
            for _ in 0..of {
                now += Duration::from_secs_f64(seconds / of as f64);
                let taken = budget.take(BOUNDS, ["a"].into_iter(), now);
                crowds += u64::from(taken.is_err_and(|refused| refused.is_crowd));
            }
            crowds
        };
        assert_eq!(crowds(3_000, 600.0), 0, "five a second, each asked about");
        let crowd = crowds(900, 0.4);
        assert!((500..900).contains(&crowd), "{crowd} of a burst");
        // Ten times as much for an hour: a crowd until it is usual.
        let grown = crowds(180_000, 3_600.0);
        assert!(grown < 2_000, "{grown} of what grew");
        assert_eq!(crowds(180_000, 3_600.0), 0);
    }

    #[test]
    fn the_rate_of_the_process_is_kept_over_time() {
        let begin = Instant::now();
        let mut budget = Budget::new(begin);
        let at = |millis| begin + Duration::from_millis(millis);
        let taken = (0..100_000).filter(|step| {
            let group = format!("group {step}");
            take(&mut budget, &[&group], at(*step)).is_ok()
        });
        // The first ones are those that may begin at once.
        let taken = taken.count();
        assert!((1_000..=1_000 + 10).contains(&taken), "{taken}");
        assert!(budget.groups.len() <= MAX_GROUPS);
        let off = Bounds { rate: 0, ..BOUNDS };
        let refused = budget.take(off, ["new"].into_iter(), at(500_000));
        let event = refused.map_err(|refused| refused.event);
        assert_eq!(event, Err(RecheckEvent::RefusedRate));
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        let begin = Instant::now() + Duration::from_hours(1);
        let mut budget = Budget::new(begin);
        while take(&mut budget, &["a"], begin).is_ok() {}
        for _ in 0..1_000 {
            for now in [
                begin.checked_sub(Duration::from_mins(30)).unwrap_or(begin),
                begin,
            ] {
                assert_eq!(
                    take(&mut budget, &["a"], now),
                    Err(RecheckEvent::RefusedRate)
                );
            }
        }
    }

    #[test]
    fn a_group_that_was_confirmed_is_bounded_and_others_are_not() {
        let begin = Instant::now();
        let mut budget = Budget::new(begin);
        let mut now = begin;
        let mut looks = |budget: &mut Budget, groups: &[&str], from: Instant| {
            now = from;
            (0..10)
                .filter(|_| {
                    now += Duration::from_secs(1);
                    take(budget, groups, now).is_ok()
                })
                .count()
        };
        assert_eq!(looks(&mut budget, &["a"], begin), 10);
        budget.learn("a", MismatchClass::Confirmed);
        let minute = |minutes| begin + minutes * PERIOD;
        let at_once = BOUNDS.of_group(Duration::ZERO);
        assert_eq!((at_once, BOUNDS.of_group(PERIOD)), (2, BOUNDS.per_group));
        assert_eq!(looks(&mut budget, &["a"], minute(2)), at_once);
        let late = minute(2) + PERIOD * 2 / 3;
        assert_eq!(take(&mut budget, &["a"], late), Ok(()));
        assert_eq!(
            take(&mut budget, &["a"], late),
            Err(RecheckEvent::RefusedGroupRate)
        );
        // With another group beside it there is something to learn.
        assert_eq!(looks(&mut budget, &["a", "b"], late), 10);
        assert_eq!(looks(&mut budget, &["a"], minute(4)), at_once);
        budget.learn("a", MismatchClass::Noise);
        assert_eq!(looks(&mut budget, &["a"], minute(6)), 10);
    }

    #[test]
    fn groups_that_are_not_confirmed_go_first() {
        let begin = Instant::now();
        let mut budget = Budget::new(begin);
        budget.learn("known", MismatchClass::Confirmed);
        let now = begin + Duration::from_secs(10);
        let known = (0..100).filter(|_| take(&mut budget, &["known"], now).is_ok());
        let at_once = BOUNDS.of_group(Duration::ZERO);
        assert_eq!(known.count(), at_once);
        let controls = (0..100).filter(|_| budget.take_control(BOUNDS, now));
        assert_eq!(controls.count(), 10 / 2 - at_once);
        let new = (0..100).filter(|_| take(&mut budget, &["new"], now).is_ok());
        assert_eq!(new.count(), 10 / 2);
    }
}
