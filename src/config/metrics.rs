//! What `parity metrics` needs: both pages, for how long they are read, and what is demanded.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderMap, Uri};
use parity_comparator::metrics::{Judged, Names, Threshold};

use super::Layers;
use super::one_page::same_page;
use super::problem::{Problem, Problems};
use super::settings::metrics::{MetricsOfSide, candidate, legacy, window};
use super::settings::{Setting, metrics, mirror};

/// Pages are read no more often: whoever reads them must not be a load, and no service counts much in less.
const LEAST_INTERVAL: Duration = Duration::from_millis(50);

/// Everything that is checked.
pub(crate) struct MetricsSettings {
    /// Legacy and candidate.
    pub(crate) pages: [PageSettings; 2],
    pub(crate) window: Duration,
    pub(crate) interval: Duration,
    pub(crate) deadline: Duration,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) judged: Judged,
    /// Certificates that are trusted besides those of the system.
    pub(crate) ca_file: Option<PathBuf>,
}

/// The page of one service.
#[derive(Clone)]
pub(crate) struct PageSettings {
    pub(crate) url: Uri,
    /// Credentials.
    pub(crate) headers: HeaderMap,
    pub(crate) names: Names,
}

impl Layers {
    /// Whether anything is said about metrics.
    pub(crate) fn says_metrics(&self) -> bool {
        let all = [window::ALL, legacy::ALL, candidate::ALL];
        all.iter()
            .copied()
            .flatten()
            .any(|setting: &&Setting| self.is_given(setting))
    }

    /// Everything that `metrics` needs, or all that is wrong.
    pub(crate) fn metrics(mut self) -> Result<MetricsSettings, Problems> {
        let window = self.get(&metrics::window::WINDOW);
        let interval = self.get(&metrics::window::INTERVAL);
        let deadline = self.get(&metrics::window::DEADLINE);
        let thresholds = self.each(&metrics::window::THRESHOLDS);
        let judged = self.get(&metrics::window::JUDGED_BY);
        let ca_file = self.readable(&mirror::CA_FILE);
        let pages = [&legacy::SIDE, &candidate::SIDE].map(|side| self.page(side));
        if let (Some(window), Some(interval)) = (window, interval) {
            self.look_at_interval(window, interval);
        }
        self.look_at_pages(&pages);
        let complete = || {
            let [legacy, candidate] = pages;
            Some(MetricsSettings {
                pages: [legacy?, candidate?],
                window: window?,
                interval: interval?,
                deadline: deadline?,
                thresholds,
                judged: judged?,
                ca_file,
            })
        };
        match complete() {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            _ => Err(self.into_problems()),
        }
    }

    pub(super) fn page(&mut self, side: &MetricsOfSide) -> Option<PageSettings> {
        let url = self.needed(side.url);
        let mut names = Names::default();
        for (subject, setting) in side.names {
            // Without a name the usual ones are looked for.
            if self.is_given(setting)
                && let Some(source) = self.get(setting)
            {
                names.set(subject, source);
            }
        }
        let headers = self.credentials(side.credentials_file);
        Some(PageSettings {
            url: url?,
            headers: headers.into_iter().collect(),
            names,
        })
    }

    /// One page, by whatever address, has both services only if other names or labels on it tell them apart.
    pub(super) fn look_at_pages(&mut self, pages: &[Option<PageSettings>; 2]) {
        let [Some(legacy), Some(candidate)] = pages else {
            return;
        };
        if legacy.names != candidate.names || !same_page(&legacy.url, &candidate.url) {
            return;
        }
        let setting = candidate::SIDE.url;
        let problem = Problem::new(
            self.origin(setting),
            format!(
                "{}: it is the page of the legacy, so a service would be set beside itself",
                self.name(setting)
            ),
        );
        let hint = "name the candidate's own page; if one page has both, give each side the names or labels of its metrics";
        self.problems.push(problem.hint(hint));
    }

    fn look_at_interval(&mut self, window: Duration, interval: Duration) {
        let setting = &metrics::window::INTERVAL;
        let message = if interval < LEAST_INTERVAL {
            format!("{interval:?} would be a load; {LEAST_INTERVAL:?} is the least")
        } else if interval > window {
            format!("{interval:?} is longer than the whole time of {window:?}")
        } else {
            return;
        };
        let problem = Problem::new(
            self.origin(setting),
            format!("{}: {message}", self.name(setting)),
        );
        let hint = "write for example interval = \"1s\" and window = \"30s\"";
        self.problems.push(problem.hint(hint));
    }
}
