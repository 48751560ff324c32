//! A comparing thread: takes exchanges from the queue, compares and counts them, and hands mismatches to the writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use parity_comparator::redact::{AttributeConfig, RecordContext, Redactor};
use parity_comparator::{Comparator, Comparison};
use parity_mirror::Tried;
use parity_schemas::exchange::{Capture, Exchange};
use parity_schemas::field_share::FieldNumbers;
use parity_schemas::id::new_id;
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::record;
use parity_schemas::route::{Route, split_operation};
use parity_schemas::tally::{Group, Identity};
use parity_schemas::verdict::{Reason, Verdict};
use parity_sink::tally::{Elapsed, TargetHash, TargetKey};
use parity_sink::{Epoch, OutcomeRecorder, TallyBook};
use uuid::Uuid;

use super::attributes::Attributes;
use super::pledge::{Mismatch, Pledge};
use super::queue::{Next, Queue};
use super::recheck::SecondLooks;
use super::stopwatch::Stopwatch;
use super::waiting::{ControlCapture, SecondCaptures, Stage, Waiting};

/// A comparing thread that finds the queue empty looks again after a pause instead of waiting to be woken: waking it
/// for each exchange was measured to cost the proxy a tenth of its CPU. A millisecond at 16,000 requests a second is
/// 16 exchanges of 4,096.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
/// Longest pause, and so the longest that a burst after a short silence waits.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);
/// Pauses of full length after which the thread does wait to be woken. By then so little arrives that waking it costs
/// nothing.
const PAUSES: u32 = 10;
/// How long it waits to be woken before it checks whether the deadline for comparing has passed.
const SLEEP: Duration = Duration::from_millis(250);

/// What the comparing threads of one generation share, to redact a mismatch and say whose it is.
pub(super) struct ComparingContext {
    pub(super) redactor: Arc<Redactor>,
    pub(super) target_key: TargetKey,
    pub(super) identity: Identity,
    pub(super) instance: String,
    /// Which attributes of requests are counted; `None` if none.
    pub(super) attributes: Option<AttributeConfig>,
}

/// The request that a thread compares now. Whoever takes it out counts it: the thread, or the drain when it has waited
/// long enough for the thread. So it is counted exactly once.
#[derive(Clone, Default)]
pub(super) struct UnderWay(Arc<Mutex<Option<Unsettled>>>);

/// A request without an outcome, or one whose pledge counts it.
pub(super) enum Unsettled {
    /// Nothing is known of it.
    First(Arc<Route>, Epoch),
    /// Its answers differ, and its second ones are being compared.
    Second(Pledge),
    /// It is counted; the legacy's second answer is being compared.
    Control(Arc<Route>),
}

impl Unsettled {
    /// Ends it without a verdict, or as what is known of it.
    pub(super) fn not_compared(self, recorder: &OutcomeRecorder, reason: Reason) {
        match self {
            Self::First(route, epoch) => {
                recorder.not_compared(&route, reason);
                recorder.settled(epoch);
            }
            Self::Second(pledge) => drop(pledge),
            Self::Control(route) => recorder.recheck(&route, RecheckEvent::ControlFailed),
        }
    }
}

impl UnderWay {
    fn begin(&self, request: Unsettled) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
    }

    /// Takes the request out; the caller must count it.
    pub(super) fn take(&self) -> Option<Unsettled> {
        let mut request = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        request.take()
    }
}

/// One comparing thread.
pub(super) struct Comparing {
    pub(super) comparator: Comparator,
    pub(super) recorder: OutcomeRecorder,
    pub(super) attributes: Attributes,
    pub(super) book: Arc<TallyBook>,
    pub(super) looks: Arc<SecondLooks>,
    pub(super) context: Arc<ComparingContext>,
    pub(super) queue: Arc<Queue>,
    pub(super) under_way: UnderWay,
}

