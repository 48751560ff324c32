//! Sends recorded requests in the place of a client's, at a given pace.
//!
//! Nothing is dropped that could wait: a request is sent when there is room for it, among those in flight, in the byte budget and
//! before the comparison. Requests of one session are sent one after the other, because a later one may rest on the answer to an
//! earlier one; those of different sessions side by side.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parity_schemas::clients::ClientOutcome;
use tokio::sync::{Notify, mpsc};

use crate::exchange::{Sending, send_recorded};
use crate::proxy::ticket::ClientTicket;
use crate::proxy::worker::Worker;
use crate::replay::{Pace, Recorded, Substituting, Substitutions};

/// How often it is looked whether there is room again.
const LOOK: Duration = Duration::from_millis(5);
/// Requests that wait for the one before them in their session, beside those in flight, times as many as these: so that one
/// long session does not keep the others waiting, and a recording is not read into memory.
const WAITING_FOR_EACH: usize = 8;
/// Bytes of those that wait.
const WAITING_BYTES: usize = 64 << 20;
/// Requests whose outcome may be open before it is looked how many still are: about half of the queue before the comparison.
const OPEN: u64 = 1_024;

/// Recorded requests, and how they are sent.
pub struct Replaying {
    /// The requests, in their order.
    pub requests: mpsc::Receiver<Recorded>,
    /// When each is sent.
    pub pace: Pace,
    /// Requests in flight at most.
    pub concurrency: usize,
    /// Whether answers of the recording stand for the legacy's.
    pub recorded_answers: bool,
    /// What stands in the place of recorded cookies and tokens.
    pub substitutions: Substitutions,
    /// How many requests were received and have no outcome yet, those that are asked again included.
    pub open: Box<dyn Fn() -> u64 + Send>,
    /// What was done so far.
    pub progress: Arc<Progress>,
}

/// What was done of a replay so far.
#[derive(Debug, Default)]
pub struct Progress {
    sent: AtomicU64,
    ended: AtomicU64,
    not_sendable: AtomicU64,
    without_answer: AtomicU64,
}

impl Progress {
    /// Requests that were counted as received.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Of those, the ones that have an outcome or wait for their comparison.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Requests that HTTP cannot send.
    pub fn not_sendable(&self) -> u64 {
        self.not_sendable.load(Ordering::Relaxed)
    }

    /// Requests that were left out because the recording has no answer to them.
    pub fn without_answer(&self) -> u64 {
        self.without_answer.load(Ordering::Relaxed)
    }
}

