//! The rollout of a mirror: lets the candidate serve a growing share of the clients, and takes them back.
//!
//! The workers know only a share ([`parity_mirror::MirrorHandle::set_rollout`]); whoever may change it is here. It rises only while the
//! gate passes, only when the candidate has served enough by then and did well ([`proof`]), and only when the new state is on disk: after a restart it must not be higher than it was. It falls at once, and
//! stays down until a person says otherwise: because the gate fails, because the candidate does worse than the legacy
//! ([`watch`]), or because it is down, which the workers see first.
//!
//! Two threads. One looks several times a second; the other one asks the gate, which may take as long as reading a store does.
//! Neither is waited for by a request.

mod admin;
mod deciding;
mod keeping;
mod line;
mod moving;
mod proof;
mod series;
mod served;
mod state;
mod steering;
mod watch;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use parity_dashboards::server::audit::{self, Auditor};
use parity_mirror::{MirrorHandle, RolloutBy};
use parity_schemas::audit::{Audit, AuditSource};
use parity_schemas::clients::Clients;
use parity_schemas::rollout::RolloutGate;
use parity_schemas::time::Timestamp;
use parity_sink::TallyBook;
use prometheus_client::registry::Registry;

use self::deciding::Deciding;
use self::line::{Held, Line};
use self::series::Series;
use self::served::Trial;
use self::state::{Owned, Saved, Served, target};
use self::watch::Watch;
use crate::config::{MirrorSettings, RolloutSettings};

/// Pause between two looks: the time until a candidate that does worse is left. One that is down is left before.
const LOOK: Duration = Duration::from_millis(200);
/// Who falls back when no person does.
const OURSELVES: &str = "parity";

/// What steers the rollout of one mirror.
pub(crate) struct Controller {
    settings: RolloutSettings,
    mirror: MirrorHandle,
    deciding: Deciding,
    /// What became of all requests, also of those that the candidate may not serve.
    book: Arc<TallyBook>,
    inner: Mutex<Inner>,
}

struct Inner {
    saved: Saved,
    /// What is served now, by the settings as they were read last.
    served: Served,
    /// That the file is ours while the process runs.
    owned: Owned,
    /// Whether it fell back here while the file was not ours.
    fell_alone: bool,
    /// Whether the file lags behind.
    unsaved: Option<String>,
    /// What is wanted and kept back by a fall back, as far as it was told.
    blocked: f64,
    watch: Watch,
    /// What the candidate did for clients, beside what it did as a shadow.
    trial: Trial,
    /// What clients had got when the percent came into force.
    since: Clients,
    waits: Option<String>,
    gate: Option<RolloutGate>,
    /// The step that is held, as it was last kept in the record.
    held: Option<Held>,
    /// Lines of what was done where nobody may wait for the record.
    unwritten: Vec<Line>,
}

/// The threads that steer. Both end when this is dropped; one that waits for a store ends when it has its answer.
pub(crate) struct Steering {
    stops: [Sender<()>; 2],
    look: JoinHandle<()>,
}

impl Controller {
    /// Goes on where the process before ended, but never higher, and registers its metrics. `None` without a rollout.
    pub(crate) fn of(
        settings: &MirrorSettings,
        mirror: MirrorHandle,
        book: Arc<TallyBook>,
        registry: &mut Registry,
    ) -> Option<Arc<Self>> {
        let mut rollout = settings.rollout.clone()?;
        rollout.state_file = state::itself(&rollout.state_file);
        let served = Served::of(settings);
        let mut owned = Owned::default();
        let unsaved = owned
            .take(&rollout.state_file)
            .err()
            .map(|error| error.to_string());
        let saved = Saved::open(&rollout.state_file, &served, &rollout.plan);
        let mut this = Self {
            deciding: Deciding::new(settings, rollout.max_mismatch_rate),
            settings: rollout,
            mirror,
            book,
            inner: Mutex::new(Inner {
                trial: Trial::of(saved.pairs),
                saved,
                served,
                owned,
                fell_alone: false,
                unsaved,
                blocked: 0.0,
                watch: Watch::default(),
                since: Clients::new(),
                waits: None,
                gate: None,
                held: None,
                unwritten: Vec::new(),
            }),
        };
        if this.settings.by == RolloutBy::Address {
            tracing::warn!(
                "rollout.by = \"address\": behind a load balancer all clients have its address, and are served by the candidate all at once or \
                 not at all; choose a header or a cookie there"
            );
        }
        let inner = this.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        let wanted = target(&this.settings.plan, &inner.saved, Timestamp::now());
        if wanted < inner.saved.percent {
            inner.saved.is_at(wanted, Timestamp::now());
        }
        // Where the file cannot be written, a fall back may be missing in it.
        if inner.saved.percent > 0.0
            && let Err(error) = match &inner.unsaved {
                None => inner.saved.write(&this.settings.state_file),
                Some(why) => Err(io::Error::other(why.clone())),
            }
        {
            tracing::warn!(%error, "the file of the rollout cannot be written: it begins at 0 %");
            inner.saved.is_at(0.0, Timestamp::now());
        }
        this.mirror.set_rollout(inner.saved.percent);
        let this = Arc::new(this);
        registry.register_collector(Box::new(Series(Arc::clone(&this))));
        Some(this)
    }

