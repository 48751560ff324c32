//! The limit on the bytes that all shadows and exchanges hold, and the pieces of memory for their bodies.
//!
//! Allocators give each thread a heap of its own, and return little of it: when one worker after another reads large
//! answers, the process holds twice the memory that the budget counts. So large pieces belong to the budget, and are
//! reused by whichever thread needs them next.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::Body;

/// Largest piece of a body. Larger ones fragmented the heap in measurements: the same load of large answers then took
/// twice the memory.
pub(super) const LARGEST_PIECE: usize = 16 * 1024;

/// A bound on the bytes that all shadows and exchanges of the process hold together.
#[derive(Clone)]
pub struct ByteBudget(Arc<Budget>);

struct Budget {
    held: AtomicUsize,
    limit: AtomicUsize,
    spare: Mutex<Spare>,
}

/// Unused large pieces, kept for reuse.
#[derive(Default)]
struct Spare {
    pieces: Vec<Vec<u8>>,
    /// The fewest unused pieces since the last [`ByteBudget::trim`].
    fewest: usize,
}

impl Spare {
    fn take(&mut self) -> Option<Vec<u8>> {
        let piece = self.pieces.pop();
        self.fewest = self.fewest.min(self.pieces.len());
        piece
    }
}

/// Unused pieces may take one in this many of the limit. They are not charged, so bodies in small pieces may take the
/// whole limit besides them: at one half, the process may hold one and a half times the limit until the next
/// [`ByteBudget::trim`].
const SPARE_PART: usize = 2;

impl ByteBudget {
    /// At most `limit` bytes at a time.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Budget {
            held: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
            spare: Mutex::default(),
        }))
    }

    /// Changes the limit; bytes that are already held stay.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Ordering::Relaxed);
    }

    /// Bytes held now.
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// An empty hold, which can grow.
    pub fn hold(&self) -> ByteHold {
        ByteHold {
            budget: Some(self.clone()),
            bytes: 0,
        }
    }

    /// Frees the spare pieces that were not needed since the last call. Called about once a second.
    pub fn trim(&self) {
        let unneeded: Vec<_> = {
            let mut spare = self.spare();
            let kept = spare.pieces.len() - spare.fewest;
            spare.fewest = kept;
            spare.pieces.split_off(kept)
        };
        drop(unneeded);
    }

    fn take(&self, more: usize) -> bool {
        let before = self.0.held.fetch_add(more, Ordering::Relaxed);
        let fits = before.saturating_add(more) <= self.0.limit.load(Ordering::Relaxed);
        if !fits {
            self.give(more);
        }
        fits
    }

    fn give(&self, less: usize) {
        self.0.held.fetch_sub(less, Ordering::Relaxed);
    }

    fn spare(&self) -> MutexGuard<'_, Spare> {
        // A panic cannot leave the list of pieces inconsistent.
        self.0.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_back(&self, mut piece: Vec<u8>) {
        let most = self.0.limit.load(Ordering::Relaxed) / SPARE_PART / LARGEST_PIECE;
        piece.clear();
        let mut spare = self.spare();
        if spare.pieces.len() < most {
            spare.pieces.push(piece);
        }
    }
}

/// Bytes taken from a [`ByteBudget`]; dropping it gives them back.
#[derive(Default)]
pub struct ByteHold {
    budget: Option<ByteBudget>,
    bytes: usize,
}

impl ByteHold {
    /// Bytes that it has taken.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `more` bytes; `false`, and nothing taken, if the budget does not have them.
    #[must_use]
    pub fn grow(&mut self, more: usize) -> bool {
        let Some(budget) = &self.budget else {
            return true;
        };
        let taken = budget.take(more);
        self.bytes += usize::from(taken) * more;
        taken
    }

    /// Charges `chunk` and appends it to `body`; `false`, and nothing added, if the budget has no room.
    #[must_use]
    pub fn keep(&mut self, body: &mut Body, chunk: &[u8]) -> bool {
        let fits = self.grow(chunk.len());
        if fits {
            body.add(chunk, self.budget.as_ref());
        }
        fits
    }

    /// Gives back `less` of its bytes before the drop, so that a capture that is given up frees its share at once.
    pub fn shrink(&mut self, less: usize) {
        let less = less.min(self.bytes);
        self.bytes -= less;
        if let Some(budget) = &self.budget {
            budget.give(less);
        }
    }
}

