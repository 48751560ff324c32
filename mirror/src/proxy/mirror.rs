//! Binding and running: from a [`Config`] to worker threads, and back.
//!
//! The port is bound before anything is started, so that errors are reported before a request can arrive. Running
//! blocks until every thread has ended and every request has been settled.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::watch;

use crate::exchange::{Observer, Side};
use crate::proxy::config::{Config, Mode, Policy};
use crate::proxy::generation::{LoadedPolicy, PolicyUpdate};
use crate::proxy::handle::MirrorHandle;
use crate::proxy::listen::{self, Inbound};
use crate::proxy::metrics::Metrics;
use crate::proxy::process::ProcessState;
use crate::proxy::rechecking::Rechecking;
use crate::proxy::replaying::Replaying;
use crate::proxy::worker::Worker;
use crate::recheck::RecheckReceiver;
use crate::upstream::TlsError;

/// Length of the accept queue; Linux caps it at `net.core.somaxconn`, 4,096 by default.
const BACKLOG: i32 = 4096;
/// Threads of one worker for DNS look-ups, the only blocking call: one for each service.
const LOOKUP_THREADS: usize = Side::ALL.len();

/// The mirror could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is in use, not local, or not allowed.
    #[error("cannot listen on {address}{}", hint(.source))]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A socket that was handed over cannot be used.
    #[error("the listening socket that was handed over cannot be used")]
    Adopt(#[source] io::Error),
    /// A certificate or key could not be loaded.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            ": another process has it; stop that one or choose another port"
        }
        io::ErrorKind::PermissionDenied => {
            ": ports below 1024 need a privilege; choose a higher one"
        }
        io::ErrorKind::AddrNotAvailable => ": this machine does not have that address",
        _ => "",
    }
}

/// The worker threads could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system has no thread, event queue or descriptor left for a worker.
    #[error("cannot start worker {worker}")]
    Worker {
        /// Its number, from 0.
        worker: usize,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A worker panicked outside of any request.
    #[error("worker {worker} ended by a panic")]
    Panicked {
        /// Its number, from 0.
        worker: usize,
    },
}

/// How the end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections, shadows and tunnels that were still open when the time to drain was over, and were aborted.
    pub cut: usize,
}

/// A mirror that has bound its port but not started yet.
pub struct Mirror {
    source: RequestSource,
    address: SocketAddr,
    loaded: LoadedPolicy,
    workers: NonZeroUsize,
    handle: MirrorHandle,
    metrics: Metrics,
}

impl Mirror {
    /// Loads the files that the configuration names and binds the port. A port in use is an error.
    pub fn bind(config: Config) -> Result<Self, BindError> {
        let address = config.listen;
        Self::listening(config, || {
            bind(address).map_err(|source| BindError::Listen { address, source })
        })
    }

    /// As [`Self::bind`], on a socket that listens already: from the service manager, or from the process that this one
    /// takes over from. [`Config::listen`] is ignored.
    pub fn adopt(config: Config, listener: TcpListener) -> Result<Self, BindError> {
        Self::listening(config, || {
            listener
                .set_nonblocking(true)
                .map_err(BindError::Adopt)
                .map(|()| listener)
        })
    }

    /// Loads the files that a policy names, without changing the running mirror.
    pub fn check(policy: Policy) -> Result<LoadedPolicy, TlsError> {
        LoadedPolicy::load(policy)
    }

    /// Sends a recording instead of what clients send. It binds no port, and has one worker. It ends when all has been sent and
    /// compared.
    pub fn replay(mut config: Config, replaying: Replaying) -> Result<Self, BindError> {
        config.workers = NonZeroUsize::MIN;
        // Nobody waits for the legacy's answers either.
        config.policy.mode = Mode::Tap;
        let address = config.listen;
        let source = RequestSource::Recording(Box::new(replaying));
        Self::prepare(config, || Ok((source, address)))
    }

    fn listening(
        config: Config,
        listen: impl FnOnce() -> Result<TcpListener, BindError>,
    ) -> Result<Self, BindError> {
        Self::prepare(config, || {
            let listener = listen()?;
            let address = listener.local_addr().map_err(BindError::Adopt)?;
            Ok((RequestSource::Listener(listener), address))
        })
    }

    fn prepare(
        config: Config,
        source: impl FnOnce() -> Result<(RequestSource, SocketAddr), BindError>,
    ) -> Result<Self, BindError> {
        let loaded = LoadedPolicy::load(config.policy)?;
        let (source, address) = source()?;
        let connections = config.connections.max(1);
        let limits = &loaded.policy().limits;
        let process = Arc::new(ProcessState::new(
            connections,
            config.others,
            config.shadowing,
            limits,
        ));
        Ok(Self {
            source,
            address,
            loaded,
            workers: config.workers,
            metrics: Metrics::new(config.workers.get(), &process),
            handle: MirrorHandle::new(process),
        })
    }

    /// Where clients connect to: the configured address, with the port that port 0 became.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The handle to observe and control it while it runs.
    pub fn handle(&self) -> MirrorHandle {
        self.handle.clone()
    }

    /// The socket that clients connect to, to be handed to a process that takes over; `None` if there is none.
    pub fn listener(&self) -> io::Result<Option<TcpListener>> {
        match &self.source {
            RequestSource::Listener(listener) => listener.try_clone().map(Some),
            RequestSource::Recording(_) => Ok(None),
        }
    }

