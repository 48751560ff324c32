//! `parity top`: the overview, live in a terminal, for those who have ssh and no browser.
//!
//! It draws the models of [`view`](crate::view), which it makes of the same documents that the API answers
//! ([`seen`]), as lines ([`panes`], [`detail`]) in the order of a night: do clients get their answers, does parity hold, can
//! this be trusted, since when not, what differs, what is not known yet. [`draw`] puts the lines on a screen of any size, and
//! [`snapshot`] prints them where there is no screen. Where the documents come from and what a key is called is the
//! program's business; here is no I/O.

mod detail;
mod draw;
mod meter;
mod panes;
mod seen;
mod spark;
#[cfg(test)]
mod tests;

use ratatui::text::Line;

pub use self::draw::draw;
pub use self::meter::{Live, Meter, Overhead};
pub use self::panes::Pane;
pub use self::seen::{Connection, Process, Seen};

use self::panes::{lines, moment};

/// What somebody pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the first.
    First,
    /// To the last.
    Last,
    /// Show what is selected.
    Open,
    /// Back to the list; on the list, nothing.
    Back,
    /// The next pane.
    Next,
    /// The pane before.
    Previous,
    /// The pane of this number, from 1.
    Pane(usize),
    /// Stop or go on asking.
    Pause,
    /// Show the keys.
    Help,
    /// A key that does nothing but to close those.
    Other,
}

/// What is open, and where somebody is in it. What is shown is [`Seen`].
#[derive(Debug, Default)]
pub struct Screen {
    pane: Pane,
    /// The line that is selected in each pane.
    selected: [usize; Pane::ALL.len()],
    /// What is shown of it alone, by its name: it is still that one when another one has become graver.
    opened: Option<detail::Opened>,
    /// Lines that are scrolled over in what is opened.
    scrolled: usize,
    help: bool,
    /// Nothing new is asked for.
    pub paused: bool,
}

/// Lines of a screen that is scrolled by page.
const PAGE: usize = 10;

impl Screen {
    /// Does what a key says.
    pub fn press(&mut self, press: Press, seen: &Seen) {
        if self.help {
            self.help = false;
            return;
        }
        match press {
            Press::Other => {}
            Press::Help => self.help = true,
            Press::Pause => self.paused = !self.paused,
            Press::Back => self.close(),
            Press::Open if self.opened.is_some() => self.close(),
            Press::Open => self.open(seen),
            Press::Next => self.turn(1),
            Press::Previous => self.turn(Pane::ALL.len() - 1),
            Press::Pane(number) => {
                if let Some(pane) = number.checked_sub(1).and_then(|at| Pane::ALL.get(at)) {
                    self.close();
                    self.pane = *pane;
                }
            }
            Press::Up => self.go(|at| at.saturating_sub(1), seen),
            Press::Down => self.go(|at| at.saturating_add(1), seen),
            Press::PageUp => self.go(|at| at.saturating_sub(PAGE), seen),
            Press::PageDown => self.go(|at| at.saturating_add(PAGE), seen),
            Press::First => self.go(|_| 0, seen),
            Press::Last => self.go(|_| usize::MAX, seen),
        }
    }

    fn turn(&mut self, by: usize) {
        self.close();
        self.pane = Pane::ALL[(self.pane as usize + by) % Pane::ALL.len()];
    }

    fn close(&mut self) {
        self.opened = None;
        self.scrolled = 0;
    }

    fn open(&mut self, seen: &Seen) {
        // In a pane without anything to open, what differs is meant.
        if self.pane != Pane::Routes {
            self.pane = Pane::Differences;
        }
        let names = detail::names(self.pane, seen);
        self.opened = names.into_iter().nth(self.at(self.pane));
        self.scrolled = 0;
    }

    fn go(&mut self, to: impl Fn(usize) -> usize, seen: &Seen) {
        if self.opened.is_some() {
            self.scrolled = to(self.scrolled);
            return;
        }
        let last = lines(self.pane, seen).len().saturating_sub(1);
        let at = &mut self.selected[self.pane as usize];
        *at = to(*at).min(last);
    }

    fn at(&self, pane: Pane) -> usize {
        self.selected[pane as usize]
    }
}

/// Everything as text, once, for where there is no screen: the same lines, one pane after the other.
pub fn snapshot(seen: &Seen) -> String {
    let mut text = format!("{}\n", seen.title());
    for pane in Pane::ALL {
        let moment = moment(pane, seen);
        let moment = moment.map_or_else(String::new, |moment| format!(" ({moment})"));
        text.extend(["\n", pane.name(), &moment, "\n"]);
        for line in lines(pane, seen) {
            text.extend(["  ", plain(&line).trim_end(), "\n"]);
        }
    }
    text
}

fn plain(line: &Line<'_>) -> String {
    line.spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect()
}