impl Drop for ByteHold {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.give(self.bytes);
        }
    }
}

/// A piece of a body that is being received. Never grows beyond its capacity.
#[derive(Default)]
pub(super) struct Piece {
    bytes: Vec<u8>,
    /// The budget that it is returned to.
    home: Option<ByteBudget>,
}

impl Piece {
    /// A piece for `room` bytes, or for [`LARGEST_PIECE`] at most; a piece of that size belongs to the budget.
    pub(super) fn new(room: usize, budget: Option<&ByteBudget>) -> Self {
        if room < LARGEST_PIECE {
            return Self {
                bytes: Vec::with_capacity(room),
                home: None,
            };
        }
        let spare = budget.and_then(|budget| budget.spare().take());
        Self {
            bytes: spare.unwrap_or_else(|| Vec::with_capacity(LARGEST_PIECE)),
            home: budget.cloned(),
        }
    }

    pub(super) fn free(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Clone for Piece {
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes.clone(),
            home: None,
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.put_back(std::mem::take(&mut self.bytes));
        }
    }
}

impl From<Piece> for Bytes {
    fn from(mut piece: Piece) -> Self {
        if piece.home.is_some() {
            Self::from_owner(piece)
        } else {
            std::mem::take(&mut piece.bytes).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_exceeded_and_all_of_it_comes_back() {
        let budget = ByteBudget::new(10);
        let (mut one, mut two) = (budget.hold(), budget.hold());
        assert!(one.grow(6) && !two.grow(5) && two.grow(4));
        assert_eq!(budget.held(), 10);
        two.shrink(3);
        assert_eq!(budget.held(), 7);
        two.shrink(100);
        assert_eq!(budget.held(), 6);
        budget.set_limit(8);
        assert!(!two.grow(3) && two.grow(2));
        drop((one, two));
        assert_eq!(budget.held(), 0);
        assert!(ByteHold::default().grow(usize::MAX));
    }

    #[test]
    fn large_pieces_are_used_again_by_whoever_needs_one_and_few_are_kept() {
        let budget = ByteBudget::new(8 * LARGEST_PIECE);
        let body = |chunk: &[u8], hold: &mut ByteHold| {
            let mut body = Body::default();
            assert!(hold.keep(&mut body, chunk));
            body
        };
        let large = vec![b'x'; 7 * LARGEST_PIECE];
        let mut hold = budget.hold();
        let first = body(&large, &mut hold);
        let chunks: Vec<Bytes> = first.into_chunks().collect();
        assert_eq!(budget.spare().pieces.len(), 0);
        drop((chunks, hold));
        // Half of the limit.
        assert_eq!(budget.spare().pieces.len(), 4);
        let of_another_thread = std::thread::spawn({
            let budget = budget.clone();
            move || {
                let mut hold = budget.hold();
                let small = body(b"small", &mut hold);
                assert_eq!(budget.spare().pieces.len(), 4);
                let large = body(&vec![b'y'; 3 * LARGEST_PIECE], &mut hold);
                assert_eq!(budget.spare().pieces.len(), 2);
                assert_eq!(small.contiguous().as_ref(), b"small");
                large.contiguous().into_owned()
            }
        });
        let bytes = of_another_thread.join().expect("no panic");
        assert_eq!(bytes, vec![b'y'; 3 * LARGEST_PIECE]);
        assert_eq!((budget.spare().pieces.len(), budget.held()), (4, 0));
    }

    #[test]
    fn pieces_that_nobody_needs_are_freed_and_those_in_use_come_back() {
        let budget = ByteBudget::new(8 * LARGEST_PIECE);
        let use_some = |pieces: usize| {
            let (mut hold, mut body) = (budget.hold(), Body::default());
            // The second piece's worth is held in small ones.
            let bytes = (pieces + 1) * LARGEST_PIECE;
            assert!(hold.keep(&mut body, &vec![b'x'; bytes]));
        };
        let spare = || budget.spare().pieces.len();
        use_some(4);
        // They have only just come.
        budget.trim();
        assert_eq!(spare(), 4);
        use_some(3);
        budget.trim();
        assert_eq!(spare(), 3, "one was not needed");
        budget.trim();
        assert_eq!(spare(), 0);
        use_some(2);
        assert_eq!(spare(), 2);
    }
}
