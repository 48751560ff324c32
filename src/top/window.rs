//! The terminal: draws what is known, reads keys, and leaves the terminal as it was, whatever ends it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use parity_dashboards::top::{Press, Screen, Seen, draw};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::{oneshot, watch};

/// How long a key is waited for before it is looked whether anything is new.
const LOOK: Duration = Duration::from_millis(100);

/// How long the thread that draws may take to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the thread that asks puts what it knows, and the one that draws takes it. Only the latest is kept.
#[derive(Clone, Default)]
pub(super) struct Board(Arc<Mutex<Posted>>);

#[derive(Default)]
struct Posted {
    seen: Option<Seen>,
    failed: Option<String>,
}

impl Board {
    pub(super) fn show(&self, seen: &Seen) {
        self.with(|posted| posted.seen = Some(seen.clone()));
    }

    /// There will be nothing.
    pub(super) fn failed(&self, why: String) {
        self.with(|posted| posted.failed = Some(why));
    }

    fn with<T>(&self, act: impl FnOnce(&mut Posted) -> T) -> T {
        // What is posted is replaced as a whole, so a panic leaves nothing half done.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The threads that draw and ask.
pub(crate) struct Window {
    stop: watch::Sender<bool>,
    drawing: JoinHandle<Result<()>>,
    asking: JoinHandle<()>,
}

/// The terminal as it is while something is drawn. It is as it was before when this is gone, also by a panic.
struct Terminal(ratatui::DefaultTerminal);

impl Terminal {
    fn take() -> io::Result<Self> {
        // It also restores the terminal before a panic is told, or nobody could read that.
        Ok(Self(ratatui::try_init()?))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone cannot be restored.
        let _gone = ratatui::try_restore();
    }
}

impl Window {
    pub(super) fn open(
        board: Board,
        colors: bool,
        stop: watch::Sender<bool>,
        pausing: watch::Sender<bool>,
        asking: JoinHandle<()>,
    ) -> Result<(Self, oneshot::Receiver<()>)> {
        let (quit, ended) = oneshot::channel();
        let stopped = stop.subscribe();
        let drawing = std::thread::Builder::new()
            .name("top-draws".to_owned())
            .spawn(move || {
                // Its end is told by dropping it, however the thread ends.
                let _quit: oneshot::Sender<()> = quit;
                run(&board, colors, &stopped, &pausing)
            })
            .context("cannot start the thread that draws")?;
        Ok((
            Self {
                stop,
                drawing,
                asking,
            },
            ended,
        ))
    }

    /// Ends both threads, and says what went wrong with the terminal.
    pub(crate) fn finish(self) -> Result<()> {
        self.stop.send_replace(true);
        // Where the terminal is gone, the library that reads its keys may never return: the process ends without that thread.
        let asked_at = Instant::now();
        while !self.drawing.is_finished() {
            if asked_at.elapsed() > PATIENCE {
                return Err(anyhow!("the terminal is gone"));
            }
            std::thread::sleep(LOOK / 10);
        }
        let drawn = self.drawing.join();
        let asked = self.asking.join();
        drawn.map_err(|_| anyhow!("drawing ended by a panic"))??;
        asked.map_err(|_| anyhow!("asking ended by a panic"))
    }
}

fn run(
    board: &Board,
    colors: bool,
    stopped: &watch::Receiver<bool>,
    pausing: &watch::Sender<bool>,
) -> Result<()> {
    let mut terminal = Terminal::take().context("cannot draw on this terminal")?;
    let mut screen = Screen::default();
    let mut seen = Seen::nothing("");
    let mut is_new = true;
    while !*stopped.borrow() {
        let (posted, failed) = board.with(|posted| (posted.seen.take(), posted.failed.take()));
        if let Some(why) = failed {
            return Err(anyhow!("{why}"));
        }
        if let Some(posted) = posted {
            seen = posted;
            is_new = true;
        }
        if is_new {
            let drawn = terminal.0.draw(|frame| draw(frame, &screen, &seen, colors));
            drawn.context("the terminal is gone")?;
            is_new = false;
        }
        if !event::poll(LOOK).context("the terminal is gone")? {
            continue;
        }
        is_new = true;
        match event::read().context("the terminal is gone")? {
            Event::Key(key) if is_quit(&key) => return Ok(()),
            Event::Key(key) => {
                if let Some(press) = press(&key) {
                    screen.press(press, &seen);
                    pausing.send_replace(screen.paused);
                }
            }
            // A new size is drawn by the next round.
            _ => {}
        }
    }
    Ok(())
}

fn is_quit(key: &KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('q') => !control,
        KeyCode::Char('c' | 'd') => control,
        _ => false,
    }
}

fn press(key: &KeyEvent) -> Option<Press> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Up | KeyCode::Char('k') => Press::Up,
        KeyCode::Down | KeyCode::Char('j') => Press::Down,
        KeyCode::PageUp => Press::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Press::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Press::First,
        KeyCode::End | KeyCode::Char('G') => Press::Last,
        KeyCode::Enter | KeyCode::Char('o') => Press::Open,
        KeyCode::Esc | KeyCode::Backspace | KeyCode::Char('u') => Press::Back,
        KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => Press::Next,
        KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => Press::Previous,
        KeyCode::Char('p') => Press::Pause,
        KeyCode::Char('?') => Press::Help,
        KeyCode::Char(digit @ '1'..='9') => Press::Pane(usize::try_from(digit.to_digit(10)?).ok()?),
        _ => Press::Other,
    })
}
