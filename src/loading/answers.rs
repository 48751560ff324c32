//! Whether both services still answer alike while one of them is loaded: some requests a second are sent to both, by the mirror that
//! replays recordings, and compared by the rules of the configuration.
//!
//! They come besides the load, so that the generator neither keeps an answer nor waits for a comparison. The services work for them all
//! the same, so those that come while something is measured are counted: use is divided by all requests. What cannot be compared is
//! counted by its reason. No value of an answer is kept, only where it differs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use parity_comparator::redact::{RecordContext, Redactor};
use parity_comparator::{Comparator, Limits};
use parity_mirror::load::Step;
use parity_mirror::replay::{Cookies, Place, Recorded};
use parity_schemas::exchange::{Exchange, Request};
use parity_schemas::id::new_id;
use parity_schemas::route::RouteResolver;
use parity_schemas::stress::{LoadAnswers, LoadDifference};
use parity_schemas::verdict::{Reason, Verdict};

use super::requests::copied;
use crate::asking::{self, Asked, Asking};
use crate::config::{LoadSettings, MirrorSettings};

/// Differences that are listed.
const LISTED: usize = 20;
/// Different places that are counted: a service that answers anything has many.
const COUNTED: usize = 10_000;
/// Beyond the time of each answer.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether the load goes on.
const LOOK: Duration = Duration::from_millis(20);

/// The thread that compares.
pub(crate) struct Comparing {
    thread: JoinHandle<Result<LoadAnswers>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    loading: Mutex<Option<Stretch>>,
    is_over: AtomicBool,
}

/// What is measured of a load.
struct Stretch {
    from: Instant,
    to: Instant,
    /// Requests that both services got in it from here.
    asked: u64,
}

impl Shared {
    fn loading(&self) -> MutexGuard<'_, Option<Stretch>> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Comparing {
    /// Starts it; `None` if nothing is to be compared. It waits until there is load.
    pub(crate) fn start(
        load: &LoadSettings,
        requests: &Arc<[Request]>,
        allow_unsafe: bool,
    ) -> Result<Option<Self>> {
        if load.compare == 0 {
            return Ok(None);
        }
        let mut settings = load.mirror.clone();
        let policy = &mut settings.mirror.policy;
        policy.unsafe_methods = allow_unsafe;
        policy.limits.candidate_deadline = load.deadline;
        let substitutions = asking::substitutions(&mut settings, Cookies::Off)?;
        let asking = Asking::start(settings.mirror.clone(), false, substitutions)?;
        let shared = Arc::<Shared>::default();
        let mut work = Work {
            shared: Arc::clone(&shared),
            requests: Arc::clone(requests),
            gap: Duration::from_secs(1) / u32::try_from(load.compare).unwrap_or(u32::MAX),
            patience: 2 * load.deadline + GRACE,
            found: LoadAnswers {
                allowed: load.max_mismatch_rate,
                ..LoadAnswers::default()
            },
            places: BTreeMap::new(),
            judge: Judge::new(settings)?,
        };
        let thread = std::thread::Builder::new()
            .name("answers".to_owned())
            .spawn(move || {
                let compared = work.run(&asking);
                asking.finish();
                compared.map(|()| work.found())
            })
            .context("cannot start the thread that compares answers")?;
        Ok(Some(Self { thread, shared }))
    }

    /// A load begins now.
    pub(crate) fn begins(&self, step: Step) {
        let from = Instant::now() + step.warm_up;
        *self.shared.loading() = Some(Stretch {
            from,
            to: from + step.window,
            asked: 0,
        });
    }

    /// It has ended: how many requests each service got from here while it was measured.
    pub(crate) fn ends(&self) -> u64 {
        let ended = self.shared.loading().take();
        ended.map_or(0, |stretch| stretch.asked)
    }

    /// Ends it.
    pub(crate) fn finish(self) -> Result<LoadAnswers> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.join();
        ended.unwrap_or_else(|_| Err(anyhow!("the thread that compares answers panicked")))
    }
}

/// What judges two answers.
struct Judge {
    settings: MirrorSettings,
    routes: RouteResolver,
    comparator: Comparator,
    redactor: Redactor,
}

impl Judge {
    fn new(settings: MirrorSettings) -> Result<Self> {
        let rules = || Arc::clone(&settings.rules);
        let redactor = Redactor::new(&settings.redact, &settings.redaction_key, rules());
        let limits = Limits {
            decoded_bytes: settings.mirror.policy.limits.body,
            ..Limits::default()
        };
        Ok(Self {
            comparator: Comparator::new(rules(), limits),
            redactor: redactor.context("the redaction settings")?,
            routes: RouteResolver::new(Arc::clone(&settings.mirror.policy.routes)),
            settings,
        })
    }

