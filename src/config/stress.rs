//! What `parity stress` needs: both services, how they are loaded, what is seen of them, and what is demanded.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use parity_comparator::metrics::{Judged, Threshold};
use parity_mirror::UpstreamUrl;
use parity_mirror::load::LEAST_REQUESTS;

use super::Layers;
use super::metrics::PageSettings;
use super::needs::MirrorSettings;
use super::problem::{Problem, Problems};
use super::settings::metrics::{MetricsOfSide, candidate, legacy, window};
use super::settings::{Many, One, Setting, mirror, soak, stress};

/// Everything that loading two services needs.
pub(crate) struct LoadSettings {
    /// How both are asked, and what counts as equal.
    pub(crate) mirror: MirrorSettings,
    pub(crate) threads: NonZeroUsize,
    /// Requests that may be unanswered at once.
    pub(crate) places: usize,
    pub(crate) deadline: Duration,
    /// Requests a second that are compared; 0 for none.
    pub(crate) compare: usize,
    pub(crate) max_mismatch_rate: f64,
    /// Where CPU and memory of legacy and candidate are read.
    pub(crate) processes: [ProcessSettings; 2],
    /// Their pages of metrics, where there are any.
    pub(crate) pages: [Option<PageSettings>; 2],
    /// How often, and for how long, a page is read.
    pub(crate) page_interval: Duration,
    pub(crate) page_deadline: Duration,
}

/// Where the use of a service is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessSettings {
    /// Nowhere.
    Unknown,
    /// These processes together.
    Pids(Vec<u32>),
    /// A control group.
    Cgroup(PathBuf),
}

/// Everything that `stress` needs.
pub(crate) struct StressSettings {
    pub(crate) load: LoadSettings,
    /// From low to high, each once.
    pub(crate) rates: Vec<u32>,
    pub(crate) refine: usize,
    pub(crate) repeats: usize,
    pub(crate) window: Duration,
    pub(crate) warm_up: Duration,
    pub(crate) pause: Duration,
    /// How long a service that broke may take until it answers again.
    pub(crate) recovery: Duration,
    pub(crate) p99: Duration,
    pub(crate) max_errors: f64,
    pub(crate) min_answered: f64,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) judged: Judged,
    /// Rates at which both are set beside each other.
    pub(crate) at: Vec<u32>,
    /// Of a vCPU and of a GiB.
    pub(crate) prices: Option<[f64; 2]>,
}

/// More rates than this would be a day of load.
const MOST_RATES: usize = 100;

impl Layers {
    /// Whether anything is said about loads.
    pub(crate) fn says_stress(&self) -> bool {
        let mut all = stress::ALL.iter().chain(soak::ALL);
        all.any(|setting| self.is_given(setting))
    }

    /// Everything that `stress` needs, or all that is wrong.
    pub(crate) fn stress(mut self) -> Result<StressSettings, Problems> {
        let others = self.clone();
        let rates = self.rates();
        let refine = self.get(&stress::REFINE);
        let repeats = self.get(&stress::REPEATS);
        let window = self.get(&stress::WINDOW);
        let warm_up = self.get(&stress::WARM_UP);
        let pause = self.get(&stress::PAUSE);
        let recovery = self.get(&stress::RECOVERY);
        let p99 = self.get(&stress::P99);
        let max_errors = self.get(&stress::MAX_ERRORS);
        let min_answered = self.get(&stress::MIN_ANSWERED);
        let thresholds = self.each(&stress::THRESHOLDS);
        let judged = self.get(&stress::JUDGED_BY);
        let at = self.each(&stress::AT);
        let prices = [&stress::PRICE_VCPU, &stress::PRICE_GIB]
            .map(|setting| self.is_given(setting).then(|| self.get(setting)).flatten());
        let has_prices = prices.iter().any(Option::is_some);
        if let (Some(rates), Some(window)) = (&rates, window)
            && let Some(lowest) = rates.iter().chain(&at).min()
        {
            self.look_at_window(&stress::WINDOW, *lowest, window, Duration::ZERO);
        }
        let load = self.loading(others);
        let complete = || {
            let mut rates = rates?;
            rates.extend(&at);
            rates.sort_unstable();
            rates.dedup();
            Some(StressSettings {
                load: load?,
                rates,
                refine: refine?,
                repeats: repeats?,
                window: window?,
                warm_up: warm_up?,
                pause: pause?,
                recovery: recovery?,
                p99: p99?,
                max_errors: max_errors?,
                min_answered: min_answered?,
                thresholds,
                judged: judged?,
                at,
                prices: has_prices.then(|| prices.map(Option::unwrap_or_default)),
            })
        };
        match complete() {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            _ => Err(self.into_problems()),
        }
    }

