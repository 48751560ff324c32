//! Inserting encoded rows, so that a repeated insert changes nothing.
//!
//! The server answers only when the rows are stored, also on a cluster (`distributed_foreground_insert`): with a weaker
//! acknowledgement, the offsets of a batch could be committed before its rows are stored. A token identifies the batch,
//! so that the server drops a repeat within the deduplication window of the table at once; an older repeat is
//! deduplicated by id.

use std::time::Duration;

use bytes::Bytes;
use parity_schemas::record::RecordType;

use super::{Fault, Server, within};

/// Bytes passed to the connection at a time: large enough for few calls, small enough that the server reads while we
/// send.
const CHUNK_BYTES: usize = 1 << 20;
/// An insert of a full batch takes a second on a busy server. After this long the connection is considered dead.
/// Whether the server stored the rows does not matter, because they are sent again with the same token.
const INSERT_TIMEOUT: Duration = Duration::from_mins(1);

/// How the server is to store rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As a separate part, and only once for all inserts with this token.
    Whole(String),
    /// Combined with the rows of other writers, and answered when they are stored. For many writers of few rows each,
    /// which would otherwise create more parts than the server can merge.
    Gathered,
}

/// Encoded rows of one table, which can be sent repeatedly. Cloning copies no bytes.
#[derive(Clone)]
pub(crate) struct EncodedRows {
    pub(crate) table: RecordType,
    pub(crate) pieces: Vec<Bytes>,
}

impl Server {
    /// Stores rows; when it returns without an error, they are stored.
    pub(crate) async fn insert(&self, rows: &EncodedRows, mode: &Mode) -> Result<(), Fault> {
        let table = rows.table;
        let names: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
        let sql = format!(
            "INSERT INTO {} ({}) FORMAT Native",
            table.table(),
            names.join(", ")
        );
        let mut insert = self
            .client()
            .insert_formatted_with(sql)
            .with_setting("distributed_foreground_insert", "1");
        insert = match mode {
            Mode::Whole(token) => insert
                .with_setting("async_insert", "0")
                // Duplicates within a batch are removed by merges and FINAL, like all others. Removing them during the
                // insert took half of its time.
                .with_setting("optimize_on_insert", "0")
                .with_setting("insert_deduplicate", "1")
                .with_setting("insert_deduplication_token", token),
            Mode::Gathered => insert
                .with_setting("async_insert", "1")
                .with_setting("wait_for_async_insert", "1"),
        };
        within(INSERT_TIMEOUT, async {
            for piece in &rows.pieces {
                let mut rest = piece.clone();
                while !rest.is_empty() {
                    let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
                    insert.send(chunk).await?;
                }
            }
            insert.end().await
        })
        .await
    }
}
