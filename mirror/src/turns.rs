//! Clients go first: limits how much a shadow may do before the event loop polls for client events again.
//!
//! A worker's runtime polls tasks in the order in which they became ready, clients and shadows alike. A shadow whose
//! candidate always has more to read would block clients. So shadow tasks work in slices: a task that has used up its
//! slice is polled again only after the event loop has checked the sockets and the clients that became ready have run.
//!
//! A slice is measured in steps of work instead of time, because reading the clock at each poll would be a cost for
//! every request. A shadow of usual size never uses up a slice.
//!
//! Shadows that did not finish in their slice share one slice, so that several delay a client hardly more than one.
//! Only a few of them ([`PLACES`]) run at a time; the others wait in order. If all ran, each would hold a half-read
//! answer until the last one is done, and the byte budget would be used up.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Steps of all unfinished shadows together between two polls for client events. A step is about 0.3 µs, so this is
/// less than 0.2 ms, which a client does not notice.
const TURN_STEPS: u32 = 512;
/// Unfinished tasks that run at a time: enough to stay busy while one candidate pauses, and few enough that those of
/// all workers hold only a part of the byte budget.
const PLACES: u32 = 4;
/// The slice of a new task while unfinished tasks wait: enough for a whole answer of usual size, and little of a large
/// one.
const LEAST_STEPS: u32 = 32;

/// Unfinished tasks that may wait for a place; beyond it no shadow begins. Each holds about 50 KiB (connection buffers
/// and the start of its answer), and with a longer queue the last ones would miss their deadline.
const MOST_WAITING: usize = 64;

/// The slices of one worker's shadows.
#[derive(Default)]
pub(crate) struct Turns {
    /// Steps left to the task that is being polled.
    left: Cell<u32>,
    /// Tasks that used up their last slice and have a place to run.
    unfinished: Cell<u32>,
    /// Tasks that used up their last slice and wait for a place, the longest waiting first. As many as there are
    /// shadows in flight, at most; see [`MOST_WAITING`].
    waiting: RefCell<VecDeque<Rc<Waiter>>>,
}

/// A task that waits for a place.
struct Waiter {
    waker: RefCell<Waker>,
    /// It has a place now.
    called: Cell<bool>,
}

impl Turns {
    /// Whether so many shadows wait for a place that no other should begin.
    pub(crate) fn are_crowded(&self) -> bool {
        self.waiting.borrow().len() >= MOST_WAITING
    }

    fn begin(&self, has_place: bool) {
        let share = TURN_STEPS / self.unfinished.get().max(1);
        let waits = !has_place && !self.waiting.borrow().is_empty();
        self.left.set(if waits { LEAST_STEPS } else { share });
    }

    /// Gives a place to an unfinished task, or queues it.
    fn enter(&self, waker: &Waker) -> Result<(), Rc<Waiter>> {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() && self.unfinished.get() < PLACES {
            self.unfinished.set(self.unfinished.get() + 1);
            return Ok(());
        }
        let waiter = Rc::new(Waiter {
            waker: RefCell::new(waker.clone()),
            called: Cell::new(false),
        });
        waiting.push_back(Rc::clone(&waiter));
        Err(waiter)
    }