/// Sends all of them, and returns when each has its outcome. It may be dropped at any time.
pub(crate) async fn run(worker: &Rc<Worker>, replaying: Replaying) {
    let Replaying {
        mut requests,
        pace,
        concurrency,
        recorded_answers,
        substitutions,
        open,
        progress,
    } = replaying;
    let flight = Rc::new(Flight {
        concurrency: concurrency.clamp(1, worker.generation().limits().in_flight),
        worker: Rc::clone(worker),
        substituting: Substituting::new(substitutions, recorded_answers),
        count: Cell::new(0),
        sessions: RefCell::default(),
        waiting: Cell::new(0),
        held: Cell::new(0),
        ready: RefCell::default(),
        ended: Notify::new(),
        progress: Arc::clone(&progress),
    });
    let mut clock = pace.start(Instant::now());
    let mut outcomes = Outcomes { open, known: 0 };
    // One that is not due yet.
    let mut next: Option<(Recorded, Instant)> = None;
    let mut has_more = true;
    loop {
        let mut is_blocked = false;
        while flight.has_place() && !flight.ready.borrow().is_empty() {
            is_blocked = !(worker.has_room_for_shadows() && outcomes.has_room());
            if is_blocked {
                break;
            }
            let ready = flight.ready.borrow_mut().pop_front();
            if let Some(recorded) = ready {
                flight.send(recorded);
                outcomes.known += 1;
            }
        }
        if let Some((_, due)) = &next
            && *due <= Instant::now()
            && let Some((recorded, _)) = next.take()
        {
            flight.offer(recorded);
            continue;
        }
        if !has_more && next.is_none() && flight.is_empty() {
            break;
        }
        let due = next.as_ref().map(|(_, due)| *due);
        let wakes = if is_blocked {
            Some(Instant::now() + LOOK)
        } else {
            None
        };
        let wakes = [due, wakes].into_iter().flatten().min();
        let takes_more = has_more && next.is_none() && !flight.is_crowded();
        tokio::select! {
            () = flight.ended.notified() => {}
            () = sleep_until(wakes), if wakes.is_some() => {}
            recorded = requests.recv(), if takes_more => match recorded {
                Some(mut recorded) => {
                    if !recorded_answers {
                        recorded.answer = None;
                    } else if recorded.answer.is_none() {
                        progress.without_answer.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    let due = clock.due(recorded.time, Instant::now());
                    next = Some((recorded, due));
                }
                None => has_more = false,
            },
        }
    }
    while (outcomes.open)() > 0 {
        tokio::time::sleep(LOOK).await;
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

/// How many requests have no outcome yet.
struct Outcomes {
    open: Box<dyn Fn() -> u64 + Send>,
    /// As many at most: those that were open at the last look, and those that were sent since.
    known: u64,
}

impl Outcomes {
    fn has_room(&mut self) -> bool {
        if self.known >= OPEN {
            self.known = (self.open)();
        }
        self.known < OPEN
    }
}

/// The requests in flight, and those that wait.
struct Flight {
    worker: Rc<Worker>,
    substituting: Rc<Substituting>,
    concurrency: usize,
    /// Requests in flight.
    count: Cell<usize>,
    /// Each session with a request in flight or ready, and those of its requests that wait for it.
    sessions: RefCell<HashMap<Box<str>, VecDeque<Recorded>>>,
    /// How many wait for others of their session.
    waiting: Cell<usize>,
    /// Bytes of those that wait and those that are ready.
    held: Cell<usize>,
    /// Those whose turn has come.
    ready: RefCell<VecDeque<Recorded>>,
    /// Told when a request ends.
    ended: Notify,
    progress: Arc<Progress>,
}

impl Flight {
    fn has_place(&self) -> bool {
        self.count.get() < self.concurrency
    }

    fn is_crowded(&self) -> bool {
        let ready = self.ready.borrow().len();
        ready >= self.concurrency
            || self.waiting.get() >= WAITING_FOR_EACH * self.concurrency
            || self.held.get() >= WAITING_BYTES
    }

    fn is_empty(&self) -> bool {
        self.count.get() == 0 && self.waiting.get() == 0 && self.ready.borrow().is_empty()
    }

    /// Takes a request that is due: it is ready, or it waits for the one before it in its session.
    fn offer(&self, recorded: Recorded) {
        self.held.set(self.held.get() + recorded.held());
        if let Some(session) = &recorded.session {
            let mut sessions = self.sessions.borrow_mut();
            if let Some(waiting) = sessions.get_mut(session) {
                self.waiting.set(self.waiting.get() + 1);
                waiting.push_back(recorded);
                return;
            }
            sessions.insert(session.clone(), VecDeque::new());
        }
        self.ready.borrow_mut().push_back(recorded);
    }

    fn send(self: &Rc<Self>, recorded: Recorded) {
        self.held.set(self.held.get() - recorded.held());
        let own = self.substituting.own(&recorded);
        let heard = self.substituting.heard(&recorded);
        let Recorded {
            session,
            request,
            answer,
            ..
        } = recorded;
        self.count.set(self.count.get() + 1);
        let place = InFlight {
            flight: Rc::downgrade(self),
            session,
            was_sent: Cell::new(false),
        };
        let generation = self.worker.generation();
        let route = generation.route_recorded(&request.method, request.path());
        let sending = Sending {
            request: &request,
            answer,
            own,
            heard,
        };
        let sent = send_recorded(generation.asker(), route, sending, |ticket| {
            place.was_sent.set(true);
            self.progress.sent.fetch_add(1, Ordering::Relaxed);
            ClientTicket::beside(ticket).end(ClientOutcome::Replayed);
            Box::new(place)
        });
        if !sent {
            self.progress.not_sendable.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The turn of the next request of a session.
    fn pass_on(&self, session: &str) {
        let mut sessions = self.sessions.borrow_mut();
        let next = sessions.get_mut(session).and_then(VecDeque::pop_front);
        match next {
            Some(next) => {
                self.waiting.set(self.waiting.get() - 1);
                self.ready.borrow_mut().push_back(next);
            }
            None => {
                sessions.remove(session);
            }
        }
    }
}

/// A place among those in flight, until its request has ended. Nothing is sent from its drop: that would be within the end of
/// another request.
struct InFlight {
    flight: Weak<Flight>,
    session: Option<Box<str>>,
    was_sent: Cell<bool>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(flight) = self.flight.upgrade() else {
            return;
        };
        flight.count.set(flight.count.get() - 1);
        if self.was_sent.get() {
            flight.progress.ended.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(session) = &self.session {
            flight.pass_on(session);
        }
        flight.ended.notify_one();
    }
}
