//! What waits for a comparing thread, in one line for each route, taken in turn by what it costs.
//!
//! Every route has the same right to the time of the comparing threads (start-time fair queueing): of the routes that
//! wait, the one that has had the least is served next. So an exchange of a route that asks for little waits for one
//! comparison at most, whatever stands in the other lines. When there is too much, in number or in time that comparing
//! it will take, the oldest exchange of the route that wants the most time goes: a route is never turned away for
//! what another one costs.
//!
//! What an exchange costs is not known before it has been compared: two kilobytes may unpack to a megabyte, or hold two
//! lists whose order does not count. So the cost is learnt for each route from its comparisons, as time for each unit
//! of what was captured; before the first one the caller's assumption holds.
//!
//! A plain data structure: no clock, no lock, no thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Routes with a line of their own, as many as have tallies of their own. Those that come later share one, so that
/// somebody who makes routes up (a scanner) shares it, too.
const MAX_LINES: usize = parity_sink::tally::MAX_ROUTES;
/// The line that they share.
const SHARED: LineId = LineId(0);
/// A line that was long keeps no more room than this many times what it holds.
const SPARE: usize = 4;
/// Room that is not worth giving back.
const ROOM: usize = 32;
/// One part in so many of what is known of a route's cost comes from its last comparison.
const MEMORY: u64 = 8;
/// Paces are kept in parts of a nanosecond, since comparing a byte takes less than one.
const PARTS: u64 = 1 << 10;

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Items.
    pub(super) items: usize,
    /// Time that they will take together, as far as that is known, in nanoseconds.
    pub(super) nanos: u64,
}

/// Items in lines.
pub(super) struct Fair<T> {
    bounds: Bounds,
    lines: Vec<Line<T>>,
    by_label: HashMap<Box<str>, LineId>,
    /// The lines that wait, by the time that they have had when their next item begins. A line may have been emptied
    /// since it was put here.
    turns: BinaryHeap<Reverse<(u64, usize)>>,
    /// The time that the line which was served last had had then: a line that was empty begins here.
    now: u64,
    items: usize,
    nanos: u64,
}

struct Line<T> {
    items: VecDeque<(u64, T)>,
    /// Of the items together.
    units: u64,
    /// What the items will take.
    nanos: u64,
    /// Parts of a nanosecond that a unit takes; 0 until something is assumed or known.
    pace: u64,
    /// Whether the pace was measured.
    known: bool,
    /// Time that it has had when its next item begins.
    begins: u64,
    /// How much more (or less) its last items took than was charged.
    owed: i64,
    /// Whether it stands in `turns`.
    queued: bool,
}

/// One of the lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineId(usize);

/// An item whose turn has come.
pub(super) struct Taken<T> {
    /// It.
    pub(super) item: T,
    /// For [`Fair::took`].
    pub(super) bill: Bill,
}

/// What was charged for an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bill {
    line: usize,
    units: u64,
    charged: u64,
}

impl<T> Fair<T> {
    /// Empty.
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

    /// Puts an item into a line. `assumed` is the time that it may take, asked for only while nothing is known of the
    /// route. What is then too much goes to `shed`, the item itself perhaps.
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

    /// The next item, of the line that has had the least.
    pub(super) fn pop(&mut self) -> Option<Taken<T>> {
        while let Some(Reverse((begins, index))) = self.turns.pop() {
            let line = &mut self.lines[index];
            if line.items.is_empty() {
                line.queued = false;
                continue;
            }
            let corrected = line.corrected();
            if corrected > begins {
                // Its last items took more than was charged, so others may come first.
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
            };
            return Some(Taken { item, bill });
        }
        None
    }

    /// What an item really took.
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

    /// Everything that waits, in no order.
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

    /// Brings the times of a line, and of all, up to date.
    fn reckon(&mut self, index: usize) {
        let line = &mut self.lines[index];
        let nanos = cost(line.pace, line.units);
        self.nanos = self.nanos.saturating_sub(line.nanos).saturating_add(nanos);
        line.nanos = nanos;
    }

    /// The oldest item of the line that wants the most time.
    fn drop_costliest(&mut self) -> Option<T> {
        let waiting = self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.items.is_empty());
        let (index, _) = waiting.max_by_key(|(_, line)| line.nanos)?;
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
            begins: 0,
            owed: 0,
            queued: false,
        }
    }

    /// When it begins, with what it owes.
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

/// Parts of a nanosecond for each unit, at least one.
fn pace(nanos: u64, units: u64) -> u64 {
    (nanos.saturating_mul(PARTS) / units.max(1)).max(1)
}

fn cost(pace: u64, units: u64) -> u64 {
    units.saturating_mul(pace) / PARTS
}

#[cfg(test)]
mod tests;
