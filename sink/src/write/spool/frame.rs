//! One record in a file: length, checksum, and everything needed to send it.
//!
//! ```text
//! u32 length of the rest after the checksum │ u32 CRC-32 of length and rest │ u8 type │ u8 key length │ key │ payload
//! ```
//! Little-endian. The checksum covers the length, so that a torn or flipped length is detected.

use parity_schemas::record::RecordType;

/// Length and checksum.
pub(crate) const HEADER_BYTES: usize = 8;
/// Type and key length.
const INNER_HEADER_BYTES: usize = 2;
/// A longer frame was not written by us: senders limit a record to 900 KiB, and JSON adds a little.
pub(crate) const MAX_BODY_BYTES: usize = 8 << 20;

/// A record as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) record: RecordType,
    pub(crate) key: &'a [u8],
    pub(crate) payload: &'a [u8],
}

/// The decoded header of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrameHeader {
    /// A body of this length with this checksum should follow.
    Body { length: usize, checksum: u32 },
    /// Not a length that we write. The rest of the file cannot be split into frames.
    Invalid,
}

impl Frame<'_> {
    /// Appends it to `to`.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let start = to.len();
        let key = self.key.get(..self.key.len().min(255)).unwrap_or_default();
        let length = INNER_HEADER_BYTES + key.len() + self.payload.len();
        to.extend_from_slice(&(length as u32).to_le_bytes());
        to.extend_from_slice(&[0; 4]);
        to.push(place(self.record));
        to.push(key.len() as u8);
        to.extend_from_slice(key);
        to.extend_from_slice(self.payload);
        let checksum = checksum(
            length as u32,
            to.get(start + HEADER_BYTES..).unwrap_or_default(),
        );
        if let Some(room) = to.get_mut(start + 4..start + HEADER_BYTES) {
            room.copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

/// Reads the first [`HEADER_BYTES`] of a frame.
pub(crate) fn header(bytes: [u8; HEADER_BYTES]) -> FrameHeader {
    let both = u64::from_le_bytes(bytes);
    let (length, checksum) = (both as u32 as usize, (both >> 32) as u32);
    if (INNER_HEADER_BYTES..=MAX_BODY_BYTES).contains(&length) {
        FrameHeader::Body { length, checksum }
    } else {
        FrameHeader::Invalid
    }
}

/// Decodes the body of a frame; `None` if the checksum or the content is wrong.
pub(crate) fn body(bytes: &[u8], expected: u32) -> Option<Frame<'_>> {
    if checksum(u32::try_from(bytes.len()).ok()?, bytes) != expected {
        return None;
    }
    let (head, rest) = bytes.split_at_checked(INNER_HEADER_BYTES)?;
    let [record, key] = head else { return None };
    let record = RecordType::ALL
        .into_iter()
        .find(|known| place(*known) == *record)?;
    let (key, payload) = rest.split_at_checked(usize::from(*key))?;
    Some(Frame {
        record,
        key,
        payload,
    })
}

/// The number of a type in a file. It never changes, because another version of the program may read the file.
const fn place(record: RecordType) -> u8 {
    match record {
        RecordType::Tally => 0,
        RecordType::GroupTally => 1,
        RecordType::Mismatch => 2,
        RecordType::Decision => 3,
        RecordType::Watermark => 4,
        RecordType::SetTally => 5,
        RecordType::Terms => 6,
        RecordType::Audit => 7,
    }
}

fn checksum(length: u32, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(body);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Option<Frame<'_>> {
        let (first, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        match header(*first) {
            FrameHeader::Body { length, checksum } => body(rest.get(..length)?, checksum),
            FrameHeader::Invalid => None,
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_and_a_flipped_bit_is_noticed(
            kind in 0..RecordType::ALL.len(),
            key in prop::collection::vec(any::<u8>(), 0..100),
            payload in prop::collection::vec(any::<u8>(), 0..300),
            flip in any::<prop::sample::Index>(),
            bit in 0..8_u8,
        ) {
            let frame = Frame { record: RecordType::ALL[kind], key: &key, payload: &payload };
            let mut bytes = Vec::new();
            frame.write(&mut bytes);
            prop_assert_eq!(read(&bytes), Some(frame));
            let place = flip.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert_eq!(read(&bytes), None);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _nothing = read(&bytes);
        }
    }
}
