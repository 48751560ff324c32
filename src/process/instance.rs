//! One running mirror: ports, proxy, pipeline, admin port, and how they end.
//!
//! Starting binds every port before the first request is accepted, so that a wrong setting is an error of the command and
//! nothing is left half started. A store that cannot be written to is no such error: clients are served, and opening the
//! store is tried again. Ending follows the flow of the data: the proxy drains, the pipeline compares and stores what is
//! left, and the admin port answers probes until then.

mod handle;
mod reloads;

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use parity_dashboards::server::audit::{self, Auditor};
use parity_dashboards::server::{MirrorAdmin, Process, Reruns, RolloutAdmin as _, RunAgain, Site};
use parity_mirror::{BindError, Drained, Mirror, Replaying, RunError};
use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, AuditSource, began as audit_began};
use parity_schemas::rollout::moved::RolloutBegin;
use parity_schemas::time::Timestamp;
use parity_sink::TallyBook;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::config::MirrorSettings;
use crate::error;
use crate::pipeline::Pipeline;
use crate::process::admin::{AdminPort, bind_admin, register_build_info};
use crate::process::descriptors::{self, Shares};
use crate::process::handover::Inherited;
use crate::process::signals::{Signal, Signals};
use crate::rerun::Rerunner;
use crate::rollout::{Controller, Steering};

use self::handle::AdminHandle;
use self::reloads::Reloads;

/// A mirror at work.
pub(crate) struct Instance {
    address: SocketAddr,
    handle: Arc<AdminHandle>,
    stop: watch::Sender<bool>,
    proxy: JoinHandle<Result<Drained, RunError>>,
    pipeline: Pipeline,
    admin: AdminPort,
    reloads: Reloads,
    /// Steers the rollout, if there is one; `None` from when the drain begins.
    steering: Option<Steering>,
    /// How long a drain may take.
    drain: Duration,
    /// When the drain must be over; `None` before it has begun.
    until: Option<Instant>,
    /// The listening sockets that a successor would get, until [`Self::take_sockets`].
    sockets: Option<[TcpListener; 2]>,
    /// Becomes true when the proxy has ended, for whatever reason.
    ended: watch::Receiver<bool>,
}

impl Instance {
    /// Binds the ports, opens the store and starts; on an error nothing is left running. Inherited sockets are used if
    /// their addresses are the configured ones.
    pub(crate) fn start(settings: &MirrorSettings, inherited: &mut Inherited) -> Result<Self> {
        Self::start_with(settings, inherited, None)
    }

    /// As [`Self::start`], with a recording in the place of clients. It ends by itself.
    pub(crate) fn replay(settings: &MirrorSettings, replaying: Replaying) -> Result<Self> {
        Self::start_with(settings, &mut Inherited::default(), Some(replaying))
    }

