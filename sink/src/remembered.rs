//! What a process that serves pages remembers of the counts that it has read, so that it reads each of them once.
//!
//! Ten days of a hundred routes are a million and a half rows, and adding them up takes seconds. They are added up in the order
//! of time, so what was added up to some time is kept ([`Prefix`]), and only what came since is read and added to it: the result
//! is the same as that of reading all. Whether what is kept is still what the store has is not supposed but asked: of each five
//! minutes a store tells a number that is another one after each change ([`Marks`]). A late row, one that grew, one
//! that retention removed or another file in the place of the first: what is kept is then forgotten, and read anew.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use parity_schemas::tally::Identity;
use uuid::Uuid;

/// Five minutes, by which the store marks changes.
pub(crate) const SLOT_MICROS: i64 = 300_000_000;
/// So many slots before the last one are read each time: they still change.
const OPEN_SLOTS: i64 = 2;
/// What is remembered in all, in bytes as they are estimated: four reports of ten thousand groups, or a hundred usual ones.
const MAX_BYTES: usize = 256 << 20;
/// Most keys, however small what they have is: the ranges that some people look at, and the runs of a day.
const MAX_KEYS: usize = 256;

/// What is remembered has a size.
pub(crate) trait Weighed {
    /// About how many bytes it takes.
    fn bytes(&self) -> usize;
}

/// What counts are of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) identity: Identity,
    /// The first interval that counts.
    pub(crate) from: i64,
    pub(crate) of: What,
}

/// What of them is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// All that a report has, or only the counts.
    Sums { with_details: bool },
    /// What one run has stored, to be compared with what it says that it has.
    Run(Uuid),
    /// Whether one that is at work no more lacks something, by this revision of what it said.
    Ended(Uuid, u32),
    /// By what its rows are known.
    Marks,
}

/// The numbers of all slots that count, in order.
pub(crate) struct Marks(pub(crate) Vec<(i64, i64)>);

impl Marks {
    /// One number for those before a slot.
    fn before(&self, slot: i64) -> u64 {
        let mut hasher = DefaultHasher::new();
        let slots = self.0.iter().take_while(|(at, _)| *at < slot);
        slots.for_each(|mark| mark.hash(&mut hasher));
        hasher.finish()
    }

    /// One number for all.
    fn all(&self) -> u64 {
        self.before(i64::MAX)
    }

    /// The first slot that may still change. `now` may be before the last one: clocks differ.
    pub(crate) fn open_from(&self, now: i64) -> i64 {
        let last = self.0.last().map_or(0, |(slot, _)| *slot);
        last.min(now / SLOT_MICROS)
            .saturating_sub(OPEN_SLOTS)
            .max(1)
    }
}

/// Counts that were added up.
struct Prefix<A> {
    /// Those of the slots before this one.
    to: i64,
    /// The number of their marks.
    marks: u64,
    added: Arc<A>,
}

impl<A> Clone for Prefix<A> {
    fn clone(&self) -> Self {
        Self {
            added: Arc::clone(&self.added),
            ..*self
        }
    }
}

struct Entry<A> {
    /// Up to the slots that change.
    closed: Option<Prefix<A>>,
    /// Everything.
    all: Option<Prefix<A>>,
    /// When it was last used.
    used: u64,
}

impl<A: Weighed> Entry<A> {
    fn bytes(&self) -> usize {
        let kept = self.closed.iter().chain(&self.all);
        kept.map(|prefix| prefix.added.bytes()).sum()
    }
}

/// The memory of one process. Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Remembered(Arc<Mutex<HashMap<TypeId, Kind>>>);

/// A [`Memory`] for one kind of sums, or another one. What is in it is known by those who read; this only keeps it.
type Kind = Arc<dyn Any + Send + Sync>;

impl Remembered {
    /// The memory for one kind of sums.
    pub(crate) fn of<A: Send + Sync + 'static>(&self) -> Arc<Memory<A>> {
        self.kind()
    }

    /// The one memory of this type.
    pub(crate) fn kind<M: Default + Send + Sync + 'static>(&self) -> Arc<M> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = kinds
            .entry(TypeId::of::<M>())
            .or_insert_with(|| Arc::new(M::default()));
        // It is of this type, because it was put there by it.
        Arc::clone(kind).downcast().unwrap_or_default()
    }
}

/// The memory for one kind of sums.
pub(crate) struct Memory<A>(Mutex<Entries<A>>);

struct Entries<A> {
    by_key: HashMap<Key, Entry<A>>,
    /// Who adds up a key has its turn; others who want the same wait, and find it.
    turns: HashMap<Key, Weak<Mutex<()>>>,
    uses: u64,
}

