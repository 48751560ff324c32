//! Ids of records: UUIDs of version 7, made where the record is born (DESIGN.md §6).
//!
//! The id travels with the record through every queue and store, so a record that is written twice is still one
//! record. Version 7 sorts by time, which keeps inserts at the end of an index.

use uuid::Uuid;

/// A new id from the clock and the random source of the system.
pub fn new_id() -> Uuid {
    Uuid::now_v7()
}
