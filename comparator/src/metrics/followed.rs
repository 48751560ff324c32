//! What is followed from page to page as they come, so that it does not depend on which of them are kept: how much counters grew, the
//! most that gauges and pauses were, when the process started.
//!
//! A counter of a process that began anew starts at 0: what it shows then was counted since. Only a new start time says that it did;
//! a counter that falls without one may as well be that of another process, and is told as a fall. One that appears later was 0
//! before, because clients show a counter only when it counts for the first time. Lines that cannot be read, numbers that are none, and
//! negative ones are [passed over](super::passed), and what rests on their metric is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parity_schemas::metrics::Subject;

use super::exposition::{Exposition, TYPES};
use super::labels::Labels;
use super::names::{Names, Source};
use super::passed::PassedOver;
use super::sampled::{gauge, shown_quantiles};

/// What grows of a subject, by the endings of its names.
pub(super) const GROWING: [(Subject, &[&str]); 4] = [
    (Subject::Requests, &[""]),
    (Subject::Latency, &["_bucket", "_count"]),
    (Subject::Cpu, &[""]),
    (Subject::Pauses, &["_bucket", "_sum"]),
];
/// What is told by the most that it was.
const PEAKING: [Subject; 4] = [
    Subject::Memory,
    Subject::Descriptors,
    Subject::Threads,
    Subject::Pauses,
];
/// Labels of what is not counted that are remembered of those that are gone, where they come and go without end.
const FEW: usize = 100;
/// What is not counted and must be there to the end, by the endings of its names: what is so much at a time, and what a summary shows.
const SHOWN: [(Subject, &[&str]); 7] = [
    (Subject::Latency, &[""]),
    (Subject::Memory, &[""]),
    (Subject::Heap, &[""]),
    (Subject::Pauses, &["", "_max"]),
    (Subject::Descriptors, &[""]),
    (Subject::Threads, &[""]),
    (Subject::Start, &[""]),
];
/// About what a counter takes, whose labels are shared.
const COUNTER_BYTES: usize = 96;
/// Bytes of counters that are no longer on the page: thousands of them, as after many restarts. More are of a label with a value for
/// each request or user, which has no end.
const GONE_BYTES: usize = 4 << 20;

/// A counter over all pages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counter {
    last: f64,
    /// How much it grew.
    pub(super) by: f64,
    /// How often it began anew.
    pub(super) resets: u64,
    /// How often it did so though the process did not, as far as it says when it started.
    pub(super) falls: u64,
    last_seen: Last,
}

/// The counters of a name by their labels.
type Counters = BTreeMap<Arc<Labels>, Counter>;

/// When something was seen last.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    /// After how many restarts.
    restarts: u64,
    /// On which page.
    page: u64,
}

/// What was seen on all pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Followed {
    counters: BTreeMap<String, Counters>,
    /// What is not counted, by its name and its labels.
    shown: BTreeMap<String, BTreeMap<Arc<Labels>, Last>>,
    peaks: Vec<(Subject, Source, f64)>,
    start: Option<f64>,
    /// The page that said so last.
    start_page: u64,
    /// How often the start time changed.
    pub(super) restarts: u64,
    /// Whether it was an earlier one then: no process begins before the one that it follows.
    pub(super) goes_back: bool,
    /// What families say they are.
    pub(super) types: BTreeMap<String, BTreeSet<String>>,
    /// Lines that could not be read.
    pub(super) unreadable: u64,
    /// The first of them.
    pub(super) told: Option<(usize, String)>,
    /// Those of them, and numbers that cannot be, that are of a metric that is wanted.
    pub(super) passed: PassedOver,
    /// Whether the counters were too many to follow.
    pub(super) is_over: bool,
    pages: u64,
}

impl Followed {
    /// Looks at the next page.
    pub(super) fn take(&mut self, page: &Exposition, names: &Names) {
        self.pages += 1;
        self.look_at_start(page, names);
        for (family, words) in &page.types {
            let known = self.types.entry(family.clone()).or_default();
            for word in words {
                if known.len() < TYPES {
                    known.insert(word.clone());
                }
            }
        }
        self.passed.take(&page.passed, self.pages, names);
        self.unreadable += page.unreadable;
        if self.told.is_none() {
            self.told = page.told.first().cloned();
        }
        if !self.is_over {
            self.count(page, names);
        }
        self.look_at_shown(page, names);
        for subject in PEAKING {
            for source in names.of(subject) {
                self.look_for_peak(page, subject, source);
            }
        }
    }

    fn look_at_start(&mut self, page: &Exposition, names: &Names) {
        let sources = names.of(Subject::Start);
        let Some(start) = sources.iter().find_map(|source| gauge(page, source, "")) else {
            return;
        };
        self.start_page = self.pages;
        if let Some(before) = self.start.replace(start) {
            self.restarts += u64::from(before.to_bits() != start.to_bits());
            self.goes_back |= start < before;
        }
    }

    fn count(&mut self, page: &Exposition, names: &Names) {
        let last_seen = self.last();
        for name in all(&GROWING, names) {
            let Some(samples) = page.samples.get(&name) else {
                continue;
            };
            let counters = self.counters.entry(name).or_default();
            for (labels, value) in samples {
                if !(value.is_finite() && *value >= 0.0) {
                    continue;
                }
                if let Some(counter) = counters.get_mut(labels) {
                    counter.goes_on(*value, last_seen);
                } else {
                    let counter = Counter {
                        last: *value,
                        by: if self.pages == 1 { 0.0 } else { *value },
                        resets: 0,
                        falls: 0,
                        last_seen,
                    };
                    counters.insert(Arc::clone(labels), counter);
                }
            }
        }
    }

