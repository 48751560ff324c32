//! Between the workers of the proxy and the comparing threads.
//!
//! In two steps. Workers put exchanges into a bounded channel without a lock, which is all that the path of a client
//! pays. The comparing threads take them out of it and sort them into lines ([`super::fair`]) before each comparison.
//! When a comparison takes so long that the channel fills, the worker that finds it half full sorts a few itself, so that
//! what is turned away is still what costs most, and not what happens to come next.
//!
//! What waits is bounded in number, in bytes (the budget that its bodies hold) and in time that comparing it will take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError, bounded};
use http::header::CONTENT_ENCODING;
use parity_schemas::exchange::{Capture, Exchange};
use parity_schemas::verdict::Reason;
use parity_sink::{Epoch, OutcomeRecorder};

use super::fair::{Bill, Bounds, Fair, Taken};

/// Time of one comparing thread that may wait to be spent. What waits longer comes too late for whoever looks at the
/// result, and at the end it has to fit the drain several times.
const WAITING: Duration = Duration::from_secs(5);
/// Exchanges that a worker sorts when it finds the channel half full: some ten microseconds of its clients' time.
const SORTED_BY_WORKER: usize = 64;
/// Added to the bytes of an exchange: what comparing costs beside its bodies.
const UNITS_BESIDE: u64 = 512;
/// Nanoseconds that comparing a decoded byte takes, until it is known of a route.
const ASSUMED_NANOS: u64 = 10;
/// Bytes that a coded byte unpacks to, until it is known of a route: more than honest answers do, so that a flood of
/// others is not let in before the first of them has been compared.
const ASSUMED_RATIO: usize = 64;

/// What waits for comparison, with when it was received.
pub(super) struct Waiting {
    pub(super) exchange: Exchange,
    pub(super) epoch: Epoch,
}

impl Waiting {
    /// Ends it without a verdict.
    pub(super) fn not_compared(&self, recorder: &OutcomeRecorder, reason: Reason) {
        recorder.not_compared(&self.exchange.route, reason);
        recorder.settled(self.epoch);
    }
}

/// Where workers leave exchanges. The queue is closed when the last one is gone.
#[derive(Clone)]
pub(super) struct Entrance {
    arrivals: Sender<Waiting>,
    queue: Arc<Queue>,
}

/// Where comparing threads get them.
pub(super) struct Queue {
    arrivals: Receiver<Waiting>,
    /// Held for as long as it takes to sort what has arrived, never while something is compared. Workers only ever try.
    lines: Mutex<Fair<Box<Waiting>>>,
    /// The time to compare is over.
    over: Arc<AtomicBool>,
    /// Bytes that a body may have once decoded.
    decoded: usize,
}

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Exchanges; as many again may have arrived that nobody has looked at yet.
    pub(super) exchanges: usize,
    /// Threads that compare.
    pub(super) threads: usize,
    /// Bytes that a body may have once decoded.
    pub(super) decoded: usize,
}

/// What a comparing thread is to do.
pub(super) enum Next {
    /// This one is due.
    Compare(Box<Waiting>, Bill),
    /// Nothing is there.
    Wait,
    /// Nothing will come any more.
    End,
}

/// A queue and its entrance. `over` ends it at once, whatever waits.
pub(super) fn queue(room: Room, over: &Arc<AtomicBool>) -> (Entrance, Arc<Queue>) {
    let (sender, receiver) = bounded(room.exchanges);
    let nanos = WAITING.as_nanos() as u64 * room.threads as u64;
    let queue = Arc::new(Queue {
        arrivals: receiver,
        lines: Mutex::new(Fair::new(Bounds {
            items: room.exchanges,
            nanos,
        })),
        over: Arc::clone(over),
        decoded: room.decoded,
    });
    let entrance = Entrance {
        arrivals: sender,
        queue: Arc::clone(&queue),
    };
    (entrance, queue)
}

impl Entrance {
    /// Leaves an exchange, and waits for nothing. What there is no room for goes to `shed`: this one, or others that
    /// cost more.
    pub(super) fn offer(&self, waiting: Waiting, mut shed: impl FnMut(Waiting)) {
        let crowded = self
            .arrivals
            .capacity()
            .is_some_and(|room| self.arrivals.len() > room / 2);
        if crowded {
            let lines = match self.queue.lines.try_lock() {
                Ok(lines) => Some(lines),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                // Somebody sorts just now.
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
    /// What to compare next; what has arrived meanwhile and is too much goes to `shed`.
    pub(super) fn next(&self, mut shed: impl FnMut(Waiting)) -> Next {
        if self.over.load(Ordering::Relaxed) {
            return Next::End;
        }
        let mut lines = self.lines();
        let closed = self.sort(&mut lines, usize::MAX, &mut shed);
        match lines.pop() {
            Some(Taken { item, bill }) => Next::Compare(item, bill),
            None if closed => Next::End,
            None => Next::Wait,
        }
    }

    /// What a comparison really took.
    pub(super) fn took(&self, bill: Bill, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.lines().took(bill, nanos);
    }

    /// Waits until something arrives, nothing can any more, or the time is over.
    pub(super) fn wait(&self, longest: Duration, mut shed: impl FnMut(Waiting)) {
        match self.arrivals.recv_timeout(longest) {
            Ok(exchange) => self.admit(&mut self.lines(), exchange, &mut shed),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }

    /// Everything that waits, compared or not.
    pub(super) fn take_all(&self, mut each: impl FnMut(Waiting)) {
        let mut lines = self.lines();
        lines.take_all().for_each(|exchange| each(*exchange));
        self.arrivals.try_iter().for_each(each);
    }

    fn lines(&self) -> MutexGuard<'_, Fair<Box<Waiting>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts arrivals into their lines, `most` of them; whether nothing will arrive any more.
    fn sort(
        &self,
        lines: &mut Fair<Box<Waiting>>,
        most: usize,
        shed: &mut impl FnMut(Waiting),
    ) -> bool {
        // Those that come meanwhile are for the next time: no thread shall do nothing but this.
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

    fn admit(
        &self,
        lines: &mut Fair<Box<Waiting>>,
        waiting: Waiting,
        shed: &mut impl FnMut(Waiting),
    ) {
        let exchange = &waiting.exchange;
        let line = lines.line(exchange.route.label());
        let captures = [&exchange.legacy, &exchange.candidate];
        let bytes: usize = captures.iter().map(|answer| answer.body.len()).sum();
        let units = bytes as u64 + UNITS_BESIDE;
        let decoded: usize = captures.map(|answer| self.assumed(answer)).iter().sum();
        let nanos = (decoded as u64 + UNITS_BESIDE).saturating_mul(ASSUMED_NANOS);
        // Moved by reference from here on: an exchange is larger than a cache line by far.
        let waiting = Box::new(waiting);
        lines.push(line, units, || nanos, waiting, |waiting| shed(*waiting));
    }

    /// Bytes that an answer may have once decoded.
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
