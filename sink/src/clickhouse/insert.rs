//! Inserting encoded rows, so that a repeated insert changes nothing.
//!
//! The server is done with an insert when it answers, also on a cluster (`distributed_foreground_insert`): an
//! acknowledgement that means less would let a batch be committed that is nowhere yet. A token names the batch, so that
//! a repeat within the window of the table is dropped before it costs anything; one beyond falls to the id.

use std::time::Duration;

use bytes::Bytes;
use parity_schemas::record::RecordType;

use super::{Fault, Server, within};

/// Bytes handed to the connection at once: large enough to cost few calls, small enough that the server reads while we
/// send.
const CHUNK_BYTES: usize = 1 << 20;
/// An insert of a full batch takes a second on a busy server. Beyond this the connection is as good as dead; whether
/// the server took the rows does not matter, since they are sent again under the same token.
const INSERT_TIMEOUT: Duration = Duration::from_mins(1);

/// How rows are to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As a part of its own, once for all inserts with this token.
    Whole(String),
    /// Together with those of other writers, when the server sees fit; answered when they are stored. For many writers
    /// of few rows each, who would otherwise make more parts than the server can merge.
    Gathered,
}

/// Encoded rows of one table, ready to be sent as often as it takes. Cloning copies nothing.
#[derive(Clone)]
pub(crate) struct EncodedRows {
    pub(crate) table: RecordType,
    pub(crate) pieces: Vec<Bytes>,
}

impl Server {
    /// Stores rows; when it returns, they are.
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
                // What is double within a batch is made one by merges and by FINAL like everything else that is; looking
                // for it at once took the server half of an insert.
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
