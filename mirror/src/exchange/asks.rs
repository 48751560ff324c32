//! The asks of one request, one for each service that it is sent to, and the result of each.
//!
//! A request of a client has two. A request that one service gets once more has one of its own (see
//! [`crate::exchange::again`]), so no ask is ever numbered.

use std::cell::RefCell;

use parity_schemas::exchange::Capture;
use smallvec::SmallVec;
use tokio::task::JoinHandle;

use crate::exchange::side::{BySide, Side};

/// The state and result of one ask.
#[derive(Default)]
struct AskState {
    open: bool,
    capture: Option<Capture>,
    /// The body of its answer is too large to compare, so the other side's body is not needed either.
    lets_other_go: bool,
    /// The task that waits for the service, unless that is the client's own task.
    task: Option<JoinHandle<()>>,
}

/// The asks of one request.
pub(super) struct Asks(RefCell<BySide<AskState>>);

impl Asks {
    /// Open asks of these sides.
    pub(super) fn of(sides: &[Side]) -> Self {
        Self(RefCell::new(BySide::new(|side| AskState {
            open: sides.contains(&side),
            ..AskState::default()
        })))
    }

    /// Remembers the task of an ask.
    pub(super) fn own(&self, side: Side, task: JoinHandle<()>) {
        self.0.borrow_mut()[side].task = Some(task);
    }

    /// Keeps the answer to an ask.
    pub(super) fn keep(&self, side: Side, capture: Capture) {
        self.0.borrow_mut()[side].capture = Some(capture);
    }

    /// Whether there is an answer to an ask.
    pub(super) fn has(&self, side: Side) -> bool {
        self.0.borrow()[side].capture.is_some()
    }

    /// Takes the answer to an ask.
    pub(super) fn take(&self, side: Side) -> Option<Capture> {
        self.0.borrow_mut()[side].capture.take()
    }

    /// Drops all captured answers; returns how many bytes they held.
    pub(super) fn forget_answers(&self) -> usize {
        let answers = Side::ALL.into_iter().filter_map(|side| self.take(side));
        answers
            .map(|capture| capture.fields_held() + capture.body.len())
            .sum()
    }

    /// Remembers that the body of the answer to a legacy's ask is too large, so that the candidate's need not be kept;
    /// returns the candidate's answer if it is there. Nothing happens for an ask of the candidate.
    pub(super) fn let_other_go(&self, side: Side) -> Option<Capture> {
        if side != Side::Legacy {
            return None;
        }
        self.0.borrow_mut()[Side::Legacy].lets_other_go = true;
        self.take(Side::Candidate)
    }

    /// Whether the body of the answer to this ask is not needed.
    pub(super) fn is_let_go(&self, side: Side) -> bool {
        side == Side::Candidate && self.0.borrow()[Side::Legacy].lets_other_go
    }

    /// An ask has ended; returns whether all have.
    pub(super) fn end(&self, side: Side) -> bool {
        let mut asks = self.0.borrow_mut();
        asks[side].open = false;
        Side::ALL.into_iter().all(|side| !asks[side].open)
    }

    /// Ends the tasks that are under way.
    pub(super) fn abort(&self) {
        let tasks: SmallVec<[_; Side::ALL.len()]> = {
            let mut asks = self.0.borrow_mut();
            let task = |side: Side| asks[side].task.take();
            Side::ALL.into_iter().filter_map(task).collect()
        };
        // The borrow has ended: aborting a task may drop its ask, which borrows this again.
        for task in tasks {
            task.abort();
        }
    }
}
