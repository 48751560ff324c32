//! The rollout of a mirror: lets the candidate serve a growing share of the clients, and takes them back.
//!
//! The workers know only a share ([`parity_mirror::MirrorHandle::set_rollout`]); whoever may change it is here. It rises only while the
//! gate passes, and only when the new state is on disk: after a restart it must not be higher than it was. It falls at once, and
//! stays down until a person says otherwise: because the gate fails, because the candidate does worse than the legacy
//! ([`watch`]), or because it is down, which the workers see first.
//!
//! Two threads. One looks several times a second; the other one asks the gate, which may take as long as reading a store does.
//! Neither is waited for by a request.

mod deciding;
mod series;
mod state;
mod watch;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parity_dashboards::server::RolloutAdmin;
use parity_dashboards::server::audit::{self, Auditor};
use parity_mirror::MirrorHandle;
use parity_schemas::audit::{Audit, AuditAction, AuditSource};
use parity_schemas::rollout::{
    ROLLOUT_SCHEMA, RolloutChange, RolloutDocument, RolloutFall, RolloutSide,
};
use parity_schemas::time::Timestamp;
use prometheus_client::registry::Registry;

use self::deciding::{Deciding, Judged};
use self::series::Series;
use self::state::{Saved, next, target};
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
    inner: Mutex<Inner>,
}

struct Inner {
    saved: Saved,
    /// Whether the file lags behind.
    unsaved: Option<String>,
    watch: Watch,
    waits: Option<String>,
    gate: Option<String>,
}

/// The threads that steer. Both end when this is dropped; one that waits for a store ends when it has its answer.
pub(crate) struct Steering {
    stops: [Sender<()>; 2],
    look: JoinHandle<()>,
}

/// A line of what was changed without a person.
type Line = (AuditAction, String);