    /// What loading needs; `others` are the settings before anything was read of them.
    pub(super) fn loading(&mut self, others: Self) -> Option<LoadSettings> {
        let threads = self.get(&stress::THREADS);
        let places = self.get(&stress::IN_FLIGHT);
        let deadline = self.get(&stress::DEADLINE);
        let compare = self.get(&stress::COMPARE);
        let max_mismatch_rate = self.get(&stress::MAX_MISMATCH_RATE);
        let hosts = self.each(&stress::ALLOW_TARGETS);
        let processes = [
            (&stress::LEGACY_PIDS, &stress::LEGACY_CGROUP),
            (&stress::CANDIDATE_PIDS, &stress::CANDIDATE_CGROUP),
        ]
        .map(|(pids, cgroup)| self.processes(pids, cgroup));
        self.look_at_processes(&processes);
        let pages = [&legacy::SIDE, &candidate::SIDE].map(|side| self.page_if_any(side));
        self.look_at_pages(&pages);
        let page_interval = self.get(&window::INTERVAL);
        let page_deadline = self.get(&window::DEADLINE);
        let mirror = match others.mirror_to_ask() {
            Ok(mirror) => Some(mirror),
            Err(found) => {
                let mut all = Problems(std::mem::take(&mut self.problems));
                all.merge(found);
                self.problems = all.0;
                None
            }
        };
        if let Some(mirror) = &mirror {
            let policy = &mirror.mirror.policy;
            for (setting, url) in [
                (&*mirror::LEGACY, &policy.legacy.url),
                (&*mirror::CANDIDATE, &policy.candidate.url),
            ] {
                self.look_at_target(setting, url, &hosts);
            }
        }
        Some(LoadSettings {
            mirror: mirror?,
            threads: threads
                .and_then(NonZeroUsize::new)
                .or_else(|| std::thread::available_parallelism().ok())
                .unwrap_or(NonZeroUsize::MIN),
            places: places?,
            deadline: deadline?,
            compare: compare?,
            max_mismatch_rate: max_mismatch_rate?,
            processes,
            pages,
            page_interval: page_interval?,
            page_deadline: page_deadline?,
        })
    }

    /// The rates as they are given, or those of the escalation.
    fn rates(&mut self) -> Option<Vec<u32>> {
        let given = self.each(&stress::RATES);
        let from = self.get(&stress::FROM)?;
        let factor = self.get(&stress::FACTOR)?;
        let up_to = self.get(&stress::UP_TO)?;
        let rates = if given.is_empty() {
            escalating(from, factor, up_to)
        } else {
            given
        };
        let problem = if rates.is_empty() {
            format!(
                "{}: {from} is above {}, which is {up_to}",
                stress::FROM.key,
                stress::UP_TO.key
            )
        } else if rates.len() > MOST_RATES {
            format!(
                "{}: {} rates are too many; {MOST_RATES} are tried at most",
                stress::RATES.key,
                rates.len()
            )
        } else {
            return Some(rates);
        };
        let problem = Problem::new(self.origin(&stress::RATES), problem);
        self.problems
            .push(problem.hint("write for example rates = [\"500\", \"1000\", \"2000\"]"));
        None
    }

    /// A rate at which too few requests are due says nothing, and better before the load than after it.
    /// `setting` is `window`, and so much more that is not measured.
    pub(super) fn look_at_window(
        &mut self,
        setting: &'static Setting,
        rate: u32,
        window: Duration,
        more: Duration,
    ) {
        let due = (window.as_secs_f64() * f64::from(rate)).round();
        if due >= LEAST_REQUESTS as f64 {
            return;
        }
        let message = format!(
            "{}: in {window:?} at {rate}/s only {due} requests are due, and a p99 needs {LEAST_REQUESTS}",
            self.name(setting)
        );
        let needed = LEAST_REQUESTS.div_ceil(u64::from(rate.max(1)));
        let needed = needed + more.as_secs_f64().ceil() as u64;
        let (_, key) = setting.key.split_once('.').unwrap_or(("", setting.key));
        let hint = format!("write {key} = \"{needed}s\", or a higher rate");
        let problem = Problem::new(self.origin(setting), message);
        self.problems.push(problem.hint(hint));
    }

