//! Limits HTTP/2 frames from a client that carry nothing for the legacy: `PRIORITY`, `PING`, `SETTINGS`,
//! `WINDOW_UPDATE`, `RST_STREAM`, empty `DATA`, unknown ones.
//!
//! The HTTP/2 library processes all frames that it has read before it yields, and sets no limit on most of these: a
//! client that sends nothing else delayed all others of its worker by milliseconds. So they are counted before the
//! library gets them. A number in proportion to the useful frames is allowed, plus a few per second; a connection that
//! sends more is closed.

use std::time::Instant;

use crate::frames::{DATA, FrameScanner};

const HEADERS: u8 = 1;
const PADDED: u8 = 8;
/// Length of the connection preface, before the first frame.
const PREFACE: usize = 24;

/// Allowed at the start: browsers send some settings and a priority tree.
const AT_FIRST: u32 = 1_000;
/// Allowed for each useful frame, in either direction: a client may acknowledge each piece of an answer twice, send a
/// ping, and change a request's priority. Envoy allows ten `WINDOW_UPDATE` for each frame of `DATA`, too.
const FOR_EACH: u32 = 10;
/// Allowed per second: pings on a connection that is otherwise quiet. Most clients send one every 10 seconds.
const PER_SECOND: u32 = 100;
/// Maximum balance: bounds a flood after normal use to less than a millisecond of work.
const MOST: u32 = 4_000;

/// The client sent far more such frames than its requests need.
#[derive(Debug, thiserror::Error)]
#[error("the client sent too many frames of HTTP/2 that carry nothing")]
pub(super) struct TooMany;

/// Counts the frames of one connection.
pub(super) struct ControlFrames {
    received: FrameScanner,
    sent: FrameScanner,
    left: u32,
    /// When the allowance per second was last added; that is done only when nothing is left.
    refilled: Instant,
}

impl ControlFrames {
    /// For a connection that has not received a byte yet.
    pub(super) fn new() -> Self {
        Self {
            received: FrameScanner::after_preface(PREFACE),
            sent: FrameScanner::default(),
            left: AT_FIRST,
            refilled: Instant::now(),
        }
    }

    /// The client sent these bytes.
    pub(super) fn received(&mut self, bytes: &[u8]) -> Result<(), TooMany> {
        let (mut carry, mut idle) = (0_u32, 0_u32);
        self.received.pass(bytes, |kind, flags, length| {
            if carries(kind, flags, length) {
                carry += 1;
            } else {
                idle += 1;
            }
        });
        self.allow(carry);
        if let Some(left) = self.left.checked_sub(idle) {
            self.left = left;
            return Ok(());
        }
        let passed = self.refilled.elapsed().as_secs_f64() * f64::from(PER_SECOND);
        self.refilled = Instant::now();
        let allowed = self.left + (passed as u32).min(MOST);
        self.left = allowed.checked_sub(idle).ok_or(TooMany)?;
        Ok(())
    }

    /// We sent these bytes.
    pub(super) fn sent(&mut self, bytes: &[u8]) {
        let mut carry = 0;
        self.sent.pass(bytes, |kind, flags, length| {
            carry += u32::from(carries(kind, flags, length));
        });
        self.allow(carry);
    }

    fn allow(&mut self, carry: u32) {
        let more = carry.saturating_mul(FOR_EACH);
        self.left = self.left.saturating_add(more).min(MOST.max(self.left));
    }
}

/// Whether a frame carries a part of a request or of an answer.
fn carries(kind: u8, flags: u8, length: usize) -> bool {
    match kind {
        HEADERS => true,
        // It may be only padding: one byte of length and up to 255 bytes.
        DATA if flags & PADDED != 0 => length > 256,
        DATA => length > 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIORITY: u8 = 2;
    const PING: u8 = 6;
    const WINDOW_UPDATE: u8 = 8;

    fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).expect("a frame").to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags, 0, 0, 0, 1]);
        frame.resize(9 + payload, 0);
        frame
    }

    fn opened() -> ControlFrames {
        let mut frames = ControlFrames::new();
        frames.received(&[0; PREFACE]).expect("no frame yet");
        frames
    }

    /// How many of a frame are taken before the connection is closed.
    fn taken(mut frames: ControlFrames, frame: &[u8]) -> u32 {
        let taken = (0..1_000_000).take_while(|_| frames.received(frame).is_ok());
        u32::try_from(taken.count()).expect("a number")
    }

    #[test]
    fn frames_that_carry_nothing_are_taken_up_to_a_limit() {
        for (name, frame) in [
            ("PRIORITY", frame(PRIORITY, 0, 5)),
            ("PING", frame(PING, 0, 8)),
            ("SETTINGS", frame(4, 0, 0)),
            ("WINDOW_UPDATE", frame(WINDOW_UPDATE, 0, 4)),
            ("RST_STREAM", frame(3, 0, 4)),
            ("unknown", frame(0xbe, 0, 1)),
            ("empty DATA", frame(DATA, 0, 0)),
            ("DATA of padding", frame(DATA, PADDED, 201)),
        ] {
            let count = taken(opened(), &frame);
            // Some more are allowed for the time that this takes.
            assert!(
                (AT_FIRST..=AT_FIRST + MOST).contains(&count),
                "{name}: {count}"
            );
        }
        let mut saved = opened();
        for _ in 0..10_000 {
            saved.received(&frame(HEADERS, 0, 20)).expect("requests");
        }
        let count = taken(saved, &frame(PRIORITY, 0, 5));
        assert!((MOST..=2 * MOST).contains(&count), "{count}");
    }

    #[test]
    fn clients_that_mean_well_may_go_on_for_ever() {
        let mut frames = opened();
        for _ in 0..20_000 {
            // A request with its priorities, an upload in small pieces, and an answer that is acknowledged piece by
            // piece.
            for bytes in [
                frame(HEADERS, 4, 40),
                frame(PRIORITY, 0, 5).repeat(5),
                frame(DATA, 0, 1).repeat(3),
            ] {
                frames.received(&bytes).expect("a client that means well");
            }
            for _ in 0..5 {
                frames.sent(&frame(DATA, 0, 1));
                let answers = [frame(WINDOW_UPDATE, 0, 4).repeat(2), frame(PING, 0, 8)];
                frames.received(&answers.concat()).expect("acknowledged");
            }
        }
    }
}
