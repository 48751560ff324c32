//! One running mirror: ports, proxy, pipeline, admin port, and how they end.
//!
//! Starting binds every port and opens the store before the first request is accepted, so that whatever is wrong is
//! an error of the command and nothing is left half started. Ending follows the flow: the proxy drains, the pipeline
//! compares and stores what is left, and the admin port answers probes until then.

use std::future::Future;
use std::io::IsTerminal as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use parity_dashboards::{Process, Site, Status};
use parity_mirror::{Drained, Mirror, RunError};
use parity_schemas::time::Timestamp;
use parity_sink::{RecordSender, StoreConfig};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::signal::{self, unix::SignalKind};
use tokio::sync::watch;

use crate::config::{AdminSettings, MirrorSettings};
use crate::descriptors;
use crate::error;
use crate::handover::Inherited;
use crate::pipeline::Pipeline;

/// A mirror at work.
pub(crate) struct Instance {
    address: SocketAddr,
    control: Arc<MirrorControl>,
    stop: watch::Sender<bool>,
    proxy: JoinHandle<Result<Drained, RunError>>,
    pipeline: Pipeline,
    admin: AdminPort,
    reloads: Reloads,
    /// What a successor would get, until it is taken out.
    sockets: Option<[TcpListener; 2]>,
    /// Turned when the proxy has ended, whyever.
    ended: watch::Receiver<bool>,
}

impl Instance {
    /// Binds, opens, starts; on error nothing runs. Sockets that are there already are used where they are the ones
    /// that are wanted.
    pub(crate) fn start(settings: &MirrorSettings, inherited: &mut Inherited) -> Result<Self> {
        let mut config = settings.mirror.clone();
        config.connections = clients(&config);
        let mirror = match inherited.proxy(config.listen) {
            Some(listener) => Mirror::adopt(config, listener)?,
            None => Mirror::bind(config)?,
        };
        let listener = match inherited.admin(settings.admin.address) {
            Some(listener) => listener,
            None => bind_admin(&settings.admin)?,
        };
        let sockets = mirror
            .listener()
            .and_then(|proxy| Ok([proxy, listener.try_clone()?]))
            .context("the listening sockets")?;
        let pipeline = Pipeline::start(settings)?;

        let mut registry = Registry::default();
        mirror.metrics().register(&mut registry);
        pipeline.register_metrics(&mut registry);
        register_build_info(&mut registry);
        let reloads = Reloads::register(&mut registry);

        let address = mirror.local_addr();
        let control = Arc::new(MirrorControl {
            mirror: mirror.control(),
            records: pipeline.writer().handle(),
            accepting: AtomicBool::new(true),
            config_error: Mutex::default(),
        });
        let site = Site {
            store: settings.store.clone(),
            migration: settings.identity.migration.clone(),
            process: Process::Mirror(Arc::clone(&control) as Arc<dyn parity_dashboards::Control>),
            registry,
            token: settings.admin.token.clone(),
        };
        let admin = AdminPort::start(listener, site)?;
        let (stop, stopped) = watch::channel(false);
        let (end, ended) = watch::channel(false);
        let observers = pipeline.observers();
        let proxy = std::thread::Builder::new()
            .name("mirror".to_owned())
            .spawn(move || {
                let ended = mirror.run(observers, &stopped);
                end.send_replace(true);
                ended
            })
            .context("cannot start the proxy thread")?;
        Ok(Self {
            address,
            control,
            stop,
            proxy,
            pipeline,
            admin,
            reloads,
            sockets: Some(sockets),
            ended,
        })
    }

    /// The listening sockets, for a successor. They must not outlive the accepting: clients would wait in their
    /// backlog for nobody.
    pub(crate) fn take_sockets(&mut self) -> Option<[TcpListener; 2]> {
        self.sockets.take()
    }

