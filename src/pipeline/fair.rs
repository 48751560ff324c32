//! A fair queue before the comparing threads, with a line of items for each route.
//!
//! Every route gets the same share of the threads' time (start-time fair queueing): of the routes with waiting items, the
//! one that has used the least time is served next. So an exchange of a route that needs little time waits for one
//! comparison at most, however long the other lines are. When too many items wait, or too much time would be needed to
//! compare them, the oldest item of the line that needs the most time is dropped: no route loses an exchange because of
//! what another route costs.
//!
//! The cost of an exchange is not known before it has been compared: two kilobytes may unpack to a megabyte, or hold two
//! lists whose order does not count. So the cost of each route is estimated from its comparisons so far, as time per unit
//! of captured data. Before the first comparison the caller's assumption is used. It may be far too low, and many items may
//! come while the first one is compared: so who is to lose one is chosen by what that comparison has taken so far, too.
//!
//! A plain data structure: no clock, no lock, no thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Routes with a line of their own, as many as have tallies of their own. Later ones share a line, among them the endless
/// made-up paths of a scanner.
const MAX_LINES: usize = parity_sink::tally::MAX_ROUTES;
/// The line that later routes share.
const SHARED: LineId = LineId(0);
/// A line's memory is given back when its capacity is more than this many times its length.
const SPARE: usize = 4;
/// Up to this capacity, memory is not given back.
const ROOM: usize = 32;
/// The estimate is a moving average: the last comparison has the weight one in this many.
const MEMORY: u64 = 8;
/// Paces are kept in parts of a nanosecond, since comparing a byte takes less than one.
const PARTS: u64 = 1 << 10;

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Number of items.
    pub(super) items: usize,
    /// Estimated time that comparing all of them takes, in nanoseconds.
    pub(super) nanos: u64,
}

/// The queue.
pub(super) struct Fair<T> {
    bounds: Bounds,
    lines: Vec<Line<T>>,
    by_label: HashMap<Box<str>, LineId>,
    /// Lines with items, ordered by the time that they have used when their next item begins. A line may have been
    /// emptied since it was put here.
    turns: BinaryHeap<Reverse<(u64, usize)>>,
    /// The used time of the line that was served last, at that moment. A line that was empty starts from here, so that
    /// being idle earns it no credit.
    now: u64,
    items: usize,
    nanos: u64,
}

struct Line<T> {
    items: VecDeque<(u64, T)>,
    /// Units of all items together.
    units: u64,
    /// Estimated time for all items.
    nanos: u64,
    /// Parts of a nanosecond that a unit takes; 0 until something is assumed or known.
    pace: u64,
    /// Whether the pace was measured.
    known: bool,
    /// Until then, the pace at the least, if its first comparison has not been waiting for the processor all that time. So it
    /// only says which line is the costliest, not how much is too much.
    so_far: u64,
    /// Time that the line has used when its next item begins.
    begins: u64,
    /// Time that its items took beyond what they were charged; negative if they took less.
    owed: i64,
    /// Whether the line is in `turns`.
    queued: bool,
}

/// One of the lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineId(usize);

/// An item whose turn has come.
pub(super) struct Taken<T> {
    /// The item.
    pub(super) item: T,
    /// What it was charged, for [`Fair::took`].
    pub(super) bill: Bill,
}

/// What was charged for an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bill {
    line: usize,
    units: u64,
    charged: u64,
    /// No item of the line has been compared yet.
    pub(super) is_first: bool,
}

impl Bill {
    /// Whether both are of the same line.
    pub(super) fn is_like(self, other: Self) -> bool {
        self.line == other.line
    }
}

