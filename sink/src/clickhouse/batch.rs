//! Conversion of records as JSON into rows of the five tables.
//!
//! The input is always a record's JSON: a sink reads it from Kafka, and a mirror that writes directly produces the same
//! bytes. Texts are borrowed from it and copied once. A record that cannot become a row gives a reason and leaves the
//! batch unchanged.

use parity_schemas::record::RecordType;
use parity_schemas::time::Timestamp;

use super::encode::Block;
use super::insert::EncodedRows;
use super::poison::Poison;
use super::rows;

/// Rows of all tables, and which record each came from.
pub(crate) struct Batch {
    now: Timestamp,
    tables: [Building; RecordType::ALL.len()],
}

struct Building {
    block: Block,
    /// For each row, the number that its record was added under.
    sources: Vec<usize>,
}

impl Building {
    fn new(table: RecordType) -> Self {
        Self {
            block: Block::new(table.columns()),
            sources: Vec::new(),
        }
    }

    fn add(
        &mut self,
        table: RecordType,
        json: &[u8],
        source: usize,
        now: Timestamp,
    ) -> Result<(), Poison> {
        match table {
            RecordType::Mismatch => rows::mismatch(&mut self.block, json, now),
            RecordType::Tally => rows::tally(&mut self.block, json, now),
            RecordType::GroupTally => rows::group_tally(&mut self.block, json, now),
            RecordType::SetTally => rows::set_tally(&mut self.block, json, now),
            RecordType::Decision => rows::decision(&mut self.block, json, now),
            RecordType::Terms => rows::terms(&mut self.block, json, now),
            RecordType::Audit => rows::audit(&mut self.block, json, now),
            RecordType::Watermark => rows::watermark(&mut self.block, json, now),
        }?;
        self.sources.push(source);
        Ok(())
    }

    fn into_slice(self, table: RecordType) -> Slice {
        Slice {
            rows: EncodedRows {
                table,
                pieces: self.block.into_pieces(),
            },
            sources: self.sources,
        }
    }
}

/// Rows of one table that are sent together.
pub(crate) struct Slice {
    pub(crate) rows: EncodedRows,
    /// For each row, the number that its record was added under.
    pub(crate) sources: Vec<usize>,
}

impl Batch {
    /// An empty batch. The times of its records are checked against the present time.
    pub(crate) fn new() -> Self {
        Self {
            now: Timestamp::now(),
            tables: RecordType::ALL.map(Building::new),
        }
    }

    /// Adds a record. `source` is a number of the caller's, which identifies the record if its row is refused later.
    pub(crate) fn add(
        &mut self,
        record: RecordType,
        json: &[u8],
        source: usize,
    ) -> Result<(), Poison> {
        let now = self.now;
        self.tables[place(record)].add(record, json, source, now)
    }

    /// Tables with rows, in the order in which they should be inserted.
    pub(crate) fn into_tables(self) -> impl Iterator<Item = Slice> {
        RecordType::ALL
            .into_iter()
            .zip(self.tables)
            .filter(|(_, building)| building.block.rows() > 0)
            .map(|(table, building)| building.into_slice(table))
    }
}

impl Slice {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// A deduplication token: the same if and only if the batch and the rows are the same.
    pub(crate) fn token(&self, name: &str) -> String {
        let first = self.sources.first().copied().unwrap_or_default();
        format!("{name}-{first}+{}", self.sources.len())
    }

    /// Splits it in two. When a server refuses data, it does not say which row is at fault; so the rows are halved
    /// until that row is alone. This is rare, so the records are simply decoded again, by their numbers.
    pub(crate) fn halves<'a>(&self, record: impl Fn(usize) -> &'a [u8]) -> [Self; 2] {
        let table = self.rows.table;
        let (first, second) = self.sources.split_at(self.sources.len() / 2);
        [first, second].map(|sources| {
            let mut building = Building::new(table);
            let now = Timestamp::now();
            for source in sources {
                // It was decoded before, so only the limit on its time can reject it now, if time has passed the limit
                // meanwhile.
                let _read_before = building.add(table, record(*source), *source, now);
            }
            building.into_slice(table)
        })
    }
}

fn place(record: RecordType) -> usize {
    RecordType::ALL
        .iter()
        .position(|known| *known == record)
        .expect("ALL has every type")
}

