//! How the rechecks of a group are spread over processes and days, and so what they speak for.
//!
//! A proof of noise vouches for mismatches near its rechecks only. So mismatches are counted by process and by day (in
//! UTC, by the begin of their interval, so that no clock of a reader matters), and [`sample`] decides which of them are
//! spoken for. What the values' signs say is also counted for the last days alone: a candidate that began to be off must not
//! be vouched for by what it did weeks ago.

use std::collections::BTreeMap;

use parity_schemas::evidence::Window;
use parity_schemas::recheck::RecheckEvidence;
use parity_schemas::record::MismatchClass;
use parity_schemas::sampling::sample;
use parity_schemas::tally::GroupTally;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
/// How long what was seen of signs says something of what is seen now: a week has each of its days once, and code that is
/// deployed or data that is loaded by a weekly job shows within it.
const LATELY_DAYS: i32 = 7;

/// What is counted of a group by process and day.
#[derive(Clone, Copy)]
pub(in crate::read) enum Sum {
    /// Its mismatches.
    Count,
    /// Those of them that were asked about again.
    Asked,
    /// What the second answers said.
    Of(RecheckEvidence),
}

/// All of it, in the order of [`Part`]. Every store counts by this: one adds rows up itself, of another each row is added here.
pub(in crate::read) const SUMS: [Sum; 8] = [
    Sum::Count,
    Sum::Asked,
    Sum::Of(RecheckEvidence::NeverAsked),
    Sum::Of(RecheckEvidence::Unheard),
    Sum::Of(RecheckEvidence::Silent),
    Sum::Of(RecheckEvidence::Above),
    Sum::Of(RecheckEvidence::Below),
    Sum::Of(RecheckEvidence::Targets),
];

impl Sum {
    fn of(self, row: &GroupTally) -> u64 {
        match self {
            Self::Count => row.count,
            Self::Asked => {
                let asked = row.classes.iter();
                let asked = asked.filter(|(class, _)| **class != MismatchClass::Unconfirmed);
                asked.map(|(_, count)| count).sum()
            }
            Self::Of(evidence) => row.evidence.get(&evidence).copied().unwrap_or(0),
        }
    }
}

/// The rechecks of one group.
#[derive(Clone, Default)]
pub(in crate::read) struct Spread {
    /// By day and process, sorted. A list, because there are many of them, and rows come by day.
    parts: Vec<((i32, Uuid), Part)>,
    /// Different targets by process, each counted once whatever the day. Two processes may have seen the same ones.
    targets: BTreeMap<Uuid, u64>,
}

/// What one process counted of the group on one day.
#[derive(Clone, Default)]
struct Part {
    count: u64,
    rechecks: u64,
    never_asked: u64,
    unheard: u64,
    silent: u64,
    above: u64,
    below: u64,
}

impl Part {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.rechecks += other.rechecks;
        self.never_asked += other.never_asked;
        self.unheard += other.unheard;
        self.silent += other.silent;
        self.above += other.above;
        self.below += other.below;
    }

    /// Mismatches that are asked about, or could be: what is never asked about, or while nothing is asked, is no part of what
    /// rechecks speak for, and readers count it apart.
    fn may_be_asked(&self) -> u64 {
        self.count.saturating_sub(self.never_asked + self.unheard)
    }

    /// Those of them for which rechecks stand that said nothing, rounded up.
    fn silenced(&self) -> u64 {
        let (all, silent) = (self.may_be_asked(), u128::from(self.silent));
        let asked = u128::from(self.rechecks) + silent;
        let silenced = (u128::from(all) * silent).div_ceil(asked.max(1));
        u64::try_from(silenced).unwrap_or(all).min(all)
    }
}

impl Spread {
    pub(in crate::read) fn with_room_for(parts: usize) -> Self {
        Self {
            parts: Vec::with_capacity(parts),
            targets: BTreeMap::new(),
        }
    }

    /// That of one row.
    pub(in crate::read) fn of(row: &GroupTally) -> Self {
        let mut spread = Self::default();
        spread.add(
            day(row.interval_start),
            row.run,
            &SUMS.map(|sum| sum.of(row)),
        );
        spread
    }

