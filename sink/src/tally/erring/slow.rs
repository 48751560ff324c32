//! Answers of the legacy that took far longer than those before.
//!
//! What is slow is said by the answers of the last hour: of these, one in a hundred took longer than their 99th percentile, so that more than
//! one in twenty do that is no chance, and twice that time is more than what a busy minute does. While it lasts, nothing of it counts
//! as what is usual; after an hour of it, that is what is usual. Only answers that were compared are counted, as everywhere in the
//! record: they have times, and cost clients nothing.

use std::collections::VecDeque;

use parity_schemas::histogram::{Histogram, lower_bound};
use parity_schemas::lately::{NOW_MICROS, SlowAnswers, Took};
use parity_schemas::time::Timestamp;

use super::{Counted, Span, Surely, joined};

/// Answers before, without which nobody can say what is usual: their 99th percentile is that of several.
const LEAST_BEFORE: u64 = 300;
/// An answer is slow if it took so many times as long as the 99th percentile of those before …
const TIMES: u64 = 2;
/// … and so much longer, in microseconds: what nobody who waits would notice is none.
const LEAST_LONGER_MICROS: u64 = 50_000;
/// Of how long a time is told what is usual.
const BEFORE_MICROS: i64 = 60 * MINUTE_MICROS;
const MINUTE_MICROS: i64 = 60_000_000;
const SECOND_MICROS: i64 = 1_000_000;

/// Answers of the legacy between two looks.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Times {
    took: Histogram,
    answers: u64,
    slow: u64,
    limit_us: u64,
    before_p99_us: u64,
    span: Span,
}

impl Counted for Times {
    type Told = SlowAnswers;

    fn all(&self) -> u64 {
        self.answers
    }

    fn bad(&self) -> u64 {
        self.slow
    }

    fn merge(&mut self, other: &Self) {
        self.took.merge(&other.took);
        self.answers = self.answers.saturating_add(other.answers);
        self.slow = self.slow.saturating_add(other.slow);
        self.span = joined(self.span, other.span);
    }

    fn told(&self, version: &str, ended: Option<Timestamp>) -> SlowAnswers {
        let (from, to) = self.span.unwrap_or_default();
        SlowAnswers {
            version: version.to_owned(),
            from,
            to,
            ended,
            answers: self.answers,
            slow: self.slow,
            limit_us: self.limit_us,
            p99_us: self.took.quantile(0.99).unwrap_or_default(),
            before_p99_us: self.before_p99_us,
        }
    }

    fn size(told: &SlowAnswers) -> u64 {
        told.slow
    }
}

/// What answers of a part of the time took, the latest last.
struct Parts {
    micros: i64,
    /// How many, besides the running one.
    most: i64,
    each: VecDeque<(i64, Histogram)>,
}

impl Parts {
    const fn new(micros: i64, all: i64) -> Self {
        Self {
            micros,
            most: all / micros,
            each: VecDeque::new(),
        }
    }

    fn add(&mut self, times: &Histogram, now: Timestamp) {
        let number = now.as_micros().div_euclid(self.micros);
        let first = number - self.most;
        // What is later than now is of a clock that was set back.
        self.each
            .retain(|(part, _)| (first..=number).contains(part));
        match self.each.back_mut() {
            Some((part, sum)) if *part == number => sum.merge(times),
            _ => self.each.push_back((number, times.clone())),
        }
    }

    fn sum(&self, now: Timestamp) -> Histogram {
        let number = now.as_micros().div_euclid(self.micros);
        let wanted = number - self.most..=number;
        let mut sum = Histogram::default();
        for (_, times) in self.each.iter().filter(|(part, _)| wanted.contains(part)) {
            sum.merge(times);
        }
        sum
    }
}

/// How long the legacy takes, and when it was slow.
pub(in super::super) struct Pace {
    /// Of the last seconds.
    now: Parts,
    /// Of what is usual.
    usual: Parts,
    /// From when on an answer is slow, and the 99th percentile that this follows from; `None` while nobody can say.
    limit: Option<(u64, u64)>,
    /// When that was last looked at.
    limit_at: i64,
    looked: Histogram,
    erring: Surely<Times>,
    /// Since when no answer counts as usual.
    open_since: Option<Timestamp>,
    version: String,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            now: Parts::new(SECOND_MICROS, NOW_MICROS),
            usual: Parts::new(MINUTE_MICROS, BEFORE_MICROS),
            limit: None,
            limit_at: i64::MIN,
            looked: Histogram::default(),
            erring: Surely::default(),
            open_since: None,
            version: String::new(),
        }
    }
}

impl Pace {
    /// Adds answers that took so long.
    pub(in super::super) fn add(&mut self, bucket: u16, count: u64) {
        self.looked.add(bucket, count);
    }

