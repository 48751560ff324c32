//! The queue between the workers of the proxy and the comparing threads.
//!
//! It has two stages. Workers put exchanges into a bounded lock-free channel, which is the only cost on a client's path.
//! Before each comparison, the comparing threads move them from there into a line for each route ([`super::fair`]). When
//! comparisons take so long that the channel is half full, workers move a few exchanges themselves. Otherwise a full
//! channel would turn away whatever comes next, instead of what costs most.
//!
//! What waits is bounded in number, in bytes (by the byte budget, which its bodies hold) and in comparing time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError, bounded};
use http::header::CONTENT_ENCODING;
use parity_schemas::exchange::Capture;

use super::fair::{Bill, Bounds, Fair, Taken};
use super::waiting::Waiting;

/// Estimated comparing time that may wait for each thread. It is a fraction of the default drain, so that the estimate may
/// be several times too low; and results that are later are of little use to a reader.
const WAITING: Duration = Duration::from_secs(5);
/// Exchanges that a worker sorts when the channel is half full. This takes ten microseconds or so of its clients' time.
const SORTED_BY_WORKER: usize = 64;
/// Added to the bytes of an exchange, for the cost of comparing everything but the bodies.
const UNITS_BESIDE: u64 = 512;
/// Assumed nanoseconds to compare a decoded byte, until a route has an estimate.
const ASSUMED_NANOS: u64 = 10;
/// Assumed decoded bytes per compressed byte, until a route has an estimate. It is more than usual answers have, so that a
/// flood of decompression bombs is not admitted before the first of them has been compared.
const ASSUMED_RATIO: usize = 64;

/// The end of the queue at which workers put exchanges in. The queue is closed when the last entrance is dropped.
pub(super) struct Entrance {
    arrivals: Sender<Waiting>,
    queue: Arc<Queue>,
}

/// The end at which comparing threads take exchanges out.
pub(super) struct Queue {
    arrivals: Receiver<Waiting>,
    /// Locked while arrivals are sorted, never during a comparison. Workers use `try_lock` only, so they never wait.
    lines: Mutex<Lines>,
    /// Set at the deadline for comparing.
    over: Arc<AtomicBool>,
    /// Bytes that a body may have once decoded.
    decoded: usize,
}

/// What is locked.
struct Lines {
    fair: Fair<Box<Waiting>>,
    /// First comparisons of a line that go on now, with when they began: one for each thread at the most.
    firsts: Vec<(Bill, Instant)>,
}

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Exchanges in lines; the channel of arrivals may hold as many again.
    pub(super) exchanges: usize,
    /// Threads that compare.
    pub(super) threads: usize,
    /// Bytes that a body may have once decoded.
    pub(super) decoded: usize,
    /// Whether they may wait however long comparing takes.
    pub(super) may_wait: bool,
}

/// What a comparing thread is to do.
pub(super) enum Next {
    /// Compare this exchange.
    Compare(Box<Waiting>, Bill),
    /// The queue is empty.
    Wait,
    /// The queue is closed and empty, or the deadline has passed.
    End,
}

/// A queue and its entrance. Setting `over` ends it at once, whatever still waits.
pub(super) fn queue(room: Room, over: &Arc<AtomicBool>) -> (Arc<Entrance>, Arc<Queue>) {
    let (sender, receiver) = bounded(room.exchanges);
    let nanos = if room.may_wait {
        u64::MAX
    } else {
        WAITING.as_nanos() as u64 * room.threads as u64
    };
    let queue = Arc::new(Queue {
        arrivals: receiver,
        lines: Mutex::new(Lines {
            fair: Fair::new(Bounds {
                items: room.exchanges,
                nanos,
            }),
            firsts: Vec::new(),
        }),
        over: Arc::clone(over),
        decoded: room.decoded,
    });
    let entrance = Arc::new(Entrance {
        arrivals: sender,
        queue: Arc::clone(&queue),
    });
    (entrance, queue)
}

