//! The framing of gRPC over HTTP/2: a byte of flags, four bytes of length, the message.
//!
//! Messages are only counted: a call with one message in each direction is compared, any other counts as a `stream`.

use bytes::Bytes;

/// Flags and length before each message.
const PREFIX: usize = 5;

/// Counts messages in a body that is read in pieces.
#[derive(Default)]
pub(crate) struct MessageCounter {
    begun: u64,
    prefix: [u8; PREFIX],
    /// Bytes of `prefix` received so far.
    known: usize,
    /// Bytes of the message that are still to come.
    left: u64,
}

impl MessageCounter {
    /// Takes more bytes; returns how many messages have begun.
    pub(crate) fn count(&mut self, chunk: &Bytes) -> u64 {
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            if self.left > 0 {
                let skipped = rest
                    .len()
                    .min(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= skipped as u64;
                rest = &rest[skipped..];
                continue;
            }
            if self.known == 0 {
                self.begun += 1;
            }
            let taken = rest.len().min(PREFIX - self.known);
            self.prefix[self.known..self.known + taken].copy_from_slice(&rest[..taken]);
            self.known += taken;
            rest = &rest[taken..];
            if self.known == PREFIX {
                let [_, a, b, c, d] = self.prefix;
                self.left = u64::from(u32::from_be_bytes([a, b, c, d]));
                self.known = 0;
            }
        }
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_however_they_are_cut() {
        let one = [0, 0, 0, 0, 3, b'a', b'b', b'c'];
        let empty = [0, 0, 0, 0, 0];
        let all = [&one[..], &empty, &one, &empty].concat();
        for size in 1..=all.len() {
            let mut messages = MessageCounter::default();
            let mut seen = 0;
            for chunk in all.chunks(size) {
                seen = messages.count(&Bytes::copy_from_slice(chunk));
            }
            assert_eq!(seen, 4, "by {size}");
        }
        assert_eq!(
            MessageCounter::default().count(&Bytes::copy_from_slice(&one)),
            1
        );
        assert_eq!(MessageCounter::default().count(&Bytes::new()), 0);
    }
}
