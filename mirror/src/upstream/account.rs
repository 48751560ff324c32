//! Limits how much protocol overhead a service may send to shadows, in proportion to useful payload.
//!
//! Shadows run on the threads that serve clients. Normally the CPU cost of an answer is in proportion to its bytes. A
//! service that sends each byte in its own chunk, endless interim answers, or empty HTTP/2 frames makes a small answer
//! cost thousands of times as much. So everything that arrives is charged to an account, and the payload that the
//! reader of the body gets is credited to it. If the account is overdrawn, the connection is closed, and the answer
//! ends as [`ServiceFault::Flood`](crate::upstream::ServiceFault::Flood).
//!
//! Two things are charged: *pieces* (whatever costs the same however small it is: a read, a write, a chunk, a frame)
//! and *wire bytes* (below TLS). Both have a fixed allowance, plus a part in proportion to the payload. The allowances
//! are generous, because an honest service must never exceed them. The cost of a flood up to that point is bounded, and
//! spent in slices ([`Turns`]).
//!
//! An HTTP/1.1 connection carries one request at a time, and its account is reset for each. An HTTP/2 connection is
//! shared: every request adds an allowance, and the payload of all its streams is credited.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::limits::{MAX_BUFFER_BYTES, MAX_HEAD_BYTES};
use crate::turns::Turns;

/// Pieces that every answer may have, however small it is. Far more than a head in small segments, some interim answers
/// and a small body flushed after each word need; it costs less than a millisecond.
const PIECES: usize = 2048;
/// Payload that each further piece must carry, on average. Encoders that flush each line of JSON send 50 to 200 bytes
/// in a chunk, which takes three: a read counts for two.
const PAYLOAD_OF_PIECE: usize = 16;
/// A read or write counts as this many pieces: with the wake-up before it, it costs more than a chunk.
const PIECES_OF_CALL: usize = 2;
/// The maximum balance, in allowances: bounds how much a flood can spend after good answers.
const MOST_ALLOWANCES: usize = 2;
/// Bytes that an answer may take without any payload: a head of the largest size, and interim answers or a TLS
/// handshake before it.
const WIRE_BYTES: usize = MAX_HEAD_BYTES + 32 * 1024;
/// Bytes on the wire allowed for each byte of payload: 16 bytes in one chunk in its own TLS record take 43.
const WIRE_OF_PAYLOAD: usize = 3;

/// Bytes that may arrive without turning into payload before they count as overhead in the slice.
const UNEXPLAINED: usize = 16 * 1024;
/// Bytes of interim answers, chunk sizes, trailers or TLS records that take one step of work.
const BYTES_OF_STEP: usize = 32;
/// Bytes of payload that take one step; payload is only moved.
const PAYLOAD_OF_STEP: usize = 1024;
/// A system call, in steps: with the wake-up and the parsing, 3 µs.
const STEPS_OF_CALL: usize = 10;

/// The largest read of a head, which hyper parses in one go, and of a chunked body, which it parses byte by byte. One
/// less than the buffer size, because hyper enlarges a buffer that was filled: with a thousand shadows in flight,
/// larger buffers take half of the byte budget.
const SHORT_READ: usize = 8 * 1024 - 1;

/// The service sent far more than its answer needed.
#[derive(Debug, thiserror::Error)]
#[error("the service sent far more frames or protocol bytes than its answers needed")]
pub(crate) struct Flood;

/// What is being read, which determines how much work a byte may cost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A handshake, or the head of an answer and what comes before it.
    Head,
    /// A body in chunks, or one that ends with the connection.
    Chunked,
    /// A body of a known length.
    Sized,
    /// HTTP/2, whose frames are counted by [`FrameCounter`](crate::upstream::link::frame_counter::FrameCounter).
    Frames,
}

/// The account of one connection.
pub(crate) struct Account {
    turns: Rc<Turns>,
    phase: Cell<Phase>,
    /// Remaining pieces, in bytes of payload.
    pieces: Cell<usize>,
    /// Remaining bytes on the wire.
    wire: Cell<usize>,
    /// The maximum of `wire`.
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

    /// The worker's scheduler of slices.
    pub(crate) fn turns(&self) -> &Rc<Turns> {
        &self.turns
    }

    /// Whether it was overdrawn.
    pub(crate) fn is_flooded(&self) -> bool {
        self.flooded.get()
    }

    // === HTTP/1.1: one request at a time ===

    /// A request with a body of `body` bytes is sent.
    pub(crate) fn begin(&self, body: u64) {
        self.phase.set(Phase::Head);
        self.pieces.set(PIECES * PAYLOAD_OF_PIECE);
        self.wire.set(WIRE_BYTES);
        self.most_wire.set(WIRE_BYTES);
        self.unexplained.set(0);
        self.credit(usize::try_from(body).unwrap_or(usize::MAX));
    }

    /// The head of its answer has arrived. `sized` is whether it states the length of the body.
    pub(crate) fn answered(&self, sized: bool) {
        let (phase, ahead) = if sized {
            (Phase::Sized, MAX_BUFFER_BYTES)
        } else {
            (Phase::Chunked, SHORT_READ)
        };
        self.phase.set(phase);
        self.most_wire.set(WIRE_BYTES + ahead);
        // The connection may read this far ahead of the reader of the body.
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

    /// The connection is shared by streams; it may read `ahead` bytes ahead of their readers.
    pub(crate) fn share(&self, ahead: u32) {
        self.phase.set(Phase::Frames);
        let wire = WIRE_BYTES + ahead as usize;
        self.wire.set(wire);
        self.most_wire.set(wire);
    }

    /// A stream with a request body of `body` bytes is opened.
    pub(crate) fn stream(&self, body: u64) {
        self.pieces
            .set(self.pieces.get() + PIECES * PAYLOAD_OF_PIECE);
        self.wire.set(self.wire.get() + WIRE_BYTES);
        self.credit(usize::try_from(body).unwrap_or(usize::MAX));
    }

    /// Frames arrived, with `data` bytes of bodies in them, for any stream.
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

    /// Charges a read.
    pub(crate) fn read(&self, bytes: usize) -> io::Result<()> {
        let unexplained = self.unexplained.get();
        let mut steps = STEPS_OF_CALL + bytes / PAYLOAD_OF_STEP;
        // It is not known yet whether the bytes that just arrived are payload.
        if unexplained > UNEXPLAINED {
            steps += bytes / BYTES_OF_STEP;
        }
        self.unexplained.set(unexplained + bytes);
        self.turns.spend(steps);
        self.draw(&self.wire, bytes);
        self.pieces(PIECES_OF_CALL);
        self.check()
    }

    /// Charges a write.
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