    /// Adds what a process counted on a day: [`SUMS`].
    pub(in crate::read) fn add(&mut self, day: i32, run: Uuid, sums: &[u64; SUMS.len()]) {
        let [
            count,
            rechecks,
            never_asked,
            unheard,
            silent,
            above,
            below,
            targets,
        ] = *sums;
        // A forged row is refused later; it must not stop the reader.
        let known = self.targets.entry(run).or_default();
        *known = known.saturating_add(targets);
        let part = Part {
            count,
            rechecks,
            never_asked,
            unheard,
            silent,
            above,
            below,
        };
        self.add_part((day, run), part);
    }

    fn add_part(&mut self, key: (i32, Uuid), part: Part) {
        match self.parts.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(place) => self.parts[place].1.add(&part),
            Err(place) => self.parts.insert(place, (key, part)),
        }
    }

    /// Adds other rows of the same group.
    pub(in crate::read) fn extend(&mut self, other: Self) {
        for (key, part) in other.parts {
            self.add_part(key, part);
        }
        for (run, targets) in other.targets {
            *self.targets.entry(run).or_default() += targets;
        }
    }

    /// Leaves only how many there are and were asked about.
    pub(super) fn forget_evidence(&mut self) {
        self.targets.clear();
        for (_, part) in &mut self.parts {
            *part = Part {
                count: part.count,
                rechecks: part.rechecks,
                ..Part::default()
            };
        }
    }

    /// Adds the rechecks of the same group that were counted elsewhere.
    pub(super) fn merge(&mut self, other: Self) {
        for (key, part) in other.parts {
            self.add_part(key, part);
        }
        // A process begins to tell targets apart anew under other rules, so they may be the same ones.
        for (run, targets) in other.targets {
            let known = self.targets.entry(run).or_default();
            *known = (*known).max(targets);
        }
    }

    /// What follows for the group. Without a window nothing is said of its last days.
    pub(super) fn counts(&self, window: Option<Window>) -> BTreeMap<RecheckEvidence, u64> {
        let parts = self.parts.iter().map(|(_, part)| part);
        let spoken = parts
            .clone()
            .map(|part| (part.may_be_asked() - part.silenced(), part.rechecks));
        let sampled = sample(spoken);
        let silenced: u64 = parts.clone().map(Part::silenced).sum();
        let rechecks: u64 = parts.map(|part| part.rechecks).sum();
        let targets = self.targets.values().max().copied();
        let mut counts = BTreeMap::from([
            (RecheckEvidence::Targets, targets.unwrap_or(0)),
            (RecheckEvidence::Unsampled, sampled.unsampled + silenced),
        ]);
        if sampled.even < rechecks {
            counts.insert(RecheckEvidence::Even, sampled.even);
        }
        let since = window.map_or(i32::MIN, last_days);
        // What was carried over from earlier rules may be older than the window.
        if self.parts.iter().any(|((day, _), _)| *day < since) {
            let mut lately = Part::default();
            let parts = self.parts.iter().filter(|((day, _), _)| *day >= since);
            parts.for_each(|(_, part)| lately.add(part));
            counts.extend([
                (RecheckEvidence::Lately, lately.may_be_asked()),
                (RecheckEvidence::LatelyAsked, lately.rechecks),
                (RecheckEvidence::LatelyAbove, lately.above),
                (RecheckEvidence::LatelyBelow, lately.below),
            ]);
        }
        counts
    }
}

fn day(time: Timestamp) -> i32 {
    let day = time.as_micros().div_euclid(DAY_MICROS);
    // All times of 64 bits are within these days.
    i32::try_from(day).unwrap_or(i32::MAX)
}

