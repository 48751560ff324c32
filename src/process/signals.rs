//! Signals of the operating system, as the commands understand them.

use std::cell::Cell;
use std::future::Future;
use std::io::IsTerminal as _;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parity_schemas::time::Timestamp;
use tokio::signal::{self, unix::SignalKind};

/// The same ending signal again within this time is not a second request: `timeout` and shells send one to the process and
/// to its group, so that it comes twice. A person who presses Ctrl-C twice is slower, or presses it once more.
const ECHO: Duration = Duration::from_millis(200);

/// Ignores SIGXFSZ, which by default ends the process when a file grows beyond `ulimit -f`. The write then fails with an
/// error, as on a full disk. Every command calls this before it writes a file.
pub(crate) fn survive_file_size_limit() -> Result<()> {
    let exceeded = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("the signal runtime")?;
    let _entered = runtime.enter();
    // Tokio never restores the default action of a signal that it has listened to, even after the listener is dropped.
    let _listening = signal::unix::signal(exceeded).context("cannot listen to SIGXFSZ")?;
    Ok(())
}

/// A signal of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGTERM or SIGINT.
    End,
    /// SIGUSR1 stops shadowing.
    ShadowingOff,
    /// SIGUSR2 starts it.
    ShadowingOn,
    /// SIGHUP reloads the configuration, where there is one to reload.
    Reload,
    /// Not a signal: the time of an [`Alarm`] has come.
    Alarm,
}

/// What SIGHUP means to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// Ends the command, as most programs do.
    Ends,
    /// Reloads the configuration. Ends the command only if the terminal that it was started from was closed.
    Reloads,
}

/// A point in time at which to be woken: a clock time, not a duration.
#[derive(Clone, Default)]
pub(crate) struct Alarm(Rc<Cell<Option<Timestamp>>>);

impl Alarm {
    /// Sets it; `None` for never.
    pub(crate) fn set(&self, time: Option<Timestamp>) {
        self.0.set(time);
    }

    /// Waits until its time has come, and unsets it.
    async fn due(&self) {
        /// Clocks are adjusted and machines are suspended, so a long sleep is cut into pieces of this length.
        const LOOK: Duration = Duration::from_secs(30);
        loop {
            let left = self.0.get().map(|time| {
                let micros = time.as_micros() - Timestamp::now().as_micros();
                Duration::from_micros(u64::try_from(micros).unwrap_or(0))
            });
            match left {
                None => std::future::pending().await,
                Some(Duration::ZERO) => break,
                Some(left) => tokio::time::sleep(left.min(LOOK)).await,
            }
        }
        self.0.set(None);
    }
}

/// The ending signals so far, to tell a second request from an echo of the first.
#[derive(Default)]
struct Endings(Option<(SignalKind, Instant)>);

impl Endings {
    /// Whether this one only repeats the last one.
    fn is_echo(&mut self, kind: SignalKind, now: Instant) -> bool {
        let echo = self
            .0
            .is_some_and(|(last, at)| last == kind && now.saturating_duration_since(at) < ECHO);
        if !echo {
            self.0 = Some((kind, now));
        }
        echo
    }
}

/// The signals that this program listens to, from its creation on. A signal that arrives before [`Signals::wait`] is not
/// lost, and none has its default action any more.
pub(crate) struct Signals {
    runtime: tokio::runtime::Runtime,
    terminate: signal::unix::Signal,
    interrupt: signal::unix::Signal,
    shadowing_off: signal::unix::Signal,
    shadowing_on: signal::unix::Signal,
    hangup: signal::unix::Signal,
    meaning: Hangup,
    alarm: Alarm,
    endings: Endings,
    /// Whether the command was started from a terminal.
    terminal: bool,
}

impl Signals {
    /// Begins to listen. Call it before starting anything that a signal should end.
    pub(crate) fn listen(meaning: Hangup) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the signal runtime")?;
        let entered = runtime.enter();
        let listen = |kind, name| {
            signal::unix::signal(kind).with_context(|| format!("cannot listen to {name}"))
        };
        let terminate = listen(SignalKind::terminate(), "SIGTERM")?;
        let interrupt = listen(SignalKind::interrupt(), "SIGINT")?;
        let shadowing_off = listen(SignalKind::user_defined1(), "SIGUSR1")?;
        let shadowing_on = listen(SignalKind::user_defined2(), "SIGUSR2")?;
        let hangup = listen(SignalKind::hangup(), "SIGHUP")?;
        drop(entered);
        Ok(Self {
            runtime,
            terminate,
            interrupt,
            shadowing_off,
            shadowing_on,
            hangup,
            meaning,
            alarm: Alarm::default(),
            endings: Endings::default(),
            terminal: std::io::stdin().is_terminal(),
        })
    }

    /// The runtime in which [`Self::wait`] runs, for whatever else must run in it.
    pub(crate) fn runtime(&self) -> &tokio::runtime::Runtime {
        &self.runtime
    }

    /// Sets when [`Signal::Alarm`] comes.
    pub(crate) fn alarm(&self) -> Alarm {
        self.alarm.clone()
    }

    /// Passes signals to `on`, until `on` returns true or `done` completes.
    pub(crate) fn wait(
        &mut self,
        done: impl Future<Output = ()>,
        mut on: impl FnMut(Signal) -> bool,
    ) {
        let Self {
            runtime,
            terminate,
            interrupt,
            shadowing_off,
            shadowing_on,
            hangup,
            meaning,
            alarm,
            endings,
            terminal,
        } = self;
        let hung_up = || {
            // When the terminal was closed, stdin no longer refers to one.
            let closed = *terminal && !std::io::stdin().is_terminal();
            match meaning {
                Hangup::Reloads if !closed => Signal::Reload,
                Hangup::Reloads | Hangup::Ends => Signal::End,
            }
        };
        runtime.block_on(async {
            tokio::pin!(done);
            loop {
                let mut ending = |kind| {
                    let echo = endings.is_echo(kind, Instant::now());
                    (!echo).then_some(Signal::End)
                };
                let received = tokio::select! {
                    _ = terminate.recv() => ending(SignalKind::terminate()),
                    _ = interrupt.recv() => ending(SignalKind::interrupt()),
                    _ = shadowing_off.recv() => Some(Signal::ShadowingOff),
                    _ = shadowing_on.recv() => Some(Signal::ShadowingOn),
                    _ = hangup.recv() => Some(hung_up()),
                    () = alarm.due() => Some(Signal::Alarm),
                    () = &mut done => return,
                };
                if received.is_some_and(&mut on) {
                    return;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_signal_that_comes_twice_at_once_is_one_request() {
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        let began = Instant::now();
        let mut endings = Endings::default();
        let told: Vec<bool> = [
            (terminate, 0),
            (terminate, 1),
            (terminate, 199),
            (terminate, 200),
            (interrupt, 201),
            (terminate, 202),
            (terminate, 203),
        ]
        .into_iter()
        .map(|(kind, at)| endings.is_echo(kind, began + Duration::from_millis(at)))
        .collect();
        assert_eq!(told, [false, true, true, false, false, false, true]);
    }
}
