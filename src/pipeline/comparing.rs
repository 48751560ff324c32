//! A comparing thread: takes exchanges from the queue, compares and counts them, and hands mismatches to the writer.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use parity_comparator::redact::{RecordContext, Redactor};
use parity_comparator::{Comparator, Comparison};
use parity_schemas::exchange::{Capture, Exchange};
use parity_schemas::id::new_id;
use parity_schemas::record::Record;
use parity_schemas::route::Route;
use parity_schemas::tally::{Group, Identity};
use parity_schemas::verdict::{Reason, Verdict};
use parity_sink::tally::Elapsed;
use parity_sink::{Epoch, OutcomeRecorder, RecordSender, TallyBook};
use uuid::Uuid;

use super::queue::{Next, Queue, Waiting};

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
    pub(super) redactor: Redactor,
    pub(super) identity: Identity,
    pub(super) instance: String,
}

/// The request that a thread compares now. Whoever takes it out counts it: the thread, or the drain when it has waited
/// long enough for the thread. So it is counted exactly once.
#[derive(Clone, Default)]
pub(super) struct UnderWay(Arc<Mutex<Option<Unsettled>>>);

/// A request without an outcome.
pub(super) struct Unsettled {
    route: Arc<Route>,
    epoch: Epoch,
}

impl Unsettled {
    /// Ends it without a verdict.
    pub(super) fn not_compared(&self, recorder: &OutcomeRecorder, reason: Reason) {
        recorder.not_compared(&self.route, reason);
        recorder.settled(self.epoch);
    }
}

impl UnderWay {
    fn begin(&self, Waiting { exchange, epoch }: &Waiting) {
        let request = Unsettled {
            route: Arc::clone(&exchange.route),
            epoch: *epoch,
        };
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
    pub(super) book: Arc<TallyBook>,
    pub(super) records: RecordSender,
    pub(super) context: Arc<ComparingContext>,
    pub(super) queue: Arc<Queue>,
    pub(super) under_way: UnderWay,
}

impl Comparing {
    /// Runs until the queue is closed and empty, or the deadline for comparing has passed.
    pub(super) fn run(&mut self) {
        let mut pause = SHORTEST_PAUSE;
        let mut pauses = 0;
        loop {
            let shed = |waiting: Waiting| waiting.not_compared(&self.recorder, Reason::QueueFull);
            match self.queue.next(shed) {
                Next::Compare(waiting, bill) => {
                    (pause, pauses) = (SHORTEST_PAUSE, 0);
                    let began = Instant::now();
                    self.contain(&waiting);
                    self.queue.took(bill, began.elapsed());
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

    /// A bug in comparing code costs one exchange, not the thread.
    fn contain(&mut self, waiting: &Waiting) {
        let exchange = &waiting.exchange;
        self.under_way.begin(waiting);
        let mut ours = false;
        // The scratch space of the comparator is cleared at the beginning of each comparison, so that a broken one
        // leaves nothing behind.
        let settled = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let comparison = self.comparator.compare(exchange);
            // Redaction may take as long as the comparison. Until it is done, the drain may still count the request.
            let found = match comparison.verdict {
                Verdict::Mismatch => Some(self.found(exchange, &comparison)),
                _ => None,
            };
            ours = self.under_way.take().is_some();
            if ours {
                self.settle(exchange, &comparison, found);
            }
        }));
        ours |= self.under_way.take().is_some();
        if settled.is_err() && ours {
            self.recorder
                .not_compared(&exchange.route, Reason::InternalPanic);
        }
        if ours {
            self.recorder.settled(waiting.epoch);
        }
    }

    /// Counts the outcome last, so that a panic anywhere before leaves it to the caller to count.
    fn settle(&self, exchange: &Exchange, comparison: &Comparison, found: Option<Found>) {
        let route = &exchange.route;
        if !comparison.rule_hits.is_empty() {
            self.recorder.rule_hits(route, &comparison.rule_hits);
        }
        let micros = |elapsed: Duration| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let elapsed = |capture: &Capture| Elapsed {
            head_us: micros(capture.head_elapsed),
            end_us: micros(capture.elapsed),
        };
        let (legacy, candidate) = (elapsed(&exchange.legacy), elapsed(&exchange.candidate));
        if matches!(comparison.verdict, Verdict::Match | Verdict::Mismatch) {
            let status = exchange.legacy.status;
            self.recorder.legacy_answered(route, status);
        }
        match (comparison.verdict, found) {
            (Verdict::NotCompared(reason), _) => self.recorder.not_compared(route, reason),
            (Verdict::Match, _) => self.recorder.matched(route, legacy, candidate),
            // A mismatch without findings is a bug; it must not count as a match.
            (Verdict::Mismatch, None) => self.recorder.not_compared(route, Reason::InternalPanic),
            (Verdict::Mismatch, Some(Found { id, groups, record })) => {
                // If the queue is full, this row is lost and the sender counts the loss. The verdict is counted all the
                // same.
                let _counted = self.records.send(record);
                let time = exchange.time;
                self.recorder
                    .mismatch(route, legacy, candidate, id, time, &groups);
            }
        }
    }

    /// Redacts a mismatch: its groups for the counts, and its record.
    fn found(&self, exchange: &Exchange, comparison: &Comparison) -> Found {
        let id = new_id();
        let context = RecordContext {
            id,
            identity: &self.context.identity,
            instance: &self.context.instance,
        };
        let keep_sample = |groups: &[Group]| self.book.keep_sample(groups);
        let redactor = &self.context.redactor;
        let (groups, record) = redactor.mismatch(exchange, comparison, &context, keep_sample);
        let record = Record::Mismatch(Box::new(record));
        Found { id, groups, record }
    }
}

/// A mismatch for the writer, redacted.
struct Found {
    id: Uuid,
    groups: Vec<Group>,
    record: Record,
}
