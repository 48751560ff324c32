//! The framing of gRPC: a byte of flags, four bytes of length, the message. gRPC-Web has the same, with a last frame for the
//! trailers, and in one of its forms all of it in base64.
//!
//! Messages are only counted: a call with one message in each direction is compared, any other counts as a `stream`.

use http::HeaderMap;

use crate::headers;

/// Flags and length before each message.
const PREFIX: usize = 5;
/// The flag of a frame that has trailers.
const TRAILERS: u8 = 0x80;
/// Characters of base64 that stand for three bytes.
const QUAD: usize = 4;

/// Counts messages in a body that is read in pieces.
#[derive(Default)]
pub(crate) struct MessageCounter {
    begun: u64,
    prefix: [u8; PREFIX],
    /// Bytes of `prefix` received so far.
    known: usize,
    /// Bytes of the message that are still to come.
    left: u64,
    /// The last characters of a body in base64.
    base64: Option<Quad>,
}

/// Characters of base64 that are not yet bytes.
#[derive(Default)]
struct Quad {
    bits: u32,
    characters: usize,
    padding: usize,
}

impl MessageCounter {
    /// For an answer with these header fields, if it is gRPC or gRPC-Web.
    pub(crate) fn of_answer(headers: &HeaderMap) -> Option<Self> {
        let is_text = headers::is_grpc_web_text(headers);
        let counts = is_text || headers::is_grpc(headers) || headers::is_grpc_web(headers);
        counts.then(|| Self {
            base64: is_text.then(Quad::default),
            ..Self::default()
        })
    }

    /// Takes more bytes; returns how many messages have begun.
    pub(crate) fn count(&mut self, chunk: &[u8]) -> u64 {
        let Some(mut quad) = self.base64.take() else {
            return self.count_bytes(chunk);
        };
        for character in chunk {
            if let Some((bytes, length)) = quad.take(*character) {
                self.count_bytes(&bytes[..length]);
            }
        }
        self.base64 = Some(quad);
        self.begun
    }

    fn count_bytes(&mut self, mut rest: &[u8]) -> u64 {
        while !rest.is_empty() {
            if self.left > 0 {
                let skipped = rest
                    .len()
                    .min(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= skipped as u64;
                rest = &rest[skipped..];
                continue;
            }
            if self.known == 0 && rest[0] & TRAILERS == 0 {
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

impl Quad {
    /// Takes one more character; returns up to three bytes with the fourth one. What is no base64 is skipped: whether an
    /// answer is valid is decided when it is compared.
    fn take(&mut self, character: u8) -> Option<([u8; 3], usize)> {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => 0,
            _ => return None,
        };
        self.bits = self.bits << 6 | u32::from(value);
        self.characters += 1;
        self.padding += usize::from(character == b'=');
        if self.characters < QUAD {
            return None;
        }
        let Self { bits, padding, .. } = std::mem::take(self);
        let [_, a, b, c] = bits.to_be_bytes();
        Some(([a, b, c], 3 - padding.min(3)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_are_no_message_and_base64_may_be_padded_anywhere() {
        // Frames of a message of three bytes and of trailers, the last two encoded on their own.
        let binary = b"\0\0\0\0\x03abc\x80\0\0\0\x0dgrpc-status:0";
        let text = b"AAAAAANhYmM=AAAAAAFhgAAAAA1ncnBjLXN0YXR1czow";
        for (media, body, expected) in [
            ("application/grpc-web", &binary[..], 1),
            ("application/grpc-web+proto", binary, 1),
            ("application/grpc-web-text", text, 2),
            ("application/grpc-web-text", b"\xff\0A=AAAAAA!", 1),
        ] {
            let mut headers = HeaderMap::new();
            let media = media.parse().expect("a value");
            headers.insert(http::header::CONTENT_TYPE, media);
            for size in 1..=body.len() {
                let mut messages = MessageCounter::of_answer(&headers).expect("a call");
                let counts = body.chunks(size).map(|chunk| messages.count(chunk));
                assert_eq!(counts.last(), Some(expected), "{body:?} by {size}");
            }
        }
        assert!(MessageCounter::of_answer(&HeaderMap::new()).is_none());
    }

    #[test]
    fn messages_are_counted_however_they_are_cut() {
        let one = [0, 0, 0, 0, 3, b'a', b'b', b'c'];
        let empty = [0, 0, 0, 0, 0];
        let all = [&one[..], &empty, &one, &empty].concat();
        for size in 1..=all.len() {
            let mut messages = MessageCounter::default();
            let mut seen = 0;
            for chunk in all.chunks(size) {
                seen = messages.count(chunk);
            }
            assert_eq!(seen, 4, "by {size}");
        }
        assert_eq!(MessageCounter::default().count(&one), 1);
        assert_eq!(MessageCounter::default().count(&[]), 0);
    }
}
