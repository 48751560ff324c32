//! Counts of requests, and of those of one kind among them, apart by client: so that what one client does can be left out.
//!
//! Clients are not kept. Each has a cell by its point, and several may share one; a client never has two, so that one can never look like many.
//! Relaxed counters, because nothing is decided by a request.

use std::sync::atomic::{AtomicU64, Ordering};

/// Cells: so many that one client is a small part, and few enough to be read five times a second.
pub(super) const CELLS: usize = 64;

/// Counters that all workers have.
pub(super) struct ByClient(Box<[[AtomicU64; 2]]>);

impl ByClient {
    pub(super) fn new() -> Self {
        Self((0..CELLS).map(|_| Default::default()).collect())
    }

    /// One more request of the client whose point has this cell.
    pub(super) fn saw(&self, cell: u8, is_of_kind: bool) {
        let Some([all, of_kind]) = self.0.get(usize::from(cell) % CELLS) else {
            return;
        };
        all.fetch_add(1, Ordering::Relaxed);
        if is_of_kind {
            of_kind.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All so far.
    pub(super) fn counts(&self) -> ClientCounts {
        let read = |[all, of_kind]: &[AtomicU64; 2]| {
            // First, so that no reading has more of the kind than there are.
            let of_kind = of_kind.load(Ordering::Relaxed);
            Share {
                of_kind,
                all: all.load(Ordering::Relaxed).max(of_kind),
            }
        };
        ClientCounts(self.0.iter().map(read).collect())
    }
}

/// Requests, and those of the kind that is counted among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Those of the kind.
    pub of_kind: u64,
    /// All requests.
    pub all: u64,
}

impl Share {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            of_kind: self.of_kind.saturating_add(other.of_kind),
            all: self.all.saturating_add(other.all),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            of_kind: self.of_kind.saturating_sub(other.of_kind),
            all: self.all.saturating_sub(other.all),
        }
    }

    /// The share, 0 to 1; 0 without requests.
    pub fn rate(self) -> f64 {
        self.of_kind as f64 / self.all.max(1) as f64
    }
}

/// What was counted, apart by client.
#[derive(Clone, Debug, Default)]
pub struct ClientCounts(Vec<Share>);

impl ClientCounts {
    /// What came since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let before = before.0.iter().copied();
        let before = before.chain(std::iter::repeat(Share::default()));
        let cells = self.0.iter().zip(before);
        Self(cells.map(|(now, before)| now.minus(before)).collect())
    }

    /// Of all clients.
    pub fn total(&self) -> Share {
        self.0
            .iter()
            .fold(Share::default(), |sum, one| sum.plus(*one))
    }

    /// How many clients have requests; fewer than there are, where there are many.
    pub fn clients(&self) -> usize {
        self.0.iter().filter(|cell| cell.all > 0).count()
    }

    /// How many clients have more of the kind than others.
    pub fn clients_mostly(&self) -> usize {
        let mostly = |cell: &&Share| cell.of_kind > cell.all - cell.of_kind;
        self.0.iter().filter(mostly).count()
    }

    /// Of all clients but the one that has the most of the kind. That one may be alone in what it does, or do it on purpose.
    pub fn of_others(&self) -> Share {
        let most = self.0.iter().max_by_key(|cell| cell.of_kind);
        self.total().minus(most.copied().unwrap_or_default())
    }

    /// So many requests of each of so many clients, as if they had been counted.
    pub fn of(clients: impl IntoIterator<Item = Share>) -> Self {
        Self(clients.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_client_does_can_be_left_out() {
        let counts = ByClient::new();
        (0..1_000).for_each(|_| counts.saw(7, true));
        for client in 0..20 {
            counts.saw(client, client == 3);
            counts.saw(client, false);
        }
        let before = counts.counts();
        let share = |of_kind, all| Share { of_kind, all };
        assert_eq!(before.total(), share(1_001, 1_040));
        assert_eq!(before.of_others(), share(1, 38));
        assert_eq!((before.clients(), before.clients_mostly()), (20, 1));
        counts.saw(200, true);
        let since = counts.counts().since(&before);
        assert_eq!(
            (since.total(), since.of_others()),
            (share(1, 1), share(0, 0))
        );
        assert_eq!(
            counts.counts().since(&ClientCounts::default()).total().all,
            1_041
        );
        assert_eq!(ClientCounts::default().of_others(), share(0, 0));
    }
}