    /// The counters, to be registered with Prometheus.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Serves until `shutdown` becomes `true` (or its sender is dropped), drains, and returns when every request has
    /// been settled and every thread has ended. Blocks the calling thread. `observer` is called once on each worker's
    /// thread, with the worker's number. What comes from `rechecks` is sent again, by a thread of its own, until the
    /// shutdown begins.
    pub fn run(
        self,
        observer: impl Fn(usize) -> Rc<dyn Observer> + Send + Sync + 'static,
        rechecks: Option<RecheckReceiver>,
        shutdown: &watch::Receiver<bool>,
    ) -> Result<Drained, RunError> {
        let failed = |worker| move |source| RunError::Worker { worker, source };
        let _end = EndOnDrop(self.handle.clone());
        let first = PolicyUpdate {
            loaded: self.loaded.clone(),
            observers: Arc::new(observer),
            rechecks: Mutex::new(rechecks),
            taken: mpsc::channel().0,
        };
        self.handle.begin(first);
        let mut starts = Vec::new();
        let mut left = Some(self.source);
        for index in 0..self.workers.get() {
            let Some(source) = left else {
                break;
            };
            let (source, rest) = source.of_worker().map_err(failed(index))?;
            left = rest;
            starts.push(WorkerStart {
                index,
                source,
                handle: self.handle.clone(),
                metrics: self.metrics.clone(),
                shutdown: shutdown.clone(),
            });
        }
        // Only the workers keep copies, so the port is free when they have stopped accepting.
        drop(left);
        // Set by a worker that could not start, so that the mirror does not run with fewer workers than configured.
        let (stop, stopped) = watch::channel(false);
        let stop_all = || {
            stop.send_replace(true);
        };
        let stop_all = &stop_all;
        let rechecking = Rechecking {
            handle: self.handle.clone(),
            metrics: self.metrics.clone(),
            ends: [shutdown.clone(), stopped.clone()],
        };
        thread::scope(|scope| {
            let rechecking = rechecking.start(scope);
            let threads: Vec<_> = starts
                .into_iter()
                .map(|start| {
                    let (index, stopped) = (start.index, stopped.clone());
                    let run = move || {
                        // A worker that panics stops the others too: with fewer workers the mirror would be slow for no
                        // visible reason.
                        let _guard = StopIfPanicking(stop_all);
                        start.run(stopped).inspect_err(|_| stop_all())
                    };
                    thread::Builder::new()
                        .name(format!("mirror-{index}"))
                        .spawn_scoped(scope, run)
                        .inspect_err(|_| stop_all())
                })
                .collect();
            // All are joined before the first error is returned.
            let ends: Vec<_> = threads
                .into_iter()
                .enumerate()
                .map(|(worker, thread)| {
                    thread
                        .map_err(failed(worker))?
                        .join()
                        .map_err(|_| RunError::Panicked { worker })?
                        .map_err(failed(worker))
                })
                .collect();
            // It ends with the same signal as the workers, or else with the last of them.
            stop_all();
            rechecking.join();
            let cut = ends.into_iter().sum::<Result<usize, _>>()?;
            Ok(Drained { cut })
        })
    }
}

/// Where requests will come from.
enum RequestSource {
    Listener(TcpListener),
    Recording(Box<Replaying>),
}

impl RequestSource {
    /// That of one more worker. A recording has one worker, which takes it.
    fn of_worker(self) -> io::Result<(Self, Option<Self>)> {
        Ok(match self {
            Self::Listener(listener) => {
                let copy = Self::Listener(listener.try_clone()?);
                (copy, Some(Self::Listener(listener)))
            }
            recording @ Self::Recording(_) => (recording, None),
        })
    }
}

/// Drops the last policy on every return path.
struct EndOnDrop(MirrorHandle);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Calls the function if it is dropped by a panic.
struct StopIfPanicking<F: Fn()>(F);

impl<F: Fn()> Drop for StopIfPanicking<F> {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)();
        }
    }
}

/// What a worker thread is started with.
struct WorkerStart {
    index: usize,
    source: RequestSource,
    handle: MirrorHandle,
    metrics: Metrics,
    shutdown: watch::Receiver<bool>,
}

impl WorkerStart {
    fn run(self, stopped: watch::Receiver<bool>) -> io::Result<usize> {
        let runtime: LocalRuntime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(LOOKUP_THREADS)
            .build_local(LocalOptions::default())?;
        let process = Arc::clone(self.handle.process());
        let worker = Rc::new(Worker::new(self.index, process, &self.metrics));
        let cut = runtime.block_on(async {
            let inbound = match self.source {
                RequestSource::Listener(listener) => {
                    Inbound::Clients(tokio::net::TcpListener::from_std(listener)?)
                }
                RequestSource::Recording(replaying) => Inbound::Recording(*replaying),
            };
            let ends = [self.shutdown, stopped];
            io::Result::Ok(listen::run(&worker, inbound, self.handle.policies(), ends).await)
        });
        // Drops the remaining tasks with their tickets, which settles their requests; the worker is dropped after that.
        drop(runtime);
        worker.retire();
        cut
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // So that a restart need not wait for connections in TIME_WAIT; a second listener is still refused.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
