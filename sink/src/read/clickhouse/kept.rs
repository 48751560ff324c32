//! Rows that were read, for as long as what is in their tables is the same.
//!
//! Who follows a link asks what the page before has asked: which versions there are, what ran when, under which rules, the last day of
//! a route. The rows of a question are the same while the parts of its tables are ([`parts`](super::parts)), so a process that serves
//! pages keeps them, by the text of the question. What is written in the meantime makes other parts, and is read.
//!
//! Where the parts are not known, nothing is kept: on a cluster, and for a command that asks once.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use clickhouse::query::Query;
use clickhouse::{RowOwned, RowRead};
use parity_schemas::clickhouse::VERSION_TABLE;
use parity_schemas::record::RecordType;

use super::ClickHouseReader;
use crate::clickhouse::schema;
use crate::error::StoreError;

/// What is kept in all, as it came from the server: the answers of some hundred pages. As rows in memory it is about three times as much,
/// because a short text and a count of a map have a place of their own there.
const MAX_BYTES: usize = 16 << 20;
/// A larger answer is an export, or all of something: it is asked once.
const MAX_ANSWER_BYTES: usize = 2 << 20;
/// Most answers, however small they are.
const MAX_ANSWERS: usize = 2_048;
/// What an answer takes besides its rows and the text of its question.
const OF_AN_ANSWER: usize = 256;

/// The rows of one question.
struct Answer {
    /// What was in its tables.
    contents: u64,
    rows: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    used: u64,
}

/// The rows that a process keeps of one store.
#[derive(Default)]
pub(super) struct KeptRows(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_question: HashMap<String, Answer>,
    bytes: usize,
    uses: u64,
    /// The tables that were found to be those of this program.
    checked: Option<u64>,
}

impl KeptRows {
    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        // Each answer is put in and taken out as a whole, so a panic leaves nothing half done.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn find<T: Send + Sync + 'static>(&self, question: &str, contents: u64) -> Option<Arc<Vec<T>>> {
        self.with(|kept| {
            kept.uses += 1;
            let answer = kept.by_question.get_mut(question)?;
            answer.used = kept.uses;
            let rows = Arc::clone(&answer.rows);
            (answer.contents == contents).then(|| rows.downcast().ok())?
        })
    }

    fn keep<T: Send + Sync + 'static>(
        &self,
        question: String,
        contents: u64,
        rows: &Arc<Vec<T>>,
        bytes: usize,
    ) {
        let bytes = bytes + question.len() + OF_AN_ANSWER;
        self.with(|kept| {
            kept.uses += 1;
            let answer = Answer {
                contents,
                rows: Arc::<Vec<T>>::clone(rows),
                bytes,
                used: kept.uses,
            };
            kept.bytes += bytes;
            if let Some(before) = kept.by_question.insert(question, answer) {
                kept.bytes -= before.bytes;
            }
            while kept.bytes > MAX_BYTES || kept.by_question.len() > MAX_ANSWERS {
                let each = kept.by_question.iter();
                let oldest = each.min_by_key(|(_, answer)| answer.used);
                let Some(oldest) = oldest.map(|(question, _)| question.clone()) else {
                    return;
                };
                if let Some(gone) = kept.by_question.remove(&oldest) {
                    kept.bytes -= gone.bytes;
                }
            }
        });
    }
}

impl ClickHouseReader {
    /// All rows of a question on these tables, which has few, and which is answered the same while they are the same.
    pub(super) fn kept<T>(
        &self,
        tables: &[RecordType],
        question: Query,
    ) -> Result<Arc<Vec<T>>, StoreError>
    where
        T: RowOwned + RowRead + Send + Sync + 'static,
    {
        let tables: Vec<&str> = tables.iter().map(|table| table.table()).collect();
        let contents = match &self.kept {
            Some(kept) => self
                .contents(&tables)?
                .map(|contents| (Arc::clone(kept), contents)),
            None => None,
        };
        let Some((kept, contents)) = contents else {
            return Ok(Arc::new(self.ask(question)?));
        };
        let text = question.sql_display().to_string();
        if let Some(rows) = kept.find(&text, contents) {
            return Ok(rows);
        }
        let mut rows = Vec::new();
        let bytes = self.each(question, |row| {
            rows.push(row);
            Ok(())
        })?;
        let rows = Arc::new(rows);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if bytes <= MAX_ANSWER_BYTES {
            kept.keep(text, contents, &rows, bytes);
        }
        Ok(rows)
    }

    /// Checks that the tables are those of this program, if they may have become others.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let check = || self.runtime.block_on(schema::check(&self.server));
        let Some(kept) = &self.kept else {
            return check();
        };
        let now = self.tables_with(VERSION_TABLE)?;
        if now.is_some() && kept.with(|kept| kept.checked) == now {
            return Ok(());
        }
        check()?;
        kept.with(|kept| kept.checked = now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_while_the_contents_are_the_same_and_the_oldest_go_first() {
        let kept = KeptRows::default();
        let rows = Arc::new(vec![1_u32, 2]);
        kept.keep("a".to_owned(), 7, &rows, 1_000);
        assert_eq!(kept.find::<u32>("a", 7), Some(Arc::clone(&rows)));
        assert_eq!(kept.find::<u32>("a", 8), None);
        assert_eq!(kept.find::<u32>("b", 7), None);
        // Rows of another kind are no answer.
        assert_eq!(kept.find::<u64>("a", 7), None);
        kept.keep("a".to_owned(), 8, &Arc::new(vec![3_u32]), 1_000);
        assert_eq!(kept.find::<u32>("a", 7), None);
        assert_eq!(kept.find::<u32>("a", 8), Some(Arc::new(vec![3])));
        let large = MAX_BYTES / 3 - 1_000;
        for question in ["b", "c", "d"] {
            kept.keep(question.to_owned(), 1, &rows, large);
            assert!(kept.find::<u32>("b", 1).is_some());
        }
        kept.keep("e".to_owned(), 1, &rows, large);
        let found = ["a", "b", "c", "d", "e"]
            .map(|question| kept.with(|kept| kept.by_question.contains_key(question)));
        assert_eq!(found, [false, true, false, true, true]);
        assert!(kept.with(|kept| kept.bytes) <= MAX_BYTES);
        for number in 0..2 * MAX_ANSWERS {
            kept.keep(number.to_string(), 1, &rows, 1);
        }
        assert_eq!(kept.with(|kept| kept.by_question.len()), MAX_ANSWERS);
        let bytes = kept.with(|kept| {
            let each = kept.by_question.values();
            (kept.bytes, each.map(|answer| answer.bytes).sum::<usize>())
        });
        assert_eq!(bytes.0, bytes.1);
    }
}
