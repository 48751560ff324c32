//! Clients go first: how much a shadow may do before the event loop looks for clients again.
//!
//! The runtime of a worker polls what is ready in the order in which it became so, clients and shadows alike. A shadow
//! whose candidate always has something more to read would keep a client waiting for as long as that goes on. So the
//! tasks of shadows work in slices: one whose slice is used up is polled again only after the event loop has asked the
//! system for what arrived meanwhile and the clients among it have had their turn.
//!
//! A slice is counted in steps of work instead of in time: reading the clock at each poll would cost every request what
//! only a flood needs. Shadows that did not get done in their last slice share one, so that fifty of them hold up a
//! client hardly longer than one does; none gets less than [`LEAST_STEPS`], so that a worker that is busy with clients
//! still gets its shadows done. A shadow of usual size never uses up a slice, and then all this costs two additions.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Steps of all unfinished shadows together between two looks for clients. A step is some 0.3 µs, so this is less than
/// 0.2 ms: a client does not notice it.
const TURN_STEPS: u32 = 512;
/// What a single poll may do however many others are unfinished: less would cost more for the poll than for the work.
const LEAST_STEPS: u32 = 8;

/// The slices of one worker's shadows.
#[derive(Default)]
pub(crate) struct Turns {
    /// Steps left to the task that is being polled.
    left: Cell<u32>,
    /// Tasks that used up their last slice.
    unfinished: Cell<u32>,
}

impl Turns {
    fn begin(&self) {
        let share = TURN_STEPS / self.unfinished.get().max(1);
        self.left.set(share.max(LEAST_STEPS));
    }

    /// Notes work that was done.
    pub(crate) fn spend(&self, steps: usize) {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        self.left.set(self.left.get().saturating_sub(steps));
    }

    /// Whether the task that is being polled has used up its slice.
    pub(crate) fn is_over(&self) -> bool {
        self.left.get() == 0
    }

    /// Goes on if the slice is not used up; else has the task polled again in another turn of the event loop.
    pub(crate) fn poll_go_on(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            // Its first poll hands the waker to the scheduler, to be woken behind what the system has for clients.
            pin!(tokio::task::yield_now()).poll(cx)
        } else {
            Poll::Ready(())
        }
    }

    /// Waits for another slice if this one is used up.
    pub(crate) async fn go_on(&self) {
        poll_fn(|cx| self.poll_go_on(cx)).await;
    }
}

/// Runs the whole of a task in slices, one for each poll. It is pinned by the caller, because one that is handed over
/// would take its place twice, several kilobytes for each shadow.
pub(crate) async fn sliced<F: Future>(turns: &Turns, mut task: Pin<&mut F>) -> F::Output {
    let mut share = Share {
        turns,
        unfinished: false,
    };
    poll_fn(move |cx| share.poll(task.as_mut(), cx)).await
}

/// The part that one task has in the slices.
struct Share<'a> {
    turns: &'a Turns,
    unfinished: bool,
}

impl Share<'_> {
    fn poll<F: Future>(&mut self, task: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.turns.begin();
        let polled = task.poll(cx);
        self.note(polled.is_pending() && self.turns.is_over());
        polled
    }

    fn note(&mut self, unfinished: bool) {
        if unfinished != self.unfinished {
            self.unfinished = unfinished;
            let others = &self.turns.unfinished;
            others.set(if unfinished {
                others.get() + 1
            } else {
                others.get() - 1
            });
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.note(false);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::task::Waker;

    use super::*;

    /// Polls a task that would go on for ever once; returns how many steps it took.
    fn steps_of_a_poll(
        turns: &Rc<Turns>,
        task: Pin<&mut impl Future>,
        steps: &Cell<usize>,
    ) -> usize {
        let before = steps.get();
        let polled = task.poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending() && turns.is_over());
        steps.get() - before
    }

    async fn endless(turns: &Turns, steps: &Cell<usize>) {
        loop {
            steps.set(steps.get() + 1);
            turns.spend(1);
            turns.go_on().await;
        }
    }

    #[test]
    fn unfinished_tasks_share_a_slice_and_none_gets_nothing() {
        let turns = Rc::new(Turns::default());
        let steps = Cell::new(0);
        let mut tasks: Vec<_> = (0..1000)
            .map(|_| Box::pin(async { sliced(&turns, pin!(endless(&turns, &steps))).await }))
            .collect();
        assert_eq!(
            steps_of_a_poll(&turns, tasks[0].as_mut(), &steps),
            TURN_STEPS as usize
        );
        for task in &mut tasks[1..4] {
            steps_of_a_poll(&turns, task.as_mut(), &steps);
        }
        assert_eq!(
            steps_of_a_poll(&turns, tasks[0].as_mut(), &steps),
            TURN_STEPS as usize / 4
        );
        for task in &mut tasks[4..] {
            steps_of_a_poll(&turns, task.as_mut(), &steps);
        }
        assert_eq!(
            steps_of_a_poll(&turns, tasks[0].as_mut(), &steps),
            LEAST_STEPS as usize
        );
        // Those that end leave their part to the others.
        tasks.truncate(1);
        assert_eq!(
            steps_of_a_poll(&turns, tasks[0].as_mut(), &steps),
            TURN_STEPS as usize
        );
        drop(tasks);
        assert_eq!(turns.unfinished.get(), 0);
    }
}