    /// Begins to steer. What is changed has its line by `auditor`.
    pub(crate) fn start(self: &Arc<Self>, auditor: &Arc<dyn Auditor>) -> Result<Steering> {
        let (stop_look, stopped) = channel();
        let look = self.thread("rollout", auditor, stopped, LOOK, Self::look)?;
        let (stop_gate, stopped) = channel();
        let every = self.settings.gate_interval;
        // Not waited for at the end: it may wait for a store.
        let _detached = self.thread("rollout-gate", auditor, stopped, every, Self::ask_gate)?;
        Ok(Steering {
            stops: [stop_look, stop_gate],
            look,
        })
    }

    fn thread(
        self: &Arc<Self>,
        name: &str,
        auditor: &Arc<dyn Auditor>,
        stopped: Receiver<()>,
        every: Duration,
        work: fn(&Self) -> Vec<Line>,
    ) -> Result<JoinHandle<()>> {
        let (this, auditor) = (Arc::clone(self), Arc::clone(auditor));
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                loop {
                    this.keep(work(&this), &*auditor);
                    if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                }
                // What was done since the last look; the gate's thread may wait for a store then, and finds nothing left.
                let unwritten = std::mem::take(&mut this.lock().unwritten);
                this.keep(unwritten, &*auditor);
            })
            .context("cannot start a thread of the rollout")
    }

    /// Keeps lines of what was done in the record.
    fn keep(&self, lines: Vec<Line>, auditor: &dyn Auditor) {
        for line in lines {
            // First, so that the line can name it.
            let decision = self.deciding.keep(line.decision);
            let Some(action) = line.action else { continue };
            let change = Audit {
                detail: line.detail,
                subject: decision.map_or_else(String::new, |id| id.to_string()),
                // When it was done, as the status says it, and not when the record was free for it.
                time: line.at,
                ..audit::line(action, AuditSource::Clock)
            };
            audit::keep(auditor, change);
        }
    }

    /// The settings were read again. Of another version, at another address or by other rules nothing is proven, so nobody is served by it.
    pub(crate) fn reload(&self, settings: &MirrorSettings) {
        self.deciding.reload(settings);
        let served = Served::of(settings);
        let mut inner = self.lock();
        inner.served = served.clone();
        if let Some(other) = inner.saved.other_than(&served) {
            tracing::warn!(
                other,
                from = inner.saved.percent,
                "the rollout begins anew at 0 %"
            );
            self.mirror.set_rollout(0.0);
            let (from, at) = (inner.saved.percent, Timestamp::now());
            inner.saved.begin_anew(&served);
            if from > 0.0 {
                inner.saved.is_at(0.0, at);
                let why = format!("{other}, of which nothing is proven");
                inner.unwritten.push(Line::set(from, 0.0, why, at));
            }
            inner.waits = None;
            inner.gate = None;
            inner.held = None;
            inner.watch = Watch::default();
            inner.trial = Trial::anew(self.mirror.rollout_seen().tried);
            self.begin(&mut inner);
            self.save(&mut inner);
        }
    }

    /// Nothing here panics while it holds the lock, and what it guards is complete at every moment.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Steering {
    /// Stops to steer: the share stays as it is, and is left to a successor.
    pub(crate) fn end(self) {
        drop(self.stops);
        if self.look.join().is_err() {
            tracing::error!("the thread of the rollout ended by a panic");
        }
    }
}