    /// Waits for the proxy to end by itself, which it does only by a fault: a thread that panicked.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut ended = self.ended.clone();
        async move {
            // A sender that is gone has ended, too.
            let _ended = ended.wait_for(|ended| *ended).await;
        }
    }

    /// Serves and compares by other settings from the next request on; no connection is touched. On an error
    /// everything stays as it was.
    pub(crate) fn reload(&mut self, settings: &MirrorSettings) -> Result<()> {
        // Loaded before the pipeline is touched: what the policy names may not be there.
        let policy = Mirror::check(settings.mirror.policy.clone())?;
        self.pipeline.reload(settings)?;
        self.control.mirror.apply(policy, self.pipeline.observers());
        Ok(())
    }

    /// Tells the metrics and the admin port how a reload ended.
    pub(crate) fn reloaded(&self, outcome: &Result<()>) {
        self.reloads.count(outcome.is_ok());
        let message = outcome.as_ref().err().map(error::line);
        *self
            .control
            .config_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = message;
    }

    /// A successor serves: the admin port is its own from now on, and the proxy drains.
    pub(crate) fn hand_over(&mut self) {
        self.admin.stop.send_replace(true);
        self.drain();
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the admin port listens.
    pub(crate) fn admin_address(&self) -> SocketAddr {
        self.admin.address
    }

    /// Stops or starts shadowing.
    pub(crate) fn set_shadowing(&self, on: bool) {
        parity_dashboards::Control::set_shadowing(&*self.control, on);
    }

    /// Tells the proxy to drain; [`Instance::finish`] waits for it. A second call changes nothing.
    pub(crate) fn drain(&mut self) {
        self.sockets = None;
        self.control.accepting.store(false, Ordering::Relaxed);
        self.stop.send_replace(true);
    }

    /// Drains, stores what was compared, and closes everything.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.drain();
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
        let stored = self.pipeline.finish();
        let admin = self.admin.finish();
        proxy.and(stored).and(admin)
    }
}

/// How many clients the process has descriptors for.
fn clients(config: &parity_mirror::Config) -> usize {
    let descriptors = descriptors::raise();
    let in_flight = config.policy.limits.in_flight;
    let clients = descriptors::clients(descriptors, in_flight, config.connections);
    if clients < config.connections {
        tracing::warn!(
            descriptors,
            clients,
            "few file descriptors are allowed, so fewer clients are accepted at a time; raise `ulimit -n`"
        );
    }
    clients
}

/// Binds the admin port.
pub(crate) fn bind_admin(settings: &AdminSettings) -> Result<TcpListener> {
    let address = settings.address;
    TcpListener::bind(address).with_context(|| {
        format!("cannot listen on {address} for the admin port; --admin names another address")
    })
}

/// The admin port on a thread and runtime of its own, so that a slow page never takes time from a request.
pub(crate) struct AdminPort {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<()>>,
}

