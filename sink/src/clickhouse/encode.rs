//! Values as ClickHouse's `RowBinary` has them.
//!
//! The `clickhouse` crate would write the same bytes from a struct per row, through serde. A batch keeps the encoded
//! bytes instead of structs: they are written once, while the record is read, and sent as often as it takes.

use parity_schemas::time::Timestamp;
use uuid::Uuid;

/// Rows of one table, one behind the other.
#[derive(Default)]
pub(crate) struct Rows {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
}

impl Rows {
    /// Adds a row, or nothing of it when writing fails.
    pub(crate) fn add<E>(
        &mut self,
        write: impl FnOnce(&mut Encoder<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self.bytes.len();
        match write(&mut Encoder(&mut self.bytes)) {
            Ok(()) => {
                self.ends.push(self.bytes.len());
                Ok(())
            }
            Err(error) => {
                self.bytes.truncate(before);
                Err(error)
            }
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All of it.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Vec<usize>) {
        (self.bytes, self.ends)
    }
}

/// Appends values to a row.
pub(crate) struct Encoder<'a>(&'a mut Vec<u8>);

impl Encoder<'_> {
    pub(crate) fn string(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// `Nullable(String)`.
    pub(crate) fn optional_string(&mut self, text: Option<&str>) {
        match text {
            Some(text) => {
                self.0.push(0);
                self.string(text);
            }
            None => self.0.push(1),
        }
    }

    /// Before the elements of an `Array` or `Map`. Unsigned LEB128.
    pub(crate) fn length(&mut self, length: usize) {
        let mut rest = length;
        while rest >= 0x80 {
            self.0.push((rest as u8) | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    /// As two little-endian halves, the high one first.
    pub(crate) fn uuid(&mut self, id: Uuid) {
        let (high, low) = id.as_u64_pair();
        self.u64(high);
        self.u64(low);
    }

    /// `DateTime64(6)`.
    pub(crate) fn time(&mut self, time: Timestamp) {
        self.i64(time.as_micros());
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(write: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut Encoder(&mut bytes));
        bytes
    }

    #[test]
    fn values_are_those_of_the_format() {
        assert_eq!(encoded(|e| e.length(0)), [0]);
        assert_eq!(encoded(|e| e.length(127)), [127]);
        assert_eq!(encoded(|e| e.length(300)), [0xac, 2]);
        assert_eq!(encoded(|e| e.string("é")), [2, 0xc3, 0xa9]);
        assert_eq!(encoded(|e| e.optional_string(None)), [1]);
        assert_eq!(encoded(|e| e.optional_string(Some(""))), [0, 0]);
        let id = Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
        assert_eq!(
            encoded(|e| e.uuid(id)),
            [
                0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa,
                0x99, 0x88
            ]
        );
    }

    #[test]
    fn a_row_that_fails_leaves_nothing_behind() {
        let mut rows = Rows::default();
        rows.add(|e| {
            e.u16(1);
            Ok::<_, ()>(())
        })
        .expect("it does not fail");
        rows.add(|e| {
            e.u64(2);
            Err(())
        })
        .expect_err("it fails");
        assert_eq!(rows.into_parts(), (vec![1, 0], vec![2]));
    }
}
