//! The maps of the tally book.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A map with the fast hasher; keys are bounded in number, and its seed differs per process.
pub(super) type FastMap<K, V> = HashMap<K, V, RandomState>;