    /// Looks at what was added, of a legacy of this version.
    pub(in super::super) fn look(&mut self, version: &str, now: Timestamp) {
        if self.looked.is_empty() {
            self.erring.rest(now);
            if !self.erring.is_open() {
                self.open_since = None;
            }
            return;
        }
        let times = std::mem::take(&mut self.looked);
        self.now.add(&times, now);
        if self.version != version {
            // Nobody has said yet how long this one takes.
            version.clone_into(&mut self.version);
            self.erring.end(now);
            self.usual.each.clear();
            self.limit = None;
        }
        let since = self
            .open_since
            .map(|since| now.as_micros() - since.as_micros());
        if since.is_some_and(|lasted| !(0..BEFORE_MICROS).contains(&lasted)) {
            self.erring.end(now);
            self.usual.each.clear();
            self.limit = None;
        } else if !self.erring.is_open() {
            self.find_limit(now);
        }
        if let Some((limit_us, before_p99_us)) = self.limit {
            let slow = times
                .iter()
                .filter(|(bucket, _)| lower_bound(*bucket) >= limit_us);
            let slow = slow.fold(0, |sum: u64, (_, count)| sum.saturating_add(count));
            let look = Times {
                answers: times.counts().sum(),
                slow,
                limit_us,
                before_p99_us,
                span: (slow > 0).then_some((now, now)),
                took: times.clone(),
            };
            self.erring.look(&look, version, now);
        }
        if self.erring.is_open() {
            self.open_since.get_or_insert(now);
        } else {
            self.open_since = None;
            self.usual.add(&times, now);
        }
    }

    /// Looks once a minute at what is usual, and at each look as long as nobody can say: the sum of an hour is no work for each look.
    fn find_limit(&mut self, now: Timestamp) {
        let minute = now.as_micros().div_euclid(MINUTE_MICROS);
        if self.limit.is_some() && self.limit_at == minute {
            return;
        }
        self.limit_at = minute;
        let usual = self.usual.sum(now);
        let is_enough = usual.counts().sum::<u64>() >= LEAST_BEFORE;
        let p99 = usual.quantile(0.99).filter(|_| is_enough);
        self.limit = p99.map(|p99| {
            let limit = p99.saturating_mul(TIMES);
            (limit.max(p99.saturating_add(LEAST_LONGER_MICROS)), p99)
        });
    }

    /// When the legacy was slow.
    pub(in super::super) fn told(&self) -> Vec<SlowAnswers> {
        self.erring.told()
    }

    /// What it took in the last seconds.
    pub(in super::super) fn took(&self, now: Timestamp) -> Option<Took> {
        let times = self.now.sum(now);
        Some(Took {
            answers: times.counts().sum(),
            p50_us: times.quantile(0.5)?,
            p99_us: times.quantile(0.99)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::histogram::bucket;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(1_790_000_000_000_000 + second * SECOND_MICROS)
    }

    /// Looks of seconds: from when to when, with answers of which each took so many milliseconds.
    fn paced(pace: &mut Pace, seconds: std::ops::Range<i64>, each: &[u64]) {
        for second in seconds {
            for millis in each {
                pace.add(bucket(millis * 1_000), 1);
            }
            pace.look("4", at(second));
        }
    }

    #[test]
    fn a_legacy_that_is_slow_is_told_from_when_to_when_and_what_was_usual() {
        let mut pace = Pace::default();
        let usual = [1, 1, 1, 1, 1, 1, 1, 1, 1, 2];
        paced(&mut pace, 0..60, &usual);
        assert!(pace.told().is_empty());
        paced(&mut pace, 60..105, &[600, 600]);
        let [one] = &pace.told()[..] else {
            panic!("{:?}", pace.told());
        };
        assert_eq!((one.from, one.to, one.ended), (at(60), at(104), None));
        assert_eq!((one.answers, one.slow, one.version.as_str()), (90, 90, "4"));
        assert!((2_000..2_100).contains(&one.before_p99_us), "{one:?}");
        assert!((600_000..620_000).contains(&one.p99_us), "{one:?}");
        let took = pace.took(at(104)).expect("answers");
        assert_eq!(took.answers, 22);
        assert!(took.p50_us > 500_000, "{took:?}");
        // What was slow is not what is usual.
        paced(&mut pace, 105..140, &usual);
        assert!(pace.told()[0].ended.is_some_and(|ended| ended < at(115)));
        paced(&mut pace, 140..150, &[600, 600]);
        assert_eq!(pace.told().len(), 2);
        assert!(pace.took(at(200)).is_none(), "nothing lately");
    }

    #[test]
    fn a_part_of_the_answers_is_enough_and_a_few_or_a_little_are_not() {
        let mut pace = Pace::default();
        paced(&mut pace, 0..60, &[3; 20]);
        // One in a hundred of a bad kind, and all a little slower.
        for second in 60..600 {
            let one = if second % 5 == 0 { 900 } else { 3 };
            let mut each = [9; 20];
            each[0] = one;
            paced(&mut pace, second..second + 1, &each);
        }
        assert!(pace.told().is_empty(), "{:?}", pace.told());
        let mut each = [3; 20];
        each[..6].fill(900);
        paced(&mut pace, 600..660, &each);
        assert_eq!(pace.told().len(), 1);
    }

    #[test]
    fn without_answers_before_or_of_another_version_nobody_can_say() {
        let mut pace = Pace::default();
        paced(&mut pace, 0..20, &[1; 10]);
        paced(&mut pace, 20..60, &[700]);
        assert!(pace.told().is_empty());
        let mut pace = Pace::default();
        paced(&mut pace, 0..60, &[1; 10]);
        for _ in 0..20 {
            pace.add(bucket(700_000), 20);
            pace.look("5", at(61));
        }
        assert!(pace.told().is_empty(), "{:?}", pace.told());
    }

    #[test]
    fn what_lasts_for_an_hour_is_usual() {
        let mut pace = Pace::default();
        paced(&mut pace, 0..60, &[1; 10]);
        paced(&mut pace, 60..3_700, &[700; 10]);
        let [one] = &pace.told()[..] else {
            panic!("{:?}", pace.told());
        };
        assert!(one.ended.is_some(), "{one:?}");
    }
}
