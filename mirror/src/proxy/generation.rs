//! A configuration generation on one worker: a loaded policy with the services, routes, limits and observer that serve
//! under it.
//!
//! A request uses the generation that is current when its head has been parsed, until its end. Applying another policy
//! creates a new generation; the old one is dropped with its last request, together with its idle connections and its
//! observer. Client connections belong to no generation and outlive all. All generations share the worker's
//! [`WorkerResources`].

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, mpsc};

use http::Method;
use parity_schemas::route::{Route, RouteResolver};
use tokio_rustls::TlsAcceptor;

use crate::exchange::{Asker, BySide, ExchangeResources, Observer, Side, Terms};
use crate::limits::Limits;
use crate::proxy::config::{Mode, Policy};
use crate::proxy::outbound::Outbound;
use crate::proxy::tls;
use crate::upstream::{
    self, Connector, Lookups, Service, Shadows, TlsError, UpstreamUrl, WorkerConnections,
};

/// Creates the observer of a worker, on the worker's thread, from the worker's number.
pub(crate) type Observers = Arc<dyn Fn(usize) -> Rc<dyn Observer> + Send + Sync>;

/// A policy with the files that it names (certificates, keys) loaded from disk: ready to be applied.
#[derive(Clone)]
pub struct LoadedPolicy {
    policy: Policy,
    connectors: BySide<Connector>,
    tls: Option<TlsAcceptor>,
}

impl LoadedPolicy {
    pub(crate) fn load(policy: Policy) -> Result<Self, TlsError> {
        let mut client = None;
        let mut connector = |url: &UpstreamUrl| {
            Connector::new(url, || {
                if let Some(client) = &client {
                    return Ok(Arc::clone(client));
                }
                let loaded = upstream::client_config(policy.ca_file.as_deref(), &url.to_string())?;
                Ok(Arc::clone(client.insert(loaded)))
            })
        };
        let legacy = connector(&policy.legacy.url)?;
        let candidate = connector(&policy.candidate.url)?;
        let tls = policy.tls.as_ref().map(tls::server_config).transpose()?;
        Ok(Self {
            connectors: BySide::of(legacy, candidate),
            tls: tls.map(TlsAcceptor::from),
            policy,
        })
    }

    /// The policy that was loaded.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// What the workers get when a policy is applied: the policy, and how to create its observers.
pub(crate) struct PolicyUpdate {
    pub(crate) loaded: LoadedPolicy,
    pub(crate) observers: Observers,
    /// Each worker sends a message here once it has applied the policy.
    pub(crate) taken: mpsc::Sender<()>,
}

/// What a worker keeps over all generations.
pub(crate) struct WorkerResources {
    pub(crate) exchange: ExchangeResources,
    /// DNS look-ups, separate for each side, so that neither waits for the other's.
    pub(crate) lookups: BySide<Rc<Lookups>>,
    /// Connections to services.
    pub(crate) all_connections: Rc<WorkerConnections<Outbound>>,
}

/// A loaded policy and everything that serves under it, on one worker.
pub(crate) struct Generation {
    asker: Rc<Asker<Outbound>>,
    mode: Mode,
    routes: RefCell<RouteResolver>,
    tls: Option<TlsAcceptor>,
}

impl Generation {
    pub(crate) fn new(
        resources: &WorkerResources,
        loaded: &LoadedPolicy,
        observer: Rc<dyn Observer>,
    ) -> Self {
        let policy = &loaded.policy;
        let service = |side| {
            let (target, limited) = match side {
                // Answers that a client waits for are not limited. In a tap no client waits for the legacy.
                Side::Legacy => (&policy.legacy, policy.mode == Mode::Tap),
                Side::Candidate => (&policy.candidate, true),
            };
            Service::new(
                loaded.connectors[side].clone(),
                target.clone(),
                &policy.limits,
                &resources.lookups[side],
                &resources.all_connections,
                limited.then(|| Shadows {
                    turns: Rc::clone(&resources.exchange.turns),
                    connections: Arc::clone(resources.exchange.admission.connections(side)),
                }),
            )
        };
        let terms = Terms::new(
            resources.exchange.clone(),
            policy.limits,
            policy.sampling.clone(),
            observer,
        );
        Self {
            asker: Asker::new(terms, policy.forwarding.clone(), BySide::new(service)),
            mode: policy.mode,
            routes: RefCell::new(RouteResolver::new(Arc::clone(&policy.routes))),
            tls: loaded.tls.clone(),
        }
    }

    /// Sends requests to both services.
    pub(crate) fn asker(&self) -> &Rc<Asker<Outbound>> {
        &self.asker
    }

    /// The terms under which they are sent.
    pub(crate) fn terms(&self) -> &Rc<Terms> {
        self.asker.terms()
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.terms().limits()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// The route of a request.
    pub(crate) fn route(&self, method: &Method, path: &str) -> Arc<Route> {
        self.routes.borrow_mut().resolve(method, path)
    }

    /// The TLS configuration for clients, if they connect with TLS.
    pub(crate) fn tls(&self) -> Option<&TlsAcceptor> {
        self.tls.as_ref()
    }
}