impl Entrance {
    /// Puts in an exchange without waiting. Exchanges beyond the bounds go to `shed`: this one, or others that cost more.
    pub(super) fn offer(&self, waiting: Waiting, mut shed: impl FnMut(Waiting)) {
        let crowded = self
            .arrivals
            .capacity()
            .is_some_and(|room| self.arrivals.len() > room / 2);
        if crowded {
            let lines = match self.queue.lines.try_lock() {
                Ok(lines) => Some(lines),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                // Another thread is sorting.
                Err(TryLockError::WouldBlock) => None,
            };
            if let Some(mut lines) = lines {
                self.queue.sort(&mut lines, SORTED_BY_WORKER, &mut shed);
            }
        }
        if let Err(TrySendError::Full(waiting) | TrySendError::Disconnected(waiting)) =
            self.arrivals.try_send(waiting)
        {
            shed(waiting);
        }
    }
}

impl Queue {
    /// Sorts arrivals and returns what to do next. Exchanges beyond the bounds go to `shed`.
    pub(super) fn next(&self, mut shed: impl FnMut(Waiting)) -> Next {
        if self.over.load(Ordering::Relaxed) {
            return Next::End;
        }
        let mut lines = self.lines();
        let closed = self.sort(&mut lines, usize::MAX, &mut shed);
        match lines.fair.pop() {
            Some(Taken { item, bill }) => {
                if bill.is_first {
                    lines.firsts.push((bill, Instant::now()));
                }
                Next::Compare(item, bill)
            }
            None if closed => Next::End,
            None => Next::Wait,
        }
    }

    /// Reports how long a comparison took.
    pub(super) fn took(&self, bill: Bill, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mut lines = self.lines();
        // From now on its line is known.
        if bill.is_first {
            lines.firsts.retain(|(first, _)| !first.is_like(bill));
        }
        lines.fair.took(bill, nanos);
    }

    /// Waits until an exchange arrives, the queue is closed, or `longest` has passed.
    pub(super) fn wait(&self, longest: Duration, mut shed: impl FnMut(Waiting)) {
        match self.arrivals.recv_timeout(longest) {
            Ok(exchange) => self.admit(&mut self.lines(), exchange, &mut shed),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }

    /// Passes everything that waits to `each`.
    pub(super) fn take_all(&self, mut each: impl FnMut(Waiting)) {
        let mut lines = self.lines();
        lines.fair.take_all().for_each(|exchange| each(*exchange));
        self.arrivals.try_iter().for_each(each);
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves at most `most` arrivals into their lines. Returns whether the channel is closed and empty.
    fn sort(&self, lines: &mut Lines, most: usize, shed: &mut impl FnMut(Waiting)) -> bool {
        // Later arrivals are left for the next call, so that no thread does nothing but sort.
        for _ in 0..self.arrivals.len().min(most) {
            match self.arrivals.try_recv() {
                Ok(exchange) => self.admit(lines, exchange, shed),
                Err(_) => break,
            }
        }
        self.arrivals.is_empty()
            && match self.arrivals.try_recv() {
                Ok(exchange) => {
                    self.admit(lines, exchange, shed);
                    false
                }
                Err(error) => error == TryRecvError::Disconnected,
            }
    }

    fn admit(&self, lines: &mut Lines, waiting: Waiting, shed: &mut impl FnMut(Waiting)) {
        for (bill, began) in &lines.firsts {
            let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            lines.fair.goes_on(*bill, nanos);
        }
        let line = lines.fair.line(waiting.exchange.route.label());
        let bytes: usize = waiting.answers().map(|answer| answer.body.len()).sum();
        let units = bytes as u64 + UNITS_BESIDE;
        let decoded: usize = waiting.answers().map(|answer| self.assumed(answer)).sum();
        let nanos = (decoded as u64 + UNITS_BESIDE).saturating_mul(ASSUMED_NANOS);
        // Boxed, because an exchange is large and is moved several times from here on.
        let waiting = Box::new(waiting);
        lines
            .fair
            .push(line, units, || nanos, waiting, |waiting| shed(*waiting));
    }

    /// Assumed size of an answer's body once decoded.
    fn assumed(&self, answer: &Capture) -> usize {
        let sent = answer.body.len();
        if answer.headers.contains(&CONTENT_ENCODING) {
            sent.saturating_mul(ASSUMED_RATIO)
                .min(self.decoded.max(sent))
        } else {
            sent
        }
    }
}
