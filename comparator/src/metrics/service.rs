//! One service with what holds for all of its measures: whether it is one process, and what is wrong with its pages.

use std::collections::BTreeSet;

use parity_schemas::metrics::{Measure, Subject};

use super::counted::gauge;
use super::names::{Source, TOTAL};
use super::pages::{Scrape, Scrapes};

/// Types that say nothing.
const NO_TYPES: [&str; 2] = ["untyped", "unknown"];

/// A service with what holds for all of its measures.
pub(super) struct Service<'a> {
    pub(super) scrapes: &'a Scrapes,
    pub(super) restarts: u64,
    /// Why what grows cannot be counted: it is not one process that answers.
    several: Option<String>,
    pub(super) notes: Vec<String>,
}

impl<'a> Service<'a> {
    pub(super) fn of(scrapes: &'a Scrapes) -> Self {
        let mut service = Self {
            scrapes,
            restarts: 0,
            several: None,
            notes: Vec::new(),
        };
        service.look();
        service
    }

    pub(super) fn pages(&self) -> &'a [Scrape] {
        &self.scrapes.pages
    }

    pub(super) fn seconds(&self) -> f64 {
        match self.pages() {
            [first, .., last] => last.at - first.at,
            _ => 0.0,
        }
    }

    /// When the process started, and what is wrong with the pages.
    fn look(&mut self) {
        let Scrapes {
            lost, failed, read, ..
        } = self.scrapes;
        if let Some((at, why)) = lost {
            self.notes
                .push(format!("it answers no more after {at:.1} s: {why}"));
        } else if let Some(why) = self.scrapes.failure() {
            let all = read + failed;
            self.notes.push(format!(
                "{failed} of {all} pages could not be read, the last of them for this: {why}"
            ));
        }
        let starts = self
            .first_gauge(Subject::Start)
            .map_or_else(Vec::new, |(_, starts)| starts);
        let mut seen: Vec<f64> = Vec::new();
        for start in starts {
            if seen.last() == Some(&start) {
                continue;
            }
            if seen.contains(&start) {
                let text = "several processes answer there in turn, so nothing that counts can be compared: ask one of them by its own address";
                self.several = Some(text.to_owned());
            }
            seen.push(start);
        }
        self.restarts = seen.len().saturating_sub(1) as u64;
        if let Some(several) = &self.several {
            self.notes.push(several.clone());
        } else if self.restarts > 0 {
            let times = self.restarts;
            self.notes.push(format!("the process began anew {times} × meanwhile: what it counts is added up, and what is gone with it is not known"));
        }
        let mut contradictions: BTreeSet<&str> = BTreeSet::new();
        for scrape in self.pages() {
            let families = scrape.page.types.iter();
            let twice = families.filter(|(_, words)| words.len() > 1);
            contradictions.extend(twice.map(|(family, _)| family.as_str()));
        }
        for family in contradictions {
            self.notes.push(format!(
                "`{family}` is declared with two types, so it is not measured"
            ));
        }
        let told = self
            .pages()
            .iter()
            .find_map(|scrape| scrape.page.told.first());
        if let Some((number, line)) = told {
            self.notes.push(format!(
                "some lines cannot be read, line {number} for example: {line}"
            ));
        }
    }

    pub(super) fn sources(&self, subject: Subject) -> Vec<Source> {
        self.scrapes.names.of(subject)
    }

    /// Why a subject is not there.
    pub(super) fn none(&self, subject: Subject) -> String {
        let sources = self.sources(subject);
        let typed = sources.iter().find_map(|source| {
            let words = self.types(source);
            let words: Vec<&str> = words.iter().copied().collect();
            (!words.is_empty()).then(|| {
                format!(
                    "`{}` is there as {}, without what is needed for this",
                    source.name,
                    words.join(" and as ")
                )
            })
        });
        match (typed, sources.as_slice()) {
            (Some(typed), _) => typed,
            (None, [one]) if self.scrapes.names.is_own(subject) => {
                format!(
                    "`{}` is not on its pages, or no sample of it has the labels",
                    one.name
                )
            }
            (None, _) => format!(
                "none of the usual metrics is on the pages; if there is another one, the setting `{subject}` names it"
            ),
        }
    }

    /// What its pages say that a metric is.
    fn types(&self, source: &Source) -> BTreeSet<&'a str> {
        // A counter may be declared without its ending.
        let family = source.name.strip_suffix(TOTAL).unwrap_or(&source.name);
        let pages = self.pages().iter();
        let types = pages.flat_map(|scrape| {
            let names = [source.name.as_str(), family];
            names.map(|name| scrape.page.types.get(name))
        });
        let types = types.flatten().flatten();
        types.map(String::as_str).collect()
    }

    /// The sources of a subject that are of these types, as far as their pages say it.
    pub(super) fn typed(&self, subject: Subject, wanted: &[&str]) -> Vec<Source> {
        let mut sources = self.sources(subject);
        sources.retain(|source| {
            let types = self.types(source);
            let mut types = types.iter();
            types.len() <= 1 && types.all(|one| wanted.contains(one) || NO_TYPES.contains(one))
        });
        sources
    }

    pub(super) fn first_gauge(&self, subject: Subject) -> Option<(Source, Vec<f64>)> {
        // Some clients count what the system counts, such as open files.
        let sources = self.typed(subject, &["gauge", "counter"]).into_iter();
        let mut found = sources.map(|source| {
            let values = gauge(self.pages(), &source, "");
            (source, values)
        });
        found.find(|(_, values)| !values.is_empty())
    }

    /// Whether a measure rests on what a process counted that ended meanwhile: how much that was since its last page is not known.
    pub(super) fn is_doubted(&self, measure: Measure) -> bool {
        self.restarts > 0 && grows(measure)
    }

    /// What grows needs two pages of one process.
    pub(super) fn can_grow(&self) -> Result<(), String> {
        if let Some(several) = &self.several {
            return Err(several.clone());
        }
        if self.seconds() <= 0.0 {
            return Err(
                "there are not two pages of it to tell what happened between them".to_owned(),
            );
        }
        Ok(())
    }
}

/// Whether a measure is of what a process counts, and not of what it is at one time.
fn grows(measure: Measure) -> bool {
    match measure {
        Measure::Rate
        | Measure::Errors
        | Measure::P50
        | Measure::P95
        | Measure::P99
        | Measure::P999
        | Measure::Cpu
        | Measure::CpuPerRequest
        | Measure::GcMax
        | Measure::GcShare => true,
        Measure::Rss
        | Measure::RssMax
        | Measure::Heap
        | Measure::Descriptors
        | Measure::Threads
        | Measure::Uptime => false,
    }
}