#[cfg(test)]
mod tests {
    use parity_schemas::record::{Mismatch, Record, RecordedFinding};
    use parity_schemas::tally::{GroupTally, Identity, Tally};
    use parity_schemas::verdict::{Kind, Part};
    use parity_schemas::watermark::Watermark;

    use super::*;

    fn tally(rules_hash: &str) -> Vec<u8> {
        let tally = Tally {
            id: parity_schemas::id::new_id(),
            revision: 1,
            identity: Identity {
                rules_hash: rules_hash.to_owned(),
                ..Identity::default()
            },
            interval_start: Timestamp::now(),
            ..Tally::default()
        };
        serde_json::to_vec(&tally).expect("it is JSON")
    }

    #[test]
    fn halving_ends_at_single_rows_and_loses_none() {
        let records: Vec<Vec<u8>> = (0..7).map(|number| tally(&"x".repeat(number))).collect();
        let mut batch = Batch::new();
        for (number, json) in records.iter().enumerate() {
            batch
                .add(RecordType::Tally, json, number)
                .expect("a record of ours");
        }
        let whole = batch.into_tables().next().expect("one table");
        let (mut slices, mut singles) = (vec![whole], Vec::new());
        while let Some(slice) = slices.pop() {
            if slice.len() > 1 {
                let [first, second] = slice.halves(|number| &records[number]);
                assert_ne!(first.token("t"), second.token("t"));
                slices.extend([second, first]);
            } else {
                let mut alone = Batch::new();
                let number = slice.sources[0];
                alone
                    .add(RecordType::Tally, &records[number], number)
                    .expect("a record of ours");
                let expected = alone.into_tables().next().expect("one table");
                assert_eq!(slice.rows.pieces, expected.rows.pieces);
                singles.push(number);
            }
        }
        assert_eq!(singles, (0..7).collect::<Vec<_>>());
    }

    #[test]
    fn poison_is_told_by_its_reason_and_leaves_nothing() {
        let now = Timestamp::now();
        let mut batch = Batch::new();
        let mut reason = |record, json: &[u8]| {
            batch
                .add(record, json, 0)
                .expect_err("it is poison")
                .reason()
        };
        assert_eq!(reason(RecordType::Mismatch, b"{}"), "malformed");
        assert_eq!(reason(RecordType::Mismatch, b""), "malformed");
        assert_eq!(reason(RecordType::Tally, b"\xff"), "malformed");
        let text = String::from_utf8(tally("x")).expect("UTF-8");
        for time in ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"] {
            let stamp = now.to_string();
            let day = stamp.get(..10).expect("a date");
            let begin = text.find(day).expect("the time stands in it");
            let mut shifted = text.clone();
            shifted.replace_range(begin..begin + time.len(), time);
            assert_eq!(
                reason(RecordType::Tally, shifted.as_bytes()),
                "time_out_of_range"
            );
        }
        assert_eq!(batch.into_tables().count(), 0);
    }

    #[test]
    fn what_a_mirror_writes_is_a_row() {
        let now = Timestamp::now();
        let mismatch = Mismatch {
            time: now,
            findings: vec![RecordedFinding {
                fingerprint: "f00d".to_owned(),
                part: Part::Body,
                path: "/a".to_owned(),
                candidate_path: None,
                pattern: "/a".to_owned(),
                kind: Kind::Value,
                legacy: Some("1".to_owned()),
                candidate: None,
                explanation: None,
                text_diff: None,
            }],
            ..Mismatch::default()
        };
        let group = GroupTally {
            interval_start: now,
            ..GroupTally::default()
        };
        let watermark = Watermark {
            written: now,
            ..Watermark::default()
        };
        let mut batch = Batch::new();
        for record in [
            Record::Mismatch(Box::new(mismatch)),
            Record::GroupTally(Box::new(group)),
            Record::Watermark(Box::new(watermark)),
        ] {
            let mut json = Vec::new();
            record.write_json(&mut json);
            let added = batch.add(record.record_type(), &json, 0);
            assert_eq!(added, Ok(()), "{:?}", record.record_type());
        }
        assert_eq!(batch.into_tables().count(), 3);
    }
}
