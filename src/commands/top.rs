//! `parity top`: the overview of an admin port, live in a terminal; without one, once as text.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::{Context, Result};
use parity_dashboards::terminal;
use tokio::signal::unix;

use crate::cli::TopArgs;
use crate::process::signals::{Hangup, Signal, Signals};
use crate::top::{Asked, Source, live, once};

/// Runs it.
pub(crate) fn run(args: &TopArgs) -> Result<ExitCode> {
    let asked = Asked {
        migration: args.migration.clone(),
        since: args.since.clone(),
    };
    let source = Source::new(&args.port.admin, args.port.files(), asked)?;
    if args.once || !is_screen() {
        terminal::print(&once(&source)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut signals = Signals::listen(Hangup::Ends)?;
    let mut quit = {
        // By default it ends the process at once, and the terminal would stay as the screen needs it.
        let _entered = signals.runtime().enter();
        unix::signal(unix::SignalKind::quit()).context("cannot listen to SIGQUIT")?
    };
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    let colors = choice != anstream::ColorChoice::Never;
    let (window, ended) = live(source, args.interval, colors)?;
    signals.wait(
        async {
            tokio::select! {
                // An error means that the window is gone, which ends it, too.
                _ended = ended => {}
                _ = quit.recv() => {}
            }
        },
        |signal| signal == Signal::End,
    );
    window.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Whether there is a screen to draw on and a keyboard.
fn is_screen() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !dumb && std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}
