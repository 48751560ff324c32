//! For tests: gives every key the same hash, and counts how often two keys are compared.

use std::cell::Cell;

thread_local! {
    static ALL: Cell<bool> = const { Cell::new(false) };
    static COMPARED: Cell<u64> = const { Cell::new(0) };
}

/// From now on every key of this thread has the same hash.
pub(crate) fn begin() {
    ALL.set(true);
    COMPARED.set(0);
}

/// Restores the real hashes, and returns how often two keys were compared meanwhile.
pub(crate) fn end() -> u64 {
    ALL.set(false);
    COMPARED.get()
}

/// Whether every key of this thread has the same hash.
pub(super) fn are_all() -> bool {
    ALL.get()
}

/// Counts a comparison of two keys.
pub(crate) fn count() {
    COMPARED.set(COMPARED.get() + 1);
}
