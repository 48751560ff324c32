//! The pages of one service, taken one after the other in bounded memory.
//!
//! When they would take too much, every second one of those between the first and the last goes, and of those that come then only every
//! second one stays: they are as far apart in the end as at the beginning. What grows, peaks and restarts is
//! [followed](super::followed) as pages come, so that only a median sees less then. What could not be read is counted, and that a
//! service answers no more is not forgotten.

use std::collections::BTreeSet;

use parity_schemas::metrics::Subject;

use super::exposition::{Exposition, PageError};
use super::followed::Followed;
use super::format::Format;
use super::kept::Gauges;
use super::labels::Shared;
use super::names::{Names, Source};
use super::sampled::gauge;

/// Bytes of the pages of a service: hundreds of pages of a usual service, or twenty-five of one with 15,000 samples.
const KEPT_BYTES: usize = 16 << 20;
/// About what a page takes besides its samples.
const PAGE_BYTES: usize = 2_048;
/// About what a sample takes, whose labels are shared.
const SAMPLE_BYTES: usize = 32;
/// What a load measures by itself: a page that says nothing else says nothing that is asked of it then.
const OF_REQUESTS: [Subject; 2] = [Subject::Requests, Subject::Latency];

/// A page and when it was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scrape {
    /// Seconds since the first page was asked for.
    pub(super) at: f64,
    /// What it says.
    pub(super) page: Exposition,
    /// Which of the pages it is.
    number: u64,
}

/// The pages of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scrapes {
    /// Where they come from, for people.
    pub(super) target: String,
    /// In the order of time.
    pub(super) pages: Vec<Scrape>,
    /// What all of them said, also those that are no longer kept.
    pub(super) followed: Followed,
    /// How many were read, also those that are no longer kept.
    pub(super) read: u64,
    /// How many could not be read.
    pub(super) failed: u64,
    /// Since when none could be read, if the last one could not, and why.
    pub(super) lost: Option<(f64, String)>,
    /// Why one failed, if any did.
    failure: Option<String>,
    /// When the first page was asked for, in seconds since 1970.
    pub(super) asked_at: f64,
    /// Where this service says what.
    pub(super) names: Names,
    wanted: BTreeSet<String>,
    /// Of whom nothing of a page is kept: its gauges over time.
    gauges: Option<Gauges>,
    /// Names of what is looked for that were on a page.
    said: BTreeSet<String>,
    labels: Shared,
    /// How often those that are kept were halved: one in two to the power of this stays.
    halved: u32,
}

impl Scrapes {
    /// Those that will come from `target`, of which the first is asked for at `asked_at`.
    pub fn new(target: impl Into<String>, names: Names, asked_at: f64) -> Self {
        Self {
            target: target.into(),
            asked_at,
            wanted: names.wanted(),
            names,
            ..Self::default()
        }
    }

    /// Without the pages themselves: of what counts it is known how much it grew in all, and of what is so much at a time how it went. For
    /// whoever measures requests by itself, and must not grow with pages that are large or many.
    #[must_use]
    pub fn without_pages(mut self) -> Self {
        self.gauges = Some(Gauges::of(&self.names));
        self
    }

    /// Whether any page had something of this.
    pub fn says(&self, subject: Subject) -> bool {
        let names = self.names.on_pages(&[subject]);
        self.said.iter().any(|said| names.contains(said))
    }

    /// Whether any page had something that a load does not measure by itself.
    pub fn says_anything_else(&self) -> bool {
        let mut all = Subject::ALL.iter();
        all.any(|subject| !OF_REQUESTS.contains(subject) && self.says(*subject))
    }

    /// A gauge over time, of the pages or the values that are kept.
    pub(super) fn gauge_over_time(&self, source: &Source) -> Vec<(f64, f64)> {
        if let Some(gauges) = &self.gauges {
            return gauges.values(source);
        }
        let pages = self.pages.iter();
        let values = pages.filter_map(|scrape| Some((scrape.at, gauge(&scrape.page, source, "")?)));
        values.collect()
    }