impl Controller {
    /// Goes on where the process before ended, but never higher, and registers its metrics. `None` without a rollout.
    pub(crate) fn of(
        settings: &MirrorSettings,
        mirror: MirrorHandle,
        registry: &mut Registry,
    ) -> Option<Arc<Self>> {
        let rollout = settings.rollout.clone()?;
        let saved = Saved::open(&rollout.state_file, &settings.identity, &rollout.plan);
        let mut this = Self {
            deciding: Deciding::new(settings, rollout.max_mismatch_rate),
            settings: rollout,
            mirror,
            inner: Mutex::new(Inner {
                saved,
                unsaved: None,
                watch: Watch::default(),
                waits: None,
                gate: None,
            }),
        };
        let inner = this.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        let wanted = target(&this.settings.plan, &inner.saved, Timestamp::now());
        inner.saved.percent = inner.saved.percent.min(wanted);
        // Where the file cannot be written, a fall back may be missing in it.
        if inner.saved.percent > 0.0
            && let Err(error) = inner.saved.write(&this.settings.state_file)
        {
            tracing::warn!(%error, "the file of the rollout cannot be written: it begins at 0 %");
            inner.saved.percent = 0.0;
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
                    for (action, detail) in work(&this) {
                        let line = audit::line(action, AuditSource::Clock);
                        audit::keep(&*auditor, Audit { detail, ..line });
                    }
                    if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                }
            })
            .context("cannot start a thread of the rollout")
    }

    /// The settings were read again. Of another version nothing is proven, so nobody is served by it.
    pub(crate) fn reload(&self, settings: &MirrorSettings) {
        self.deciding.reload(settings);
        let mut inner = self.lock();
        if !inner.saved.is_of(&settings.identity) {
            self.mirror.set_rollout(0.0);
            inner.saved.begin_anew(&settings.identity);
            inner.waits = None;
            inner.gate = None;
            inner.watch = Watch::default();
            self.save(&mut inner);
        }
    }

    /// What a shorter interval would notice no better: whether somebody must be taken back, or the plan wants less.
    fn look(&self) -> Vec<Line> {
        let seen = self.mirror.rollout_seen();
        let is_down = self.mirror.take_candidate_down();
        let mut inner = self.lock();
        let mut lines = Vec::new();
        if inner.saved.percent > 0.0 {
            let why = if is_down {
                Some(
                    "the candidate is down: it did not answer several requests in a row".to_owned(),
                )
            } else {
                inner.watch.breach(&seen, &self.settings.bounds)
            };
            lines.extend(why.map(|why| self.fall(&mut inner, OURSELVES, why)));
        }
        inner
            .watch
            .keep(seen, Instant::now(), self.settings.bounds.window);
        let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
        if wanted < inner.saved.percent {
            let from = inner.saved.percent;
            self.mirror.set_rollout(wanted);
            inner.saved.percent = wanted;
            self.save(&mut inner);
            let detail = format!("{from} % → {wanted} %: the configuration wants no more");
            lines.push((AuditAction::RolloutSet, detail));
        }
        if inner.unsaved.is_some() {
            self.save(&mut inner);
        }
        lines
    }

    /// Asks the gate, if that can change anything.
    fn ask_gate(&self) -> Vec<Line> {
        {
            let inner = self.lock();
            let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
            if inner.saved.percent <= 0.0 && wanted <= 0.0 {
                return Vec::new();
            }
        }
        let (judged, of) = self.deciding.judge();
        let mut inner = self.lock();
        if !inner.saved.is_of(&of) {
            return Vec::new();
        }
        inner.gate = Some(judged.told(Timestamp::now()));
        let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
        let from = inner.saved.percent;
        inner.waits = None;
        match judged {
            Judged::Fail(why) if from > 0.0 => {
                vec![self.fall(&mut inner, OURSELVES, format!("the gate fails: {why}"))]
            }
            _ if wanted <= from => Vec::new(),
            Judged::Fail(why) => {
                inner.waits = Some(format!("the gate fails: {why}"));
                Vec::new()
            }
            Judged::Undecided(why) => {
                inner.waits = Some(why);
                Vec::new()
            }
            Judged::Pass => match self.rise(&mut inner, wanted, None) {
                Ok(()) => {
                    let detail = format!("{from} % → {wanted} %: the gate passes");
                    vec![(AuditAction::RolloutSet, detail)]
                }
                Err(why) => {
                    inner.waits = Some(why);
                    Vec::new()
                }
            },
        }
    }

    /// Raises the share, once that is on disk. An error says why it stays.
    fn rise(
        &self,
        inner: &mut Inner,
        percent: f64,
        set: Option<RolloutChange>,
    ) -> Result<(), String> {
        if !self.mirror.candidate_reachable() {
            return Err("the candidate is down".to_owned());
        }
        let mut raised = inner.saved.clone();
        raised.percent = percent;
        if set.is_some() {
            raised.set = set;
            raised.fell_back = None;
        }
        raised.write(&self.settings.state_file).map_err(|error| {
            format!("a restart would not know of it, because the state cannot be kept: {error}")
        })?;
        let from = inner.saved.percent;
        if from <= 0.0 {
            // What was before says nothing of those who come now.
            inner.watch = Watch::default();
            let _before = self.mirror.take_candidate_down();
        }
        inner.saved = raised;
        inner.unsaved = None;
        inner.waits = None;
        self.mirror.set_rollout(percent);
        tracing::info!(from, percent, "the candidate serves more clients");
        Ok(())
    }

    /// Takes all clients back.
    fn fall(&self, inner: &mut Inner, who: &str, reason: String) -> Line {
        self.mirror.set_rollout(0.0);
        let from = inner.saved.percent;
        tracing::warn!(from, who, reason, "the rollout falls back to the legacy");
        let detail = format!("{from} % → 0 %: {reason}");
        inner.saved.percent = 0.0;
        inner.saved.fell_back = Some(RolloutFall {
            at: Timestamp::now(),
            who: who.to_owned(),
            reason,
            from,
        });
        inner.waits = None;
        self.save(inner);
        (AuditAction::RolloutBack, detail)
    }

    /// Writes what has already happened. If that fails it is tried again with the next look.
    fn save(&self, inner: &mut Inner) {
        let written = inner.saved.write(&self.settings.state_file);
        let failed = written.err().map(|error| error.to_string());
        if let Some(error) = failed.as_ref().filter(|_| inner.unsaved.is_none()) {
            tracing::error!(
                error,
                "the state of the rollout cannot be kept; it is tried again"
            );
        }
        inner.unsaved = failed;
    }

    /// Nothing here panics while it holds the lock, and what it guards is complete at every moment.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RolloutAdmin for Controller {
    fn document(&self) -> RolloutDocument {
        let seen = self.mirror.rollout_seen();
        let inner = self.lock();
        let now = Timestamp::now();
        let wanted = target(&self.settings.plan, &inner.saved, now);
        let is_below = wanted > inner.saved.percent;
        let waits = || {
            let waits = inner.waits.clone();
            waits.unwrap_or_else(|| "the gate has not been asked yet".to_owned())
        };
        let [legacy, candidate] = inner.watch.lately(&seen).map(|counts| RolloutSide {
            requests: counts.requests,
            errors: counts.errors,
            p95_us: counts
                .quantile(watch::QUANTILE)
                .map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX)),
        });
        RolloutDocument {
            schema: ROLLOUT_SCHEMA.to_owned(),
            percent: inner.saved.percent,
            target: wanted,
            waits: is_below.then(waits),
            next: next(&self.settings.plan, &inner.saved, now),
            fell_back: inner.saved.fell_back.clone(),
            set: inner.saved.set.clone(),
            gate: inner.gate.clone(),
            state_error: inner.unsaved.clone(),
            window_seconds: self.settings.bounds.window.as_secs_f64(),
            legacy,
            candidate,
            repaired: seen.repaired,
        }
    }

    fn set(&self, percent: f64, who: &str) -> Result<(), String> {
        let (before, is_up) = {
            let inner = self.lock();
            (inner.saved.clone(), percent > inner.saved.percent)
        };
        let judged = is_up.then(|| self.deciding.judge());
        let mut inner = self.lock();
        if let Some((judged, of)) = judged {
            inner.gate = Some(judged.told(Timestamp::now()));
            if inner.saved != before || !inner.saved.is_of(&of) {
                return Err("the rollout was changed while the gate decided; look at its status and ask again".to_owned());
            }
            match judged {
                Judged::Pass => {}
                Judged::Undecided(why) => return Err(why),
                Judged::Fail(why) => return Err(format!("the gate fails: {why}")),
            }
        } else if percent > inner.saved.percent {
            return Err(
                "the rollout fell back meanwhile; look at its status and ask again".to_owned(),
            );
        }
        let set = RolloutChange {
            percent,
            at: Timestamp::now(),
            who: who.to_owned(),
        };
        if is_up {
            return self.rise(&mut inner, percent, Some(set));
        }
        self.mirror.set_rollout(percent);
        inner.saved.percent = percent;
        inner.saved.set = Some(set);
        inner.saved.fell_back = None;
        inner.waits = None;
        self.save(&mut inner);
        Ok(())
    }

    fn back(&self, who: &str) {
        let _line_of_the_caller = self.fall(
            &mut self.lock(),
            who,
            "somebody took the clients back".to_owned(),
        );
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
