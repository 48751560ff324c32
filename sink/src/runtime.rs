//! Asynchronous clients in threads of their own.

use crate::error::StoreError;

/// For the questions of a thread that has no runtime.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, StoreError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(StoreError::Thread)
}