    /// Gives a place to the task that has waited longest.
    fn leave(&self) {
        let next = || self.waiting.borrow_mut().pop_front();
        while let Some(waiter) = next() {
            // A task that was dropped holds its waiter no more.
            if Rc::strong_count(&waiter) > 1 {
                waiter.called.set(true);
                waiter.waker.borrow().wake_by_ref();
                return;
            }
        }
        self.unfinished.set(self.unfinished.get() - 1);
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

    /// Ready if the slice is not used up; otherwise the task is polled again in the next iteration of the event loop.
    pub(crate) fn poll_go_on(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            // Its first poll hands the waker to the scheduler, which wakes it after it has polled the sockets.
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

/// Runs a task in slices, one for each poll. The caller pins it: moved in, it would take its several kilobytes twice.
pub(crate) async fn sliced<F: Future>(turns: &Turns, mut task: Pin<&mut F>) -> F::Output {
    let mut share = Share {
        turns,
        has_place: false,
        waiter: None,
    };
    poll_fn(move |cx| share.poll(task.as_mut(), cx)).await
}

/// One task's state in the scheduler.
struct Share<'a> {
    turns: &'a Turns,
    has_place: bool,
    /// While it waits for a place.
    waiter: Option<Rc<Waiter>>,
}

impl Share<'_> {
    fn poll<F: Future>(&mut self, task: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if let Some(waiter) = &self.waiter {
            if !waiter.called.get() {
                waiter.waker.borrow_mut().clone_from(cx.waker());
                return Poll::Pending;
            }
            self.has_place = true;
            self.waiter = None;
        }
        self.turns.begin(self.has_place);
        let polled = task.poll(cx);
        let goes_on = polled.is_pending() && self.turns.is_over();
        if goes_on && !self.has_place {
            match self.turns.enter(cx.waker()) {
                Ok(()) => self.has_place = true,
                Err(waiter) => self.waiter = Some(waiter),
            }
        } else if !goes_on {
            self.leave();
        }
        polled
    }

    fn leave(&mut self) {
        if std::mem::take(&mut self.has_place) {
            self.turns.leave();
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let called = self.waiter.take().is_some_and(|waiter| waiter.called.get());
        self.has_place |= called;
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::task::Waker;

    use super::*;

    /// Polls an endless task once; returns how many steps it took.
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
    fn a_few_unfinished_tasks_share_a_slice_and_the_others_wait_in_order() {
        let turns = Rc::new(Turns::default());
        let steps = Cell::new(0);
        let places = PLACES as usize;
        let mut tasks: Vec<_> = (0..places + 3)
            .map(|_| Box::pin(async { sliced(&turns, pin!(endless(&turns, &steps))).await }))
            .collect();
        assert_eq!(
            steps_of_a_poll(&turns, tasks[0].as_mut(), &steps),
            TURN_STEPS as usize
        );
        for task in &mut tasks[1..places] {
            steps_of_a_poll(&turns, task.as_mut(), &steps);
        }
        assert_eq!(
            steps_of_a_poll(&turns, tasks[0].as_mut(), &steps),
            (TURN_STEPS / PLACES) as usize
        );
        // Every place is taken: who comes now gets a first slice, and then waits.
        steps_of_a_poll(&turns, tasks[places].as_mut(), &steps);
        for task in &mut tasks[places + 1..] {
            let first = steps_of_a_poll(&turns, task.as_mut(), &steps);
            assert_eq!(first, LEAST_STEPS as usize);
        }
        for task in &mut tasks[places..] {
            assert_eq!(steps_of_a_poll(&turns, task.as_mut(), &steps), 0);
        }
        // One that is gone gives its place to the first that waits and is still there.
        drop(tasks.remove(places));
        drop(tasks.remove(0));
        let called = steps_of_a_poll(&turns, tasks[places - 1].as_mut(), &steps);
        assert_eq!(called, (TURN_STEPS / PLACES) as usize);
        assert_eq!(steps_of_a_poll(&turns, tasks[places].as_mut(), &steps), 0);
        drop(tasks);
        assert_eq!(turns.unfinished.get(), 0);
        assert!(turns.waiting.borrow().is_empty());
    }

    #[test]
    fn none_begins_while_as_many_wait_as_may() {
        let turns = Rc::new(Turns::default());
        let steps = Cell::new(0);
        let unfinished = || Box::pin(async { sliced(&turns, pin!(endless(&turns, &steps))).await });
        let mut tasks: Vec<_> = (0..PLACES as usize + MOST_WAITING)
            .map(|_| {
                assert!(!turns.are_crowded());
                let mut task = unfinished();
                steps_of_a_poll(&turns, task.as_mut(), &steps);
                task
            })
            .collect();
        assert!(turns.are_crowded());
        // One that has a place is done: the first that waits gets it.
        drop(tasks.remove(0));
        assert!(!turns.are_crowded());
    }
}