    fn start_with(
        settings: &MirrorSettings,
        inherited: &mut Inherited,
        replaying: Option<Replaying>,
    ) -> Result<Self> {
        let mut config = settings.mirror.clone();
        let shares = Shares::of(descriptors::raise(), &config);
        let descriptors_low = shares.low(&config);
        if let Some(low) = &descriptors_low {
            tracing::warn!("{low}");
        }
        config.connections = shares.clients;
        config.others = shares.others;
        let counted = Arc::<OnceLock<Arc<TallyBook>>>::default();
        let mirror = match (replaying, inherited.proxy(config.listen)) {
            (Some(mut replaying), _) => {
                let counted = Arc::clone(&counted);
                replaying.open = Box::new(move || counted.get().map_or(0, |book| open(book)));
                Mirror::replay(config, replaying)?
            }
            (None, Some(listener)) => Mirror::adopt(config, listener)?,
            (None, None) => Mirror::bind(config).map_err(with_setting)?,
        };
        let listener = match inherited.admin(settings.admin.address) {
            Some(listener) => listener,
            None => bind_admin(&settings.admin)?,
        };
        let sockets = mirror
            .listener()
            .and_then(|proxy| Ok((proxy, listener.try_clone()?)))
            .context("the listening sockets")?;
        let sockets = sockets.0.map(|proxy| [proxy, sockets.1]);
        let mut pipeline = Pipeline::start(settings)?;
        counted.get_or_init(|| pipeline.book());

        let mut registry = Registry::default();
        mirror.metrics().register(&mut registry);
        pipeline.register_metrics(&mut registry);
        register_build_info(&mut registry);
        let reloads = Reloads::register(&mut registry);

        let rollout = Controller::of(settings, mirror.handle(), pipeline.book(), &mut registry);
        let address = mirror.local_addr();
        let handle = Arc::new(AdminHandle {
            mirror: mirror.handle(),
            records: pipeline.writer().handle(),
            recorded: pipeline.recorded(),
            book: pipeline.book(),
            accepting: AtomicBool::new(true),
            descriptors_low,
            config_error: Mutex::default(),
            identity: Mutex::new(settings.identity.clone()),
            instance: settings.instance.clone(),
            known: Mutex::new((Arc::clone(&settings.known), Timestamp::now())),
            rerunner: Arc::new(Rerunner::new(settings)),
            rollout,
        });
        let site = Site {
            store: settings.store.clone(),
            migration: settings.identity.migration.clone(),
            process: Process::Mirror(Arc::clone(&handle) as Arc<dyn MirrorAdmin>),
            auditor: Arc::clone(&handle) as Arc<dyn Auditor>,
            registry,
            access: settings.admin.access.clone(),
            reruns: Some(Reruns::new(
                Arc::clone(&handle.rerunner) as Arc<dyn RunAgain>
            )),
            register: {
                let handle = Arc::clone(&handle);
                Arc::new(move || handle.register())
            },
            handover: Pipeline::handover(settings.mirror.policy.limits.drain),
            links: settings.admin.links.clone(),
        };
        let admin = AdminPort::start(listener, settings.admin.tls.clone(), site, shares.admin)?;
        let (stop, stopped) = watch::channel(false);
        let (end, ended) = watch::channel(false);
        let observers = pipeline.observers();
        let rechecks = pipeline.take_rechecks();
        let proxy = std::thread::Builder::new()
            .name("mirror".to_owned())
            .spawn(move || {
                let ended = mirror.run(observers, rechecks, &stopped);
                end.send_replace(true);
                ended
            })
            .context("cannot start the proxy thread")?;
        let steering = handle.steer()?;
        Ok(Self {
            address,
            handle,
            stop,
            proxy,
            pipeline,
            admin,
            reloads,
            steering,
            drain: settings.mirror.policy.limits.drain,
            until: None,
            sockets,
            ended,
        })
    }

    /// The listening sockets, for a successor. They must be closed when this mirror stops accepting: otherwise clients
    /// would connect and wait in a backlog that nobody serves.
    pub(crate) fn take_sockets(&mut self) -> Option<[TcpListener; 2]> {
        self.sockets.take()
    }