    /// What is seen now.
    fn last(&self) -> Last {
        Last {
            restarts: self.restarts,
            page: self.pages,
        }
    }

    fn look_at_shown(&mut self, page: &Exposition, names: &Names) {
        let last = self.last();
        for name in all(&SHOWN, names) {
            let Some(samples) = page.samples.get(&name) else {
                continue;
            };
            let shown = self.shown.entry(name).or_default();
            for labels in samples.keys() {
                shown.insert(Arc::clone(labels), last);
            }
            // One that is gone is enough to tell; any of them may come back.
            if shown.len() > samples.len() + FEW {
                let mut gone = 0;
                shown.retain(|_, own| {
                    gone += usize::from(own.page != last.page);
                    own.page == last.page || gone <= FEW / 2
                });
            }
        }
    }

    /// What of a source was on a page and is not on the last one, in words: of the same process, as far as that is known, or all of
    /// what it shows. A counter that a new process does not have is 0 so far.
    pub(super) fn gone(&self, source: &Source, endings: &[&str]) -> Option<String> {
        let is_gone = |last: &Last| last.page != self.pages;
        endings.iter().find_map(|ending| {
            let name = format!("{}{ending}", source.name);
            let counters = self.counters(source, ending);
            let mut counted = counters.map(|(labels, counter)| (labels, counter.last_seen));
            let shown = self.shown.get(&name).into_iter().flatten();
            let shown = shown.map(|(labels, last)| (&**labels, *last));
            let shown = shown.filter(|(labels, _)| source.is_met(labels));
            let shown: Vec<(&Labels, Last)> = shown.collect();
            let has_none = shown.iter().all(|(_, last)| is_gone(last));
            let of_this = |last: &Last| is_gone(last) && last.restarts == self.restarts;
            let counted = counted.find(|(_, last)| of_this(last));
            let (labels, last) = counted.or_else(|| {
                let mut shown = shown.into_iter();
                shown.find(|(_, last)| of_this(last) || has_none)
            })?;
            let which = match labels.told() {
                none if none == "{}" => "it".to_owned(),
                labels => labels,
            };
            Some(format!(
                "`{name}` is not known to the end: {which} was on page {} and is not on the last one, page {}",
                last.page, self.pages
            ))
        })
    }

    /// Whether it said when it started, and does no more: then nobody knows whether it began anew.
    pub(super) fn lost_start(&self) -> bool {
        self.start.is_some() && self.start_page != self.pages
    }

    fn look_for_peak(&mut self, page: &Exposition, subject: Subject, source: Source) {
        let seen = if subject == Subject::Pauses {
            let shown = shown_quantiles(page, &source, 1.0).into_iter();
            shown.chain(gauge(page, &source, "_max")).reduce(f64::max)
        } else {
            gauge(page, &source, "")
        };
        let Some(seen) = seen else { return };
        let mut peaks = self.peaks.iter_mut();
        match peaks.find(|(of, own, _)| *of == subject && *own == source) {
            Some((_, _, peak)) => *peak = peak.max(seen),
            None => self.peaks.push((subject, source, seen)),
        }
    }

    /// The most that a source of a subject was; of pauses the longest that a summary or a gauge showed.
    pub(super) fn peak(&self, subject: Subject, source: &Source) -> Option<f64> {
        let mut peaks = self.peaks.iter();
        let found = peaks.find(|(of, own, _)| *of == subject && own == source);
        found.map(|(_, _, peak)| *peak)
    }

    /// The counters that a source means with this ending.
    pub(super) fn counters<'a>(
        &'a self,
        source: &'a Source,
        ending: &str,
    ) -> impl Iterator<Item = (&'a Labels, &'a Counter)> {
        let counters = self.counters.get(&format!("{}{ending}", source.name));
        let counters = counters.into_iter().flatten();
        let counters = counters.map(|(labels, counter)| (&**labels, counter));
        counters.filter(|(labels, _)| source.is_met(labels))
    }

    /// About what the counters take of memory, besides their labels.
    pub(super) fn bytes(&self) -> usize {
        let counters = self.counters.values().map(BTreeMap::len);
        let shown = self.shown.values().map(BTreeMap::len);
        counters.chain(shown).sum::<usize>() * COUNTER_BYTES
    }

    /// Gives up to count if labels come and go without end. What was counted until then would be a part of which nobody knows how
    /// large it is, so it goes, too.
    pub(super) fn give_up(&mut self) {
        let counters = self.counters.values().flatten();
        let gone = counters.filter(|(_, counter)| counter.last_seen.page != self.pages);
        let bytes = gone.map(|(labels, _)| COUNTER_BYTES + labels.bytes());
        if bytes.sum::<usize>() > GONE_BYTES {
            self.counters.clear();
            self.is_over = true;
        }
    }
}

impl Counter {
    fn goes_on(&mut self, value: f64, last_seen: Last) {
        let is_new = self.last_seen.restarts != last_seen.restarts;
        let falls = !is_new && value < self.last;
        self.by += if is_new || falls {
            self.resets += 1;
            value
        } else {
            value - self.last
        };
        self.falls += u64::from(falls);
        self.last = value;
        self.last_seen = last_seen;
    }
}

/// The names of all sources of these subjects with these endings.
fn all(of: &[(Subject, &[&str])], names: &Names) -> BTreeSet<String> {
    let all = of.iter().flat_map(|(subject, endings)| {
        let sources = names.of(*subject).into_iter();
        sources.flat_map(|source| {
            endings
                .iter()
                .map(move |ending| source.name.clone() + ending)
        })
    });
    all.collect()
}
