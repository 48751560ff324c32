//! What a process remembers of the values of a group, so that one look can be compared with those before.
//!
//! Values and targets are remembered by keyed hashes and never leave; what leaves are counts. All is bounded: beyond its
//! bounds a group forgets the values that were not seen for longest, of both services alike, so that a fault that begins late
//! is still recognized.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};

use parity_schemas::recheck::{EvidenceCounts, RecheckEvidence};
use parity_schemas::time::Timestamp;

use super::class::Observation;

/// Groups that are remembered; what is known of more is not counted. About as many as a tally holds.
const GROUPS: usize = 1_024;
/// Values of each service that a group remembers: a constant shows in a handful, one of a thousand values in some ten
/// thousand. 300 KiB for a group at most.
const VALUES: usize = 2_048;
/// Values that all groups remember: 19 MiB. Sixty-four groups may have all of theirs; a service rarely has as many fields that
/// differ in each answer.
const VALUES_IN_ALL: usize = 64 * 2 * VALUES;
/// Values of each service that a group may remember even then: with all groups, 5 MiB more. A constant in every answer shows in
/// three.
const LEAST_VALUES: usize = 32;
/// Times that a value must have been seen before to be one that repeats. Of values that are drawn at random many are seen
/// twice (of forty thousand, every twentieth among two thousand) and few three times; a constant is seen always. Of an id once
/// is enough: it may have been handed out to two who should not share it.
const OFTEN: u32 = 2;
/// How long ago a value must have been seen first to be one that repeats, in microseconds. A clock that ticks slowly shows
/// one value to all requests of that moment, and how many come in one moment is not the same for both services. Of ids each
/// repetition says something, however soon.
const LONG_AGO: i64 = 2_000_000;
/// Targets that a group tells apart; a proof asks for far fewer.
const TARGETS: usize = 256;
/// Powers of two by which a distance must be beyond all before it to be far: eight times as much. Of values without a
/// limit (times that a request takes), the largest of n is passed eight times over with a chance of about 1 in 8 n.
const FAR: i32 = 3;

/// What is remembered of all groups.
#[derive(Default)]
pub struct Memory {
    groups: HashMap<String, Known>,
    /// How many values all of them have.
    values: usize,
}

#[derive(Default)]
struct Known {
    legacy: Values,
    candidate: Values,
    targets: HashSet<u64>,
    /// The farthest that the legacy has moved.
    motion: Option<i32>,
}

/// Values of one service. Of too many, the one is forgotten that was not seen for longest, so that what repeats stays.
#[derive(Default)]
struct Values {
    shown: HashMap<u64, Shown>,
    /// Each value as often as it was seen, with the number of the sighting; only its last one counts.
    order: VecDeque<(u64, u64)>,
    sightings: u64,
}

impl Values {
    fn len(&self) -> usize {
        self.shown.len()
    }

    /// Takes in a value; there are at most so many.
    fn learn(&mut self, value: u64, time: Timestamp, most: usize) {
        self.sightings += 1;
        let last = self.sightings;
        if let Some(shown) = self.shown.get_mut(&value) {
            shown.times = shown.times.saturating_add(1);
            shown.last = last;
        } else {
            while self.len() >= most.max(1)
                && let Some((oldest, number)) = self.order.pop_front()
            {
                if self
                    .shown
                    .get(&oldest)
                    .is_some_and(|shown| shown.last == number)
                {
                    self.shown.remove(&oldest);
                }
            }
            let (first, times) = (time, 1);
            self.shown.insert(value, Shown { first, times, last });
        }
        self.order.push_back((value, last));
        if self.order.len() > 2 * self.len().max(LEAST_VALUES) {
            let shown = &self.shown;
            let is_last = |(value, number): &(u64, u64)| shown[value].last == *number;
            self.order
                .retain(|seen| shown.contains_key(&seen.0) && is_last(seen));
        }
    }
}

/// When a value was seen.
struct Shown {
    /// When first.
    first: Timestamp,
    times: u32,
    /// The number of the last sighting.
    last: u64,
}