impl<A> Default for Memory<A> {
    fn default() -> Self {
        Self(Mutex::new(Entries {
            by_key: HashMap::new(),
            turns: HashMap::new(),
            uses: 0,
        }))
    }
}

impl<A: Clone + Default + Weighed> Memory<A> {
    /// What is added up of a key as the store has it now: `add` adds what is of the intervals from the first time on and
    /// before the second to what is given.
    pub(crate) fn sums<E>(
        &self,
        key: &Key,
        marks: &Marks,
        now: i64,
        mut add: impl FnMut(&mut A, i64, i64) -> Result<(), E>,
    ) -> Result<A, E> {
        let turn = self.turn(key);
        let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (closed, all) = self.find(key);
        let number = marks.all();
        if let Some(all) = all.filter(|all| all.marks == number) {
            return Ok(A::clone(&all.added));
        }
        let to = marks.open_from(now);
        let (closed, from) = Self::extended(key, closed, marks, to, &mut add)?;
        let mut added = closed
            .as_ref()
            .map_or_else(A::default, |closed| A::clone(&closed.added));
        add(&mut added, from, i64::MAX)?;
        let all = Prefix {
            to: i64::MAX,
            marks: number,
            added: Arc::new(added.clone()),
        };
        self.keep(key, closed, Some(all));
        Ok(added)
    }

    /// The same of the slots before `to`, with the time up to which that is.
    pub(crate) fn closed<E>(
        &self,
        key: &Key,
        marks: &Marks,
        to: i64,
        mut add: impl FnMut(&mut A, i64, i64) -> Result<(), E>,
    ) -> Result<(A, i64), E> {
        let turn = self.turn(key);
        let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (closed, _) = self.find(key);
        let (closed, from) = Self::extended(key, closed, marks, to, &mut add)?;
        let added = closed
            .as_ref()
            .map_or_else(A::default, |closed| A::clone(&closed.added));
        self.keep(key, closed, None);
        Ok((added, from))
    }

    /// What is kept of a key as `renew` makes it of what was kept before.
    pub(crate) fn renewed<E>(
        &self,
        key: &Key,
        renew: impl FnOnce(Option<Arc<A>>) -> Result<Arc<A>, E>,
    ) -> Result<Arc<A>, E> {
        let turn = self.turn(key);
        let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, known) = self.find(key);
        let added = renew(known.map(|known| known.added))?;
        let all = Prefix {
            to: i64::MAX,
            marks: 0,
            added: Arc::clone(&added),
        };
        self.keep(key, None, Some(all));
        Ok(added)
    }

    /// What is closed, up to `to`, and the time from which on the rest begins.
    fn extended<E>(
        key: &Key,
        closed: Option<Prefix<A>>,
        marks: &Marks,
        to: i64,
        add: &mut impl FnMut(&mut A, i64, i64) -> Result<(), E>,
    ) -> Result<(Option<Prefix<A>>, i64), E> {
        let open = to.saturating_mul(SLOT_MICROS);
        if open <= key.from {
            return Ok((None, key.from));
        }
        let known =
            closed.filter(|closed| closed.to <= to && marks.before(closed.to) == closed.marks);
        let (mut added, from) = match known {
            Some(known) if known.to == to => return Ok((Some(known), open)),
            Some(known) => (A::clone(&known.added), known.to * SLOT_MICROS),
            None => (A::default(), key.from),
        };
        add(&mut added, from, open)?;
        let closed = Prefix {
            to,
            marks: marks.before(to),
            added: Arc::new(added),
        };
        Ok((Some(closed), open))
    }

    fn turn(&self, key: &Key) -> Arc<Mutex<()>> {
        self.with(|entries| {
            if let Some(turn) = entries.turns.get(key).and_then(Weak::upgrade) {
                return turn;
            }
            entries.turns.retain(|_, turn| turn.strong_count() > 0);
            let turn = Arc::default();
            entries.turns.insert(key.clone(), Arc::downgrade(&turn));
            turn
        })
    }

    fn find(&self, key: &Key) -> (Option<Prefix<A>>, Option<Prefix<A>>) {
        self.with(|entries| {
            entries.uses += 1;
            let uses = entries.uses;
            let Some(entry) = entries.by_key.get_mut(key) else {
                return (None, None);
            };
            entry.used = uses;
            (entry.closed.clone(), entry.all.clone())
        })
    }

    fn keep(&self, key: &Key, closed: Option<Prefix<A>>, all: Option<Prefix<A>>) {
        self.with(|entries| {
            entries.uses += 1;
            let entry = Entry {
                closed,
                all,
                used: entries.uses,
            };
            entries.by_key.insert(key.clone(), entry);
            let bytes = |entries: &Entries<A>| -> usize {
                let each = entries.by_key.values();
                each.map(Entry::bytes).sum()
            };
            while bytes(entries) > MAX_BYTES || entries.by_key.len() > MAX_KEYS {
                let oldest = entries.by_key.iter().min_by_key(|(_, entry)| entry.used);
                let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                    return;
                };
                entries.by_key.remove(&oldest);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Entries<A>) -> T) -> T {
        // What is kept is replaced as a whole, so a panic leaves nothing half done.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Remembered(…)")
    }
}

