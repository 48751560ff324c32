//! Encoding rows as blocks of ClickHouse's `Native` format: column by column, as the server stores them.
//!
//! The server takes such a block almost unchanged, while it parses `RowBinary` value by value: 0.3 µs a row against 2.7
//! µs (and 6 µs for JSON) were measured. The `clickhouse` crate can build blocks from typed columns too, but has no
//! lists of tuples with optional parts; and this code does little more than write lengths.

use bytes::Bytes;
use parity_schemas::table::Column;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

/// Pieces below this are joined: a packet for each would cost more than the copy.
const SMALL: usize = 64 << 10;

/// Rows of one table.
pub(crate) struct Block {
    columns: &'static [Column],
    pieces: Vec<Vec<u8>>,
    rows: usize,
}

impl Block {
    pub(crate) fn new(columns: &'static [Column]) -> Self {
        let count = columns.iter().map(|column| column.pieces).sum();
        Self {
            columns,
            pieces: vec![Vec::new(); count],
            rows: 0,
        }
    }

    /// Adds a row; `write` must write every column, in order.
    pub(crate) fn add(&mut self, write: impl FnOnce(&mut Encoder<'_>)) {
        let mut encoder = Encoder {
            pieces: &mut self.pieces,
            at: 0,
        };
        write(&mut encoder);
        debug_assert_eq!(encoder.at, self.pieces.len(), "a row has every column");
        self.rows += 1;
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes to send, as pieces in order. Large pieces are not joined, because that would copy most of a batch of
    /// bodies once more.
    pub(crate) fn into_pieces(self) -> Vec<Bytes> {
        let mut sent = Vec::with_capacity(self.columns.len() + self.pieces.len());
        let mut head = Vec::new();
        put_length(&mut head, self.columns.len());
        put_length(&mut head, self.rows);
        let mut pieces = self.pieces.into_iter();
        for column in self.columns {
            put_string(&mut head, column.name);
            put_string(&mut head, column.sent);
            for piece in pieces.by_ref().take(column.pieces) {
                if piece.len() < SMALL {
                    head.extend_from_slice(&piece);
                } else {
                    sent.push(Bytes::from(std::mem::take(&mut head)));
                    sent.push(Bytes::from(piece));
                }
            }
        }
        sent.push(Bytes::from(head));
        sent.retain(|piece| !piece.is_empty());
        sent
    }
}

/// Writes the columns of a row in order.
pub(crate) struct Encoder<'a> {
    pieces: &'a mut [Vec<u8>],
    at: usize,
}

impl Encoder<'_> {
    pub(crate) fn string(&mut self, text: &str) {
        put_string(self.next(), text);
    }

    /// `Nullable(String)`: a column of null flags, then a column of texts, empty where null.
    pub(crate) fn optional_string(&mut self, text: Option<&str>) {
        self.next().push(u8::from(text.is_none()));
        put_string(self.next(), text.unwrap_or_default());
    }

    /// `Array(…)` or `Map(…)`: the end offset of each row's elements, then the elements, of `pieces` columns each.
    pub(crate) fn list<T>(
        &mut self,
        pieces: usize,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        let ends = self.next();
        let before = ends
            .last_chunk::<8>()
            .map_or(0, |last| u64::from_le_bytes(*last));
        ends.extend_from_slice(&(before + items.len() as u64).to_le_bytes());
        let first = self.at;
        for item in items {
            self.at = first;
            write(self, item);
            debug_assert_eq!(self.at, first + pieces, "an element has every piece");
        }
        self.at = first + pieces;
    }

    /// As two little-endian halves, the high one first.
    pub(crate) fn uuid(&mut self, id: Uuid) {
        let (high, low) = id.as_u64_pair();
        let piece = self.next();
        piece.extend_from_slice(&high.to_le_bytes());
        piece.extend_from_slice(&low.to_le_bytes());
    }

    /// `DateTime64(6)`.
    pub(crate) fn time(&mut self, time: Timestamp) {
        self.i64(time.as_micros());
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.next().push(u8::from(value));
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.next().push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.next().extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.next().extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.next().extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.next().extend_from_slice(&value.to_le_bytes());
    }

    fn next(&mut self) -> &mut Vec<u8> {
        let piece = &mut self.pieces[self.at];
        self.at += 1;
        piece
    }
}

fn put_string(to: &mut Vec<u8>, text: &str) {
    put_length(to, text.len());
    to.extend_from_slice(text.as_bytes());
}

/// Unsigned LEB128.
fn put_length(to: &mut Vec<u8>, length: usize) {
    let mut rest = length;
    while rest >= 0x80 {
        to.push((rest as u8) | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use parity_schemas::table::{self, Role};

    use super::*;

    const NOTE: Column = Column {
        sent: "Nullable(String)",
        pieces: 2,
        ..Column::new::<table::Text>("note", Role::Fixed, 0)
    };
    const COLUMNS: &[Column] = &[
        Column::new::<table::Id>("id", Role::Key, 0),
        NOTE,
        Column::new::<table::Texts>("tags", Role::Fixed, 0),
    ];

    #[test]
    fn a_block_is_that_of_the_format() {
        let mut block = Block::new(COLUMNS);
        let id = Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
        let tags: [&[&str]; 2] = [&["a", "bc"], &["d"]];
        for (note, tags) in [Some("é"), None].into_iter().zip(tags) {
            block.add(|row| {
                row.uuid(id);
                row.optional_string(note);
                row.list(1, tags.iter(), |row, tag| row.string(tag));
            });
        }
        assert_eq!(block.rows(), 2);
        let half = [0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00];
        let other = [0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88];
        let mut expected = vec![3, 2];
        expected.extend(b"\x02id\x04UUID");
        expected.extend([half, other, half, other].concat());
        expected.extend(b"\x04note\x10Nullable(String)\x00\x01\x02\xc3\xa9\x00");
        expected.extend(
            b"\x04tags\x0dArray(String)\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01a\x02bc\x01d",
        );
        assert_eq!(block.into_pieces().concat(), expected);
    }

    #[test]
    fn lengths_take_seven_bits_a_byte() {
        for (length, expected) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
        ] {
            let mut bytes = Vec::new();
            put_length(&mut bytes, length);
            assert_eq!(bytes, expected);
        }
    }
}
