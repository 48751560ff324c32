//! The lines of changes of a process that has no writer of its own: `parity ui`, a sink, and commands.
//!
//! A store may be busy for longer than somebody waits for a page. So one thread writes, the lines wait for it in a short queue, and who
//! asked for the change waits a moment. A line that comes later is still written; one that is lost is told, with all that it said.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result};
use parity_dashboards::server::audit::Auditor;
use parity_schemas::audit::Audit;
use parity_sink::{StoreConfig, record_change};

use crate::error;

/// Lines that wait: more changes than people make while a store is busy.
const WAITING: usize = 32;
/// How long a change waits for its line.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the end of the process waits for the lines.
const AT_END: Duration = Duration::from_secs(2);
/// How often a line is tried. Each waits for a busy store by itself.
const TRIES: usize = 3;

/// A line, and who waits for it.
struct Waiting {
    change: Audit,
    done: SyncSender<Result<(), String>>,
}

/// Writes lines into a store.
pub(crate) struct StoreAuditor {
    instance: String,
    /// `None` when the process ends.
    lines: Option<SyncSender<Waiting>>,
    /// Closed by the thread when it ends.
    ended: std::sync::Mutex<Receiver<()>>,
}

impl StoreAuditor {
    /// For a process of this name. The thread ends with it.
    pub(crate) fn start(store: StoreConfig, instance: String) -> Result<Self> {
        let (lines, waiting) = sync_channel::<Waiting>(WAITING);
        let (ending, ended) = sync_channel::<()>(0);
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                let _ending = ending;
                for Waiting { change, done } in waiting {
                    let written = write(&store, &change);
                    // It is received or nobody waits: the channel has no room in which an answer could be lost.
                    if let Err(unheard) = done.send(written) {
                        told(&change, &unheard.0);
                    }
                }
            })
            .context("cannot start the thread that writes the lines of changes")?;
        Ok(Self {
            instance,
            lines: Some(lines),
            ended: std::sync::Mutex::new(ended),
        })
    }
}

/// Tries until it is written, or has failed often enough.
fn write(store: &StoreConfig, change: &Audit) -> Result<(), String> {
    let mut failed = String::new();
    for _ in 0..TRIES {
        match record_change(store, change) {
            Ok(()) => return Ok(()),
            Err(refused) => {
                let is_final = refused.is_configuration();
                failed = error::line(&refused.into());
                if is_final {
                    break;
                }
            }
        }
    }
    Err(failed)
}

/// What became of a line for which nobody waits any more.
fn told(change: &Audit, written: &Result<(), String>) {
    match written {
        Ok(()) => {
            tracing::info!(id = %change.id, action = %change.action, "the line of a change is in the record now");
        }
        Err(why) => tracing::error!(
            id = %change.id,
            action = %change.action,
            outcome = %change.outcome,
            time = %change.time,
            user = change.user,
            address = change.address,
            subject = change.subject,
            detail = change.detail,
            why,
            "the line of a change is lost: the record does not have it"
        ),
    }
}

impl Auditor for StoreAuditor {
    fn keep(&self, change: &mut Audit) -> Result<(), String> {
        change.instance.clone_from(&self.instance);
        let (done, outcome) = sync_channel(0);
        let waiting = Waiting {
            change: change.clone(),
            done,
        };
        let ended = || "the thread that writes it has ended".to_owned();
        let lines = self.lines.as_ref().ok_or_else(ended)?;
        lines.try_send(waiting).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                format!("{WAITING} others wait for the store already, so this one is lost")
            }
            TrySendError::Disconnected(_) => ended(),
        })?;
        match outcome.recv_timeout(PATIENCE) {
            Ok(written) => written,
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "the store did not take it within {} s; it is tried on, and the log says what becomes of it",
                PATIENCE.as_secs()
            )),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }
}

impl Drop for StoreAuditor {
    fn drop(&mut self) {
        self.lines = None;
        let ended = self
            .ended
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if ended.recv_timeout(AT_END) == Err(RecvTimeoutError::Timeout) {
            tracing::error!(
                "lines of changes that still wait for the store are lost: it did not take them within {} s at the end; the log has each",
                AT_END.as_secs()
            );
        }
    }
}
