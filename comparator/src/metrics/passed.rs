//! Lines that were passed over though they are of a metric that is wanted.
//!
//! A sum without one of its series looks as good as the whole one: without the series that counts errors, nothing failed. So what rests
//! on a metric of which a line was passed over, on any page, is not known, and the line is told. What cannot be read may have any labels,
//! so it counts for all sources of its metric; a line that names no metric at all costs the others nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use parity_schemas::metrics::Subject;

use super::labels::Labels;
use super::names::{ENDINGS, Names, Source};

/// Why a line was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It has another form, or its value is none.
    Unreadable,
    /// The same sample was there before, with another value.
    Again,
    /// Its value is infinite or no number.
    NoNumber,
    /// A quantile that is no number: in a summary, that of nothing.
    NoQuantile,
    /// Its value is below 0, which no count, time, or amount is.
    Negative,
    /// Several lines do not [agree](super::edges).
    Contradicts,
}

impl Why {
    /// Why the value of a sample can be none; `None` if it can be one.
    pub(super) fn of(value: f64, labels: &Labels) -> Option<Self> {
        if value.is_nan() && labels.get("quantile").is_some() {
            Some(Self::NoQuantile)
        } else if !value.is_finite() {
            Some(Self::NoNumber)
        } else {
            (value < 0.0).then_some(Self::Negative)
        }
    }

    fn told(self) -> &'static str {
        match self {
            Self::Unreadable => "cannot be read",
            Self::Again => "is there twice with two values",
            Self::NoNumber | Self::NoQuantile => "has no finite number",
            Self::Negative => "is negative",
            Self::Contradicts => "contradicts others",
        }
    }
}

/// A line that was passed over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passed {
    pub(super) why: Why,
    /// Unless they cannot be read.
    pub(super) labels: Option<Arc<Labels>>,
    /// On its page, from 1; 0 where several lines contradict each other.
    pub(super) number: usize,
    /// What it says, as far as that is told; or what contradicts what.
    pub(super) line: String,
}

/// Those of one page, by the name of the sample.
pub(super) type OfPage = BTreeMap<String, Vec<Passed>>;

/// The first one of each source and ending, on all pages, and on which of them it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PassedOver(Vec<(Source, &'static str, Passed, u64)>);

impl PassedOver {
    /// Looks at those of the next page, which has this number.
    pub(super) fn take(&mut self, page: &OfPage, number: u64, names: &Names) {
        if page.is_empty() {
            return;
        }
        for subject in Subject::ALL {
            for source in names.of(*subject) {
                for ending in ENDINGS {
                    let lines = page.get(&format!("{}{ending}", source.name));
                    // Before anything happened, and when nothing did for a while, a summary has quantiles that are no numbers.
                    let may_be_none =
                        ending.is_empty() && matches!(subject, Subject::Latency | Subject::Pauses);
                    let mut lines = lines.into_iter().flatten();
                    let first = lines.find(|line| {
                        let labels = line.labels.as_deref();
                        labels.is_none_or(|labels| source.is_met(labels))
                            && !(may_be_none && line.why == Why::NoQuantile)
                    });
                    if let Some(first) = first
                        && self.of(&source, &[ending]).is_none()
                    {
                        self.0.push((source.clone(), ending, first.clone(), number));
                    }
                }
            }
        }
    }

    /// Why a source is not known with one of these endings, in words.
    pub(super) fn of(&self, source: &Source, endings: &[&str]) -> Option<String> {
        let mut all = self.0.iter();
        let found = all.find(|(own, ending, ..)| own == source && endings.contains(ending));
        found.map(|(_, ending, passed, page)| {
            let name = format!("{}{ending}", source.name);
            let Passed {
                why, number, line, ..
            } = passed;
            if *why == Why::Contradicts {
                return format!("`{name}` is not known, because page {page} contradicts itself: {line}");
            }
            let why = why.told();
            format!(
                "`{name}` is not known, because a line of it {why} and was passed over, page {page}, line {number}: {line}"
            )
        })
    }
}