impl<T> Fair<T> {
    /// An empty queue.
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            lines: vec![Line::new()],
            by_label: HashMap::new(),
            turns: BinaryHeap::new(),
            now: 0,
            items: 0,
            nanos: 0,
        }
    }

    /// The line of a route.
    pub(super) fn line(&mut self, label: &str) -> LineId {
        if let Some(line) = self.by_label.get(label) {
            return *line;
        }
        if self.lines.len() > MAX_LINES {
            return SHARED;
        }
        self.lines.push(Line::new());
        let line = LineId(self.lines.len() - 1);
        self.by_label.insert(label.into(), line);
        line
    }

    /// Puts an item into a line. `assumed` gives the time that it may take; it is called only if the route has no estimate
    /// yet. Items beyond the bounds go to `shed`, perhaps this one.
    pub(super) fn push(
        &mut self,
        LineId(index): LineId,
        units: u64,
        assumed: impl FnOnce() -> u64,
        item: T,
        mut shed: impl FnMut(T),
    ) {
        let units = units.max(1);
        let line = &mut self.lines[index];
        if line.pace == 0 {
            line.pace = pace(assumed(), units);
        }
        line.items.push_back((units, item));
        line.units += units;
        self.items += 1;
        if !line.queued {
            line.queued = true;
            line.begins = line.corrected().max(self.now);
            self.turns.push(Reverse((line.begins, index)));
        }
        self.reckon(index);
        while self.items > self.bounds.items || (self.nanos > self.bounds.nanos && self.items > 1) {
            let Some(item) = self.drop_costliest() else {
                return;
            };
            shed(item);
        }
    }

    /// The next item, of the line that has used the least time.
    pub(super) fn pop(&mut self) -> Option<Taken<T>> {
        while let Some(Reverse((begins, index))) = self.turns.pop() {
            let line = &mut self.lines[index];
            if line.items.is_empty() {
                line.queued = false;
                continue;
            }
            let corrected = line.corrected();
            if corrected > begins {
                // Its last items took more than they were charged, so another line may be first now.
                self.turns.push(Reverse((corrected, index)));
                continue;
            }
            let (units, item) = line.items.pop_front()?;
            line.units -= units;
            self.items -= 1;
            self.now = self.now.max(begins);
            let charged = cost(line.pace, units);
            line.begins = begins.saturating_add(charged);
            line.queued = !line.items.is_empty();
            if line.queued {
                self.turns.push(Reverse((line.begins, index)));
            }
            line.give_room_back();
            self.reckon(index);
            let bill = Bill {
                line: index,
                units,
                charged,
                is_first: !self.lines[index].known,
            };
            return Some(Taken { item, bill });
        }
        None
    }

    /// Says how long the first comparison of a line has been going on.
    pub(super) fn goes_on(&mut self, bill: Bill, nanos: u64) {
        let line = &mut self.lines[bill.line];
        line.so_far = line.so_far.max(pace(nanos, bill.units));
    }

    /// Corrects the line's account by the time that an item really took.
    pub(super) fn took(&mut self, bill: Bill, nanos: u64) {
        let line = &mut self.lines[bill.line];
        let seen = pace(nanos, bill.units);
        line.pace = if std::mem::replace(&mut line.known, true) {
            (line.pace - line.pace / MEMORY + seen / MEMORY).max(1)
        } else {
            seen
        };
        line.owed = line.owed.saturating_add_unsigned(nanos);
        line.owed = line.owed.saturating_sub_unsigned(bill.charged);
        self.reckon(bill.line);
    }

    /// Removes all items, in no particular order.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = T> {
        self.turns.clear();
        (self.items, self.nanos) = (0, 0);
        for line in &mut self.lines {
            (line.units, line.nanos, line.queued) = (0, 0, false);
        }
        self.lines
            .iter_mut()
            .flat_map(|line| std::mem::take(&mut line.items))
            .map(|(_, item)| item)
    }

    /// Updates the estimated time of a line, and of the queue.
    fn reckon(&mut self, index: usize) {
        let line = &mut self.lines[index];
        let nanos = cost(line.pace, line.units);
        self.nanos = self.nanos.saturating_sub(line.nanos).saturating_add(nanos);
        line.nanos = nanos;
    }

    /// Removes the oldest item of the line that needs the most time.
    fn drop_costliest(&mut self) -> Option<T> {
        let waiting = self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.items.is_empty());
        let (index, _) = waiting.max_by_key(|(_, line)| line.may_take())?;
        let line = &mut self.lines[index];
        let (units, item) = line.items.pop_front()?;
        line.units -= units;
        self.items -= 1;
        line.give_room_back();
        self.reckon(index);
        Some(item)
    }
}

impl<T> Line<T> {
    fn new() -> Self {
        Self {
            items: VecDeque::new(),
            units: 0,
            nanos: 0,
            pace: 0,
            known: false,
            so_far: 0,
            begins: 0,
            owed: 0,
            queued: false,
        }
    }

    /// The time that its items may take.
    fn may_take(&self) -> u64 {
        if self.known {
            self.nanos
        } else {
            self.nanos.max(cost(self.so_far, self.units))
        }
    }

    /// The time at which its next item begins, after settling what the line owes.
    fn corrected(&mut self) -> u64 {
        self.begins = self
            .begins
            .saturating_add_signed(std::mem::take(&mut self.owed));
        self.begins
    }

    fn give_room_back(&mut self) {
        if self.items.capacity() > ROOM && self.items.len() < self.items.capacity() / SPARE {
            self.items.shrink_to(self.items.len() * 2);
        }
    }
}

/// Parts of a nanosecond per unit, at least one.
fn pace(nanos: u64, units: u64) -> u64 {
    (nanos.saturating_mul(PARTS) / units.max(1)).max(1)
}

fn cost(pace: u64, units: u64) -> u64 {
    units.saturating_mul(pace) / PARTS
}

#[cfg(test)]
mod tests;
