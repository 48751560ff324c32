//! The labels of a sample, small enough to keep those of many: a page may have tens of thousands of them, and each page has the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes that are told of a line or of labels.
const TOLD_BYTES: usize = 120;

/// The samples of a metric by their labels. A value may be no number and infinite.
pub(super) type Samples = BTreeMap<Arc<Labels>, f64>;

/// As much of a line as is told.
pub(super) fn told(line: &str) -> String {
    let end = line.floor_char_boundary(TOLD_BYTES);
    line.split_at(end).0.to_owned()
}

/// Names with their values, sorted by name. `le` and `quantile` are among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Labels(Box<[(Box<str>, Box<str>)]>);

impl Labels {
    /// Of names that differ.
    pub(super) fn of(mut pairs: Vec<(String, String)>) -> Option<Self> {
        pairs.sort_unstable();
        let mut neighbours = pairs.windows(2);
        if neighbours.any(|pair| matches!(pair, [one, other] if one.0 == other.0)) {
            return None;
        }
        let pairs = pairs.into_iter();
        let boxed = pairs.map(|(name, value)| (name.into_boxed_str(), value.into_boxed_str()));
        Some(Self(boxed.collect()))
    }

    /// The value of a label.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(own, _)| &**own == name);
        found.map(|(_, value)| &**value)
    }

    /// All but one of them.
    pub(super) fn without(&self, name: &str) -> Self {
        let others = self.0.iter().filter(|(own, _)| &**own != name);
        Self(others.cloned().collect())
    }

    /// As a page writes them, as far as that is told.
    pub(super) fn told(&self) -> String {
        let pairs = self.0.iter();
        let pairs = pairs.map(|(name, value)| format!("{name}={value:?}"));
        told(&format!("{{{}}}", pairs.collect::<Vec<_>>().join(",")))
    }

    /// About what they take of memory.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.0.iter().map(|(name, value)| name.len() + value.len());
        size_of::<Self>() + size_of_val(&*self.0) + texts.sum::<usize>()
    }
}

/// The label sets of all pages of a service, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shared {
    sets: BTreeSet<Arc<Labels>>,
    bytes: usize,
}

impl Shared {
    /// The same labels as those before, or these.
    pub(super) fn one(&mut self, labels: Labels) -> Arc<Labels> {
        if let Some(known) = self.sets.get(&labels) {
            return Arc::clone(known);
        }
        let labels = Arc::new(labels);
        self.bytes += labels.bytes();
        self.sets.insert(Arc::clone(&labels));
        labels
    }

    /// Forgets those that no page has any more.
    pub(super) fn tidy(&mut self) {
        self.sets.retain(|labels| Arc::strong_count(labels) > 1);
        self.bytes = self.sets.iter().map(|labels| labels.bytes()).sum();
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