impl Memory {
    /// Takes in what was seen in one exchange of a group, and says what is to be counted. `target` is a keyed hash of what
    /// was asked for, `time` when.
    pub fn count(
        &mut self,
        fingerprint: &str,
        seen: &Observation,
        target: u64,
        time: Timestamp,
    ) -> EvidenceCounts {
        let mut counts = EvidenceCounts::new();
        let mut add = |evidence| *counts.entry(evidence).or_default() += 1;
        for (sign, more, less) in signs(seen) {
            match sign {
                Some(Ordering::Greater) => add(more),
                Some(Ordering::Less) => add(less),
                _ => {}
            }
        }
        match seen.likewise {
            [true, false] => add(RecheckEvidence::LegacyLikewise),
            [false, true] => add(RecheckEvidence::CandidateLikewise),
            [true, true] => add(RecheckEvidence::BothLikewise),
            [false, false] => {}
        }
        if !self.groups.contains_key(fingerprint) {
            if self.groups.len() >= GROUPS {
                return counts;
            }
            self.groups.insert(fingerprint.to_owned(), Known::default());
        }
        let Some(known) = self.groups.get_mut(fingerprint) else {
            return counts;
        };
        let seen_ids = seen.are_ids;
        let repeats = |values: &[u64], known: &Values| {
            let mut seen = values.iter().filter_map(|value| known.shown.get(value));
            seen.any(|shown| {
                let age = time.as_micros().saturating_sub(shown.first.as_micros());
                seen_ids || (shown.times >= OFTEN && age >= LONG_AGO)
            })
        };
        // Where each keeps its value for a while, all looks of that while are one.
        let is_held = !seen.candidate_values.is_empty()
            && (seen.legacy_values.iter()).all(|value| known.legacy.shown.contains_key(value))
            && (seen.candidate_values.iter())
                .all(|value| known.candidate.shown.contains_key(value));
        match seen.order.filter(|_| is_held) {
            Some(Ordering::Greater) => add(RecheckEvidence::AboveAgain),
            Some(Ordering::Less) => add(RecheckEvidence::BelowAgain),
            _ => {}
        }
        let repeated = (
            repeats(&seen.candidate_values, &known.candidate),
            repeats(&seen.legacy_values, &known.legacy),
        );
        match repeated {
            (true, false) => add(RecheckEvidence::CandidateRepeats),
            (false, true) => add(RecheckEvidence::LegacyRepeats),
            _ => {}
        }
        let before = known.values();
        known.learn(seen, time, self.values >= VALUES_IN_ALL);
        self.values += known.values() - before;
        if let Some(farthest) = known.motion {
            let is_far = |power: Option<i32>| {
                power.is_some_and(|power| power > farthest.saturating_add(FAR))
            };
            match (is_far(seen.between), is_far(seen.motion)) {
                (true, false) => {
                    add(RecheckEvidence::CandidateFar);
                    if is_held {
                        add(RecheckEvidence::FarAgain);
                    }
                }
                (false, true) => add(RecheckEvidence::LegacyFar),
                _ => {}
            }
        }
        known.motion = known.motion.max(seen.motion);
        if known.targets.len() < TARGETS && known.targets.insert(target) {
            add(RecheckEvidence::Targets);
        }
        counts
    }
}

/// What was seen that has a counterpart, with the evidence for the candidate as the odd one and for the legacy.
fn signs(seen: &Observation) -> [(Option<Ordering>, RecheckEvidence, RecheckEvidence); 7] {
    [
        (seen.order, RecheckEvidence::Above, RecheckEvidence::Below),
        (seen.own, RecheckEvidence::Own, RecheckEvidence::Other),
        (
            seen.moved,
            RecheckEvidence::CandidateAlone,
            RecheckEvidence::LegacyAlone,
        ),
        (
            seen.odd,
            RecheckEvidence::CandidateOdd,
            RecheckEvidence::LegacyOdd,
        ),
        (
            seen.twins,
            RecheckEvidence::CandidateTwins,
            RecheckEvidence::LegacyTwins,
        ),
        (
            seen.nearer,
            RecheckEvidence::OwnOrder,
            RecheckEvidence::OtherOrder,
        ),
        (
            seen.scatter,
            RecheckEvidence::CandidateScatters,
            RecheckEvidence::LegacyScatters,
        ),
    ]
}

impl Known {
    fn values(&self) -> usize {
        self.legacy.len() + self.candidate.len()
    }