/// The first of the last days of a window.
fn last_days(window: Window) -> i32 {
    let last = Timestamp::from_micros(window.to.as_micros().saturating_sub(1));
    day(last) - (LATELY_DAYS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Uuid = Uuid::from_u128(1);

    fn row(run: Uuid, day: i64, count: u64, rechecks: u64) -> GroupTally {
        GroupTally {
            run,
            interval_start: Timestamp::from_micros(day * DAY_MICROS + 5),
            count,
            classes: [
                (MismatchClass::Noise, rechecks),
                (MismatchClass::Unconfirmed, count - rechecks),
            ]
            .into(),
            evidence: [
                (RecheckEvidence::Targets, 3),
                (RecheckEvidence::Above, rechecks / 2),
                (RecheckEvidence::Below, rechecks / 4),
            ]
            .into(),
            ..GroupTally::default()
        }
    }

    fn told(rows: &[(u128, i64, u64, u64)], window: Option<[i64; 2]>) -> Vec<String> {
        let mut spread = Spread::default();
        for (run, day, count, rechecks) in rows {
            spread.extend(Spread::of(&row(
                Uuid::from_u128(*run),
                *day,
                *count,
                *rechecks,
            )));
        }
        let at = |day: i64| Timestamp::from_micros(day * DAY_MICROS);
        let window = window.map(|[from, to]| Window {
            from: at(from),
            to: at(to),
        });
        let counts = spread.counts(window).into_iter();
        let counts = counts.filter(|(_, count)| *count > 0);
        counts.map(|(of, count)| format!("{of} {count}")).collect()
    }

    #[test]
    fn a_day_on_which_nobody_asked_is_not_vouched_for_by_the_day_before() {
        let day = (1, 20_000, 9_000, 900);
        assert_eq!(told(&[day], None), ["targets 3"]);
        let next = (1, 20_001, 9_000, 0);
        assert_eq!(told(&[day, next], None), ["unsampled 9000", "targets 6"]);
        let of_other = (2, 20_000, 9_000, 0);
        assert_eq!(
            told(&[day, of_other], None),
            ["unsampled 9000", "targets 3"]
        );
        // With a few rechecks it is vouched for as far as those go.
        let few = (1, 20_001, 9_000, 10);
        assert_eq!(told(&[day, few], None), ["even 20", "targets 6"]);
    }

    #[test]
    fn what_is_never_asked_about_is_no_part_of_what_a_recheck_speaks_for() {
        let mut spread = Spread::default();
        let mut mixed = row(RUN, 1, 1_000, 100);
        mixed.evidence.insert(RecheckEvidence::NeverAsked, 800);
        spread.extend(Spread::of(&mixed));
        spread.extend(Spread::of(&row(RUN, 2, 200, 100)));
        assert_eq!(spread.counts(None).get(&RecheckEvidence::Even), None);
        assert_eq!(spread.counts(None)[&RecheckEvidence::Unsampled], 0);
    }

    #[test]
    fn rechecks_that_say_nothing_stand_for_mismatches_like_any_other() {
        let unsampled = |evidence: &[(RecheckEvidence, u64)]| {
            let mut spread = Spread::default();
            let mut row = row(RUN, 1, 1_000, 90);
            row.evidence.extend(evidence.iter().copied());
            spread.extend(Spread::of(&row));
            spread.counts(None)[&RecheckEvidence::Unsampled]
        };
        assert_eq!(unsampled(&[]), 0);
        // A tenth of what was asked about was not answered.
        assert_eq!(unsampled(&[(RecheckEvidence::Silent, 10)]), 100);
        // What came while nothing was asked is counted apart, and none of the others stand for it.
        let paused = [
            (RecheckEvidence::Silent, 10),
            (RecheckEvidence::Unheard, 500),
        ];
        assert_eq!(unsampled(&paused), 50);
        assert_eq!(unsampled(&[(RecheckEvidence::Silent, u64::MAX)]), 1_000);
    }

    #[test]
    fn targets_of_a_process_that_began_anew_under_other_rules_are_not_added_up() {
        let mut spread = Spread::of(&row(RUN, 1, 100, 50));
        spread.merge(Spread::of(&row(RUN, 1, 100, 50)));
        assert_eq!(spread.counts(None)[&RecheckEvidence::Targets], 3);
    }

    #[test]
    fn of_a_long_window_the_last_seven_days_are_also_told_apart() {
        let days: Vec<_> = (1..=30).map(|day| (1, day, 100, 20)).collect();
        let lately = [
            "lately 700",
            "lately_asked 140",
            "lately_above 70",
            "lately_below 35",
        ];
        let told_of = |days: &[_], window| {
            let told = told(days, Some(window));
            told.into_iter()
                .filter(|line| line.starts_with("lately"))
                .collect::<Vec<_>>()
        };
        // The 31st has not begun.
        assert_eq!(told_of(&days, [1, 31]), lately);
        assert_eq!(told_of(&days, [20, 31]), lately, "some is carried over");
        assert!(told_of(&days[23..], [1, 31]).is_empty(), "there is no more");
        assert!(
            told(&days, None)
                .iter()
                .all(|line| !line.starts_with("lately"))
        );
    }
}
