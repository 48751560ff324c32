//! The values of one row.

use std::path::Path;
use std::str::FromStr;

use parity_schemas::time::Timestamp;
use rusqlite::Row;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::sqlite::failed;

/// A row whose values are read by what they must be; errors name the column and the value.
pub(super) struct Fields<'a> {
    row: &'a Row<'a>,
    table: &'static str,
    path: &'a Path,
}

impl<'a> Fields<'a> {
    pub(super) fn new(row: &'a Row<'a>, table: &'static str, path: &'a Path) -> Self {
        Self { row, table, path }
    }
}

impl Fields<'_> {
    pub(super) fn optional_text(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<Option<&str>, StoreError> {
        let value = self
            .row
            .get_ref(index)
            .map_err(|error| failed("read", self.path, error))?;
        value
            .as_str_or_null()
            .map_err(|_| StoreError::value(self.table, column, &format!("{value:?}")))
    }

    pub(super) fn text(&self, index: usize, column: &'static str) -> Result<&str, StoreError> {
        self.optional_text(index, column)?
            .ok_or_else(|| StoreError::value(self.table, column, "NULL"))
    }

    pub(super) fn integer(&self, index: usize, column: &'static str) -> Result<i64, StoreError> {
        let value = self
            .row
            .get_ref(index)
            .map_err(|error| failed("read", self.path, error))?;
        value
            .as_i64()
            .map_err(|_| StoreError::value(self.table, column, &format!("{value:?}")))
    }

    pub(super) fn optional_integer(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<Option<i64>, StoreError> {
        let value = self
            .row
            .get_ref(index)
            .map_err(|error| failed("read", self.path, error))?;
        value
            .as_i64_or_null()
            .map_err(|_| StoreError::value(self.table, column, &format!("{value:?}")))
    }

    pub(super) fn number<T: TryFrom<i64>>(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<T, StoreError> {
        let value = self.integer(index, column)?;
        T::try_from(value).map_err(|_| StoreError::value(self.table, column, &value.to_string()))
    }

    pub(super) fn count(&self, index: usize, column: &'static str) -> Result<u64, StoreError> {
        self.number(index, column)
    }

    pub(super) fn time(&self, index: usize, column: &'static str) -> Result<Timestamp, StoreError> {
        self.integer(index, column).map(Timestamp::from_micros)
    }

    pub(super) fn word<T: FromStr>(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<T, StoreError> {
        parse(self.table, column, self.text(index, column)?)
    }

    pub(super) fn optional_word<T: FromStr>(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<Option<T>, StoreError> {
        self.optional_text(index, column)?
            .map(|word| parse(self.table, column, word))
            .transpose()
    }

    /// A value in a compact text of its own.
    pub(super) fn read<T>(
        &self,
        index: usize,
        column: &'static str,
        from_text: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text = self.text(index, column)?;
        from_text(text).ok_or_else(|| StoreError::value(self.table, column, text))
    }

    pub(super) fn json<T: DeserializeOwned>(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<T, StoreError> {
        from_json(self.table, column, self.text(index, column)?)
    }

    pub(super) fn optional_json<T: DeserializeOwned>(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<Option<T>, StoreError> {
        self.optional_text(index, column)?
            .map(|text| from_json(self.table, column, text))
            .transpose()
    }
}

fn parse<T: FromStr>(
    table: &'static str,
    column: &'static str,
    word: &str,
) -> Result<T, StoreError> {
    word.parse()
        .map_err(|_| StoreError::value(table, column, word))
}

fn from_json<T: DeserializeOwned>(
    table: &'static str,
    column: &'static str,
    text: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::value(table, column, text))
}