    /// Takes a page. One that is none, or is not whole, is counted as failed.
    pub fn take(&mut self, at: f64, text: &str, format: Format) -> Result<(), PageError> {
        let wanted = &self.wanted;
        let read = format
            .look_at_end(text)
            .and_then(|()| Exposition::read(text, &|name| wanted.contains(name), &mut self.labels));
        match read {
            Ok(mut page) => {
                self.followed.take(&page, &self.names);
                for name in page.samples.keys() {
                    if !self.said.contains(name) {
                        self.said.insert(name.clone());
                    }
                }
                if let Some(gauges) = &mut self.gauges {
                    gauges.take(at, &page);
                    page = Exposition::default();
                    self.labels.tidy();
                }
                page.passed.clear();
                self.keep(at, page);
                self.lost = None;
                Ok(())
            }
            Err(error) => {
                self.labels.tidy();
                self.lose(at, error.to_string());
                Err(error)
            }
        }
    }

    /// Counts a page that did not come.
    pub fn lose(&mut self, at: f64, why: String) {
        self.failed += 1;
        self.failure = Some(why.clone());
        let since = self.lost.as_ref().map_or(at, |(since, _)| *since);
        self.lost = Some((since, why));
    }

    /// How many pages were read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Where they come from, for people.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Why a page could not be read, the last time that one could not.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn keep(&mut self, at: f64, page: Exposition) {
        self.drop_last();
        let number = self.read;
        if self.gauges.is_some() && self.pages.len() > 1 {
            // When the first and the last were is all that is asked of them.
            self.pages.pop();
        }
        self.pages.push(Scrape { at, page, number });
        self.read += 1;
        self.thin();
    }

    /// One in so many pages stays.
    fn every(&self) -> u64 {
        1_u64.checked_shl(self.halved).unwrap_or(u64::MAX)
    }

    /// The last page is kept whatever its number is, until there is a later one.
    fn drop_last(&mut self) {
        let every = self.every();
        self.pages.pop_if(|last| !last.number.is_multiple_of(every));
    }

    fn thin(&mut self) {
        if self.bytes() > KEPT_BYTES {
            self.followed.give_up();
            self.labels.tidy();
        }
        while self.bytes() > KEPT_BYTES && self.pages.len() > 2 {
            self.halved += 1;
            let last = self.pages.last().map_or(0, |last| last.number);
            let every = self.every();
            self.pages
                .retain(|scrape| scrape.number.is_multiple_of(every) || scrape.number == last);
            self.labels.tidy();
        }
    }

    fn bytes(&self) -> usize {
        let of_page = |scrape: &Scrape| PAGE_BYTES + scrape.page.kept() * SAMPLE_BYTES;
        let of_gauges = self.gauges.as_ref().map_or(0, Gauges::bytes);
        let of_pages = self.pages.iter().map(of_page).sum::<usize>();
        self.labels.bytes() + self.followed.bytes() + of_gauges + of_pages
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use parity_schemas::metrics::Measure;

    use super::*;

    #[test]
    fn pages_without_end_are_kept_in_bounded_memory_and_the_first_and_the_last_stay() {
        let mut scrapes = Scrapes::new("a", Names::default(), 0.0);
        // Each page has other labels than the one before it, of a kilobyte each.
        for number in 0..200 {
            let lines = (0..500).map(|line| {
                let value = format!("{number}-{line}-{}", "x".repeat(1_000));
                format!("http_requests_total{{user=\"{value}\"}} {number}\n")
            });
            let page: String = lines.chain(["process_open_fds 3\n".to_owned()]).collect();
            scrapes
                .take(f64::from(number), &page, Format::Text)
                .unwrap();
            assert!(scrapes.bytes() <= KEPT_BYTES);
        }
        assert_eq!(scrapes.read(), 200);
        assert!(scrapes.pages.len() < 100, "{}", scrapes.pages.len());
        // So many counters come and go that nothing is said of how much they grew.
        assert!(scrapes.followed.is_over);
        let ends = [scrapes.pages.first(), scrapes.pages.last()];
        assert_eq!(ends.map(|page| page.unwrap().at), [0.0, 199.0]);
    }

    #[test]
    fn pages_that_are_kept_are_as_far_apart_in_the_end_as_at_the_beginning() {
        let mut scrapes = Scrapes::new("a", Names::default(), 0.0);
        let lines = (0..20_000).map(|line| format!("http_requests_total{{route=\"{line}\"}} 1\n"));
        let page: String = lines.collect();
        scrapes.take(0.0, &page, Format::Text).unwrap();
        let page = scrapes.pages[0].page.clone();
        for number in 1..90 {
            scrapes.keep(f64::from(number), page.clone());
        }
        let numbers: Vec<u64> = scrapes.pages.iter().map(|scrape| scrape.number).collect();
        assert!(numbers.len() < 45 && numbers.len() > 5, "{numbers:?}");
        let (last, others) = numbers.split_last().unwrap();
        assert_eq!(*last, 89);
        let every = others[1] - others[0];
        assert!(every >= 2);
        let even = others.windows(2).all(|pair| pair[1] - pair[0] == every);
        assert!(
            even && last - others[others.len() - 1] <= every,
            "{numbers:?}"
        );
    }

    /// What is kept grows by what is judged alone, however large the pages are, and what is told of them is the same.
    #[test]
    fn without_pages_large_ones_and_many_take_no_more() {
        let names = Names::default();
        let mut whole = Scrapes::new("a", names.clone(), 0.0);
        let mut narrow = Scrapes::new("a", names.clone(), 0.0).without_pages();
        let mut small = Scrapes::new("a", names, 0.0).without_pages();
        let mut grown = [Vec::new(), Vec::new()];
        for number in 0..60_u32 {
            let own = format!(
                "process_resident_memory_bytes {number}\nprocess_cpu_seconds_total {number}\nhttp_requests_total {number}00\n"
            );
            let routes = (0..2_000).map(|route| {
                format!("http_requests_total{{route=\"{route}\"}} {number}\nhttp_request_duration_seconds_bucket{{le=\"1\",route=\"{route}\"}} {number}\n")
            });
            let large: String = routes.chain([own.clone()]).collect();
            for (scrapes, page) in [
                (&mut whole, &large),
                (&mut narrow, &large),
                (&mut small, &own),
            ] {
                scrapes.take(f64::from(number), page, Format::Text).unwrap();
            }
            grown[0].push(narrow.bytes());
            grown[1].push(small.bytes());
        }
        let by = grown.map(|bytes| bytes.last().unwrap() - bytes.first().unwrap());
        // The second page is kept, too, and none after it.
        assert_eq!(by, [PAGE_BYTES; 2]);
        assert!(whole.bytes() > 2 * narrow.bytes());
        assert!(narrow.says(Subject::Memory) && !narrow.says(Subject::Start));
        assert!(narrow.says_anything_else());
        assert_eq!(
            narrow.series(Subject::Memory).unwrap().1,
            whole.series(Subject::Memory).unwrap().1
        );
        let of = |scrapes: &Scrapes| {
            let found = super::super::measures(scrapes).into_iter();
            let mut found = found.filter(|(measure, _)| *measure == Measure::CpuPerRequest);
            found.next().map(|(_, found)| found.value)
        };
        assert_eq!(of(&narrow), of(&whole));
        assert!(of(&narrow).is_some());
    }

    #[test]
    fn what_could_not_be_read_is_counted_and_whether_it_answers_at_the_end_is_known() {
        let mut scrapes = Scrapes::new("a", Names::default(), 0.0);
        scrapes.take(0.0, "a 1\n", Format::Text).unwrap();
        scrapes.take(1.0, "<html>", Format::Text).unwrap_err();
        assert_eq!((scrapes.read(), scrapes.failed), (1, 1));
        scrapes.lose(2.0, "gone".to_owned());
        assert_eq!(scrapes.lost, Some((1.0, "gone".to_owned())));
        scrapes.take(3.0, "a 1\n", Format::Text).unwrap();
        assert_eq!((scrapes.read(), scrapes.failed), (2, 2));
        assert_eq!((scrapes.failure(), &scrapes.lost), (Some("gone"), &None));
    }
}
