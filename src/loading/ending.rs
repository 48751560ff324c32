//! Ends a load: by a signal, whatever it is doing at that time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parity_dashboards::terminal;
use parity_mirror::load::Live;

/// Shared by what loads and what waits for signals.
#[derive(Default)]
pub(crate) struct Ending {
    state: Mutex<State>,
    woken: Condvar,
    /// Whether each thing that it does is a line on stderr: where there is no terminal with a line that moves.
    prints: bool,
}

#[derive(Default)]
struct State {
    is_ended: bool,
    /// What is under way.
    lives: Vec<Arc<Live>>,
    /// What it is doing, for a person.
    told: String,
}

impl Ending {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all that is under way, and all that would come.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.is_ended = true;
        for live in state.lives.drain(..) {
            live.stop();
        }
        drop(state);
        self.woken.notify_all();
    }

    /// Whether it was ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.state().is_ended
    }

    /// The control of one step.
    pub(crate) fn live(&self) -> Arc<Live> {
        let live = Arc::<Live>::default();
        let mut state = self.state();
        if state.is_ended {
            live.stop();
        }
        // Those of steps that have ended are held by nobody else.
        state.lives.retain(|live| Arc::strong_count(live) > 1);
        state.lives.push(Arc::clone(&live));
        live
    }

    /// Waits for that long, or until it is ended.
    pub(crate) fn pause(&self, time: Duration) {
        let state = self.state();
        let waited = self
            .woken
            .wait_timeout_while(state, time, |state| !state.is_ended);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// One that prints what it does.
    pub(crate) fn printing(prints: bool) -> Self {
        Self {
            prints,
            ..Self::default()
        }
    }

    /// Says what it is doing.
    pub(crate) fn tell(&self, told: String) {
        if self.prints {
            terminal::note(&told);
        }
        self.state().told = told;
    }

    /// What it is doing, and how many requests were answered and not.
    pub(crate) fn told(&self) -> String {
        let state = self.state();
        let live = state
            .lives
            .iter()
            .filter(|live| Arc::strong_count(live) > 1);
        let counts: Vec<String> = live
            .map(|live| match live.failed() {
                0 => format!("{} answers", live.answered()),
                failed => format!("{} answers, {failed} failed", live.answered()),
            })
            .collect();
        format!("{} · {}", state.told, counts.join(" · "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_and_what_comes_later_is_ended() {
        let ending = Ending::default();
        let before = ending.live();
        assert!(!before.is_stopped());
        ending.end();
        // Would last for an hour.
        ending.pause(Duration::from_hours(1));
        assert!(before.is_stopped() && ending.live().is_stopped() && ending.is_ended());
    }
}
