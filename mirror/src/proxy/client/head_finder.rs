//! Finds where request heads begin in the bytes of an HTTP/1 client.
//!
//! Only hyper interprets the framing of requests, and reports it when it has parsed a head; a second interpretation
//! would allow request smuggling. So this only decides whether the next byte is certainly the first one of a head. It
//! relies on three facts: hyper does not read ahead of the current request, it reads for a head only when its buffer
//! has no complete one, and a body has the length that hyper reports. If that is not enough to be certain, bytes pass
//! unchanged.

use crate::limits::MAX_HEAD_BYTES;
use crate::proxy::socket_state::Announced;
use crate::spelling::Spelling;

/// The longest first line that is searched: hyper's limit for a whole head.
pub(super) const MAX_LINE: usize = MAX_HEAD_BYTES;
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// What is known about the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextByte {
    Head,
    /// hyper got a head, and this many bytes after it, if that is known.
    Behind(Option<u64>),
    /// This many bytes of a body, and then a head.
    Body(u64),
    Unknown,
}

/// Finds the heads of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadFinder {
    next: NextByte,
    /// The last bytes that hyper got.
    tail: [u8; 4],
}

impl HeadFinder {
    pub(super) fn new() -> Self {
        Self {
            next: NextByte::Head,
            tail: [0; 4],
        }
    }

    /// hyper reads more. `announced` is what it reported about a head since the last call; `within` is whether the body
    /// of the current request is incomplete.
    pub(super) fn asked(&mut self, announced: Option<Announced>, within: bool) {
        if let (NextByte::Behind(extra), Some(announced)) = (self.next, announced) {
            let bytes = match announced {
                Announced::Nothing => Some(0),
                Announced::Bytes(bytes) => Some(bytes),
                Announced::Unknown => None,
            };
            let left = bytes
                .zip(extra)
                .and_then(|(bytes, extra)| bytes.checked_sub(extra));
            self.next = left.map_or(NextByte::Unknown, NextByte::Body);
        }
        match self.next {
            NextByte::Body(0) => self.next = NextByte::Head,
            // An incomplete head cannot end with an empty line, so hyper has used all bytes that it got.
            NextByte::Behind(_) | NextByte::Unknown if !within && self.tail == BLANK_LINE => {
                self.next = NextByte::Head;
            }
            _ => {}
        }
    }

    /// Whether the next byte is the first one of a head, or of an empty line before it.
    pub(super) fn begins(&self) -> bool {
        self.next == NextByte::Head
    }

    /// Records the bytes that hyper gets, and replaces bytes that a target must not contain. If a head begins, its
    /// first line must be complete.
    pub(super) fn pass(&mut self, bytes: &mut [u8]) -> Option<Spelling> {
        let spelling = match self.next {
            NextByte::Head => self.head(bytes),
            NextByte::Body(left) => {
                let more = bytes.len() as u64;
                self.next = left
                    .checked_sub(more)
                    .map_or(NextByte::Unknown, NextByte::Body);
                None
            }
            NextByte::Behind(_) | NextByte::Unknown => {
                self.next = NextByte::Unknown;
                None
            }
        };
        let kept = bytes.len().min(self.tail.len());
        self.tail.rotate_left(kept);
        let (_, last) = self.tail.split_at_mut(4 - kept);
        last.copy_from_slice(&bytes[bytes.len() - kept..]);
        spelling
    }

    fn head(&mut self, bytes: &mut [u8]) -> Option<Spelling> {
        let empty = bytes
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        let bytes = bytes.get_mut(empty..)?;
        if bytes.is_empty() {
            return None;
        }
        let line = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
        let spelling = Spelling::take(&mut bytes[..line]);
        // GET and HEAD almost never have a body, so bytes that end with an empty line are exactly a head.
        let is_all = matches!(bytes[0], b'G' | b'H') && bytes.ends_with(BLANK_LINE);
        let end = || memchr::memmem::find(bytes, BLANK_LINE).map(|at| at + BLANK_LINE.len());
        self.next = if is_all {
            NextByte::Behind(None)
        } else {
            NextByte::Behind(end().map(|end| (bytes.len() - end) as u64))
        };
        spelling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &[u8] = b"GET /a?\"\" HTTP/1.1\r\nhost: h\r\n\r\n";

    fn pass(heads: &mut HeadFinder, bytes: &[u8]) -> bool {
        heads.pass(&mut bytes.to_vec()).is_some()
    }

    #[test]
    fn heads_in_a_row_are_found() {
        let mut heads = HeadFinder::new();
        for _ in 0..3 {
            assert!(pass(&mut heads, GET));
            heads.asked(Some(Announced::Nothing), false);
        }
    }

    #[test]
    fn a_head_is_found_behind_a_body_wherever_that_is_cut() {
        let head = b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n";
        for cut in 0..=9 {
            let mut heads = HeadFinder::new();
            let body = b"\r\n\r\n\r\nxyz";
            assert!(!pass(&mut heads, &[head, &body[..cut]].concat()));
            heads.asked(Some(Announced::Bytes(9)), cut < 9);
            if cut < 9 {
                assert!(!heads.begins(), "{cut}");
                assert!(!pass(&mut heads, &body[cut..]));
                heads.asked(None, false);
            }
            assert!(pass(&mut heads, GET), "{cut}");
        }
    }

    #[test]
    fn a_head_is_found_behind_chunks() {
        let mut heads = HeadFinder::new();
        assert!(!pass(
            &mut heads,
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
        ));
        heads.asked(Some(Announced::Unknown), true);
        // Looks like the end of a head, and is within the body.
        assert!(!pass(&mut heads, b"20\r\n\r\n\r\n"));
        heads.asked(None, true);
        assert!(!pass(&mut heads, GET));
        heads.asked(None, true);
        assert!(!pass(&mut heads, b"\r\n0\r\n\r\n"));
        heads.asked(None, false);
        assert!(pass(&mut heads, GET));
    }

    #[test]
    fn what_looks_like_a_head_within_a_body_is_not_touched() {
        let mut heads = HeadFinder::new();
        let head = b"POST / HTTP/1.1\r\ncontent-length: 1000\r\n\r\n";
        assert!(!pass(&mut heads, head));
        heads.asked(Some(Announced::Bytes(1000)), true);
        for _ in 0..3 {
            assert!(!pass(&mut heads, GET));
            heads.asked(None, true);
        }
    }

    #[test]
    fn where_it_is_not_certain_nothing_is_touched() {
        // Two heads at once, and half of a third one.
        let mut heads = HeadFinder::new();
        let plain = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n";
        assert!(!pass(
            &mut heads,
            &[plain, &plain[..], b"GET / HTTP/1.1\r\nx: "].concat()
        ));
        heads.asked(Some(Announced::Nothing), false);
        heads.asked(Some(Announced::Nothing), false);
        assert!(!pass(&mut heads, GET));
        // What comes behind the end of that head is certain again.
        heads.asked(Some(Announced::Nothing), false);
        assert!(pass(&mut heads, GET));
    }
}
