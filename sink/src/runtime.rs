//! A runtime for threads that use asynchronous clients.

use crate::error::StoreError;

/// A current-thread runtime, for the queries of a thread that has none.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, StoreError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(StoreError::Thread)
}
