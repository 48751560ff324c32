//! What `parity top` does besides drawing: it asks an admin port, and reads keys.
//!
//! Three threads. One asks ([`poll`]) and hands over what it knows; one draws it and reads keys ([`window`]); the one of the
//! command waits for signals. None waits for another one but to end: a port that does not answer delays no key, and
//! whoever is slow misses only what was overtaken.

mod address;
mod lines;
mod poll;
mod port;
mod proof;
mod source;
mod window;

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use parity_dashboards::top::{Connection, snapshot};
use tokio::sync::{oneshot, watch};

pub(crate) use self::address::{Base, base};
pub(crate) use self::port::{LONG, Refused};
pub(crate) use self::source::{Asked, Source};
pub(crate) use self::window::Window;

use self::poll::Poll;

/// The time between the two answers of which one number is made.
const BETWEEN: Duration = Duration::from_secs(1);

/// Everything once, as text. That a port does not answer is told in it, too, if anything was answered; else it is an error.
pub(crate) fn once(source: &Source) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime of the client")?;
    let mut poll = Poll::new(source);
    runtime.block_on(async {
        // Two answers tell how many requests a second there are. The record is read once, right behind the second one, so that all of the
        // screen is of one moment, as far as several answers can be.
        let Some(is_of_mirror) = poll.meets().await else {
            return;
        };
        if is_of_mirror {
            tokio::time::sleep(BETWEEN).await;
        }
        poll.ask(|_| {}).await;
    });
    let seen = poll.into_seen();
    match &seen.connection {
        Connection::Lost {
            why, last: None, ..
        } => Err(anyhow!("{why}")),
        _ => Ok(snapshot(&seen)),
    }
}

/// Begins to ask and to draw. The second one comes when somebody quits.
pub(crate) fn live(
    source: Source,
    interval: Duration,
    colors: bool,
) -> Result<(Window, oneshot::Receiver<()>)> {
    let (stop, stopped) = watch::channel(false);
    let (known, paused) = (window::Board::default(), watch::channel(false));
    let (pausing, pause) = paused;
    let asking = {
        let known = known.clone();
        std::thread::Builder::new()
            .name("top-asks".to_owned())
            .spawn(move || poll::run(&source, interval, &known, stopped, pause))
            .context("cannot start the thread that asks")?
    };
    Window::open(known, colors, stop, pausing, asking)
}
