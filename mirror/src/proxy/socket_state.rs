//! The state of a client's socket, shared by the socket, its requests and the sweep.
//!
//! hyper owns the socket and moves it into a task, and after an upgrade into another one, so this state is kept
//! separately. It is atomic only because an upgraded socket must be `Send`: everything happens on one thread. It only
//! holds flags and counters.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use crate::spelling::Spelling;

/// A larger read buffer counts as large: hyper begins with 8 KiB, and grows it once a read has filled it.
const LARGE_BUFFER: usize = 8 * 1024;

/// What a head announces about its body, as hyper interprets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    Nothing,
    Bytes(u64),
    /// In chunks.
    Unknown,
}

/// The state of one client's socket.
#[derive(Default)]
pub(crate) struct SocketState {
    reads: AtomicU64,
    /// `reads` when the last request was over.
    reads_when_idle: AtomicU64,
    writes: AtomicU64,
    blocked: AtomicBool,
    awaited: AtomicBool,
    blind: AtomicBool,
    look: AtomicBool,
    half_closed: AtomicBool,
    writes_half_closed: AtomicU64,
    unread: AtomicBool,
    lingering: AtomicBool,
    tunnel: AtomicBool,
    announced: Mutex<Option<Announced>>,
    within_body: AtomicBool,
    has_spelling: AtomicBool,
    large_buffer: AtomicBool,
    spelling: Mutex<Option<Spelling>>,
}

fn get(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

fn set(flag: &AtomicBool, value: bool) {
    flag.store(value, Ordering::Relaxed);
}

impl SocketState {
    /// Number of reads that brought bytes.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Whether bytes have arrived since the last request ended: a head has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.reads() != self.reads_when_idle.load(Ordering::Relaxed)
    }

    /// No request is in progress any more.
    pub(crate) fn idle(&self) {
        self.reads_when_idle.store(self.reads(), Ordering::Relaxed);
        set(&self.awaited, false);
    }

    /// How often a write became possible again after one had blocked.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Whether the client does not read what is sent to it.
    pub(crate) fn is_blocked(&self) -> bool {
        get(&self.blocked)
    }

    pub(crate) fn read(&self) {
        self.reads.store(self.reads() + 1, Ordering::Relaxed);
    }

    /// hyper is about to read into a buffer of this size.
    pub(crate) fn reads_into(&self, room: usize) {
        if room > LARGE_BUFFER {
            set(&self.large_buffer, true);
        }
    }

    /// Whether hyper reads into a large buffer. A header value that is kept keeps the whole buffer alive.
    pub(crate) fn has_large_buffer(&self) -> bool {
        get(&self.large_buffer)
    }

    pub(crate) fn wrote<T>(&self, polled: &Poll<T>) {
        if polled.is_pending() {
            set(&self.blocked, true);
        } else if self.is_blocked() {
            set(&self.blocked, false);
            self.writes.store(self.writes() + 1, Ordering::Relaxed);
        }
        if get(&self.half_closed) && polled.is_ready() {
            let writes = self.writes_half_closed.load(Ordering::Relaxed);
            self.writes_half_closed.store(writes + 1, Ordering::Relaxed);
        }
    }

    /// hyper has parsed a head; `announced` is what it says about the body, which hyper reads next.
    pub(crate) fn announce(&self, announced: Announced) {
        set(&self.within_body, announced != Announced::Nothing);
        *self
            .announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(announced);
    }

    /// What was announced since the last call.
    pub(crate) fn takes_announced(&self) -> Option<Announced> {
        self.announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Whether the body of the current request is incomplete.
    pub(crate) fn is_within_body(&self) -> bool {
        get(&self.within_body)
    }

    /// Stores the client's exact bytes of the next head's target, if the parser does not accept them.
    pub(crate) fn put_spelling(&self, spelling: Spelling) {
        set(&self.has_spelling, true);
        *self.spelling.lock().unwrap_or_else(PoisonError::into_inner) = Some(spelling);
    }

    pub(crate) fn take_spelling(&self) -> Option<Spelling> {
        if !self.has_spelling.swap(false, Ordering::Relaxed) {
            return None;
        }
        self.spelling
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The request is complete: until the end of its answer hyper does not read, so the socket is watched for a client
    /// that disconnects.
    pub(crate) fn await_answer(&self) {
        set(&self.awaited, true);
        set(&self.within_body, false);
    }

    pub(crate) fn is_awaited(&self) -> bool {
        get(&self.awaited)
    }

    /// The socket has unread data or an end of stream, so the system does not report a later reset; the sweep makes the
    /// connection check for one.
    pub(crate) fn set_blind(&self, blind: bool) {
        set(&self.blind, blind);
    }

    pub(crate) fn is_blind(&self) -> bool {
        get(&self.blind)
    }

    /// Asks the connection to check such a socket for a reset.
    pub(crate) fn ask_for_look(&self) {
        set(&self.look, true);
    }

    /// Whether a check was asked for since the last call.
    pub(crate) fn takes_look(&self) -> bool {
        self.look.swap(false, Ordering::Relaxed)
    }

    /// The client has closed its sending side while it waits for an answer.
    pub(crate) fn set_half_closed(&self) {
        set(&self.half_closed, true);
    }

    /// How often something was written to a client that had closed its sending side. `None` if it has not, or if it does
    /// not read what is written: one that has gone would answer with a reset.
    pub(crate) fn writes_half_closed(&self) -> Option<u64> {
        let waits = get(&self.half_closed) && !self.is_blocked();
        waits.then(|| self.writes_half_closed.load(Ordering::Relaxed))
    }

    /// The connection ends with this answer, and the client may still be sending a body, which is not read.
    pub(crate) fn leaves_unread(&self) {
        set(&self.unread, true);
    }

    pub(crate) fn has_unread(&self) -> bool {
        get(&self.unread)
    }

    pub(crate) fn set_lingering(&self) {
        set(&self.lingering, true);
    }

    /// Whether our side has been closed, so that what the client still sends is discarded.
    pub(crate) fn is_lingering(&self) -> bool {
        get(&self.lingering)
    }

    /// The socket is now one end of a tunnel, whose directions may end separately.
    pub(crate) fn becomes_tunnel(&self) {
        set(&self.tunnel, true);
    }

    pub(crate) fn is_tunnel(&self) -> bool {
        get(&self.tunnel)
    }
}
