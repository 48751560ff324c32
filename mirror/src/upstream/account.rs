//! What a service may send for an answer to a shadow, and what of it was of use.
//!
//! Work on a shadow is done by the worker that serves clients. What an answer costs is in proportion to its bytes, if
//! it comes as answers do; a service that sends each byte in a chunk of its own, interim answers for ever, or frames of
//! HTTP/2 that carry nothing, makes a small answer cost thousands of times as much. So everything that arrives is
//! charged to an account, and what the reader of the body gets is credited to it. An account that is overdrawn is
//! closed: the connection breaks, and the answer ends as [`ServiceFault::Flood`](crate::upstream::ServiceFault::Flood).
//!
//! Two things are charged: *pieces* (whatever costs the same however small it is: a read, a write, a chunk, a frame)
//! and *wire bytes* (below TLS). Both have an allowance that no answer needs and a part in proportion to the payload.
//! The allowances are wide, because an honest service must not be given up; what a flood costs up to there is bounded,
//! and done in slices ([`Turns`]).
//!
//! A connection of HTTP/1.1 belongs to one request at a time, and its account begins anew with each. One of HTTP/2 is
//! shared: every request adds an allowance, and all that its streams deliver counts for it.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::limits::{MAX_BUFFER_BYTES, MAX_HEAD_BYTES};
use crate::turns::Turns;

/// Pieces that every answer may have, however small it is. It is far above what a head in small segments, some interim
/// answers and a small body that is flushed after each word take, and costs less than a millisecond.
const PIECES: usize = 2048;
/// Payload that each piece beyond has to carry, on average. Encoders that flush each line of JSON send 50 to 200 bytes
/// in a chunk, which takes three: a read counts for two.
const PAYLOAD_OF_PIECE: usize = 16;
/// A read or write counts for so many: with the wake-up that mostly precedes it, it costs more than a chunk.
const PIECES_OF_CALL: usize = 2;
/// Most that an account can hold, in allowances: what was saved up by good answers is spent by a flood.
const MOST_ALLOWANCES: usize = 2;
/// Bytes of an answer without any payload: its head, as much as it may have, and interim answers before it, or a
/// handshake of TLS.
const WIRE_BYTES: usize = MAX_HEAD_BYTES + 32 * 1024;
/// Bytes that may come for each byte of payload: 16 bytes in a chunk, in a record of TLS of its own, are 43.
const WIRE_OF_PAYLOAD: usize = 3;

/// Bytes that may be unexplained before they are charged to a slice as what they probably are.
const UNEXPLAINED: usize = 16 * 1024;
/// Bytes of interim answers, chunk sizes, trailers or records of TLS that take a step of work.
const BYTES_OF_STEP: usize = 32;
/// The same of payload, which is only moved.
const PAYLOAD_OF_STEP: usize = 1024;
/// A system call, in steps: with the wake-up and the look at what came, 3 µs.
const STEPS_OF_CALL: usize = 10;

/// Most that is read at a time of a head, all of which hyper parses in one go, and of a body whose framing is within
/// it, which it takes apart byte by byte. One less than the size of a buffer, so that hyper does not take a full one
/// for a reason to make them larger: with a thousand shadows in flight, larger ones are as much as half of the byte
/// budget.
const SHORT_READ: usize = 8 * 1024 - 1;

/// The service sent far more than its answer needed.
#[derive(Debug, thiserror::Error)]
#[error("the service sent far more frames or protocol bytes than its answers needed")]
pub(crate) struct Flood;

/// What is being read, which says how costly a byte may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A handshake, or the head of an answer and what comes before it.
    Head,
    /// A body in chunks, or one that ends with the connection.
    Chunked,
    /// A body of a known length.
    Sized,
    /// HTTP/2, whose frames are told apart by [`FrameCounter`](crate::upstream::link::frame_counter::FrameCounter).
    Frames,
}

/// The account of one connection.
pub(crate) struct Account {
    turns: Rc<Turns>,
    phase: Cell<Phase>,
    /// What is left of the pieces, in bytes of payload.
    pieces: Cell<usize>,
    /// What is left of the bytes.
    wire: Cell<usize>,
    /// Most that can be left of them.
    most_wire: Cell<usize>,
    /// Bytes that arrived and have not turned out to be payload.
    unexplained: Cell<usize>,
    flooded: Cell<bool>,
}

impl Account {
    /// The account of a connection that is about to be opened.
    pub(crate) fn open(turns: &Rc<Turns>) -> Rc<Self> {
        Rc::new(Self {
            turns: Rc::clone(turns),
            phase: Cell::new(Phase::Head),
            pieces: Cell::new(PIECES * PAYLOAD_OF_PIECE),
            wire: Cell::new(WIRE_BYTES),
            most_wire: Cell::new(WIRE_BYTES),
            unexplained: Cell::new(0),
            flooded: Cell::new(false),
        })
    }

    /// Slices of the worker.
    pub(crate) fn turns(&self) -> &Rc<Turns> {
        &self.turns
    }

