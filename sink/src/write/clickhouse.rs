//! Writing batches directly to `ClickHouse`, without Kafka.
//!
//! For one mirror or a few: records wait in memory only, within the limits of the queue. The server combines the
//! inserts of several mirrors into one part (`async_insert`, answered after the part is stored), because four inserts a
//! second from each mirror would create more parts than it can merge well. Repeated rows are deduplicated by id.

use parity_schemas::record::{Record, RecordType};
use tokio::runtime::Runtime;

use super::batch_store::{BatchStore, Written};
use super::queue::Queued;
use super::retention::Step;
use crate::clickhouse::batch::{Batch, Slice};
use crate::clickhouse::insert::Mode;
use crate::clickhouse::{Class, Fault, Server, schema};
use crate::error::StoreError;
use crate::retention::Retention;
use crate::runtime::runtime;
use crate::store::StoreConfig;
use crate::tally::Snapshot;

/// A database, held by the writer thread.
pub(super) struct ClickHouseStore {
    server: Server,
    runtime: Runtime,
}

impl ClickHouseStore {
    /// The tables must exist: a mirror does not create them, because it should not need the rights for that.
    pub(super) fn open(store: &StoreConfig) -> Result<Self, StoreError> {
        let server = Server::of(store)?;
        let runtime = runtime()?;
        runtime.block_on(schema::check(&server))?;
        Ok(Self { server, runtime })
    }

    /// Inserts rows of a table. If the server refuses the data, the rows at fault are found by halving.
    fn insert(
        &self,
        slice: &Slice,
        records: &[Vec<u8>],
        written: &mut Written,
    ) -> Result<(), Fault> {
        let inserted = self
            .runtime
            .block_on(self.server.insert(&slice.rows, &Mode::Gathered));
        match inserted {
            Ok(()) if slice.rows.table == RecordType::Watermark => {}
            Ok(()) => written.rows += slice.len(),
            Err(fault) if fault.class == Class::Data && slice.len() > 1 => {
                let record = |number: usize| records.get(number).map_or(&[][..], Vec::as_slice);
                for half in slice.halves(record) {
                    self.insert(&half, records, written)?;
                }
            }
            Err(fault) if fault.class == Class::Data => {
                tracing::error!(error = %fault, table = slice.rows.table.table(), "the store refused a record");
                written.rejected.extend(&slice.sources);
            }
            Err(fault) => return Err(fault),
        }
        Ok(())
    }
}

impl BatchStore for ClickHouseStore {
    type Error = Fault;

    fn write(&mut self, records: &[Queued], snapshot: Option<&Snapshot>) -> Result<Written, Fault> {
        let mut written = Written::default();
        let mut batch = Batch::new();
        let mut encoded: Vec<Vec<u8>> = Vec::with_capacity(records.len());
        let mut add = |record: &Record| {
            let mut json = Vec::new();
            record.write_json(&mut json);
            if let Err(poison) = batch.add(record.record_type(), &json, encoded.len()) {
                tracing::error!(%poison, "a record of this process cannot be stored");
                written.rejected.push(encoded.len());
            }
            encoded.push(json);
        };
        for queued in records {
            add(&queued.record);
        }
        for record in snapshot.into_iter().flat_map(Snapshot::records) {
            add(&record);
        }
        for table in batch.into_tables() {
            self.insert(&table, &encoded, &mut written)?;
        }
        Ok(written)
    }

    fn may_take_tallies(fault: &Fault) -> bool {
        // Mismatches may be refused while other tables accept rows.
        fault.code.is_some()
    }

    /// A table was dropped. The store is opened again, with a check of its tables, until somebody has created it.
    fn is_lost(fault: &Fault) -> bool {
        fault.is_absent()
    }

    /// The tables' own TTL.
    fn retain(&mut self, _retention: &Retention) -> Result<Step, Fault> {
        Ok(Step::Done)
    }

    fn bytes(&self) -> Option<u64> {
        None
    }

    fn close(self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Adds a record.
pub(super) fn add(
    store: &StoreConfig,
    record: &Record,
    action: &'static str,
) -> Result<(), StoreError> {
    let database = ClickHouseStore::open(store)?;
    let mut json = Vec::new();
    record.write_json(&mut json);
    let mut batch = Batch::new();
    batch
        .add(record.record_type(), &json, 0)
        .map_err(|poison| StoreError::Server {
            url: database.server.url().clone(),
            action,
            message: poison.to_string(),
        })?;
    for table in batch.into_tables() {
        // Not gathered with other inserts: nobody else is writing such records.
        let mode = Mode::Whole(format!("{}-{}", record.record_type().as_str(), record.id()));
        database
            .runtime
            .block_on(database.server.insert(&table.rows, &mode))
            .map_err(|fault| database.server.failed(action, &fault))?;
    }
    Ok(())
}
