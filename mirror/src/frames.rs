//! Finds the frames in one direction of an HTTP/2 connection.
//!
//! Only their nine-byte headers are read, and nothing is changed: the HTTP/2 library remains the only parser. The
//! caller counts frames and decides how many are too many.

/// Length, kind, flags, stream (RFC 9113 §4.1).
const HEAD_BYTES: usize = 9;
/// The kind of a frame that carries a part of a body.
pub(crate) const DATA: u8 = 0;

/// The position within the current frame.
#[derive(Default)]
pub(crate) struct FrameScanner {
    /// The header of the frame, as far as it has arrived.
    head: [u8; HEAD_BYTES],
    come: usize,
    /// Bytes of the frame's payload that are still to come.
    rest: usize,
    /// Whether that payload is body data.
    data: bool,
}

impl FrameScanner {
    /// For a connection that begins with `preface` bytes before the first frame.
    pub(crate) fn after_preface(preface: usize) -> Self {
        Self {
            rest: preface,
            ..Self::default()
        }
    }

    /// Returns how many frames begin in `bytes`, and how many of the bytes are body data.
    pub(crate) fn count(&mut self, bytes: &[u8]) -> (usize, usize) {
        let mut frames = 0;
        let data = self.pass(bytes, |_, _, _| frames += 1);
        (frames, data)
    }

    /// Calls `begins` with kind, flags and length of each frame that begins in `bytes`; returns how many of the bytes
    /// are body data.
    pub(crate) fn pass(
        &mut self,
        mut bytes: &[u8],
        mut begins: impl FnMut(u8, u8, usize),
    ) -> usize {
        let mut data = 0;
        while !bytes.is_empty() {
            if self.rest > 0 {
                let part = self.rest.min(bytes.len());
                self.rest -= part;
                data += if self.data { part } else { 0 };
                bytes = &bytes[part..];
                continue;
            }
            let part = (HEAD_BYTES - self.come).min(bytes.len());
            self.head[self.come..self.come + part].copy_from_slice(&bytes[..part]);
            self.come += part;
            bytes = &bytes[part..];
            if self.come == HEAD_BYTES {
                let [high, middle, low, kind, flags, ..] = self.head;
                self.come = 0;
                self.rest = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.data = kind == DATA;
                begins(kind, flags, self.rest);
            }
        }
        data
    }

    /// Bytes still to come that are known to be body data.
    pub(crate) fn rest_of_body(&self) -> usize {
        if self.data { self.rest } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).expect("a frame").to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, 0, 0, 0, 0, 1]);
        frame.resize(HEAD_BYTES + payload, 0);
        frame
    }

    #[test]
    fn frames_are_counted_however_they_are_cut() {
        let bytes = [
            frame(4, 0),
            frame(1, 300),
            frame(DATA, 70_000),
            frame(6, 8),
            frame(DATA, 0),
            frame(DATA, 5),
        ]
        .concat();
        for size in [1, 2, 8, 9, 10, 1000, bytes.len()] {
            let mut scan = FrameScanner::default();
            let counted = bytes
                .chunks(size)
                .map(|part| scan.count(part))
                .fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
            assert_eq!(counted, (6, 70_005), "cut every {size} bytes");
            assert_eq!((scan.come, scan.rest), (0, 0));
        }
    }
}
