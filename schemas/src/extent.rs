//! How much can have been counted.
//!
//! Counts are added up in many places, some of them as doubles. Whoever can write to a store or to a file may put any number
//! there. So what is read is first added up here, and refused if no traffic counts that much: then no sum of it overflows,
//! and each is exact as a double, too.

use crate::recheck::{ClassCounts, EvidenceCounts};
use crate::tally::{Counts, GroupTally, SetTally, Tally};

/// All counts of one evidence together are less. A request is in some twenty of them, so this is ten thousand requests a
/// second for more than a thousand years; and a double holds every number up to here.
pub const MOST_COUNTED: u64 = 1 << 53;

/// What a row or a document counts, each number of it added to the others.
pub trait Extent {
    /// The sum; the largest number there is if it is larger.
    fn extent(&self) -> u64;
}

fn sum<'a>(counts: impl IntoIterator<Item = &'a u64>) -> u64 {
    counts
        .into_iter()
        .fold(0, |sum, count| sum.saturating_add(*count))
}

impl Extent for Counts {
    fn extent(&self) -> u64 {
        let maps = [
            sum(self.clients.values()),
            sum(self.classes.values()),
            sum(self.rechecks.values()),
            sum(self.not_compared.values()),
            sum(self.legacy_answers.values()),
            sum(self.fields.values()),
        ];
        sum([&self.received, &self.matched, &self.mismatch]
            .into_iter()
            .chain(&maps))
    }
}

impl Extent for Tally {
    fn extent(&self) -> u64 {
        let times = [
            &self.legacy_latency,
            &self.candidate_latency,
            &self.legacy_head_latency,
            &self.candidate_head_latency,
        ];
        let times = times.map(|times| sum(times.counts()));
        let targets = self.frequent_targets.counters();
        let targets = targets.fold(0, |sum: u64, (_, count)| sum.saturating_add(count));
        let rest = [self.counts.extent(), sum(self.rule_hits.values()), targets];
        sum(times.iter().chain(&rest))
    }
}

fn of_group(count: u64, classes: &ClassCounts, evidence: &EvidenceCounts) -> u64 {
    sum([count, sum(classes.values()), sum(evidence.values())].iter())
}

impl Extent for GroupTally {
    fn extent(&self) -> u64 {
        of_group(self.count, &self.classes, &self.evidence)
    }
}

impl Extent for SetTally {
    fn extent(&self) -> u64 {
        self.never_asked.saturating_add(sum(self.classes.values()))
    }
}
