//! What a client's socket, its requests and the sweep tell each other.
//!
//! The socket belongs to hyper, which moves it into a task, and after an upgrade into another one; so what is known of
//! it is kept beside it. All of it is atomic only because an upgraded socket must be `Send`: everything happens on
//! one thread. It holds flags and counts, and decides nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use crate::spelling::Spelling;

/// Room of a buffer for more than heads: hyper begins with 8 KiB, and takes more once a read has filled that.
const LARGE_BUFFER: usize = 8 * 1024;

/// What a head announced of its body, as hyper reads it.
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

    /// Bytes that came since the last request was over, or since the beginning: a head has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.reads() != self.reads_when_idle.load(Ordering::Relaxed)
    }

    /// No request is at hand any more.
    pub(crate) fn idle(&self) {
        self.reads_when_idle.store(self.reads(), Ordering::Relaxed);
        set(&self.awaited, false);
    }

    /// How often a write was possible again after one that was not.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Whether the client does not take what it is sent.
    pub(crate) fn is_blocked(&self) -> bool {
        get(&self.blocked)
    }

    pub(crate) fn read(&self) {
        self.reads.store(self.reads() + 1, Ordering::Relaxed);
    }

    /// hyper is about to read into a buffer with so much room.
    pub(crate) fn reads_into(&self, room: usize) {
        if room > LARGE_BUFFER {
            set(&self.large_buffer, true);
        }
    }

    /// Whether hyper reads into a large buffer. A field of a head that is kept keeps the whole buffer that it was read
    /// into.
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
    }

    /// hyper has parsed a head; `announced` is what that says of the body, which hyper reads next.
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

    /// Whether the body of the request at hand has not come to its end.
    pub(crate) fn is_within_body(&self) -> bool {
        get(&self.within_body)
    }

    /// How the client wrote the target of the head that comes next, where the parser does not take it.
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

    /// The request is whole: from here to the end of its answer nobody reads, so the socket is watched for a client
    /// that breaks off.
    pub(crate) fn await_answer(&self) {
        set(&self.awaited, true);
        set(&self.within_body, false);
    }

    pub(crate) fn is_awaited(&self) -> bool {
        get(&self.awaited)
    }

    /// Something stands unread in the socket (the end of what the client sends, or its next request), so that the
    /// system wakes nobody for a reset behind it; the sweep has it looked at.
    pub(crate) fn set_blind(&self, blind: bool) {
        set(&self.blind, blind);
    }

    pub(crate) fn is_blind(&self) -> bool {
        get(&self.blind)
    }

    /// Asks for a look at a socket that is blind.
    pub(crate) fn ask_for_look(&self) {
        set(&self.look, true);
    }

    /// Whether a look was asked for since the last call.
    pub(crate) fn takes_look(&self) -> bool {
        self.look.swap(false, Ordering::Relaxed)
    }

    /// The connection ends with this answer, and the client may still be sending a body that nobody reads.
    pub(crate) fn leaves_unread(&self) {
        set(&self.unread, true);
    }

    pub(crate) fn has_unread(&self) -> bool {
        get(&self.unread)
    }

    pub(crate) fn set_lingering(&self) {
        set(&self.lingering, true);
    }

    /// Whether our side has been closed, so that what the client still sends is thrown away.
    pub(crate) fn is_lingering(&self) -> bool {
        get(&self.lingering)
    }

    /// The socket has become one end of a tunnel: either direction may end before the other.
    pub(crate) fn becomes_tunnel(&self) {
        set(&self.tunnel, true);
    }

    pub(crate) fn is_tunnel(&self) -> bool {
        get(&self.tunnel)
    }
}