impl Comparing {
    /// Runs until the queue is closed and empty, or the deadline for comparing has passed.
    pub(super) fn run(&mut self) {
        let mut pause = SHORTEST_PAUSE;
        let mut pauses = 0;
        let mut stopwatch = Stopwatch::new();
        loop {
            let shed = |waiting: Waiting| waiting.not_compared(&self.recorder, Reason::QueueFull);
            match self.queue.next(shed) {
                Next::Compare(waiting, bill) => {
                    (pause, pauses) = (SHORTEST_PAUSE, 0);
                    let ((), took) = stopwatch.time(|| self.contain(*waiting));
                    self.queue.took(bill, took);
                }
                Next::Wait if pauses >= PAUSES => self.queue.wait(SLEEP, shed),
                Next::Wait => {
                    std::thread::sleep(pause);
                    pauses += u32::from(pause == LONGEST_PAUSE);
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
                Next::End => return,
            }
        }
    }

    /// A bug in comparing code costs one exchange, not the thread. The scratch space of the comparator is cleared at the
    /// beginning of each comparison, so that a broken one leaves nothing behind.
    fn contain(&mut self, waiting: Waiting) {
        let Waiting { exchange, stage } = waiting;
        let route = Arc::clone(&exchange.route);
        let ended = match stage {
            Stage::First(epoch, tried) => {
                self.under_way.begin(Unsettled::First(route, epoch));
                catch_unwind(AssertUnwindSafe(|| self.compare(exchange, tried)))
            }
            Stage::Second(second) => {
                let (pledge, captures) = *second;
                self.under_way.begin(Unsettled::Second(pledge));
                catch_unwind(AssertUnwindSafe(|| self.classify(exchange, &captures)))
            }
            Stage::Control(control) => {
                self.under_way.begin(Unsettled::Control(route));
                catch_unwind(AssertUnwindSafe(|| self.control(&exchange, &control)))
            }
        };
        // Whatever was not counted before the panic. Only a panic leaves something here.
        if let (Some(left), Err(_)) = (self.under_way.take(), ended) {
            left.not_compared(&self.recorder, Reason::InternalPanic);
        }
    }

    /// Compares the first answers. Until the outcome is known and about to be counted, the drain may count the request.
    fn compare(&mut self, exchange: Exchange, tried: Option<Tried>) {
        self.looks.saw(&exchange.legacy);
        let comparison = self.comparator.compare(&exchange);
        let differs = match comparison.verdict {
            Verdict::NotCompared(_) => None,
            Verdict::Match => Some(false),
            Verdict::Mismatch => Some(true),
        };
        if let (Some(tried), Some(differs)) = (tried, differs) {
            tried.compared(differs);
        }
        let route = &exchange.route;
        match comparison.verdict {
            Verdict::NotCompared(reason) => {
                self.settle(|recorder| {
                    count_rule_hits(recorder, route, &comparison);
                    recorder.not_compared(route, reason);
                });
            }
            Verdict::Match => {
                let target = self.target(&exchange);
                let fields = self.fields(&exchange);
                self.attributes.read(&exchange, &self.context.redactor);
                let attributes = self.attributes.ids();
                let settled = self.settle(|recorder| {
                    count_rule_hits(recorder, route, &comparison);
                    recorder.compared(route, exchange.legacy.status, target);
                    recorder.fields(route, fields.as_ref());
                    recorder.attributes(route, attributes);
                    let (legacy, candidate) = (&exchange.legacy, &exchange.candidate);
                    recorder.matched(route, elapsed(legacy), elapsed(candidate));
                });
                if settled {
                    self.looks.control(exchange);
                }
            }
            Verdict::Mismatch => {
                // Redaction may take as long as the comparison.
                let (id, groups, record) = self.found(&exchange, &comparison);
                let fields = self.fields(&exchange);
                self.attributes.read(&exchange, &self.context.redactor);
                let Some(Unsettled::First(route, epoch)) = self.under_way.take() else {
                    return;
                };
                let mismatch = Mismatch {
                    route,
                    epoch,
                    time: exchange.time,
                    legacy_status: exchange.legacy.status,
                    target: self.target(&exchange),
                    attributes: self.attributes.ids().into(),
                    legacy: elapsed(&exchange.legacy),
                    candidate: elapsed(&exchange.candidate),
                    is_complete: comparison.is_complete(),
                    rule_hits: comparison.rule_hits,
                    fields,
                    id,
                    groups,
                    record: Some(Box::new(record)),
                };
                let pledge = Pledge::new(mismatch, self.looks.settling());
                self.looks.look_again(exchange, pledge);
            }
        }
    }

    /// Says of a mismatch which kind it is, by the second answers.
    fn classify(&mut self, mut exchange: Exchange, second: &SecondCaptures) {
        if SecondLooks::is_only_failed(&exchange, second) {
            let Some(Unsettled::Second(pledge)) = self.under_way.take() else {
                return;
            };
            match self.looks.look_further(exchange, pledge, second.looks) {
                Ok(()) => return,
                Err(refused) => {
                    let pledge;
                    (exchange, pledge) = *refused;
                    self.under_way.begin(Unsettled::Second(pledge));
                }
            }
        }
        let rechecked = self.looks.classify(&mut self.comparator, &exchange, second);
        if let Some(Unsettled::Second(pledge)) = self.under_way.take() {
            self.looks.settle(&exchange, &rechecked, pledge);
        }
    }

    /// Compares the legacy with itself.
    fn control(&mut self, exchange: &Exchange, control: &ControlCapture) {
        let failed = SecondLooks::compare_control(&mut self.comparator, exchange, control);
        if let Some(Unsettled::Control(route)) = self.under_way.take() {
            self.looks.settling().events(&route, failed);
        }
    }

    /// Counts the outcome of a request that is still this thread's to count; returns whether it was. A panic while it
    /// is counted is counted as such.
    fn settle(&self, count: impl FnOnce(&OutcomeRecorder)) -> bool {
        let Some(Unsettled::First(route, epoch)) = self.under_way.take() else {
            return false;
        };
        let counted = catch_unwind(AssertUnwindSafe(|| count(&self.recorder)));
        if counted.is_err() {
            self.recorder.not_compared(&route, Reason::InternalPanic);
        }
        self.recorder.settled(epoch);
        true
    }

    /// The keyed hash of what the request asks for. All operations of GraphQL have one path, so there the body counts, too.
    fn target(&self, exchange: &Exchange) -> TargetHash {
        let (request, key) = (&exchange.request, &self.context.target_key);
        let (method, target) = (request.method.as_str(), &request.target);
        if split_operation(exchange.route.label()).is_some() && !request.body.is_empty() {
            return key.hash_with_body(method, target, &request.body.contiguous());
        }
        key.hash(method, target)
    }

    /// The fields of the legacy's answer, if the exchange is one of those whose fields are counted.
    fn fields(&mut self, exchange: &Exchange) -> Option<FieldNumbers> {
        let sampled = self.recorder.samples_fields(&exchange.route, exchange.time);
        sampled.then(|| self.comparator.fields(exchange))
    }

    /// Redacts a mismatch: its groups for the counts, and its record.
    fn found(
        &self,
        exchange: &Exchange,
        comparison: &Comparison,
    ) -> (Uuid, Vec<Group>, record::Mismatch) {
        let id = new_id();
        let context = RecordContext {
            id,
            identity: &self.context.identity,
            instance: &self.context.instance,
        };
        let keep_sample = |groups: &[Group]| self.book.keep_sample(groups);
        let redactor = &self.context.redactor;
        let (groups, record) = redactor.mismatch(exchange, comparison, &context, keep_sample);
        (id, groups, record)
    }
}

/// How often each rule excused a difference.
fn count_rule_hits(recorder: &OutcomeRecorder, route: &Route, comparison: &Comparison) {
    if !comparison.rule_hits.is_empty() {
        recorder.rule_hits(route, &comparison.rule_hits);
    }
}

fn elapsed(capture: &Capture) -> Elapsed {
    let micros = |elapsed: Duration| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    Elapsed {
        head_us: micros(capture.head_elapsed),
        end_us: micros(capture.elapsed),
    }
}