/// What is remembered of a store is no part of where it is.
impl PartialEq for Remembered {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Remembered {}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    impl Weighed for () {
        fn bytes(&self) -> usize {
            0
        }
    }

    fn read(memory: &Memory<()>, from: i64, marks: &[(i64, i64)], now: i64) -> Vec<(i64, i64)> {
        let key = Key {
            identity: Identity::default(),
            from,
            of: What::Sums { with_details: true },
        };
        let mut read = Vec::new();
        let of = |time: i64| {
            if time == i64::MAX {
                time
            } else {
                time / SLOT_MICROS
            }
        };
        let sums = memory.sums(
            &key,
            &Marks(marks.to_vec()),
            now * SLOT_MICROS,
            |(), from, to| {
                read.push((of(from), of(to)));
                Ok::<_, Infallible>(())
            },
        );
        sums.expect("it cannot fail");
        read
    }

    #[test]
    fn only_what_may_have_changed_is_read_again() {
        let memory = Memory::default();
        let first = [(10, 1), (11, 2), (12, 3), (13, 4)];
        let all = i64::MAX;
        assert_eq!(read(&memory, 0, &first, 20), [(0, 11), (11, all)]);
        assert_eq!(read(&memory, 0, &first, 20), [], "nothing changed");
        let grown = [(10, 1), (11, 2), (12, 3), (13, 5)];
        assert_eq!(read(&memory, 0, &grown, 20), [(11, all)]);
        let later = [(10, 1), (11, 2), (12, 3), (13, 5), (15, 1)];
        assert_eq!(read(&memory, 0, &later, 20), [(11, 13), (13, all)]);
        // A late row, and one that is gone.
        let late = [(10, 1), (11, 9), (12, 3), (13, 5), (15, 1)];
        assert_eq!(read(&memory, 0, &late, 20), [(0, 13), (13, all)]);
        let gone = [(11, 9), (12, 3), (13, 5), (15, 1)];
        assert_eq!(read(&memory, 0, &gone, 20), [(0, 13), (13, all)]);
        assert_eq!(read(&memory, 0, &gone, 20), []);
    }

    #[test]
    fn who_wants_what_another_one_adds_up_waits_for_it() {
        let memory = Memory::<()>::default();
        let added = std::sync::atomic::AtomicUsize::new(0);
        let all_there = std::sync::Barrier::new(4);
        let key = Key {
            identity: Identity::default(),
            // All of it may still change, so it is read in one part.
            from: SLOT_MICROS,
            of: What::Sums { with_details: true },
        };
        let marks = Marks(vec![(0, 1)]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    all_there.wait();
                    let sums = memory.sums(&key, &marks, 0, |(), _, _| {
                        std::thread::yield_now();
                        added.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        Ok::<_, Infallible>(())
                    });
                    sums.expect("it cannot fail");
                });
            }
        });
        assert_eq!(added.into_inner(), 1, "once for all four");
        let turns =
            memory.with(|entries| entries.turns.values().all(|turn| turn.strong_count() == 0));
        assert!(turns, "nobody has a turn");
    }

    #[test]
    fn a_clock_that_is_ahead_and_a_begin_that_is_late_leave_nothing_out() {
        let memory = Memory::default();
        let all = i64::MAX;
        assert_eq!(read(&memory, 0, &[], 20), [(0, 1), (1, all)]);
        let ahead = [(10, 1), (1_000, 2)];
        assert_eq!(read(&memory, 0, &ahead, 20), [(1, 18), (18, all)]);
        // It begins within what may change.
        let from = 19 * SLOT_MICROS;
        assert_eq!(read(&memory, from, &[(19, 1), (20, 1)], 20), [(19, all)]);
        assert_eq!(read(&memory, from, &[(19, 1), (20, 2)], 20), [(19, all)]);
    }
}
