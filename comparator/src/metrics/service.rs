//! One service with what holds for all of its measures: whether it is one process, and what is wrong with its pages.

use std::collections::BTreeSet;

use parity_schemas::metrics::{Measure, Subject};

use super::followed::GROWING;
use super::names::{Source, TOTAL};
use super::pages::{Scrape, Scrapes};

/// Types of what only grows.
pub(super) const COUNTER: &[&str] = &["counter"];
/// Types of what has quantiles.
pub(super) const QUANTILES: &[&str] = &["histogram", "summary"];
/// Types of what is so much at a time: some clients count what the system counts, such as open files.
pub(super) const GAUGE: &[&str] = &["gauge", "counter"];
/// Why nothing that counts is known of a process that no longer says when it started.
const LOST_START: &str =
    "it said when it started and does so no more, so nobody knows whether it began anew meanwhile";
/// Types that say nothing.
const NO_TYPES: [&str; 2] = ["untyped", "unknown"];

impl Scrapes {
    /// Why what it shows is not of one process from the first page to the last, as far as its pages tell it: then neither what it
    /// counts nor what it has at a time says whether anything grows.
    pub fn not_one_process(&self) -> Option<String> {
        let service = Service::of(self);
        if service.restarts > 0 && !self.followed.goes_back {
            let times = service.restarts;
            return Some(format!(
                "the process began anew {times} × meanwhile, as its page says"
            ));
        }
        if self.followed.lost_start() {
            return Some(LOST_START.to_owned());
        }
        let is_several = self.followed.goes_back || service.fallen().is_some();
        is_several.then(|| "several processes answer there in turn, or it began anew".to_owned())
    }

    /// A gauge over time, in seconds since the first page was asked for, and the metric that says it; `None` if no page has it.
    pub fn series(&self, subject: Subject) -> Option<(String, Vec<(f64, f64)>)> {
        let found = self.first_series(subject);
        found.map(|(source, samples)| (source.name, samples))
    }

    /// Why that gauge is not known to the end: no page could be read then, or none of them has it.
    pub fn lost_of(&self, subject: Subject) -> Option<String> {
        if let Some((_, why)) = &self.lost {
            return Some(why.clone());
        }
        let (source, _) = self.first_series(subject)?;
        self.followed.gone(&source, &[""])
    }

    /// Why that gauge is not known: on a page, a line of it could not be read, or had a value that cannot be.
    pub fn passed_over(&self, subject: Subject) -> Option<String> {
        let (source, _) = self.first_series(subject)?;
        self.followed.passed.of(&source, &[""])
    }

    fn first_series(&self, subject: Subject) -> Option<(Source, Vec<(f64, f64)>)> {
        let sources = Service::of(self).typed(subject, GAUGE);
        sources.into_iter().find_map(|source| {
            let mut samples = self.gauge_over_time(&source);
            for (_, value) in &mut samples {
                *value *= source.unit;
            }
            let is_there = !samples.is_empty() || self.followed.passed.of(&source, &[""]).is_some();
            is_there.then_some((source, samples))
        })
    }
}

/// A service with what holds for all of its measures.
pub(super) struct Service<'a> {
    pub(super) scrapes: &'a Scrapes,
    pub(super) restarts: u64,
    /// Why what grows cannot be counted: it is not one process that answers, or nobody knows whether it is.
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
        let followed = &self.scrapes.followed;
        self.restarts = followed.restarts;
        if followed.goes_back {
            let text = "several processes answer there in turn, so nothing that counts can be compared: ask one of them by its own address";
            self.several = Some(text.to_owned());
        } else if let Some(fallen) = self.fallen() {
            self.several = Some(format!(
                "`{fallen}` fell, and no new start time says that the process began anew: several processes may answer there in turn, so nothing that counts can be compared; ask one of them by its own address, or let it export when it started"
            ));
        } else if followed.lost_start() {
            self.several = Some(LOST_START.to_owned());
        } else if followed.is_over {
            let text = "its counters have labels that come and go without end, so nothing that counts can be compared; a label with a value for each request or user makes so many";
            self.several = Some(text.to_owned());
        }
        if let Some(several) = &self.several {
            self.notes.push(several.clone());
        } else if self.restarts > 0 {
            let times = self.restarts;
            self.notes.push(format!("the process began anew {times} × meanwhile: what it counts is added up, and what is gone with it is not known"));
        }
        let families = followed.types.iter();
        let contradictions = families.filter(|(_, words)| words.len() > 1);
        for (family, _) in contradictions {
            self.notes.push(format!(
                "`{family}` is declared with two types, so it is not measured"
            ));
        }
        if let Some((number, line)) = &followed.told {
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
        let names = [source.name.as_str(), family];
        let types = names.map(|name| self.scrapes.followed.types.get(name));
        let types = types.into_iter().flatten().flatten();
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

    /// A counter that fell while the process ran on, as far as that is known.
    fn fallen(&self) -> Option<String> {
        GROWING.iter().find_map(|(subject, endings)| {
            let types = match subject {
                Subject::Latency | Subject::Pauses => QUANTILES,
                _ => COUNTER,
            };
            self.typed(*subject, types).iter().find_map(|source| {
                let mut endings = endings.iter();
                let fell = |ending: &&&str| {
                    let mut counters = self.scrapes.followed.counters(source, ending);
                    counters.any(|(_, counter)| counter.falls > 0)
                };
                let ending = endings.find(fell)?;
                Some(format!("{}{ending}", source.name))
            })
        })
    }

    /// Whether no line of a source with one of these endings was passed over and all of them are there to the end, or else which.
    pub(super) fn is_whole(&self, source: &Source, endings: &[&str]) -> Result<(), String> {
        let followed = &self.scrapes.followed;
        let passed = followed.passed.of(source, endings);
        let why = passed.or_else(|| followed.gone(source, endings));
        why.map_or(Ok(()), Err)
    }

    /// What is looked for, of the first source that has it; `None` if none has. If a line with one of these endings was passed over, of
    /// it or of one before it, nobody knows.
    pub(super) fn first<'s, T>(
        &self,
        sources: &'s [Source],
        endings: &[&str],
        look: impl Fn(&'s Source) -> Option<T>,
    ) -> Result<Option<T>, String> {
        for source in sources {
            self.is_whole(source, endings)?;
            if let Some(found) = look(source) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The values of a gauge on the pages that are kept, or why they are not known.
    pub(super) fn first_gauge(&self, subject: Subject) -> Result<(Source, Vec<f64>), String> {
        self.first(&self.typed(subject, GAUGE), &[""], |source| {
            let values = self.values(source);
            (!values.is_empty()).then(|| (source.clone(), values))
        })?
        .ok_or_else(|| self.none(subject))
    }

    /// The values of a gauge that could be read, whatever was passed over.
    pub(super) fn seen(&self, subject: Subject) -> Option<(Source, Vec<f64>)> {
        let sources = self.typed(subject, GAUGE).into_iter();
        let mut found = sources.map(|source| {
            let values = self.values(&source);
            (source, values)
        });
        found.find(|(_, values)| !values.is_empty())
    }

    fn values(&self, source: &Source) -> Vec<f64> {
        let values = self.scrapes.gauge_over_time(source).into_iter();
        values.map(|(_, value)| value).collect()
    }

    /// The sum of a counter over its labels at each time.
    pub(super) fn summed(&self, source: &Source) -> Vec<(f64, f64)> {
        self.scrapes.gauge_over_time(source)
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
        | Measure::Anon
        | Measure::Heap
        | Measure::Descriptors
        | Measure::Threads
        | Measure::Uptime => false,
    }
}