    fn learn(&mut self, seen: &Observation, time: Timestamp, are_all_full: bool) {
        // Both may have as many: who forgets more would repeat less. Where all groups together are full, a group keeps what
        // it has, or a little if it is new.
        let most = if are_all_full {
            let longest = self.legacy.len().max(self.candidate.len());
            longest.clamp(LEAST_VALUES, VALUES)
        } else {
            VALUES
        };
        for (values, known) in [
            (&seen.legacy_values, &mut self.legacy),
            (&seen.candidate_values, &mut self.candidate),
        ] {
            for value in values {
                known.learn(*value, time, most);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_distances_and_targets_are_counted_against_what_was_before() {
        let mut memory = Memory::default();
        let second =
            |second: i64| Timestamp::from_micros(1_800_000_000_000_000 + second * 1_000_000);
        let mut seen = |candidate: u64, legacy: u64, between: i32, target: u64, at: i64| {
            let observation = Observation {
                order: Some(Ordering::Greater),
                between: Some(between),
                motion: Some(10),
                legacy_values: vec![legacy],
                candidate_values: vec![candidate],
                ..Observation::default()
            };
            let counts = memory.count("f", &observation, target, second(at));
            counts
                .into_keys()
                .map(RecheckEvidence::as_str)
                .collect::<Vec<_>>()
        };
        assert_eq!(seen(1, 2, 99, 7, 0), ["above", "targets"]);
        assert_eq!(seen(1, 3, 13, 7, 0), ["above"]);
        // Not long ago, however often.
        assert_eq!(seen(1, 4, 13, 7, 1), ["above"]);
        assert_eq!(seen(1, 5, 13, 7, 1), ["above"]);
        assert_eq!(seen(1, 6, 13, 7, 2), ["above", "candidate_repeats"]);
        assert_eq!(seen(2, 3, 14, 8, 2), ["above", "candidate_far", "targets"]);
        assert_eq!(seen(3, 3, 13, 8, 3), ["above", "legacy_repeats"]);
        assert_eq!(
            seen(1, 3, 13, 8, 3),
            ["above", "above_again"],
            "both repeat"
        );
        // A clock that was set back makes nothing old.
        assert_eq!(seen(1, 7, 13, 8, -9), ["above"]);
    }

    #[test]
    fn a_memory_is_bounded_and_both_services_learn_alike() {
        let mut memory = Memory::default();
        for value in 0..3 * VALUES as u64 {
            let observation = Observation {
                legacy_values: vec![value],
                candidate_values: vec![value, value + 1_000_000],
                ..Observation::default()
            };
            memory.count("f", &observation, value, Timestamp::from_micros(0));
            let (none, time) = (Observation::default(), Timestamp::from_micros(0));
            memory.count(&format!("g{value}"), &none, 0, time);
        }
        let known = &memory.groups["f"];
        assert!(known.candidate.len() == VALUES && known.legacy.len() == VALUES);
        assert_eq!(
            (known.targets.len(), memory.groups.len()),
            (TARGETS, GROUPS)
        );
    }

    #[test]
    fn what_begins_late_and_repeats_is_recognized_among_fresh_values_however_fast_they_come() {
        let mut memory = Memory::default();
        let mut repeats = 0;
        for number in 0..40_000_u64 {
            let is_constant = number > 20_000 && number % 50 == 0;
            let candidate = if is_constant { 1 } else { 1_000_000 + number };
            let observation = Observation {
                legacy_values: vec![2_000_000 + 2 * number, 2_000_001 + 2 * number],
                candidate_values: vec![candidate, 5_000_000 + number],
                ..Observation::default()
            };
            // A thousand in a second: all that is remembered is of the last one.
            let time = Timestamp::from_micros(i64::try_from(number).expect("few") * 1_000);
            let counts = memory.count("f", &observation, number, time);
            repeats += u64::from(counts.contains_key(&RecheckEvidence::CandidateRepeats));
            assert!(!counts.contains_key(&RecheckEvidence::LegacyRepeats));
        }
        // But for those of its first two seconds.
        assert_eq!(repeats, 400 - 41);
        let known = &memory.groups["f"];
        assert!(known.candidate.order.len() <= 2 * VALUES + 1);
    }

    const EACH: usize = VALUES / 2;
    const FULL: usize = VALUES_IN_ALL / (2 * EACH);

    #[test]
    fn all_groups_together_are_bounded_and_what_is_known_is_still_recognized() {
        let mut memory = Memory::default();
        let mut see = |group: usize, value: u64, second: i64| {
            let observation = Observation {
                legacy_values: vec![value],
                candidate_values: vec![value + 1_000_000],
                ..Observation::default()
            };
            let time = Timestamp::from_micros(second * 1_000_000);
            let counts = memory.count(&format!("g{group}"), &observation, 0, time);
            (memory.values, counts)
        };
        // As many values as all may have, in groups of which each has room left.
        for group in 0..FULL + 2 {
            for value in 0..EACH as u64 {
                see(group, value, 0);
            }
        }
        // What came when all were full has a little room all the same.
        let all = VALUES_IN_ALL + 2 * 2 * LEAST_VALUES;
        let (values, _) = see(0, 0, 1);
        assert_eq!(values, all);
        let (_, counts) = see(0, 0, 9);
        assert!(
            !counts.contains_key(&RecheckEvidence::CandidateRepeats),
            "both repeat"
        );
        let held = |memory: &Memory| memory.groups.values().map(Known::values).sum::<usize>();
        assert_eq!(held(&memory), all);
        let late = memory.groups[&format!("g{}", FULL + 1)].values();
        assert_eq!(late, 2 * LEAST_VALUES);
        assert_eq!(memory.groups["g0"].legacy.shown[&0].times, 3);
    }
}