    /// The route of a request that has no two answers.
    fn route(&mut self, request: &Request) -> String {
        let route = self.routes.resolve(&request.method, request.path());
        route.label().to_owned()
    }

    /// Where two answers differ, as it may be shown.
    fn places(
        &self,
        exchange: &Exchange,
        comparison: &parity_comparator::Comparison,
    ) -> Vec<String> {
        let context = RecordContext {
            id: new_id(),
            identity: &self.settings.identity,
            instance: &self.settings.instance,
        };
        let (_, record) = self
            .redactor
            .mismatch(exchange, comparison, &context, |_| false);
        let mut places: Vec<String> = record
            .findings
            .iter()
            .map(|finding| {
                format!("{} {} {}", finding.part, finding.pattern, finding.kind).replace("  ", " ")
            })
            .collect();
        places.sort();
        places.dedup();
        places
    }
}

struct Work {
    shared: Arc<Shared>,
    requests: Arc<[Request]>,
    gap: Duration,
    patience: Duration,
    found: LoadAnswers,
    places: BTreeMap<(String, String), u64>,
    judge: Judge,
}

impl Work {
    fn run(&mut self, asking: &Asking) -> Result<()> {
        // Spread over the requests, however few are compared.
        let step = (self.requests.len() / 1_000).max(1) | 1;
        let mut next = 0;
        let mut due = Instant::now();
        while !self.shared.is_over.load(Ordering::Relaxed) {
            let now = Instant::now();
            let is_loading = self.shared.loading().is_some();
            if !is_loading || now < due {
                std::thread::sleep(LOOK.min(self.gap));
                continue;
            }
            // What was missed is not made up for: it would be a burst.
            due = (due + self.gap).max(now);
            let request = copied(&self.requests[next % self.requests.len()]);
            next = next.wrapping_add(step);
            self.ask(request, asking)?;
        }
        Ok(())
    }

    fn ask(&mut self, request: Request, asking: &Asking) -> Result<()> {
        let recorded = Recorded {
            place: Place {
                file: Arc::from(std::path::Path::new("-")),
                line: 0,
            },
            time: None,
            session: None,
            host: None,
            request,
            answer: None,
            hidden: Box::default(),
        };
        self.found.asked += 1;
        let at = Instant::now();
        let route = self.judge.route(&recorded.request);
        let asked = asking.ask(recorded, at + self.patience)?;
        if matches!(asked, Asked::Exchange(_) | Asked::TooLate)
            && let Some(stretch) = self.shared.loading().as_mut()
            && (stretch.from..stretch.to).contains(&at)
        {
            stretch.asked += 1;
        }
        match asked {
            Asked::Exchange(exchange) => self.compare(&exchange),
            Asked::Not(reason) => self.no_verdict(&route, reason),
            Asked::NotSendable => self.not_compared("not_sendable"),
            Asked::TooLate => self.not_compared("timeout"),
        }
        Ok(())
    }

    fn not_compared(&mut self, why: &str) {
        *self.found.not_compared.entry(why.to_owned()).or_default() += 1;
    }

    fn compare(&mut self, exchange: &Exchange) {
        let comparison = self.judge.comparator.compare(exchange);
        match comparison.verdict {
            Verdict::Match => self.found.equal += 1,
            Verdict::NotCompared(reason) => self.no_verdict(exchange.route.label(), reason),
            Verdict::Mismatch => {
                self.found.differing += 1;
                let route = exchange.route.label();
                for place in self.judge.places(exchange, &comparison) {
                    self.differs(route, place);
                }
            }
        }
    }

    /// What the candidate alone is the cause of counts against it, as in a gate.
    fn no_verdict(&mut self, route: &str, reason: Reason) {
        if reason.is_candidate_failure() {
            self.found.differing += 1;
            self.differs(route, reason.as_str().to_owned());
        } else {
            self.not_compared(reason.as_str());
        }
    }

    fn differs(&mut self, route: &str, place: String) {
        let key = (route.to_owned(), place);
        if self.places.len() < COUNTED || self.places.contains_key(&key) {
            *self.places.entry(key).or_default() += 1;
        }
    }

    fn found(self) -> LoadAnswers {
        let mut differences: Vec<LoadDifference> = self
            .places
            .into_iter()
            .map(|((route, place), count)| LoadDifference {
                route,
                place,
                count,
            })
            .collect();
        differences.sort_by_key(|difference| std::cmp::Reverse(difference.count));
        differences.truncate(LISTED);
        LoadAnswers {
            differences,
            ..self.found
        }
    }
}
