//! The mark of the file.

use super::SqliteReader;
use crate::error::StoreError;
use crate::read::mark::Mark;

impl SqliteReader {
    pub(super) fn read_mark(&self) -> Result<Mark, StoreError> {
        let rows = self.rows(SELECT_MARK, [], "watermarks", |row| {
            Ok((
                row.text(0, "mark")?.to_owned(),
                row.text(1, "open")?.to_owned(),
            ))
        })?;
        Ok(Mark::of(rows))
    }
}

/// One row for each run, and one for mismatches, decisions and changes. Runs are few: one for each start of a process, and each change of
/// its rules.
const SELECT_MARK: &str = "SELECT id || ' ' || tallies || ' ' || received || ' ' || settled || ' ' || in_groups || ' ' || \
     in_sets || ' ' || ended || ' ' || terms, open FROM watermarks UNION ALL SELECT \
     coalesce((SELECT max(rowid) FROM mismatches), 0) || ' ' || coalesce((SELECT max(rowid) FROM decisions), 0) || ' ' || \
     coalesce((SELECT max(rowid) FROM audit), 0), ''";
