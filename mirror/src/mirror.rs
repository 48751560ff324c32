//! Binding and running: from a [`Config`] to worker threads, and back.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use parity_schemas::route::{RouteResolver, RouteRule};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::watch;

use crate::config::{Config, Limits};
use crate::connect::Connector;
use crate::control::{Control, Shared};
use crate::link::Pool;
use crate::listen;
use crate::metrics::Metrics;
use crate::observer::Observer;
use crate::service::Service;
use crate::tls::{self, TlsError};
use crate::upstream::UpstreamUrl;
use crate::worker::{Sampler, Worker};

/// Connections that the kernel accepts ahead of us; Linux caps it at `net.core.somaxconn`, 4,096 by default.
const BACKLOG: i32 = 4096;
/// Threads of one worker that look up host names: the one blocking call there is.
const LOOKUP_THREADS: usize = 2;

/// The mirror could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is taken, not ours, or not allowed.
    #[error("cannot listen on {address}{}", hint(.source))]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A service is reached by `https://`, and what to trust could not be loaded.
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
    /// A worker ended by a bug of ours outside of any request.
    #[error("worker {worker} ended by a panic")]
    Panicked {
        /// Its number, from 0.
        worker: usize,
    },
}

/// How the end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections, shadows and tunnels that were still at work when the time to drain was over, and were cut.
    pub cut: usize,
}

/// A mirror that holds its port and has started nothing yet.
pub struct Mirror {
    listener: TcpListener,
    address: SocketAddr,
    legacy: Connector,
    candidate: Connector,
    workers: NonZeroUsize,
    sample: f64,
    routes: Arc<[RouteRule]>,
    shared: Arc<Shared>,
    metrics: Metrics,
}

impl Mirror {
    /// Loads what the configuration names and takes the port. A port that somebody else holds is an error.
    pub fn bind(config: Config) -> Result<Self, BindError> {
        let mut loaded = None;
        let mut connector = |url: &UpstreamUrl| {
            Connector::new(url, || {
                if let Some(client) = &loaded {
                    return Ok(Arc::clone(client));
                }
                let client = tls::client_config(config.ca_file.as_deref(), &url.to_string())?;
                Ok(Arc::clone(loaded.insert(client)))
            })
        };
        let legacy = connector(&config.legacy)?;
        let candidate = connector(&config.candidate)?;
        let listen = |source| BindError::Listen {
            address: config.listen,
            source,
        };
        let listener = bind(config.listen).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        // Every worker holds a permit while it waits for a client.
        let connections = config.limits.connections.max(config.workers.get());
        let limits = Limits {
            connections,
            ..config.limits
        };
        let shared = Arc::new(Shared::new(limits, config.shadowing));
        Ok(Self {
            listener,
            address,
            legacy,
            candidate,
            workers: config.workers,
            sample: config.sample,
            routes: config.routes,
            metrics: Metrics::new(config.workers.get(), Arc::clone(&shared)),
            shared,
        })
    }

    /// Where clients connect to: the configured address, with the port that port 0 became.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The handle to see and steer it while it runs.
    pub fn control(&self) -> Control {
        Control {
            shared: Arc::clone(&self.shared),
        }
    }

    /// The counters, to be registered with Prometheus.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Serves until `shutdown` turns `true` (or its sender is gone), drains, and returns when every request has been
    /// settled and every thread has ended. Blocks the calling thread. `observer` is called once on each worker's
    /// thread, with the worker's number.
    pub fn run(
        self,
        observer: impl Fn(usize) -> Rc<dyn Observer> + Send + Sync,
        shutdown: &watch::Receiver<bool>,
    ) -> Result<Drained, RunError> {
        let failed = |worker| move |source| RunError::Worker { worker, source };
        let seats = (0..self.workers.get())
            .map(|worker| self.seat(worker, shutdown.clone()).map_err(failed(worker)))
            .collect::<Result<Vec<_>, _>>()?;
        // Only the workers' copies are left: the port is free when they have stopped accepting.
        drop(self.listener);
        // Turned by a worker that could not start, so that the others do not go on with fewer than were asked for.
        let (stop, stopped) = watch::channel(false);
        let observer = &observer;
        let stop_all = |_: &io::Error| {
            stop.send_replace(true);
        };
        let stop_all = &stop_all;
        thread::scope(|scope| {
            let threads: Vec<_> = seats
                .into_iter()
                .map(|seat| {
                    let (index, stopped) = (seat.index, stopped.clone());
                    let run = move || seat.run(observer(index), stopped).inspect_err(stop_all);
                    thread::Builder::new()
                        .name(format!("mirror-{index}"))
                        .spawn_scoped(scope, run)
                        .inspect_err(stop_all)
                })
                .collect();
            // All are joined before the first error is told.
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
            let cut = ends.into_iter().sum::<Result<usize, _>>()?;
            Ok(Drained { cut })
        })
    }

    fn seat(&self, index: usize, shutdown: watch::Receiver<bool>) -> io::Result<Seat> {
        Ok(Seat {
            index,
            listener: self.listener.try_clone()?,
            legacy: self.legacy.clone(),
            candidate: self.candidate.clone(),
            sampler: Sampler::new(self.sample),
            routes: RouteResolver::new(Arc::clone(&self.routes)),
            shared: Arc::clone(&self.shared),
            metrics: self.metrics.clone(),
            shutdown,
        })
    }
}

/// What a worker thread is started with.
struct Seat {
    index: usize,
    listener: TcpListener,
    legacy: Connector,
    candidate: Connector,
    sampler: Sampler,
    routes: RouteResolver,
    shared: Arc<Shared>,
    metrics: Metrics,
    shutdown: watch::Receiver<bool>,
}

impl Seat {
    fn run(self, observer: Rc<dyn Observer>, stopped: watch::Receiver<bool>) -> io::Result<usize> {
        let runtime: LocalRuntime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(LOOKUP_THREADS)
            .build_local(LocalOptions::default())?;
        let limits = &self.shared.limits;
        let service = |connector| Service {
            connector,
            pool: Pool::new(limits.upstream_idle_connections, limits.upstream_idle),
        };
        let services = [service(self.legacy), service(self.candidate)];
        let worker = Rc::new(Worker::new(
            Arc::clone(&self.shared),
            observer,
            self.metrics.worker(self.index),
            self.routes,
            self.sampler,
            services,
        ));
        let cut = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let ends = [self.shutdown, stopped];
            io::Result::Ok(listen::run(&worker, listener, ends).await)
        });
        // Drops the tasks that are left, and with them their tickets, which settle; then the worker may go.
        drop(runtime);
        cut
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // Only so that a restart need not wait for connections in TIME_WAIT; two listeners are still refused.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