    fn processes(
        &mut self,
        pids: &'static Many<u32>,
        cgroup: &'static One<PathBuf>,
    ) -> ProcessSettings {
        let found = self.each(pids);
        let group = self.get(cgroup);
        match group {
            Some(_) if !found.is_empty() => {
                let message = format!(
                    "{} and {} say the same in two ways",
                    self.name(pids),
                    self.name(cgroup)
                );
                let problem = Problem::new(self.origin(cgroup), message);
                self.problems.push(problem.hint("give one of them"));
                ProcessSettings::Unknown
            }
            Some(path) => ProcessSettings::Cgroup(path),
            None if found.is_empty() => ProcessSettings::Unknown,
            None => ProcessSettings::Pids(found),
        }
    }

    /// What is of both services says nothing of either, and a service beside itself saves nothing and has no leak of its own.
    fn look_at_processes(&mut self, processes: &[ProcessSettings; 2]) {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let (setting, shared): (&'static Setting, _) = match processes {
            [
                ProcessSettings::Pids(legacy),
                ProcessSettings::Pids(candidate),
            ] => {
                let Some(pid) = legacy.iter().find(|pid| candidate.contains(pid)) else {
                    return;
                };
                (&*stress::CANDIDATE_PIDS, format!("process {pid}"))
            }
            [
                ProcessSettings::Cgroup(legacy),
                ProcessSettings::Cgroup(candidate),
            ] => {
                // What is in a group is in those above it.
                let (one, other) = (real(legacy), real(candidate));
                if !one.starts_with(&other) && !other.starts_with(&one) {
                    return;
                }
                let told = format!("what is in {}", candidate.display());
                (&*stress::CANDIDATE_CGROUP, told)
            }
            _ => return,
        };
        let message = format!(
            "{}: {shared} is counted for the legacy, too, so a service would be set beside itself",
            self.name(setting)
        );
        let problem = Problem::new(self.origin(setting), message);
        self.problems
            .push(problem.hint("name for each side what only that service is"));
    }

    fn page_if_any(&mut self, side: &MetricsOfSide) -> Option<PageSettings> {
        self.is_given(side.url).then(|| self.page(side)).flatten()
    }

    /// Load is an attack on whoever does not expect it, so a slip in an address must not make one.
    fn look_at_target(&mut self, setting: &'static Setting, url: &UpstreamUrl, allowed: &[String]) {
        let place = match url {
            UpstreamUrl::Unix(_) => return,
            UpstreamUrl::Http(place) | UpstreamUrl::Https(place) => place,
        };
        let host = place.host.to_ascii_lowercase();
        let address: Option<std::net::IpAddr> = host.parse().ok();
        let is_here = address.map_or(host == "localhost", |address| {
            address.to_canonical().is_loopback()
        });
        let bracketed = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.clone()
        };
        let names = [
            host,
            bracketed.clone(),
            format!("{bracketed}:{}", place.port),
        ];
        if is_here || allowed.iter().any(|one| names.contains(one)) {
            return;
        }
        let message = format!(
            "{}: {url} is not on this machine, and {} does not name it",
            self.name(setting),
            stress::ALLOW_TARGETS.key
        );
        let hint = format!(
            "if it is yours and may be loaded: --allow-target {bracketed}, or allow_targets = [\"{bracketed}\"] in [stress]"
        );
        let problem = Problem::new(self.origin(setting), message);
        self.problems.push(problem.hint(hint));
    }
}

/// From the first rate on, each a factor higher, up to the last.
fn escalating(from: u32, factor: f64, up_to: u32) -> Vec<u32> {
    let mut rates = Vec::new();
    let mut rate = f64::from(from);
    while rate < f64::from(up_to) && rates.len() <= MOST_RATES {
        let next = rate.round() as u32;
        if rates.last() != Some(&next) {
            rates.push(next);
        }
        rate *= factor;
    }
    if from <= up_to && rates.last() != Some(&up_to) {
        rates.push(up_to);
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_escalates_by_a_factor_up_to_the_last_rate() {
        assert_eq!(escalating(100, 2.0, 700), [100, 200, 400, 700]);
        assert_eq!(escalating(100, 2.0, 100), [100]);
        assert_eq!(escalating(1, 1.05, 4), [1, 2, 3, 4]);
        assert!(escalating(200, 2.0, 100).is_empty());
        assert!(escalating(1, 1.05, u32::MAX).len() > MOST_RATES);
    }
}
