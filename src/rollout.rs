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
mod proof;
mod series;
mod served;
mod state;
mod watch;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parity_dashboards::server::audit::{self, Auditor};
use parity_mirror::{MirrorHandle, RolloutBy};
use parity_schemas::audit::{Audit, AuditAction, AuditSource};
use parity_schemas::clients::Clients;
use parity_schemas::rollout::{RolloutChange, RolloutFall, RolloutGate};
use parity_schemas::time::Timestamp;
use parity_sink::TallyBook;
use prometheus_client::registry::Registry;

use self::deciding::{Deciding, Judged, Judgement};
use self::line::{Held, Line};
use self::proof::{lowest, on_the_way};
use self::series::Series;
use self::served::{Trial, alike};
use self::state::{Owned, Saved, Served, blocked, target};
use self::watch::{Role, Watch};
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
        inner.saved.percent = inner.saved.percent.min(wanted);
        // Where the file cannot be written, a fall back may be missing in it.
        if inner.saved.percent > 0.0
            && let Err(error) = match &inner.unsaved {
                None => inner.saved.write(&this.settings.state_file),
                Some(why) => Err(io::Error::other(why.clone())),
            }
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
                    for line in work(&this) {
                        // First, so that the line can name it.
                        let decision = this.deciding.keep(line.decision);
                        let Some(action) = line.action else { continue };
                        let change = Audit {
                            detail: line.detail,
                            subject: decision.map_or_else(String::new, |id| id.to_string()),
                            ..audit::line(action, AuditSource::Clock)
                        };
                        audit::keep(&*auditor, change);
                    }
                    if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                }
            })
            .context("cannot start a thread of the rollout")
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
            inner.saved.begin_anew(&served);
            inner.waits = None;
            inner.gate = None;
            inner.held = None;
            inner.watch = Watch::default();
            inner.trial = Trial::anew(self.mirror.rollout_seen().tried);
            self.begin(&mut inner);
            self.save(&mut inner);
        }
    }

    /// What a shorter interval would notice no better: whether somebody must be taken back, or the plan wants less.
    fn look(&self) -> Vec<Line> {
        let seen = self.mirror.rollout_seen();
        let is_down = self.mirror.take_candidate_down();
        let mut inner = self.lock();
        let mut lines = Vec::new();
        let role = Role::at(inner.saved.percent);
        let bounds = &self.settings.bounds;
        let tried = seen.tried.clone();
        let worse = inner.watch.look(seen, role, Instant::now(), bounds);
        if role == Role::Serves {
            let settings = &self.settings;
            let worse = worse.or_else(|| inner.trial.look(&tried, Instant::now(), settings));
            let why = if is_down {
                Some(
                    "the candidate is down: it did not answer several requests in a row".to_owned(),
                )
            } else {
                worse
            };
            lines.extend(why.map(|why| self.fall(&mut inner, OURSELVES, why)));
        }
        let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
        if wanted < inner.saved.percent {
            let from = inner.saved.percent;
            self.mirror.set_rollout(wanted);
            inner.saved.percent = wanted;
            self.begin(&mut inner);
            self.save(&mut inner);
            let detail = format!("{from} % → {wanted} %: the configuration wants no more");
            lines.push(Line::of(AuditAction::RolloutSet, detail));
        }
        if inner.unsaved.is_some() {
            self.save(&mut inner);
        }
        self.tell_blocked(&mut inner);
        lines
    }

    /// Says once that a fall back keeps back what the configuration wants, and what ends that: nothing else would ever tell.
    fn tell_blocked(&self, inner: &mut Inner) {
        let wanted = blocked(&self.settings.plan, &inner.saved, Timestamp::now()).unwrap_or(0.0);
        if wanted > inner.blocked
            && let Some(fall) = &inner.saved.fell_back
        {
            let again = lowest(&self.settings.plan);
            tracing::warn!(
                wanted,
                reached = fall.from,
                since = %fall.at,
                who = fall.who,
                reason = fall.reason,
                "the rollout stays at 0 % because it fell back before: `parity rollout set {again}` begins again"
            );
        }
        inner.blocked = wanted;
    }

    /// Asks the gate, if that can change anything.
    fn ask_gate(&self) -> Vec<Line> {
        let since = {
            let inner = self.lock();
            let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
            if inner.saved.percent <= 0.0 && wanted <= 0.0 {
                return Vec::new();
            }
            inner.saved.counts_from
        };
        let judgement = self.deciding.judge(since);
        let told = judgement.document(Timestamp::now());
        let Judgement {
            judged,
            of,
            decision,
            lost,
        } = judgement;
        let lost = lost.map_or_else(String::new, |lost| format!(", {lost}"));
        let mut inner = self.lock();
        if !inner.saved.is_judged_by(&of) || inner.saved.counts_from != since {
            return Vec::new();
        }
        inner.gate = Some(told);
        let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
        let from = inner.saved.percent;
        inner.waits = None;
        let held = inner.held.take();
        let outcome = judged.outcome();
        let waits = match judged {
            Judged::Fail(why) if from > 0.0 => {
                let line = self.fall(
                    &mut inner,
                    OURSELVES,
                    format!("the gate fails{lost}: {why}"),
                );
                return vec![Line { decision, ..line }];
            }
            _ if wanted <= from => return Vec::new(),
            Judged::Fail(why) => format!("the gate fails{lost}: {why}"),
            Judged::Undecided(why) => why,
            Judged::Pass => {
                let step = on_the_way(&self.settings.plan, from, wanted);
                let risen = match self.lacks(&inner, step) {
                    Some(why) => Err(why),
                    None => self.rise(&mut inner, step, None),
                };
                match risen {
                    Ok(()) => {
                        let detail = format!("{from} % → {step} %: the gate passes{lost}");
                        let line = Line::of(AuditAction::RolloutSet, detail);
                        return vec![Line { decision, ..line }];
                    }
                    Err(why) => why,
                }
            }
        };
        inner.waits = Some(waits);
        let holds = Held {
            step: [from.to_bits(), wanted.to_bits()],
            outcome,
        };
        // It is asked again and again, and decisions are kept for ever: of one step that is held for the same outcome there is one.
        let is_new = decision.is_some() && held.as_ref() != Some(&holds);
        inner.held = if decision.is_some() {
            Some(holds)
        } else {
            held
        };
        let line = Line {
            action: None,
            detail: String::new(),
            decision,
        };
        is_new.then_some(line).into_iter().collect()
    }

    /// Why the candidate must not serve that much yet, whatever the gate says.
    fn lacks(&self, inner: &Inner, to: f64) -> Option<String> {
        let seen = self.mirror.rollout_seen();
        let percent = inner.saved.percent;
        let lacks = proof::lacks(&self.settings, &inner.saved, &inner.watch, &seen, to);
        if lacks.is_some() || percent <= 0.0 || to <= percent {
            return lacks;
        }
        let routes = alike::of(&self.book.totals().routes);
        let trial = &inner.trial;
        trial.lacks(&seen.tried, percent, &self.settings, &routes)
    }

    /// Another percent is in force: what the candidate shows under it is counted from now on.
    fn begin(&self, inner: &mut Inner) {
        let (seen, totals) = (self.mirror.rollout_seen(), self.book.totals());
        inner.watch.begin(&seen);
        inner.trial.begin(seen.tried, alike::of(&totals.routes));
        inner.since = totals.total.clients;
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
        let unkept = |error: io::Error| {
            format!("a restart would not know of it, because the state cannot be kept: {error}")
        };
        if self.own(inner).map_err(unkept)? {
            return Err(
                "another process had rollout.state_file until now: it is decided again".to_owned(),
            );
        }
        let mut raised = inner.saved.clone();
        raised.percent = percent;
        raised.pairs = Some(inner.trial.pairs(&self.mirror.rollout_seen().tried));
        if set.is_some() {
            raised.set = set;
            raised.fell_back = None;
        }
        raised.write(&self.settings.state_file).map_err(unkept)?;
        let from = inner.saved.percent;
        if from <= 0.0 {
            // What was before says nothing of those who come now.
            inner.watch = Watch::default();
            let _before = self.mirror.take_candidate_down();
        }
        inner.saved = raised;
        inner.unsaved = None;
        inner.waits = None;
        self.begin(inner);
        self.mirror.set_rollout(percent);
        tracing::info!(from, percent, "the candidate serves more clients");
        Ok(())
    }

    /// Takes all clients back.
    fn fall(&self, inner: &mut Inner, who: &str, reason: String) -> Line {
        self.mirror.set_rollout(0.0);
        inner.fell_alone = self.own(inner).is_err();
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
        self.begin(inner);
        self.save(inner);
        Line::of(AuditAction::RolloutBack, detail)
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