impl AdminPort {
    /// Serves `site` on a bound listener.
    pub(crate) fn start(listener: TcpListener, site: Site) -> Result<Self> {
        listener.set_nonblocking(true).context("the admin port")?;
        let address = listener.local_addr().context("the admin port")?;
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("admin".to_owned())
            .spawn(move || serve(listener, site, stopped))
            .context("cannot start the admin thread")?;
        Ok(Self {
            address,
            stop,
            thread,
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it.
    pub(crate) fn finish(self) -> Result<()> {
        self.stop.send_replace(true);
        self.thread
            .join()
            .map_err(|_| anyhow!("the admin port ended by a panic; the log has it"))?
    }
}

fn serve(listener: TcpListener, site: Site, mut stopped: watch::Receiver<bool>) -> Result<()> {
    /// An open page must not hold up the end of the process.
    const GRACE: std::time::Duration = std::time::Duration::from_secs(1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the admin runtime")?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener).context("the admin port")?;
        let mut ended = stopped.clone();
        let shutdown = async move {
            // An error means that the sender is gone, which is an end as well.
            let _ended = ended.wait_for(|stop| *stop).await;
        };
        let overdue = async move {
            let _ended = stopped.wait_for(|stop| *stop).await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            served = parity_dashboards::serve(listener, site, shutdown) => served.context("the admin port"),
            () = overdue => Ok(()),
        }
    })
}

/// What the admin port may do with the mirror.
struct MirrorControl {
    mirror: parity_mirror::Control,
    /// Knows how the store is doing.
    records: RecordSender,
    accepting: AtomicBool,
    /// Why the last reload was refused.
    config_error: Mutex<Option<String>>,
}

/// How often the configuration was reloaded, as metrics.
struct Reloads {
    succeeded: Gauge,
    succeeded_at: Gauge,
}

impl Reloads {
    fn register(registry: &mut Registry) -> Self {
        let reloads = Self {
            succeeded: Gauge::default(),
            succeeded_at: Gauge::default(),
        };
        registry.register(
            "parity_config_last_reload_successful",
            "Whether the last configuration that was given holds",
            reloads.succeeded.clone(),
        );
        registry.register(
            "parity_config_last_reload_success_timestamp_seconds",
            "Since when the configuration holds",
            reloads.succeeded_at.clone(),
        );
        reloads.count(true);
        reloads
    }

    fn count(&self, succeeded: bool) {
        self.succeeded.set(i64::from(succeeded));
        if succeeded {
            self.succeeded_at
                .set(Timestamp::now().as_micros() / 1_000_000);
        }
    }
}

impl parity_dashboards::Control for MirrorControl {
    fn set_shadowing(&self, on: bool) {
        if self.mirror.shadowing() != on {
            tracing::info!(shadowing = on, "shadowing switched");
        }
        self.mirror.set_shadowing(on);
    }

    fn status(&self) -> Status {
        let store = self.records.health();
        Status {
            ready: self.accepting.load(Ordering::Relaxed),
            shadowing: self.mirror.shadowing(),
            shadows_in_flight: self.mirror.in_flight(),
            shadow_bytes: self.mirror.shadow_bytes_held(),
            store_error: store.failure.map(|failure| failure.message),
            records_queued: store.queued_records,
            records_dropped: store.dropped_records,
            spool_bytes: store.spool_bytes,
            config_error: self
                .config_error
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }
}

/// `parity_build_info`, constant 1: the version as a label.
pub(crate) fn register_build_info(registry: &mut Registry) {
    let info = Family::<Vec<(String, String)>, Gauge>::default();
    info.get_or_create(&vec![(
        "version".to_owned(),
        env!("CARGO_PKG_VERSION").to_owned(),
    )])
    .set(1);
    registry.register("parity_build_info", "Version of the running program", info);
}

/// What `parity ui` serves: a store without a mirror.
pub(crate) fn reading_site(store: StoreConfig, migration: String, token: Option<String>) -> Site {
    let mut registry = Registry::default();
    register_build_info(&mut registry);
    Site {
        store,
        migration,
        process: Process::Reader,
        registry,
        token,
    }
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
}

/// What SIGHUP means to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// The end, as for most programs.
    Ends,
    /// Another configuration; the end only when the terminal that the command was started from is gone.
    Reloads,
}

/// The signals that this program listens to, from the moment it is made: one that comes before anybody waits for it
/// is not lost, and none ends the process by itself.
pub(crate) struct Signals {
    runtime: tokio::runtime::Runtime,
    terminate: signal::unix::Signal,
    interrupt: signal::unix::Signal,
    shadowing_off: signal::unix::Signal,
    shadowing_on: signal::unix::Signal,
    hangup: signal::unix::Signal,
    meaning: Hangup,
    /// Whether the command was started from a terminal.
    terminal: bool,
}

impl Signals {
    /// Begins to listen; to be called before anything is started that a signal should end.
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
            terminal: std::io::stdin().is_terminal(),
        })
    }

    /// The runtime that waits, for what else is to be waited for.
    pub(crate) fn runtime(&self) -> &tokio::runtime::Runtime {
        &self.runtime
    }

    /// Hands signals to `on`, until it says that it has had enough or `done` completes.
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
            terminal,
        } = self;
        let hung_up = || {
            // A terminal that is gone is none any more.
            let closed = *terminal && !std::io::stdin().is_terminal();
            match meaning {
                Hangup::Reloads if !closed => Signal::Reload,
                Hangup::Reloads | Hangup::Ends => Signal::End,
            }
        };
        runtime.block_on(async {
            tokio::pin!(done);
            loop {
                let received = tokio::select! {
                    _ = terminate.recv() => Signal::End,
                    _ = interrupt.recv() => Signal::End,
                    _ = shadowing_off.recv() => Signal::ShadowingOff,
                    _ = shadowing_on.recv() => Signal::ShadowingOn,
                    _ = hangup.recv() => hung_up(),
                    () = &mut done => return,
                };
                if on(received) {
                    return;
                }
            }
        });
    }
}
