//! Gauges over time, without the pages that said them: for whoever watches a service for hours, and whose own memory is judged, too.
//!
//! Each gauge has its room from its first value on, so that nothing grows with the number of pages. When it is full every second value
//! goes, and of those that come then only every second one stays: they are as far apart in the end as at the beginning. The last one is
//! always there.

use parity_schemas::metrics::Subject;

use super::exposition::Exposition;
use super::names::{Names, Source};
use super::sampled::gauge;

/// What is told of by what it is at a time. Everything else is [followed](super::followed).
const SUBJECTS: [Subject; 4] = [
    Subject::Memory,
    Subject::Heap,
    Subject::Descriptors,
    Subject::Threads,
];
/// Values of a gauge: ten and more for each block of a trend.
const MOST: usize = 1_024;

/// One gauge.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    source: Source,
    values: Vec<(f64, f64)>,
    last: Option<(f64, f64)>,
    /// One in so many stays.
    every: u64,
    seen: u64,
}

/// All gauges of a service that its pages have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gauges {
    wanted: Vec<Source>,
    all: Vec<Kept>,
}

impl Gauges {
    pub(super) fn of(names: &Names) -> Self {
        let sources = SUBJECTS.iter().flat_map(|subject| names.of(*subject));
        let mut wanted: Vec<Source> = Vec::new();
        for source in sources {
            if !wanted.contains(&source) {
                wanted.push(source);
            }
        }
        Self {
            wanted,
            all: Vec::new(),
        }
    }

    /// Takes what a page says.
    pub(super) fn take(&mut self, at: f64, page: &Exposition) {
        for source in &self.wanted {
            let Some(value) = gauge(page, source, "") else {
                continue;
            };
            let place = self.all.iter().position(|kept| kept.source == *source);
            let place = place.unwrap_or_else(|| {
                let mut values = Vec::new();
                // Written once, so that the system has given it before anything is measured.
                values.resize(MOST, (0.0, 0.0));
                values.clear();
                self.all.push(Kept {
                    source: source.clone(),
                    values,
                    last: None,
                    every: 1,
                    seen: 0,
                });
                self.all.len() - 1
            });
            self.all[place].take((at, value));
        }
    }

    /// A gauge over time.
    pub(super) fn values(&self, source: &Source) -> Vec<(f64, f64)> {
        let mut all = self.all.iter();
        let kept = all.find(|kept| kept.source == *source);
        kept.map_or_else(Vec::new, |kept| {
            let mut values = kept.values.clone();
            values.extend(kept.last);
            values
        })
    }

    /// About what they take of memory.
    pub(super) fn bytes(&self) -> usize {
        self.all.len() * MOST * size_of::<(f64, f64)>()
    }
}

impl Kept {
    fn take(&mut self, value: (f64, f64)) {
        if self.seen.is_multiple_of(self.every) {
            if self.values.len() == MOST {
                let mut index = 0;
                self.values.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.every *= 2;
            }
            // Of those that were halved just now, this one may be one that does not stay.
            if self.seen.is_multiple_of(self.every) {
                self.values.push(value);
                self.last = None;
            } else {
                self.last = Some(value);
            }
        } else {
            self.last = Some(value);
        }
        self.seen += 1;
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::super::labels::Shared;
    use super::*;

    #[test]
    fn values_without_end_take_no_more_room_and_stay_evenly_apart_with_the_last_one() {
        let names = Names::default();
        let mut gauges = Gauges::of(&names);
        let page = |value: usize| {
            let text = format!("process_open_fds {value}\nprocess_resident_memory_bytes 7\n");
            Exposition::read(&text, &|_| true, &mut Shared::default()).unwrap()
        };
        gauges.take(0.0, &page(0));
        let bytes = gauges.bytes();
        let count = MOST * 5 + 3;
        for number in 1..=count {
            gauges.take(number as f64, &page(number));
            assert!(gauges.all.iter().all(|kept| kept.values.len() <= MOST));
        }
        assert_eq!(gauges.bytes(), bytes);
        let source = &names.of(Subject::Descriptors)[0];
        let values = gauges.values(source);
        assert!(values.len() > MOST / 2, "{}", values.len());
        let (last, others) = values.split_last().unwrap();
        assert_eq!(*last, (count as f64, count as f64));
        let step = others[1].0 - others[0].0;
        assert_eq!(others[0].0, 0.0);
        assert!(others.windows(2).all(|pair| pair[1].0 - pair[0].0 == step));
        // What no page has has no values.
        assert!(gauges.values(&names.of(Subject::Threads)[0]).is_empty());
    }
}
