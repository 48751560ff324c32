//! A mirror between two services, in a thread of its own.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parity_mirror::{
    BindError, Config, ConnectionLimits, Drained, Limits, Metrics, Mirror, MirrorHandle, Policy,
    RecheckReceiver, Target,
};
use parity_schemas::route::{RoutePolicy, RouteRule};
use tokio::sync::watch;

use super::ledger::Ledger;
use super::{Client, PATIENCE, Service};

/// A mirror to be.
pub(crate) struct Rig {
    config: Config,
    rechecks: Option<RecheckReceiver>,
}

impl Rig {
    pub(crate) fn new(legacy: &Service, candidate: &Service) -> Self {
        Self {
            config: Config {
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                workers: NonZeroUsize::MIN,
                connections: Config::CONNECTIONS,
                others: ConnectionLimits::default(),
                shadowing: true,
                policy: Policy::new(Target::new(legacy.url()), Target::new(candidate.url())),
            },
            rechecks: None,
        }
    }

    /// Sends what comes from here again.
    pub(crate) fn rechecks(mut self, rechecks: RecheckReceiver) -> Self {
        self.rechecks = Some(rechecks);
        self
    }

    pub(crate) fn listen(mut self, address: SocketAddr) -> Self {
        self.config.listen = address;
        self
    }

    pub(crate) fn limits(mut self, set: impl FnOnce(&mut Limits)) -> Self {
        set(&mut self.config.policy.limits);
        self
    }

    /// Changes what requests are served by.
    pub(crate) fn policy(mut self, set: impl FnOnce(&mut Policy)) -> Self {
        set(&mut self.config.policy);
        self
    }

    pub(crate) fn connections(mut self, connections: usize) -> Self {
        self.config.connections = connections;
        self
    }

    /// Connections besides those of clients.
    pub(crate) fn others(mut self, others: ConnectionLimits) -> Self {
        self.config.others = others;
        self
    }

    pub(crate) fn workers(mut self, workers: usize) -> Self {
        self.config.workers = NonZeroUsize::new(workers).expect("not none");
        self
    }

    pub(crate) fn sample(mut self, share: f64) -> Self {
        self.config.policy.sampling.share = share;
        self
    }

    pub(crate) fn route(self, text: &str, shadow: Option<bool>) -> Self {
        let policy = RoutePolicy {
            shadow,
            ..RoutePolicy::default()
        };
        self.routed(text, policy)
    }

    pub(crate) fn route_sampled(self, text: &str, share: f64) -> Self {
        let policy = RoutePolicy {
            sample: Some(share),
            ..RoutePolicy::default()
        };
        self.routed(text, policy)
    }

    pub(crate) fn routed(self, text: &str, policy: RoutePolicy) -> Self {
        self.ruled(RouteRule::parse(text, policy).expect("a route"))
    }

    pub(crate) fn ruled(mut self, rule: RouteRule) -> Self {
        let routes = &mut self.config.policy.routes;
        *routes = routes.iter().cloned().chain([rule]).collect();
        self
    }

    pub(crate) fn ca_file(mut self, path: PathBuf) -> Self {
        self.config.policy.ca_file = Some(path);
        self
    }

    /// Its policy alone, for another mirror.
    pub(crate) fn into_policy(self) -> Policy {
        self.config.policy
    }

    pub(crate) fn bind(self) -> Result<Mirror, BindError> {
        Mirror::bind(self.config)
    }

    pub(crate) fn start(mut self) -> Running {
        let rechecks = self.rechecks.take();
        let mirror = self.bind().expect("a free port");
        let (shutdown, signal) = watch::channel(false);
        let ledger = Ledger::default();
        let (address, control, metrics) = (mirror.local_addr(), mirror.handle(), mirror.metrics());
        let observers = ledger.clone();
        let workers = Arc::<Mutex<Vec<PathBuf>>>::default();
        let threads = Arc::clone(&workers);
        let thread = thread::spawn(move || {
            mirror
                .run(
                    move |_| {
                        // Called on the worker's own thread, so this is the worker's.
                        let thread = std::fs::read_link("/proc/thread-self").expect("Linux");
                        threads.lock().expect("no panic").push(thread);
                        observers.observer()
                    },
                    rechecks,
                    &signal,
                )
                .expect("workers run")
        });
        Running {
            address,
            control,
            metrics,
            ledger,
            workers,
            shutdown,
            thread: Some(thread),
        }
    }
}

/// A running mirror. Dropping it drains it, and checks that every request was settled.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) control: MirrorHandle,
    pub(crate) metrics: Metrics,
    pub(crate) ledger: Ledger,
    workers: Arc<Mutex<Vec<PathBuf>>>,
    shutdown: watch::Sender<bool>,
    thread: Option<JoinHandle<Drained>>,
}

impl Running {
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn signal(&self) {
        self.shutdown.send_replace(true);
    }

    /// Time that the workers have been on a processor.
    pub(crate) fn cpu(&self) -> Duration {
        let workers = self.workers.lock().expect("no panic");
        let nanoseconds = workers.iter().map(|thread| {
            let file = PathBuf::from("/proc").join(thread).join("schedstat");
            let text = std::fs::read_to_string(file).expect("it runs");
            let first = text.split(' ').next().expect("a number");
            first.parse::<u64>().expect("a number")
        });
        Duration::from_nanos(nanoseconds.sum())
    }

    /// Signals, waits for the end, and checks conservation.
    pub(crate) fn stop(&mut self) -> Drained {
        self.signal();
        let thread = self.thread.take().expect("stopped once");
        let drained = thread.join().expect("no worker panics");
        let (received, settled) = self.ledger.balance();
        assert_eq!(received, settled, "received and settled");
        let clients = self.ledger.clients_settled();
        assert_eq!(received, clients, "received, and clients with an outcome");
        assert_eq!(self.control.in_flight(), 0, "in flight after the end");
        drained
    }

    /// Waits until no shadow is under way and none of the byte budget is held. One that was aborted because its client went
    /// away ends a little behind the outcome.
    pub(crate) fn wait_free(&self) {
        self.wait("free", |mirror| {
            mirror.control.in_flight() == 0 && mirror.control.shadow_bytes_held() == 0
        });
    }

    /// Waits for a state that nothing signals.
    pub(crate) fn wait(&self, what: &str, mut until: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !until(self) {
            assert!(begin.elapsed() < PATIENCE, "still not {what}");
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.thread.is_some() && !thread::panicking() {
            self.stop();
        }
    }
}
