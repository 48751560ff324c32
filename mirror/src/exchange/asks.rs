//! The asks of one request: which service, the first time or again, and the result of each.
//!
//! Most requests have one ask for each side. A side may be asked again for the same request; asks of one side are
//! numbered.

use std::cell::RefCell;

use parity_schemas::exchange::Capture;
use smallvec::SmallVec;
use tokio::task::JoinHandle;

use crate::exchange::side::Side;

/// Identifies an ask of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AskId {
    side: Side,
    /// How many asks of the same side came before it.
    number: u8,
}

impl AskId {
    /// The ask of this side whose answer is compared.
    pub(super) fn first(side: Side) -> Self {
        Self { side, number: 0 }
    }

    pub(super) fn side(self) -> Side {
        self.side
    }
}

/// The state and result of one ask.
struct AskState {
    id: AskId,
    open: bool,
    capture: Option<Capture>,
    /// The body of its answer is too large to compare, so the other side's body is not needed either.
    lets_other_go: bool,
    /// The task that waits for the service, unless that is the client's own task.
    task: Option<JoinHandle<()>>,
}

/// The asks of one request.
#[derive(Default)]
pub(super) struct Asks(RefCell<SmallVec<[AskState; Side::ALL.len()]>>);

impl Asks {
    /// One more ask of a side.
    pub(super) fn add(&self, side: Side) -> AskId {
        let mut asks = self.0.borrow_mut();
        let before = asks.iter().filter(|asked| asked.id.side == side).count();
        let id = AskId {
            side,
            number: u8::try_from(before).unwrap_or(u8::MAX),
        };
        asks.push(AskState {
            id,
            open: true,
            capture: None,
            lets_other_go: false,
            task: None,
        });
        id
    }

    /// Remembers the task of an ask.
    pub(super) fn own(&self, id: AskId, task: JoinHandle<()>) {
        self.with(id, |asked| asked.task = Some(task));
    }

    /// Keeps the answer to an ask.
    pub(super) fn keep(&self, id: AskId, capture: Capture) {
        self.with(id, |asked| asked.capture = Some(capture));
    }

    /// Takes the answer to an ask.
    pub(super) fn take(&self, id: AskId) -> Option<Capture> {
        self.with(id, |asked| asked.capture.take()).flatten()
    }

    /// Drops all captured answers; returns how many bytes they held.
    pub(super) fn forget_answers(&self) -> usize {
        let mut asks = self.0.borrow_mut();
        let captures = asks.iter_mut().filter_map(|asked| asked.capture.take());
        captures
            .map(|capture| capture.fields_held() + capture.body.len())
            .sum()
    }

    /// Remembers that the body of the answer to a legacy's ask is too large. Returns the candidate's ask with the same
    /// number, whose body need not be kept; `None` for an ask of the candidate.
    pub(super) fn let_other_go(&self, id: AskId) -> Option<AskId> {
        if id.side != Side::Legacy {
            return None;
        }
        self.with(id, |asked| asked.lets_other_go = true);
        Some(AskId {
            side: Side::Candidate,
            ..id
        })
    }

    /// Whether the body of the answer to this ask is not needed.
    pub(super) fn is_let_go(&self, id: AskId) -> bool {
        let legacy = AskId {
            side: Side::Legacy,
            ..id
        };
        let lets_go = |asked: &mut AskState| asked.lets_other_go;
        id.side == Side::Candidate && self.with(legacy, lets_go).unwrap_or_default()
    }

    /// An ask has ended; returns whether all have.
    pub(super) fn end(&self, id: AskId) -> bool {
        self.with(id, |asked| asked.open = false);
        self.0.borrow().iter().all(|asked| !asked.open)
    }

    /// Ends the tasks that are under way.
    pub(super) fn abort(&self) {
        let mut asks = self.0.borrow_mut();
        let tasks = asks.iter_mut().filter_map(|asked| asked.task.take());
        let tasks: SmallVec<[_; Side::ALL.len()]> = tasks.collect();
        // The borrow ends first: aborting a task may drop its ask, which borrows this collection again.
        drop(asks);
        for task in tasks {
            task.abort();
        }
    }

    fn with<T>(&self, id: AskId, change: impl FnOnce(&mut AskState) -> T) -> Option<T> {
        let mut asks = self.0.borrow_mut();
        let asked = asks.iter_mut().find(|asked| asked.id == id);
        asked.map(change)
    }
}