    /// Waits until the proxy ends by itself, which happens only when one of its threads panics.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut ended = self.ended.clone();
        async move {
            // An error means that the sender was dropped, so the proxy has ended.
            let _ended = ended.wait_for(|ended| *ended).await;
        }
    }

    /// Uses new settings from the next request on. Connections stay open. On an error the old settings stay in force.
    pub(crate) fn reload(&mut self, settings: &MirrorSettings) -> Result<()> {
        // Checked before the pipeline is changed: files that the policy names (certificates) may be missing.
        let policy = Mirror::check(settings.mirror.policy.clone())?;
        self.pipeline.reload(settings)?;
        let observers = self.pipeline.observers();
        let rechecks = self.pipeline.take_rechecks();
        // Before the new candidate can serve anybody: another version begins at 0 %.
        if let Some(rollout) = &self.handle.rollout {
            rollout.reload(settings);
        }
        self.handle.mirror.apply(policy, observers, rechecks);
        self.drain = settings.mirror.policy.limits.drain;
        *self.handle.identity() = settings.identity.clone();
        self.handle.set_known(&settings.known);
        self.handle.rerunner.set(settings);
        self.admin.set_tls(settings.admin.tls.clone());
        Ok(())
    }

    /// Tells the metrics and the admin port how a reload ended.
    pub(crate) fn reloaded(&self, outcome: &Result<()>) {
        self.reloads.count(outcome.is_ok());
        let message = outcome.as_ref().err().map(error::line);
        *self
            .handle
            .config_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = message;
    }

    /// Leaves serving to a successor: stops the admin port, which the successor has now, and drains the proxy.
    pub(crate) fn hand_over(&mut self) {
        self.admin.stop();
        self.drain();
    }

    /// Requests that were received and have no outcome yet, those that are asked again included.
    pub(crate) fn open(&self) -> impl Fn() -> u64 + use<> {
        let book = self.pipeline.book();
        move || open(&book)
    }

    /// Requests that were received so far.
    pub(crate) fn received(&self) -> u64 {
        self.pipeline.book().totals().total.received
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Counts what came of the requests so far.
    pub(crate) fn book(&self) -> Arc<TallyBook> {
        Arc::clone(&self.handle.book)
    }

    /// Where the admin port is, for a browser.
    pub(crate) fn admin_url(&self) -> String {
        self.admin.url()
    }

    /// Stops or starts shadowing.
    pub(crate) fn set_shadowing(&self, on: bool) {
        self.handle.set_shadowing(on);
    }

    /// Keeps that it began, whether it shadows, and how its rollout stands: it shadows as it is configured, whatever was switched in the process
    /// before.
    pub(crate) fn began(&self) {
        let what = (AuditAction::Started, AuditSource::Command);
        let rollout = self.handle.rollout.as_ref();
        let rollout = rollout.map(|rollout| RolloutBegin::from(&rollout.document()));
        let told = audit_began(self.handle.mirror.shadowing(), rollout.as_ref());
        self.changed(what, AuditOutcome::Done, (String::new(), told));
    }

    /// Keeps that something was changed otherwise than by the admin port.
    pub(crate) fn changed(
        &self,
        (action, source): (AuditAction, AuditSource),
        outcome: AuditOutcome,
        (subject, detail): (String, String),
    ) {
        let change = Audit {
            outcome,
            subject,
            detail,
            ..audit::line(action, source)
        };
        audit::keep(&*self.handle, change);
    }

    /// Tells the proxy to drain; [`Instance::finish`] waits for it. A second call changes nothing.
    pub(crate) fn drain(&mut self) {
        self.until
            .get_or_insert_with(|| Instant::now() + self.drain);
        self.sockets = None;
        // From now on the state of the rollout is a successor's.
        if let Some(steering) = self.steering.take() {
            steering.end();
        }
        self.handle.accepting.store(false, Ordering::Relaxed);
        self.stop.send_replace(true);
    }

    /// How long ending may take, counted from the call of [`Instance::drain`].
    pub(crate) fn longest_end(&self) -> Duration {
        self.drain + Pipeline::AFTER_DRAIN + AdminPort::GRACE
    }

    /// Drains, stores the results and closes everything, within [`Instance::longest_end`].
    pub(crate) fn finish(mut self) -> Result<()> {
        self.drain();
        let until = self.until.unwrap_or_else(Instant::now);
        let proxy = match self.proxy.join() {
            Ok(Ok(Drained { cut })) => {
                if cut > 0 {
                    tracing::warn!(cut, "the drain was over before all requests were");
                }
                Ok(())
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(anyhow!("the proxy ended by a panic; the log has it")),
        };
        let stored = self.pipeline.finish(until);
        let admin = self.admin.finish();
        proxy.and(stored).and(admin)
    }

    /// The same on another thread, so that a second ending signal can end the process before the drain is over.
    pub(crate) fn finish_or_abandon(self, signals: &mut Signals) -> Result<()> {
        let (finished, outcome) = tokio::sync::oneshot::channel();
        let finishing = std::thread::Builder::new()
            .name("drain".to_owned())
            .spawn(move || {
                let ended = self.finish();
                // Sending fails only after a second signal, when nobody waits for the outcome.
                let _unheard = finished.send(());
                ended
            })?;
        let mut abandoned = false;
        let done = async move {
            let _ended = outcome.await;
        };
        signals.wait(done, |signal| {
            abandoned = signal == Signal::End;
            abandoned
        });
        if abandoned {
            bail!(
                "ended before the drain was over; requests under way were cut and the last results are lost"
            );
        }
        finishing
            .join()
            .map_err(|_| anyhow!("the drain ended by a panic; the log has it"))?
    }
}

/// Requests that were received and have no outcome yet.
fn open(book: &TallyBook) -> u64 {
    let total = book.totals().total;
    total.received.saturating_sub(total.settled())
}

/// Why clients cannot connect, with the setting that names where they would.
pub(crate) fn with_setting(error: BindError) -> anyhow::Error {
    match error {
        BindError::Listen { .. } => anyhow::Error::new(error)
            .context("where clients connect, which --listen (mirror.listen) names"),
        other => other.into(),
    }
}