    /// Whether it was overdrawn.
    pub(crate) fn is_flooded(&self) -> bool {
        self.flooded.get()
    }

    // === HTTP/1.1: one request at a time ===

    /// A request with a body of so many bytes goes out.
    pub(crate) fn begin(&self, body: u64) {
        self.phase.set(Phase::Head);
        self.pieces.set(PIECES * PAYLOAD_OF_PIECE);
        self.wire.set(WIRE_BYTES);
        self.most_wire.set(WIRE_BYTES);
        self.unexplained.set(0);
        self.credit(usize::try_from(body).unwrap_or(usize::MAX));
    }

    /// The head of its answer has come. `sized` is whether it says how long the body is.
    pub(crate) fn answered(&self, sized: bool) {
        let (phase, ahead) = if sized {
            (Phase::Sized, MAX_BUFFER_BYTES)
        } else {
            (Phase::Chunked, SHORT_READ)
        };
        self.phase.set(phase);
        self.most_wire.set(WIRE_BYTES + ahead);
        // A body may be read so far ahead of whoever it is for.
        self.wire.set(self.wire.get() + ahead);
        self.unexplained.set(0);
    }

    /// The reader of the body got a chunk.
    pub(crate) fn chunk(&self, bytes: usize) {
        self.credit(bytes);
        self.explain(bytes);
        self.pieces(1);
        self.turns.spend(1);
    }

    // === HTTP/2: many streams ===

    /// The connection is shared; what comes on it may be `ahead` of its readers by so many bytes.
    pub(crate) fn share(&self, ahead: u32) {
        self.phase.set(Phase::Frames);
        let wire = WIRE_BYTES + ahead as usize;
        self.wire.set(wire);
        self.most_wire.set(wire);
    }

    /// A stream with a request of so many bytes is opened.
    pub(crate) fn stream(&self, body: u64) {
        self.pieces
            .set(self.pieces.get() + PIECES * PAYLOAD_OF_PIECE);
        self.wire.set(self.wire.get() + WIRE_BYTES);
        self.credit(usize::try_from(body).unwrap_or(usize::MAX));
    }

    /// So many frames arrived, and so many bytes of bodies in them, whoever they are for.
    pub(crate) fn frames(&self, frames: usize, data: usize) {
        self.explain(data);
        self.pieces(frames);
        self.turns.spend(frames);
    }

    /// A stream's reader got a part of its body.
    pub(crate) fn delivered(&self, bytes: usize) {
        self.credit(bytes);
        self.turns.spend(1);
    }

    // === What passes the socket ===

    /// How many bytes may be read now; an error if there was too much already.
    pub(crate) fn poll_read(&self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.check()?;
        ready!(self.turns.poll_go_on(cx));
        Poll::Ready(Ok(match self.phase.get() {
            Phase::Head | Phase::Chunked => SHORT_READ,
            Phase::Sized | Phase::Frames => usize::MAX,
        }))
    }

    /// So many bytes were read.
    pub(crate) fn read(&self, bytes: usize) -> io::Result<()> {
        let unexplained = self.unexplained.get();
        let mut steps = STEPS_OF_CALL + bytes / PAYLOAD_OF_STEP;
        // Of what has just arrived it is not known yet whether it is payload.
        if unexplained > UNEXPLAINED {
            steps += bytes / BYTES_OF_STEP;
        }
        self.unexplained.set(unexplained + bytes);
        self.turns.spend(steps);
        self.draw(&self.wire, bytes);
        self.pieces(PIECES_OF_CALL);
        self.check()
    }

    /// Something was written.
    pub(crate) fn wrote(&self) -> io::Result<()> {
        self.turns.spend(STEPS_OF_CALL);
        self.pieces(PIECES_OF_CALL);
        self.check()
    }

    /// An error if the account is overdrawn.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_flooded() {
            return Err(io::Error::other(Flood));
        }
        Ok(())
    }

    fn draw(&self, from: &Cell<usize>, amount: usize) {
        if let Some(left) = from.get().checked_sub(amount) {
            from.set(left);
        } else {
            from.set(0);
            self.flooded.set(true);
        }
    }

    fn pieces(&self, count: usize) {
        self.draw(&self.pieces, count.saturating_mul(PAYLOAD_OF_PIECE));
    }

    fn credit(&self, bytes: usize) {
        let pieces = self.pieces.get().saturating_add(bytes);
        self.pieces
            .set(pieces.min(MOST_ALLOWANCES * PIECES * PAYLOAD_OF_PIECE));
        let explained = bytes.saturating_mul(WIRE_OF_PAYLOAD);
        let wire = self.wire.get().saturating_add(explained);
        self.wire.set(wire.min(self.most_wire.get()));
    }

    fn explain(&self, bytes: usize) {
        let explained = bytes.saturating_mul(WIRE_OF_PAYLOAD);
        self.unexplained
            .set(self.unexplained.get().saturating_sub(explained));
    }
}
